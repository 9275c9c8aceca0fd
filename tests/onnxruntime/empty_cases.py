# SPDX-License-Identifier: Apache-2.0
"""Single nodes for test_empty.py, of operators that ONNX's own node tests do not have."""
import numpy as np

from onnx import TensorProto, helper

FLOAT, UINT8, INT32, INT64 = TensorProto.FLOAT, TensorProto.UINT8, TensorProto.INT32, TensorProto.INT64
MS = "com.microsoft"


def floats(*shape):
    return np.random.default_rng(len(shape)).uniform(-1, 1, shape).astype(np.float32)


def numbers(*shape, dtype=np.uint8, high=8):
    return np.random.default_rng(3).integers(0, high, shape).astype(dtype)


def scalar(value, dtype=np.float32):
    return np.array(value, dtype)


SCALE, ZERO = scalar(0.1), scalar(3, np.uint8)


def case(domain, op, inputs, outputs=(FLOAT,), version=21, **attributes):
    """(domain, op, node, operator sets, feeds, outputs); None: an input that is absent; outputs: their types."""
    names = [f"x{i}" if x is not None else "" for i, x in enumerate(inputs)]
    results = {f"y{i}": t for i, t in enumerate(outputs)}
    node = helper.make_node(op, names, list(results), domain=domain, **attributes)
    opsets = [helper.make_opsetid("", version), helper.make_opsetid(MS, 1), helper.make_opsetid("ai.onnx.ml", 1)]
    return domain, op, node, opsets, {f"x{i}": x for i, x in enumerate(inputs) if x is not None}, results


def official():
    image = floats(2, 3, 4, 5)
    yield case("", "Affine", [image], version=7, alpha=2.0, beta=1.0)
    yield case("", "Crop", [image], version=7, border=[1, 1, 1, 1])
    yield case("", "DynamicSlice", [floats(4, 5), np.array([1]), np.array([3]), np.array([0])], version=7)
    yield case("", "GlobalLpPool", [image], p=2)
    yield case("", "GlobalAveragePool", [image])
    yield case("", "ImageScaler", [image], version=7, scale=2.0, bias=[1.0, 2.0, 3.0])
    yield case("", "MaxRoiPool", [image, np.array([[0, 0, 0, 3, 3], [1, 1, 1, 3, 3]], np.float32)], pooled_shape=[2, 2])
    yield case("", "ParametricSoftplus", [image], version=7, alpha=2.0, beta=1.0)
    yield case("", "ScaledTanh", [image], version=7, alpha=2.0, beta=1.0)
    yield case("", "SimplifiedLayerNormalization", [floats(2, 3, 4), floats(4)], axis=-1)
    yield case("", "CastLike", [image, scalar(1, np.int32)], (INT32,))
    yield case("ai.onnx.ml", "ArrayFeatureExtractor", [floats(3, 5), np.array([[0, 3]])])
    yield case("", "PRelu", [floats(2, 1, 4), floats(3, 4)], version=16)
    yield case("", "Gemm", [floats(2, 3), floats(3, 4), floats(4)], alpha=0.5, beta=2.0)
    yield case("", "QLinearMatMul", [numbers(2, 3), SCALE, ZERO, numbers(3, 4), SCALE, ZERO, SCALE, ZERO], (UINT8,))
    yield case("", "MatMulInteger", [numbers(2, 3), numbers(3, 4), ZERO, ZERO], (INT32,))
    yield case("", "DynamicQuantizeLinear", [floats(2, 3)], (UINT8, FLOAT, UINT8))


def transformers():
    hidden, heads = floats(2, 3, 8), {"num_heads": 2}
    yield case(MS, "Attention", [hidden, floats(8, 24), floats(24)], **heads)
    yield case(MS, "MultiHeadAttention", [hidden, floats(2, 4, 8), floats(2, 4, 8)], **heads)
    yield case(MS, "MultiHeadAttention", [hidden, hidden, hidden, None, None, None, floats(2, 2, 2, 4), floats(2, 2, 2, 4)],
               (FLOAT,) * 3, **heads)
    yield case(MS, "DecoderMaskedMultiHeadAttention", [floats(2, 1, 8), floats(2, 1, 8), floats(2, 1, 8), None, None,
               floats(2, 2, 6, 4), floats(2, 2, 6, 4), np.array([3], np.int32)], (FLOAT,) * 3, past_present_share_buffer=1, **heads)
    yield case(MS, "GroupQueryAttention", [hidden, floats(2, 3, 4), floats(2, 3, 4), floats(2, 1, 2, 4), floats(2, 1, 2, 4),
               np.array([4, 4], np.int32), scalar(5, np.int32)], (FLOAT,) * 3, kv_num_heads=1, **heads)
    yield case(MS, "QAttention", [numbers(2, 3, 8), numbers(8, 24), floats(24), SCALE, SCALE, None, ZERO, ZERO], **heads)
    yield case(MS, "EmbedLayerNormalization", [numbers(2, 3, dtype=np.int32, high=5), numbers(2, 3, dtype=np.int32, high=2),
               floats(5, 8), floats(6, 8), floats(2, 8), floats(8), floats(8)], (FLOAT, INT32))
    yield case(MS, "RotaryEmbedding", [hidden, numbers(2, 3, dtype=np.int64, high=5), floats(5, 2), floats(5, 2)], **heads)
    for op in ("SkipLayerNormalization", "SkipSimplifiedLayerNormalization"):
        yield case(MS, op, [hidden, hidden, floats(8)])
    for op in ("BiasGelu", "FastGelu"):
        yield case(MS, op, [hidden, floats(8)])
    for op in ("Gelu", "QuickGelu"):
        yield case(MS, op, [hidden])


