#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the seeds of fuzz_compile: models of one node each, of every converter that reads attributes or constants.

    tests/fuzz/make_seeds.py tests/fuzz/corpus_compile
"""
import os
import sys

import numpy as np
import onnx
from onnx import helper, numpy_helper

f4, f2, i8, u1, i4 = "f4", "f2", "i8", "u1", "i4"


class Known(tuple):
    """Integers or floats that become an initializer."""


def k(*values):
    return Known(values)


IMAGE, WEIGHT = (1, 4, 6, 6), (4, 4, 3, 3)
# domain, operator, version, inputs (a shape, (shape, type), Known or None), outputs, attributes
SEEDS = [
    ("", "AffineGrid", 20, [(1, 2, 3), k(1, 2, 4, 5)], 1, dict(align_corners=1)),
    ("", "ArgMax", 13, [IMAGE], 1, dict(axis=1, keepdims=0, select_last_index=1)),
    ("", "Attention", 23, [(1, 4, 16), (1, 6, 16), (1, 6, 16)], 1,
     dict(q_num_heads=2, kv_num_heads=2, is_causal=1, softcap=1.0, scale=0.5)),
    ("", "Attention", 23, [(1, 2, 4, 8), (1, 2, 3, 8), (1, 2, 3, 8), (4, 5), (1, 2, 2, 8), (1, 2, 2, 8)], 3,
     dict(qk_matmul_output_mode=1)),
    ("", "AveragePool", 22, [IMAGE], 1,
     dict(kernel_shape=[3, 2], strides=[2, 1], pads=[1, 0, 1, 1], dilations=[1, 2], ceil_mode=1, count_include_pad=1)),
    ("", "AveragePool", 22, [(1, 2, 7)], 1, dict(kernel_shape=[3], auto_pad="SAME_LOWER")),
    ("", "BatchNormalization", 9, [IMAGE, (4,), (4,), (4,), (4,)], 1, dict(epsilon=1e-5, momentum=0.9)),
    ("", "HannWindow", 17, [k(8)], 1, dict(periodic=1, output_datatype=1)),
    ("", "CenterCropPad", 18, [IMAGE, k(4, 8)], 1, dict(axes=[2, 3])),
    ("", "Clip", 6, [IMAGE], 1, dict(min=-1.0, max=1.0)),
    ("", "Col2Im", 18, [(1, 8, 9), k(4, 4), k(2, 2)], 1,
     dict(strides=[1, 1], dilations=[1, 1], pads=[0, 0, 0, 0])),
    ("", "Concat", 13, [IMAGE, IMAGE], 1, dict(axis=1)),
    ("", "Constant", 13, [], 1, dict(value_ints=[1, 2, 3])),
    ("", "Constant", 13, [], 1, dict(value_int=3)),
    ("", "ConstantOfShape", 9, [k(2, 3)], 1, {}),
    ("", "Conv", 11, [IMAGE, WEIGHT, (4,)], 1,
     dict(strides=[2, 1], pads=[1, 0, 1, 1], dilations=[1, 1], group=1, kernel_shape=[3, 3])),
    ("", "Conv", 11, [IMAGE, (4, 1, 3, 3)], 1, dict(group=4, auto_pad="SAME_UPPER")),
    ("", "ConvInteger", 10, [(IMAGE, u1), (WEIGHT, u1)], 1, dict(strides=[1, 1], pads=[0, 0, 0, 0])),
    ("", "ConvTranspose", 11, [IMAGE, WEIGHT], 1,
     dict(strides=[2, 2], pads=[1, 1, 1, 1], output_padding=[1, 0], dilations=[1, 1])),
    ("", "ConvTranspose", 11, [IMAGE, WEIGHT], 1, dict(strides=[2, 2], output_shape=[12, 12])),
    ("", "ConvTranspose", 11, [(1, 4, 6), (4, 2, 3)], 1, dict(strides=[2], auto_pad="SAME_UPPER")),
    ("", "Crop", 1, [IMAGE], 1, dict(border=[1, 1, 1, 1], scale=[2, 3])),
    ("", "CumSum", 14, [IMAGE, k(1)], 1, dict(exclusive=1, reverse=1)),
    ("", "DFT", 17, [(1, 8, 1), k(8)], 1, dict(axis=1, onesided=1)),
    ("", "DeformConv", 19, [IMAGE, (4, 4, 2, 2), (1, 8, 5, 5)], 1,
     dict(strides=[1, 1], pads=[0, 0, 0, 0], dilations=[1, 1], group=1, offset_group=1)),
    ("", "DepthToSpace", 13, [IMAGE], 1, dict(blocksize=2, mode="CRD")),
    ("", "SpaceToDepth", 13, [IMAGE], 1, dict(blocksize=2)),
    ("", "DequantizeLinear", 21, [((4, 6), u1), (4, 3), ((4, 3), u1)], 1, dict(axis=1, block_size=2)),
    ("", "QuantizeLinear", 21, [(4, 6), (6,), ((6,), u1)], 1, dict(axis=1, saturate=1, output_dtype=2)),
    ("", "Det", 11, [(2, 3, 3)], 1, {}),
    ("", "Einsum", 12, [(2, 3), (3, 4)], 1, dict(equation="ij,jk->ik")),
    ("", "Expand", 13, [(3, 1), k(2, 1, 6)], 1, {}),
    ("", "EyeLike", 9, [(4, 5)], 1, dict(k=1, dtype=1)),
    ("", "Flatten", 13, [IMAGE], 1, dict(axis=2)),
    ("", "Gather", 13, [IMAGE, k(0, 2, -1)], 1, dict(axis=1)),
    ("", "Gather", 13, [k(4, 5, 6, 7), k(0, 2)], 1, dict(axis=0)),
    ("", "GatherElements", 13, [(3, 4), ((3, 2), i8)], 1, dict(axis=1)),
    ("", "GatherND", 13, [(3, 4, 5), ((3, 1), i8)], 1, dict(batch_dims=1)),
    ("", "Gemm", 13, [(3, 4), (5, 4), (5,)], 1, dict(alpha=0.5, beta=2.0, transA=0, transB=1)),
    ("", "GroupNormalization", 21, [IMAGE, (4,), (4,)], 1, dict(num_groups=2, epsilon=1e-5)),
    ("", "GridSample", 20, [IMAGE, (1, 3, 3, 2)], 1, dict(mode="cubic", padding_mode="border", align_corners=1)),
    ("", "GRU", 14, [(3, 2, 4), (1, 15, 4), (1, 15, 5)], 2, dict(hidden_size=5, linear_before_reset=1)),
    ("", "LSTM", 14, [(3, 2, 4), (1, 20, 4), (1, 20, 5)], 3,
     dict(hidden_size=5, clip=1.0, input_forget=0, activation_alpha=[0.5, 0.5, 0.5])),
    ("", "HardSigmoid", 6, [IMAGE], 1, dict(alpha=0.2, beta=0.5)),
    ("", "Hardmax", 13, [IMAGE], 1, dict(axis=-1)),
    ("", "ImageScaler", 1, [IMAGE], 1, dict(scale=2.0, bias=[0.1, 0.2, 0.3, 0.4])),
    ("", "LRN", 13, [IMAGE], 1, dict(size=3, alpha=1e-4, beta=0.75, bias=1.0)),
    ("", "LayerNormalization", 17, [(2, 3, 8), (8,), (8,)], 3, dict(axis=-1, epsilon=1e-5, stash_type=1)),
    ("", "LpNormalization", 1, [IMAGE], 1, dict(axis=1, p=2)),
    ("", "LpPool", 18, [IMAGE], 1, dict(kernel_shape=[2, 2], p=3, strides=[1, 1])),
    ("", "MatMul", 13, [(2, 1, 3, 4), (5, 4, 6)], 1, {}),
    ("", "MatMul", 13, [(3, 4), k(*range(4))], 1, {}),
    ("", "MatMulInteger", 10, [((2, 3, 4), u1), ((4, 5), u1), ((), u1), ((), u1)], 1, {}),
    ("", "MaxPool", 12, [IMAGE], 2,
     dict(kernel_shape=[2, 3], strides=[2, 2], pads=[0, 1, 0, 1], dilations=[1, 1], storage_order=1, ceil_mode=1)),
    ("", "MaxRoiPool", 1, [IMAGE, (3, 5)], 1, dict(pooled_shape=[2, 2], spatial_scale=0.5)),
    ("", "MaxUnpool", 11, [(1, 1, 2, 2), ((1, 1, 2, 2), i8), k(1, 1, 5, 5)], 1,
     dict(kernel_shape=[2, 2], strides=[2, 2], pads=[0, 0, 0, 0])),
    ("", "MeanVarianceNormalization", 13, [IMAGE], 1, dict(axes=[0, 2, 3])),
    ("", "MelWeightMatrix", 17, [k(8), k(16), k(8192), k(0.0), k(4000.0)], 1, dict(output_datatype=1)),
    ("", "Mod", 13, [k(7, -7), k(3, 3)], 1, dict(fmod=0)),
    ("", "Pow", 15, [k(2, 3), k(5, 40)], 1, {}),
    ("", "Div", 14, [k(2, 3), k(5, 40)], 1, {}),
    ("", "NegativeLogLikelihoodLoss", 13, [(3, 5), ((3,), i8)], 1, dict(ignore_index=2, reduction="mean")),
    ("", "OneHot", 11, [((2, 3), i8), k(5), (2,)], 1, dict(axis=-1)),
    ("", "Pad", 13, [IMAGE, k(0, 0, 1, -1, 0, 0, 2, 1)], 1, dict(mode="constant")),
    ("", "Pad", 18, [IMAGE, k(1, 1, 1, 1), None, k(2, 3)], 1, dict(mode="reflect")),
    ("", "Pad", 7, [IMAGE], 1, dict(pads=[0, 0, 1, 1, 0, 0, 1, 1], value=0.5)),
    ("", "QLinearConv", 10, [(IMAGE, u1), ((), f4), ((), u1), (WEIGHT, u1), ((), f4), ((), u1), ((), f4), ((), u1)], 1,
     dict(strides=[1, 1], pads=[1, 1, 1, 1], group=1)),
    ("", "Range", 11, [k(1), k(9), k(2)], 1, {}),
    ("", "Range", 11, [k(1.0), k(9.0), k(2.5)], 1, {}),
    ("", "ReduceSum", 13, [IMAGE, k(1, -1)], 1, dict(keepdims=0, noop_with_empty_axes=1)),
    ("", "ReduceMax", 13, [IMAGE], 1, dict(axes=[1, -1], keepdims=1)),
    ("", "ReduceProd", 18, [k(2, 3, 4), k(0)], 1, {}),
    ("", "Reshape", 13, [IMAGE, k(2, -1, 0)], 1, dict(allowzero=0)),
    ("", "Resize", 13, [IMAGE, None, k(1.0, 1.0, 2.0, 1.5)], 1,
     dict(mode="cubic", cubic_coeff_a=-0.5, exclude_outside=1, coordinate_transformation_mode="half_pixel")),
    ("", "Resize", 19, [IMAGE, None, None, k(3, 9)], 1,
     dict(axes=[2, 3], mode="linear", antialias=1, keep_aspect_ratio_policy="not_larger")),
    ("", "Resize", 13, [IMAGE, k(0.0, 0.0, 0.1, 0.2, 1.0, 1.0, 0.9, 1.4), None, k(1, 4, 5, 5)], 1,
     dict(mode="linear", coordinate_transformation_mode="tf_crop_and_resize", extrapolation_value=3.0)),
    ("", "Resize", 13, [IMAGE, None, k(1.0, 1.0, 0.5, 3.0)], 1,
     dict(mode="nearest", nearest_mode="ceil", coordinate_transformation_mode="tf_half_pixel_for_nn")),
    ("", "Upsample", 9, [IMAGE, k(1.0, 1.0, 2.0, 2.0)], 1, dict(mode="linear")),
    ("", "RotaryEmbedding", 23, [(1, 2, 3, 8), (5, 4), (5, 4), ((1, 3), i8)], 1,
     dict(interleaved=1, rotary_embedding_dim=8, num_heads=2)),
    ("", "ReverseSequence", 10, [(4, 3), ((3,), i8)], 1, dict(batch_axis=1, time_axis=0)),
    ("", "RoiAlign", 16, [IMAGE, (2, 4), ((2,), i8)], 1,
     dict(output_height=3, output_width=2, sampling_ratio=2, spatial_scale=0.5)),
    ("", "STFT", 17, [(1, 32, 1), k(4), None, k(8)], 1, dict(onesided=1)),
    ("", "ScatterElements", 16, [(3, 4), ((3, 2), i8), (3, 2)], 1, dict(axis=1, reduction="add")),
    ("", "ScatterND", 16, [(3, 4), ((2, 1), i8), (2, 4)], 1, {}),
    ("", "Shape", 15, [IMAGE], 1, dict(start=1, end=-1)),
    ("", "Slice", 13, [IMAGE, k(0, 4), k(9, 1), k(1, 2), k(2, -1)], 1, {}),
    ("", "Slice", 13, [k(5, 6, 7, 8), k(-1), k(-9), k(0), k(-1)], 1, {}),
    ("", "Slice", 9, [IMAGE], 1, dict(starts=[0, 1], ends=[9, 3], axes=[1, 2])),
    ("", "Softmax", 13, [IMAGE], 1, dict(axis=1)),
    ("", "SoftmaxCrossEntropyLoss", 13, [(3, 5), ((3,), i8), (5,)], 2, dict(ignore_index=2, reduction="sum")),
    ("", "Split", 13, [IMAGE, k(1, 3)], 2, dict(axis=1)),
    ("", "Split", 11, [IMAGE], 2, dict(axis=1, split=[2, 2])),
    ("", "Split", 18, [IMAGE], 3, dict(axis=2, num_outputs=3)),
    ("", "Squeeze", 13, [(1, 3, 1), k(0, -1)], 1, {}),
    ("", "Squeeze", 11, [(1, 3, 1)], 1, dict(axes=[0, 2])),
    ("", "Unsqueeze", 13, [(3, 4), k(0, -1)], 1, {}),
    ("", "TensorScatter", 24, [(2, 3, 8, 4), (2, 3, 1, 4), ((2,), i8)], 1, dict(axis=-2)),
    ("", "Tile", 13, [(2, 3), k(2, 1)], 1, {}),
    ("", "Tile", 13, [k(2, 3), k(2)], 1, {}),
    ("", "TopK", 11, [IMAGE, k(2)], 2, dict(axis=1, largest=1, sorted=1)),
    ("", "Transpose", 13, [IMAGE], 1, dict(perm=[0, 2, 3, 1])),
    ("", "Trilu", 14, [(4, 5), k(1)], 1, dict(upper=1)),
    ("com.microsoft", "Attention", 1, [(1, 4, 8), (8, 24), (24,)], 1,
     dict(num_heads=2, unidirectional=1, qkv_hidden_sizes=[8, 8, 8], scale=0.5)),
    ("com.microsoft", "MultiHeadAttention", 1, [(1, 4, 8), (1, 6, 8), (1, 6, 8)], 1,
     dict(num_heads=2, scale=0.5, mask_filter_value=-1e4)),
    ("com.microsoft", "GroupQueryAttention", 1,
     [(1, 1, 16), (1, 1, 8), (1, 1, 8), (1, 1, 4, 8), (1, 1, 4, 8), ((1,), i4), Known((np.int32(5),))], 3,
     dict(num_heads=2, kv_num_heads=1, local_window_size=3, scale=0.5)),
    ("com.microsoft", "QAttention", 1, [((1, 4, 8), u1), ((8, 24), u1), (24,), (), (), None, ((), u1), ((), u1)], 1,
     dict(num_heads=2, unidirectional=1)),
    ("com.microsoft", "RotaryEmbedding", 1, [(1, 3, 16), ((1, 3), i8), (5, 4), (5, 4)], 1,
     dict(interleaved=1, num_heads=2, rotary_embedding_dim=8, scale=1.0)),
    ("com.microsoft", "GroupNorm", 1, [(1, 6, 6, 4), (4,), (4,)], 1,
     dict(groups=2, activation=1, channels_last=1, epsilon=1e-5)),
    ("com.microsoft", "MatMulNBits", 1, [(3, 32), ((8, 2, 8), u1), (16,)], 1,
     dict(K=32, N=8, bits=4, block_size=16, accuracy_level=4)),
    ("com.microsoft", "GatherBlockQuantized", 1, [((4, 16), u1), ((3,), i8), (4, 2)], 1,
     dict(bits=4, block_size=16, gather_axis=0, quantize_axis=1)),
    ("com.microsoft", "QLinearAveragePool", 1, [(IMAGE, u1), (), ((), u1), (), ((), u1)], 1,
     dict(kernel_shape=[2, 2], strides=[2, 2], pads=[0, 0, 1, 1], channels_last=0, ceil_mode=1)),
    ("com.microsoft", "QLinearSoftmax", 1, [((3, 5), u1), (), ((), u1), (), ((), u1)], 1, dict(axis=1, opset=13)),
    ("com.microsoft", "QLinearConcat", 1, [(), ((), u1), ((2, 3), u1), (), ((), u1)], 1, dict(axis=1)),
    ("com.microsoft", "ConvTransposeWithDynamicPads", 1, [IMAGE, WEIGHT, k(1, 1, 1, 1)], 1, dict(strides=[2, 2])),
    ("com.microsoft", "FusedConv", 1, [IMAGE, WEIGHT], 1,
     dict(pads=[1, 1, 1, 1], activation="Clip", activation_params=[-1.0, 1.0])),
    ("com.microsoft", "FusedMatMul", 1, [(2, 4, 3), (2, 4, 5)], 1, dict(transA=1, transBatchA=0, alpha=0.5)),
    ("com.microsoft", "NhwcMaxPool", 1, [((1, 6, 6, 4), u1)], 1, dict(kernel_shape=[2, 2], strides=[2, 2])),
    ("com.microsoft", "Pad", 1, [IMAGE, k(0, 0, 1, 1, 0, 0, 1, 1)], 1, {}),
    ("com.microsoft", "Rfft", 1, [(2, 8)], 1, dict(normalized=0, onesided=1, signal_ndim=1)),
    ("com.microsoft", "UnfoldTensor", 1, [(2, 9)], 1, dict(dim=-1, size=3, step=2)),
]


def tensor_type(spec):
    is_typed = len(spec) == 2 and isinstance(spec[0], tuple)
    shape, dtype = spec if is_typed else (spec, f4)
    return helper.make_tensor_value_info, helper.np_dtype_to_tensor_dtype(np.dtype(dtype)) if hasattr(
        helper, "np_dtype_to_tensor_dtype") else {f4: 1, u1: 2, i4: 6, i8: 7, f2: 10}[dtype], shape


def known_array(values):
    kind = type(values[0])
    dtype = kind if issubclass(kind, np.generic) else f4 if kind is float else i8
    return np.array(values, dtype)


def build(domain, op, version, inputs, outputs, attributes):
    names, infos, weights = [], [], []
    for i, spec in enumerate(inputs):
        names.append("" if spec is None else f"x{i}")
        if isinstance(spec, Known):
            weights.append(numpy_helper.from_array(known_array(spec), names[i]))
        elif spec is not None:
            make, dtype, shape = tensor_type(spec)
            infos.append(make(names[i], dtype, shape))
    results = [helper.make_tensor_value_info(f"y{i}", 0, None) for i in range(outputs)]
    node = helper.make_node(op, names, [f"y{i}" for i in range(outputs)], domain=domain, **attributes)
    graph = helper.make_graph([node], "g", infos, results, weights)
    sets = [helper.make_opsetid("", max(version, 7) if not domain else 17)]
    if domain:
        sets.append(helper.make_opsetid(domain, version))
    return helper.make_model(graph, opset_imports=sets, ir_version=8)


def function(name, inputs, outputs, nodes, attributes=(), defaults=()):
    made = helper.make_function("f", name, inputs, outputs, nodes, [helper.make_opsetid("", 17), helper.make_opsetid("f", 1)],
                                attributes)
    for default in defaults:  # attribute_proto, which onnx 1.12 does not know
        text = default.SerializeToString()
        made.MergeFromString(bytes([11 << 3 | 2, len(text)]) + text)
    return made


def referring(node, name, kind):
    """The node with an attribute whose value is the call's."""
    attribute = node.attribute.add()
    attribute.name, attribute.ref_attr_name, attribute.type = name, name, kind
    return node


