/* SPDX-License-Identifier: Apache-2.0 */
/* Operator descriptions of feature levels 3.0 to 4.1; how to read them: dml_operators_1.h. */
#ifndef ANYDML_DML_OPERATORS_3_H
#define ANYDML_DML_OPERATORS_3_H

#include "dml_types.h"

#if DML_TARGET_VERSION >= 0x3000

/* y = a & b. */
typedef struct DML_ELEMENT_WISE_BIT_AND_OPERATOR_DESC {
    const DML_TENSOR_DESC *ATensor, *BTensor, *OutputTensor;
} DML_ELEMENT_WISE_BIT_AND_OPERATOR_DESC;

/* y = a | b. */
typedef struct DML_ELEMENT_WISE_BIT_OR_OPERATOR_DESC {
    const DML_TENSOR_DESC *ATensor, *BTensor, *OutputTensor;
} DML_ELEMENT_WISE_BIT_OR_OPERATOR_DESC;

/* y = a ^ b. */
typedef struct DML_ELEMENT_WISE_BIT_XOR_OPERATOR_DESC {
    const DML_TENSOR_DESC *ATensor, *BTensor, *OutputTensor;
} DML_ELEMENT_WISE_BIT_XOR_OPERATOR_DESC;

/* y = ~x. */
typedef struct DML_ELEMENT_WISE_BIT_NOT_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *OutputTensor;
} DML_ELEMENT_WISE_BIT_NOT_OPERATOR_DESC;

/* y = the number of one bits in x. */
typedef struct DML_ELEMENT_WISE_BIT_COUNT_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *OutputTensor;
} DML_ELEMENT_WISE_BIT_COUNT_OPERATOR_DESC;

/* y = a >= b. */
typedef struct DML_ELEMENT_WISE_LOGICAL_GREATER_THAN_OR_EQUAL_OPERATOR_DESC {
    const DML_TENSOR_DESC *ATensor, *BTensor, *OutputTensor;
} DML_ELEMENT_WISE_LOGICAL_GREATER_THAN_OR_EQUAL_OPERATOR_DESC;

/* y = a <= b. */
typedef struct DML_ELEMENT_WISE_LOGICAL_LESS_THAN_OR_EQUAL_OPERATOR_DESC {
    const DML_TENSOR_DESC *ATensor, *BTensor, *OutputTensor;
} DML_ELEMENT_WISE_LOGICAL_LESS_THAN_OR_EQUAL_OPERATOR_DESC;

/* y = max(0, x) + min(0, Alpha * (exp(x / Alpha) - 1)). */
typedef struct DML_ACTIVATION_CELU_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *OutputTensor;
    FLOAT Alpha;
} DML_ACTIVATION_CELU_OPERATOR_DESC;

/* dx = x > 0 ? dy : 0. */
typedef struct DML_ACTIVATION_RELU_GRAD_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *InputGradientTensor, *OutputGradientTensor;
} DML_ACTIVATION_RELU_GRAD_OPERATOR_DESC;

/* Distributes each gradient evenly over its window. */
typedef struct DML_AVERAGE_POOLING_GRAD_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputGradientTensor, *OutputGradientTensor;
    UINT DimensionCount;
    const UINT *Strides, *WindowSize, *StartPadding, *EndPadding;
    BOOL IncludePadding;
} DML_AVERAGE_POOLING_GRAD_OPERATOR_DESC;

/* Adds each gradient to the position of its window's maximum. */
typedef struct DML_MAX_POOLING_GRAD_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *InputGradientTensor, *OutputGradientTensor;
    UINT DimensionCount;
    const UINT *Strides, *WindowSize, *StartPadding, *EndPadding, *Dilations;
} DML_MAX_POOLING_GRAD_OPERATOR_DESC;

/* Random 32-bit integers by Philox 4x32-10 from a state of six words. May be NULL: OutputStateTensor. */
typedef struct DML_RANDOM_GENERATOR_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputStateTensor, *OutputTensor, *OutputStateTensor;
    DML_RANDOM_GENERATOR_TYPE Type;
} DML_RANDOM_GENERATOR_OPERATOR_DESC;

/* The number of elements that are not zero, and their coordinates. */
typedef struct DML_NONZERO_COORDINATES_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *OutputCountTensor, *OutputCoordinatesTensor;
} DML_NONZERO_COORDINATES_OPERATOR_DESC;