def products():
    two = [floats(2, 3), floats(3, 4)]
    yield case(MS, "FusedGemm", [*two, floats(4)], activation="Relu")
    for op in ("FusedMatMul", "TransposeMatMul"):
        yield case(MS, op, [floats(2, 2, 3), floats(2, 3, 4)], alpha=0.5)
    yield case(MS, "FusedMatMulActivation", two, activation="Relu")
    yield case(MS, "CDist", [floats(4, 3), floats(5, 3)], metric="sqeuclidean")
    yield case(MS, "MatMulNBits", [floats(2, 3, 32), numbers(4, 1, 16, high=256), floats(4)], K=32, N=4, bits=4, block_size=32)
    yield case(MS, "MatMulIntegerToFloat", [numbers(2, 3), numbers(3, 4), SCALE, SCALE, ZERO, ZERO, floats(4)])
    yield case(MS, "DynamicQuantizeMatMul", [floats(2, 3), numbers(3, 4), SCALE, ZERO, floats(4)])
    yield case(MS, "QGemm", [numbers(2, 3), SCALE, ZERO, numbers(3, 4), SCALE, ZERO, None, SCALE, ZERO], (UINT8,))
    yield case(MS, "DynamicQuantizeLSTM", [floats(4, 2, 3), numbers(1, 3, 20), numbers(1, 5, 20), floats(1, 40), None, None, None,
               None, scalar([0.1]), np.array([3], np.uint8), scalar([0.1]), np.array([3], np.uint8)], (FLOAT,) * 3, hidden_size=5)


def quantised():
    x, kept = numbers(2, 3, 4, 5), (SCALE, ZERO)
    yield case(MS, "QuantizeLinear", [floats(2, 3), *kept], (UINT8,))
    yield case(MS, "DequantizeLinear", [numbers(2, 3), *kept])
    for op in ("QLinearAdd", "QLinearMul"):
        yield case(MS, op, [x, *kept, x, *kept, *kept], (UINT8,))
    for op in ("QLinearLeakyRelu", "QLinearSigmoid"):
        yield case(MS, op, [x, *kept, *kept], (UINT8,))
    yield case(MS, "QLinearSoftmax", [x, *kept, *kept], (UINT8,), opset=13, axis=-1)
    yield case(MS, "QLinearConcat", [*kept, x, *kept, x, *kept], (UINT8,), axis=1)
    yield case(MS, "QLinearAveragePool", [x, *kept, *kept], (UINT8,), kernel_shape=[3, 1]) # a third is no tie of rounding
    yield case(MS, "QLinearGlobalAveragePool", [x, *kept, *kept], (UINT8,))
    yield case(MS, "NhwcMaxPool", [numbers(2, 4, 5, 3, dtype=np.int8)], (TensorProto.INT8,), kernel_shape=[2, 2])
    yield case(MS, "GatherBlockQuantized", [numbers(5, 16, high=256), np.array([[0, 3]]), floats(5, 2)], bits=4, block_size=16,
               gather_axis=0, quantize_axis=1)


def others():
    image, weights = floats(2, 3, 6, 5), floats(4, 3, 3, 3)
    yield case(MS, "FusedConv", [image, weights, floats(4)], activation="Relu")
    yield case(MS, "ConvTransposeWithDynamicPads", [image, floats(3, 4, 3, 3), np.array([1, 1, 1, 1])])
    yield case(MS, "ExpandDims", [floats(2, 3), scalar(1, np.int32)])
    yield case(MS, "GatherND", [floats(3, 4), np.array([[0], [2]])])
    yield case(MS, "GridSample", [image, floats(2, 4, 4, 2)])
    yield case(MS, "Pad", [floats(2, 3), np.array([1, 0, 1, 2]), scalar(0.5)])
    yield case(MS, "Range", [scalar(0.0), scalar(5.0), scalar(1.0)])
    yield case(MS, "TorchEmbedding", [floats(5, 4), np.array([[0, 3]])])
    yield case(MS, "Trilu", [floats(2, 3, 4), scalar(1, np.int64)])
    yield case(MS, "UnfoldTensor", [floats(2, 6)], dim=1, size=2, step=2)


def contrib_cases():
    for family in (official, transformers, products, quantised, others):
        yield from family()
