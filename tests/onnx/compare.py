# SPDX-License-Identifier: Apache-2.0
"""Single ONNX operators through the anydml command, compared with ONNX Runtime's own CPU kernels."""
import numpy as np

from onnx_tool import OnnxTool, TensorProto, helper, onnx, onnxruntime

FLOATS = {"f4": TensorProto.FLOAT, "f8": TensorProto.DOUBLE, "f2": TensorProto.FLOAT16, "bf": TensorProto.BFLOAT16}
# Per float type: what rounding of inputs and results may change, relative to the largest result.
TOLERANCE = {"f4": 2e-5, "f8": 1e-9, "f2": 4e-3, "bf": 3e-2}


def rounded(x, kind):
    """float32 values that `kind` holds exactly."""
    if kind == "f2":
        return x.astype(np.float16).astype(np.float32)
    if kind == "bf":
        bits = x.astype(np.float32).view(np.uint32)
        return ((bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000).astype(np.uint32).view(np.float32)
    return x


def element_type(x):
    return helper.np_dtype_to_tensor_dtype(x.dtype)


def make_model(op, inputs, outputs, attributes, domain, version, kind=None):
    """kind: float32 inputs and outputs are cast to it before and from it after the operator. Names of inputs that start
    with "c_" become constants."""
    nodes, infos, constants, names = [], [], [], []
    for name, x in inputs.items():
        if x is None:
            names.append("")
            continue
        if name.startswith("c_"):
            constants.append(onnx.numpy_helper.from_array(x, name))
        else:
            infos.append(helper.make_tensor_value_info(name, element_type(x), list(x.shape)))
        if kind and x.dtype == np.float32:
            nodes.append(helper.make_node("Cast", [name], [name + "_k"], to=FLOATS[kind]))
            name += "_k"
        names.append(name)
    results = []
    for name, kind_of in outputs:
        inside = name
        if kind and kind_of == TensorProto.FLOAT:
            inside = name + "_k"
        results.append(inside)
    nodes.append(helper.make_node(op, names, results, domain=domain, **attributes))
    for (name, _), inside in zip(outputs, results):
        if name != inside:
            nodes.append(helper.make_node("Cast", [inside], [name], to=TensorProto.FLOAT))
    value_infos = [helper.make_tensor_value_info(name, kind_of, None) for name, kind_of in outputs]
    graph = helper.make_graph(nodes, "g", infos, value_infos, constants)
    imports = [helper.make_opsetid("", version)]
    if domain:
        imports.append(helper.make_opsetid(domain, 1))
    return helper.make_model(graph, opset_imports=imports, ir_version=10)


class Comparison(OnnxTool):
    def __init__(self, path):
        super().__init__(path)
        self.without = {}

    def check(self, what, got, want, tolerance):
        if not self.same_form(what, got, want):
            return
        if want.dtype.kind != "f":
            self.test(np.array_equal(got, want), f"{what}: {np.count_nonzero(got != want)} elements differ")
            return
        finite = np.abs(want[np.isfinite(want)])
        scale = max(1.0, float(finite.max())) if finite.size else 1.0
        near = np.allclose(got, want, rtol=tolerance, atol=tolerance * scale, equal_nan=True)
        self.test(near, near or f"{what}: differs by {np.nanmax(np.abs(got.astype(np.float64) - want))} of {scale}")

    def case(self, op, inputs, outputs=("y",), domain="", version=21, kinds=("f4",), reference=None, loose=1, **attributes):
        """outputs: names, or pairs of a name and a type (default: float32). reference: values instead of those of ONNX
        Runtime, of the rounded inputs."""
        outputs = [o if isinstance(o, tuple) else (o, TensorProto.FLOAT) for o in outputs]
        for kind in kinds:
            what = f"{op} {kind} {attributes}"
            values = {n: rounded(x, kind) if x is not None and x.dtype == np.float32 else x for n, x in inputs.items()}
            fed = {n: x for n, x in values.items() if x is not None and not n.startswith("c_")}
            try:
                if reference:
                    want = reference(*[x for x in values.values()])
                else:
                    want = self.reference(make_model(op, values, outputs, attributes, domain, version), fed)
            except onnxruntime.capi.onnxruntime_pybind11_state.NotImplemented:
                self.without[op] = kind
                continue
            except Exception as error:  # whatever ONNX Runtime raises: the case is wrong, not the command
                self.failed += 1
                print(f"FAILED: {what}: ONNX Runtime: {str(error)[-200:]}")
                continue
            model = make_model(op, values, outputs, attributes, domain, version, None if kind == "f4" else kind)
            got = self.execute(what, model, fed, [name for name, _ in outputs])
            tolerance = max(TOLERANCE[kind], TOLERANCE["f4"]) * loose # the reference is of float32
            for i, (g, w) in enumerate(zip(got or [], want)):
                self.check(f"{what} output {i}", g, w, tolerance)

    def finish(self):
        if self.without:
            print("ONNX Runtime has no CPU kernel for:", ", ".join(self.without))
        super().finish()
