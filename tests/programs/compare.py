# SPDX-License-Identifier: Apache-2.0
"""compare.py NAME ANYDML OPTIONS COMMAND...: runs the command on ONNX Runtime's CPU provider and through `anydml exec OPTIONS`,
with cpu and dml for the word MODE, and compares what both print as RESULT. Every session must have been AnyDML's where the
program asks for it; a program may make others as well, which are counted."""
import json
import os
import re
import subprocess
import sys

LIMIT = 2e-3  # of the largest number of a result; scores and positions are rounded by the programs themselves
LIMITS = {"rembg": 1.01 / 255}  # cuts its mask off to bytes: one level


def result_of(command):
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False, timeout=900)
    lines = [line for line in done.stdout.splitlines() if line.startswith("RESULT ")]
    if done.returncode or not lines:
        sys.exit(f"failed: {' '.join(command)}: exit code {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return json.loads(lines[-1].removeprefix("RESULT ")), done.stderr


def difference(got, want):
    """The largest, against the largest number; infinite when texts differ or nothing was computed."""
    if len(got) != len(want) or not want:
        return float("inf")
    if any((isinstance(a, str) or isinstance(b, str)) and a != b for a, b in zip(got, want)):
        return float("inf")
    pairs = [(a, b) for a, b in zip(got, want) if not isinstance(a, str)]
    largest = max((abs(b) for _, b in pairs), default=0)
    return max(abs(a - b) for a, b in pairs) / largest if largest else float("inf")


def main():
    name, anydml, options, *command = sys.argv[1:]
    want, _ = result_of(["cpu" if word == "MODE" else word for word in command])
    got, told = result_of([anydml, "exec", *options.split(), *["dml" if word == "MODE" else word for word in command]])
    used = re.search(r"^anydml exec: .*$", told, re.MULTILINE)
    worst = difference(got, want)
    good = used is not None and " on DmlExecutionProvider" in used[0] and worst <= LIMITS.get(name, LIMIT)
    print(f"{name}: {'ok' if good else 'failed'}: {len(want)} results, largest difference {worst:.1e}; "
          f"{used[0].removeprefix('anydml exec: ') if used else 'no report'}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
