/* SPDX-License-Identifier: Apache-2.0 */
/* Operator descriptions of feature levels 2.0 and 2.1; how to read them: dml_operators_1.h. */
#ifndef ANYDML_DML_OPERATORS_2_H
#define ANYDML_DML_OPERATORS_2_H

#include "dml_types.h"

#if DML_TARGET_VERSION >= 0x2000

/* y = -1, 0 or 1 by the sign of x. */
typedef struct DML_ELEMENT_WISE_SIGN_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *OutputTensor;
} DML_ELEMENT_WISE_SIGN_OPERATOR_DESC;

/* y = x is not a number. */
typedef struct DML_ELEMENT_WISE_IS_NAN_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *OutputTensor;
} DML_ELEMENT_WISE_IS_NAN_OPERATOR_DESC;

/* y = erf(x). */
typedef struct DML_ELEMENT_WISE_ERF_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *OutputTensor;
    const DML_SCALE_BIAS *ScaleBias;
} DML_ELEMENT_WISE_ERF_OPERATOR_DESC;

/* y = sinh(x). */
typedef struct DML_ELEMENT_WISE_SINH_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *OutputTensor;
    const DML_SCALE_BIAS *ScaleBias;
} DML_ELEMENT_WISE_SINH_OPERATOR_DESC;

/* y = cosh(x). */
typedef struct DML_ELEMENT_WISE_COSH_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *OutputTensor;
    const DML_SCALE_BIAS *ScaleBias;
} DML_ELEMENT_WISE_COSH_OPERATOR_DESC;

/* y = tanh(x). */
typedef struct DML_ELEMENT_WISE_TANH_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *OutputTensor;
    const DML_SCALE_BIAS *ScaleBias;
} DML_ELEMENT_WISE_TANH_OPERATOR_DESC;

/* y = asinh(x). */
typedef struct DML_ELEMENT_WISE_ASINH_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *OutputTensor;
    const DML_SCALE_BIAS *ScaleBias;
} DML_ELEMENT_WISE_ASINH_OPERATOR_DESC;

/* y = acosh(x). */
typedef struct DML_ELEMENT_WISE_ACOSH_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *OutputTensor;
    const DML_SCALE_BIAS *ScaleBias;
} DML_ELEMENT_WISE_ACOSH_OPERATOR_DESC;

/* y = atanh(x). */
typedef struct DML_ELEMENT_WISE_ATANH_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *OutputTensor;
    const DML_SCALE_BIAS *ScaleBias;
} DML_ELEMENT_WISE_ATANH_OPERATOR_DESC;

/* y = condition ? a : b. */
typedef struct DML_ELEMENT_WISE_IF_OPERATOR_DESC {
    const DML_TENSOR_DESC *ConditionTensor, *ATensor, *BTensor, *OutputTensor;
} DML_ELEMENT_WISE_IF_OPERATOR_DESC;

/* y = activation(a + b). */
typedef struct DML_ELEMENT_WISE_ADD1_OPERATOR_DESC {
    const DML_TENSOR_DESC *ATensor, *BTensor, *OutputTensor;
    const DML_OPERATOR_DESC *FusedActivation;
} DML_ELEMENT_WISE_ADD1_OPERATOR_DESC;

/* y = x > Threshold ? x - Bias : x < -Threshold ? x + Bias : 0. */
typedef struct DML_ACTIVATION_SHRINK_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *OutputTensor;
    FLOAT Bias, Threshold;
} DML_ACTIVATION_SHRINK_OPERATOR_DESC;

/* Maximum over each window, and where it was found. May be NULL: OutputIndicesTensor. */
typedef struct DML_MAX_POOLING1_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *OutputTensor, *OutputIndicesTensor;
    UINT DimensionCount;
    const UINT *Strides, *WindowSize, *StartPadding, *EndPadding;
} DML_MAX_POOLING1_OPERATOR_DESC;

/* Writes pooled values back to the positions in IndicesTensor, zeros elsewhere. */
typedef struct DML_MAX_UNPOOLING_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *IndicesTensor, *OutputTensor;
} DML_MAX_UNPOOLING_OPERATOR_DESC;

/* Value on the diagonal shifted by Offset, zeros elsewhere. */
typedef struct DML_DIAGONAL_MATRIX_OPERATOR_DESC {
    const DML_TENSOR_DESC *OutputTensor;
    INT Offset;
    FLOAT Value;
} DML_DIAGONAL_MATRIX_OPERATOR_DESC;

/* Copy of the input with elements replaced by updates along Axis (also named SCATTER_ELEMENTS). */
typedef struct DML_SCATTER_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *IndicesTensor, *UpdatesTensor, *OutputTensor;
    UINT Axis;
} DML_SCATTER_OPERATOR_DESC;
typedef DML_SCATTER_OPERATOR_DESC DML_SCATTER_ELEMENTS_OPERATOR_DESC;

