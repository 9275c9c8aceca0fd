# SPDX-License-Identifier: Apache-2.0
"""Made by scripts/generate/make-pydirectml: do not edit. One function for each operator."""

from collections.abc import Sequence
from typing import NamedTuple

from ._enums import (AxisDirection, ConvolutionDirection, ConvolutionMode, DepthSpaceOrder, InterpolationMode,
    IsInfinityMode, MatrixTransform, MultiheadAttentionMaskType, OutputOptions, PaddingMode, QuantizationType,
    RandomGeneratorType, RecurrentNetworkDirection, ReduceFunction, RoundingMode, TensorDataType)
from ._graph import Expression, GraphBuilder
from ._types import FusedActivation, ScaleBias, Size2D

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
    value: Expression
    index: Expression # type: ignore[assignment] # not tuple's own


class RNNOutputs(NamedTuple):
    sequence: Expression | None
    single: Expression | None


class LSTMOutputs(NamedTuple):
    sequence: Expression | None
    single: Expression | None
    cell_single: Expression | None


class GRUOutputs(NamedTuple):
    sequence: Expression | None
    single: Expression | None


class MaxPoolingOutputs(NamedTuple):
    values: Expression
    indices: Expression | None


class RandomGeneratorOutputs(NamedTuple):
    values: Expression
    state: Expression | None


class NonZeroCoordinatesOutputs(NamedTuple):
    count: Expression # type: ignore[assignment] # not tuple's own
    coordinates: Expression


class AdamOptimizerOutputs(NamedTuple):
    parameters: Expression
    first_moment: Expression
    second_moment: Expression


class BatchNormalizationGradOutputs(NamedTuple):
    gradient: Expression
    scale_gradient: Expression
    bias_gradient: Expression


class DynamicQuantizeLinearOutputs(NamedTuple):
    output: Expression
    scale: Expression
    zero_point: Expression


class RoiAlignGradOutputs(NamedTuple):
    output_gradient: Expression | None
    output_roi_gradient: Expression | None


class BatchNormalizationTrainingOutputs(NamedTuple):
    output: Expression
    mean: Expression
    variance: Expression


class MultiheadAttentionOutputs(NamedTuple):
    output: Expression
    present_key: Expression | None
    present_value: Expression | None


def identity(input: Expression, scale_bias: ScaleBias | None = None) -> Expression: ...

def abs(input: Expression, scale_bias: ScaleBias | None = None) -> Expression: ...

def acos(input: Expression, scale_bias: ScaleBias | None = None) -> Expression: ...

def asin(input: Expression, scale_bias: ScaleBias | None = None) -> Expression: ...

def atan(input: Expression, scale_bias: ScaleBias | None = None) -> Expression: ...

def ceil(input: Expression, scale_bias: ScaleBias | None = None) -> Expression: ...

def clip0(input: Expression, min: float, max: float, scale_bias: ScaleBias | None = None) -> Expression: ...

def cos(input: Expression, scale_bias: ScaleBias | None = None) -> Expression: ...

def divide(a: Expression, b: Expression) -> Expression: ...

def exp(input: Expression, scale_bias: ScaleBias | None = None) -> Expression: ...

def floor(input: Expression, scale_bias: ScaleBias | None = None) -> Expression: ...

def log(input: Expression, scale_bias: ScaleBias | None = None) -> Expression: ...

def logical_and(a: Expression, b: Expression) -> Expression: ...

def equals(a: Expression, b: Expression, output_data_type: TensorDataType = TensorDataType.UNKNOWN) -> Expression: ...

def greater_than(a: Expression, b: Expression,
                 output_data_type: TensorDataType = TensorDataType.UNKNOWN) -> Expression: ...

def less_than(a: Expression, b: Expression,
              output_data_type: TensorDataType = TensorDataType.UNKNOWN) -> Expression: ...

def logical_not(input: Expression) -> Expression: ...

def logical_or(a: Expression, b: Expression) -> Expression: ...

def logical_xor(a: Expression, b: Expression) -> Expression: ...

def max(a: Expression, b: Expression) -> Expression: ...

def mean(a: Expression, b: Expression) -> Expression: ...

def min(a: Expression, b: Expression) -> Expression: ...

def multiply(a: Expression, b: Expression) -> Expression: ...

def pow(input: Expression, exponent: Expression, scale_bias: ScaleBias | None = None) -> Expression: ...

def constant_pow(input: Expression, exponent: float, scale_bias: ScaleBias | None = None) -> Expression: ...

