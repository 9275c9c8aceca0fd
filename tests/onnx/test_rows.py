#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Operators in other types, versions and modes than models usually have: test_rows.py ANYDML [filter]

Each case is a model of one node, computed by `anydml run` and by ONNX Runtime's CPU provider; the few types that this
provider lacks only have to run. Exits with 77 (skipped) where onnx or onnxruntime is missing.
"""
import os
import re
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import onnx
    import onnxruntime
    from onnx import helper, numpy_helper
except ImportError:
    sys.exit(77)

rng = np.random.default_rng(7)
cases = []


def data(shape, dtype="f4", low=-2.0, high=2.0):
    if np.dtype(dtype).kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if np.dtype(dtype).kind in "iu":
        return rng.integers(0 if np.dtype(dtype).kind == "u" else -5, 6, shape).astype(dtype)
    return (np.round(rng.uniform(low, high, shape) * 16) / 16).astype(dtype)


def add(kind, version, inputs, known=(), outputs=1, **attributes):
    """Inputs of the mask `known` become initializers; None is an absent input."""
    cases.append((kind, version, inputs, known, outputs, attributes))


def element_wise():
    for dtype in ("i4", "i8", "u1", "u8"):
        add("Sign", 13, [data((2, 7), dtype)])
        add("Clip", 13, [data((2, 7), dtype), np.array(1, dtype), np.array(3, dtype)])
        add("Clip", 13, [data((2, 7), dtype), None, np.array(2, dtype)], known=(2,))
    for dtype in ("u1", "u2", "u4", "u8"):
        add("Abs", 13, [data((3, 5), dtype)])
    for dtype in ("f2", "f4", "f8"):
        add("Clip", 7, [data((3, 5), dtype)], min=-1.0, max=0.5)
        add("Gelu", 20, [data((3, 5), dtype)], approximate="tanh")
    for base, power in (("i8", "i8"), ("f4", "i8"), ("i8", "f4"), ("f8", "i8"), ("i4", "i8")):
        add("Pow", 15, [np.abs(data((2, 4), base)) + 1, np.abs(data((4,), power))])
    for dtype in ("i4", "i8"):  # beyond what float64 holds, and beyond the type
        base, power = np.array([3, -7, 2, 10, -1, 5], dtype), np.array([35, 21, 62, 18, 7, 60], dtype)
        add("Pow", 15, [base, power])
        add("Pow", 15, [base, power], known=(0, 1))
    for dtype in ("i1", "u1", "i2", "u4", "i8", "u8"):  # of 8 bits all, of more the corners
        info = np.iinfo(dtype)
        some = [info.min, info.max, info.max // 2, 0, 1, 2, 3, 7, 10, 97] + ([-1, -2, -3, -7] if info.min else [])
        base = np.arange(info.min, info.max + 1) if info.bits == 8 else np.array(some, dtype)
        add("Pow", 15, [base.astype(dtype)[:, None], np.arange(min(info.max, 70) + 1).astype(dtype)])
    add("Pow", 15, [np.array([2, 9, 100], "i8"), np.array([3, 0.5, 1.5], "f4")], known=(0, 1))
    add("PRelu", 16, [data((2, 3, 4)), data((3, 1))])
    for dtype in ("f4", "f8", "i4", "u4"):  # slopes larger than the input
        add("PRelu", 16, [data((2, 1, 4), dtype), data((3, 4), dtype)])
        add("PRelu", 16, [data((4,), dtype), data((2, 3, 1), dtype)], known=(1,))
    add("Relu", 14, [data((2, 9), "f8")])
    add("Dropout", 13, [data((3, 4)), np.array(0.3, "f4"), np.array(False)], known=(1, 2), outputs=2)


def reductions():
    for kind in ("ReduceL1", "ReduceL2", "ReduceLogSumExp", "ReduceMean", "ReduceProd", "ReduceSum", "ReduceSumSquare",
                 "ReduceMax", "ReduceMin"):
        old = 13 if kind == "ReduceSum" else 18
        for dtype in ("f4", "f8", "i4"):
            if kind != "ReduceLogSumExp" or dtype != "i4":
                add(kind, old, [data((2, 3, 4), dtype), np.array([1, -1])], known=(1,), keepdims=0)
        add(kind, old, [data((2, 3, 4)), np.array([], np.int64)], known=(1,), noop_with_empty_axes=1)
        if kind not in ("ReduceMean", "ReduceMax", "ReduceMin"):
            add(kind, old, [np.zeros((2, 0, 4), "f4"), np.array([1])], known=(1,))
    add("ArgMax", 13, [np.array([[1, 3, 3, 1]], "f4")], axis=1, select_last_index=1)


def products():
    shapes = (((4,), (4,)), ((4,), (2, 4, 3)), ((2, 3, 4), (4,)), ((2, 1, 3, 4), (5, 4, 2)),
              ((2, 1, 2, 3, 4), (1, 3, 2, 4, 2)), ((1, 2, 2, 3, 4), (3, 2, 1, 4, 2)), ((2, 0), (0, 3)))
    for x, z in shapes:
        for dtype in ("f4", "f8", "i4", "i8"):
            add("MatMul", 13, [data(x, dtype), data(z, dtype)])
    for bias in (None, data((), "f4"), data((3, 1), "f4"), data((5,), "f4")):
        add("Gemm", 13, [data((3, 4)), data((4, 5)), bias], alpha=0.5, beta=2.0)
    add("Gemm", 13, [data((3, 0)), data((0, 5)), data((5,))])


def windows():
    for size in (6, 7, 8, 9):
        for version in (10, 11, 19):
            add("AveragePool", version, [data((1, 2, size, size + 1))], kernel_shape=[3, 3], strides=[2, 2],
                ceil_mode=1, pads=[1, 1, 1, 1], count_include_pad=1)
    for order in (0, 1):
        add("MaxPool", 12, [data((2, 2, 5, 6), "f8", -9, 9)], outputs=2, kernel_shape=[2, 2], storage_order=order)
        add("MaxPool", 12, [data((1, 2, 5, 4, 3), "f4", -99, 99)], outputs=2, kernel_shape=[2, 2, 2],
            storage_order=order)
    for dtype in ("i1", "u1"):
        add("MaxPool", 12, [data((1, 2, 7, 8), dtype)], kernel_shape=[3, 2], auto_pad="SAME_LOWER", strides=[2, 2])
    add("LpPool", 18, [data((1, 2, 9, 9))], kernel_shape=[3, 2], dilations=[2, 3], p=3)
    add("LpPool", 11, [data((2, 3, 11))], kernel_shape=[3], strides=[2], pads=[1, 0])
    for p in (1, 2, 3):
        add("GlobalLpPool", 2, [data((2, 3, 4, 5))], p=p)
    add("ConvTranspose", 11, [data((1, 2, 4, 5)), data((2, 3, 3, 3))], strides=[3, 2], output_shape=[10, 8])
    add("LRN", 13, [data((2, 7, 3, 3))], size=5, alpha=0.5)
    statistics = [data((3,)), data((3,)), data((3,)), data((3,), "f4", 0.5, 2)]
    add("BatchNormalization", 15, [data((2, 3, 4, 5))] + statistics, outputs=3, training_mode=1, momentum=0.8)
    add("LayerNormalization", 17, [data((2, 3, 4)), data((3, 4))], outputs=3, axis=1)


def moves():
    for mode in ("constant", "edge", "reflect", "wrap"):
        for dtype in ("f4", "f8", "i8", "u1", "?"):
            value = data((), dtype) if mode == "constant" else None
            add("Pad", 19, [data((5, 6), dtype), np.array([1, 2, 2, 1]), value], known=(1,), mode=mode)
    add("Pad", 18, [data((3, 4)), np.array([2, -1]), None, np.array([-1])], known=(1, 3))
    add("Pad", 11, [np.zeros((0, 4), "f4"), np.array([1, 2, 2, 1]), np.array(3, "f4")], known=(1,))
    add("Split", 18, [data((7, 3))], outputs=3, num_outputs=3)
    add("Split", 13, [data((6, 3)), np.array([2, 4, 0])], known=(1,), outputs=3, axis=0)
    add("Reshape", 14, [np.zeros((0, 3), "f4"), np.array([3, 0])], known=(1,), allowzero=1)
    add("Gather", 13, [data((3, 4)), np.zeros((0,), np.int64)])


def resizing():
    scales, sizes = np.array([1, 1, 1.6, 0.7], "f4"), np.array([1, 2, 7, 3])
    for rule in ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "half_pixel_symmetric"):
        for mode in ("nearest", "linear", "cubic"):
            add("Resize", 19, [data((1, 2, 4, 5)), None, None, sizes], known=(3,), mode=mode,
                coordinate_transformation_mode=rule)
            if rule != "align_corners":  # by scales, sizes before rounding are what ONNX's own tests ask for
                add("Resize", 19, [data((1, 2, 4, 5)), None, scales], known=(2,), mode=mode,
                    coordinate_transformation_mode=rule)
    for mode in ("linear", "cubic"):
        add("Resize", 18, [data((1, 2, 8, 9)), None, np.array([0.6, 0.4], "f4")], known=(2,), mode=mode, axes=[2, 3],
            antialias=1)
        add("Resize", 13, [data((1, 2, 4, 5)), np.array([0, 0, .2, .1, 1, 1, .7, 1.2], "f4"), None,
                           np.array([1, 2, 5, 4])], known=(1, 3), mode=mode, extrapolation_value=3.0,
            coordinate_transformation_mode="tf_crop_and_resize")
    for policy in ("not_larger", "not_smaller"):
        add("Resize", 18, [data((1, 2, 4, 5)), None, None, np.array([7, 3])], known=(3,), mode="nearest", axes=[3, 2],
            keep_aspect_ratio_policy=policy)
    add("Resize", 13, [data((1, 2, 4, 5)), None, scales], known=(2,), mode="cubic", exclude_outside=1,
        cubic_coeff_a=-0.5)
    add("Resize", 10, [data((1, 2, 4, 5)), scales], known=(1,), mode="nearest")
    add("Resize", 13, [data((1, 2, 3, 3, 3)), None, np.array([1, 1, 2, 2, 2], "f4")], known=(2,), mode="linear")
    add("Resize", 13, [data((1, 2, 4, 5), "u1"), None, np.array([1, 1, 2, 2], "f4")], known=(2,),
        mode="linear")


def recurrent(kind, version, direction="forward", lengths=None, initial=False, peepholes=False, **attributes):
    gates, steps, batch, inputs, hidden = {"RNN": 1, "GRU": 3, "LSTM": 4}[kind], 4, 3, 5, 2
    directions = 2 if direction == "bidirectional" else 1
    state = (directions, batch, hidden)
    values = [data((steps, batch, inputs)), data((directions, gates * hidden, inputs), "f4", -0.9, 0.9),
              data((directions, gates * hidden, hidden), "f4", -0.9, 0.9), data((directions, 2 * gates * hidden)),
              None if lengths is None else np.array(lengths, np.int32), data(state) if initial else None]
    if kind == "LSTM":
        values += [data(state) if initial else None, data((directions, 3 * hidden)) if peepholes else None]
    add(kind, version, values, outputs=3 if kind == "LSTM" else 2, hidden_size=hidden, direction=direction,
        **attributes)


def recurrent_networks():
    functions = {"RNN": ["LeakyRelu"], "GRU": ["HardSigmoid", "Softsign"], "LSTM": ["HardSigmoid", "Elu", "Softsign"]}
    for kind, activations in functions.items():
        for version in (7, 14):
            for direction in ("forward", "reverse", "bidirectional"):
                recurrent(kind, version, direction)
                recurrent(kind, version, direction, lengths=[4, 1, 2], initial=True)
        recurrent(kind, 14, activations=activations, activation_alpha=[0.3] * 2, activation_beta=[0.4] * 2)
    recurrent("GRU", 14, "bidirectional", initial=True, linear_before_reset=1)
    recurrent("LSTM", 14, "bidirectional", initial=True, peepholes=True)
    recurrent("LSTM", 14, initial=True, input_forget=1)


def build(case):
    kind, version, inputs, known, outputs, attributes = case
    names = ["" if x is None else f"x{i}" for i, x in enumerate(inputs)]
    free = [i for i, x in enumerate(inputs) if x is not None and i not in known]
    element = helper.np_dtype_to_tensor_dtype
    infos = [helper.make_tensor_value_info(names[i], element(inputs[i].dtype), inputs[i].shape) for i in free]
    weights = [numpy_helper.from_array(np.asarray(inputs[i]), names[i]) for i in known]
    results = [helper.make_empty_tensor_value_info(f"y{i}") for i in range(outputs)]
    node = helper.make_node(kind, names, [f"y{i}" for i in range(outputs)], **attributes)
    model = helper.make_model(helper.make_graph([node], "test", infos, results, weights), ir_version=8,
                              opset_imports=[helper.make_opsetid("", max(version, 7))])
    return onnx.shape_inference.infer_shapes(model), {names[i]: np.asarray(inputs[i]) for i in free}


def reference(text, feeds):
    try:
        return onnxruntime.InferenceSession(text, providers=["CPUExecutionProvider"]).run(None, feeds)
    except onnxruntime.capi.onnxruntime_pybind11_state.NotImplemented:
        return []


def power(case):
    """Of integers, which ONNX Runtime computes in double: NumPy's, which wraps. None: another case."""
    kind, inputs = case[0], case[2]
    if kind != "Pow" or inputs[0].dtype != inputs[1].dtype or inputs[0].dtype.kind not in "iu":
        return None
    return [np.power(*inputs)]