/* y = ValuesTensor[1] where the position along Axis equals the index, else ValuesTensor[0]. */
typedef struct DML_ONE_HOT_OPERATOR_DESC {
    const DML_TENSOR_DESC *IndicesTensor, *ValuesTensor, *OutputTensor;
    UINT Axis;
} DML_ONE_HOT_OPERATOR_DESC;

/* Resizes by Scales, nearest or linear. */
typedef struct DML_RESAMPLE_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *OutputTensor;
    DML_INTERPOLATION_MODE InterpolationMode;
    UINT ScaleCount;
    const FLOAT *Scales;
} DML_RESAMPLE_OPERATOR_DESC;

#endif /* DML_TARGET_VERSION >= 0x2000 */

#if DML_TARGET_VERSION >= 0x2100

/* y = a << b. */
typedef struct DML_ELEMENT_WISE_BIT_SHIFT_LEFT_OPERATOR_DESC {
    const DML_TENSOR_DESC *ATensor, *BTensor, *OutputTensor;
} DML_ELEMENT_WISE_BIT_SHIFT_LEFT_OPERATOR_DESC;

/* y = a >> b. */
typedef struct DML_ELEMENT_WISE_BIT_SHIFT_RIGHT_OPERATOR_DESC {
    const DML_TENSOR_DESC *ATensor, *BTensor, *OutputTensor;
} DML_ELEMENT_WISE_BIT_SHIFT_RIGHT_OPERATOR_DESC;

/* y = x rounded to an integer as RoundingMode says. */
typedef struct DML_ELEMENT_WISE_ROUND_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *OutputTensor;
    DML_ROUNDING_MODE RoundingMode;
} DML_ELEMENT_WISE_ROUND_OPERATOR_DESC;

/* y = x is an infinity of the requested sign. */
typedef struct DML_ELEMENT_WISE_IS_INFINITY_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *OutputTensor;
    DML_IS_INFINITY_MODE InfinityMode;
} DML_ELEMENT_WISE_IS_INFINITY_OPERATOR_DESC;

/* Remainder of a / b with the sign of a. */
typedef struct DML_ELEMENT_WISE_MODULUS_TRUNCATE_OPERATOR_DESC {
    const DML_TENSOR_DESC *ATensor, *BTensor, *OutputTensor;
} DML_ELEMENT_WISE_MODULUS_TRUNCATE_OPERATOR_DESC;

/* Remainder of a / b with the sign of b. */
typedef struct DML_ELEMENT_WISE_MODULUS_FLOOR_OPERATOR_DESC {
    const DML_TENSOR_DESC *ATensor, *BTensor, *OutputTensor;
} DML_ELEMENT_WISE_MODULUS_FLOOR_OPERATOR_DESC;

/* y = Value everywhere. */
typedef struct DML_FILL_VALUE_CONSTANT_OPERATOR_DESC {
    const DML_TENSOR_DESC *OutputTensor;
    DML_TENSOR_DATA_TYPE ValueDataType;
    DML_SCALAR_UNION Value;
} DML_FILL_VALUE_CONSTANT_OPERATOR_DESC;

/* y[i] = ValueStart + i * ValueDelta. */
typedef struct DML_FILL_VALUE_SEQUENCE_OPERATOR_DESC {
    const DML_TENSOR_DESC *OutputTensor;
    DML_TENSOR_DATA_TYPE ValueDataType;
    DML_SCALAR_UNION ValueStart, ValueDelta;
} DML_FILL_VALUE_SEQUENCE_OPERATOR_DESC;

/* Running sum along Axis. */
typedef struct DML_CUMULATIVE_SUMMATION_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *OutputTensor;
    UINT Axis;
    DML_AXIS_DIRECTION AxisDirection;
    BOOL HasExclusiveSum;
} DML_CUMULATIVE_SUMMATION_OPERATOR_DESC;

/* Reverses the first SequenceLengths elements along Axis. */
typedef struct DML_REVERSE_SUBSEQUENCES_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *SequenceLengthsTensor, *OutputTensor;
    UINT Axis;
} DML_REVERSE_SUBSEQUENCES_OPERATOR_DESC;

/* Gathers single elements along Axis by index. */
typedef struct DML_GATHER_ELEMENTS_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *IndicesTensor, *OutputTensor;
    UINT Axis;
} DML_GATHER_ELEMENTS_OPERATOR_DESC;

/* Gathers slices by tuples of indices. */
typedef struct DML_GATHER_ND_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *IndicesTensor, *OutputTensor;
    UINT InputDimensionCount, IndicesDimensionCount;
} DML_GATHER_ND_OPERATOR_DESC;

/* Copy of the input with slices replaced at tuples of indices. */
typedef struct DML_SCATTER_ND_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *IndicesTensor, *UpdatesTensor, *OutputTensor;
    UINT InputDimensionCount, IndicesDimensionCount;
} DML_SCATTER_ND_OPERATOR_DESC;

