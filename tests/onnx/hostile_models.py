# SPDX-License-Identifier: Apache-2.0
"""Valid models of ONNX Runtime's own operators, one each, for test_hostile.py, which changes them."""
from onnx_tool import helper, np

F, I8, U8, I32, I64 = np.float32, np.int8, np.uint8, np.int32, np.int64


def real(*shape):
    return np.linspace(-1, 1, int(np.prod(shape)), dtype=F).reshape(shape)


def byte(*shape, dtype=U8):
    return (np.arange(np.prod(shape)) % 100).astype(dtype).reshape(shape)


def one(value, dtype=F):
    return np.array(value, dtype)


SCALE, ZERO = one(0.1), one(3, U8)
QUANTIZED = (SCALE, ZERO)

# Operator: inputs (None: absent), attributes, outputs.
CONTRIBUTED = {
    "Attention": ((real(1, 3, 8), real(8, 24), real(24)), {"num_heads": 2}, 1),
    "BiasAdd": ((real(1, 4, 8), real(8), real(1, 4, 8)), {}, 1),
    "BiasGelu": ((real(2, 8), real(8)), {}, 1),
    "BiasSplitGelu": ((real(1, 4, 16), real(16)), {}, 1),
    "CDist": ((real(3, 4), real(5, 4)), {"metric": "euclidean"}, 1),
    "DecoderMaskedMultiHeadAttention": ((real(1, 1, 8), real(1, 1, 8), real(1, 1, 8), None, None, real(1, 2, 4, 4),
                                         real(1, 2, 4, 4), one([2], I32)), {"num_heads": 2}, 3),
    "DynamicQuantizeMatMul": ((real(2, 4), byte(4, 3), one([0.1]), one([1], U8)), {}, 1),
    "EmbedLayerNormalization": ((byte(1, 3, dtype=I32), None, real(200, 8), real(10, 8), None, real(8), real(8)),
                                {"epsilon": 1e-5}, 2),
    "ExpandDims": ((real(2, 3), one([1], I32)), {}, 1),
    "FastGelu": ((real(2, 8), real(8)), {}, 1),
    "FusedConv": ((real(1, 2, 5, 5), real(3, 2, 3, 3), real(3)),
                  {"activation": "HardSigmoid", "activation_params": [0.2, 0.5], "kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}, 1),
    "FusedGemm": ((real(2, 3), real(3, 4), real(4)), {"activation": "Relu"}, 1),
    "FusedMatMul": ((real(2, 3), real(4, 3)), {"transB": 1, "alpha": 0.5}, 1),
    "GatherBlockQuantized": ((byte(4, 32, dtype=U8), one([0, 2], I64), real(4, 2)), {"block_size": 16, "bits": 8,
                                                                                     "quantize_axis": 1}, 1),
    "Gelu": ((real(2, 8),), {}, 1),
    "GridSample": ((real(1, 1, 3, 3), real(1, 2, 2, 2)), {"mode": "bilinear"}, 1),
    "GroupNorm": ((real(1, 4, 4, 8), real(8), real(8)), {"groups": 2, "activation": 1}, 1),
    "GroupQueryAttention": ((real(1, 1, 8), real(1, 1, 4), real(1, 1, 4), real(1, 1, 4, 4), real(1, 1, 4, 4), one([1], I32),
                             one(2, I32)), {"num_heads": 2, "kv_num_heads": 1}, 3),
    "MatMulIntegerToFloat": ((byte(2, 4), byte(4, 3), one(0.1), one([0.1]), ZERO, one([1], U8)), {}, 1),
    "MatMulNBits": ((real(2, 32), byte(4, 2, 8), real(4, 2).reshape(-1)), {"K": 32, "N": 4, "bits": 4, "block_size": 16}, 1),
    "MultiHeadAttention": ((real(1, 3, 8), real(1, 3, 8), real(1, 3, 8)), {"num_heads": 2}, 1),
    "NhwcMaxPool": ((byte(1, 4, 4, 2),), {"kernel_shape": [2, 2], "strides": [2, 2]}, 1),
    "Pad": ((real(2, 3), one([1, 0, 0, 2], I64), one(1.5)), {"mode": "constant"}, 1),
    "QAttention": ((byte(1, 3, 8), byte(8, 24), real(24), SCALE, one(0.1), None, ZERO, one(1, U8)), {"num_heads": 2}, 1),
    "QGemm": ((byte(2, 3), *QUANTIZED, byte(3, 4), *QUANTIZED, one([1, 2, 3, 4], I32), *QUANTIZED), {}, 1),
    "QLinearAdd": ((byte(2, 3), *QUANTIZED, byte(2, 3), *QUANTIZED, *QUANTIZED), {}, 1),
    "QLinearAveragePool": ((byte(1, 2, 4, 4), *QUANTIZED, *QUANTIZED), {"kernel_shape": [2, 2], "strides": [2, 2]}, 1),
    "QLinearConcat": ((*QUANTIZED, byte(2, 3), *QUANTIZED, byte(2, 3), *QUANTIZED), {"axis": 1}, 1),
    "QLinearGlobalAveragePool": ((byte(1, 2, 4, 4), *QUANTIZED, *QUANTIZED), {"channels_last": 0}, 1),
    "QLinearLeakyRelu": ((byte(2, 3), *QUANTIZED, *QUANTIZED), {"alpha": 0.1}, 1),
    "QLinearSigmoid": ((byte(2, 3), *QUANTIZED, *QUANTIZED), {}, 1),
    "QLinearSoftmax": ((byte(2, 3), *QUANTIZED, *QUANTIZED), {"axis": 1, "opset": 13}, 1),
    "QuantizeLinear": ((real(2, 3), one([0.1, 0.2, 0.3]), one([1, 2, 3], U8)), {"axis": 1}, 1),
    "QuickGelu": ((real(2, 3),), {"alpha": 1.5}, 1),
    "Range": ((one(0), one(5), one(1)), {}, 1),
    "Rfft": ((real(2, 8),), {"signal_ndim": 1, "normalized": 0, "onesided": 1}, 1),
    "RotaryEmbedding": ((real(1, 3, 8), one([0], I64), real(4, 2), real(4, 2)), {"num_heads": 2}, 1),
    "SkipLayerNormalization": ((real(1, 3, 8), real(1, 3, 8), real(8), real(8)), {"epsilon": 1e-5}, 1),
    "SkipSimplifiedLayerNormalization": ((real(1, 3, 8), real(1, 3, 8), real(8)), {"epsilon": 1e-5}, 1),
    "TorchEmbedding": ((real(5, 4), one([0, 2], I64), one(-1, I64)), {}, 1),
    "TransposeMatMul": ((real(3, 2), real(3, 4)), {"transA": 1}, 1),
    "Trilu": ((real(3, 3), one(1, I64)), {"upper": 1}, 1),
    "UnfoldTensor": ((real(2, 6),), {"dim": -1, "size": 3, "step": 1}, 1),
}


# Of ONNX, with attributes that its node tests lack.
OTHERS = {
    "Constant": ((), {"value_floats": [1.0, 2.0]}, 1),
    "ConstantInts": ((), {"value_ints": [1, 2]}, 1),
    "ImageScaler": ((real(1, 2, 3, 3),), {"bias": [0.5, 1.0], "scale": 2.0}, 1),
    "RNN": ((real(2, 1, 3), real(2, 4, 3), real(2, 4, 4)),
            {"hidden_size": 4, "direction": "bidirectional", "activations": ["LeakyRelu", "Affine"],
             "activation_alpha": [0.1, 0.2], "activation_beta": [0.3]}, 1),
    "Resize": ((real(1, 1, 2, 2), None, one([1, 1, 2, 1.5])), {"mode": "cubic", "cubic_coeff_a": -0.5, "axes": [0, 1, 2, 3]}, 1),
}


def contributed():
    """Operator, model, and inputs by name."""
    for op, (inputs, attributes, outputs) in (CONTRIBUTED | OTHERS).items():
        arrays = {f"x{i}": x for i, x in enumerate(inputs) if x is not None}
        node = helper.make_node(op.removesuffix("Ints"), ["" if x is None else f"x{i}" for i, x in enumerate(inputs)],
                                [f"y{i}" for i in range(outputs)], domain="com.microsoft" if op in CONTRIBUTED else "", **attributes)
        infos = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
                 for name, x in arrays.items()]
        made = [helper.make_tensor_value_info(name, 1, None) for name in node.output]
        graph = helper.make_graph([node], "contributed", infos, made)
        opsets = [helper.make_opsetid("", 20), helper.make_opsetid("com.microsoft", 1)]
        yield op, helper.make_model(graph, opset_imports=opsets, ir_version=9), arrays
