# SPDX-License-Identifier: Apache-2.0
"""Made by scripts/generate/make-pydirectml: do not edit. One function for each operator."""

from typing import NamedTuple

from ._enums import (AxisDirection, ConvolutionDirection, ConvolutionMode, DepthSpaceOrder, InterpolationMode,
    IsInfinityMode, MatrixTransform, MultiheadAttentionMaskType, OutputOptions, PaddingMode, QuantizationType,
    RandomGeneratorType, RecurrentNetworkDirection, ReduceFunction, RoundingMode, TensorDataType)
from ._graph import PLAIN, make, picture_sizes, region_sizes, with_size

__all__ = ["AdamOptimizerOutputs", "BatchNormalizationGradOutputs", "BatchNormalizationTrainingOutputs",
    "DynamicQuantizeLinearOutputs", "GRUOutputs", "LSTMOutputs", "MaxPoolingOutputs", "MultiheadAttentionOutputs",
    "NonZeroCoordinatesOutputs", "RNNOutputs", "RandomGeneratorOutputs", "RoiAlignGradOutputs", "TopKOutputs", "abs",
    "acos", "acosh", "activation_celu", "activation_elu", "activation_gelu", "activation_hard_sigmoid",
    "activation_hard_swish", "activation_hardmax", "activation_hardmax1", "activation_identity",
    "activation_leaky_relu", "activation_linear", "activation_log_softmax", "activation_log_softmax1",
    "activation_parameterized_relu", "activation_parametric_softplus", "activation_relu", "activation_relu_grad",
    "activation_scaled_elu", "activation_scaled_tanh", "activation_shrink", "activation_sigmoid", "activation_soft_max",
    "activation_soft_max1", "activation_softplus", "activation_softsign", "activation_swish", "activation_tanh",
    "activation_thresholded_relu", "adam_optimizer", "argmax", "argmin", "asin", "asinh", "atan", "atan_yx", "atanh",
    "average_pooling", "average_pooling0", "average_pooling_grad", "batch_normalization", "batch_normalization_grad",
    "batch_normalization_training", "batch_normalization_training_grad", "bit_and", "bit_count", "bit_not", "bit_or",
    "bit_shift_left", "bit_shift_right", "bit_xor", "cast", "ceil", "clip", "clip0", "clip_grad", "clip_grad0",
    "constant_pow", "convolution", "convolution_integer", "cos", "cosh", "cumulative_product", "cumulative_summation",
    "depth_to_space", "depth_to_space0", "dequantize", "dequantize_linear", "diagonal_matrix", "diagonal_matrix0",
    "difference_square", "divide", "dynamic_quantize_linear", "equals", "erf", "exp", "fill_value_constant",
    "fill_value_sequence", "floor", "fold", "gather", "gather_elements", "gather_nd", "gather_nd0", "gemm",
    "greater_than", "greater_than_or_equal", "grid_sample", "gru", "identity", "if_", "indexed_max_pooling_grad",
    "is_infinity", "is_nan", "join", "less_than", "less_than_or_equal", "local_response_normalization",
    "local_response_normalization_grad", "log", "logical_and", "logical_not", "logical_or", "logical_xor",
    "lp_normalization", "lp_pooling", "lp_pooling0", "lstm", "matrix_multiply_integer",
    "matrix_multiply_integer_to_float", "max", "max_pooling", "max_pooling0", "max_pooling1", "max_pooling_grad",
    "max_unpooling", "mean", "mean_variance_normalization", "mean_variance_normalization0",
    "mean_variance_normalization1", "min", "modulus_floor", "modulus_truncate", "multihead_attention",
    "multihead_attention1", "multiply", "negate", "nonzero_coordinates", "one_hot", "padding", "padding0", "pow",
    "quantize", "quantize_linear", "quantized_linear_add", "quantized_linear_average_pooling",
    "quantized_linear_convolution", "quantized_linear_matrix_multiply", "random_generator", "recip", "reduce",
    "resample", "resample0", "resample1", "resample2", "resample_grad", "resample_grad0", "reverse_subsequences", "rnn",
    "roi_align", "roi_align0", "roi_align_grad", "roi_pooling", "round", "scatter_elements", "scatter_nd",
    "scatter_reduce_elements", "scatter_reduce_nd", "sign", "sin", "sinh", "slice", "slice0", "slice_grad",
    "space_to_depth", "space_to_depth0", "sqrt", "subtract", "tan", "tanh", "threshold", "tile", "top_k", "top_k0",
    "unfold", "up_sample_2d", "value_scale_2d"]


class TopKOutputs(NamedTuple):
    value: 'Expression'
    index: 'Expression'


class RNNOutputs(NamedTuple):
    sequence: 'Expression | None'
    single: 'Expression | None'


class LSTMOutputs(NamedTuple):
    sequence: 'Expression | None'
    single: 'Expression | None'
    cell_single: 'Expression | None'


class GRUOutputs(NamedTuple):
    sequence: 'Expression | None'
    single: 'Expression | None'


class MaxPoolingOutputs(NamedTuple):
    values: 'Expression'
    indices: 'Expression | None'


class RandomGeneratorOutputs(NamedTuple):
    values: 'Expression'
    state: 'Expression | None'


class NonZeroCoordinatesOutputs(NamedTuple):
    count: 'Expression'
    coordinates: 'Expression'


class AdamOptimizerOutputs(NamedTuple):
    parameters: 'Expression'
    first_moment: 'Expression'
    second_moment: 'Expression'


class BatchNormalizationGradOutputs(NamedTuple):
    gradient: 'Expression'
    scale_gradient: 'Expression'
    bias_gradient: 'Expression'


class DynamicQuantizeLinearOutputs(NamedTuple):
    output: 'Expression'
    scale: 'Expression'
    zero_point: 'Expression'


class RoiAlignGradOutputs(NamedTuple):
    output_gradient: 'Expression | None'
    output_roi_gradient: 'Expression | None'


class BatchNormalizationTrainingOutputs(NamedTuple):
    output: 'Expression'
    mean: 'Expression'
    variance: 'Expression'


class MultiheadAttentionOutputs(NamedTuple):
    output: 'Expression'
    present_key: 'Expression | None'
    present_value: 'Expression | None'


def identity(input, scale_bias=None):
    """y = g(x) (DML_OPERATOR_ELEMENT_WISE_IDENTITY)"""
    return make("ELEMENT_WISE_IDENTITY", None, (input,), (PLAIN,), (scale_bias,))[0]


def abs(input, scale_bias=None):
    """y = |g(x)| (DML_OPERATOR_ELEMENT_WISE_ABS)"""
    return make("ELEMENT_WISE_ABS", None, (input,), (PLAIN,), (scale_bias,))[0]


def acos(input, scale_bias=None):
    """y = acos(g(x)) (DML_OPERATOR_ELEMENT_WISE_ACOS)"""
    return make("ELEMENT_WISE_ACOS", None, (input,), (PLAIN,), (scale_bias,))[0]


def asin(input, scale_bias=None):
    """y = asin(g(x)) (DML_OPERATOR_ELEMENT_WISE_ASIN)"""
    return make("ELEMENT_WISE_ASIN", None, (input,), (PLAIN,), (scale_bias,))[0]


def atan(input, scale_bias=None):
    """y = atan(g(x)) (DML_OPERATOR_ELEMENT_WISE_ATAN)"""
    return make("ELEMENT_WISE_ATAN", None, (input,), (PLAIN,), (scale_bias,))[0]


def ceil(input, scale_bias=None):
    """y = ceil(g(x)) (DML_OPERATOR_ELEMENT_WISE_CEIL)"""
    return make("ELEMENT_WISE_CEIL", None, (input,), (PLAIN,), (scale_bias,))[0]


def clip0(input, min, max, scale_bias=None):
    """y = min(Max, max(Min, g(x))) (DML_OPERATOR_ELEMENT_WISE_CLIP)"""
    return make("ELEMENT_WISE_CLIP", None, (input,), (PLAIN,), (scale_bias, min, max))[0]


def cos(input, scale_bias=None):
    """y = cos(g(x)) (DML_OPERATOR_ELEMENT_WISE_COS)"""
    return make("ELEMENT_WISE_COS", None, (input,), (PLAIN,), (scale_bias,))[0]


def divide(a, b):
    """y = a / b; integers truncate toward zero (DML_OPERATOR_ELEMENT_WISE_DIVIDE)"""
    return make("ELEMENT_WISE_DIVIDE", None, (a, b), (PLAIN,), ())[0]


def exp(input, scale_bias=None):
    """y = e^g(x) (DML_OPERATOR_ELEMENT_WISE_EXP)"""
    return make("ELEMENT_WISE_EXP", None, (input,), (PLAIN,), (scale_bias,))[0]


def floor(input, scale_bias=None):
    """y = floor(g(x)) (DML_OPERATOR_ELEMENT_WISE_FLOOR)"""
    return make("ELEMENT_WISE_FLOOR", None, (input,), (PLAIN,), (scale_bias,))[0]


