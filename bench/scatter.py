#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures sums, products and extremes over a graph's edges (ScatterND and ScatterElements with a reduction), compared with
ONNX Runtime on the same CPUs.

usage: scatter.py [--anydml build/tools/anydml] [--threads 1,2] [--edges 100000] [--nodes 10000] [--width 64]
                  [--filter TEXT] [--seconds 0.5] [--rounds 2] [--least] [--json FILE]

Updates [edges, width] are combined into [nodes, width] at random indices, which are constants: one for each edge (ScatterND),
one repeated for each element of an edge, as PyTorch exports scatter_add, or one for each element. The programs alternate,
pinned to the same CPUs; the minimum of all rounds' medians counts, or with --least the shortest time. Requires numpy, onnx and
onnxruntime. Prints a Markdown table.
"""
import argparse
import os
import tempfile

import numpy as np
import onnx
import turns
from onnx import TensorProto, helper, numpy_helper


def write(path, args, op, indices, reduction):
    attributes = {"reduction": reduction} | ({"axis": 0} if op == "ScatterElements" else {})
    updates, nodes = [args.edges, args.width], [args.nodes, args.width]
    graph = helper.make_graph(
        [helper.make_node(op, ["x", "i", "u"], ["y"], **attributes)], "scatter",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, nodes),
         helper.make_tensor_value_info("u", TensorProto.FLOAT, updates)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, nodes)], [numpy_helper.from_array(indices, "i")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)


def measure(args, path):
    rng = np.random.default_rng(0)
    rows = rng.integers(0, args.nodes, (args.edges, 1))
    cases = [("rows", "ScatterND", rows),
             ("one index repeated", "ScatterElements", np.repeat(rows, args.width, axis=1)),
             ("distinct indices", "ScatterElements", rng.integers(0, args.nodes, (args.edges, args.width)))]
    results = []
    print("| case | reduction | threads | AnyDML ms | ONNX Runtime ms | ratio |\n|---|---|---|---|---|---|")
    for name, op, indices in cases:
        for reduction in ("add", "max"):
            if args.filter not in f"{name} {reduction}":
                continue
            write(path, args, op, indices, reduction)
            for threads in args.threads:
                mine, other = turns.best(args.rounds, lambda t=threads: turns.anydml(args, path, t),
                                         lambda t=threads: turns.onnxruntime(args, path, t))
                results.append(dict(case=name, reduction=reduction, threads=threads, anydml=mine, onnxruntime=other))
                print(f"| {name} | {reduction} | {threads} | {mine * 1e3:.2f} | {other * 1e3:.2f} | {mine / other:.2f} |",
                      flush=True)
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--edges", type=int, default=100000)
    parser.add_argument("--nodes", type=int, default=10000)
    parser.add_argument("--width", type=int, default=64)
    turns.options(parser)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        results = measure(args, os.path.join(folder, "model.onnx"))
    turns.keep(args, results)


if __name__ == "__main__":
    main()
