#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Windows' libraries in Wine beside those of Linux: networks with weights that are bound at initialisation (OWNED_BY_DML).

usage: scripts/onnx-python bench/wine.py FOLDER DRIVER MODEL.onnx... [--threads 1,2] [--rounds 3] [--limit 1.15] [--json FILE]

FOLDER and DRIVER are those of tests/packages/try_onnxruntime_windows.py: in Wine the networks run through Microsoft's
onnxruntime.dll, on Linux through `anydml bench --owned-weights`, both with copies of inputs and outputs. They take turns, each
in a process of its own on the same processors; printed is the shortest time of each over the rounds (of the medians, or
with --least of all runs) and the quotient, Wine by Linux. Exit code 1: one is above the limit.
"""
import argparse
import os
import pathlib
import re
import sys
import tempfile

import turns

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "tests/packages"))
from try_onnxruntime_windows import Jobs, Runtime, WINE, cpu_session, feeds_of, np, tensor_bytes  # noqa: E402


def in_wine(args, runtime, path, threads):
    """Seconds that the model takes."""
    with tempfile.TemporaryDirectory() as scratch:
        jobs = Jobs(scratch)
        feeds = feeds_of(cpu_session(str(path)), np.random.default_rng(1))
        jobs.add(os.path.abspath(path), [tensor_bytes(key, x) for key, x in feeds.items()])
        listing = jobs.folder / "jobs"
        listing.write_text(jobs.lines[0] + "\n")
        text = turns.output_of(threads, [WINE, *runtime.command("DML"), "Z:" + str(listing), "0", str(args.runs)],
                               {"ANYDML_THREADS": str(threads)})
    found = re.search(r"^0 ok (\S+) (\S+)", text or "", re.M)
    return float(found[2 if args.least else 1]) / 1e3 if found else turns.FAILED


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("driver")
    parser.add_argument("models", nargs="+")
    parser.add_argument("--limit", type=float, default=1.15)
    parser.add_argument("--runs", type=int, default=50, help="in Wine, for each median")
    turns.options(parser)
    args = parser.parse_args()
    runtime = Runtime(args.folder, args.driver)
    results, above = [], 0
    print("| model | threads | Linux ms | Wine ms | ratio |\n|---|---|---|---|---|")
    for path in args.models:
        for threads in args.threads:
            linux, wine = turns.best(args.rounds, lambda: turns.anydml(args, path, threads, more=["--owned-weights"]),
                                     lambda: in_wine(args, runtime, path, threads))
            name, ratio = os.path.basename(path).removesuffix(".onnx"), wine / linux
            if name == "model":
                name = os.path.basename(os.path.dirname(path))
            above += not ratio <= args.limit
            print(f"| {name} | {threads} | {linux * 1e3:.3f} | {wine * 1e3:.3f} | {ratio:.2f} |", flush=True)
            results.append({"model": name, "threads": threads, "linux": linux, "wine": wine})
    turns.keep(args, results)
    sys.exit(above > 0)


if __name__ == "__main__":
    main()
