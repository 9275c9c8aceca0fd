# SPDX-License-Identifier: Apache-2.0
"""Runs one node through `anydml run` and through onnxruntime's CPU provider, and compares."""
import numpy as np

from onnx_tool import OnnxTool, TensorProto, helper, numpy_helper

TYPES = {np.dtype(np.float32): TensorProto.FLOAT, np.dtype(np.float16): TensorProto.FLOAT16,
         np.dtype(np.float64): TensorProto.DOUBLE, np.dtype(np.uint8): TensorProto.UINT8,
         np.dtype(np.int8): TensorProto.INT8, np.dtype(np.uint16): TensorProto.UINT16,
         np.dtype(np.int16): TensorProto.INT16, np.dtype(np.int32): TensorProto.INT32,
         np.dtype(np.int64): TensorProto.INT64, np.dtype(bool): TensorProto.BOOL}


class Packed:
    """A 4-bit tensor: two elements a byte, the first one in the low half."""

    def __init__(self, values, signed):
        self.values = np.asarray(values)
        self.type = TensorProto.INT4 if signed else TensorProto.UINT4

    def tensor(self, name):
        flat = self.values.reshape(-1).astype(np.int64) & 15
        flat = np.append(flat, np.zeros(flat.size % 2, np.int64))
        data = (flat[0::2] | flat[1::2] << 4).astype(np.uint8).tobytes()
        return helper.make_tensor(name, self.type, self.values.shape, data, raw=True)


class Compare(OnnxTool):
    def __init__(self, path):
        super().__init__(path)
        self.random = np.random.default_rng(20)

    def uniform(self, *shape, low=-1.0, high=1.0, dtype=np.float32):
        return self.random.uniform(low, high, shape).astype(dtype)

    def integers(self, *shape, dtype=np.uint8, low=None, high=None):
        info = np.iinfo(dtype)
        return self.random.integers(info.min if low is None else low, (info.max if high is None else high) + 1, shape,
                                    dtype=dtype)

    def model(self, nodes, inputs, outputs, constants, opset):
        infos = [helper.make_tensor_value_info(n, TYPES[x.dtype], x.shape) for n, x in inputs.items()]
        tensors = [x.tensor(n) if isinstance(x, Packed) else numpy_helper.from_array(x, n)
                   for n, x in constants.items()]
        results = [helper.make_tensor_value_info(n, TYPES[x.dtype], x.shape) if x is not None
                   else helper.make_empty_tensor_value_info(n) for n, x in outputs.items()]
        graph = helper.make_graph(nodes, "g", infos, results, tensors)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset),
                                                        helper.make_opsetid("com.microsoft", 1)])
        model.ir_version = 10
        return model

    def graph(self, what, nodes, inputs, outputs, constants=None, opset=21, atol=0.0, rtol=0.0, expect=None):
        """Compares the outputs; `expect` replaces what onnxruntime computes where it lacks the operator. Constants are
        given as such and, where a file can hold them, as inputs too: nothing is folded then."""
        constants = constants or {}
        untyped = self.model(nodes, inputs, dict.fromkeys(outputs), constants, opset)
        wanted = expect if expect is not None else self.reference(untyped, inputs)
        self.outputs(what, nodes, inputs, dict(zip(outputs, wanted)), constants, opset, atol, rtol)
        moved = {n: x for n, x in constants.items() if not isinstance(x, Packed) and x.size and n != "shape"}
        kept = {n: x for n, x in constants.items() if n not in moved}
        if moved:
            self.outputs(what + " unfolded", nodes, {**inputs, **moved}, dict(zip(outputs, wanted)), kept, opset, atol,
                         rtol)

    def outputs(self, what, nodes, inputs, wanted, constants, opset, atol, rtol):
        model = self.model(nodes, inputs, wanted, constants, opset)
        results = self.execute(what, model, inputs, wanted)
        for i, (got, want) in enumerate(zip(results or [], wanted.values())):
            if not self.same_form(what, got, want):
                continue
            error = np.abs(got.astype(np.float64) - want.astype(np.float64))
            bound = atol + rtol * np.abs(want.astype(np.float64))
            self.test(np.all(error <= bound), f"{what}: output {i} differs by {error.max() if error.size else 0}")

    def node(self, op, inputs, constants=None, outputs=1, domain="", opset=21, what="", atol=0.0, rtol=0.0,
             expect=None, order=None, **attributes):
        """One node; its inputs are `order`, or the names of inputs and then constants ("" = absent)."""
        names = order or [*inputs, *(constants or {})]
        results = [f"y{i}" for i in range(outputs)]
        node = helper.make_node(op, names, results, domain=domain, **attributes)
        self.graph(f"{op} {what}", [node], inputs, results, constants, opset, atol, rtol, expect)

    def refuses(self, op, inputs, constants, *fragments, domain="", opset=21, order=None, **attributes):
        node = helper.make_node(op, order or [*inputs, *constants], ["y0"], domain=domain, **attributes)
        model = self.model([node], inputs, {"y0": np.zeros((), np.float32)}, constants, opset)
        self.fails(self.arguments(model, inputs, ["y0"]), *fragments)