def functions():
    """A function that calls another one, with attributes given, defaulted and absent, an absent input and output, and a graph
    inside; and a ZipMap."""
    inner = function("Inner", ["a", "b"], ["c", "d"],
                     [referring(helper.make_node("Softmax", ["a"], ["s"]), "axis", onnx.AttributeProto.INT),
                      referring(helper.make_node("Elu", ["s"], ["c"]), "alpha", onnx.AttributeProto.FLOAT),
                      helper.make_node("Identity", ["b"], ["d"])], ["axis"], [helper.make_attribute("alpha", 0.5)])
    branch = helper.make_graph([helper.make_node("Neg", ["x"], ["n"])], "then", [],
                               [helper.make_tensor_value_info("n", 1, [2, 3])])
    other = helper.make_graph([helper.make_node("Abs", ["x"], ["n"])], "else", [],
                              [helper.make_tensor_value_info("n", 1, [2, 3])])
    outer = function("Outer", ["x", "when"], ["y"],
                     [helper.make_node("Inner", ["x", "x"], ["c", "d"], domain="f", axis=1),
                      helper.make_node("Inner", ["d", "d"], ["e"], domain="f"),
                      helper.make_node("If", ["when"], ["g"], then_branch=branch, else_branch=other),
                      helper.make_node("Sum", ["c", "e", "g"], ["y"])])
    graph = helper.make_graph(
        [helper.make_node("Outer", ["x", "when"], ["y"], domain="f", name="call"),
         helper.make_node("ZipMap", ["y"], ["z"], domain="ai.onnx.ml", classlabels_int64s=[0, 1, 2])], "g",
        [helper.make_tensor_value_info("x", 1, [2, 3])],
        [helper.make_tensor_value_info("y", 1, [2, 3]), helper.make_tensor_value_info("z", 1, None)],
        [numpy_helper.from_array(np.array(True), "when")])
    sets = [helper.make_opsetid("", 17), helper.make_opsetid("f", 1), helper.make_opsetid("ai.onnx.ml", 3)]
    return helper.make_model(graph, opset_imports=sets, functions=[inner, outer], ir_version=8)


def main():
    with open(os.path.join(sys.argv[1], "functions"), "wb") as file:
        file.write(functions().SerializeToString())
    for number, seed in enumerate(SEEDS):
        with open(os.path.join(sys.argv[1], f"{number:03}_{seed[1]}"), "wb") as file:
            file.write(build(*seed).SerializeToString())


if __name__ == "__main__":
    main()
