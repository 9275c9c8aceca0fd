#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""usage: tests/vulkan/chains.py ANYDML DEVICE

Steps without barriers (src/graph/plan/plan_chains.c) on a device with metacommands, by hand: models that have such against the same
ones without (ANYDML_DISABLE_PASS=chains), both against FLOAT32 on the CPU. Needs numpy and onnx."""
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

ANYDML, DEVICE = sys.argv[1:3]
FOLDER = tempfile.mkdtemp()
WITHOUT = {"ANYDML_DISABLE_PASS": "chains"}

# Rows, first width, then steps: n (normalise first; m: by the root mean square), a width, r (ReLU), + (and the last tensor of
# that width is added); the kind of data.
CASES = [
    (128, 768, "768+ n3072r 768+ n2304", "plain"),
    (17, 768, "768+ n3072r 768+ n2304", "plain"),
    (33, 768, "768+ n3072r 768+ n2304", "plain"),
    (77, 256, "512r 256+ n512r 256+ n264", "plain"),
    (200, 512, "2048r 512+ n512r 512", "plain"),
    (64, 768, "96 768 104r 768", "plain"),
    (100, 1024, "512r 1024+ 1024r", "plain"),
    (128, 768, "768+ n768 n768+", "plain"),
    (60, 320, "320+ n1280r 320+ n640", "plain"),
    (128, 768, "768+ n3072r 768+ n2304", "mean"),
    (50, 768, "768+ n3072r 768+ n2304", "flat"),
    (50, 768, "768+ n3072r 768+ n2304", "special"),
    (40, 3072, "1024r 3072+ m1024r 3072+ m512", "plain"),
    (33, 1032, "512r 1032+ m512r 1032+ n264", "mean"),
    (17, 512, "1024r 512+ m1024r 512+ m512", "flat"),
    # parts of K, of tiles that end outside, by one step after another
    (197, 768, "n3072r 768+ n768", "plain"),
    (70, 4096, "520r 4096+ n200r", "plain"),
    (130, 3200, "328r 3200 64+ n3200r 136", "plain"),
]


class Model:
    def __init__(self, half, seed):
        self.type = np.float16 if half else np.float32
        self.random = np.random.default_rng(seed)
        self.nodes, self.constants = [], []

    def constant(self, *sizes, scale=1.0, add=0.0):
        values = (self.random.uniform(-1, 1, sizes) * scale + add).astype(np.float16).astype(self.type)
        self.constants.append(numpy_helper.from_array(values, f"c{len(self.constants)}"))
        return self.constants[-1].name

    def node(self, op, inputs, **attributes):
        self.nodes.append(helper.make_node(op, inputs, [f"t{len(self.nodes)}"], **attributes))
        return self.nodes[-1].output[0]

    def norm(self, x, width):
        return self.node("LayerNormalization", [x, self.constant(width, scale=0.5, add=1), self.constant(width)],
                         axis=-1, epsilon=1e-5)

    def root_mean_square(self, x, width):
        return self.node("SimplifiedLayerNormalization", [x, self.constant(width, scale=0.5, add=1)], axis=-1,
                         epsilon=1e-5, stash_type=1)

    def product(self, x, depth, width):
        y = self.node("MatMul", [x, self.constant(depth, width, scale=1.7 / depth**0.5)])
        return self.node("Add", [y, self.constant(width, scale=0.3)])


def write(path, half, case):
    rows, width, steps, _ = case
    model = Model(half, rows + width)
    x, last = "x", {width: "x"}
    for step in steps.split():
        out = int(step.strip("nmr+"))
        if step[0] == "n":
            x = last[width] = model.norm(x, width)
        if step[0] == "m":
            x = last[width] = model.root_mean_square(x, width)
        y = model.product(x, width, out)
        if step[-1] == "r":
            y = model.node("Relu", [y])
        if step[-1] == "+" and out in last:
            y = model.node("Add", [y, last[out]])
        x, width = y, out
        last[out] = x
    y = model.node("LogSoftmax", [x], axis=-1) # outputs that chains write could lie over inputs
    kind = TensorProto.FLOAT16 if half else TensorProto.FLOAT
    graph = helper.make_graph(model.nodes, "chain",
                              [helper.make_tensor_value_info("x", kind, [1, rows, case[1]])],
                              [helper.make_tensor_value_info(y, kind, [1, rows, width])],
                              model.constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)


def data(case):
    rows, width, _, kind = case
    x = np.random.default_rng(7).uniform(-1, 1, (1, rows, width))
    if kind == "mean":
        x = x * 2 + 2000
    if kind == "flat":
        x = x * 0 + 3
    if kind == "special":
        x[0, 3, 5] = np.nan
        x[0, 7, 9] = np.inf
        x[0, 33] = 65504
    return x.astype(np.float16)


def run(path, x, device, environment):
    np.save(f"{FOLDER}/x.npy", x)
    words = [ANYDML, "run", path, "--input", f"{FOLDER}/x.npy", "--output", f"{FOLDER}/y.npy", "--device", device]
    subprocess.run(words, env=dict(os.environ, **environment), check=True, stdout=subprocess.DEVNULL)
    return np.load(f"{FOLDER}/y.npy").astype(np.float64)


def steps_of(path):
    words = [ANYDML, "graph", path, "--device", DEVICE]
    text = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    return text.count(" without a barrier: ")


def main():
    failed = 0
    for i, case in enumerate(CASES):
        half, single = f"{FOLDER}/h{i}.onnx", f"{FOLDER}/f{i}.onnx"
        write(half, True, case)
        write(single, False, case)
        x = data(case)
        want = run(single, x.astype(np.float32), "0", {})
        got, again, plain = run(half, x, DEVICE, {}), run(half, x, DEVICE, {}), run(half, x, DEVICE, WITHOUT)
        finite = np.isfinite(plain) & np.isfinite(want)
        errors = [np.abs(y[finite] - want[finite]).max() for y in (got, plain)]
        steps = steps_of(half)
        good = (steps > 0 and np.array_equal(got, again, equal_nan=True) and errors[0] <= 2 * errors[1] + 1e-3 and
                np.array_equal(np.isnan(got), np.isnan(plain)) and np.array_equal(got[~finite & ~np.isnan(plain)],
                                                                                   plain[~finite & ~np.isnan(plain)]))
        failed += not good
        print(f"{case}: {steps} steps without a barrier, off by {errors[0]:.3g}, without {errors[1]:.3g}"
              f"{'' if good else ' FAILED'}", flush=True)
    sys.exit(f"{failed} failed" if failed else 0)


main()
