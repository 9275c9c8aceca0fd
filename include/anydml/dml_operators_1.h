/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operator descriptions of feature level 1.0.
 *
 * Notation in the one-line descriptions here and in the files of the later levels: x, a, b are elements of the input
 * tensors, y of the output; dx and dy are gradients. If a struct has a ScaleBias that is not NULL, x is first replaced
 * by ScaleBias->Scale * x + ScaleBias->Bias. "May be NULL" lists the tensors that may be absent (ScaleBias,
 * FusedActivation and DML_BUFFER_TENSOR_DESC::Strides always may). A fused activation's own tensors are NULL.
 * Descriptions are read during the call only.
 */
#ifndef ANYDML_DML_OPERATORS_1_H
#define ANYDML_DML_OPERATORS_1_H

#include "dml_types.h"

/* y = x. */
typedef struct DML_ELEMENT_WISE_IDENTITY_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *OutputTensor;
    const DML_SCALE_BIAS *ScaleBias;
} DML_ELEMENT_WISE_IDENTITY_OPERATOR_DESC;

/* y = |x|. */
typedef struct DML_ELEMENT_WISE_ABS_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *OutputTensor;
    const DML_SCALE_BIAS *ScaleBias;
} DML_ELEMENT_WISE_ABS_OPERATOR_DESC;

/* y = acos(x). */
typedef struct DML_ELEMENT_WISE_ACOS_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *OutputTensor;
    const DML_SCALE_BIAS *ScaleBias;
} DML_ELEMENT_WISE_ACOS_OPERATOR_DESC;

/* y = a + b. */
typedef struct DML_ELEMENT_WISE_ADD_OPERATOR_DESC {
    const DML_TENSOR_DESC *ATensor, *BTensor, *OutputTensor;
} DML_ELEMENT_WISE_ADD_OPERATOR_DESC;

/* y = asin(x). */
typedef struct DML_ELEMENT_WISE_ASIN_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *OutputTensor;
    const DML_SCALE_BIAS *ScaleBias;
} DML_ELEMENT_WISE_ASIN_OPERATOR_DESC;

/* y = atan(x). */
typedef struct DML_ELEMENT_WISE_ATAN_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *OutputTensor;
    const DML_SCALE_BIAS *ScaleBias;
} DML_ELEMENT_WISE_ATAN_OPERATOR_DESC;

/* y = ceil(x). */
typedef struct DML_ELEMENT_WISE_CEIL_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *OutputTensor;
    const DML_SCALE_BIAS *ScaleBias;
} DML_ELEMENT_WISE_CEIL_OPERATOR_DESC;

/* y = min(max(x, Min), Max). */
typedef struct DML_ELEMENT_WISE_CLIP_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *OutputTensor;
    const DML_SCALE_BIAS *ScaleBias;
    FLOAT Min, Max;
} DML_ELEMENT_WISE_CLIP_OPERATOR_DESC;

/* y = cos(x). */
typedef struct DML_ELEMENT_WISE_COS_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *OutputTensor;
    const DML_SCALE_BIAS *ScaleBias;
} DML_ELEMENT_WISE_COS_OPERATOR_DESC;

/* y = a / b. */
typedef struct DML_ELEMENT_WISE_DIVIDE_OPERATOR_DESC {
    const DML_TENSOR_DESC *ATensor, *BTensor, *OutputTensor;
} DML_ELEMENT_WISE_DIVIDE_OPERATOR_DESC;

/* y = exp(x). */
typedef struct DML_ELEMENT_WISE_EXP_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *OutputTensor;
    const DML_SCALE_BIAS *ScaleBias;
} DML_ELEMENT_WISE_EXP_OPERATOR_DESC;

/* y = floor(x). */
typedef struct DML_ELEMENT_WISE_FLOOR_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *OutputTensor;
    const DML_SCALE_BIAS *ScaleBias;
} DML_ELEMENT_WISE_FLOOR_OPERATOR_DESC;

/* y = ln(x). */
typedef struct DML_ELEMENT_WISE_LOG_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *OutputTensor;
    const DML_SCALE_BIAS *ScaleBias;
} DML_ELEMENT_WISE_LOG_OPERATOR_DESC;