/* Gradient of RESAMPLE1. */
typedef struct DML_RESAMPLE_GRAD_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputGradientTensor, *OutputGradientTensor;
    DML_INTERPOLATION_MODE InterpolationMode;
    UINT DimensionCount;
    const FLOAT *Scales, *InputPixelOffsets, *OutputPixelOffsets;
} DML_RESAMPLE_GRAD_OPERATOR_DESC;

/* Gradient of SLICE1: copies the block back, zeros elsewhere. */
typedef struct DML_SLICE_GRAD_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputGradientTensor, *OutputGradientTensor;
    UINT DimensionCount;
    const UINT *InputWindowOffsets, *InputWindowSizes;
    const INT *InputWindowStrides;
} DML_SLICE_GRAD_OPERATOR_DESC;

/* One step of Adam on weights and both moments. */
typedef struct DML_ADAM_OPTIMIZER_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputParametersTensor, *InputFirstMomentTensor, *InputSecondMomentTensor;
    const DML_TENSOR_DESC *GradientTensor, *TrainingStepTensor, *OutputParametersTensor;
    const DML_TENSOR_DESC *OutputFirstMomentTensor, *OutputSecondMomentTensor;
    FLOAT LearningRate, Beta1, Beta2, Epsilon;
} DML_ADAM_OPTIMIZER_OPERATOR_DESC;

/* Index of the smallest element over Axes. */
typedef struct DML_ARGMIN_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *OutputTensor;
    UINT AxisCount;
    const UINT *Axes;
    DML_AXIS_DIRECTION AxisDirection;
} DML_ARGMIN_OPERATOR_DESC;

/* Index of the largest element over Axes. */
typedef struct DML_ARGMAX_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *OutputTensor;
    UINT AxisCount;
    const UINT *Axes;
    DML_AXIS_DIRECTION AxisDirection;
} DML_ARGMAX_OPERATOR_DESC;

/* Interpolated samples of every region of interest, reduced per cell. */
typedef struct DML_ROI_ALIGN_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *ROITensor, *BatchIndicesTensor, *OutputTensor;
    DML_REDUCE_FUNCTION ReductionFunction;
    DML_INTERPOLATION_MODE InterpolationMode;
    FLOAT SpatialScaleX, SpatialScaleY, OutOfBoundsInputValue;
    UINT MinimumSamplesPerOutput, MaximumSamplesPerOutput;
} DML_ROI_ALIGN_OPERATOR_DESC;

/* GATHER_ND with leading batch dimensions. */
typedef struct DML_GATHER_ND1_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *IndicesTensor, *OutputTensor;
    UINT InputDimensionCount, IndicesDimensionCount, BatchDimensionCount;
} DML_GATHER_ND1_OPERATOR_DESC;

#endif /* DML_TARGET_VERSION >= 0x3000 */

#if DML_TARGET_VERSION >= 0x3100

/* y = atan2(a, b). */
typedef struct DML_ELEMENT_WISE_ATAN_YX_OPERATOR_DESC {
    const DML_TENSOR_DESC *ATensor, *BTensor, *OutputTensor;
} DML_ELEMENT_WISE_ATAN_YX_OPERATOR_DESC;

/* dx = Min < x && x < Max ? dy : 0. */
typedef struct DML_ELEMENT_WISE_CLIP_GRAD_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *InputGradientTensor, *OutputGradientTensor;
    FLOAT Min, Max;
} DML_ELEMENT_WISE_CLIP_GRAD_OPERATOR_DESC;

/* y = (a - b)^2. */
typedef struct DML_ELEMENT_WISE_DIFFERENCE_SQUARE_OPERATOR_DESC {
    const DML_TENSOR_DESC *ATensor, *BTensor, *OutputTensor;
} DML_ELEMENT_WISE_DIFFERENCE_SQUARE_OPERATOR_DESC;

/* Gradient of LOCAL_RESPONSE_NORMALIZATION. */
typedef struct DML_LOCAL_RESPONSE_NORMALIZATION_GRAD_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *InputGradientTensor, *OutputGradientTensor;
    BOOL CrossChannel;
    UINT LocalSize;
    FLOAT Alpha, Beta, Bias;
} DML_LOCAL_RESPONSE_NORMALIZATION_GRAD_OPERATOR_DESC;

/* Running product along Axis. */
typedef struct DML_CUMULATIVE_PRODUCT_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *OutputTensor;
    UINT Axis;
    DML_AXIS_DIRECTION AxisDirection;
    BOOL HasExclusiveProduct;
} DML_CUMULATIVE_PRODUCT_OPERATOR_DESC;