def log(input, scale_bias=None):
    """y = ln(g(x)) (DML_OPERATOR_ELEMENT_WISE_LOG)"""
    return make("ELEMENT_WISE_LOG", None, (input,), (PLAIN,), (scale_bias,))[0]


def logical_and(a, b):
    """y = (a != 0 && b != 0) ? 1 : 0 (DML_OPERATOR_ELEMENT_WISE_LOGICAL_AND)"""
    return make("ELEMENT_WISE_LOGICAL_AND", None, (a, b), (PLAIN,), ())[0]


def equals(a, b, output_data_type=TensorDataType.UNKNOWN):
    """y = (a == b) ? 1 : 0 (DML_OPERATOR_ELEMENT_WISE_LOGICAL_EQUALS)"""
    return make("ELEMENT_WISE_LOGICAL_EQUALS", None, (a, b), ((True, output_data_type, ()),), ())[0]


def greater_than(a, b, output_data_type=TensorDataType.UNKNOWN):
    """y = (a > b) ? 1 : 0 (DML_OPERATOR_ELEMENT_WISE_LOGICAL_GREATER_THAN)"""
    return make("ELEMENT_WISE_LOGICAL_GREATER_THAN", None, (a, b), ((True, output_data_type, ()),), ())[0]


def less_than(a, b, output_data_type=TensorDataType.UNKNOWN):
    """y = (a < b) ? 1 : 0 (DML_OPERATOR_ELEMENT_WISE_LOGICAL_LESS_THAN)"""
    return make("ELEMENT_WISE_LOGICAL_LESS_THAN", None, (a, b), ((True, output_data_type, ()),), ())[0]


def logical_not(input):
    """y = (x == 0) ? 1 : 0 (DML_OPERATOR_ELEMENT_WISE_LOGICAL_NOT)"""
    return make("ELEMENT_WISE_LOGICAL_NOT", None, (input,), (PLAIN,), ())[0]


def logical_or(a, b):
    """y = (a != 0 || b != 0) ? 1 : 0 (DML_OPERATOR_ELEMENT_WISE_LOGICAL_OR)"""
    return make("ELEMENT_WISE_LOGICAL_OR", None, (a, b), (PLAIN,), ())[0]


def logical_xor(a, b):
    """y = ((a != 0) != (b != 0)) ? 1 : 0 (DML_OPERATOR_ELEMENT_WISE_LOGICAL_XOR)"""
    return make("ELEMENT_WISE_LOGICAL_XOR", None, (a, b), (PLAIN,), ())[0]


def max(a, b):
    """y = max(a, b) (DML_OPERATOR_ELEMENT_WISE_MAX)"""
    return make("ELEMENT_WISE_MAX", None, (a, b), (PLAIN,), ())[0]


def mean(a, b):
    """y = (a + b) / 2 (DML_OPERATOR_ELEMENT_WISE_MEAN)"""
    return make("ELEMENT_WISE_MEAN", None, (a, b), (PLAIN,), ())[0]


def min(a, b):
    """y = min(a, b) (DML_OPERATOR_ELEMENT_WISE_MIN)"""
    return make("ELEMENT_WISE_MIN", None, (a, b), (PLAIN,), ())[0]


def multiply(a, b):
    """y = a * b (DML_OPERATOR_ELEMENT_WISE_MULTIPLY)"""
    return make("ELEMENT_WISE_MULTIPLY", None, (a, b), (PLAIN,), ())[0]


def pow(input, exponent, scale_bias=None):
    """y = pow(g(x), p), p = ExponentTensor (DML_OPERATOR_ELEMENT_WISE_POW)"""
    return make("ELEMENT_WISE_POW", None, (input, exponent), (PLAIN,), (scale_bias,))[0]


def constant_pow(input, exponent, scale_bias=None):
    """y = pow(g(x), Exponent) (DML_OPERATOR_ELEMENT_WISE_CONSTANT_POW)"""
    return make("ELEMENT_WISE_CONSTANT_POW", None, (input,), (PLAIN,), (scale_bias, exponent))[0]


def recip(input, scale_bias=None):
    """y = 1 / g(x) (DML_OPERATOR_ELEMENT_WISE_RECIP)"""
    return make("ELEMENT_WISE_RECIP", None, (input,), (PLAIN,), (scale_bias,))[0]


def sin(input, scale_bias=None):
    """y = sin(g(x)) (DML_OPERATOR_ELEMENT_WISE_SIN)"""
    return make("ELEMENT_WISE_SIN", None, (input,), (PLAIN,), (scale_bias,))[0]


def sqrt(input, scale_bias=None):
    """y = sqrt(g(x)) (DML_OPERATOR_ELEMENT_WISE_SQRT)"""
    return make("ELEMENT_WISE_SQRT", None, (input,), (PLAIN,), (scale_bias,))[0]


def subtract(a, b):
    """y = a - b (DML_OPERATOR_ELEMENT_WISE_SUBTRACT)"""
    return make("ELEMENT_WISE_SUBTRACT", None, (a, b), (PLAIN,), ())[0]


def tan(input, scale_bias=None):
    """y = tan(g(x)) (DML_OPERATOR_ELEMENT_WISE_TAN)"""
    return make("ELEMENT_WISE_TAN", None, (input,), (PLAIN,), (scale_bias,))[0]


def threshold(input, min, scale_bias=None):
    """y = max(g(x), Min) (DML_OPERATOR_ELEMENT_WISE_THRESHOLD)"""
    return make("ELEMENT_WISE_THRESHOLD", None, (input,), (PLAIN,), (scale_bias, min))[0]


def quantize_linear(input, scale, zero_point=None, output_data_type=TensorDataType.UNKNOWN):
    """y = clamp(round(x / Scale) + ZeroPoint) to the range of the output type (DML_OPERATOR_ELEMENT_WISE_QUANTIZE_LINEAR)"""
    return make("ELEMENT_WISE_QUANTIZE_LINEAR", None, (input, scale, zero_point), ((True, output_data_type, ()),), ())[0]


def dequantize_linear(input, scale, zero_point=None):
    """y = (x - ZeroPoint) * Scale (DML_OPERATOR_ELEMENT_WISE_DEQUANTIZE_LINEAR)"""
    return make("ELEMENT_WISE_DEQUANTIZE_LINEAR", None, (input, scale, zero_point), (PLAIN,), ())[0]


def activation_elu(input, alpha=1.0):
    """y = x >= 0 ? x : Alpha * (e^x - 1) (DML_OPERATOR_ACTIVATION_ELU)"""
    return make("ACTIVATION_ELU", None, (input,), (PLAIN,), (alpha,))[0]


def activation_hardmax(input):
    """1 at the first maximum of each row of the {B, W} view, 0 elsewhere (DML_OPERATOR_ACTIVATION_HARDMAX)"""
    return make("ACTIVATION_HARDMAX", None, (input,), (PLAIN,), ())[0]


def activation_hard_sigmoid(input, alpha=0.2, beta=0.5):
    """y = max(0, min(Alpha * x + Beta, 1)) (DML_OPERATOR_ACTIVATION_HARD_SIGMOID)"""
    return make("ACTIVATION_HARD_SIGMOID", None, (input,), (PLAIN,), (alpha, beta))[0]


def activation_identity(input):
    """y = x (DML_OPERATOR_ACTIVATION_IDENTITY)"""
    return make("ACTIVATION_IDENTITY", None, (input,), (PLAIN,), ())[0]


def activation_leaky_relu(input, alpha=0.01):
    """y = x >= 0 ? x : Alpha * x (DML_OPERATOR_ACTIVATION_LEAKY_RELU)"""
    return make("ACTIVATION_LEAKY_RELU", None, (input,), (PLAIN,), (alpha,))[0]


def activation_linear(input, alpha, beta):
    """y = Alpha * x + Beta (DML_OPERATOR_ACTIVATION_LINEAR)"""
    return make("ACTIVATION_LINEAR", None, (input,), (PLAIN,), (alpha, beta))[0]


def activation_log_softmax(input):
    """y = ln(e^x / sum of e^x over the row) of the {B, W} view (DML_OPERATOR_ACTIVATION_LOG_SOFTMAX)"""
    return make("ACTIVATION_LOG_SOFTMAX", None, (input,), (PLAIN,), ())[0]


def activation_parameterized_relu(input, slope):
    """y = x >= 0 ? x : s * x, s = SlopeTensor (DML_OPERATOR_ACTIVATION_PARAMETERIZED_RELU)"""
    return make("ACTIVATION_PARAMETERIZED_RELU", None, (input, slope), (PLAIN,), ())[0]


def activation_parametric_softplus(input, alpha=1.0, beta=1.0):
    """y = Alpha * ln(1 + e^(Beta * x)) (DML_OPERATOR_ACTIVATION_PARAMETRIC_SOFTPLUS)"""
    return make("ACTIVATION_PARAMETRIC_SOFTPLUS", None, (input,), (PLAIN,), (alpha, beta))[0]


def activation_relu(input):
    """y = max(0, x) (DML_OPERATOR_ACTIVATION_RELU)"""
    return make("ACTIVATION_RELU", None, (input,), (PLAIN,), ())[0]


