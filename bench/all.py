#!/usr/bin/env python3
"""Compares AnyDML's CPU adapter with ONNX Runtime's CPU provider, in one run on one machine.

usage: compare.py [--anydml build/tools/anydml] [--threads 1,2] [--rounds 5] [--seconds 2] [--json FILE] MODEL.onnx...

For every model and thread count the two take turns, round by round, each as a fresh process pinned to the same
processors, with random inputs; the figure is the median over all rounds of the per-round median latency. Needs the
onnxruntime and numpy packages of PyPI (`python3 -m venv v && v/bin/pip install onnxruntime numpy`).
A difference below 5 % is noise on a shared machine. Prints a Markdown table; --json writes the raw medians.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys

ORT_PROGRAM = r"""
import json, sys, time
import numpy as np
import onnxruntime as ort
path, threads, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
options = ort.SessionOptions()
options.intra_op_num_threads = threads
options.inter_op_num_threads = 1
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
options.log_severity_level = 3
session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
rng = np.random.default_rng(1)
feeds = {}
for i in session.get_inputs():
    shape = [d if isinstance(d, int) and d > 0 else 1 for d in i.shape]
    kind = {"tensor(float)": np.float32, "tensor(float16)": np.float16, "tensor(int64)": np.int64,
            "tensor(int32)": np.int32}[i.type]
    feeds[i.name] = rng.random(shape).astype(kind) if kind in (np.float32, np.float16) else np.zeros(shape, kind)
for _ in range(2):
    session.run(None, feeds)
times = []
end = time.perf_counter() + seconds
while time.perf_counter() < end or len(times) < 3:
    start = time.perf_counter()
    session.run(None, feeds)
    times.append(time.perf_counter() - start)
times.sort()
print(json.dumps({"median_ms": times[len(times) // 2] * 1e3, "runs": len(times), "version": ort.__version__}))
"""


def run_json(command, processors):
    env = dict(os.environ, OMP_PROC_BIND="false")
    pin = ["taskset", "-c", processors]
    result = subprocess.run(pin + command, capture_output=True, text=True, env=env, check=False)
    if result.returncode:
        raise RuntimeError(f"{' '.join(command[:3])}: {result.stderr.strip()[-300:]}")
    return json.loads(result.stdout.strip().splitlines()[-1])


def measure(model, threads, args):
    processors = ",".join(str(p) for p in sorted(os.sched_getaffinity(0))[:threads])
    ours, theirs = [], []
    for _ in range(args.rounds):
        theirs.append(run_json([sys.executable, "-c", ORT_PROGRAM, model, str(threads), str(args.seconds)], processors))
        ours.append(run_json([args.anydml, "bench", model, "--threads", str(threads), "--seconds", str(args.seconds),
                              "--json"], processors))
    return {
        "model": os.path.basename(os.path.dirname(model)) if os.path.basename(model) == "model.onnx"
        else os.path.splitext(os.path.basename(model))[0],
        "threads": threads,
        "anydml_ms": statistics.median(o["median_ms"] for o in ours),
        "onnxruntime_ms": statistics.median(t["median_ms"] for t in theirs),
        "onnxruntime": theirs[0]["version"],
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--anydml", default="build/tools/anydml")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--json")
    args = parser.parse_args()
    rows = []
    print("| model | threads | AnyDML ms | ONNX Runtime ms | ratio |\n|---|---|---|---|---|")
    for model in args.models:
        for threads in (int(t) for t in args.threads.split(",")):
            row = measure(model, threads, args)
            rows.append(row)
            ratio = row["anydml_ms"] / row["onnxruntime_ms"]
            print(f"| {row['model']} | {threads} | {row['anydml_ms']:.3f} | {row['onnxruntime_ms']:.3f} | {ratio:.2f} |",
                  flush=True)
    if args.json:
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)


if __name__ == "__main__":
    main()
