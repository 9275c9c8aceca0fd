/* SPDX-License-Identifier: Apache-2.0 */
/* Operator descriptions of feature levels 5.0 to 6.4; how to read them: dml_operators_1.h. */
#ifndef ANYDML_DML_OPERATORS_5_H
#define ANYDML_DML_OPERATORS_5_H

#include "dml_types.h"

#if DML_TARGET_VERSION >= 0x5000

/* y = min(max(x, Min), Max), the limits in the tensor's own type. */
typedef struct DML_ELEMENT_WISE_CLIP1_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *OutputTensor;
    const DML_SCALE_BIAS *ScaleBias;
    DML_TENSOR_DATA_TYPE MinMaxDataType;
    DML_SCALAR_UNION Min, Max;
} DML_ELEMENT_WISE_CLIP1_OPERATOR_DESC;

/* Gradient of ELEMENT_WISE_CLIP1. */
typedef struct DML_ELEMENT_WISE_CLIP_GRAD1_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *InputGradientTensor, *OutputGradientTensor;
    DML_TENSOR_DATA_TYPE MinMaxDataType;
    DML_SCALAR_UNION Min, Max;
} DML_ELEMENT_WISE_CLIP_GRAD1_OPERATOR_DESC;

/* PADDING with a value of the tensor's own type. */
typedef struct DML_PADDING1_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *OutputTensor;
    DML_PADDING_MODE PaddingMode;
    DML_TENSOR_DATA_TYPE PaddingValueDataType;
    DML_SCALAR_UNION PaddingValue;
    UINT DimensionCount;
    const UINT *StartPadding, *EndPadding;
} DML_PADDING1_OPERATOR_DESC;

/* y = -x. */
typedef struct DML_ELEMENT_WISE_NEGATE_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *OutputTensor;
} DML_ELEMENT_WISE_NEGATE_OPERATOR_DESC;

#endif /* DML_TARGET_VERSION >= 0x5000 */

#if DML_TARGET_VERSION >= 0x5100

/* y = x / 2 * (1 + erf(x / sqrt(2))). */
typedef struct DML_ACTIVATION_GELU_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *OutputTensor;
} DML_ACTIVATION_GELU_OPERATOR_DESC;

/* y = exp(x) / (sum of exp(x)) over Axes. */
typedef struct DML_ACTIVATION_SOFTMAX1_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *OutputTensor;
    UINT AxisCount;
    const UINT *Axes;
} DML_ACTIVATION_SOFTMAX1_OPERATOR_DESC;

/* y = x - ln(sum of exp(x)) over Axes. */
typedef struct DML_ACTIVATION_LOG_SOFTMAX1_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *OutputTensor;
    UINT AxisCount;
    const UINT *Axes;
} DML_ACTIVATION_LOG_SOFTMAX1_OPERATOR_DESC;

/* y = 1 at the first maximum over Axes, else 0. */
typedef struct DML_ACTIVATION_HARDMAX1_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *OutputTensor;
    UINT AxisCount;
    const UINT *Axes;
} DML_ACTIVATION_HARDMAX1_OPERATOR_DESC;

/* RESAMPLE1 with the rounding direction of nearest neighbours. */
typedef struct DML_RESAMPLE2_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *OutputTensor;
    DML_INTERPOLATION_MODE InterpolationMode;
    DML_AXIS_DIRECTION RoundingDirection;
    UINT DimensionCount;
    const FLOAT *Scales, *InputPixelOffsets, *OutputPixelOffsets;
} DML_RESAMPLE2_OPERATOR_DESC;

/* Gradient of RESAMPLE2. */
typedef struct DML_RESAMPLE_GRAD1_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputGradientTensor, *OutputGradientTensor;
    DML_INTERPOLATION_MODE InterpolationMode;
    DML_AXIS_DIRECTION RoundingDirection;
    UINT DimensionCount;
    const FLOAT *Scales, *InputPixelOffsets, *OutputPixelOffsets;
} DML_RESAMPLE_GRAD1_OPERATOR_DESC;

/* Value on the diagonals [DiagonalFillBegin, DiagonalFillEnd), the input or zeros elsewhere. May be NULL:
 * InputTensor. */