def activation_scaled_elu(input, alpha=1.67326319217681884765625, gamma=1.05070102214813232421875):
    """y = x > 0 ? Gamma * x : Gamma * (Alpha * e^x - Alpha) (DML_OPERATOR_ACTIVATION_SCALED_ELU)"""
    return make("ACTIVATION_SCALED_ELU", None, (input,), (PLAIN,), (alpha, gamma))[0]


def activation_scaled_tanh(input, alpha=1.0, beta=0.5):
    """y = Alpha * tanh(Beta * x) (DML_OPERATOR_ACTIVATION_SCALED_TANH)"""
    return make("ACTIVATION_SCALED_TANH", None, (input,), (PLAIN,), (alpha, beta))[0]


def activation_sigmoid(input):
    """y = 1 / (1 + e^-x) (DML_OPERATOR_ACTIVATION_SIGMOID)"""
    return make("ACTIVATION_SIGMOID", None, (input,), (PLAIN,), ())[0]


def activation_soft_max(input):
    """y = e^x / sum of e^x over the row of the {B, W} view (DML_OPERATOR_ACTIVATION_SOFTMAX)"""
    return make("ACTIVATION_SOFTMAX", None, (input,), (PLAIN,), ())[0]


def activation_softplus(input, steepness=1.0):
    """y = ln(1 + e^(Steepness * x)) / Steepness (DML_OPERATOR_ACTIVATION_SOFTPLUS)"""
    return make("ACTIVATION_SOFTPLUS", None, (input,), (PLAIN,), (steepness,))[0]


def activation_softsign(input):
    """y = x / (1 + |x|) (DML_OPERATOR_ACTIVATION_SOFTSIGN)"""
    return make("ACTIVATION_SOFTSIGN", None, (input,), (PLAIN,), ())[0]


def activation_tanh(input):
    """y = tanh(x) (DML_OPERATOR_ACTIVATION_TANH)"""
    return make("ACTIVATION_TANH", None, (input,), (PLAIN,), ())[0]


def activation_thresholded_relu(input, alpha=1.0):
    """y = x > Alpha ? x : 0 (DML_OPERATOR_ACTIVATION_THRESHOLDED_RELU)"""
    return make("ACTIVATION_THRESHOLDED_RELU", None, (input,), (PLAIN,), (alpha,))[0]


def convolution(input, filter, bias=None, mode=ConvolutionMode.CROSS_CORRELATION,
                direction=ConvolutionDirection.FORWARD, strides=(), dilations=(), start_padding=(), end_padding=(),
                output_padding=(), group_count=1, fused_activation=None, output_sizes=()):
    """y = act(bias + convolution or transposed convolution of the input with the filter) (DML_OPERATOR_CONVOLUTION)"""
    return make("CONVOLUTION", None, (input, filter, bias), ((True, 0, output_sizes),), (mode, direction, strides, dilations, start_padding, end_padding, output_padding, group_count, fused_activation))[0]


def gemm(a, b, c=None, trans_a=MatrixTransform.NONE, trans_b=MatrixTransform.NONE, alpha=1.0, beta=1.0,
         fused_activation=None):
    """y = act(Alpha * opA(A) x opB(B) + Beta * C) (DML_OPERATOR_GEMM)"""
    return make("GEMM", None, (a, b, c), (PLAIN,), (trans_a, trans_b, alpha, beta, fused_activation))[0]


def reduce(input, function, axes=None, output_data_type=TensorDataType.UNKNOWN):
    """y = Function over the elements that share all coordinates outside Axes (DML_OPERATOR_REDUCE)"""
    return make("REDUCE", None, (input,), ((True, output_data_type, ()),), (function, axes))[0]


def average_pooling0(input, strides, window_sizes, start_padding=(), end_padding=(), include_padding=False,
                     output_sizes=()):
    """y = mean over the window; padding counts if IncludePadding (DML_OPERATOR_AVERAGE_POOLING)"""
    return make("AVERAGE_POOLING", None, (input,), ((True, 0, output_sizes),), (strides, window_sizes, start_padding, end_padding, include_padding))[0]


def lp_pooling0(input, window_sizes, strides=(), start_padding=(), end_padding=(), p=2, output_sizes=()):
    """y = (sum over the window of |x|^P)^(1/P) (DML_OPERATOR_LP_POOLING)"""
    return make("LP_POOLING", None, (input,), ((True, 0, output_sizes),), (strides, window_sizes, start_padding, end_padding, p))[0]


def max_pooling0(input, window_sizes, strides=(), start_padding=(), end_padding=(), output_sizes=()):
    """y = maximum over the window (DML_OPERATOR_MAX_POOLING)"""
    return make("MAX_POOLING", None, (input,), ((True, 0, output_sizes),), (strides, window_sizes, start_padding, end_padding))[0]


def roi_pooling(input, roi, pooled_size, spatial_scale=1.0):
    """y = maximum over each of PooledSize bins of every region (DML_OPERATOR_ROI_POOLING)"""
    return make("ROI_POOLING", None, (input, roi), (PLAIN,), (spatial_scale, pooled_size))[0]


def slice0(input, offsets=(), sizes=(), strides=()):
    """y[o] = x[Offsets + Strides * o] (DML_OPERATOR_SLICE)"""
    return make("SLICE", None, (input,), (PLAIN,), (offsets, sizes, strides))[0]


def cast(input, target_data_type):
    """y = (output type) x (DML_OPERATOR_CAST)"""
    return make("CAST", None, (input,), ((True, target_data_type, ()),), ())[0]


def join(input, axis):
    """concatenates the inputs along Axis (DML_OPERATOR_JOIN)"""
    return make("JOIN", None, (input,), (PLAIN,), (axis,))[0]


def padding0(input, padding_mode, padding_value, start_padding=(), end_padding=()):
    """y[o] = x[o - StartPadding], outside by PaddingMode (DML_OPERATOR_PADDING)"""
    return make("PADDING", None, (input,), (PLAIN,), (padding_mode, padding_value, start_padding, end_padding))[0]


def value_scale_2d(input, scale, bias):
    """y[n, c, h, w] = Scale * x[n, c, h, w] + Bias[c] (DML_OPERATOR_VALUE_SCALE_2D)"""
    return make("VALUE_SCALE_2D", None, (input,), (PLAIN,), (scale, bias))[0]


def up_sample_2d(input, scale_size, interpolation_mode=InterpolationMode.NEAREST_NEIGHBOR):
    """y = x enlarged ScaleSize times in height and width (DML_OPERATOR_UPSAMPLE_2D)"""
    return make("UPSAMPLE_2D", None, (input,), (PLAIN,), (scale_size, interpolation_mode))[0]


def gather(input, indices, axis, index_dimensions):
    """y[p, q, r] = x[p, indices[q], r] (DML_OPERATOR_GATHER)"""
    return make("GATHER", None, (input, indices), (PLAIN,), (axis, index_dimensions))[0]


def space_to_depth0(input, block_size):
    """moves BlockSize x BlockSize blocks of [H, W] into channels (DML_OPERATOR_SPACE_TO_DEPTH)"""
    return make("SPACE_TO_DEPTH", None, (input,), (PLAIN,), (block_size,))[0]


def depth_to_space0(input, block_size):
    """moves channels into BlockSize x BlockSize blocks of [H, W] (DML_OPERATOR_DEPTH_TO_SPACE)"""
    return make("DEPTH_TO_SPACE", None, (input,), (PLAIN,), (block_size,))[0]


def tile(input, repeats):
    """y[o] = x[o mod input size] (DML_OPERATOR_TILE)"""
    return make("TILE", None, (input,), (PLAIN,), (repeats,))[0]


def top_k0(input, axis, k, index_data_type=TensorDataType.UNKNOWN):
    """the K largest elements along Axis with their indices, in order (DML_OPERATOR_TOP_K)"""
    return TopKOutputs(*make("TOP_K", None, (input,), (PLAIN, (True, index_data_type, ())), (axis, k)))


def batch_normalization(input, mean, variance, scale, bias, spatial=True, epsilon=1e-5, fused_activation=None):
    """y = act(Scale * (x - Mean) / sqrt(Variance + Epsilon) + Bias) (DML_OPERATOR_BATCH_NORMALIZATION)"""
    return make("BATCH_NORMALIZATION", None, (input, mean, variance, scale, bias), (PLAIN,), (spatial, epsilon, fused_activation))[0]


def mean_variance_normalization0(input, scale=None, bias=None, cross_channel=False, normalize_variance=True,
                                 epsilon=1e-5, fused_activation=None):
    """y = act(Scale * (x - mean) / sqrt(variance + Epsilon) + Bias) over [H, W] or [C, H, W] (DML_OPERATOR_MEAN_VARIANCE_NORMALIZATION)"""
    return make("MEAN_VARIANCE_NORMALIZATION", None, (input, scale, bias), (PLAIN,), (cross_channel, normalize_variance, epsilon, fused_activation))[0]


