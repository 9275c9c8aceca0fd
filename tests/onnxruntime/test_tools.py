# SPDX-License-Identifier: Apache-2.0
"""Models that ONNX Runtime's own tools write: its optimizer for transformers and diffusion, its quantizers, and its sessions' graph
optimizations. The execution provider beside the CPU provider.

    test_tools.py LIBRARY [MATCH]
"""
import collections
import logging
import os
import re
import sys
import tempfile

from provider import np, onnx, ort, session # first: it skips where a package is missing
from onnx import TensorProto, helper, numpy_helper

logging.disable(logging.CRITICAL)
try:
    from onnxruntime.quantization import (CalibrationDataReader, QuantFormat, QuantType, quantize_dynamic, quantize_static)
    from onnxruntime.transformers.fusion_options import FusionOptions
    from onnxruntime.transformers.optimizer import optimize_model
except ImportError as why:
    print("skipped:", why)
    sys.exit(77)
try: # it needs the onnx_ir package
    from onnxruntime.quantization.matmul_nbits_quantizer import DefaultWeightOnlyQuantConfig, MatMulNBitsQuantizer
except ImportError:
    MatMulNBitsQuantizer = None

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64
info = helper.make_tensor_value_info
rng = np.random.default_rng(3)
folder = tempfile.TemporaryDirectory(prefix="anydml-test-")


class Network:
    """Nodes in order; weights become initializers."""

    def __init__(self, **inputs):
        self.nodes, self.weights, self.inputs = [], [], inputs

    def weight(self, array):
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def add(self, op, *inputs, outputs=1, **attributes):
        names = [f"{op}_{len(self.nodes)}_{i}" for i in range(outputs)]
        given = [self.weight(x) if not isinstance(x, str) else x for x in inputs]
        self.nodes.append(helper.make_node(op, given, names, f"{op}_{len(self.nodes)}", **attributes))
        return names[0] if outputs == 1 else names

    def conv(self, x, channels_in, channels_out, size=3, group=1, **attributes):
        w = rng.standard_normal((channels_out, channels_in // group, size, size)).astype(np.float32) / size
        return self.add("Conv", x, w, rng.standard_normal(channels_out).astype(np.float32), kernel_shape=[size, size], group=group, **attributes)

    def linear(self, x, rows, columns):
        x = self.add("MatMul", x, (rng.standard_normal((rows, columns)) / rows**0.5).astype(np.float32))
        return self.add("Add", rng.standard_normal(columns).astype(np.float32), x)

    def norm(self, x, size):
        return self.add("LayerNormalization", x, rng.random(size).astype(np.float32) + 0.5, rng.standard_normal(size).astype(np.float32), axis=-1, epsilon=1e-5)

    def model(self, *outputs, opset=17):
        graph = helper.make_graph(self.nodes, "g", [info(n, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape) for n, x in self.inputs.items()],
                                  [info(o, FLOAT, None) for o in outputs], self.weights)
        return onnx.shape_inference.infer_shapes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8))


def floats(*shape):
    return rng.standard_normal(shape).astype(np.float32)


# ---- networks ----


def diffusion():
    """Convolutions (also grouped, with stride, of 1x1), group normalisation with SiLU, as PyTorch exports them; a GEGLU."""
    n = Network(x=floats(2, 4, 9, 7))

    def group_norm(x, channels, silu=True):
        y = n.add("Reshape", x, np.array([0, 8, -1]))
        y = n.add("InstanceNormalization", y, np.ones(8, np.float32), np.zeros(8, np.float32), epsilon=1e-5)
        y = n.add("Reshape", y, n.add("Shape", x))
        y = n.add("Mul", y, (rng.random((channels, 1, 1)) + 0.5).astype(np.float32))
        y = n.add("Add", y, floats(channels, 1, 1))
        return n.add("Mul", y, n.add("Sigmoid", y)) if silu else y

    a = n.conv("x", 4, 32, pads=[1] * 4)
    b = n.conv(group_norm(a, 32), 32, 32, pads=[1] * 4)
    b = n.conv(group_norm(b, 32), 32, 32, pads=[1] * 4, group=4)
    a = n.add("Add", a, n.conv(b, 32, 32, 1))
    a = n.conv(group_norm(a, 32, False), 32, 16, strides=[2, 2], pads=[0, 0, 1, 1])
    t = n.add("Transpose", n.add("Reshape", a, np.array([2, 16, -1])), perm=[0, 2, 1])
    t = n.linear(n.norm(t, 16), 16, 64)
    left, right = n.add("Split", t, np.array([32, 32]), outputs=2, axis=-1)
    gelu = n.add("Mul", n.add("Mul", right, n.add("Add", n.add("Erf", n.add("Div", right, np.float32(2**0.5))), np.float32(1))), np.float32(0.5))
    return n.model(n.linear(n.add("Mul", left, gelu), 32, 4), a), n.inputs


