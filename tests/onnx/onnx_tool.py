# SPDX-License-Identifier: Apache-2.0
"""The anydml command on models made here, beside ONNX Runtime's CPU provider."""
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tool"))
from tool import SKIP, Tool  # noqa: E402

try:
    import onnx
    import onnxruntime
    from onnx import TensorProto, helper, numpy_helper
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(SKIP)

onnxruntime.set_default_logger_severity(4)


def has_vnni():
    with open("/proc/cpuinfo", encoding="ascii") as about:
        return "_vnni" in about.read()


def with_constants(model, inputs):
    """The model with its inputs of signed bytes as initializers where others are of unsigned ones, and the other inputs."""
    mixed = any(x.dtype == np.uint8 for x in inputs.values())
    constant = {name: x for name, x in inputs.items() if mixed and x.dtype == np.int8}
    fixed = onnx.ModelProto.FromString(model.SerializeToString())
    others = [each for each in fixed.graph.input if each.name not in constant]
    del fixed.graph.input[:]
    fixed.graph.input.extend(others)
    fixed.graph.initializer.extend(numpy_helper.from_array(x, name) for name, x in constant.items())
    return fixed, {name: x for name, x in inputs.items() if name not in constant}


class OnnxTool(Tool):
    exact_bytes = False # for models with products of unsigned and signed bytes

    def reference(self, model, inputs):
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        if self.exact_bytes and not has_vnni():
            # ONNX Runtime adds products of such bytes in 16 bits there, which saturate; a pass of this level avoids it where
            # the signed ones are constant.
            model, inputs = with_constants(model, inputs)
            options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
            options.add_session_config_entry("session.x64quantprecision", "1")
        options.intra_op_num_threads = 1
        session = onnxruntime.InferenceSession(model.SerializeToString(), options,
                                               providers=["CPUExecutionProvider"])
        return session.run(None, inputs)

    def arguments(self, model, inputs, outputs):
        """Of the command that runs the model: the model and its inputs are files then."""
        args = ["run", self.file("m.onnx", model.SerializeToString())]
        for i, (name, x) in enumerate(inputs.items()):
            np.save(self.file(f"in{i}.npy"), x)
            args += ["--input", f"{name}={self.file(f'in{i}.npy')}"]
        for i, name in enumerate(outputs):
            args += ["--output", f"{name}={self.file(f'out{i}.npy')}"]
        return args

    def execute(self, what, model, inputs, outputs):
        """The outputs' arrays; None and a failure when the command fails."""
        result = self.run(*self.arguments(model, inputs, outputs))
        if not self.test(result.returncode == 0, f"{what}: {result.stderr.strip()[-300:]}"):
            return None
        return [np.load(self.file(f"out{i}.npy")) for i in range(len(outputs))]

    def same_form(self, what, got, want):
        same = got.shape == want.shape and got.dtype == want.dtype
        return self.test(same, f"{what}: {got.dtype}{got.shape} instead of {want.dtype}{want.shape}")