def recip(input: Expression, scale_bias: ScaleBias | None = None) -> Expression: ...

def sin(input: Expression, scale_bias: ScaleBias | None = None) -> Expression: ...

def sqrt(input: Expression, scale_bias: ScaleBias | None = None) -> Expression: ...

def subtract(a: Expression, b: Expression) -> Expression: ...

def tan(input: Expression, scale_bias: ScaleBias | None = None) -> Expression: ...

def threshold(input: Expression, min: float, scale_bias: ScaleBias | None = None) -> Expression: ...

def quantize_linear(input: Expression, scale: Expression, zero_point: Expression | None = None,
                    output_data_type: TensorDataType = TensorDataType.UNKNOWN) -> Expression: ...

def dequantize_linear(input: Expression, scale: Expression, zero_point: Expression | None = None) -> Expression: ...

def activation_elu(input: Expression, alpha: float = 1.0) -> Expression: ...

def activation_hardmax(input: Expression) -> Expression: ...

def activation_hard_sigmoid(input: Expression, alpha: float = 0.2, beta: float = 0.5) -> Expression: ...

def activation_identity(input: Expression) -> Expression: ...

def activation_leaky_relu(input: Expression, alpha: float = 0.01) -> Expression: ...

def activation_linear(input: Expression, alpha: float, beta: float) -> Expression: ...

def activation_log_softmax(input: Expression) -> Expression: ...

def activation_parameterized_relu(input: Expression, slope: Expression) -> Expression: ...

def activation_parametric_softplus(input: Expression, alpha: float = 1.0, beta: float = 1.0) -> Expression: ...

def activation_relu(input: Expression) -> Expression: ...

def activation_scaled_elu(input: Expression, alpha: float = 1.67326319217681884765625,
                          gamma: float = 1.05070102214813232421875) -> Expression: ...

def activation_scaled_tanh(input: Expression, alpha: float = 1.0, beta: float = 0.5) -> Expression: ...

def activation_sigmoid(input: Expression) -> Expression: ...

def activation_soft_max(input: Expression) -> Expression: ...

def activation_softplus(input: Expression, steepness: float = 1.0) -> Expression: ...

def activation_softsign(input: Expression) -> Expression: ...

def activation_tanh(input: Expression) -> Expression: ...

def activation_thresholded_relu(input: Expression, alpha: float = 1.0) -> Expression: ...

def convolution(input: Expression, filter: Expression, bias: Expression | None = None,
                mode: ConvolutionMode = ConvolutionMode.CROSS_CORRELATION,
                direction: ConvolutionDirection = ConvolutionDirection.FORWARD,
                strides: Sequence[int] = (), dilations: Sequence[int] = (),
                start_padding: Sequence[int] = (), end_padding: Sequence[int] = (),
                output_padding: Sequence[int] = (), group_count: int = 1,
                fused_activation: FusedActivation | None = None, output_sizes: Sequence[int] = ()) -> Expression: ...

def gemm(a: Expression, b: Expression, c: Expression | None = None,
         trans_a: MatrixTransform = MatrixTransform.NONE,
         trans_b: MatrixTransform = MatrixTransform.NONE, alpha: float = 1.0, beta: float = 1.0,
         fused_activation: FusedActivation | None = None) -> Expression: ...

def reduce(input: Expression, function: ReduceFunction, axes: Sequence[int] | None = None,
           output_data_type: TensorDataType = TensorDataType.UNKNOWN) -> Expression: ...

def average_pooling0(input: Expression, strides: Sequence[int], window_sizes: Sequence[int],
                     start_padding: Sequence[int] = (), end_padding: Sequence[int] = (),
                     include_padding: bool = False, output_sizes: Sequence[int] = ()) -> Expression: ...

def lp_pooling0(input: Expression, window_sizes: Sequence[int], strides: Sequence[int] = (),
                start_padding: Sequence[int] = (), end_padding: Sequence[int] = (), p: int = 2,
                output_sizes: Sequence[int] = ()) -> Expression: ...

def max_pooling0(input: Expression, window_sizes: Sequence[int], strides: Sequence[int] = (),
                 start_padding: Sequence[int] = (), end_padding: Sequence[int] = (),
                 output_sizes: Sequence[int] = ()) -> Expression: ...

def roi_pooling(input: Expression, roi: Expression, pooled_size: Size2D, spatial_scale: float = 1.0) -> Expression: ...

def slice0(input: Expression, offsets: Sequence[int] = (), sizes: Sequence[int] = (),
           strides: Sequence[int] = ()) -> Expression: ...