/* Maximum over each dilated window, and where it was found. May be NULL: OutputIndicesTensor. */
typedef struct DML_MAX_POOLING2_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *OutputTensor, *OutputIndicesTensor;
    UINT DimensionCount;
    const UINT *Strides, *WindowSize, *StartPadding, *EndPadding, *Dilations;
} DML_MAX_POOLING2_OPERATOR_DESC;

/* A strided block of the input, backwards along dimensions of negative stride. */
typedef struct DML_SLICE1_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *OutputTensor;
    UINT DimensionCount;
    const UINT *InputWindowOffsets, *InputWindowSizes;
    const INT *InputWindowStrides;
} DML_SLICE1_OPERATOR_DESC;

/* The K largest or smallest values along Axis, sorted, and their indices. */
typedef struct DML_TOP_K1_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *OutputValueTensor, *OutputIndexTensor;
    UINT Axis, K;
    DML_AXIS_DIRECTION AxisDirection;
} DML_TOP_K1_OPERATOR_DESC;

/* Moves channels into blocks of space in either channel order. */
typedef struct DML_DEPTH_TO_SPACE1_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *OutputTensor;
    UINT BlockSize;
    DML_DEPTH_SPACE_ORDER Order;
} DML_DEPTH_TO_SPACE1_OPERATOR_DESC;

/* Moves blocks of space into channels in either channel order. */
typedef struct DML_SPACE_TO_DEPTH1_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *OutputTensor;
    UINT BlockSize;
    DML_DEPTH_SPACE_ORDER Order;
} DML_SPACE_TO_DEPTH1_OPERATOR_DESC;

/* Normalizes by mean and variance measured over Axes. May be NULL: ScaleTensor, BiasTensor. */
typedef struct DML_MEAN_VARIANCE_NORMALIZATION1_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *ScaleTensor, *BiasTensor, *OutputTensor;
    UINT AxisCount;
    const UINT *Axes;
    BOOL NormalizeVariance;
    FLOAT Epsilon;
    const DML_OPERATOR_DESC *FusedActivation;
} DML_MEAN_VARIANCE_NORMALIZATION1_OPERATOR_DESC;

/* Resizes with explicit scales and pixel offsets. */
typedef struct DML_RESAMPLE1_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *OutputTensor;
    DML_INTERPOLATION_MODE InterpolationMode;
    UINT DimensionCount;
    const FLOAT *Scales, *InputPixelOffsets, *OutputPixelOffsets;
} DML_RESAMPLE1_OPERATOR_DESC;

/* y = (a - a zero) x (b - b zero) in 32-bit integers. May be NULL: AZeroPointTensor, BZeroPointTensor. */
typedef struct DML_MATRIX_MULTIPLY_INTEGER_OPERATOR_DESC {
    const DML_TENSOR_DESC *ATensor, *AZeroPointTensor, *BTensor, *BZeroPointTensor, *OutputTensor;
} DML_MATRIX_MULTIPLY_INTEGER_OPERATOR_DESC;

/* Matrix product of two quantized tensors, quantized again. May be NULL: AZeroPointTensor, BZeroPointTensor,
 * OutputZeroPointTensor. */
typedef struct DML_QUANTIZED_LINEAR_MATRIX_MULTIPLY_OPERATOR_DESC {
    const DML_TENSOR_DESC *ATensor, *AScaleTensor, *AZeroPointTensor, *BTensor, *BScaleTensor;
    const DML_TENSOR_DESC *BZeroPointTensor, *OutputScaleTensor, *OutputZeroPointTensor, *OutputTensor;
} DML_QUANTIZED_LINEAR_MATRIX_MULTIPLY_OPERATOR_DESC;

/* y = (x - x zero) * (filter - filter zero) in 32-bit integers. May be NULL: InputZeroPointTensor,
 * FilterZeroPointTensor. */
typedef struct DML_CONVOLUTION_INTEGER_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *InputZeroPointTensor, *FilterTensor, *FilterZeroPointTensor;
    const DML_TENSOR_DESC *OutputTensor;
    UINT DimensionCount;
    const UINT *Strides, *Dilations, *StartPadding, *EndPadding;
    UINT GroupCount;
} DML_CONVOLUTION_INTEGER_OPERATOR_DESC;

/* Convolution of quantized tensors, quantized again. May be NULL: InputZeroPointTensor, FilterZeroPointTensor,
 * BiasTensor, OutputZeroPointTensor. */
typedef struct DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *InputScaleTensor, *InputZeroPointTensor, *FilterTensor;
    const DML_TENSOR_DESC *FilterScaleTensor, *FilterZeroPointTensor, *BiasTensor, *OutputScaleTensor;
    const DML_TENSOR_DESC *OutputZeroPointTensor, *OutputTensor;
    UINT DimensionCount;
    const UINT *Strides, *Dilations, *StartPadding, *EndPadding;
    UINT GroupCount;
} DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC;

#endif /* DML_TARGET_VERSION >= 0x2100 */

#endif
