#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures models with one operator, compared with ONNX Runtime, and for sorting also with PyTorch and numpy, on the same CPUs.

usage: single.py [--family sort,attention,product,transposed,recurrent,neighbours] [--anydml build/tools/anydml]
                 [--threads 1,2] [--filter TEXT] [--seconds 0.5] [--rounds 2] [--least] [--json FILE]

Families: sort (the first K elements of lines, and whole lines), attention (MultiHeadAttention), product (GEMMs and
convolutions of integers, FLOAT16 and, for comparison, FLOAT32; weights are constant unless noted; planar images), transposed
(ConvTranspose with strides equal to its window), recurrent (GRU and LSTM of one direction, with input size equal to hidden
size), neighbours (k-nearest neighbours in the form of scikit-learn's converters).

The programs alternate, pinned to the same CPUs; the minimum of all rounds' medians counts, or with --least the shortest time
(for machines with other load). numpy does not use threads: its column is for one thread, and for values without their
indices. Requires numpy, onnx, onnxruntime and for sorting PyTorch: .cache/peers/venv/bin/python, which scripts/prepare-peers
creates. Prints a Markdown table for each family. Differences below 5 % are noise on a shared machine.
"""
import argparse
import os
import tempfile

import numpy as np
import onnx
import turns
from onnx import TensorProto, helper, numpy_helper

RNG = np.random.default_rng(1)
TYPES = {"float32": TensorProto.FLOAT, "float16": TensorProto.FLOAT16, "uint8": TensorProto.UINT8, "int8": TensorProto.INT8,
         "int32": TensorProto.INT32, "int64": TensorProto.INT64}


def tensor(name, shape, dtype="float32"):
    return helper.make_tensor_value_info(name, TYPES[dtype], shape)


def model(node, inputs, outputs, constants):
    """Returns a model with one node. constants: a dictionary of arrays."""
    graph = helper.make_graph([node], "single", inputs, outputs,
                              [numpy_helper.from_array(np.asarray(v), k) for k, v in constants.items()])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def normal(*shape, dtype="float32"):
    return (RNG.standard_normal(shape, np.float32) / 20).astype(dtype)


def small_integers(*shape):
    return RNG.integers(-127, 128, shape).astype(np.int8)


# ---- sort ----

def top(lines, length, count):
    node = helper.make_node("TopK", ["x", "k"], ["y", "places"], axis=-1)
    outputs = [tensor("y", [lines, count]), tensor("places", [lines, count], "int64")]
    return model(node, [tensor("x", [lines, length])], outputs, {"k": np.array([count], np.int64)})


def top_peers(lines, length, count):
    whole = count == length
    torch = f"import torch\ntorch.set_num_threads({{threads}})\nx = torch.rand({lines}, {length})"
    numpy = f"import numpy as np\nx = np.random.default_rng(1).random(({lines}, {length}), np.float32)"
    return {"PyTorch": (torch, "torch.sort(x, descending=True)" if whole else f"torch.topk(x, {count})"),
            "numpy": (numpy, "np.sort(x)") if whole else None}


def sort_cases():
    for lines, length, count in ((1, 1000000, 10), (1, 1000000, 100000), (1, 1000000, 1000000), (1000, 1000, 10),
                                 (1000, 1000, 1000)):
        what = "in order" if count == length else f"first {count}"
        yield f"{lines} x {length}, {what}", lambda s=(lines, length, count): top(*s), top_peers(lines, length, count)


# ---- attention ----

def attention(tokens, past, heads=12, size=64):
    width = heads * size
    inputs, outputs = [tensor(name, [1, tokens, width]) for name in "qkv"], [tensor("y", [1, tokens, width])]
    names, results = ["q", "k", "v"], ["y"]
    if past:
        names += ["", "", "", "pk", "pv"]
        results += ["nk", "nv"]
        inputs += [tensor(name, [1, heads, past, size]) for name in ("pk", "pv")]
        outputs += [tensor(name, [1, heads, past + tokens, size]) for name in ("nk", "nv")]
    node = helper.make_node("MultiHeadAttention", names, results, domain="com.microsoft", num_heads=heads)
    return model(node, inputs, outputs, {})


def attention_cases():
    for tokens, past in ((128, 0), (512, 0), (2048, 0), (1, 1024)):
        what = f"one new token after {past}" if past else f"sequence {tokens}"
        yield f"12 heads of 64, {what}", lambda s=(tokens, past): attention(*s), {}


# ---- GEMM and convolutions ----

def matmul_integer(m, k, n):
    node = helper.make_node("MatMulInteger", ["x", "w", "xz"], ["y"])
    return model(node, [tensor("x", [m, k], "uint8")], [tensor("y", [m, n], "int32")],
                 {"w": small_integers(k, n), "xz": np.uint8(128)})


def quantised(weights, scales, zeros):
    """Returns the constants of QLinearMatMul and QLinearConv."""
    return {"xs": np.float32(0.02), "xz": np.uint8(128), "w": weights, "ws": scales, "wz": zeros,
            "ys": np.float32(0.3), "yz": np.uint8(120)}


def qlinear_matmul(m, k, n):
    constants = quantised(small_integers(k, n), np.float32(0.01), np.int8(0))
    return model(helper.make_node("QLinearMatMul", ["x", *constants], ["y"]), [tensor("x", [m, k], "uint8")],
                 [tensor("y", [m, n], "uint8")], constants)


def float_matmul(m, k, n, dtype, bound):
    """MatMul. bound: the weights are an input, too."""
    inputs = [tensor("x", [m, k], dtype)] + ([tensor("w", [k, n], dtype)] if bound else [])
    return model(helper.make_node("MatMul", ["x", "w"], ["y"]), inputs, [tensor("y", [m, n], dtype)],
                 {} if bound else {"w": normal(k, n, dtype=dtype)})


def convolution(op, shape, dtype, constants):
    """A convolution. The constants are in the operator's order; x and y have the same type."""
    channels, size, out, kernel, stride, groups = shape
    edge = (size + 2 * (kernel // 2) - kernel) // stride + 1
    node = helper.make_node(op, ["x", *constants], ["y"], kernel_shape=[kernel] * 2, strides=[stride] * 2,
                            pads=[kernel // 2] * 4, group=groups)
    return model(node, [tensor("x", [1, channels, size, size], dtype)], [tensor("y", [1, out, edge, edge], dtype)],
                 constants)


def qlinear_conv(shape):
    channels, _, out, kernel, _, groups = shape
    constants = quantised(small_integers(out, channels // groups, kernel, kernel),
                          RNG.uniform(0.001, 0.011, out).astype(np.float32), np.zeros(out, np.int8))
    constants["b"] = RNG.integers(-100, 100, out).astype(np.int32)
    return convolution("QLinearConv", shape, "uint8", constants)


def float_conv(shape, dtype):
    channels, _, out, kernel, _, groups = shape
    return convolution("Conv", shape, dtype, {"w": normal(out, channels // groups, kernel, kernel, dtype=dtype),
                                              "b": normal(out, dtype=dtype)})


def image(shape):
    channels, size, out, kernel, stride, groups = shape
    kind = f"{'depthwise ' if groups > 1 else ''}{kernel}x{kernel}{f' / {stride}' if stride > 1 else ''}"
    return f"{kind}, {channels} x {size} x {size}" + ("" if groups > 1 else f" to {out}")


# channels, height and width, channels of the result, window, stride, groups
QUANTISED_IMAGES = [(3, 224, 64, 7, 2, 1), (64, 56, 64, 3, 1, 1), (128, 28, 128, 3, 1, 1), (128, 28, 256, 3, 2, 1),
                    (256, 14, 256, 3, 1, 1), (512, 7, 512, 3, 1, 1), (64, 56, 256, 1, 1, 1), (256, 56, 64, 1, 1, 1),
                    (512, 14, 1024, 1, 1, 1), (1024, 7, 256, 1, 1, 1), (144, 56, 144, 3, 1, 144), (576, 14, 576, 3, 1, 576)]
FLOAT_IMAGES = [(3, 224, 64, 7, 2, 1), (64, 56, 64, 3, 1, 1), (256, 14, 256, 3, 1, 1), (64, 56, 256, 1, 1, 1),
                (576, 14, 576, 3, 1, 576)]


def product_cases():
    for m, k, n in ((1, 1024, 1024), (128, 768, 768), (384, 384, 384), (384, 1024, 1024)):
        yield f"MatMulInteger u8 x s8, {m} x {k} x {n}", lambda s=(m, k, n): matmul_integer(*s), {}
    for m, k, n in ((1, 1024, 1024), (128, 768, 768), (128, 768, 3072), (384, 384, 384)):
        yield f"QLinearMatMul {m} x {k} x {n}", lambda s=(m, k, n): qlinear_matmul(*s), {}
    for shape in QUANTISED_IMAGES:
        yield f"QLinearConv {image(shape)}", lambda s=shape: qlinear_conv(s), {}
    for m, k, n, bound in ((1, 1024, 1024, False), (8, 1024, 1024, False), (128, 768, 768, False),
                           (128, 768, 768, True), (384, 1024, 1024, False)):
        for dtype in ("float16", "float32"):
            yield (f"MatMul {dtype}, {m} x {k} x {n}{', weights bound' if bound else ''}",
                   lambda s=(m, k, n, dtype, bound): float_matmul(*s), {})
    for shape in FLOAT_IMAGES:
        for dtype in ("float16", "float32"):
            yield f"Conv {dtype} {image(shape)}", lambda s=(shape, dtype): float_conv(*s), {}


# ---- transposed convolutions ----

def transposed(channels, out, kernel, size):
    constants = {"w": normal(channels, out, kernel, kernel), "b": normal(out)}
    node = helper.make_node("ConvTranspose", ["x", *constants], ["y"], kernel_shape=[kernel] * 2, strides=[kernel] * 2)
    return model(node, [tensor("x", [1, channels, size, size])],
                 [tensor("y", [1, out, size * kernel, size * kernel])], constants)


def transposed_cases():
    for shape in ((1, 1, 2, 128), (4, 4, 2, 128), (16, 8, 2, 96), (32, 16, 2, 64), (64, 32, 2, 64), (64, 64, 2, 32),
                  (32, 3, 3, 64), (16, 16, 4, 32)):
        channels, out, kernel, size = shape
        yield f"{kernel}x{kernel} / {kernel}, {channels} x {size} x {size} to {out}", lambda s=shape: transposed(*s), {}


# ---- recurrent ----

def recurrent(op, size, batch, steps):
    gates = {"GRU": 3, "LSTM": 4}[op] * size
    constants = {"w": normal(1, gates, size), "r": normal(1, gates, size), "b": normal(1, 2 * gates)}
    return model(helper.make_node(op, ["x", *constants], ["y", "last"], hidden_size=size),
                 [tensor("x", [steps, batch, size])],
                 [tensor("y", [steps, 1, batch, size]), tensor("last", [1, batch, size])], constants)


def recurrent_cases():
    for op in ("GRU", "LSTM"):
        for size, batch in ((128, 1), (256, 1), (512, 1), (1024, 1), (256, 32)):
            steps = 64 if size < 512 else 32
            yield f"{op} {size}, batch {batch}, {steps} steps", lambda s=(op, size, batch, steps): recurrent(*s), {}


# ---- nearest neighbours ----

def neighbours(points, width, known, count):
    """k-nearest neighbours as scikit-learn's converters export them: distances to all known points, the nearest points, and their
    labels."""
    nodes = [helper.make_node("CDist", ["x", "known"], ["far"], domain="com.microsoft", metric="euclidean"),
             helper.make_node("TopK", ["far", "k"], ["least", "places"], axis=-1, largest=0),
             helper.make_node("Reshape", ["places", "line"], ["flat"]),
             helper.make_node("ArrayFeatureExtractor", ["labels", "flat"], ["found"], domain="ai.onnx.ml"),
             helper.make_node("Reshape", ["found", "table"], ["shaped"]),
             helper.make_node("ReduceMean", ["shaped"], ["y"], axes=[1], keepdims=0)]
    constants = {"known": normal(known, width), "labels": normal(1, known), "k": np.array([count], np.int64),
                 "line": np.array([-1], np.int64), "table": np.array([points, count], np.int64)}
    graph = helper.make_graph(nodes, "single", [tensor("x", [points, width])], [tensor("y", [points])],
                              [numpy_helper.from_array(v, k) for k, v in constants.items()])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1), helper.make_opsetid("ai.onnx.ml", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def neighbour_cases():
    for shape in ((100, 4, 150, 5), (100, 30, 500, 5), (1000, 64, 1000, 5), (200, 64, 10000, 10)):
        points, width, known, count = shape
        yield f"{count} of {known}, {points} points of {width}", lambda s=shape: neighbours(*s), {}


# Generators of (label, function that makes the model, {peer: (setup, statement) or None} in addition to ONNX Runtime).
FAMILIES = {"sort": sort_cases, "attention": attention_cases, "product": product_cases, "transposed": transposed_cases,
            "recurrent": recurrent_cases, "neighbours": neighbour_cases}


def compare(args, path, threads, peers):
    """Returns the seconds by runtime."""
    programs = {"AnyDML": lambda: turns.anydml(args, path, threads),
                "ONNX Runtime": lambda: turns.onnxruntime(args, path, threads)}
    for name, code in peers.items():
        if code and (threads == 1 or name != "numpy"):
            setup, statement = code
            programs[name] = (lambda a=setup.format(threads=threads), b=statement: turns.python(args, threads, a, b))
    return dict(zip(programs, turns.best(args.rounds, *programs.values())))


def number(value):
    return f"{value:.1f}" if value < 100 else f"{value:.0f}"


def row_of(columns, label, threads, seconds):
    cells = [label, str(threads), number(seconds["AnyDML"] * 1e6)]
    for name in columns:
        known = name in seconds
        cells += [number(seconds[name] * 1e6), f"{seconds['AnyDML'] / seconds[name]:.2f}"] if known else ["-", "-"]
    return f"| {' | '.join(cells)} |"


def measure(args, family, folder):
    results, path = [], os.path.join(folder, "model.onnx")
    cases = [case for case in FAMILIES[family]() if args.filter in case[0]]
    columns = ["ONNX Runtime", *dict.fromkeys(name for case in cases for name in case[2])]
    if cases:
        print(f"\n| {family} | threads | AnyDML us | {' | '.join(f'{name} us | ratio' for name in columns)} |")
        print("|---" * (3 + 2 * len(columns)) + "|", flush=True)
    for label, make, peers in cases:
        onnx.save(make(), path)
        for threads in args.threads:
            seconds = compare(args, path, threads, peers)
            results.append(dict(family=family, label=label, threads=threads, seconds=seconds))
            print(row_of(columns, label, threads, seconds), flush=True)
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--family", default=",".join(FAMILIES))
    turns.options(parser)
    args = parser.parse_args()
    families = args.family.split(",")
    for family in families:
        if family not in FAMILIES:
            parser.error(f"unknown family {family}; must be one of {', '.join(FAMILIES)}")
    with tempfile.TemporaryDirectory() as folder:
        results = [row for family in families for row in measure(args, family, folder)]
    turns.keep(args, results)


if __name__ == "__main__":
    main()