def cast(input: Expression, target_data_type: TensorDataType) -> Expression: ...

def join(input: Sequence[Expression], axis: int) -> Expression: ...

def padding0(input: Expression, padding_mode: PaddingMode, padding_value: float,
             start_padding: Sequence[int] = (), end_padding: Sequence[int] = ()) -> Expression: ...

def value_scale_2d(input: Expression, scale: float, bias: Sequence[float]) -> Expression: ...

def up_sample_2d(input: Expression, scale_size: Size2D,
                 interpolation_mode: InterpolationMode = InterpolationMode.NEAREST_NEIGHBOR) -> Expression: ...

def gather(input: Expression, indices: Expression, axis: int, index_dimensions: int) -> Expression: ...

def space_to_depth0(input: Expression, block_size: int) -> Expression: ...

def depth_to_space0(input: Expression, block_size: int) -> Expression: ...

def tile(input: Expression, repeats: Sequence[int]) -> Expression: ...

def top_k0(input: Expression, axis: int, k: int,
           index_data_type: TensorDataType = TensorDataType.UNKNOWN) -> TopKOutputs: ...

def batch_normalization(input: Expression, mean: Expression, variance: Expression,
                        scale: Expression, bias: Expression, spatial: bool = True,
                        epsilon: float = 1e-5, fused_activation: FusedActivation | None = None) -> Expression: ...

def mean_variance_normalization0(input: Expression, scale: Expression | None = None,
                                 bias: Expression | None = None, cross_channel: bool = False,
                                 normalize_variance: bool = True, epsilon: float = 1e-5,
                                 fused_activation: FusedActivation | None = None) -> Expression: ...

def local_response_normalization(input: Expression, cross_channel: bool = True,
                                 local_size: int = 5, alpha: float = 1e-4, beta: float = 0.75,
                                 bias: float = 1.0) -> Expression: ...

def lp_normalization(input: Expression, axis: int, epsilon: float = 1e-5, p: int = 2) -> Expression: ...

def rnn(input: Expression, weight: Expression, recurrence: Expression,
        bias: Expression | None = None, hidden_init: Expression | None = None,
        sequence_lengths: Expression | None = None,
        activation_descs: Sequence[FusedActivation] = (),
        direction: RecurrentNetworkDirection = RecurrentNetworkDirection.FORWARD,
        output_options: OutputOptions = OutputOptions.Both) -> RNNOutputs: ...

def lstm(input: Expression, weight: Expression, recurrence: Expression,
         bias: Expression | None = None, hidden_init: Expression | None = None,
         cell_mem_init: Expression | None = None, sequence_lengths: Expression | None = None,
         peephole: Expression | None = None, activation_descs: Sequence[FusedActivation] = (),
         direction: RecurrentNetworkDirection = RecurrentNetworkDirection.FORWARD,
         clip_threshold: float = 0.0, use_clip_threshold: bool = False,
         couple_input_forget: bool = False, output_options: OutputOptions = OutputOptions.Both,
         output_cell_single: bool = False) -> LSTMOutputs: ...

def gru(input: Expression, weight: Expression, recurrence: Expression,
        bias: Expression | None = None, hidden_init: Expression | None = None,
        sequence_lengths: Expression | None = None,
        activation_descs: Sequence[FusedActivation] = (),
        direction: RecurrentNetworkDirection = RecurrentNetworkDirection.FORWARD,
        linear_before_reset: bool = True, output_options: OutputOptions = OutputOptions.Both) -> GRUOutputs: ...

def sign(input: Expression) -> Expression: ...

def is_nan(input: Expression, output_data_type: TensorDataType = TensorDataType.UNKNOWN) -> Expression: ...

def erf(input: Expression, scale_bias: ScaleBias | None = None) -> Expression: ...

def sinh(input: Expression, scale_bias: ScaleBias | None = None) -> Expression: ...

def cosh(input: Expression, scale_bias: ScaleBias | None = None) -> Expression: ...

def tanh(input: Expression, scale_bias: ScaleBias | None = None) -> Expression: ...

def asinh(input: Expression, scale_bias: ScaleBias | None = None) -> Expression: ...

def acosh(input: Expression, scale_bias: ScaleBias | None = None) -> Expression: ...

def atanh(input: Expression, scale_bias: ScaleBias | None = None) -> Expression: ...

def if_(condition: Expression, a: Expression, b: Expression) -> Expression: ...

def activation_shrink(input: Expression, bias: float = 0.0, threshold: float = 0.5) -> Expression: ...

