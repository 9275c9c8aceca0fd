#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the Windows libraries in Wine with those of Linux: networks with weights bound at initialisation (OWNED_BY_DML).

usage: scripts/onnx-python bench/wine.py BUILD BUILD_WINDOWS MODEL.onnx... [--threads 1,2] [--rounds 5] [--seconds 0.2]
           [--runtime FOLDER] [--limit 1.15] [--json FILE]

The same program, onnx_time, runs in Wine and on Linux; with --runtime the networks also run in Microsoft's onnxruntime.dll
(FOLDER: .cache/microsoft/onnxruntime-windows), which copies inputs and outputs to its device and back. The programs alternate,
each in its own process. Prints the medians over the rounds of each program's medians, and the ratio of Wine to Linux. Exit
code 1: a ratio exceeds the limit.
"""
import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "tests/packages"))
from try_onnxruntime_windows import Jobs, Runtime, WINE, cpu_session, feeds_of, np, tensor_bytes  # noqa: E402


def output_of(command, threads):
    with tempfile.TemporaryFile() as file:
        subprocess.run(command, stdout=file, check=False, env={
            "WINEDEBUG": "-all", "WINEDLLOVERRIDES": "d3d12,dxcore,directml,dxgi=n;mscoree,mshtml=", **os.environ,
            "ANYDML_THREADS": str(threads), "ANYDML_ADAPTERS": "cpu"})
        file.seek(0)
        return file.read().decode()


def milliseconds(text, pattern=r"^(\S+) "):
    found = re.search(pattern, text, re.M)
    return float(found[1]) if found else float("inf")


def through_runtime(runtime, path, threads):
    with tempfile.TemporaryDirectory() as scratch:
        jobs = Jobs(scratch)
        feeds = feeds_of(cpu_session(path), np.random.default_rng(1))
        jobs.add(path, [tensor_bytes(key, x) for key, x in feeds.items()])
        listing = jobs.folder / "jobs"
        listing.write_text(jobs.lines[0] + "\n")
        text = output_of([WINE, *runtime.command("DML"), "Z:" + str(listing), "0", "50"], threads)
        return milliseconds(text, r"^0 ok (\S+) ")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("windows")
    parser.add_argument("models", nargs="+")
    parser.add_argument("--threads", default="1,2", type=lambda text: [int(t) for t in text.split(",")])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", default="0.2")
    parser.add_argument("--runtime")
    parser.add_argument("--limit", type=float, default=1.15)
    parser.add_argument("--json")
    args = parser.parse_args()
    here = os.path.abspath(os.path.join(args.windows, "tests/packages"))
    runtime = args.runtime and Runtime(args.runtime, here + "/onnxruntime_driver.exe")
    results, above = [], 0
    print(f"| network | threads | Linux ms | Wine ms | ratio |{' onnxruntime.dll ms |' * bool(runtime)}")
    print("|---|---|---|---|---|" + "---|" * bool(runtime))
    for path in map(os.path.abspath, args.models):
        for threads in args.threads:
            programs = [lambda: milliseconds(output_of([args.build + "/bench/onnx_time", path, args.seconds], threads)),
                        lambda: milliseconds(output_of([WINE, here + "/onnx_time.exe", "Z:" + path, args.seconds], threads))]
            if runtime:
                programs.append(lambda: through_runtime(runtime, path, threads))
            times = [statistics.median(column) for column in zip(*[[p() for p in programs] for _ in range(args.rounds)])]
            name = pathlib.Path(path).stem if pathlib.Path(path).stem != "model" else pathlib.Path(path).parent.name
            above += not (times[0] < float("inf") and times[1] / times[0] <= args.limit)
            print(f"| {name} | {threads} | {times[0]:.3f} | {times[1]:.3f} | {times[1] / times[0]:.2f} |"
                  + (f" {times[2]:.3f} |" if runtime else ""), flush=True)
            results.append({"model": name, "threads": threads, "ms": times})
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps(results, indent=1))
    sys.exit(above > 0)


if __name__ == "__main__":
    main()