def local_response_normalization(input, cross_channel=True, local_size=5, alpha=1e-4, beta=0.75, bias=1.0):
    """y = x / (Bias + Alpha / LocalSize * sum of x^2 over the region)^Beta (DML_OPERATOR_LOCAL_RESPONSE_NORMALIZATION)"""
    return make("LOCAL_RESPONSE_NORMALIZATION", None, (input,), (PLAIN,), (cross_channel, local_size, alpha, beta, bias))[0]


def lp_normalization(input, axis, epsilon=1e-5, p=2):
    """y = x / (P-norm along Axis, guarded by Epsilon) (DML_OPERATOR_LP_NORMALIZATION)"""
    return make("LP_NORMALIZATION", None, (input,), (PLAIN,), (axis, epsilon, p))[0]


def rnn(input, weight, recurrence, bias=None, hidden_init=None, sequence_lengths=None, activation_descs=(),
        direction=RecurrentNetworkDirection.FORWARD, output_options=OutputOptions.Both):
    """H[t] = f(X[t] W^T + H[t-1] R^T + bias) (DML_OPERATOR_RNN)"""
    return RNNOutputs(*make("RNN", None, (input, weight, recurrence, bias, hidden_init, sequence_lengths), ((output_options is not OutputOptions.Single, 0, ()), (output_options is not OutputOptions.Sequence, 0, ())), (activation_descs, direction)))


def lstm(input, weight, recurrence, bias=None, hidden_init=None, cell_mem_init=None, sequence_lengths=None,
         peephole=None, activation_descs=(), direction=RecurrentNetworkDirection.FORWARD, clip_threshold=0.0,
         use_clip_threshold=False, couple_input_forget=False, output_options=OutputOptions.Both,
         output_cell_single=False):
    """long short-term memory; gates i, o, f, c (DML_OPERATOR_LSTM)"""
    return LSTMOutputs(*make("LSTM", None, (input, weight, recurrence, bias, hidden_init, cell_mem_init, sequence_lengths, peephole), ((output_options is not OutputOptions.Single, 0, ()), (output_options is not OutputOptions.Sequence, 0, ()), (output_cell_single, 0, ())), (activation_descs, direction, clip_threshold, use_clip_threshold, couple_input_forget)))


def gru(input, weight, recurrence, bias=None, hidden_init=None, sequence_lengths=None, activation_descs=(),
        direction=RecurrentNetworkDirection.FORWARD, linear_before_reset=True, output_options=OutputOptions.Both):
    """gated recurrent unit; gates z, r, h (DML_OPERATOR_GRU)"""
    return GRUOutputs(*make("GRU", None, (input, weight, recurrence, bias, hidden_init, sequence_lengths), ((output_options is not OutputOptions.Single, 0, ()), (output_options is not OutputOptions.Sequence, 0, ())), (activation_descs, direction, linear_before_reset)))


def sign(input):
    """y = x < 0 ? -1 : x > 0 ? 1 : 0 (DML_OPERATOR_ELEMENT_WISE_SIGN)"""
    return make("ELEMENT_WISE_SIGN", None, (input,), (PLAIN,), ())[0]


def is_nan(input, output_data_type=TensorDataType.UNKNOWN):
    """y = isnan(x) ? 1 : 0 (DML_OPERATOR_ELEMENT_WISE_IS_NAN)"""
    return make("ELEMENT_WISE_IS_NAN", None, (input,), ((True, output_data_type, ()),), ())[0]


def erf(input, scale_bias=None):
    """y = erf(g(x)) (DML_OPERATOR_ELEMENT_WISE_ERF)"""
    return make("ELEMENT_WISE_ERF", None, (input,), (PLAIN,), (scale_bias,))[0]


def sinh(input, scale_bias=None):
    """y = sinh(g(x)) (DML_OPERATOR_ELEMENT_WISE_SINH)"""
    return make("ELEMENT_WISE_SINH", None, (input,), (PLAIN,), (scale_bias,))[0]


def cosh(input, scale_bias=None):
    """y = cosh(g(x)) (DML_OPERATOR_ELEMENT_WISE_COSH)"""
    return make("ELEMENT_WISE_COSH", None, (input,), (PLAIN,), (scale_bias,))[0]


def tanh(input, scale_bias=None):
    """y = tanh(g(x)) (DML_OPERATOR_ELEMENT_WISE_TANH)"""
    return make("ELEMENT_WISE_TANH", None, (input,), (PLAIN,), (scale_bias,))[0]


def asinh(input, scale_bias=None):
    """y = asinh(g(x)) (DML_OPERATOR_ELEMENT_WISE_ASINH)"""
    return make("ELEMENT_WISE_ASINH", None, (input,), (PLAIN,), (scale_bias,))[0]


def acosh(input, scale_bias=None):
    """y = acosh(g(x)) (DML_OPERATOR_ELEMENT_WISE_ACOSH)"""
    return make("ELEMENT_WISE_ACOSH", None, (input,), (PLAIN,), (scale_bias,))[0]


def atanh(input, scale_bias=None):
    """y = atanh(g(x)) (DML_OPERATOR_ELEMENT_WISE_ATANH)"""
    return make("ELEMENT_WISE_ATANH", None, (input,), (PLAIN,), (scale_bias,))[0]


def if_(condition, a, b):
    """y = condition != 0 ? a : b (DML_OPERATOR_ELEMENT_WISE_IF)"""
    return make("ELEMENT_WISE_IF", None, (condition, a, b), (PLAIN,), ())[0]


def activation_shrink(input, bias=0.0, threshold=0.5):
    """y = x > Threshold ? x - Bias : x < -Threshold ? x + Bias : 0 (DML_OPERATOR_ACTIVATION_SHRINK)"""
    return make("ACTIVATION_SHRINK", None, (input,), (PLAIN,), (bias, threshold))[0]


def max_pooling1(input, window_sizes, strides=(), start_padding=(), end_padding=(), output_indices=False,
                 output_sizes=(), indices_data_type=TensorDataType.UNKNOWN):
    """y = maximum over the window; optionally its index in the whole input (DML_OPERATOR_MAX_POOLING1)"""
    return MaxPoolingOutputs(*make("MAX_POOLING1", None, (input,), ((True, 0, output_sizes), (output_indices, indices_data_type, output_sizes)), (strides, window_sizes, start_padding, end_padding)))


def max_unpooling(input, indices, output_sizes):
    """y = 0, then y.flat[indices[i]] = x[i] (DML_OPERATOR_MAX_UNPOOLING)"""
    return make("MAX_UNPOOLING", None, (input, indices), ((True, 0, output_sizes),), ())[0]


def diagonal_matrix0(scope, offset, value, output_sizes, output_data_type=TensorDataType.UNKNOWN):
    """y[.., r, c] = (r + Offset == c) ? Value : 0 (DML_OPERATOR_DIAGONAL_MATRIX)"""
    return make("DIAGONAL_MATRIX", scope, (), ((True, output_data_type, output_sizes),), (offset, value))[0]


def scatter_elements(input, indices, updates, axis):
    """y = x, then y[.., indices[u], ..] = updates[u] along Axis (DML_OPERATOR_SCATTER_ELEMENTS)"""
    return make("SCATTER_ELEMENTS", None, (input, indices, updates), (PLAIN,), (axis,))[0]


def one_hot(indices, values, output_length, axis):
    """y[o] = (o[Axis] == index) ? Values[1] : Values[0] (DML_OPERATOR_ONE_HOT)"""
    return make("ONE_HOT", None, (indices, values), ((True, 0, with_size(indices, axis, output_length)),), (axis,))[0]


def resample0(input, output_sizes=(), mode=InterpolationMode.NEAREST_NEIGHBOR, scales=()):
    """y = x resized by Scales about pixel centres (DML_OPERATOR_RESAMPLE)"""
    return make("RESAMPLE", None, (input,), ((True, 0, output_sizes),), (mode, scales))[0]


def bit_shift_left(a, b):
    """y = a << b (DML_OPERATOR_ELEMENT_WISE_BIT_SHIFT_LEFT)"""
    return make("ELEMENT_WISE_BIT_SHIFT_LEFT", None, (a, b), (PLAIN,), ())[0]


def bit_shift_right(a, b):
    """y = a >> b, zero fill (DML_OPERATOR_ELEMENT_WISE_BIT_SHIFT_RIGHT)"""
    return make("ELEMENT_WISE_BIT_SHIFT_RIGHT", None, (a, b), (PLAIN,), ())[0]


def round(input, rounding_mode=RoundingMode.HALVES_TO_NEAREST_EVEN):
    """y = x rounded by RoundingMode (DML_OPERATOR_ELEMENT_WISE_ROUND)"""
    return make("ELEMENT_WISE_ROUND", None, (input,), (PLAIN,), (rounding_mode,))[0]


def is_infinity(input, infinity_mode=IsInfinityMode.EITHER, output_data_type=TensorDataType.UNKNOWN):
    """y = isinf(x) with the sign that InfinityMode asks for ? 1 : 0 (DML_OPERATOR_ELEMENT_WISE_IS_INFINITY)"""
    return make("ELEMENT_WISE_IS_INFINITY", None, (input,), ((True, output_data_type, ()),), (infinity_mode,))[0]