def max_pooling1(input: Expression, window_sizes: Sequence[int],
                 strides: Sequence[int] = (), start_padding: Sequence[int] = (),
                 end_padding: Sequence[int] = (), output_indices: bool = False,
                 output_sizes: Sequence[int] = (),
                 indices_data_type: TensorDataType = TensorDataType.UNKNOWN) -> MaxPoolingOutputs: ...

def max_unpooling(input: Expression, indices: Expression, output_sizes: Sequence[int]) -> Expression: ...

def diagonal_matrix0(scope: GraphBuilder, offset: int, value: float, output_sizes: Sequence[int],
                     output_data_type: TensorDataType = TensorDataType.UNKNOWN) -> Expression: ...

def scatter_elements(input: Expression, indices: Expression, updates: Expression, axis: int) -> Expression: ...

def one_hot(indices: Expression, values: Expression, output_length: int, axis: int) -> Expression: ...

def resample0(input: Expression, output_sizes: Sequence[int] = (),
              mode: InterpolationMode = InterpolationMode.NEAREST_NEIGHBOR,
              scales: Sequence[float] = ()) -> Expression: ...

def bit_shift_left(a: Expression, b: Expression) -> Expression: ...

def bit_shift_right(a: Expression, b: Expression) -> Expression: ...

def round(input: Expression, rounding_mode: RoundingMode = RoundingMode.HALVES_TO_NEAREST_EVEN) -> Expression: ...

def is_infinity(input: Expression, infinity_mode: IsInfinityMode = IsInfinityMode.EITHER,
                output_data_type: TensorDataType = TensorDataType.UNKNOWN) -> Expression: ...

def modulus_truncate(a: Expression, b: Expression) -> Expression: ...

def modulus_floor(a: Expression, b: Expression) -> Expression: ...

def fill_value_constant(scope: GraphBuilder, output_sizes: Sequence[int],
                        value_data_type: TensorDataType, value: float) -> Expression: ...

def fill_value_sequence(scope: GraphBuilder, output_sizes: Sequence[int],
                        value_data_type: TensorDataType, value_start: float, value_delta: float) -> Expression: ...

def cumulative_summation(input: Expression, axis: int,
                         axis_direction: AxisDirection = AxisDirection.INCREASING,
                         has_exclusive_sum: bool = False) -> Expression: ...

def reverse_subsequences(input: Expression, sequence_lengths: Expression, axis: int) -> Expression: ...

def gather_elements(input: Expression, indices: Expression, axis: int) -> Expression: ...

def gather_nd0(input: Expression, indices: Expression, input_dimension_count: int,
               indices_dimension_count: int) -> Expression: ...

def scatter_nd(input: Expression, indices: Expression, updates: Expression,
               input_dimension_count: int, indices_dimension_count: int) -> Expression: ...

def max_pooling(input: Expression, window_sizes: Sequence[int], strides: Sequence[int] = (),
                start_padding: Sequence[int] = (), end_padding: Sequence[int] = (),
                dilations: Sequence[int] = (), output_indices: bool = False,
                output_sizes: Sequence[int] = (),
                indices_data_type: TensorDataType = TensorDataType.UNKNOWN) -> MaxPoolingOutputs: ...

def slice(input: Expression, input_window_offsets: Sequence[int] = (),
          input_window_sizes: Sequence[int] = (), input_window_strides: Sequence[int] = (),
          output_sizes: Sequence[int] = ()) -> Expression: ...

def top_k(input: Expression, axis: int, k: int,
          axis_direction: AxisDirection = AxisDirection.INCREASING,
          index_data_type: TensorDataType = TensorDataType.UNKNOWN) -> TopKOutputs: ...

def depth_to_space(input: Expression, block_size: int,
                   order: DepthSpaceOrder = DepthSpaceOrder.DEPTH_COLUMN_ROW) -> Expression: ...

def space_to_depth(input: Expression, block_size: int,
                   order: DepthSpaceOrder = DepthSpaceOrder.DEPTH_COLUMN_ROW) -> Expression: ...

def mean_variance_normalization1(input: Expression, scale: Expression | None = None,
                                 bias: Expression | None = None, axes: Sequence[int] | None = None,
                                 normalize_variance: bool = True, epsilon: float = 1e-5,
                                 fused_activation: FusedActivation | None = None) -> Expression: ...

