# SPDX-License-Identifier: Apache-2.0
"""NaN in operators that choose: test_nan.py ANYDML

ONNX Runtime's CPU provider is the reference where its result does not depend on where the NaN stands: bounds, minima and
maxima of tensors, signs, activations, also after a convolution or product that takes them as its last step. Reductions
and positions are NumPy's, as they are in ONNX's own reference implementation.
"""
import os
import sys

import numpy as np

from node_compare import TYPES, Compare
from onnx_tool import helper, onnxruntime

NAN = float("nan")
FLOATS = (np.float32, np.float16, np.float64)
# Short rows, rows of whole vectors and a rest, and more than a block; a software driver compiles each pipeline for long.
VULKAN = os.environ.get("ANYDML_ADAPTERS") == "vulkan"
SHAPES = ((3, 67),) if VULKAN else ((2, 3), (3, 67), (5, 1100))
REDUCED = ((4, 5), 1), ((4, 5), 0), ((300, 33), 0), ((6, 9000), 1), ((9, 1500), 1), ((70, 3, 5), 0), ((6, 40, 24), 1)


def last_of(x, axis, function):
    """The last position of the extreme; of NaNs the first one."""
    flipped = x.shape[axis] - 1 - function(np.flip(x, axis), axis)
    return np.where(np.isnan(x).any(axis), np.isnan(x).argmax(axis), flipped)