def modulus_truncate(a, b):
    """y = a - b * trunc(a / b) (DML_OPERATOR_ELEMENT_WISE_MODULUS_TRUNCATE)"""
    return make("ELEMENT_WISE_MODULUS_TRUNCATE", None, (a, b), (PLAIN,), ())[0]


def modulus_floor(a, b):
    """y = a - b * floor(a / b) (DML_OPERATOR_ELEMENT_WISE_MODULUS_FLOOR)"""
    return make("ELEMENT_WISE_MODULUS_FLOOR", None, (a, b), (PLAIN,), ())[0]


def fill_value_constant(scope, output_sizes, value_data_type, value):
    """y = Value (DML_OPERATOR_FILL_VALUE_CONSTANT)"""
    return make("FILL_VALUE_CONSTANT", scope, (), ((True, value_data_type, output_sizes),), (value_data_type, value))[0]


def fill_value_sequence(scope, output_sizes, value_data_type, value_start, value_delta):
    """y[k] = ValueStart + k * ValueDelta in element order (DML_OPERATOR_FILL_VALUE_SEQUENCE)"""
    return make("FILL_VALUE_SEQUENCE", scope, (), ((True, value_data_type, output_sizes),), (value_data_type, value_start, value_delta))[0]


def cumulative_summation(input, axis, axis_direction=AxisDirection.INCREASING, has_exclusive_sum=False):
    """y = running sum along Axis (DML_OPERATOR_CUMULATIVE_SUMMATION)"""
    return make("CUMULATIVE_SUMMATION", None, (input,), (PLAIN,), (axis, axis_direction, has_exclusive_sum))[0]


def reverse_subsequences(input, sequence_lengths, axis):
    """y = x with the first SequenceLengths elements along Axis reversed (DML_OPERATOR_REVERSE_SUBSEQUENCES)"""
    return make("REVERSE_SUBSEQUENCES", None, (input, sequence_lengths), (PLAIN,), (axis,))[0]


def gather_elements(input, indices, axis):
    """y[o] = x[o with o[Axis] = indices[o]] (DML_OPERATOR_GATHER_ELEMENTS)"""
    return make("GATHER_ELEMENTS", None, (input, indices), (PLAIN,), (axis,))[0]


def gather_nd0(input, indices, input_dimension_count, indices_dimension_count):
    """y[q, s] = x[indices[q], s] (DML_OPERATOR_GATHER_ND)"""
    return make("GATHER_ND", None, (input, indices), (PLAIN,), (input_dimension_count, indices_dimension_count))[0]


def scatter_nd(input, indices, updates, input_dimension_count, indices_dimension_count):
    """y = x, then y[indices[q], s] = updates[q, s] (DML_OPERATOR_SCATTER_ND)"""
    return make("SCATTER_ND", None, (input, indices, updates), (PLAIN,), (input_dimension_count, indices_dimension_count))[0]


def max_pooling(input, window_sizes, strides=(), start_padding=(), end_padding=(), dilations=(), output_indices=False,
                output_sizes=(), indices_data_type=TensorDataType.UNKNOWN):
    """y = maximum over the dilated window; optionally its index in the whole input (DML_OPERATOR_MAX_POOLING2)"""
    return MaxPoolingOutputs(*make("MAX_POOLING2", None, (input,), ((True, 0, output_sizes), (output_indices, indices_data_type, output_sizes)), (strides, window_sizes, start_padding, end_padding, dilations)))


def slice(input, input_window_offsets=(), input_window_sizes=(), input_window_strides=(), output_sizes=()):
    """y[o] = x[InputWindowOffsets + InputWindowStrides * o], backwards for negative strides (DML_OPERATOR_SLICE1)"""
    return make("SLICE1", None, (input,), ((True, 0, output_sizes),), (input_window_offsets, input_window_sizes, input_window_strides))[0]


def top_k(input, axis, k, axis_direction=AxisDirection.INCREASING, index_data_type=TensorDataType.UNKNOWN):
    """the K largest or smallest elements along Axis with their indices, in order (DML_OPERATOR_TOP_K1)"""
    return TopKOutputs(*make("TOP_K1", None, (input,), (PLAIN, (True, index_data_type, ())), (axis, k, axis_direction)))


def depth_to_space(input, block_size, order=DepthSpaceOrder.DEPTH_COLUMN_ROW):
    """moves channels, ordered by Order, into BlockSize x BlockSize blocks of [H, W] (DML_OPERATOR_DEPTH_TO_SPACE1)"""
    return make("DEPTH_TO_SPACE1", None, (input,), (PLAIN,), (block_size, order))[0]


def space_to_depth(input, block_size, order=DepthSpaceOrder.DEPTH_COLUMN_ROW):
    """moves BlockSize x BlockSize blocks of [H, W] into channels, ordered by Order (DML_OPERATOR_SPACE_TO_DEPTH1)"""
    return make("SPACE_TO_DEPTH1", None, (input,), (PLAIN,), (block_size, order))[0]


def mean_variance_normalization1(input, scale=None, bias=None, axes=None, normalize_variance=True, epsilon=1e-5,
                                 fused_activation=None):
    """y = act(Scale * (x - mean) / sqrt(variance + Epsilon) + Bias) over Axes (DML_OPERATOR_MEAN_VARIANCE_NORMALIZATION1)"""
    return make("MEAN_VARIANCE_NORMALIZATION1", None, (input, scale, bias), (PLAIN,), (axes, normalize_variance, epsilon, fused_activation))[0]


def resample1(input, output_sizes=(), mode=InterpolationMode.NEAREST_NEIGHBOR, scales=(), input_pixel_offsets=(),
              output_pixel_offsets=()):
    """y = x resized; x coordinate = (o - OutputPixelOffset) / Scale - InputPixelOffset (DML_OPERATOR_RESAMPLE1)"""
    return make("RESAMPLE1", None, (input,), ((True, 0, output_sizes),), (mode, scales, input_pixel_offsets, output_pixel_offsets))[0]


def matrix_multiply_integer(a, b, a_zero_point=None, b_zero_point=None, output_data_type=TensorDataType.UNKNOWN):
    """y = (A - AZeroPoint) x (B - BZeroPoint) in int32 (DML_OPERATOR_MATRIX_MULTIPLY_INTEGER)"""
    return make("MATRIX_MULTIPLY_INTEGER", None, (a, a_zero_point, b, b_zero_point), ((True, output_data_type, ()),), ())[0]


def quantized_linear_matrix_multiply(a, a_scale, b, b_scale, output_scale, a_zero_point=None, b_zero_point=None,
                                     output_zero_point=None, output_data_type=TensorDataType.UNKNOWN):
    """y = quantize(dequantize(A) x dequantize(B)) (DML_OPERATOR_QUANTIZED_LINEAR_MATRIX_MULTIPLY)"""
    return make("QUANTIZED_LINEAR_MATRIX_MULTIPLY", None, (a, a_scale, a_zero_point, b, b_scale, b_zero_point, output_scale, output_zero_point), ((True, output_data_type, ()),), ())[0]


def convolution_integer(input, filter, input_zero_point=None, filter_zero_point=None, strides=(), dilations=(),
                        start_padding=(), end_padding=(), group_count=1, output_sizes=(),
                        output_data_type=TensorDataType.UNKNOWN):
    """y = convolution of (x - InputZeroPoint) with (filter - FilterZeroPoint) in int32 (DML_OPERATOR_CONVOLUTION_INTEGER)"""
    return make("CONVOLUTION_INTEGER", None, (input, input_zero_point, filter, filter_zero_point), ((True, output_data_type, output_sizes),), (strides, dilations, start_padding, end_padding, group_count))[0]


def quantized_linear_convolution(input, input_scale, filter, filter_scale, output_scale, input_zero_point=None,
                                 filter_zero_point=None, bias=None, output_zero_point=None, strides=(), dilations=(),
                                 start_padding=(), end_padding=(), group_count=1, output_sizes=(),
                                 output_data_type=TensorDataType.UNKNOWN):
    """y = quantize(bias + convolution of dequantize(x) with dequantize(filter)) (DML_OPERATOR_QUANTIZED_LINEAR_CONVOLUTION)"""
    return make("QUANTIZED_LINEAR_CONVOLUTION", None, (input, input_scale, input_zero_point, filter, filter_scale, filter_zero_point, bias, output_scale, output_zero_point), ((True, output_data_type, output_sizes),), (strides, dilations, start_padding, end_padding, group_count))[0]


def bit_and(a, b):
    """y = a & b (DML_OPERATOR_ELEMENT_WISE_BIT_AND)"""
    return make("ELEMENT_WISE_BIT_AND", None, (a, b), (PLAIN,), ())[0]


def bit_or(a, b):
    """y = a bit-or b (DML_OPERATOR_ELEMENT_WISE_BIT_OR)"""
    return make("ELEMENT_WISE_BIT_OR", None, (a, b), (PLAIN,), ())[0]