def resample1(input: Expression, output_sizes: Sequence[int] = (),
              mode: InterpolationMode = InterpolationMode.NEAREST_NEIGHBOR,
              scales: Sequence[float] = (), input_pixel_offsets: Sequence[float] = (),
              output_pixel_offsets: Sequence[float] = ()) -> Expression: ...

def matrix_multiply_integer(a: Expression, b: Expression, a_zero_point: Expression | None = None,
                            b_zero_point: Expression | None = None,
                            output_data_type: TensorDataType = TensorDataType.UNKNOWN) -> Expression: ...

def quantized_linear_matrix_multiply(a: Expression, a_scale: Expression, b: Expression,
                                     b_scale: Expression, output_scale: Expression,
                                     a_zero_point: Expression | None = None,
                                     b_zero_point: Expression | None = None,
                                     output_zero_point: Expression | None = None,
                                     output_data_type: TensorDataType = TensorDataType.UNKNOWN) -> Expression: ...

def convolution_integer(input: Expression, filter: Expression,
                        input_zero_point: Expression | None = None,
                        filter_zero_point: Expression | None = None, strides: Sequence[int] = (),
                        dilations: Sequence[int] = (), start_padding: Sequence[int] = (),
                        end_padding: Sequence[int] = (), group_count: int = 1,
                        output_sizes: Sequence[int] = (),
                        output_data_type: TensorDataType = TensorDataType.UNKNOWN) -> Expression: ...

def quantized_linear_convolution(input: Expression, input_scale: Expression, filter: Expression,
                                 filter_scale: Expression, output_scale: Expression,
                                 input_zero_point: Expression | None = None,
                                 filter_zero_point: Expression | None = None,
                                 bias: Expression | None = None,
                                 output_zero_point: Expression | None = None,
                                 strides: Sequence[int] = (), dilations: Sequence[int] = (),
                                 start_padding: Sequence[int] = (),
                                 end_padding: Sequence[int] = (), group_count: int = 1,
                                 output_sizes: Sequence[int] = (),
                                 output_data_type: TensorDataType = TensorDataType.UNKNOWN) -> Expression: ...

def bit_and(a: Expression, b: Expression) -> Expression: ...

def bit_or(a: Expression, b: Expression) -> Expression: ...

def bit_xor(a: Expression, b: Expression) -> Expression: ...

def bit_not(input: Expression) -> Expression: ...

def bit_count(input: Expression, output_data_type: TensorDataType = TensorDataType.UNKNOWN) -> Expression: ...

def greater_than_or_equal(a: Expression, b: Expression,
                          output_data_type: TensorDataType = TensorDataType.UNKNOWN) -> Expression: ...

def less_than_or_equal(a: Expression, b: Expression,
                       output_data_type: TensorDataType = TensorDataType.UNKNOWN) -> Expression: ...

def activation_celu(input: Expression, alpha: float = 1.0) -> Expression: ...

def activation_relu_grad(input: Expression, input_gradient: Expression) -> Expression: ...

def average_pooling_grad(input_gradient: Expression, window_sizes: Sequence[int],
                         strides: Sequence[int] = (), start_padding: Sequence[int] = (),
                         end_padding: Sequence[int] = (), include_padding: bool = False,
                         output_sizes: Sequence[int] = ()) -> Expression: ...

def max_pooling_grad(input: Expression, input_gradient: Expression, window_sizes: Sequence[int],
                     strides: Sequence[int] = (), start_padding: Sequence[int] = (),
                     end_padding: Sequence[int] = (), dilations: Sequence[int] = ()) -> Expression: ...

def random_generator(input_state: Expression, output_sizes: Sequence[int],
                     output_state: bool = True,
                     type: RandomGeneratorType = RandomGeneratorType.PHILOX_4X32_10,
                     output_data_type: TensorDataType = TensorDataType.UNKNOWN,
                     state_data_type: TensorDataType = TensorDataType.UNKNOWN) -> RandomGeneratorOutputs: ...

def nonzero_coordinates(input: Expression, output_sizes: Sequence[int] = (),
                        output_data_type: TensorDataType = TensorDataType.UNKNOWN,
                        coordinates_data_type: TensorDataType = TensorDataType.UNKNOWN) -> NonZeroCoordinatesOutputs: ...

def resample_grad0(input_gradient: Expression, output_sizes: Sequence[int],
                   mode: InterpolationMode = InterpolationMode.NEAREST_NEIGHBOR,
                   scales: Sequence[float] = (), input_pixel_offsets: Sequence[float] = (),
                   output_pixel_offsets: Sequence[float] = ()) -> Expression: ...

