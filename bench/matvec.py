#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures GEMMs of constant weights with few rows, as in decoding of language models, or with many, as in reading a prompt
(--rows 32,128,512), and one-token attention, compared with ONNX Runtime on the same CPUs.

usage: matvec.py [--anydml build/tools/anydml] [--threads 1,2] [--rows 1,2,4,8] [--shapes 768x768,768x3072,4096x4096]
                 [--filter TEXT] [--seconds 0.5] [--rounds 2] [--mebibytes 96] [--least] [--json FILE]

A model is a chain of GEMMs, each with its own weights, together larger than the caches (--mebibytes); for more than 16 rows,
which are compute-bound, there are fewer GEMMs, but at least two. Time and bandwidth are for one GEMM; bandwidth counts the
weights as the model stores them, with their scales. The programs alternate, pinned to the same CPUs; the minimum of all
rounds' medians counts, or with --least the shortest time (for machines with other load). Read bandwidth is that of a dot
product of two large vectors (numpy). Requires numpy, onnx and onnxruntime. Prints Markdown tables. Differences below 5 % are
noise on a shared machine.
"""
import argparse
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import turns
from onnx import TensorProto, helper, numpy_helper

RNG = np.random.default_rng(1)
FLOATS = {"float32": np.float32, "float16": np.float16}


class Chain:
    """A model under construction: nodes, constants and the name of the last result."""

    def __init__(self, dtype):
        self.nodes, self.constants, self.last, self.dtype, self.weights = [], [], "x", dtype, 0

    def constant(self, name, array, weight=False):
        self.constants.append(numpy_helper.from_array(array, name))
        self.weights += array.nbytes if weight else 0
        return name

    def node(self, op, inputs, **attributes):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], **attributes))
        return name

    def save(self, rows, k, n, path):
        kind = helper.np_dtype_to_tensor_dtype(np.dtype(self.dtype))
        self.nodes[-1].output[0] = "y"
        graph = helper.make_graph(self.nodes, "chain", [helper.make_tensor_value_info("x", kind, [rows, k])],
                                  [helper.make_tensor_value_info("y", kind, [rows, n])], self.constants)
        opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
        onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=10), path)


def plain(c, i, k, n):
    w = RNG.standard_normal((k, n), np.float32) / np.sqrt(k)
    c.last = c.node("MatMul", [c.last, c.constant(f"w{i}", w.astype(c.dtype), True)])


def nbits(bits, block, level, zeros):
    def add(c, i, k, n):
        blocks = k // block
        inputs = [c.last, c.constant(f"w{i}", RNG.integers(0, 256, (n, blocks, block * bits // 8), np.uint8), True),
                  c.constant(f"s{i}", (np.full((n * blocks,), 2.0**(1 - bits) / np.sqrt(k), c.dtype) *
                                       RNG.uniform(0.9, 1.1, n * blocks).astype(c.dtype)), True)]
        if zeros:
            size = n * ((blocks * bits + 7) // 8)
            inputs.append(c.constant(f"z{i}", RNG.integers(0, 256, (size,), np.uint8), True))
        c.last = c.node("MatMulNBits", inputs, domain="com.microsoft", K=k, N=n, bits=bits, block_size=block,
                        accuracy_level=level)
    return add


def channels(c, i, k, n):
    """INT8 weights, one scale for each column, dequantised to float."""
    w = c.constant(f"w{i}", RNG.integers(-127, 128, (k, n)).astype(np.int8), True)
    s = c.constant(f"s{i}", (RNG.uniform(0.9, 1.1, n) / 64 / np.sqrt(k)).astype(np.float32), True)
    c.last = c.node("MatMul", [c.last, c.node("DequantizeLinear", [w, s], axis=1)])


def both(c, i, k, n):
    """Both factors quantised to bytes (QDQ)."""
    xs, xz = c.constant(f"xs{i}", np.float32(0.02)), c.constant(f"xz{i}", np.uint8(128))
    q = c.node("QuantizeLinear", [c.last, xs, xz])
    c.last = c.node("DequantizeLinear", [q, xs, xz])
    channels(c, i, k, n)


def dynamic(c, i, k, n):
    """MatMulInteger behind DynamicQuantizeLinear."""
    q = [f"q{i}", f"qs{i}", f"qz{i}"]
    c.nodes.append(helper.make_node("DynamicQuantizeLinear", [c.last], q))
    w = c.constant(f"w{i}", RNG.integers(-127, 128, (k, n)).astype(np.int8), True)
    s = c.constant(f"s{i}", np.float32(1 / 64 / np.sqrt(k)))
    sums = c.node("Cast", [c.node("MatMulInteger", [q[0], w, q[2]])], to=TensorProto.FLOAT)
    c.last = c.node("Mul", [sums, c.node("Mul", [q[1], s])])


# label, function that adds a GEMM, type of the activations, bytes of a weight, half precision allowed
CASES = [
    ("float32", plain, "float32", 4, False),
    ("float32, half precision allowed", plain, "float32", 4, True),
    ("float16", plain, "float16", 2, False),
    ("int8 by channel, weights only", channels, "float32", 1, False),
    ("int8, both quantised", both, "float32", 1, False),
    ("int8, MatMulInteger", dynamic, "float32", 1, False),
    ("MatMulNBits 8 bits, blocks of 32", nbits(8, 32, 0, False), "float32", 1, False),
    ("MatMulNBits 4 bits, blocks of 32", nbits(4, 32, 0, False), "float32", 0.5, False),
    ("MatMulNBits 4 bits, blocks of 32, level 4", nbits(4, 32, 4, False), "float32", 0.5, False),
    ("MatMulNBits 4 bits, blocks of 128, zero points", nbits(4, 128, 0, True), "float32", 0.5, False),
    ("MatMulNBits 4 bits, blocks of 32, float16", nbits(4, 32, 0, False), "float16", 0.5, False),
]


def products(args, case, shape, rows, path):
    """Saves the model; returns (number of GEMMs, bytes of their weights)."""
    _, add, dtype, size, _ = case
    k, n = shape
    chain = Chain(FLOATS[dtype])
    count = max(2, int(args.mebibytes * 2**20 / (k * n * size) * min(1, 16 / rows)))
    count += count % 2
    for i in range(count):
        add(chain, i, *((k, n) if i % 2 == 0 else (n, k)))
    chain.save(rows, k, k, path)
    return count, chain.weights


def attention(heads, size, past, kv_heads, path):
    """Saves a model with attention of one new token to `past` tokens in a cache; returns the bytes of keys and values."""
    f32 = TensorProto.FLOAT
    total = past + 1
    cache = helper.make_tensor_value_info
    if kv_heads:
        inputs = [cache("q", f32, [1, 1, heads * size]), cache("k", f32, [1, 1, kv_heads * size]),
                  cache("v", f32, [1, 1, kv_heads * size])]
        caches = [cache(n, f32, [1, kv_heads, past, size]) for n in ("pk", "pv")]
        constants = [numpy_helper.from_array(np.array([past], np.int32), "sl"),
                     numpy_helper.from_array(np.array(total, np.int32), "tl")]
        node = helper.make_node("GroupQueryAttention", ["q", "k", "v", "pk", "pv", "sl", "tl"], ["y", "nk", "nv"],
                                domain="com.microsoft", num_heads=heads, kv_num_heads=kv_heads)
    else:
        inputs = [cache(n, f32, [1, 1, heads * size]) for n in "qkv"]
        caches = [cache(n, f32, [1, heads, past, size]) for n in ("pk", "pv")]
        constants = []
        node = helper.make_node("MultiHeadAttention", ["q", "k", "v", "", "", "", "pk", "pv"], ["y", "nk", "nv"],
                                domain="com.microsoft", num_heads=heads)
    outputs = [cache("y", f32, [1, 1, heads * size])]
    outputs += [cache(n, f32, [1, kv_heads or heads, total, size]) for n in ("nk", "nv")]
    graph = helper.make_graph([node], "attention", inputs + caches, outputs, constants)
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=10), path)
    return 2 * total * (kv_heads or heads) * size * 4


def read_bandwidth(threads):
    code = ("import numpy as np, time\nx = np.ones(1 << 24, np.float32); y = x + 1; t = []\n"
            "for _ in range(99):\n    s = time.perf_counter(); np.dot(x, y); t.append(time.perf_counter() - s)\n"
            "print(2 * x.nbytes / min(t))")
    command = ["taskset", "-c", turns.pinned(threads), sys.executable, "-c", code]
    env = dict(os.environ, OPENBLAS_NUM_THREADS=str(threads))
    return float(subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout)


def compare(args, path, threads, half):
    return turns.best(args.rounds, lambda: turns.anydml(args, path, threads, half),
                      lambda: turns.onnxruntime(args, path, threads))


def show(results, label, shape, rows, threads, mine, other, size, read):
    results.append(dict(label=label, shape=shape, rows=rows, threads=threads, anydml=mine, onnxruntime=other,
                        bytes=size, read=read))
    print(f"| {label} | {shape} | {rows} | {threads} | {mine * 1e6:.0f} | {other * 1e6:.0f} | {mine / other:.2f} | "
          f"{size / mine / 1e9:.1f} | {size / other / 1e9:.1f} | {size / mine / read:.2f} |", flush=True)


def measure(args, folder):
    results = []
    reads = {t: read_bandwidth(t) for t in args.threads}
    path = os.path.join(folder, "model.onnx")
    print("read bandwidth: " + ", ".join(f"{t} threads {r / 1e9:.1f} GB/s" for t, r in reads.items()) + "\n")
    print("| weights | shape | rows | threads | AnyDML us | ONNX Runtime us | ratio | AnyDML GB/s | ONNX Runtime GB/s | "
          "AnyDML / read bandwidth |\n|---|---|---|---|---|---|---|---|---|---|")
    for case in CASES:
        for shape in args.shapes if args.filter in case[0] else []:
            for rows in args.rows:
                count, size = products(args, case, tuple(map(int, shape.split("x"))), rows, path)
                for threads in args.threads:
                    mine, other = compare(args, path, threads, case[4])
                    show(results, case[0], shape, rows, threads, mine / count, other / count, size / count,
                         reads[threads])
    for heads, size, kv in (12, 64, 0), (32, 128, 0), (32, 128, 8):
        for past in (127, 1023):
            label = "GroupQueryAttention" if kv else "MultiHeadAttention"
            if args.filter not in label:
                continue
            moved = attention(heads, size, past, kv, path)
            for threads in args.threads:
                mine, other = compare(args, path, threads, False)
                show(results, f"{label}, past {past}", f"{heads}x{size}", 1, threads, mine, other, moved, reads[threads])
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", default="1,2,4,8")
    parser.add_argument("--shapes", default="768x768,768x3072,4096x4096")
    parser.add_argument("--mebibytes", type=int, default=96)
    turns.options(parser)
    args = parser.parse_args()
    args.rows = [int(r) for r in args.rows.split(",")]
    args.shapes = args.shapes.split(",")
    with tempfile.TemporaryDirectory() as folder:
        results = measure(args, folder)
    turns.keep(args, results)


if __name__ == "__main__":
    main()