typedef struct DML_DIAGONAL_MATRIX1_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *OutputTensor;
    DML_TENSOR_DATA_TYPE ValueDataType;
    DML_SCALAR_UNION Value;
    INT DiagonalFillBegin, DiagonalFillEnd;
} DML_DIAGONAL_MATRIX1_OPERATOR_DESC;

#endif /* DML_TARGET_VERSION >= 0x5100 */

#if DML_TARGET_VERSION >= 0x6100

/* softmax(Scale * query x key^T + mask + bias) x value, per head. May be NULL: QueryTensor, KeyTensor,
 * ValueTensor, StackedQueryKeyTensor, StackedKeyValueTensor, StackedQueryKeyValueTensor, BiasTensor, MaskTensor,
 * RelativePositionBiasTensor, PastKeyTensor, PastValueTensor, OutputPresentKeyTensor, OutputPresentValueTensor. */
typedef struct DML_MULTIHEAD_ATTENTION_OPERATOR_DESC {
    const DML_TENSOR_DESC *QueryTensor, *KeyTensor, *ValueTensor, *StackedQueryKeyTensor;
    const DML_TENSOR_DESC *StackedKeyValueTensor, *StackedQueryKeyValueTensor, *BiasTensor, *MaskTensor;
    const DML_TENSOR_DESC *RelativePositionBiasTensor, *PastKeyTensor, *PastValueTensor, *OutputTensor;
    const DML_TENSOR_DESC *OutputPresentKeyTensor, *OutputPresentValueTensor;
    FLOAT Scale, MaskFilterValue;
    UINT HeadCount;
    DML_MULTIHEAD_ATTENTION_MASK_TYPE MaskType;
} DML_MULTIHEAD_ATTENTION_OPERATOR_DESC;

#endif /* DML_TARGET_VERSION >= 0x6100 */

#if DML_TARGET_VERSION >= 0x6200

/* LP_POOLING with dilated windows. */
typedef struct DML_LP_POOLING1_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *OutputTensor;
    UINT DimensionCount;
    const UINT *Strides, *WindowSize, *StartPadding, *EndPadding, *Dilations;
    UINT P;
} DML_LP_POOLING1_OPERATOR_DESC;

/* AVERAGE_POOLING with dilated windows. */
typedef struct DML_AVERAGE_POOLING1_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *OutputTensor;
    UINT DimensionCount;
    const UINT *Strides, *WindowSize, *StartPadding, *EndPadding, *Dilations;
    BOOL IncludePadding;
} DML_AVERAGE_POOLING1_OPERATOR_DESC;

/* y = x / (1 + exp(-SigmoidInputScale * x)). */
typedef struct DML_ACTIVATION_SWISH_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *OutputTensor;
    FLOAT SigmoidInputScale;
} DML_ACTIVATION_SWISH_OPERATOR_DESC;

/* y = x * max(0, min(Alpha * x + Beta, 1)). */
typedef struct DML_ACTIVATION_HARD_SWISH_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *OutputTensor;
    FLOAT Alpha, Beta;
} DML_ACTIVATION_HARD_SWISH_OPERATOR_DESC;

/* Average pooling of a quantized tensor, quantized again. May be NULL: InputZeroPointTensor,
 * OutputZeroPointTensor. */
typedef struct DML_QUANTIZED_LINEAR_AVERAGE_POOLING_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *InputScaleTensor, *InputZeroPointTensor, *OutputScaleTensor;
    const DML_TENSOR_DESC *OutputZeroPointTensor, *OutputTensor;
    UINT DimensionCount;
    const UINT *Strides, *WindowSize, *StartPadding, *EndPadding, *Dilations;
    BOOL IncludePadding;
} DML_QUANTIZED_LINEAR_AVERAGE_POOLING_OPERATOR_DESC;

/* y = a scale * b scale * ((a - a zero) x (b - b zero)) + bias. May be NULL: AZeroPointTensor, BZeroPointTensor,
 * BiasTensor. */
typedef struct DML_MATRIX_MULTIPLY_INTEGER_TO_FLOAT_OPERATOR_DESC {
    const DML_TENSOR_DESC *ATensor, *AScaleTensor, *AZeroPointTensor, *BTensor, *BScaleTensor;
    const DML_TENSOR_DESC *BZeroPointTensor, *BiasTensor, *OutputTensor;
} DML_MATRIX_MULTIPLY_INTEGER_TO_FLOAT_OPERATOR_DESC;

