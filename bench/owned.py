#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares models whose weights are bound at initialisation (OWNED_BY_DML) with the same models with constants.

usage: owned.py MODEL.onnx... [--threads 1,2] [--rounds 2] [--seconds 0.5] [--limit 1.05] [--json FILE]

Both alternate, each in its own process on the same CPUs. Prints the shortest time of each over the rounds (of the medians, or
with --least of all runs) and the ratio of owned weights to constants. Exit code 1: a ratio exceeds the limit. networks.py
makes models; with --batch-norm they have batch normalisations to fold.
"""
import argparse
import os
import sys

import turns


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--limit", type=float, default=1.05)
    turns.options(parser)
    args = parser.parse_args()
    results, above = [], 0
    print("| model | threads | constants ms | owned ms | ratio |\n|---|---|---|---|---|")
    for path in args.models:
        for threads in args.threads:
            constant, owned = turns.best(args.rounds, lambda: turns.anydml(args, path, threads),
                                         lambda: turns.anydml(args, path, threads, more=["--owned-weights"]))
            name, ratio = os.path.basename(path).removesuffix(".onnx"), owned / constant
            above += not ratio <= args.limit
            print(f"| {name} | {threads} | {constant * 1e3:.3f} | {owned * 1e3:.3f} | {ratio:.2f} |", flush=True)
            results.append({"model": name, "threads": threads, "constants": constant, "owned": owned})
    turns.keep(args, results)
    sys.exit(above > 0)


if __name__ == "__main__":
    main()
