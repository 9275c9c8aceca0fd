#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""steps_ort.py LIBRARY [--only TEXT] [--before LIBRARY]: measures single operators of common networks, with their shapes, in
ONNX Runtime with one thread: CPU time in the provider (libonnxruntime_ep_directml.so) relative to ONNX Runtime's own CPU
provider. The two alternate; the minimum of many runs counts. --before also measures another build of the provider, in its own
process.

Requires Python with onnxruntime, onnx and numpy: .cache/onnxruntime/venv/bin/python after `make check`."""

import argparse
import json
import os
import subprocess
import sys
import time

import numpy as np
import onnxruntime as ort
from onnx import helper, numpy_helper

from steps_blocks import as_float16, blocks

RANDOM = np.random.default_rng(0)
OPSET = 20  # Gelu


def floats(*sizes, scale=1.0):
    return (RANDOM.standard_normal(sizes) * scale).astype(np.float32)


def depthwise():
    """Depthwise convolutions of ConvNeXt, FastViT, MobileNets, EfficientNet, DeepLab, and large windows: (channels, size of the
    map, window, dilation)."""
    for channels, size, window, dilation in (
            (768, 3, 7, 1), (384, 6, 7, 1), (384, 7, 7, 1), (384, 14, 7, 1), (192, 24, 7, 1), (96, 56, 7, 1), (960, 7, 3, 1),
            (576, 14, 3, 1), (672, 7, 5, 1), (240, 14, 5, 1), (128, 33, 3, 12), (64, 40, 7, 3), (64, 40, 13, 1), (32, 64, 31, 1)):
        pad = dilation * (window // 2)
        node = helper.make_node("Conv", ["x", "w", "b"], ["y"], group=channels, kernel_shape=[window] * 2, pads=[pad] * 4,
                                dilations=[dilation] * 2)
        yield (f"depthwise {window}x{window} of {channels}x{size}x{size}, dilation {dilation}", [node],
               {"x": floats(1, channels, size, size)}, {"w": floats(channels, 1, window, window), "b": floats(channels)})


def strided():
    """Depthwise convolutions that halve maps: (channels, size of the map, window)."""
    for channels, size, window in ((192, 28, 3), (96, 56, 3), (144, 40, 3), (96, 112, 3), (144, 56, 5)):
        node = helper.make_node("Conv", ["x", "w", "b"], ["y"], group=channels, kernel_shape=[window] * 2,
                                pads=[window // 2] * 4, strides=[2, 2])
        yield (f"depthwise {window}x{window} of {channels}x{size}x{size}, stride 2", [node], {"x": floats(1, channels, size, size)},
               {"w": floats(channels, 1, window, window), "b": floats(channels)})


def dilated():
    for channels, outputs, size, dilation in ((512, 64, 33, 12), (512, 64, 33, 24), (256, 64, 33, 2), (256, 64, 33, 6)):
        node = helper.make_node("Conv", ["x", "w"], ["y"], kernel_shape=[3, 3], pads=[dilation] * 4, dilations=[dilation] * 2)
        yield (f"3x3 of {channels}x{size}x{size} to {outputs}, dilation {dilation}", [node],
               {"x": floats(1, channels, size, size)}, {"w": floats(outputs, channels, 3, 3, scale=0.02)})


def pointwise():
    for channels, outputs, size in ((960, 160, 7), (160, 960, 7), (1024, 256, 7), (512, 128, 10), (576, 96, 14), (128, 16, 3),
                                    (64, 64, 20), (96, 96, 24), (40, 240, 28), (128, 128, 28), (512, 512, 28)):
        node = helper.make_node("Conv", ["x", "w", "b"], ["y"], kernel_shape=[1, 1])
        yield (f"1x1 of {channels}x{size}x{size} to {outputs}", [node], {"x": floats(1, channels, size, size)},
               {"w": floats(outputs, channels, 1, 1, scale=0.03), "b": floats(outputs)})


def products():
    """GEMMs without an activation, and followed by the activations of transformers."""
    for rows, inner, columns in ((128, 64, 256), (512, 256, 1024), (197, 768, 3072)):
        for name, last in (("", None), (" + Gelu", {}), (" + Gelu by tanh", {"approximate": "tanh"})):
            nodes = [helper.make_node("MatMul", ["x", "w"], ["a"]), helper.make_node("Add", ["a", "b"], ["y" if last is None else "s"])]
            if last is not None:
                nodes.append(helper.make_node("Gelu", ["s"], ["y"], **last))
            yield (f"MatMul {rows}x{inner}x{columns} + Add{name}", nodes, {"x": floats(rows, inner)},
                   {"w": floats(inner, columns, scale=0.06), "b": floats(columns)})
    for rows, inner, columns in ((4096, 32, 32), (16384, 32, 32), (4, 1024, 4096)):
        yield (f"MatMul {rows}x{inner}x{columns}", [helper.make_node("MatMul", ["x", "w"], ["y"])], {"x": floats(rows, inner)},
               {"w": floats(inner, columns)})


def lines():
    for count, length in ((20000, 8), (20000, 16), (12288, 49), (1000, 197)):
        yield (f"Softmax of {count} lines of {length}", [helper.make_node("Softmax", ["x"], ["y"], axis=-1)],
               {"x": floats(count, length)}, {})
    for count, length in ((10000, 24), (10000, 32), (3136, 96), (784, 192), (197, 768)):
        yield (f"LayerNormalization of {count} lines of {length}", [helper.make_node("LayerNormalization", ["x", "s", "b"], ["y"])],
               {"x": floats(count, length)}, {"s": floats(length), "b": floats(length)})
    for count, length in ((50000, 3), (40000, 8), (20000, 16)):
        axes = np.array([-1], np.int64)
        for op in ("ReduceSum", "ReduceMax"):
            yield (f"{op} of {count} lines of {length}", [helper.make_node(op, ["x", "axes"], ["y"], keepdims=0)],
                   {"x": floats(count, length)}, {"axes": axes})
        yield (f"ArgMax of {count} lines of {length}", [helper.make_node("ArgMax", ["x"], ["y"], axis=-1, keepdims=0)],
               {"x": floats(count, length)}, {})


def recurrences():
    """Speech and text models after quantize_dynamic: (steps, batch, inputs and hidden values, directions)."""
    for steps, batch, size, directions in ((1, 1, 512, 1), (1, 1, 1024, 1), (20, 1, 128, 2), (100, 1, 256, 1), (100, 1, 256, 2),
                                           (50, 1, 512, 1), (50, 4, 256, 2), (30, 16, 256, 1), (200, 1, 40, 2)):
        weights = [RANDOM.integers(-63, 64, (directions, size, 4 * size)).astype(np.int8) for _ in range(2)]  # reduced range
        scale = np.full(directions, size**-0.5 / 64, np.float32)
        node = helper.make_node("DynamicQuantizeLSTM", ["x", "w", "r", "b", "", "", "", "", "s", "z", "s", "z"], ["y"], domain="com.microsoft",
                                hidden_size=size, direction="bidirectional" if directions == 2 else "forward")
        yield (f"DynamicQuantizeLSTM of {steps}x{batch}x{size}, directions {directions}", [node], {"x": floats(steps, batch, size)},
               {"w": weights[0], "r": weights[1], "b": floats(directions, 8 * size, scale=size**-0.5), "s": scale,
                "z": np.zeros(directions, np.int8)})


def halves():
    """Steps in FLOAT16, beside the same in FLOAT32."""
    def both(name, nodes, inputs, constants):
        yield name, nodes, inputs, constants
        yield (f"{name}, FLOAT16", *as_float16(nodes, inputs, constants))
    for count, length in ((12288, 49), (1000, 197), (512, 1024)):
        yield from both(f"Softmax in {count} x {length}", [helper.make_node("Softmax", ["x"], ["y"], axis=-1)],
                        {"x": floats(count, length)}, {})
    for count, length in ((3136, 96), (197, 768)):
        node = helper.make_node("LayerNormalization", ["x", "s", "b"], ["y"])
        yield from both(f"LayerNormalization in {count} x {length}", [node], {"x": floats(count, length)},
                        {"s": floats(length), "b": floats(length)})
    for name, ops in (("Add", ["Add"]), ("Add + Sigmoid + Mul", ["Add", "Sigmoid", "Mul"])):
        nodes = [helper.make_node(op, ["a", "x"] if op == "Mul" else ["x", "w"] if op == "Add" else ["x"], ["a"]) for op in ops]
        for i, node in enumerate(nodes):
            node.output[0] = "y" if i == len(nodes) - 1 else f"t{i}"
            node.input[0] = node.input[0] if i == 0 else f"t{i - 1}"
        yield from both(f"{name} of 384x32x32", nodes, {"x": floats(1, 384, 32, 32), "w": floats(1, 384, 32, 32)}, {})
    for group, outputs, window, size in ((384, 384, 7, 14), (192, 192, 3, 28), (1, 96, 1, 14), (1, 64, 3, 28)):
        inner = 384 if group == 1 and window == 1 else 64 if group == 1 else group
        node = helper.make_node("Conv", ["x", "w", "b"], ["y"], group=group, kernel_shape=[window] * 2, pads=[window // 2] * 4)
        yield from both(f"Conv {window}x{window} of {inner}x{size}x{size} to {outputs} in {group} groups", [node],
                        {"x": floats(1, inner, size, size)}, {"w": floats(outputs, inner // group, window, window, scale=0.05),
                                                              "b": floats(outputs)})
    for rows, inner, columns in ((1, 1024, 1024), (4, 1024, 1024), (197, 768, 768), (1024, 64, 64)):
        yield from both(f"MatMul in {rows}x{inner}x{columns}", [helper.make_node("MatMul", ["x", "w"], ["y"])],
                        {"x": floats(rows, inner)}, {"w": floats(inner, columns, scale=inner**-0.5)})
    for batch, rows, inner, columns in ((192, 49, 32, 49), (192, 49, 49, 32), (12, 197, 64, 197)):
        yield from both(f"MatMul of {batch} times {rows}x{inner}x{columns}", [helper.make_node("MatMul", ["x", "w"], ["y"])],
                        {"x": floats(batch, rows, inner), "w": floats(batch, inner, columns, scale=inner**-0.5)}, {})


def beams():
    """Three beams of a language model: products of a few rows, and attention of one token each."""
    for rows, inner, columns in ((2, 768, 768), (3, 768, 768), (3, 768, 3072), (3, 3072, 768), (6, 768, 768), (8, 768, 3072)):
        yield (f"MatMul {rows}x1x{inner}x{columns}", [helper.make_node("MatMul", ["x", "w"], ["y"])],
               {"x": floats(rows, 1, inner)}, {"w": floats(inner, columns, scale=inner**-0.5)})
    for batch, count, tokens, depth in ((3, 12, 200, 64), (3, 16, 40, 64)):
        nodes = [helper.make_node("Transpose", ["k"], ["t"], perm=[0, 1, 3, 2]), helper.make_node("MatMul", ["x", "t"], ["s"]),
                 helper.make_node("Mul", ["s", "f"], ["m"]), helper.make_node("Softmax", ["m"], ["p"], axis=-1),
                 helper.make_node("MatMul", ["p", "v"], ["y"])]
        yield (f"attention of {batch}x{count}x1 token to {tokens} of {depth}", nodes,
               {"x": floats(batch, count, 1, depth), "k": floats(batch, count, tokens, depth), "v": floats(batch, count, tokens, depth)},
               {"f": np.float32(depth**-0.5)})


def samples():
    """GridSample: warped images, and the points of deformable attention."""
    for batch, channels, size, points in ((1, 64, 56, (56, 56)), (8, 32, 64, (300, 4)), (1, 3, 224, (224, 224))):
        node = helper.make_node("GridSample", ["x", "g"], ["y"], mode="linear", padding_mode="zeros", align_corners=0)
        yield (f"GridSample of {batch}x{channels}x{size}x{size} at {points[0]}x{points[1]}", [node],
               {"x": floats(batch, channels, size, size), "g": RANDOM.uniform(-1, 1, (batch, *points, 2)).astype(np.float32)}, {})


CASES = (depthwise, strided, dilated, pointwise, products, lines, recurrences, blocks, halves, beams, samples)


def model_of(nodes, inputs, constants):
    values = [helper.make_tensor_value_info(k, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape) for k, v in inputs.items()]
    graph = helper.make_graph(nodes, "step", values, [helper.make_empty_tensor_value_info("y")],
                              [numpy_helper.from_array(v, k) for k, v in constants.items()])
    return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", OPSET), helper.make_opsetid("com.microsoft", 1)]).SerializeToString()


def session_of(model, device):
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    if device:
        options.add_provider_for_devices(device, {})
    return ort.InferenceSession(model, options, **({} if device else {"providers": ["CPUExecutionProvider"]}))


def least(sessions, inputs):
    """Returns the minimum CPU time of each session in milliseconds."""
    best = [float("inf")] * len(sessions)
    end, runs = time.monotonic() + 0.5, 0
    while runs < 12 or time.monotonic() < end:
        for i, session in enumerate(sessions):
            begin = time.thread_time()
            session.run(None, inputs)
            best[i] = min(best[i], time.thread_time() - begin)
        runs += 1
    return [1e3 * seconds for seconds in best]


def measure(library, only):
    ort.register_execution_provider_library("anydml", os.path.abspath(library))
    device = [d for d in ort.get_ep_devices() if d.ep_name == "AnyDMLExecutionProvider"][:1]
    for family in CASES:
        for name, nodes, inputs, constants in family():
            if only and only not in name:
                continue
            model = model_of(nodes, inputs, constants)
            sessions = [session_of(model, device), session_of(model, None)]
            ours, theirs = (s.run(None, inputs)[0].astype(np.float64) for s in sessions)
            limit = 0.03 if "Dynamic" in name or "FLOAT16" in name else 1e-3  # 8 bits of tokens and states
            assert np.allclose(ours, theirs, rtol=limit, atol=limit), name
            yield name, least(sessions, inputs)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library")
    parser.add_argument("--only", default="")
    parser.add_argument("--before")
    parser.add_argument("--json", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    os.environ["ANYDML_ADAPTERS"], os.environ["ANYDML_THREADS"] = "cpu", "1"
    if args.json:
        print(json.dumps(dict(measure(args.library, args.only))))
        return
    before = {}
    if args.before:
        command = [sys.executable, __file__, args.before, "--only", args.only, "--json"]
        before = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    print(f"| step | {'before, ms | ' if before else ''}ms | ONNX Runtime {ort.__version__}, ms | ratio |")
    print(f"|---|{'---|' if before else ''}---|---|---|")
    for name, (ours, theirs) in measure(args.library, args.only):
        print(f"| {name} | {f'{before[name][0]:.3f} | ' if before else ''}{ours:.3f} | {theirs:.3f} | {ours / theirs:.2f} |", flush=True)


if __name__ == "__main__":
    main()