def encoder():
    """Two layers of self-attention with their skips, as BERT has them."""
    n, size, heads = Network(x=floats(2, 6, 32)), 32, 4

    def split(x):
        return n.add("Transpose", n.add("Reshape", x, np.array([2, 6, heads, size // heads])), perm=[0, 2, 1, 3])

    x = n.norm("x", size)
    for _ in range(2):
        q, k, v = (split(n.linear(x, size, size)) for _ in range(3))
        scores = n.add("Div", n.add("MatMul", q, n.add("Transpose", k, perm=[0, 1, 3, 2])), np.float32((size // heads)**0.5))
        y = n.add("Transpose", n.add("MatMul", n.add("Softmax", scores, axis=-1), v), perm=[0, 2, 1, 3])
        x = n.norm(n.add("Add", n.linear(n.add("Reshape", y, np.array([2, 6, size])), size, size), x), size)
        h = n.linear(x, size, 64)
        h = n.add("Mul", n.add("Mul", h, n.add("Add", n.add("Erf", n.add("Div", h, np.float32(2**0.5))), np.float32(1))), np.float32(0.5))
        x = n.norm(n.add("Add", n.linear(h, 64, size), x), size)
    return n.model(x), n.inputs


def images():
    """What quantizers have operators for."""
    n = Network(x=floats(2, 3, 17, 15))
    a = n.add("Relu", n.conv("x", 3, 16, strides=[2, 2], pads=[1] * 4))
    b = n.add("LeakyRelu", n.conv(a, 16, 16, pads=[1] * 4, group=16), alpha=0.1)
    c = n.add("Sigmoid", n.conv(a, 16, 16, 1))
    d = n.add("Add", n.add("Mul", b, c), a)
    d = n.add("Concat", d, n.add("Clip", b, np.float32(0), np.float32(6)), axis=1)
    d = n.add("MaxPool", d, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    d = n.add("AveragePool", d, kernel_shape=[2, 2])
    e = n.add("Flatten", n.add("GlobalAveragePool", d))
    e = n.add("Relu", n.add("Gemm", e, floats(12, 32), floats(12), transB=1))
    return n.model(n.add("Softmax", n.add("MatMul", e, floats(12, 5)), axis=-1), n.add("ConvTranspose", d, floats(32, 4, 2, 2), strides=[2, 2])), n.inputs


def sequences():
    """Recurrent networks, and a table."""
    n = Network(ids=rng.integers(0, 20, (7, 2)))
    x = n.add("Gather", floats(20, 32), "ids")
    y, _ = n.add("LSTM", x, floats(2, 64, 32) / 4, floats(2, 64, 16) / 4, floats(2, 128) / 4, outputs=2, direction="bidirectional", hidden_size=16)
    y = n.add("Reshape", n.add("Transpose", y, perm=[0, 2, 1, 3]), np.array([7, 2, 32]))
    return n.model(n.linear(y, 32, 8)), n.inputs


# ---- the tools ----


def saved(model):
    path = os.path.join(folder.name, "m.onnx")
    onnx.save(model, path)
    return path


def optimized():
    """By onnxruntime.transformers, for devices: the CPU provider lacks some of the operators, so it runs what was there before."""
    for kind, made in (("unet", diffusion), ("vae", diffusion), ("clip", encoder), ("bert", encoder), ("gpt2", encoder), ("t5", encoder), ("bart", encoder)):
        model, feeds = made()
        for half in (False, True):
            sizes = {"num_heads": 4, "hidden_size": 32} if made is encoder else {"num_heads": 0, "hidden_size": 0}
            result = optimize_model(saved(model), model_type=kind, optimization_options=FusionOptions(kind), opt_level=0, use_gpu=made is diffusion, **sizes)
            if half:
                result.convert_float_to_float16(keep_io_types=True)
            yield f"{kind} {'float16' if half else 'float32'}", result.model, feeds, 1e-2 if half else 1e-4, model


class Data(CalibrationDataReader):

    def __init__(self, feeds):
        self.rows = iter([feeds] + [{n: x * s for n, x in feeds.items()} for s in (0.5, 1.5)])

    def get_next(self):
        return next(self.rows, None)


def static():
    for how in (QuantFormat.QDQ, QuantFormat.QOperator):
        for activations, weights, channels in ((QuantType.QUInt8, QuantType.QUInt8, False), (QuantType.QUInt8, QuantType.QInt8, False),
                                               (QuantType.QUInt8, QuantType.QInt8, True), (QuantType.QInt8, QuantType.QInt8, True)):
            for made in (images, encoder):
                model, feeds = made()
                path = os.path.join(folder.name, "q.onnx")
                quantize_static(saved(model), path, Data(feeds), quant_format=how, activation_type=activations, weight_type=weights,
                                per_channel=channels, reduce_range=weights == QuantType.QInt8)
                yield f"{made.__name__} {how.name} {activations.name} {weights.name} {channels}", onnx.load(path), feeds, 0.05


def dynamic():
    for weights in (QuantType.QUInt8, QuantType.QInt8):
        for made in (images, encoder, sequences):
            model, feeds = made()
            path = os.path.join(folder.name, "q.onnx")
            quantize_dynamic(saved(model), path, weight_type=weights, reduce_range=weights == QuantType.QInt8)
            yield f"{made.__name__} dynamic {weights.name}", onnx.load(path), feeds, 0.05


def blocks():
    """MatMulNBits and, of tables, GatherBlockQuantized."""
    for bits in (4, 8):
        for symmetric in (True, False):
            for how in (QuantFormat.QOperator, QuantFormat.QDQ):
                if bits == 8 and how == QuantFormat.QDQ:
                    continue
                for made in (encoder, sequences):
                    model, feeds = made()
                    kinds = ("MatMul", "Gather") if how == QuantFormat.QOperator and bits == 4 else ("MatMul", )
                    config = DefaultWeightOnlyQuantConfig(block_size=16, is_symmetric=symmetric, quant_format=how, op_types_to_quantize=kinds, bits=bits,
                                                          **({"quant_axes": (("MatMul", 0), ("Gather", 1))} if "Gather" in kinds else {}))
                    if how == QuantFormat.QDQ:
                        model = onnx.version_converter.convert_version(model, 21)
                    quantizer = MatMulNBitsQuantizer(model, algo_config=config)
                    quantizer.process()
                    yield f"{made.__name__} {bits} bits {symmetric} {how.name}", quantizer.model.model, feeds, 1e-3


def fused():
    """By sessions, which write what they run; of the extended level, because the next one's layouts depend on the CPU."""
    for made in (images, encoder, sequences, diffusion):
        model, feeds = made()
        options = ort.SessionOptions()
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
        options.optimized_model_filepath = os.path.join(folder.name, "o.onnx")
        ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        yield f"{made.__name__} fused", onnx.load(options.optimized_model_filepath), feeds, 1e-4


# ---- comparing ----

EXPECTED = { # of com.microsoft, that these networks are made for
    optimized: {"NhwcConv", "GroupNorm", "SkipGroupNorm", "Attention", "SkipLayerNormalization", "BiasGelu"},
    static: {"QLinearAdd", "QLinearMul", "QLinearConcat", "QLinearSigmoid", "QLinearLeakyRelu", "QLinearSoftmax", "QGemm", "QLinearAveragePool",
             "QLinearGlobalAveragePool"},
    dynamic: {"DynamicQuantizeLSTM"}, blocks: {"MatMulNBits", "GatherBlockQuantized"}, fused: {"FusedConv", "FusedGemm"},
}


def compare(library, what, model, feeds, limit, before=None):
    data = model.SerializeToString()
    options = ort.SessionOptions() # which leaves out what rounds activations to bytes
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    wants = ort.InferenceSession((before or model).SerializeToString(), options, providers=["CPUExecutionProvider"]).run(None, feeds)
    try:
        gots = session(library, data, fallback=False).run(None, feeds)
    except Exception as error: # pylint: disable=broad-except; it has no common base
        return [f"{what}: {str(error)[-300:]}"]
    bad = []
    for i, (got, want) in enumerate(zip(gots, wants)):
        error = np.abs(got - want).max() / np.abs(want).max() if got.shape == want.shape else np.inf
        if not error <= limit:
            bad.append(f"{what}: output {i} differs by {error}")
    return bad


def main():
    library, failed, cases = sys.argv[1], [], 0
    for part in (optimized, static, dynamic, blocks, fused):
        seen = collections.Counter()
        if (len(sys.argv) > 2 and not re.search(sys.argv[2], part.__name__)) or (part is blocks and not MatMulNBitsQuantizer):
            continue
        for what, model, *rest in part():
            seen.update(n.op_type for n in model.graph.node if n.domain == "com.microsoft")
            failed += compare(library, what, model, *rest)
            cases += 1
        print(f"{part.__name__}: {dict(seen)}", flush=True)
        failed += [f"{part.__name__}: nothing has become {op}" for op in sorted(EXPECTED[part] - set(seen))]
    for what in failed:
        print("FAILED:", what)
    print(f"{cases} models, {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