def bit_xor(a, b):
    """y = a ^ b (DML_OPERATOR_ELEMENT_WISE_BIT_XOR)"""
    return make("ELEMENT_WISE_BIT_XOR", None, (a, b), (PLAIN,), ())[0]


def bit_not(input):
    """y = ~x (DML_OPERATOR_ELEMENT_WISE_BIT_NOT)"""
    return make("ELEMENT_WISE_BIT_NOT", None, (input,), (PLAIN,), ())[0]


def bit_count(input, output_data_type=TensorDataType.UNKNOWN):
    """y = number of 1 bits in x (DML_OPERATOR_ELEMENT_WISE_BIT_COUNT)"""
    return make("ELEMENT_WISE_BIT_COUNT", None, (input,), ((True, output_data_type, ()),), ())[0]


def greater_than_or_equal(a, b, output_data_type=TensorDataType.UNKNOWN):
    """y = (a >= b) ? 1 : 0 (DML_OPERATOR_ELEMENT_WISE_LOGICAL_GREATER_THAN_OR_EQUAL)"""
    return make("ELEMENT_WISE_LOGICAL_GREATER_THAN_OR_EQUAL", None, (a, b), ((True, output_data_type, ()),), ())[0]


def less_than_or_equal(a, b, output_data_type=TensorDataType.UNKNOWN):
    """y = (a <= b) ? 1 : 0 (DML_OPERATOR_ELEMENT_WISE_LOGICAL_LESS_THAN_OR_EQUAL)"""
    return make("ELEMENT_WISE_LOGICAL_LESS_THAN_OR_EQUAL", None, (a, b), ((True, output_data_type, ()),), ())[0]


def activation_celu(input, alpha=1.0):
    """y = max(0, x) + min(0, Alpha * (e^(x / Alpha) - 1)) (DML_OPERATOR_ACTIVATION_CELU)"""
    return make("ACTIVATION_CELU", None, (input,), (PLAIN,), (alpha,))[0]


def activation_relu_grad(input, input_gradient):
    """dx = x > 0 ? dy : 0 (DML_OPERATOR_ACTIVATION_RELU_GRAD)"""
    return make("ACTIVATION_RELU_GRAD", None, (input, input_gradient), (PLAIN,), ())[0]


def average_pooling_grad(input_gradient, window_sizes, strides=(), start_padding=(), end_padding=(),
                         include_padding=False, output_sizes=()):
    """dx = sum over the windows that hold x of dy / count (DML_OPERATOR_AVERAGE_POOLING_GRAD)"""
    return make("AVERAGE_POOLING_GRAD", None, (input_gradient,), ((True, 0, output_sizes),), (strides, window_sizes, start_padding, end_padding, include_padding))[0]


def max_pooling_grad(input, input_gradient, window_sizes, strides=(), start_padding=(), end_padding=(), dilations=()):
    """dx = sum of dy over the windows whose first maximum is x (DML_OPERATOR_MAX_POOLING_GRAD)"""
    return make("MAX_POOLING_GRAD", None, (input, input_gradient), (PLAIN,), (strides, window_sizes, start_padding, end_padding, dilations))[0]


def random_generator(input_state, output_sizes, output_state=True, type=RandomGeneratorType.PHILOX_4X32_10,
                     output_data_type=TensorDataType.UNKNOWN, state_data_type=TensorDataType.UNKNOWN):
    """Philox 4x32-10 words from a 128-bit counter and a 64-bit key (DML_OPERATOR_RANDOM_GENERATOR)"""
    return RandomGeneratorOutputs(*make("RANDOM_GENERATOR", None, (input_state,), ((True, output_data_type, output_sizes), (output_state, state_data_type, ())), (type,)))


def nonzero_coordinates(input, output_sizes=(), output_data_type=TensorDataType.UNKNOWN,
                        coordinates_data_type=TensorDataType.UNKNOWN):
    """the coordinates of the non-zero elements in order, and their number (DML_OPERATOR_NONZERO_COORDINATES)"""
    return NonZeroCoordinatesOutputs(*make("NONZERO_COORDINATES", None, (input,), ((True, output_data_type, ()), (True, coordinates_data_type, output_sizes)), ()))


def resample_grad0(input_gradient, output_sizes, mode=InterpolationMode.NEAREST_NEIGHBOR, scales=(),
                   input_pixel_offsets=(), output_pixel_offsets=()):
    """dx = sum of dy * weight in RESAMPLE1 (DML_OPERATOR_RESAMPLE_GRAD)"""
    return make("RESAMPLE_GRAD", None, (input_gradient,), ((True, 0, output_sizes),), (mode, scales, input_pixel_offsets, output_pixel_offsets))[0]


def slice_grad(input_gradient, output_gradient_sizes, input_window_offsets, input_window_sizes, input_window_strides):
    """dx = 0, then dx at the SLICE1 source of each dy = dy (DML_OPERATOR_SLICE_GRAD)"""
    return make("SLICE_GRAD", None, (input_gradient,), ((True, 0, output_gradient_sizes),), (input_window_offsets, input_window_sizes, input_window_strides))[0]


def adam_optimizer(input_parameters, input_first_moment, input_second_moment, gradient, training_step, learning_rate,
                   beta1, beta2, epsilon):
    """M and V = moving averages of G and G^2; X -= LearningRate * Alpha * M / (sqrt(V) + Epsilon) (DML_OPERATOR_ADAM_OPTIMIZER)"""
    return AdamOptimizerOutputs(*make("ADAM_OPTIMIZER", None, (input_parameters, input_first_moment, input_second_moment, gradient, training_step), (PLAIN, PLAIN, PLAIN), (learning_rate, beta1, beta2, epsilon)))


def argmin(input, axes=None, axis_direction=AxisDirection.INCREASING, output_data_type=TensorDataType.UNKNOWN):
    """y = position of the minimum over Axes (DML_OPERATOR_ARGMIN)"""
    return make("ARGMIN", None, (input,), ((True, output_data_type, ()),), (axes, axis_direction))[0]


def argmax(input, axes=None, axis_direction=AxisDirection.INCREASING, output_data_type=TensorDataType.UNKNOWN):
    """y = position of the maximum over Axes (DML_OPERATOR_ARGMAX)"""
    return make("ARGMAX", None, (input,), ((True, output_data_type, ()),), (axes, axis_direction))[0]


def roi_align0(input, roi, batch_indices, output_height, output_width, reduction_function=ReduceFunction.AVERAGE,
               interpolation_mode=InterpolationMode.LINEAR, spatial_scale_x=1.0, spatial_scale_y=1.0,
               out_of_bounds_input_value=0.0, minimum_samples_per_output=1, maximum_samples_per_output=0xffffffff):
    """y = average or maximum of interpolated samples in each region (DML_OPERATOR_ROI_ALIGN)"""
    return make("ROI_ALIGN", None, (input, roi, batch_indices), ((True, 0, region_sizes(input, roi, output_height, output_width)),), (reduction_function, interpolation_mode, spatial_scale_x, spatial_scale_y, out_of_bounds_input_value, minimum_samples_per_output, maximum_samples_per_output))[0]


def gather_nd(input, indices, input_dimension_count, indices_dimension_count, batch_dimension_count):
    """y[b, q, s] = x[b, indices[b, q], s] (DML_OPERATOR_GATHER_ND1)"""
    return make("GATHER_ND1", None, (input, indices), (PLAIN,), (input_dimension_count, indices_dimension_count, batch_dimension_count))[0]


def atan_yx(a, b):
    """y = atan2(a, b) (DML_OPERATOR_ELEMENT_WISE_ATAN_YX)"""
    return make("ELEMENT_WISE_ATAN_YX", None, (a, b), (PLAIN,), ())[0]


def clip_grad0(input, input_gradient, min, max):
    """dx = (x <= Min || x >= Max) ? 0 : dy (DML_OPERATOR_ELEMENT_WISE_CLIP_GRAD)"""
    return make("ELEMENT_WISE_CLIP_GRAD", None, (input, input_gradient), (PLAIN,), (min, max))[0]


def difference_square(a, b):
    """y = (a - b)^2 (DML_OPERATOR_ELEMENT_WISE_DIFFERENCE_SQUARE)"""
    return make("ELEMENT_WISE_DIFFERENCE_SQUARE", None, (a, b), (PLAIN,), ())[0]


def local_response_normalization_grad(input, input_gradient, cross_channel=True, local_size=5, alpha=1e-4, beta=0.75,
                                      bias=1.0):
    """dx = gradient of LOCAL_RESPONSE_NORMALIZATION (DML_OPERATOR_LOCAL_RESPONSE_NORMALIZATION_GRAD)"""
    return make("LOCAL_RESPONSE_NORMALIZATION_GRAD", None, (input, input_gradient), (PLAIN,), (cross_channel, local_size, alpha, beta, bias))[0]


def cumulative_product(input, axis, axis_direction=AxisDirection.INCREASING, has_exclusive_product=False):
    """y = running product along Axis (DML_OPERATOR_CUMULATIVE_PRODUCT)"""
    return make("CUMULATIVE_PRODUCT", None, (input,), (PLAIN,), (axis, axis_direction, has_exclusive_product))[0]