/* y = a && b. */
typedef struct DML_ELEMENT_WISE_LOGICAL_AND_OPERATOR_DESC {
    const DML_TENSOR_DESC *ATensor, *BTensor, *OutputTensor;
} DML_ELEMENT_WISE_LOGICAL_AND_OPERATOR_DESC;

/* y = a == b. */
typedef struct DML_ELEMENT_WISE_LOGICAL_EQUALS_OPERATOR_DESC {
    const DML_TENSOR_DESC *ATensor, *BTensor, *OutputTensor;
} DML_ELEMENT_WISE_LOGICAL_EQUALS_OPERATOR_DESC;

/* y = a > b. */
typedef struct DML_ELEMENT_WISE_LOGICAL_GREATER_THAN_OPERATOR_DESC {
    const DML_TENSOR_DESC *ATensor, *BTensor, *OutputTensor;
} DML_ELEMENT_WISE_LOGICAL_GREATER_THAN_OPERATOR_DESC;

/* y = a < b. */
typedef struct DML_ELEMENT_WISE_LOGICAL_LESS_THAN_OPERATOR_DESC {
    const DML_TENSOR_DESC *ATensor, *BTensor, *OutputTensor;
} DML_ELEMENT_WISE_LOGICAL_LESS_THAN_OPERATOR_DESC;

/* y = !x. */
typedef struct DML_ELEMENT_WISE_LOGICAL_NOT_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *OutputTensor;
} DML_ELEMENT_WISE_LOGICAL_NOT_OPERATOR_DESC;

/* y = a || b. */
typedef struct DML_ELEMENT_WISE_LOGICAL_OR_OPERATOR_DESC {
    const DML_TENSOR_DESC *ATensor, *BTensor, *OutputTensor;
} DML_ELEMENT_WISE_LOGICAL_OR_OPERATOR_DESC;

/* y = !a != !b. */
typedef struct DML_ELEMENT_WISE_LOGICAL_XOR_OPERATOR_DESC {
    const DML_TENSOR_DESC *ATensor, *BTensor, *OutputTensor;
} DML_ELEMENT_WISE_LOGICAL_XOR_OPERATOR_DESC;

/* y = max(a, b). */
typedef struct DML_ELEMENT_WISE_MAX_OPERATOR_DESC {
    const DML_TENSOR_DESC *ATensor, *BTensor, *OutputTensor;
} DML_ELEMENT_WISE_MAX_OPERATOR_DESC;

/* y = (a + b) / 2. */
typedef struct DML_ELEMENT_WISE_MEAN_OPERATOR_DESC {
    const DML_TENSOR_DESC *ATensor, *BTensor, *OutputTensor;
} DML_ELEMENT_WISE_MEAN_OPERATOR_DESC;

/* y = min(a, b). */
typedef struct DML_ELEMENT_WISE_MIN_OPERATOR_DESC {
    const DML_TENSOR_DESC *ATensor, *BTensor, *OutputTensor;
} DML_ELEMENT_WISE_MIN_OPERATOR_DESC;

/* y = a * b. */
typedef struct DML_ELEMENT_WISE_MULTIPLY_OPERATOR_DESC {
    const DML_TENSOR_DESC *ATensor, *BTensor, *OutputTensor;
} DML_ELEMENT_WISE_MULTIPLY_OPERATOR_DESC;

/* y = x to the power of ExponentTensor's element. */
typedef struct DML_ELEMENT_WISE_POW_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *ExponentTensor, *OutputTensor;
    const DML_SCALE_BIAS *ScaleBias;
} DML_ELEMENT_WISE_POW_OPERATOR_DESC;

/* y = x to the power of Exponent. */
typedef struct DML_ELEMENT_WISE_CONSTANT_POW_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *OutputTensor;
    const DML_SCALE_BIAS *ScaleBias;
    FLOAT Exponent;
} DML_ELEMENT_WISE_CONSTANT_POW_OPERATOR_DESC;

/* y = 1 / x. */
typedef struct DML_ELEMENT_WISE_RECIP_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *OutputTensor;
    const DML_SCALE_BIAS *ScaleBias;
} DML_ELEMENT_WISE_RECIP_OPERATOR_DESC;

