# SPDX-License-Identifier: Apache-2.0
"""Functions shared by the scripts of this folder: programs that alternate, each in its own process on the same CPUs.

As a program: turns.py SETUP STATEMENT SECONDS [least] prints the median (shortest) time of a Python statement.
"""
import json
import os
import statistics
import subprocess
import sys
import time

import numpy as np

FAILED = float("inf")


def pinned(threads):
    return ",".join(str(c) for c in sorted(os.sched_getaffinity(0))[-threads:])


def output_of(threads, command, env):
    result = subprocess.run(["taskset", "-c", pinned(threads), *command], env=dict(os.environ, **env),
                            capture_output=True, text=True, check=False)
    if result.returncode:
        print(result.stderr.strip()[-300:], file=sys.stderr)
    return None if result.returncode else result.stdout


def anydml(args, path, threads, half=False, more=()):
    """Returns the seconds of the model; more: additional options."""
    command = [args.anydml, "bench", path, "--threads", str(threads), "--seconds", str(args.seconds), "--json"]
    text = output_of(threads, command + [*more] + (["--fp16-compute"] if half else []), {"ANYDML_ADAPTERS": "cpu"})
    return json.loads(text)["min_ms" if args.least else "median_ms"] / 1e3 if text else FAILED


def python(args, threads, setup, statement):
    """Returns the seconds of the statement, after running the setup."""
    command = [sys.executable, __file__, setup, statement, str(args.seconds)] + (["least"] if args.least else [])
    text = output_of(threads, command, {"OPENBLAS_NUM_THREADS": str(threads)})
    return float(text) if text else FAILED


def onnxruntime(args, path, threads):
    return python(args, threads, f"run = onnxruntime_model({path!r}, {threads})", "run()")


def best(rounds, *programs):
    """Returns the minimum time of each program over the rounds, in which they alternate."""
    times = [[program() for program in programs] for _ in range(rounds)]
    return [min(column) for column in zip(*times)]


def onnxruntime_model(path, threads):
    """Returns a function that runs the model on random inputs."""
    import onnxruntime as ort
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    types = {"tensor(float)": np.float32, "tensor(float16)": np.float16, "tensor(uint8)": np.uint8}
    random = np.random.default_rng(1)
    feed = {i.name: (random.uniform(-1, 1, i.shape) if "float" in i.type else random.integers(0, 256, i.shape))
            .astype(types[i.type]) for i in session.get_inputs()}
    return lambda: session.run(None, feed)


def options(parser):
    """Adds the options that are common to these scripts."""
    parser.add_argument("--anydml", default="build/tools/anydml")
    parser.add_argument("--threads", default="1,2", type=lambda text: [int(t) for t in text.split(",")])
    parser.add_argument("--filter", default="")
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--least", action="store_true")
    parser.add_argument("--json")


def keep(args, results):
    if args.json:
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump(results, file, indent=1)


def main(setup, statement, seconds, least=""):
    names = {"onnxruntime_model": onnxruntime_model}
    exec(setup, names)
    code = compile(statement, "statement", "exec")
    exec(code, names)
    times, end = [], time.perf_counter() + float(seconds)
    while time.perf_counter() < end or len(times) < 5:
        start = time.perf_counter()
        exec(code, names)
        times.append(time.perf_counter() - start)
    print(min(times) if least else statistics.median(times))


if __name__ == "__main__":
    main(*sys.argv[1:])
