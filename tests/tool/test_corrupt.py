#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Damaged models never crash the command: test_corrupt.py ANYDML SAMPLES

Files cut short and files with changed bytes must be refused in one line, or run. The damage is the same every time;
--seed N before the other arguments chooses another.
"""
import random
import sys

import numpy as np

import wire
from tool import Tool

CASES = 300


def small_model():
    """Many kinds of messages in few bytes, so that most changes hit something that matters."""
    weight = np.linspace(-1, 1, 4 * 2 * 3 * 3, dtype=np.float32).reshape(4, 2, 3, 3)
    nodes = [
        wire.node("Conv", ["x", "weight", "bias"], ["a"], kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
        wire.node("Relu", ["a"], ["b"]),
        wire.node("MaxPool", ["b"], ["c"], kernel_shape=[2, 2], strides=[2, 2]),
        wire.node("Constant", [], ["shape"], value=np.array([1, -1], np.int64)),
        wire.node("Reshape", ["c", "shape"], ["d"]),
        wire.node("Concat", ["d", "d"], ["e"], axis=1),
        wire.node("Softmax", ["e"], ["f"], axis=1),
        wire.node("Transpose", ["f"], ["y"], perm=[1, 0]),
    ]
    return wire.model(nodes, [("x", wire.FLOAT, [1, 2, "height", "width"])], [("y", wire.FLOAT, ["n", 1])],
                      [("weight", weight), ("bias", np.zeros(4, np.float32))])


def window_model():
    """Attributes and constants that become sizes, counts and positions."""
    def ints(*values):
        return np.array(values, np.int64)
    constants = {"pads": ints(0, 0, 1, -1, 0, 0, 1, 2), "axes": ints(2, 3), "sizes": ints(5, 7), "parts": ints(1, 3),
                 "order": ints(4, -1, 2), "roi": np.array([0, 0.1, 1, 0.9], np.float32),
                 "w": np.ones((2, 9, 2), np.float32), "r": np.ones((2, 9, 3), np.float32)}
    nodes = [
        wire.node("AveragePool", ["x"], ["a"], kernel_shape=[3, 2], strides=[2, 1], pads=[1, 1, 1, 0], ceil_mode=1,
                  count_include_pad=1, dilations=[1, 2]),
        wire.node("MaxPool", ["x"], ["b", "where"], kernel_shape=[2, 2], storage_order=1, auto_pad="SAME_LOWER"),
        wire.node("LpPool", ["b"], ["c"], kernel_shape=[2, 3], p=3),
        wire.node("Pad", ["c", "pads"], ["d"], mode="reflect"),
        wire.node("Resize", ["d", "roi", "", "sizes"], ["e"], mode="cubic", axes=[2, 3], extrapolation_value=2.0,
                  coordinate_transformation_mode="tf_crop_and_resize"),
        wire.node("ReduceLogSumExp", ["e", "axes"], ["f"], keepdims=1),
        wire.node("Resize", ["d", "", "", "sizes"], ["g"], mode="linear", axes=[3, 2], antialias=1,
                  keep_aspect_ratio_policy="not_larger"),
        wire.node("Reshape", ["x", "order"], ["h"]),
        wire.node("GRU", ["h", "w", "r"], ["", "i"], hidden_size=3, direction="bidirectional", linear_before_reset=1),
        wire.node("Transpose", ["i"], ["i2"], perm=[0, 2, 1]),
        wire.node("MatMul", ["i", "i2"], ["y"]),
        wire.node("ReduceMean", ["a"], ["a0"], keepdims=0),
        wire.node("Sum", ["f", "a0"], ["z"]),
        wire.node("Split", ["b", "parts"], ["s", "t"], axis=2),
    ]
    return wire.model(nodes, [("x", wire.FLOAT, [1, 2, 4, 6])],
                      [("y", wire.FLOAT, [2, "p", "q"]), ("z", wire.FLOAT, [1, 2, 1, 1]),
                       ("g", wire.FLOAT, [1, 2, "j", "k"]), ("t", wire.FLOAT, [1, 2, 3, 6]),
                       ("where", wire.INT64, [1, 2, 4, 6])],
                      list(constants.items()), opset=18)


def damage(chance, model):
    """A cut, or up to three changed bytes."""
    if chance.random() < 0.4:
        return model[:chance.randrange(len(model))]
    damaged = bytearray(model)
    for _ in range(chance.randint(1, 3)):
        damaged[chance.randrange(len(model))] = chance.choice([0, 1, 127, 128, 255, chance.randrange(256)])
    return bytes(damaged)


def main():
    args = sys.argv[1:]
    seed = 1
    if args[0] == "--seed":
        seed, args = int(args[1]), args[2:]
    tool = Tool(args[0])
    chance = random.Random(seed)
    with open(args[1] + "/data/super_resolution_x2.onnx", "rb") as file:
        models = [small_model(), file.read(), window_model()]
    inputs = [tool.file("x0.npy"), tool.file("x1.npy"), tool.file("x0.npy")]
    np.save(inputs[0], np.ones((1, 2, 4, 6), np.float32))
    np.save(inputs[1], np.ones((1, 3, 4, 6), np.float32))
    whole = tool.run("run", tool.file("whole.onnx", models[2]), "--input", inputs[2], timeout=60)
    tool.test(whole.returncode == 0, f"the undamaged model: {whole.stderr.strip()!r}")
    codes = {}
    for case in range(CASES):
        which = 1 if case % 10 == 9 else case % 2 * 2
        path = tool.file("damaged.onnx", damage(chance, models[which]))
        result = tool.run("run", path, "--input", inputs[which], timeout=60)
        codes[result.returncode] = codes.get(result.returncode, 0) + 1
        lines = len(result.stderr.splitlines())
        fine = result.returncode in (0, 1, 2) and lines == (result.returncode != 0)
        tool.test(fine, f"seed {seed}, case {case}: code {result.returncode}, {result.stderr.strip()[-300:]!r}")
    print("exit codes:", codes)
    tool.test(codes.get(2, 0) > CASES // 4, "hardly any damage was noticed")
    tool.finish()


if __name__ == "__main__":
    main()