/* y = sin(x). */
typedef struct DML_ELEMENT_WISE_SIN_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *OutputTensor;
    const DML_SCALE_BIAS *ScaleBias;
} DML_ELEMENT_WISE_SIN_OPERATOR_DESC;

/* y = sqrt(x). */
typedef struct DML_ELEMENT_WISE_SQRT_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *OutputTensor;
    const DML_SCALE_BIAS *ScaleBias;
} DML_ELEMENT_WISE_SQRT_OPERATOR_DESC;

/* y = a - b. */
typedef struct DML_ELEMENT_WISE_SUBTRACT_OPERATOR_DESC {
    const DML_TENSOR_DESC *ATensor, *BTensor, *OutputTensor;
} DML_ELEMENT_WISE_SUBTRACT_OPERATOR_DESC;

/* y = tan(x). */
typedef struct DML_ELEMENT_WISE_TAN_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *OutputTensor;
    const DML_SCALE_BIAS *ScaleBias;
} DML_ELEMENT_WISE_TAN_OPERATOR_DESC;

/* y = max(x, Min). */
typedef struct DML_ELEMENT_WISE_THRESHOLD_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *OutputTensor;
    const DML_SCALE_BIAS *ScaleBias;
    FLOAT Min;
} DML_ELEMENT_WISE_THRESHOLD_OPERATOR_DESC;

/* y = clamp(round(x / scale) + zero point) to the output's type. May be NULL: ZeroPointTensor. */
typedef struct DML_ELEMENT_WISE_QUANTIZE_LINEAR_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *ScaleTensor, *ZeroPointTensor, *OutputTensor;
} DML_ELEMENT_WISE_QUANTIZE_LINEAR_OPERATOR_DESC;

/* y = (x - zero point) * scale. May be NULL: ZeroPointTensor. */
typedef struct DML_ELEMENT_WISE_DEQUANTIZE_LINEAR_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *ScaleTensor, *ZeroPointTensor, *OutputTensor;
} DML_ELEMENT_WISE_DEQUANTIZE_LINEAR_OPERATOR_DESC;

/* y = x < 0 ? Alpha * (exp(x) - 1) : x. */
typedef struct DML_ACTIVATION_ELU_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *OutputTensor;
    FLOAT Alpha;
} DML_ACTIVATION_ELU_OPERATOR_DESC;

/* y = 1 at the first maximum of each batch row, else 0. */
typedef struct DML_ACTIVATION_HARDMAX_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *OutputTensor;
} DML_ACTIVATION_HARDMAX_OPERATOR_DESC;

/* y = max(0, min(Alpha * x + Beta, 1)). */
typedef struct DML_ACTIVATION_HARD_SIGMOID_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *OutputTensor;
    FLOAT Alpha, Beta;
} DML_ACTIVATION_HARD_SIGMOID_OPERATOR_DESC;

/* y = x. */
typedef struct DML_ACTIVATION_IDENTITY_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *OutputTensor;
} DML_ACTIVATION_IDENTITY_OPERATOR_DESC;

/* y = x < 0 ? Alpha * x : x. */
typedef struct DML_ACTIVATION_LEAKY_RELU_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *OutputTensor;
    FLOAT Alpha;
} DML_ACTIVATION_LEAKY_RELU_OPERATOR_DESC;

/* y = Alpha * x + Beta. */
typedef struct DML_ACTIVATION_LINEAR_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *OutputTensor;
    FLOAT Alpha, Beta;
} DML_ACTIVATION_LINEAR_OPERATOR_DESC;

/* y = x - ln(sum of exp(x)) over each batch row. */
typedef struct DML_ACTIVATION_LOG_SOFTMAX_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *OutputTensor;
} DML_ACTIVATION_LOG_SOFTMAX_OPERATOR_DESC;

/* y = x < 0 ? slope * x : x, slope per element of SlopeTensor. */
typedef struct DML_ACTIVATION_PARAMETERIZED_RELU_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *SlopeTensor, *OutputTensor;
} DML_ACTIVATION_PARAMETERIZED_RELU_OPERATOR_DESC;