class Nan(Compare):
    def sample(self, dtype, shape, share=0.15):
        """Numbers that every type holds, infinities and NaN; one row is all NaN, one begins with it, one ends so."""
        x = np.round(self.uniform(*shape, low=-3, high=3) * 8) / 8
        kind = self.random.random(shape)
        x[kind < 0.05], x[kind > 0.95] = -np.inf, np.inf
        x[self.random.random(shape) < share] = NAN
        x[0], x[1, 0], x[-1, -1] = NAN, NAN, NAN
        return x.astype(dtype)

    def compare(self, what, nodes, inputs, expect, constants=None, tolerance=0.0):
        """All outputs of one model; None in `expect`: what ONNX Runtime computes. NaN equals NaN."""
        constants = constants or {}
        bare = self.model(nodes, inputs, dict.fromkeys(expect), constants, 18)
        asked = [name for name, y in expect.items() if y is None]
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        wanted = dict(expect)
        if asked:
            session = onnxruntime.InferenceSession(bare.SerializeToString(), options, providers=["CPUExecutionProvider"])
            wanted.update(zip(asked, session.run(asked, inputs)))
        results = self.execute(what, self.model(nodes, inputs, wanted, constants, 18), inputs, wanted)
        for node, name, got in zip(nodes[-len(expect):], wanted, results or []):
            want = wanted[name]
            if self.same_form(f"{what}: {name}", got, want):
                same = np.allclose(got.astype("f8"), want.astype("f8"), tolerance, tolerance, equal_nan=True)
                self.test(same, f"{what} {TYPES[want.dtype]}: {node.op_type} {name} of {list(node.input)}: "
                                f"{np.sum(~np.isclose(got, want, tolerance, tolerance, equal_nan=True))} elements differ")

    def bounds(self, dtype, shape, known):
        """Clip with both bounds, one of them, bounds that are NaN, crossed ones; of initializers if `known`."""
        values = {"low": -1.0, "high": 1.5, "none": NAN}
        scalars = {name: np.array(x, dtype) for name, x in values.items()}
        pairs = (("low", "high"), ("low", ""), ("", "high"), ("none", "high"), ("low", "none"), ("none", "none"),
                 ("high", "low"))
        nodes = [helper.make_node("Clip", ["x", low, high], [f"{low}_{high}"]) for low, high in pairs]
        x = self.sample(dtype, shape)
        inputs = {"x": np.where(np.isinf(x), dtype(2), x)} # ONNX Runtime bounds infinities where a bound is absent
        self.compare(f"bounds {shape} {'known' if known else 'given'}", nodes, {**inputs, **({} if known else scalars)},
                     {node.output[0]: None for node in nodes}, scalars if known else None)

    def extremes(self, dtype, shape):
        inputs = {"x": self.sample(dtype, shape), "z": self.sample(dtype, shape), "row": self.sample(dtype, shape)[1]}
        constants = {"zero": np.array(0, dtype), "none": np.array(NAN, dtype)}
        lists = (["x", "z"], ["x", "row"], ["row", "x"], ["x", "zero"], ["zero", "x"], ["x", "none"], ["x", "z", "row"])
        nodes = [helper.make_node(op, names, [f"{op}_{'_'.join(names)}"]) for op in ("Max", "Min") for names in lists]
        self.compare(f"extremes {shape}", nodes, inputs, {node.output[0]: None for node in nodes}, constants)

    def curves(self, dtype, shape):
        ops = ["Sign", "Relu", "LeakyRelu", "Abs", "Ceil", "Floor"]
        if dtype != np.float64:
            ops += ["HardSigmoid", "HardSwish", "Elu", "ThresholdedRelu", "Softsign"]
        nodes = [helper.make_node(op, ["x"], [op]) for op in ops]
        self.compare(f"curves {shape}", nodes, {"x": self.sample(dtype, shape)}, {op: None for op in ops}, None,
                     4e-3 if dtype == np.float16 else 1e-6)

    def reductions(self, dtype, shape, axis):
        x = self.sample(dtype, shape, 0.02)
        nodes, wanted = [], {}
        for op, function in (("ReduceMax", np.max), ("ReduceMin", np.min)):
            nodes.append(helper.make_node(op, ["x", "axis"], [op], keepdims=0))
            wanted[op] = function(x, axis)
        for op, function in (("ArgMax", np.argmax), ("ArgMin", np.argmin)):
            for last in (0, 1):
                nodes.append(helper.make_node(op, ["x"], [f"{op}{last}"], axis=axis, keepdims=0, select_last_index=last))
                wanted[f"{op}{last}"] = last_of(x, axis, function) if last else function(x, axis)
        self.compare(f"reductions {shape} {axis}", nodes, {"x": x}, wanted, {"axis": np.array([axis])})

    def last_steps(self):
        """Convolutions and products whose last step is one of them."""
        x, w = self.uniform(1, 8, 9, 9), self.uniform(8, 8, 3, 3)
        x[0, 0, 4, 4] = NAN
        rows, columns = self.uniform(6, 24), self.uniform(24, 40)
        rows[2, 3] = NAN
        constants = {"w": w, "columns": columns, "low": np.array(0, np.float32), "high": np.array(6, np.float32)}
        ends = (("Relu", []), ("Clip", ["low", "high"]), ("Clip", ["low"]), ("Clip", ["", "high"]), ("Max", ["low"]),
                ("Min", ["high"]))
        for first, inputs in ((("Conv", ["x", "w"]), {"x": x}), (("MatMul", ["rows", "columns"]), {"rows": rows})):
            for op, bounds in ends:
                nodes = [helper.make_node(*first, ["s"]), helper.make_node(op, ["s", *bounds], ["y"])]
                used = {name for node in nodes for name in node.input}
                self.compare(f"{first[0]} and {op} {bounds}", nodes, inputs, {"y": None},
                             {name: value for name, value in constants.items() if name in used}, 1e-4)


def main():
    c = Nan(sys.argv[1])
    for dtype in FLOATS:
        for shape in SHAPES:
            for known in (True, False):
                c.bounds(dtype, shape, known)
            c.extremes(dtype, shape)
            c.curves(dtype, shape)
        for shape, axis in REDUCED[:4 if VULKAN else None]:
            c.reductions(dtype, shape, axis)
    c.last_steps()
    c.finish()


if __name__ == "__main__":
    main()