def slice_grad(input_gradient: Expression, output_gradient_sizes: Sequence[int],
               input_window_offsets: Sequence[int], input_window_sizes: Sequence[int],
               input_window_strides: Sequence[int]) -> Expression: ...

def adam_optimizer(input_parameters: Expression, input_first_moment: Expression,
                   input_second_moment: Expression, gradient: Expression,
                   training_step: Expression, learning_rate: float, beta1: float,
                   beta2: float, epsilon: float) -> AdamOptimizerOutputs: ...

def argmin(input: Expression, axes: Sequence[int] | None = None,
           axis_direction: AxisDirection = AxisDirection.INCREASING,
           output_data_type: TensorDataType = TensorDataType.UNKNOWN) -> Expression: ...

def argmax(input: Expression, axes: Sequence[int] | None = None,
           axis_direction: AxisDirection = AxisDirection.INCREASING,
           output_data_type: TensorDataType = TensorDataType.UNKNOWN) -> Expression: ...

def roi_align0(input: Expression, roi: Expression, batch_indices: Expression, output_height: int,
               output_width: int, reduction_function: ReduceFunction = ReduceFunction.AVERAGE,
               interpolation_mode: InterpolationMode = InterpolationMode.LINEAR,
               spatial_scale_x: float = 1.0, spatial_scale_y: float = 1.0,
               out_of_bounds_input_value: float = 0.0, minimum_samples_per_output: int = 1,
               maximum_samples_per_output: int = 0xffffffff) -> Expression: ...

def gather_nd(input: Expression, indices: Expression, input_dimension_count: int,
              indices_dimension_count: int, batch_dimension_count: int) -> Expression: ...

def atan_yx(a: Expression, b: Expression) -> Expression: ...

def clip_grad0(input: Expression, input_gradient: Expression, min: float, max: float) -> Expression: ...

def difference_square(a: Expression, b: Expression) -> Expression: ...

def local_response_normalization_grad(input: Expression, input_gradient: Expression,
                                      cross_channel: bool = True, local_size: int = 5,
                                      alpha: float = 1e-4, beta: float = 0.75, bias: float = 1.0) -> Expression: ...

def cumulative_product(input: Expression, axis: int,
                       axis_direction: AxisDirection = AxisDirection.INCREASING,
                       has_exclusive_product: bool = False) -> Expression: ...

def batch_normalization_grad(input: Expression, input_gradient: Expression,
                             mean: Expression, variance: Expression,
                             scale: Expression, epsilon: float = 1e-5) -> BatchNormalizationGradOutputs: ...

def quantized_linear_add(a: Expression, a_scale: Expression, b: Expression, b_scale: Expression,
                         output_scale: Expression, a_zero_point: Expression | None = None,
                         b_zero_point: Expression | None = None,
                         output_zero_point: Expression | None = None,
                         output_data_type: TensorDataType = TensorDataType.UNKNOWN) -> Expression: ...

def dynamic_quantize_linear(input: Expression,
                            output_data_type: TensorDataType = TensorDataType.UNKNOWN,
                            scale_data_type: TensorDataType = TensorDataType.UNKNOWN,
                            zero_point_data_type: TensorDataType = TensorDataType.UNKNOWN) -> DynamicQuantizeLinearOutputs: ...

def roi_align(input: Expression, roi: Expression, batch_indices: Expression, output_height: int,
              output_width: int, reduction_function: ReduceFunction = ReduceFunction.AVERAGE,
              interpolation_mode: InterpolationMode = InterpolationMode.LINEAR,
              spatial_scale_x: float = 1.0, spatial_scale_y: float = 1.0,
              input_pixel_offset: float = 0.5, output_pixel_offset: float = -0.5,
              out_of_bounds_input_value: float = 0.0, minimum_samples_per_output: int = 1,
              maximum_samples_per_output: int = 0xffffffff, align_regions_to_corners: bool = False) -> Expression: ...

def roi_align_grad(input_gradient: Expression, roi: Expression, batch_indices: Expression,
                   batch_size: int, image_height: int, image_width: int,
                   input: Expression | None = None,
                   reduction_function: ReduceFunction = ReduceFunction.AVERAGE,
                   interpolation_mode: InterpolationMode = InterpolationMode.LINEAR,
                   spatial_scale_x: float = 1.0, spatial_scale_y: float = 1.0,
                   input_pixel_offset: float = 0.5, output_pixel_offset: float = -0.5,
                   minimum_samples_per_output: int = 1,
                   maximum_samples_per_output: int = 0xffffffff,
                   align_regions_to_corners: bool = False,
                   compute_output_gradient: bool = True,
                   compute_output_roi_gradient: bool = True) -> RoiAlignGradOutputs: ...