/* y = Alpha * ln(1 + exp(Beta * x)). */
typedef struct DML_ACTIVATION_PARAMETRIC_SOFTPLUS_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *OutputTensor;
    FLOAT Alpha, Beta;
} DML_ACTIVATION_PARAMETRIC_SOFTPLUS_OPERATOR_DESC;

/* y = max(0, x). */
typedef struct DML_ACTIVATION_RELU_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *OutputTensor;
} DML_ACTIVATION_RELU_OPERATOR_DESC;

/* y = Gamma * (x > 0 ? x : Alpha * (exp(x) - 1)). */
typedef struct DML_ACTIVATION_SCALED_ELU_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *OutputTensor;
    FLOAT Alpha, Gamma;
} DML_ACTIVATION_SCALED_ELU_OPERATOR_DESC;

/* y = Alpha * tanh(Beta * x). */
typedef struct DML_ACTIVATION_SCALED_TANH_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *OutputTensor;
    FLOAT Alpha, Beta;
} DML_ACTIVATION_SCALED_TANH_OPERATOR_DESC;

/* y = 1 / (1 + exp(-x)). */
typedef struct DML_ACTIVATION_SIGMOID_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *OutputTensor;
} DML_ACTIVATION_SIGMOID_OPERATOR_DESC;

/* y = exp(x) / (sum of exp(x)) over each batch row. */
typedef struct DML_ACTIVATION_SOFTMAX_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *OutputTensor;
} DML_ACTIVATION_SOFTMAX_OPERATOR_DESC;

/* y = ln(1 + exp(Steepness * x)) / Steepness. */
typedef struct DML_ACTIVATION_SOFTPLUS_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *OutputTensor;
    FLOAT Steepness;
} DML_ACTIVATION_SOFTPLUS_OPERATOR_DESC;

/* y = x / (1 + |x|). */
typedef struct DML_ACTIVATION_SOFTSIGN_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *OutputTensor;
} DML_ACTIVATION_SOFTSIGN_OPERATOR_DESC;

/* y = tanh(x). */
typedef struct DML_ACTIVATION_TANH_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *OutputTensor;
} DML_ACTIVATION_TANH_OPERATOR_DESC;

/* y = x > Alpha ? x : 0. */
typedef struct DML_ACTIVATION_THRESHOLDED_RELU_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *OutputTensor;
    FLOAT Alpha;
} DML_ACTIVATION_THRESHOLDED_RELU_OPERATOR_DESC;

/* Forward or backward (transposed) convolution of [N, C, spatial...] with grouped filters. May be NULL:
 * BiasTensor. */
typedef struct DML_CONVOLUTION_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *FilterTensor, *BiasTensor, *OutputTensor;
    DML_CONVOLUTION_MODE Mode;
    DML_CONVOLUTION_DIRECTION Direction;
    UINT DimensionCount;
    const UINT *Strides, *Dilations, *StartPadding, *EndPadding, *OutputPadding;
    UINT GroupCount;
    const DML_OPERATOR_DESC *FusedActivation;
} DML_CONVOLUTION_OPERATOR_DESC;

/* y = activation(Alpha * transA(a) x transB(b) + Beta * c). May be NULL: CTensor. */
typedef struct DML_GEMM_OPERATOR_DESC {
    const DML_TENSOR_DESC *ATensor, *BTensor, *CTensor, *OutputTensor;
    DML_MATRIX_TRANSFORM TransA, TransB;
    FLOAT Alpha, Beta;
    const DML_OPERATOR_DESC *FusedActivation;
} DML_GEMM_OPERATOR_DESC;

/* One reduction Function over Axes; reduced axes have size 1 in the output. */
typedef struct DML_REDUCE_OPERATOR_DESC {
    DML_REDUCE_FUNCTION Function;
    const DML_TENSOR_DESC *InputTensor, *OutputTensor;
    UINT AxisCount;
    const UINT *Axes;
} DML_REDUCE_OPERATOR_DESC;

