# SPDX-License-Identifier: Apache-2.0
"""`anydml run` with one allocation after the other failing: no crash, and either the same output or one line on stderr and
exit code 1 or 2.

usage: test_command.py ANYDML INJECT MODEL [EVERY]"""
import os
import re
import subprocess
import sys
import tempfile

import numpy as np

SAMPLED = 80


def run(anydml, inject, model, number):
    """The process, and the bytes of its output file or None."""
    with tempfile.TemporaryDirectory() as folder:
        source, target = os.path.join(folder, "in.npy"), os.path.join(folder, "out.npy")
        np.save(source, np.linspace(0, 1, 360, dtype=np.float32).reshape(1, 3, 12, 10))
        env = dict(os.environ, LD_PRELOAD=inject, ANYDML_INJECT=str(number), ANYDML_ADAPTERS="cpu", ANYDML_THREADS="1",
                   HOME=folder)
        result = subprocess.run([anydml, "run", model, "--input", source, "--output", target], env=env,
                                capture_output=True, text=True, timeout=120, check=False)
        data = None
        if os.path.exists(target):
            with open(target, "rb") as file:
                data = file.read()
    return result, data


def judge(result, data, right):
    if result.returncode == 0:
        return "" if data == right else "other output"
    lines = [line for line in result.stderr.splitlines() if line]
    if result.returncode not in (1, 2):
        return f"exit code {result.returncode}"
    return "" if lines else "no message"


def main():
    anydml, inject, model = sys.argv[1:4]
    plain, right = run(anydml, inject, model, 0)
    count = int(re.search(r"inject: (\d+) allocations", plain.stderr).group(1))
    assert plain.returncode == 0 and right, plain.stderr
    every = int(sys.argv[4]) if len(sys.argv) > 4 else count // SAMPLED + 1
    bad = runs = 0
    for number in range(1, count + 1, every):
        result, data = run(anydml, inject, model, number)
        runs += 1
        problem = judge(result, data, right)
        if problem:
            bad += 1
            print(f"allocation {number}: {problem}\n{result.stderr}")
    print(f"{runs} of {count} failures: {bad} wrong")
    return 1 if bad or not runs else 0


if __name__ == "__main__":
    sys.exit(main())