def batch_normalization_grad(input, input_gradient, mean, variance, scale, epsilon=1e-5):
    """gradient of BATCH_NORMALIZATION with constant mean and variance (DML_OPERATOR_BATCH_NORMALIZATION_GRAD)"""
    return BatchNormalizationGradOutputs(*make("BATCH_NORMALIZATION_GRAD", None, (input, input_gradient, mean, variance, scale), (PLAIN, PLAIN, PLAIN), (epsilon,)))


def quantized_linear_add(a, a_scale, b, b_scale, output_scale, a_zero_point=None, b_zero_point=None,
                         output_zero_point=None, output_data_type=TensorDataType.UNKNOWN):
    """y = quantize(dequantize(a) + dequantize(b)) (DML_OPERATOR_ELEMENT_WISE_QUANTIZED_LINEAR_ADD)"""
    return make("ELEMENT_WISE_QUANTIZED_LINEAR_ADD", None, (a, a_scale, a_zero_point, b, b_scale, b_zero_point, output_scale, output_zero_point), ((True, output_data_type, ()),), ())[0]


def dynamic_quantize_linear(input, output_data_type=TensorDataType.UNKNOWN, scale_data_type=TensorDataType.UNKNOWN,
                            zero_point_data_type=TensorDataType.UNKNOWN):
    """y = x quantised with the scale and zero point of its own range (DML_OPERATOR_DYNAMIC_QUANTIZE_LINEAR)"""
    return DynamicQuantizeLinearOutputs(*make("DYNAMIC_QUANTIZE_LINEAR", None, (input,), ((True, output_data_type, ()), (True, scale_data_type, ()), (True, zero_point_data_type, ())), ()))


def roi_align(input, roi, batch_indices, output_height, output_width, reduction_function=ReduceFunction.AVERAGE,
              interpolation_mode=InterpolationMode.LINEAR, spatial_scale_x=1.0, spatial_scale_y=1.0,
              input_pixel_offset=0.5, output_pixel_offset=-0.5, out_of_bounds_input_value=0.0,
              minimum_samples_per_output=1, maximum_samples_per_output=0xffffffff, align_regions_to_corners=False):
    """y = average or maximum of interpolated samples in each region, with pixel offsets (DML_OPERATOR_ROI_ALIGN1)"""
    return make("ROI_ALIGN1", None, (input, roi, batch_indices), ((True, 0, region_sizes(input, roi, output_height, output_width)),), (reduction_function, interpolation_mode, spatial_scale_x, spatial_scale_y, input_pixel_offset, output_pixel_offset, out_of_bounds_input_value, minimum_samples_per_output, maximum_samples_per_output, align_regions_to_corners))[0]


def roi_align_grad(input_gradient, roi, batch_indices, batch_size, image_height, image_width, input=None,
                   reduction_function=ReduceFunction.AVERAGE, interpolation_mode=InterpolationMode.LINEAR,
                   spatial_scale_x=1.0, spatial_scale_y=1.0, input_pixel_offset=0.5, output_pixel_offset=-0.5,
                   minimum_samples_per_output=1, maximum_samples_per_output=0xffffffff,
                   align_regions_to_corners=False, compute_output_gradient=True, compute_output_roi_gradient=True):
    """gradients of ROI_ALIGN1 for the input and for the regions (DML_OPERATOR_ROI_ALIGN_GRAD)"""
    return RoiAlignGradOutputs(*make("ROI_ALIGN_GRAD", None, (input, input_gradient, roi, batch_indices), ((compute_output_gradient, 0, picture_sizes(input_gradient, batch_size, image_height, image_width)), (compute_output_roi_gradient, 0, ())), (reduction_function, interpolation_mode, spatial_scale_x, spatial_scale_y, input_pixel_offset, output_pixel_offset, minimum_samples_per_output, maximum_samples_per_output, align_regions_to_corners)))


def batch_normalization_training(input, scale, bias, fused_add=None, epsilon=1e-5, fused_activation=None):
    """y = act(Scale * (x - mean) / sqrt(variance + Epsilon) + Bias + FusedAdd) (DML_OPERATOR_BATCH_NORMALIZATION_TRAINING)"""
    return BatchNormalizationTrainingOutputs(*make("BATCH_NORMALIZATION_TRAINING", None, (input, scale, bias, fused_add), (PLAIN, PLAIN, PLAIN), (epsilon, fused_activation)))


def batch_normalization_training_grad(input, input_gradient, mean, variance, scale, epsilon=1e-5):
    """gradient of BATCH_NORMALIZATION_TRAINING (DML_OPERATOR_BATCH_NORMALIZATION_TRAINING_GRAD)"""
    return BatchNormalizationGradOutputs(*make("BATCH_NORMALIZATION_TRAINING_GRAD", None, (input, input_gradient, mean, variance, scale), (PLAIN, PLAIN, PLAIN), (epsilon,)))


def clip(input, min, max, scale_bias=None):
    """y = max(Min, min(g(x), Max)), typed bounds (DML_OPERATOR_ELEMENT_WISE_CLIP1)"""
    return make("ELEMENT_WISE_CLIP1", None, (input,), (PLAIN,), (scale_bias, None, min, max))[0]


def clip_grad(input, input_gradient, min, max):
    """dx = (x <= Min || x >= Max) ? 0 : dy, typed bounds (DML_OPERATOR_ELEMENT_WISE_CLIP_GRAD1)"""
    return make("ELEMENT_WISE_CLIP_GRAD1", None, (input, input_gradient), (PLAIN,), (None, min, max))[0]


def padding(input, padding_mode, padding_value, start_padding=(), end_padding=()):
    """y[o] = x[o - StartPadding], outside by PaddingMode, typed constant (DML_OPERATOR_PADDING1)"""
    return make("PADDING1", None, (input,), (PLAIN,), (padding_mode, None, padding_value, start_padding, end_padding))[0]


def negate(input):
    """y = -x (DML_OPERATOR_ELEMENT_WISE_NEGATE)"""
    return make("ELEMENT_WISE_NEGATE", None, (input,), (PLAIN,), ())[0]


def activation_gelu(input):
    """y = 0.5 * x * (1 + erf(x / sqrt(2))) (DML_OPERATOR_ACTIVATION_GELU)"""
    return make("ACTIVATION_GELU", None, (input,), (PLAIN,), ())[0]


def activation_soft_max1(input, axes=None):
    """y = e^x / sum of e^x over Axes (DML_OPERATOR_ACTIVATION_SOFTMAX1)"""
    return make("ACTIVATION_SOFTMAX1", None, (input,), (PLAIN,), (axes,))[0]


def activation_log_softmax1(input, axes=None):
    """y = ln(e^x / sum of e^x over Axes) (DML_OPERATOR_ACTIVATION_LOG_SOFTMAX1)"""
    return make("ACTIVATION_LOG_SOFTMAX1", None, (input,), (PLAIN,), (axes,))[0]


def activation_hardmax1(input, axes=None):
    """1 at the first maximum over Axes, 0 elsewhere (DML_OPERATOR_ACTIVATION_HARDMAX1)"""
    return make("ACTIVATION_HARDMAX1", None, (input,), (PLAIN,), (axes,))[0]


def resample2(input, output_sizes=(), mode=InterpolationMode.NEAREST_NEIGHBOR,
              rounding_direction=AxisDirection.INCREASING, scales=(), input_pixel_offsets=(), output_pixel_offsets=()):
    """RESAMPLE1 whose nearest neighbour is ceil or floor by RoundingDirection (DML_OPERATOR_RESAMPLE2)"""
    return make("RESAMPLE2", None, (input,), ((True, 0, output_sizes),), (mode, rounding_direction, scales, input_pixel_offsets, output_pixel_offsets))[0]


def resample_grad(input_gradient, output_sizes, mode=InterpolationMode.NEAREST_NEIGHBOR,
                  rounding_direction=AxisDirection.INCREASING, scales=(), input_pixel_offsets=(),
                  output_pixel_offsets=()):
    """dx = sum of dy * weight in RESAMPLE2 (DML_OPERATOR_RESAMPLE_GRAD1)"""
    return make("RESAMPLE_GRAD1", None, (input_gradient,), ((True, 0, output_sizes),), (mode, rounding_direction, scales, input_pixel_offsets, output_pixel_offsets))[0]


def diagonal_matrix(scope, value, diagonal_fill_begin, diagonal_fill_end, input=None, output_sizes=(),
                    output_data_type=TensorDataType.UNKNOWN):
    """fills the diagonals DiagonalFillBegin .. DiagonalFillEnd - 1 with Value, else the input or 0 (DML_OPERATOR_DIAGONAL_MATRIX1)"""
    return make("DIAGONAL_MATRIX1", scope, (input,), ((True, output_data_type, output_sizes),), (None, value, diagonal_fill_begin, diagonal_fill_end))[0]