/* Mean over each window; padding counts only with IncludePadding. */
typedef struct DML_AVERAGE_POOLING_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *OutputTensor;
    UINT DimensionCount;
    const UINT *Strides, *WindowSize, *StartPadding, *EndPadding;
    BOOL IncludePadding;
} DML_AVERAGE_POOLING_OPERATOR_DESC;

/* y = (sum of |x|^P over each window)^(1/P). */
typedef struct DML_LP_POOLING_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *OutputTensor;
    UINT DimensionCount;
    const UINT *Strides, *WindowSize, *StartPadding, *EndPadding;
    UINT P;
} DML_LP_POOLING_OPERATOR_DESC;

/* Maximum over each window. */
typedef struct DML_MAX_POOLING_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *OutputTensor;
    UINT DimensionCount;
    const UINT *Strides, *WindowSize, *StartPadding, *EndPadding;
} DML_MAX_POOLING_OPERATOR_DESC;

/* Maximum over each cell of every region of interest, the region scaled by SpatialScale. */
typedef struct DML_ROI_POOLING_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *ROITensor, *OutputTensor;
    FLOAT SpatialScale;
    DML_SIZE_2D PooledSize;
} DML_ROI_POOLING_OPERATOR_DESC;

/* A strided block of the input. */
typedef struct DML_SLICE_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *OutputTensor;
    UINT DimensionCount;
    const UINT *Offsets, *Sizes, *Strides;
} DML_SLICE_OPERATOR_DESC;

/* Conversion to the output's data type. */
typedef struct DML_CAST_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *OutputTensor;
} DML_CAST_OPERATOR_DESC;

/* Splits the input along Axis into OutputCount tensors. */
typedef struct DML_SPLIT_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor;
    UINT OutputCount;
    const DML_TENSOR_DESC *OutputTensors;
    UINT Axis;
} DML_SPLIT_OPERATOR_DESC;

/* Concatenates InputCount tensors along Axis. */
typedef struct DML_JOIN_OPERATOR_DESC {
    UINT InputCount;
    const DML_TENSOR_DESC *InputTensors, *OutputTensor;
    UINT Axis;
} DML_JOIN_OPERATOR_DESC;

/* Grows the input at its edges in one of the padding modes. */
typedef struct DML_PADDING_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *OutputTensor;
    DML_PADDING_MODE PaddingMode;
    FLOAT PaddingValue;
    UINT DimensionCount;
    const UINT *StartPadding, *EndPadding;
} DML_PADDING_OPERATOR_DESC;

/* y = Scale * x + Bias[channel]. */
typedef struct DML_VALUE_SCALE_2D_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *OutputTensor;
    FLOAT Scale;
    UINT ChannelCount;
    const FLOAT *Bias;
} DML_VALUE_SCALE_2D_OPERATOR_DESC;

/* Enlarges height and width by integer factors. */
typedef struct DML_UPSAMPLE_2D_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *OutputTensor;
    DML_SIZE_2D ScaleSize;
    DML_INTERPOLATION_MODE InterpolationMode;
} DML_UPSAMPLE_2D_OPERATOR_DESC;

/* Gathers whole slices along Axis by index. */
typedef struct DML_GATHER_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *IndicesTensor, *OutputTensor;
    UINT Axis, IndexDimensions;
} DML_GATHER_OPERATOR_DESC;

/* Moves BlockSize x BlockSize blocks of space into channels. */
typedef struct DML_SPACE_TO_DEPTH_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *OutputTensor;
    UINT BlockSize;
} DML_SPACE_TO_DEPTH_OPERATOR_DESC;

/* Moves channels into BlockSize x BlockSize blocks of space. */
typedef struct DML_DEPTH_TO_SPACE_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *OutputTensor;
    UINT BlockSize;
} DML_DEPTH_TO_SPACE_OPERATOR_DESC;

/* Repeats the input Repeats[i] times along dimension i. */
typedef struct DML_TILE_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *OutputTensor;
    UINT RepeatsCount;
    const UINT *Repeats;
} DML_TILE_OPERATOR_DESC;

/* The K largest values along Axis, sorted, and their indices. */
typedef struct DML_TOP_K_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *OutputValueTensor, *OutputIndexTensor;
    UINT Axis, K;
} DML_TOP_K_OPERATOR_DESC;

