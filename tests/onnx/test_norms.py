# SPDX-License-Identifier: Apache-2.0
"""Norms of FLOAT16 written out in sums, whose squares and sums FLOAT16 does not hold, and of FLOAT32 numbers whose squares
and sums FLOAT32 does not hold (cpu adapter): test_norms.py ANYDML

Compared with float64.
"""
import os
import sys

import numpy as np

from node_compare import Compare
from onnx_tool import helper

node = helper.make_node
HALF = np.float16
EPSILON = 1e-3
SIZE = 64


def divided(given, out):
    return [node("Div", [given, "n"], [out])]


def multiplied(given, out):
    return [node("Mul", [given, "inverse"], [out])]


def root(mean):
    return [node("Add", [mean, "epsilon"], ["v"]), node("Sqrt", ["v"], ["r"])]


def squares(given, out):
    return [node("Mul", [given, given], ["q"]), node("ReduceSum", ["q", "axis"], [out])]


def powers(given, out):
    return [node("Pow", [given, "two"], ["q"]), node("ReduceSum", ["q", "axis"], [out])]


def sum_square(given, out):
    return [node("ReduceSumSquare", [given, "axis"], [out])]


def rms(x):
    x = x.astype(np.float64)
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + EPSILON)


def l2(x):
    x = x.astype(np.float64)
    return x / np.sqrt((x * x).sum(-1, keepdims=True))


def layer(x):
    x = x.astype(np.float64)
    d = x - x.mean(-1, keepdims=True)
    return d / np.sqrt((d * d).mean(-1, keepdims=True) + EPSILON)


def of_large(c):
    """Rows and columns of numbers up to the greatest, some all alike; the results fit FLOAT32."""
    for shape, axis in (((6, 9), 1), ((3, 700), 1), ((2, 9000), 1), ((40, 24), 0), ((9, 3, 20), 0), ((4, 6, 30), 1)):
        for size in (3.4e38, 1e38, 1e25, 3e19):
            x = (c.random.uniform(-1, 1, shape) * size).astype(np.float32)
            x[0] = abs(x[0])
            d = x.astype(np.float64)
            mean, norm = d.mean(axis, keepdims=True), np.sqrt((d * d).sum(axis, keepdims=True))
            root = np.sqrt(d.var(axis, keepdims=True) + EPSILON)
            what = f"large {shape} {axis} {size:g}"
            wanted = {"mean": mean, "mvn": (d - mean) / root}
            nodes = [node("ReduceMean", ["x", "axis"], ["mean"]), node("MeanVarianceNormalization", ["x"], ["mvn"], axes=[axis])]
            if size < 1e38: # of the others the sum does not fit
                wanted |= {"l2": norm, "unit": d / norm}
                nodes += [node("ReduceL2", ["x", "axis"], ["l2"]), node("LpNormalization", ["x"], ["unit"], axis=axis)]
            if axis == len(shape) - 1:
                wanted["layer"] = (d - mean) / root
                nodes.append(node("LayerNormalization", ["x", "one"], ["layer"], epsilon=EPSILON))
            constants = {"axis": np.array([axis])}
            if "layer" in wanted:
                constants["one"] = np.ones(shape[-1], np.float32)
            for one, (name, want) in zip(nodes, wanted.items()):
                used = {k: v for k, v in constants.items() if k in one.input}
                bound = 2e-5 * float(np.abs(want).max())
                c.outputs(f"{what} {name}", [one], {"x": x}, {name: want.astype(np.float32)}, used, 18, bound, 2e-5)


def main():
    c = Compare(sys.argv[1])
    if os.environ.get("ANYDML_ADAPTERS") != "vulkan":
        of_large(c)
    constants = {"axis": np.array([-1]), "n": np.array(SIZE, HALF), "inverse": np.array(1 / SIZE, HALF),
                 "epsilon": np.array(EPSILON, HALF), "two": np.array(2, HALF)}
    for size, offset in ((1, 0), (240, 0), (240, 1500)):
        x = (c.random.standard_normal((5, SIZE)) * size + offset).astype(HALF)
        for sums in (squares, powers, sum_square):
            # Without a divisor: the root makes the sum one that FLOAT16 holds.
            length = sums("x", "s") + [node("Sqrt", ["s"], ["r"])]
            used = {"axis": constants["axis"], **({"two": constants["two"]} if sums is powers else {})}
            norm = np.sqrt((x.astype(np.float64) ** 2).sum(-1, keepdims=True))
            what = f"{sums.__name__}, {size}, {offset}"
            c.outputs("l2 " + what, length + [node("Div", ["x", "r"], ["y"])], {"x": x}, {"y": l2(x).astype(HALF)}, used, 18, 4e-3, 4e-3)
            c.outputs("length " + what, length, {"x": x}, {"r": norm.astype(HALF)}, used, 18, 4e-3, 4e-3)
            for scale in (divided, multiplied):
                cases = {
                    "rms": (sums("x", "s") + scale("s", "m") + root("m") + [node("Div", ["x", "r"], ["y"])], rms),
                    "rms, inverse": (sums("x", "s") + scale("s", "m") + root("m") +
                                     [node("Reciprocal", ["r"], ["i"]), node("Mul", ["x", "i"], ["y"])], rms),
                    "layer": ([node("ReduceSum", ["x", "axis"], ["t"])] + scale("t", "mean") + [node("Sub", ["x", "mean"], ["d"])] +
                              sums("d", "s") + scale("s", "m") + root("m") + [node("Div", ["d", "r"], ["y"])], layer),
                }
                for name, (nodes, reference) in cases.items():
                    if offset and name != "layer":
                        continue
                    used = {i for n in nodes for i in n.input}
                    c.outputs(f"{name}, {sums.__name__}, {scale.__name__}, {size}, {offset}", nodes, {"x": x},
                              {"y": reference(x).astype(HALF)}, {k: v for k, v in constants.items() if k in used}, 18,
                              4e-3 if not offset else 2e-2, 4e-3)
    c.finish()


if __name__ == "__main__":
    main()