def multihead_attention(head_count, query=None, key=None, value=None, stacked_query_key=None, stacked_key_value=None,
                        stacked_query_key_value=None, bias=None, mask=None, relative_position_bias=None,
                        past_key=None, past_value=None, scale=0.0, mask_filter_value=-10000.0,
                        mask_type=MultiheadAttentionMaskType.NONE, output_present_key=False,
                        output_present_value=False, output_sizes=(), present_key_sizes=(), present_value_sizes=()):
    """y = softmax(Scale * q x k^T + bias, masked) x v for each head (DML_OPERATOR_MULTIHEAD_ATTENTION)"""
    return MultiheadAttentionOutputs(*make("MULTIHEAD_ATTENTION", None, (query, key, value, stacked_query_key, stacked_key_value, stacked_query_key_value, bias, mask, relative_position_bias, past_key, past_value), ((True, 0, output_sizes), (output_present_key, 0, present_key_sizes), (output_present_value, 0, present_value_sizes)), (scale, mask_filter_value, head_count, mask_type)))


def lp_pooling(input, window_sizes, strides=(), start_padding=(), end_padding=(), dilations=(), p=2, output_sizes=()):
    """y = (sum over the dilated window of |x|^P)^(1/P) (DML_OPERATOR_LP_POOLING1)"""
    return make("LP_POOLING1", None, (input,), ((True, 0, output_sizes),), (strides, window_sizes, start_padding, end_padding, dilations, p))[0]


def average_pooling(input, strides, window_sizes, start_padding=(), end_padding=(), include_padding=False,
                    dilations=(), output_sizes=()):
    """y = mean over the dilated window; padding counts if IncludePadding (DML_OPERATOR_AVERAGE_POOLING1)"""
    return make("AVERAGE_POOLING1", None, (input,), ((True, 0, output_sizes),), (strides, window_sizes, start_padding, end_padding, dilations, include_padding))[0]


def activation_swish(input, sigmoid_input_scale=1.0):
    """y = x / (1 + e^(-SigmoidInputScale * x)) (DML_OPERATOR_ACTIVATION_SWISH)"""
    return make("ACTIVATION_SWISH", None, (input,), (PLAIN,), (sigmoid_input_scale,))[0]


def activation_hard_swish(input, alpha=1.0 / 6, beta=0.5):
    """y = x * max(0, min(Alpha * x + Beta, 1)) (DML_OPERATOR_ACTIVATION_HARD_SWISH)"""
    return make("ACTIVATION_HARD_SWISH", None, (input,), (PLAIN,), (alpha, beta))[0]


def quantized_linear_average_pooling(input, input_scale, output_scale, window_sizes, input_zero_point=None,
                                     output_zero_point=None, strides=(), start_padding=(), end_padding=(),
                                     dilations=(), include_padding=False, output_sizes=(),
                                     output_data_type=TensorDataType.UNKNOWN):
    """y = quantize(mean over the dilated window of dequantize(x)) (DML_OPERATOR_QUANTIZED_LINEAR_AVERAGE_POOLING)"""
    return make("QUANTIZED_LINEAR_AVERAGE_POOLING", None, (input, input_scale, input_zero_point, output_scale, output_zero_point), ((True, output_data_type, output_sizes),), (strides, window_sizes, start_padding, end_padding, dilations, include_padding))[0]


def matrix_multiply_integer_to_float(a, a_scale, b, b_scale, a_zero_point=None, b_zero_point=None, bias=None):
    """y = dequantize(A) x dequantize(B) + bias (DML_OPERATOR_MATRIX_MULTIPLY_INTEGER_TO_FLOAT)"""
    return make("MATRIX_MULTIPLY_INTEGER_TO_FLOAT", None, (a, a_scale, a_zero_point, b, b_scale, b_zero_point, bias), (PLAIN,), ())[0]


def mean_variance_normalization(input, scale=None, bias=None, axes=None, normalize_variance=True, epsilon=1e-5,
                                fused_activation=None, normalize_mean=True):
    """y = act(Scale * (x - mean) / sqrt(variance + Epsilon) + Bias) over Axes; mean, variance optional (DML_OPERATOR_MEAN_VARIANCE_NORMALIZATION2)"""
    return make("MEAN_VARIANCE_NORMALIZATION2", None, (input, scale, bias), (PLAIN,), (axes, normalize_mean, normalize_variance, epsilon, fused_activation))[0]


def multihead_attention1(query_head_count, key_value_head_count, query=None, key=None, value=None,
                         stacked_query_key=None, stacked_key_value=None, stacked_query_key_value=None, bias=None,
                         mask=None, relative_position_bias=None, past_key=None, past_value=None,
                         past_sequence_lengths=None, scale=0.0, mask_filter_value=-10000.0,
                         mask_type=MultiheadAttentionMaskType.NONE, output_present_key=False,
                         output_present_value=False, output_sizes=(), present_key_sizes=(), present_value_sizes=()):
    """MULTIHEAD_ATTENTION with grouped key and value heads and past lengths (DML_OPERATOR_MULTIHEAD_ATTENTION1)"""
    return MultiheadAttentionOutputs(*make("MULTIHEAD_ATTENTION1", None, (query, key, value, stacked_query_key, stacked_key_value, stacked_query_key_value, bias, mask, relative_position_bias, past_key, past_value, past_sequence_lengths), ((True, 0, output_sizes), (output_present_key, 0, present_key_sizes), (output_present_value, 0, present_value_sizes)), (scale, mask_filter_value, query_head_count, key_value_head_count, mask_type)))


def quantize(input, quantization_parameters, quantization_type, output_data_type=TensorDataType.UNKNOWN):
    """y = clamp(round(x / scale) + zero point), block-wise (DML_OPERATOR_QUANTIZE)"""
    return make("QUANTIZE", None, (input, quantization_parameters), ((True, output_data_type, ()),), (quantization_type,))[0]


def dequantize(input, quantization_parameters, quantization_type, output_data_type=TensorDataType.UNKNOWN):
    """y = (x - zero point) * scale, block-wise (DML_OPERATOR_DEQUANTIZE)"""
    return make("DEQUANTIZE", None, (input, quantization_parameters), ((True, output_data_type, ()),), (quantization_type,))[0]


def resample(input, output_sizes=(), mode=InterpolationMode.NEAREST_NEIGHBOR,
             rounding_direction=AxisDirection.INCREASING, scales=(), input_pixel_offsets=(), output_pixel_offsets=(),
             antialiased=False):
    """RESAMPLE2 with an optional antialiasing filter (DML_OPERATOR_RESAMPLE3)"""
    return make("RESAMPLE3", None, (input,), ((True, 0, output_sizes),), (mode, rounding_direction, scales, input_pixel_offsets, output_pixel_offsets, antialiased))[0]


def fold(input, window_sizes, output_sizes, strides=(), dilations=(), start_padding=(), end_padding=()):
    """y = sum of the columns' windows put back in place (col2im) (DML_OPERATOR_FOLD)"""
    return make("FOLD", None, (input,), ((True, 0, output_sizes),), (window_sizes, strides, dilations, start_padding, end_padding))[0]


def unfold(input, window_sizes, strides=(), dilations=(), start_padding=(), end_padding=(), output_sizes=()):
    """y = the input's windows as columns (im2col) (DML_OPERATOR_UNFOLD)"""
    return make("UNFOLD", None, (input,), ((True, 0, output_sizes),), (window_sizes, strides, dilations, start_padding, end_padding))[0]


def grid_sample(input, grid, interpolation_mode=InterpolationMode.NEAREST_NEIGHBOR, padding_mode=PaddingMode.CONSTANT,
                align_corners=False, pixel_coordinates=False):
    """y = x between its pixels, at the positions of the grid (ANYDML_OPERATOR_GRID_SAMPLE)"""
    return make("GRID_SAMPLE", None, (input, grid), (PLAIN,), (interpolation_mode, padding_mode, align_corners, pixel_coordinates))[0]


def indexed_max_pooling_grad(input_gradient, indices, window_sizes, strides=(), start_padding=(), end_padding=(),
                             dilations=(), output_sizes=()):
    """dx = sum of dy over the windows whose index is x's (ANYDML_OPERATOR_INDEXED_MAX_POOLING_GRAD)"""
    return make("INDEXED_MAX_POOLING_GRAD", None, (input_gradient, indices), ((True, 0, output_sizes),), (strides, window_sizes, start_padding, end_padding, dilations))[0]


def scatter_reduce_elements(input, indices, updates, axis, function):
    """y = x, then y[.., indices[u], ..] = Function(itself, updates[u]) along Axis (ANYDML_OPERATOR_SCATTER_REDUCE_ELEMENTS)"""
    return make("SCATTER_REDUCE_ELEMENTS", None, (input, indices, updates), (PLAIN,), (axis, function))[0]


def scatter_reduce_nd(input, indices, updates, input_dimension_count, indices_dimension_count, function):
    """y = x, then y[indices[q], s] = Function(itself, updates[q, s]) (ANYDML_OPERATOR_SCATTER_REDUCE_ND)"""
    return make("SCATTER_REDUCE_ND", None, (input, indices, updates), (PLAIN,), (input_dimension_count, indices_dimension_count, function))[0]