/* y = activation(scale * (x - mean) / sqrt(variance + Epsilon) + bias). */
typedef struct DML_BATCH_NORMALIZATION_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *MeanTensor, *VarianceTensor, *ScaleTensor, *BiasTensor, *OutputTensor;
    BOOL Spatial;
    FLOAT Epsilon;
    const DML_OPERATOR_DESC *FusedActivation;
} DML_BATCH_NORMALIZATION_OPERATOR_DESC;

/* Normalizes by mean and variance measured over space, and channels with CrossChannel. May be NULL: ScaleTensor,
 * BiasTensor. */
typedef struct DML_MEAN_VARIANCE_NORMALIZATION_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *ScaleTensor, *BiasTensor, *OutputTensor;
    BOOL CrossChannel, NormalizeVariance;
    FLOAT Epsilon;
    const DML_OPERATOR_DESC *FusedActivation;
} DML_MEAN_VARIANCE_NORMALIZATION_OPERATOR_DESC;

/* y = x / (Bias + Alpha / n * sum of x^2 in a neighbourhood)^Beta. */
typedef struct DML_LOCAL_RESPONSE_NORMALIZATION_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *OutputTensor;
    BOOL CrossChannel;
    UINT LocalSize;
    FLOAT Alpha, Beta, Bias;
} DML_LOCAL_RESPONSE_NORMALIZATION_OPERATOR_DESC;

/* y = x / max(P-norm along Axis, Epsilon). */
typedef struct DML_LP_NORMALIZATION_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *OutputTensor;
    UINT Axis;
    FLOAT Epsilon;
    UINT P;
} DML_LP_NORMALIZATION_OPERATOR_DESC;

/* One layer of a simple recurrent network over [1, steps, batch, features]. May be NULL: BiasTensor,
 * HiddenInitTensor, SequenceLengthsTensor, OutputSequenceTensor, OutputSingleTensor. */
typedef struct DML_RNN_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *WeightTensor, *RecurrenceTensor, *BiasTensor, *HiddenInitTensor;
    const DML_TENSOR_DESC *SequenceLengthsTensor, *OutputSequenceTensor, *OutputSingleTensor;
    UINT ActivationDescCount;
    const DML_OPERATOR_DESC *ActivationDescs;
    DML_RECURRENT_NETWORK_DIRECTION Direction;
} DML_RNN_OPERATOR_DESC;

/* One layer of long short-term memory, gates in the order i, o, f, c. May be NULL: BiasTensor, HiddenInitTensor,
 * CellMemInitTensor, SequenceLengthsTensor, PeepholeTensor, OutputSequenceTensor, OutputSingleTensor,
 * OutputCellSingleTensor. */
typedef struct DML_LSTM_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *WeightTensor, *RecurrenceTensor, *BiasTensor, *HiddenInitTensor;
    const DML_TENSOR_DESC *CellMemInitTensor, *SequenceLengthsTensor, *PeepholeTensor, *OutputSequenceTensor;
    const DML_TENSOR_DESC *OutputSingleTensor, *OutputCellSingleTensor;
    UINT ActivationDescCount;
    const DML_OPERATOR_DESC *ActivationDescs;
    DML_RECURRENT_NETWORK_DIRECTION Direction;
    FLOAT ClipThreshold;
    BOOL UseClipThreshold, CoupleInputForget;
} DML_LSTM_OPERATOR_DESC;

/* One layer of gated recurrent units, gates in the order z, r, h. May be NULL: BiasTensor, HiddenInitTensor,
 * SequenceLengthsTensor, OutputSequenceTensor, OutputSingleTensor. */
typedef struct DML_GRU_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *WeightTensor, *RecurrenceTensor, *BiasTensor, *HiddenInitTensor;
    const DML_TENSOR_DESC *SequenceLengthsTensor, *OutputSequenceTensor, *OutputSingleTensor;
    UINT ActivationDescCount;
    const DML_OPERATOR_DESC *ActivationDescs;
    DML_RECURRENT_NETWORK_DIRECTION Direction;
    BOOL LinearBeforeReset;
} DML_GRU_OPERATOR_DESC;

#endif