def batch_normalization_training(input: Expression, scale: Expression,
                                 bias: Expression,
                                 fused_add: Expression | None = None,
                                 epsilon: float = 1e-5,
                                 fused_activation: FusedActivation | None = None) -> BatchNormalizationTrainingOutputs: ...

def batch_normalization_training_grad(input: Expression,
                                      input_gradient: Expression,
                                      mean: Expression, variance: Expression,
                                      scale: Expression, epsilon: float = 1e-5) -> BatchNormalizationGradOutputs: ...

def clip(input: Expression, min: float, max: float, scale_bias: ScaleBias | None = None) -> Expression: ...

def clip_grad(input: Expression, input_gradient: Expression, min: float, max: float) -> Expression: ...

def padding(input: Expression, padding_mode: PaddingMode, padding_value: float,
            start_padding: Sequence[int] = (), end_padding: Sequence[int] = ()) -> Expression: ...

def negate(input: Expression) -> Expression: ...

def activation_gelu(input: Expression) -> Expression: ...

def activation_soft_max1(input: Expression, axes: Sequence[int] | None = None) -> Expression: ...

def activation_log_softmax1(input: Expression, axes: Sequence[int] | None = None) -> Expression: ...

def activation_hardmax1(input: Expression, axes: Sequence[int] | None = None) -> Expression: ...

def resample2(input: Expression, output_sizes: Sequence[int] = (),
              mode: InterpolationMode = InterpolationMode.NEAREST_NEIGHBOR,
              rounding_direction: AxisDirection = AxisDirection.INCREASING,
              scales: Sequence[float] = (), input_pixel_offsets: Sequence[float] = (),
              output_pixel_offsets: Sequence[float] = ()) -> Expression: ...

def resample_grad(input_gradient: Expression, output_sizes: Sequence[int],
                  mode: InterpolationMode = InterpolationMode.NEAREST_NEIGHBOR,
                  rounding_direction: AxisDirection = AxisDirection.INCREASING,
                  scales: Sequence[float] = (), input_pixel_offsets: Sequence[float] = (),
                  output_pixel_offsets: Sequence[float] = ()) -> Expression: ...

def diagonal_matrix(scope: GraphBuilder, value: float, diagonal_fill_begin: int,
                    diagonal_fill_end: int, input: Expression | None = None,
                    output_sizes: Sequence[int] = (),
                    output_data_type: TensorDataType = TensorDataType.UNKNOWN) -> Expression: ...

def multihead_attention(head_count: int, query: Expression | None = None,
                        key: Expression | None = None,
                        value: Expression | None = None,
                        stacked_query_key: Expression | None = None,
                        stacked_key_value: Expression | None = None,
                        stacked_query_key_value: Expression | None = None,
                        bias: Expression | None = None,
                        mask: Expression | None = None,
                        relative_position_bias: Expression | None = None,
                        past_key: Expression | None = None,
                        past_value: Expression | None = None, scale: float = 0.0,
                        mask_filter_value: float = -10000.0,
                        mask_type: MultiheadAttentionMaskType = MultiheadAttentionMaskType.NONE,
                        output_present_key: bool = False,
                        output_present_value: bool = False,
                        output_sizes: Sequence[int] = (),
                        present_key_sizes: Sequence[int] = (),
                        present_value_sizes: Sequence[int] = ()) -> MultiheadAttentionOutputs: ...

def lp_pooling(input: Expression, window_sizes: Sequence[int], strides: Sequence[int] = (),
               start_padding: Sequence[int] = (), end_padding: Sequence[int] = (),
               dilations: Sequence[int] = (), p: int = 2, output_sizes: Sequence[int] = ()) -> Expression: ...

def average_pooling(input: Expression, strides: Sequence[int], window_sizes: Sequence[int],
                    start_padding: Sequence[int] = (), end_padding: Sequence[int] = (),
                    include_padding: bool = False, dilations: Sequence[int] = (),
                    output_sizes: Sequence[int] = ()) -> Expression: ...

def activation_swish(input: Expression, sigmoid_input_scale: float = 1.0) -> Expression: ...

def activation_hard_swish(input: Expression, alpha: float = 1.0 / 6, beta: float = 0.5) -> Expression: ...