def compare(binary, folder, case):
    """A line of text when something is wrong."""
    model, feeds = build(case)
    text = model.SerializeToString()
    exact = power(case)
    wants = exact or reference(text, feeds)
    with open(folder + "/m.onnx", "wb") as file:
        file.write(text)
    args = [binary, "run", folder + "/m.onnx"]
    for name, value in feeds.items():
        np.save(f"{folder}/{name}.npy", value)
        args += ["--input", f"{name}={folder}/{name}.npy"]
    for i in range(len(wants)):
        args += ["--output", f"y{i}={folder}/y{i}.npy"]
    result = subprocess.run(args, capture_output=True, text=True, timeout=120, check=False)
    if result.returncode:
        return f"code {result.returncode}: {result.stderr.strip()[-300:]}"
    for i, want in enumerate(wants):
        got = np.load(f"{folder}/y{i}.npy")
        if got.shape != want.shape or got.dtype != want.dtype:
            return f"output {i} is {got.dtype}{got.shape} instead of {want.dtype}{want.shape}"
        if exact and not np.array_equal(got, want):
            return f"output {i} is {got.tolist()}, not {want.tolist()}"
        near = 0.004 if want.dtype == np.float16 else 1e-4
        if not np.allclose(got.astype("f8"), want.astype("f8"), near, near, equal_nan=True):
            return f"output {i} differs by {np.nanmax(np.abs(got.astype('f8') - want.astype('f8')))}"
    return None


def main():
    onnxruntime.set_default_logger_severity(4)
    for family in (element_wise, reductions, products, windows, moves, resizing, recurrent_networks):
        family()
    chosen = [c for c in cases if len(sys.argv) < 3 or re.search(sys.argv[2], c[0])]
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        for number, case in enumerate(chosen):
            wrong = compare(sys.argv[1], folder, case)
            if wrong:
                failures += 1
                print(f"FAILED: case {number}, {case[0]} {case[1]} {case[5]}: {wrong}")
    print(f"{len(chosen) - failures} passed, {failures} failed")
    sys.exit(failures != 0)


if __name__ == "__main__":
    main()