/* Gradient of BATCH_NORMALIZATION for given mean and variance. */
typedef struct DML_BATCH_NORMALIZATION_GRAD_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *InputGradientTensor, *MeanTensor, *VarianceTensor, *ScaleTensor;
    const DML_TENSOR_DESC *OutputGradientTensor, *OutputScaleGradientTensor, *OutputBiasGradientTensor;
    FLOAT Epsilon;
} DML_BATCH_NORMALIZATION_GRAD_OPERATOR_DESC;

#endif /* DML_TARGET_VERSION >= 0x3100 */

#if DML_TARGET_VERSION >= 0x4000

/* Sum of two quantized tensors, quantized again (output scale and zero point are inputs). May be NULL:
 * AZeroPointTensor, BZeroPointTensor, OutputZeroPointTensor. */
typedef struct DML_ELEMENT_WISE_QUANTIZED_LINEAR_ADD_OPERATOR_DESC {
    const DML_TENSOR_DESC *ATensor, *AScaleTensor, *AZeroPointTensor, *BTensor, *BScaleTensor;
    const DML_TENSOR_DESC *BZeroPointTensor, *OutputScaleTensor, *OutputZeroPointTensor, *OutputTensor;
} DML_ELEMENT_WISE_QUANTIZED_LINEAR_ADD_OPERATOR_DESC;

/* Quantizes by the input's own range; the computed scale and zero point are outputs. */
typedef struct DML_DYNAMIC_QUANTIZE_LINEAR_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *OutputTensor, *OutputScaleTensor, *OutputZeroPointTensor;
} DML_DYNAMIC_QUANTIZE_LINEAR_OPERATOR_DESC;

/* ROI_ALIGN with pixel offsets and aligned corners. */
typedef struct DML_ROI_ALIGN1_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *ROITensor, *BatchIndicesTensor, *OutputTensor;
    DML_REDUCE_FUNCTION ReductionFunction;
    DML_INTERPOLATION_MODE InterpolationMode;
    FLOAT SpatialScaleX, SpatialScaleY, InputPixelOffset, OutputPixelOffset, OutOfBoundsInputValue;
    UINT MinimumSamplesPerOutput, MaximumSamplesPerOutput;
    BOOL AlignRegionsToCorners;
} DML_ROI_ALIGN1_OPERATOR_DESC;

#endif /* DML_TARGET_VERSION >= 0x4000 */

#if DML_TARGET_VERSION >= 0x4100

/* Gradients of ROI_ALIGN1. May be NULL: InputTensor, OutputGradientTensor, OutputROIGradientTensor. */
typedef struct DML_ROI_ALIGN_GRAD_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *InputGradientTensor, *ROITensor, *BatchIndicesTensor;
    const DML_TENSOR_DESC *OutputGradientTensor, *OutputROIGradientTensor;
    DML_REDUCE_FUNCTION ReductionFunction;
    DML_INTERPOLATION_MODE InterpolationMode;
    FLOAT SpatialScaleX, SpatialScaleY, InputPixelOffset, OutputPixelOffset;
    UINT MinimumSamplesPerOutput, MaximumSamplesPerOutput;
    BOOL AlignRegionsToCorners;
} DML_ROI_ALIGN_GRAD_OPERATOR_DESC;

/* Batch normalization that also outputs the mean and variance that it computed. May be NULL: FusedAddTensor. */
typedef struct DML_BATCH_NORMALIZATION_TRAINING_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *ScaleTensor, *BiasTensor, *FusedAddTensor, *OutputTensor;
    const DML_TENSOR_DESC *OutputMeanTensor, *OutputVarianceTensor;
    FLOAT Epsilon;
    const DML_OPERATOR_DESC *FusedActivation;
} DML_BATCH_NORMALIZATION_TRAINING_OPERATOR_DESC;

/* Gradient of BATCH_NORMALIZATION_TRAINING. */
typedef struct DML_BATCH_NORMALIZATION_TRAINING_GRAD_OPERATOR_DESC {
    const DML_TENSOR_DESC *InputTensor, *InputGradientTensor, *MeanTensor, *VarianceTensor, *ScaleTensor;
    const DML_TENSOR_DESC *OutputGradientTensor, *OutputScaleGradientTensor, *OutputBiasGradientTensor;
    FLOAT Epsilon;
} DML_BATCH_NORMALIZATION_TRAINING_GRAD_OPERATOR_DESC;

#endif /* DML_TARGET_VERSION >= 0x4100 */

#endif