def quantized_linear_average_pooling(input: Expression, input_scale: Expression,
                                     output_scale: Expression, window_sizes: Sequence[int],
                                     input_zero_point: Expression | None = None,
                                     output_zero_point: Expression | None = None,
                                     strides: Sequence[int] = (),
                                     start_padding: Sequence[int] = (),
                                     end_padding: Sequence[int] = (),
                                     dilations: Sequence[int] = (), include_padding: bool = False,
                                     output_sizes: Sequence[int] = (),
                                     output_data_type: TensorDataType = TensorDataType.UNKNOWN) -> Expression: ...

def matrix_multiply_integer_to_float(a: Expression, a_scale: Expression, b: Expression,
                                     b_scale: Expression, a_zero_point: Expression | None = None,
                                     b_zero_point: Expression | None = None,
                                     bias: Expression | None = None) -> Expression: ...

def mean_variance_normalization(input: Expression, scale: Expression | None = None,
                                bias: Expression | None = None, axes: Sequence[int] | None = None,
                                normalize_variance: bool = True, epsilon: float = 1e-5,
                                fused_activation: FusedActivation | None = None,
                                normalize_mean: bool = True) -> Expression: ...

def multihead_attention1(query_head_count: int, key_value_head_count: int,
                         query: Expression | None = None,
                         key: Expression | None = None,
                         value: Expression | None = None,
                         stacked_query_key: Expression | None = None,
                         stacked_key_value: Expression | None = None,
                         stacked_query_key_value: Expression | None = None,
                         bias: Expression | None = None,
                         mask: Expression | None = None,
                         relative_position_bias: Expression | None = None,
                         past_key: Expression | None = None,
                         past_value: Expression | None = None,
                         past_sequence_lengths: Expression | None = None,
                         scale: float = 0.0, mask_filter_value: float = -10000.0,
                         mask_type: MultiheadAttentionMaskType = MultiheadAttentionMaskType.NONE,
                         output_present_key: bool = False,
                         output_present_value: bool = False,
                         output_sizes: Sequence[int] = (),
                         present_key_sizes: Sequence[int] = (),
                         present_value_sizes: Sequence[int] = ()) -> MultiheadAttentionOutputs: ...

def quantize(input: Expression, quantization_parameters: Sequence[Expression],
             quantization_type: QuantizationType,
             output_data_type: TensorDataType = TensorDataType.UNKNOWN) -> Expression: ...

def dequantize(input: Expression, quantization_parameters: Sequence[Expression],
               quantization_type: QuantizationType,
               output_data_type: TensorDataType = TensorDataType.UNKNOWN) -> Expression: ...

def resample(input: Expression, output_sizes: Sequence[int] = (),
             mode: InterpolationMode = InterpolationMode.NEAREST_NEIGHBOR,
             rounding_direction: AxisDirection = AxisDirection.INCREASING,
             scales: Sequence[float] = (), input_pixel_offsets: Sequence[float] = (),
             output_pixel_offsets: Sequence[float] = (), antialiased: bool = False) -> Expression: ...

def fold(input: Expression, window_sizes: Sequence[int], output_sizes: Sequence[int],
         strides: Sequence[int] = (), dilations: Sequence[int] = (),
         start_padding: Sequence[int] = (), end_padding: Sequence[int] = ()) -> Expression: ...

def unfold(input: Expression, window_sizes: Sequence[int], strides: Sequence[int] = (),
           dilations: Sequence[int] = (), start_padding: Sequence[int] = (),
           end_padding: Sequence[int] = (), output_sizes: Sequence[int] = ()) -> Expression: ...

def grid_sample(input: Expression, grid: Expression,
                interpolation_mode: InterpolationMode = InterpolationMode.NEAREST_NEIGHBOR,
                padding_mode: PaddingMode = PaddingMode.CONSTANT, align_corners: bool = False,
                pixel_coordinates: bool = False) -> Expression: ...

def indexed_max_pooling_grad(input_gradient: Expression, indices: Expression,
                             window_sizes: Sequence[int], strides: Sequence[int] = (),
                             start_padding: Sequence[int] = (), end_padding: Sequence[int] = (),
                             dilations: Sequence[int] = (), output_sizes: Sequence[int] = ()) -> Expression: ...

def scatter_reduce_elements(input: Expression, indices: Expression, updates: Expression, axis: int,
                            function: ReduceFunction) -> Expression: ...

def scatter_reduce_nd(input: Expression, indices: Expression, updates: Expression,
                      input_dimension_count: int, indices_dimension_count: int,
                      function: ReduceFunction) -> Expression: ...