#endif /* DML_TARGET_VERSION >= 0x6200 */

#if DML_TARGET_VERSION >= 0x6300

/* MEAN_VARIANCE_NORMALIZATION1 with separate switches for mean and variance. May be NULL: ScaleTensor, BiasTensor. */
typedef struct DML_MEAN_VARIANCE_NORMALIZATION2_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *ScaleTensor, *BiasTensor, *OutputTensor;
    UINT AxisCount;
    const UINT *Axes;
    BOOL UseMean, UseVariance;
    FLOAT Epsilon;
    const DML_OPERATOR_DESC *FusedActivation;
} DML_MEAN_VARIANCE_NORMALIZATION2_OPERATOR_DESC;

/* MULTIHEAD_ATTENTION with fewer key-value heads than query heads and past lengths. May be NULL: QueryTensor,
 * KeyTensor, ValueTensor, StackedQueryKeyTensor, StackedKeyValueTensor, StackedQueryKeyValueTensor, BiasTensor,
 * MaskTensor, RelativePositionBiasTensor, PastKeyTensor, PastValueTensor, PastSequenceLengthsTensor,
 * OutputPresentKeyTensor, OutputPresentValueTensor. */
typedef struct DML_MULTIHEAD_ATTENTION1_OPERATOR_DESC {
    const DML_TENSOR_DESC *QueryTensor, *KeyTensor, *ValueTensor, *StackedQueryKeyTensor;
    const DML_TENSOR_DESC *StackedKeyValueTensor, *StackedQueryKeyValueTensor, *BiasTensor, *MaskTensor;
    const DML_TENSOR_DESC *RelativePositionBiasTensor, *PastKeyTensor, *PastValueTensor;
    const DML_TENSOR_DESC *PastSequenceLengthsTensor, *OutputTensor, *OutputPresentKeyTensor;
    const DML_TENSOR_DESC *OutputPresentValueTensor;
    FLOAT Scale, MaskFilterValue;
    UINT QueryHeadCount, KeyValueHeadCount;
    DML_MULTIHEAD_ATTENTION_MASK_TYPE MaskType;
} DML_MULTIHEAD_ATTENTION1_OPERATOR_DESC;

/* y = quantized x, by blocks where the scale is smaller than the input. */
typedef struct DML_QUANTIZE_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor;
    DML_QUANTIZATION_TYPE QuantizationType;
    UINT QuantizationTensorCount;
    const DML_TENSOR_DESC *QuantizationTensors, *OutputTensor;
} DML_QUANTIZE_OPERATOR_DESC;

/* y = dequantized x, by blocks where the scale is smaller than the input. */
typedef struct DML_DEQUANTIZE_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor;
    DML_QUANTIZATION_TYPE QuantizationType;
    UINT QuantizationTensorCount;
    const DML_TENSOR_DESC *QuantizationTensors, *OutputTensor;
} DML_DEQUANTIZE_OPERATOR_DESC;

#endif /* DML_TARGET_VERSION >= 0x6300 */

#if DML_TARGET_VERSION >= 0x6400

/* RESAMPLE2 with optional antialiasing when shrinking. */
typedef struct DML_RESAMPLE3_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *OutputTensor;
    DML_INTERPOLATION_MODE InterpolationMode;
    DML_AXIS_DIRECTION RoundingDirection;
    UINT DimensionCount;
    const FLOAT *Scales, *InputPixelOffsets, *OutputPixelOffsets;
    BOOL Antialiased;
} DML_RESAMPLE3_OPERATOR_DESC;

/* Sums sliding patches back into an image (inverse of UNFOLD). */
typedef struct DML_FOLD_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *OutputTensor;
    UINT DimensionCount;
    const UINT *WindowSizes, *Strides, *Dilations, *StartPadding, *EndPadding;
} DML_FOLD_OPERATOR_DESC;

/* Writes the sliding patches of an image as columns (im2col). */
typedef struct DML_UNFOLD_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *OutputTensor;
    UINT DimensionCount;
    const UINT *WindowSizes, *Strides, *Dilations, *StartPadding, *EndPadding;
} DML_UNFOLD_OPERATOR_DESC;

#endif /* DML_TARGET_VERSION >= 0x6400 */

#endif
