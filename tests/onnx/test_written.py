# SPDX-License-Identifier: Apache-2.0
"""Models as ONNX Runtime's own tools write them: test_written.py ANYDML

Small graphs of standard operators go through onnxruntime.transformers' optimizer, or through a session that saves what
it made of them. What comes out has operators of com.microsoft, which `anydml run` reads; its results are compared with
those of the graph that went in, on ONNX Runtime's CPU provider. So nothing here depends on how we read a description of
these operators. A case that comes out without the operators that it is for is a failure.
"""
import logging
import sys

import numpy as np

from onnx_tool import OnnxTool, TensorProto, helper, numpy_helper, onnx, onnxruntime

FLOAT = TensorProto.FLOAT
LIMIT = 2e-5 # of the largest result: both sum in float32
_rng = np.random.default_rng()
node = helper.make_node


def real(*shape):
    return _rng.standard_normal(shape).astype(np.float32)


def model_of(nodes, inputs, outputs, constants, opset=17):
    ports = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
             for name, x in inputs.items()]
    results = [helper.make_tensor_value_info(name, FLOAT, shape) for name, shape in outputs.items()]
    graph = helper.make_graph(nodes, "g", ports, results,
                              [numpy_helper.from_array(value, name) for name, value in constants.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


class Written(OnnxTool):

    def compare(self, what, model, written, inputs, operators):
        there = {n.op_type for n in written.graph.node if n.domain == "com.microsoft"}
        if not self.test(set(operators) <= there, f"{what}: {sorted(there)} were written instead of {operators}"):
            return
        want = self.reference(model, inputs)
        got = self.execute(what, written, inputs, [o.name for o in model.graph.output])
        for i, (g, w) in enumerate(zip(got or [], want)):
            if self.same_form(f"{what} output {i}", g, w):
                error = np.abs(g.astype(np.float64) - w).max() / max(1, np.abs(w).max())
                self.test(error <= LIMIT, f"{what} output {i}: differs by {error}")

    def optimized(self, what, model, inputs, kind, operators, **options):
        """Through the optimizer for models of that kind."""
        from onnxruntime.transformers import optimizer
        from onnxruntime.transformers.fusion_options import FusionOptions
        chosen = FusionOptions(kind)
        for name, value in options.items():
            setattr(chosen, name, value)
        path = self.file("source.onnx", model.SerializeToString())
        result = optimizer.optimize_model(path, kind, num_heads=2, hidden_size=8, opt_level=0,
                                          optimization_options=chosen)
        result.topological_sort()
        self.compare(what, model, result.model, inputs, operators)

    def saved(self, what, model, inputs, operators, level="ORT_ENABLE_EXTENDED"):
        """Through a session that saves its graph."""
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, level)
        options.optimized_model_filepath = self.file("saved.onnx")
        options.intra_op_num_threads = 1
        onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        self.compare(what, model, onnx.load(self.file("saved.onnx")), inputs, operators)


# ---- convolutional networks of diffusion ----


def group_norm(x, y, groups, channels, constants, swish):
    """Nodes, as PyTorch exports them."""
    name = y + "_"
    constants.update({name + "shape": np.array([0, groups, -1]), name + "one": np.ones(groups, np.float32),
                      name + "zero": np.zeros(groups, np.float32), name + "w": real(channels, 1, 1),
                      name + "b": real(channels, 1, 1)})
    last = name + "sum" if swish else y
    nodes = [node("Reshape", [x, name + "shape"], [name + "3"]),
             node("InstanceNormalization", [name + "3", name + "one", name + "zero"], [name + "n"], epsilon=1e-5),
             node("Shape", [x], [name + "s"]), node("Reshape", [name + "n", name + "s"], [name + "4"]),
             node("Mul", [name + "4", name + "w"], [name + "m"]), node("Add", [name + "m", name + "b"], [last])]
    if swish:
        nodes += [node("Sigmoid", [last], [name + "g"]), node("Mul", [last, name + "g"], [y])]
    return nodes


def convolutions(t):
    for channels, size, group, extra in ((3, 3, 1, {}), (4, 3, 1, {"strides": [2, 1]}), (4, 3, 2, {}), (4, 1, 4, {}),
                                         (4, 3, 1, {"dilations": [2, 1], "pads": [1, 0, 0, 2]})):
        x, weights = real(2, channels, 8, 9), {"w": real(8, channels // group, size, size), "b": real(8)}
        extra = {"pads": [size // 2] * 4, **extra}
        model = model_of([node("Conv", ["x", "w", "b"], ["y"], kernel_shape=[size, size], group=group, **extra)],
                         {"x": x}, {"y": None}, weights)
        for kind in ("unet", "vae"):
            t.optimized(f"{kind}: Conv {weights['w'].shape} in {group} groups {extra}", model, {"x": x}, kind,
                        ["NhwcConv"])


def norms(t):
    for swish in (False, True):
        constants, x = {}, real(2, 8, 6, 5)
        nodes = group_norm("x", "y", 4, 8, constants, swish)
        t.optimized(f"GroupNorm{' and swish' * swish}", model_of(nodes, {"x": x}, {"y": [2, 8, 6, 5]}, constants),
                    {"x": x}, "unet", ["GroupNorm"])
    for shape in ([2, 8, 6, 5], [2, 8, 1, 1]):
        constants, inputs = {}, {"x": real(2, 8, 6, 5), "z": real(*shape)}
        nodes = [node("Add", ["x", "z"], ["a"]), *group_norm("a", "y", 4, 8, constants, True), node("Neg", ["a"], ["v"])]
        model = model_of(nodes, inputs, {"y": [2, 8, 6, 5], "v": [2, 8, 6, 5]}, constants)
        t.optimized(f"SkipGroupNorm, {shape} added", model, inputs, "unet", ["SkipGroupNorm"])


def gated(t):
    """A feed-forward part with a gate (GEGLU) behind a sum and a norm, and the sum added to its result."""
    size, inner = 8, 12
    inputs = {"x": real(2, 5, size), "z": real(2, 5, size)}
    constants = {"g": real(size), "b": real(size), "w1": real(size, 2 * inner), "b1": real(2 * inner),
                 "w2": real(inner, size), "b2": real(size), "last": np.array([-1]), "one": np.array([1]),
                 "two": np.array([2]), "zero": np.array([0]), "root": np.array(2**.5, np.float32),
                 "f1": np.array(1, np.float32), "half": np.array(.5, np.float32)}
    nodes = [node("Add", ["x", "z"], ["v"]), node("LayerNormalization", ["v", "g", "b"], ["n"], epsilon=1e-5),
             node("MatMul", ["n", "w1"], ["p"]), node("Add", ["p", "b1"], ["h"]),
             node("Shape", ["h"], ["s"]), node("Gather", ["s", "last"], ["c"]), node("Add", ["c", "one"], ["c1"]),
             node("Div", ["c1", "two"], ["d"]), node("Mul", ["d", "one"], ["m1"]), node("Mul", ["d", "two"], ["m2"]),
             node("Slice", ["h", "zero", "m1", "last"], ["left"]), node("Slice", ["h", "m1", "m2", "last"], ["right"]),
             node("Div", ["right", "root"], ["e0"]), node("Erf", ["e0"], ["e1"]), node("Add", ["e1", "f1"], ["e2"]),
             node("Mul", ["right", "e2"], ["e3"]), node("Mul", ["e3", "half"], ["gelu"]),
             node("Mul", ["left", "gelu"], ["y0"]), node("MatMul", ["y0", "w2"], ["q"]), node("Add", ["q", "b2"], ["r"]),
             node("Add", ["r", "v"], ["y"])]
    t.optimized("GEGLU", model_of(nodes, inputs, {"y": [2, 5, size]}, constants), inputs, "unet",
                ["SkipLayerNormalization", "BiasSplitGelu", "BiasAdd"])


# ---- what sessions write ----


def fused(t):
    x = real(2, 4, 8, 9)
    weights = {"w": real(6, 4, 3, 3), "b": real(6)}
    for activation, attributes in (("Relu", {}), ("LeakyRelu", {"alpha": 0.2}), ("Sigmoid", {}), ("Tanh", {})):
        nodes = [node("Conv", ["x", "w", "b"], ["c"], kernel_shape=[3, 3], pads=[1, 0, 2, 1]),
                 node(activation, ["c"], ["y"], **attributes)]
        t.saved(f"FusedConv {activation}", model_of(nodes, {"x": x}, {"y": None}, weights), {"x": x}, ["FusedConv"])
    a, product = real(5, 7), {"w": real(7, 6), "b": real(6)}
    nodes = [node("Gemm", ["x", "w", "b"], ["c"], alpha=0.5), node("LeakyRelu", ["c"], ["y"], alpha=0.3)]
    t.saved("FusedGemm", model_of(nodes, {"x": a}, {"y": None}, product), {"x": a}, ["FusedGemm"])
    inputs = {"x": real(2, 3, 5, 4), "z": real(2, 3, 5, 6)}
    nodes = [node("Transpose", ["x"], ["t"], perm=[0, 1, 3, 2]), node("MatMul", ["t", "z"], ["m"]),
             node("Mul", ["m", "f"], ["y"])]
    t.saved("FusedMatMul", model_of(nodes, inputs, {"y": None}, {"f": np.array(0.25, np.float32)}), inputs,
            ["FusedMatMul"])
    constants = {"r": np.array(2**.5, np.float32), "one": np.array(1, np.float32), "half": np.array(.5, np.float32),
                 "b": real(16)}
    nodes = [node("Add", ["x", "b"], ["a"]), node("Div", ["a", "r"], ["d"]), node("Erf", ["d"], ["e"]),
             node("Add", ["e", "one"], ["p"]), node("Mul", ["a", "p"], ["q"]), node("Mul", ["q", "half"], ["y"])]
    x = real(3, 4, 16)
    t.saved("BiasGelu", model_of(nodes, {"x": x}, {"y": None}, constants), {"x": x}, ["BiasGelu"])
    nodes = [node("Add", ["x", "z"], ["a"]), node("LayerNormalization", ["a", "w", "b"], ["y"], epsilon=1e-5)]
    inputs = {"x": real(3, 4, 16), "z": real(3, 4, 16)}
    t.saved("SkipLayerNormalization", model_of(nodes, inputs, {"y": None}, {"w": real(16), "b": real(16)}), inputs,
            ["SkipLayerNormalization"])
    nodes = [node("Mul", ["x", "f"], ["m"]), node("Sigmoid", ["m"], ["s"]), node("Mul", ["x", "s"], ["y"])]
    x = real(3, 16)
    t.saved("QuickGelu", model_of(nodes, {"x": x}, {"y": None}, {"f": np.array(1.702, np.float32)}), {"x": x},
            ["QuickGelu"])


if __name__ == "__main__":
    logging.disable(logging.WARNING)
    tool = Written(sys.argv[1])
    for part in (convolutions, norms, gated, fused):
        part(tool)
    tool.finish()
