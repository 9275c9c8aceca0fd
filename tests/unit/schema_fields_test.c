/* SPDX-License-Identifier: Apache-2.0 */
/* The operator table against an independent list of names, values, feature levels, fields in order, optional fields and
 * the layout of the C structs (System V rules on a 64-bit machine). */
#include <string.h>

#include "schema/schema.h"
#include "test.h"

/* Fields as name:code. Tensors: i input, o output, with ? optional, with * an array. u UINT, n INT, f FLOAT, b BOOL,
 * e enumeration, t data type of scalars, x DML_SCALAR_UNION, s DML_SIZE_2D, g DML_SCALE_BIAS pointer, U N F arrays,
 * a activation, A array of activations. */
static const struct {
    const char *name;
    uint32_t type, level;
    const char *fields;
} expected[] = {
    { "ELEMENT_WISE_IDENTITY", 1, 0x1000, "InputTensor:i OutputTensor:o ScaleBias:g" },
    { "ELEMENT_WISE_ABS", 2, 0x1000, "InputTensor:i OutputTensor:o ScaleBias:g" },
    { "ELEMENT_WISE_ACOS", 3, 0x1000, "InputTensor:i OutputTensor:o ScaleBias:g" },
    { "ELEMENT_WISE_ADD", 4, 0x1000, "ATensor:i BTensor:i OutputTensor:o" },
    { "ELEMENT_WISE_ASIN", 5, 0x1000, "InputTensor:i OutputTensor:o ScaleBias:g" },
    { "ELEMENT_WISE_ATAN", 6, 0x1000, "InputTensor:i OutputTensor:o ScaleBias:g" },
    { "ELEMENT_WISE_CEIL", 7, 0x1000, "InputTensor:i OutputTensor:o ScaleBias:g" },
    { "ELEMENT_WISE_CLIP", 8, 0x1000, "InputTensor:i OutputTensor:o ScaleBias:g Min:f Max:f" },
    { "ELEMENT_WISE_COS", 9, 0x1000, "InputTensor:i OutputTensor:o ScaleBias:g" },
    { "ELEMENT_WISE_DIVIDE", 10, 0x1000, "ATensor:i BTensor:i OutputTensor:o" },
    { "ELEMENT_WISE_EXP", 11, 0x1000, "InputTensor:i OutputTensor:o ScaleBias:g" },
    { "ELEMENT_WISE_FLOOR", 12, 0x1000, "InputTensor:i OutputTensor:o ScaleBias:g" },
    { "ELEMENT_WISE_LOG", 13, 0x1000, "InputTensor:i OutputTensor:o ScaleBias:g" },
    { "ELEMENT_WISE_LOGICAL_AND", 14, 0x1000, "ATensor:i BTensor:i OutputTensor:o" },
    { "ELEMENT_WISE_LOGICAL_EQUALS", 15, 0x1000, "ATensor:i BTensor:i OutputTensor:o" },
    { "ELEMENT_WISE_LOGICAL_GREATER_THAN", 16, 0x1000, "ATensor:i BTensor:i OutputTensor:o" },
    { "ELEMENT_WISE_LOGICAL_LESS_THAN", 17, 0x1000, "ATensor:i BTensor:i OutputTensor:o" },
    { "ELEMENT_WISE_LOGICAL_NOT", 18, 0x1000, "InputTensor:i OutputTensor:o" },
    { "ELEMENT_WISE_LOGICAL_OR", 19, 0x1000, "ATensor:i BTensor:i OutputTensor:o" },
    { "ELEMENT_WISE_LOGICAL_XOR", 20, 0x1000, "ATensor:i BTensor:i OutputTensor:o" },
    { "ELEMENT_WISE_MAX", 21, 0x1000, "ATensor:i BTensor:i OutputTensor:o" },
    { "ELEMENT_WISE_MEAN", 22, 0x1000, "ATensor:i BTensor:i OutputTensor:o" },
    { "ELEMENT_WISE_MIN", 23, 0x1000, "ATensor:i BTensor:i OutputTensor:o" },
    { "ELEMENT_WISE_MULTIPLY", 24, 0x1000, "ATensor:i BTensor:i OutputTensor:o" },
    { "ELEMENT_WISE_POW", 25, 0x1000, "InputTensor:i ExponentTensor:i OutputTensor:o ScaleBias:g" },
    { "ELEMENT_WISE_CONSTANT_POW", 26, 0x1000, "InputTensor:i OutputTensor:o ScaleBias:g Exponent:f" },
    { "ELEMENT_WISE_RECIP", 27, 0x1000, "InputTensor:i OutputTensor:o ScaleBias:g" },
    { "ELEMENT_WISE_SIN", 28, 0x1000, "InputTensor:i OutputTensor:o ScaleBias:g" },
    { "ELEMENT_WISE_SQRT", 29, 0x1000, "InputTensor:i OutputTensor:o ScaleBias:g" },
    { "ELEMENT_WISE_SUBTRACT", 30, 0x1000, "ATensor:i BTensor:i OutputTensor:o" },
    { "ELEMENT_WISE_TAN", 31, 0x1000, "InputTensor:i OutputTensor:o ScaleBias:g" },
    { "ELEMENT_WISE_THRESHOLD", 32, 0x1000, "InputTensor:i OutputTensor:o ScaleBias:g Min:f" },
    { "ELEMENT_WISE_QUANTIZE_LINEAR", 33, 0x1000, "InputTensor:i ScaleTensor:i ZeroPointTensor:i? OutputTensor:o" },
    { "ELEMENT_WISE_DEQUANTIZE_LINEAR", 34, 0x1000, "InputTensor:i ScaleTensor:i ZeroPointTensor:i? OutputTensor:o" },
    { "ACTIVATION_ELU", 35, 0x1000, "InputTensor:i OutputTensor:o Alpha:f" },
    { "ACTIVATION_HARDMAX", 36, 0x1000, "InputTensor:i OutputTensor:o" },
    { "ACTIVATION_HARD_SIGMOID", 37, 0x1000, "InputTensor:i OutputTensor:o Alpha:f Beta:f" },
    { "ACTIVATION_IDENTITY", 38, 0x1000, "InputTensor:i OutputTensor:o" },
    { "ACTIVATION_LEAKY_RELU", 39, 0x1000, "InputTensor:i OutputTensor:o Alpha:f" },
    { "ACTIVATION_LINEAR", 40, 0x1000, "InputTensor:i OutputTensor:o Alpha:f Beta:f" },
    { "ACTIVATION_LOG_SOFTMAX", 41, 0x1000, "InputTensor:i OutputTensor:o" },
    { "ACTIVATION_PARAMETERIZED_RELU", 42, 0x1000, "InputTensor:i SlopeTensor:i OutputTensor:o" },
    { "ACTIVATION_PARAMETRIC_SOFTPLUS", 43, 0x1000, "InputTensor:i OutputTensor:o Alpha:f Beta:f" },
    { "ACTIVATION_RELU", 44, 0x1000, "InputTensor:i OutputTensor:o" },
    { "ACTIVATION_SCALED_ELU", 45, 0x1000, "InputTensor:i OutputTensor:o Alpha:f Gamma:f" },
    { "ACTIVATION_SCALED_TANH", 46, 0x1000, "InputTensor:i OutputTensor:o Alpha:f Beta:f" },
    { "ACTIVATION_SIGMOID", 47, 0x1000, "InputTensor:i OutputTensor:o" },
    { "ACTIVATION_SOFTMAX", 48, 0x1000, "InputTensor:i OutputTensor:o" },
    { "ACTIVATION_SOFTPLUS", 49, 0x1000, "InputTensor:i OutputTensor:o Steepness:f" },
    { "ACTIVATION_SOFTSIGN", 50, 0x1000, "InputTensor:i OutputTensor:o" },
    { "ACTIVATION_TANH", 51, 0x1000, "InputTensor:i OutputTensor:o" },
    { "ACTIVATION_THRESHOLDED_RELU", 52, 0x1000, "InputTensor:i OutputTensor:o Alpha:f" },
    { "CONVOLUTION", 53, 0x1000,
      "InputTensor:i FilterTensor:i BiasTensor:i? OutputTensor:o Mode:e Direction:e DimensionCount:u Strides:U "
      "Dilations:U StartPadding:U EndPadding:U OutputPadding:U GroupCount:u FusedActivation:a" },
    { "GEMM", 54, 0x1000,
      "ATensor:i BTensor:i CTensor:i? OutputTensor:o TransA:e TransB:e Alpha:f Beta:f FusedActivation:a" },
    { "REDUCE", 55, 0x1000, "Function:e InputTensor:i OutputTensor:o AxisCount:u Axes:U" },
    { "AVERAGE_POOLING", 56, 0x1000,
      "InputTensor:i OutputTensor:o DimensionCount:u Strides:U WindowSize:U StartPadding:U EndPadding:U "
      "IncludePadding:b" },
    { "LP_POOLING", 57, 0x1000,
      "InputTensor:i OutputTensor:o DimensionCount:u Strides:U WindowSize:U StartPadding:U EndPadding:U P:u" },
    { "MAX_POOLING", 58, 0x1000,
      "InputTensor:i OutputTensor:o DimensionCount:u Strides:U WindowSize:U StartPadding:U EndPadding:U" },
    { "ROI_POOLING", 59, 0x1000, "InputTensor:i ROITensor:i OutputTensor:o SpatialScale:f PooledSize:s" },
    { "SLICE", 60, 0x1000, "InputTensor:i OutputTensor:o DimensionCount:u Offsets:U Sizes:U Strides:U" },
    { "CAST", 61, 0x1000, "InputTensor:i OutputTensor:o" },
    { "SPLIT", 62, 0x1000, "InputTensor:i OutputCount:u OutputTensors:o* Axis:u" },
    { "JOIN", 63, 0x1000, "InputCount:u InputTensors:i* OutputTensor:o Axis:u" },
    { "PADDING", 64, 0x1000,
      "InputTensor:i OutputTensor:o PaddingMode:e PaddingValue:f DimensionCount:u StartPadding:U EndPadding:U" },
    { "VALUE_SCALE_2D", 65, 0x1000, "InputTensor:i OutputTensor:o Scale:f ChannelCount:u Bias:F" },
    { "UPSAMPLE_2D", 66, 0x1000, "InputTensor:i OutputTensor:o ScaleSize:s InterpolationMode:e" },
    { "GATHER", 67, 0x1000, "InputTensor:i IndicesTensor:i OutputTensor:o Axis:u IndexDimensions:u" },
    { "SPACE_TO_DEPTH", 68, 0x1000, "InputTensor:i OutputTensor:o BlockSize:u" },
    { "DEPTH_TO_SPACE", 69, 0x1000, "InputTensor:i OutputTensor:o BlockSize:u" },
    { "TILE", 70, 0x1000, "InputTensor:i OutputTensor:o RepeatsCount:u Repeats:U" },
    { "TOP_K", 71, 0x1000, "InputTensor:i OutputValueTensor:o OutputIndexTensor:o Axis:u K:u" },
    { "BATCH_NORMALIZATION", 72, 0x1000,
      "InputTensor:i MeanTensor:i VarianceTensor:i ScaleTensor:i BiasTensor:i OutputTensor:o Spatial:b "
      "Epsilon:f FusedActivation:a" },
    { "MEAN_VARIANCE_NORMALIZATION", 73, 0x1000,
      "InputTensor:i ScaleTensor:i? BiasTensor:i? OutputTensor:o CrossChannel:b NormalizeVariance:b Epsilon:f "
      "FusedActivation:a" },
    { "LOCAL_RESPONSE_NORMALIZATION", 74, 0x1000,
      "InputTensor:i OutputTensor:o CrossChannel:b LocalSize:u Alpha:f Beta:f Bias:f" },
    { "LP_NORMALIZATION", 75, 0x1000, "InputTensor:i OutputTensor:o Axis:u Epsilon:f P:u" },
    { "RNN", 76, 0x1000,
      "InputTensor:i WeightTensor:i RecurrenceTensor:i BiasTensor:i? HiddenInitTensor:i? "
      "SequenceLengthsTensor:i? OutputSequenceTensor:o? OutputSingleTensor:o? ActivationDescCount:u "
      "ActivationDescs:A Direction:e" },
    { "LSTM", 77, 0x1000,
      "InputTensor:i WeightTensor:i RecurrenceTensor:i BiasTensor:i? HiddenInitTensor:i? CellMemInitTensor:i? "
      "SequenceLengthsTensor:i? PeepholeTensor:i? OutputSequenceTensor:o? OutputSingleTensor:o? "
      "OutputCellSingleTensor:o? ActivationDescCount:u ActivationDescs:A Direction:e ClipThreshold:f "
      "UseClipThreshold:b CoupleInputForget:b" },
    { "GRU", 78, 0x1000,
      "InputTensor:i WeightTensor:i RecurrenceTensor:i BiasTensor:i? HiddenInitTensor:i? "
      "SequenceLengthsTensor:i? OutputSequenceTensor:o? OutputSingleTensor:o? ActivationDescCount:u "
      "ActivationDescs:A Direction:e LinearBeforeReset:b" },
    { "ELEMENT_WISE_SIGN", 79, 0x2000, "InputTensor:i OutputTensor:o" },
    { "ELEMENT_WISE_IS_NAN", 80, 0x2000, "InputTensor:i OutputTensor:o" },
    { "ELEMENT_WISE_ERF", 81, 0x2000, "InputTensor:i OutputTensor:o ScaleBias:g" },
    { "ELEMENT_WISE_SINH", 82, 0x2000, "InputTensor:i OutputTensor:o ScaleBias:g" },
    { "ELEMENT_WISE_COSH", 83, 0x2000, "InputTensor:i OutputTensor:o ScaleBias:g" },
    { "ELEMENT_WISE_TANH", 84, 0x2000, "InputTensor:i OutputTensor:o ScaleBias:g" },
    { "ELEMENT_WISE_ASINH", 85, 0x2000, "InputTensor:i OutputTensor:o ScaleBias:g" },
    { "ELEMENT_WISE_ACOSH", 86, 0x2000, "InputTensor:i OutputTensor:o ScaleBias:g" },
    { "ELEMENT_WISE_ATANH", 87, 0x2000, "InputTensor:i OutputTensor:o ScaleBias:g" },
    { "ELEMENT_WISE_IF", 88, 0x2000, "ConditionTensor:i ATensor:i BTensor:i OutputTensor:o" },
    { "ELEMENT_WISE_ADD1", 89, 0x2000, "ATensor:i BTensor:i OutputTensor:o FusedActivation:a" },
    { "ACTIVATION_SHRINK", 90, 0x2000, "InputTensor:i OutputTensor:o Bias:f Threshold:f" },
    { "MAX_POOLING1", 91, 0x2000,
      "InputTensor:i OutputTensor:o OutputIndicesTensor:o? DimensionCount:u Strides:U WindowSize:U "
      "StartPadding:U EndPadding:U" },
    { "MAX_UNPOOLING", 92, 0x2000, "InputTensor:i IndicesTensor:i OutputTensor:o" },
    { "DIAGONAL_MATRIX", 93, 0x2000, "OutputTensor:o Offset:n Value:f" },
    { "SCATTER_ELEMENTS", 94, 0x2000, "InputTensor:i IndicesTensor:i UpdatesTensor:i OutputTensor:o Axis:u" },
    { "ONE_HOT", 95, 0x2000, "IndicesTensor:i ValuesTensor:i OutputTensor:o Axis:u" },
    { "RESAMPLE", 96, 0x2000, "InputTensor:i OutputTensor:o InterpolationMode:e ScaleCount:u Scales:F" },
    { "ELEMENT_WISE_BIT_SHIFT_LEFT", 97, 0x2100, "ATensor:i BTensor:i OutputTensor:o" },
    { "ELEMENT_WISE_BIT_SHIFT_RIGHT", 98, 0x2100, "ATensor:i BTensor:i OutputTensor:o" },
    { "ELEMENT_WISE_ROUND", 99, 0x2100, "InputTensor:i OutputTensor:o RoundingMode:e" },
    { "ELEMENT_WISE_IS_INFINITY", 100, 0x2100, "InputTensor:i OutputTensor:o InfinityMode:e" },
    { "ELEMENT_WISE_MODULUS_TRUNCATE", 101, 0x2100, "ATensor:i BTensor:i OutputTensor:o" },
    { "ELEMENT_WISE_MODULUS_FLOOR", 102, 0x2100, "ATensor:i BTensor:i OutputTensor:o" },
    { "FILL_VALUE_CONSTANT", 103, 0x2100, "OutputTensor:o ValueDataType:t Value:x" },
    { "FILL_VALUE_SEQUENCE", 104, 0x2100, "OutputTensor:o ValueDataType:t ValueStart:x ValueDelta:x" },
    { "CUMULATIVE_SUMMATION", 105, 0x2100, "InputTensor:i OutputTensor:o Axis:u AxisDirection:e HasExclusiveSum:b" },
    { "REVERSE_SUBSEQUENCES", 106, 0x2100, "InputTensor:i SequenceLengthsTensor:i OutputTensor:o Axis:u" },
    { "GATHER_ELEMENTS", 107, 0x2100, "InputTensor:i IndicesTensor:i OutputTensor:o Axis:u" },
    { "GATHER_ND", 108, 0x2100,
      "InputTensor:i IndicesTensor:i OutputTensor:o InputDimensionCount:u IndicesDimensionCount:u" },
    { "SCATTER_ND", 109, 0x2100,
      "InputTensor:i IndicesTensor:i UpdatesTensor:i OutputTensor:o InputDimensionCount:u "
      "IndicesDimensionCount:u" },
    { "MAX_POOLING2", 110, 0x2100,
      "InputTensor:i OutputTensor:o OutputIndicesTensor:o? DimensionCount:u Strides:U WindowSize:U "
      "StartPadding:U EndPadding:U Dilations:U" },
    { "SLICE1", 111, 0x2100,
      "InputTensor:i OutputTensor:o DimensionCount:u InputWindowOffsets:U InputWindowSizes:U "
      "InputWindowStrides:N" },
    { "TOP_K1", 112, 0x2100, "InputTensor:i OutputValueTensor:o OutputIndexTensor:o Axis:u K:u AxisDirection:e" },
    { "DEPTH_TO_SPACE1", 113, 0x2100, "InputTensor:i OutputTensor:o BlockSize:u Order:e" },
    { "SPACE_TO_DEPTH1", 114, 0x2100, "InputTensor:i OutputTensor:o BlockSize:u Order:e" },
    { "MEAN_VARIANCE_NORMALIZATION1", 115, 0x2100,
      "InputTensor:i ScaleTensor:i? BiasTensor:i? OutputTensor:o AxisCount:u Axes:U NormalizeVariance:b "
      "Epsilon:f FusedActivation:a" },
    { "RESAMPLE1", 116, 0x2100,
      "InputTensor:i OutputTensor:o InterpolationMode:e DimensionCount:u Scales:F InputPixelOffsets:F "
      "OutputPixelOffsets:F" },
    { "MATRIX_MULTIPLY_INTEGER", 117, 0x2100,
      "ATensor:i AZeroPointTensor:i? BTensor:i BZeroPointTensor:i? OutputTensor:o" },
    { "QUANTIZED_LINEAR_MATRIX_MULTIPLY", 118, 0x2100,
      "ATensor:i AScaleTensor:i AZeroPointTensor:i? BTensor:i BScaleTensor:i BZeroPointTensor:i? "
      "OutputScaleTensor:i OutputZeroPointTensor:i? OutputTensor:o" },
    { "CONVOLUTION_INTEGER", 119, 0x2100,
      "InputTensor:i InputZeroPointTensor:i? FilterTensor:i FilterZeroPointTensor:i? OutputTensor:o "
      "DimensionCount:u Strides:U Dilations:U StartPadding:U EndPadding:U GroupCount:u" },
    { "QUANTIZED_LINEAR_CONVOLUTION", 120, 0x2100,
      "InputTensor:i InputScaleTensor:i InputZeroPointTensor:i? FilterTensor:i FilterScaleTensor:i "
      "FilterZeroPointTensor:i? BiasTensor:i? OutputScaleTensor:i OutputZeroPointTensor:i? OutputTensor:o "
      "DimensionCount:u Strides:U Dilations:U StartPadding:U EndPadding:U GroupCount:u" },
    { "ELEMENT_WISE_BIT_AND", 121, 0x3000, "ATensor:i BTensor:i OutputTensor:o" },
    { "ELEMENT_WISE_BIT_OR", 122, 0x3000, "ATensor:i BTensor:i OutputTensor:o" },
    { "ELEMENT_WISE_BIT_XOR", 123, 0x3000, "ATensor:i BTensor:i OutputTensor:o" },
    { "ELEMENT_WISE_BIT_NOT", 124, 0x3000, "InputTensor:i OutputTensor:o" },
    { "ELEMENT_WISE_BIT_COUNT", 125, 0x3000, "InputTensor:i OutputTensor:o" },
    { "ELEMENT_WISE_LOGICAL_GREATER_THAN_OR_EQUAL", 126, 0x3000, "ATensor:i BTensor:i OutputTensor:o" },
    { "ELEMENT_WISE_LOGICAL_LESS_THAN_OR_EQUAL", 127, 0x3000, "ATensor:i BTensor:i OutputTensor:o" },
    { "ACTIVATION_CELU", 128, 0x3000, "InputTensor:i OutputTensor:o Alpha:f" },
    { "ACTIVATION_RELU_GRAD", 129, 0x3000, "InputTensor:i InputGradientTensor:i OutputGradientTensor:o" },
    { "AVERAGE_POOLING_GRAD", 130, 0x3000,
      "InputGradientTensor:i OutputGradientTensor:o DimensionCount:u Strides:U WindowSize:U StartPadding:U "
      "EndPadding:U IncludePadding:b" },
    { "MAX_POOLING_GRAD", 131, 0x3000,
      "InputTensor:i InputGradientTensor:i OutputGradientTensor:o DimensionCount:u Strides:U WindowSize:U "
      "StartPadding:U EndPadding:U Dilations:U" },
    { "RANDOM_GENERATOR", 132, 0x3000, "InputStateTensor:i OutputTensor:o OutputStateTensor:o? Type:e" },
    { "NONZERO_COORDINATES", 133, 0x3000, "InputTensor:i OutputCountTensor:o OutputCoordinatesTensor:o" },
    { "RESAMPLE_GRAD", 134, 0x3000,
      "InputGradientTensor:i OutputGradientTensor:o InterpolationMode:e DimensionCount:u Scales:F "
      "InputPixelOffsets:F OutputPixelOffsets:F" },
    { "SLICE_GRAD", 135, 0x3000,
      "InputGradientTensor:i OutputGradientTensor:o DimensionCount:u InputWindowOffsets:U InputWindowSizes:U "
      "InputWindowStrides:N" },
    { "ADAM_OPTIMIZER", 136, 0x3000,
      "InputParametersTensor:i InputFirstMomentTensor:i InputSecondMomentTensor:i GradientTensor:i "
      "TrainingStepTensor:i OutputParametersTensor:o OutputFirstMomentTensor:o OutputSecondMomentTensor:o "
      "LearningRate:f Beta1:f Beta2:f Epsilon:f" },
    { "ARGMIN", 137, 0x3000, "InputTensor:i OutputTensor:o AxisCount:u Axes:U AxisDirection:e" },
    { "ARGMAX", 138, 0x3000, "InputTensor:i OutputTensor:o AxisCount:u Axes:U AxisDirection:e" },
    { "ROI_ALIGN", 139, 0x3000,
      "InputTensor:i ROITensor:i BatchIndicesTensor:i OutputTensor:o ReductionFunction:e InterpolationMode:e "
      "SpatialScaleX:f SpatialScaleY:f OutOfBoundsInputValue:f MinimumSamplesPerOutput:u "
      "MaximumSamplesPerOutput:u" },
    { "GATHER_ND1", 140, 0x3000,
      "InputTensor:i IndicesTensor:i OutputTensor:o InputDimensionCount:u IndicesDimensionCount:u "
      "BatchDimensionCount:u" },
    { "ELEMENT_WISE_ATAN_YX", 141, 0x3100, "ATensor:i BTensor:i OutputTensor:o" },
    { "ELEMENT_WISE_CLIP_GRAD", 142, 0x3100, "InputTensor:i InputGradientTensor:i OutputGradientTensor:o Min:f Max:f" },
    { "ELEMENT_WISE_DIFFERENCE_SQUARE", 143, 0x3100, "ATensor:i BTensor:i OutputTensor:o" },
    { "LOCAL_RESPONSE_NORMALIZATION_GRAD", 144, 0x3100,
      "InputTensor:i InputGradientTensor:i OutputGradientTensor:o CrossChannel:b LocalSize:u Alpha:f Beta:f "
      "Bias:f" },
    { "CUMULATIVE_PRODUCT", 145, 0x3100, "InputTensor:i OutputTensor:o Axis:u AxisDirection:e HasExclusiveProduct:b" },
    { "BATCH_NORMALIZATION_GRAD", 146, 0x3100,
      "InputTensor:i InputGradientTensor:i MeanTensor:i VarianceTensor:i ScaleTensor:i OutputGradientTensor:o "
      "OutputScaleGradientTensor:o OutputBiasGradientTensor:o Epsilon:f" },
    { "ELEMENT_WISE_QUANTIZED_LINEAR_ADD", 147, 0x4000,
      "ATensor:i AScaleTensor:i AZeroPointTensor:i? BTensor:i BScaleTensor:i BZeroPointTensor:i? "
      "OutputScaleTensor:i OutputZeroPointTensor:i? OutputTensor:o" },
    { "DYNAMIC_QUANTIZE_LINEAR", 148, 0x4000,
      "InputTensor:i OutputTensor:o OutputScaleTensor:o OutputZeroPointTensor:o" },
    { "ROI_ALIGN1", 149, 0x4000,
      "InputTensor:i ROITensor:i BatchIndicesTensor:i OutputTensor:o ReductionFunction:e InterpolationMode:e "
      "SpatialScaleX:f SpatialScaleY:f InputPixelOffset:f OutputPixelOffset:f OutOfBoundsInputValue:f "
      "MinimumSamplesPerOutput:u MaximumSamplesPerOutput:u AlignRegionsToCorners:b" },
    { "ROI_ALIGN_GRAD", 150, 0x4100,
      "InputTensor:i? InputGradientTensor:i ROITensor:i BatchIndicesTensor:i OutputGradientTensor:o? "
      "OutputROIGradientTensor:o? ReductionFunction:e InterpolationMode:e SpatialScaleX:f SpatialScaleY:f "
      "InputPixelOffset:f OutputPixelOffset:f MinimumSamplesPerOutput:u MaximumSamplesPerOutput:u "
      "AlignRegionsToCorners:b" },
    { "BATCH_NORMALIZATION_TRAINING", 151, 0x4100,
      "InputTensor:i ScaleTensor:i BiasTensor:i FusedAddTensor:i? OutputTensor:o OutputMeanTensor:o "
      "OutputVarianceTensor:o Epsilon:f FusedActivation:a" },
    { "BATCH_NORMALIZATION_TRAINING_GRAD", 152, 0x4100,
      "InputTensor:i InputGradientTensor:i MeanTensor:i VarianceTensor:i ScaleTensor:i OutputGradientTensor:o "
      "OutputScaleGradientTensor:o OutputBiasGradientTensor:o Epsilon:f" },
    { "ELEMENT_WISE_CLIP1", 153, 0x5000, "InputTensor:i OutputTensor:o ScaleBias:g MinMaxDataType:t Min:x Max:x" },
    { "ELEMENT_WISE_CLIP_GRAD1", 154, 0x5000,
      "InputTensor:i InputGradientTensor:i OutputGradientTensor:o MinMaxDataType:t Min:x Max:x" },
    { "PADDING1", 155, 0x5000,
      "InputTensor:i OutputTensor:o PaddingMode:e PaddingValueDataType:t PaddingValue:x DimensionCount:u "
      "StartPadding:U EndPadding:U" },
    { "ELEMENT_WISE_NEGATE", 156, 0x5000, "InputTensor:i OutputTensor:o" },
    { "ACTIVATION_GELU", 157, 0x5100, "InputTensor:i OutputTensor:o" },
    { "ACTIVATION_SOFTMAX1", 158, 0x5100, "InputTensor:i OutputTensor:o AxisCount:u Axes:U" },
    { "ACTIVATION_LOG_SOFTMAX1", 159, 0x5100, "InputTensor:i OutputTensor:o AxisCount:u Axes:U" },
    { "ACTIVATION_HARDMAX1", 160, 0x5100, "InputTensor:i OutputTensor:o AxisCount:u Axes:U" },
    { "RESAMPLE2", 161, 0x5100,
      "InputTensor:i OutputTensor:o InterpolationMode:e RoundingDirection:e DimensionCount:u Scales:F "
      "InputPixelOffsets:F OutputPixelOffsets:F" },
    { "RESAMPLE_GRAD1", 162, 0x5100,
      "InputGradientTensor:i OutputGradientTensor:o InterpolationMode:e RoundingDirection:e DimensionCount:u "
      "Scales:F InputPixelOffsets:F OutputPixelOffsets:F" },
    { "DIAGONAL_MATRIX1", 163, 0x5100,
      "InputTensor:i? OutputTensor:o ValueDataType:t Value:x DiagonalFillBegin:n DiagonalFillEnd:n" },
    { "MULTIHEAD_ATTENTION", 164, 0x6100,
      "QueryTensor:i? KeyTensor:i? ValueTensor:i? StackedQueryKeyTensor:i? StackedKeyValueTensor:i? "
      "StackedQueryKeyValueTensor:i? BiasTensor:i? MaskTensor:i? RelativePositionBiasTensor:i? "
      "PastKeyTensor:i? PastValueTensor:i? OutputTensor:o OutputPresentKeyTensor:o? "
      "OutputPresentValueTensor:o? Scale:f MaskFilterValue:f HeadCount:u MaskType:e" },
    { "LP_POOLING1", 165, 0x6200,
      "InputTensor:i OutputTensor:o DimensionCount:u Strides:U WindowSize:U StartPadding:U EndPadding:U "
      "Dilations:U P:u" },
    { "AVERAGE_POOLING1", 166, 0x6200,
      "InputTensor:i OutputTensor:o DimensionCount:u Strides:U WindowSize:U StartPadding:U EndPadding:U "
      "Dilations:U IncludePadding:b" },
    { "ACTIVATION_SWISH", 167, 0x6200, "InputTensor:i OutputTensor:o SigmoidInputScale:f" },
    { "ACTIVATION_HARD_SWISH", 168, 0x6200, "InputTensor:i OutputTensor:o Alpha:f Beta:f" },
    { "QUANTIZED_LINEAR_AVERAGE_POOLING", 169, 0x6200,
      "InputTensor:i InputScaleTensor:i InputZeroPointTensor:i? OutputScaleTensor:i OutputZeroPointTensor:i? "
      "OutputTensor:o DimensionCount:u Strides:U WindowSize:U StartPadding:U EndPadding:U Dilations:U "
      "IncludePadding:b" },
    { "MATRIX_MULTIPLY_INTEGER_TO_FLOAT", 170, 0x6200,
      "ATensor:i AScaleTensor:i AZeroPointTensor:i? BTensor:i BScaleTensor:i BZeroPointTensor:i? BiasTensor:i? "
      "OutputTensor:o" },
    { "MEAN_VARIANCE_NORMALIZATION2", 171, 0x6300,
      "InputTensor:i ScaleTensor:i? BiasTensor:i? OutputTensor:o AxisCount:u Axes:U UseMean:b UseVariance:b "
      "Epsilon:f FusedActivation:a" },
    { "MULTIHEAD_ATTENTION1", 172, 0x6300,
      "QueryTensor:i? KeyTensor:i? ValueTensor:i? StackedQueryKeyTensor:i? StackedKeyValueTensor:i? "
      "StackedQueryKeyValueTensor:i? BiasTensor:i? MaskTensor:i? RelativePositionBiasTensor:i? "
      "PastKeyTensor:i? PastValueTensor:i? PastSequenceLengthsTensor:i? OutputTensor:o "
      "OutputPresentKeyTensor:o? OutputPresentValueTensor:o? Scale:f MaskFilterValue:f QueryHeadCount:u "
      "KeyValueHeadCount:u MaskType:e" },
    { "QUANTIZE", 173, 0x6300,
      "InputTensor:i QuantizationType:e QuantizationTensorCount:u QuantizationTensors:i* OutputTensor:o" },
    { "DEQUANTIZE", 174, 0x6300,
      "InputTensor:i QuantizationType:e QuantizationTensorCount:u QuantizationTensors:i* OutputTensor:o" },
    { "RESAMPLE3", 175, 0x6400,
      "InputTensor:i OutputTensor:o InterpolationMode:e RoundingDirection:e DimensionCount:u Scales:F "
      "InputPixelOffsets:F OutputPixelOffsets:F Antialiased:b" },
    { "FOLD", 176, 0x6400,
      "InputTensor:i OutputTensor:o DimensionCount:u WindowSizes:U Strides:U Dilations:U StartPadding:U "
      "EndPadding:U" },
    { "UNFOLD", 177, 0x6400,
      "InputTensor:i OutputTensor:o DimensionCount:u WindowSizes:U Strides:U Dilations:U StartPadding:U "
      "EndPadding:U" },
};

static size_t size_of(char code)
{
    return strchr("unfbet", code) ? 4 : 8;
}

static size_t align_of(char code)
{
    return code == 's' ? 4 : size_of(code);
}

static bool is_type(const struct schema_field *field, const char *code)
{
    static const char codes[] = "i*unfbetxsgUNFaA";
    static const uint8_t types[] = {
        SCHEMA_TENSOR,
        SCHEMA_TENSOR_ARRAY,
        SCHEMA_UINT,
        SCHEMA_INT,
        SCHEMA_FLOAT,
        SCHEMA_BOOL,
        SCHEMA_ENUM,
        SCHEMA_VALUE_TYPE,
        SCHEMA_SCALAR,
        SCHEMA_SIZE_2D,
        SCHEMA_SCALE_BIAS,
        SCHEMA_UINT_ARRAY,
        SCHEMA_INT_ARRAY,
        SCHEMA_FLOAT_ARRAY,
        SCHEMA_FUSED_ACTIVATION,
        SCHEMA_ACTIVATION_ARRAY,
    };
    const bool tensor = *code == 'i' || *code == 'o';
    const char wanted = !tensor ? *code : code[1] == '*' ? '*' : 'i';
    const uint32_t kind = !tensor ? SCHEMA_ATTRIBUTE : *code == 'i' ? SCHEMA_INPUT : SCHEMA_OUTPUT;
    return field->kind == kind && field->type == types[strchr(codes, wanted) - codes];
}

/* Pointers that must not be NULL: tensors without ?, and arrays. */
static bool is_required(const char *code)
{
    return ((*code == 'i' || *code == 'o') && code[1] != '?') || strchr("UNFA", *code);
}

static void test_field(const struct schema_op *op, const struct schema_field *field, const char *text, size_t *offset)
{
    const char *colon = strchr(text, ':');
    const size_t align = align_of(colon[1]);
    *offset = (*offset + align - 1) / align * align;
    TEST_FOR(strlen(field->name) == (size_t)(colon - text) && !strncmp(field->name, text, (size_t)(colon - text)),
             "%s: %s", op->name, field->name);
    TEST_FOR(is_type(field, colon + 1), "%s: %s", op->name, field->name);
    TEST_FOR(field->required == is_required(colon + 1), "%s: %s", op->name, field->name);
    TEST_FOR(field->offset == *offset, "%s: %s", op->name, field->name);
    TEST_FOR((field->kind == SCHEMA_ATTRIBUTE) == !field->support, "%s: %s", op->name, field->name);
    TEST_FOR(schema_field_find(op, field->name) == field, "%s: %s", op->name, field->name);
    *offset += size_of(colon[1]);
}

static void test_operator(uint32_t i)
{
    const struct schema_op *op = schema_op_at(i);
    size_t offset = 0;
    uint32_t count = 0;
    TEST_FOR(!strncmp(op->name, "DML_OPERATOR_", 13) && !strcmp(op->name + 13, expected[i].name), "%s", op->name);
    TEST_FOR((uint32_t)op->type == expected[i].type && (uint32_t)op->level == expected[i].level, "%s", op->name);
    TEST_FOR(schema_op_find(op->type) == op && op->meaning[0] && op->rule_name[0], "%s", op->name);
    for (const char *text = expected[i].fields; text; count++) {
        if (!TEST_FOR(count < op->field_count, "%s: %s is missing", op->name, text))
            return;
        test_field(op, &op->fields[count], text, &offset);
        text = strchr(text, ' ');
        text = text ? text + 1 : NULL;
    }
    TEST_FOR(count == op->field_count, "%s", op->name);
    TEST_FOR(op->desc_size == (offset + 7) / 8 * 8, "%s", op->name);
}

/* Length fields are UINT attributes of the same struct. */
static void test_lengths(const struct schema_op *op)
{
    for (uint32_t i = 0; i < op->field_count; i++) {
        const struct schema_field *field = &op->fields[i], *length = NULL;
        const bool array = field->type == SCHEMA_TENSOR_ARRAY || field->type == SCHEMA_ACTIVATION_ARRAY ||
                           field->type == SCHEMA_UINT_ARRAY || field->type == SCHEMA_INT_ARRAY ||
                           field->type == SCHEMA_FLOAT_ARRAY;
        for (uint32_t k = 0; array && k < op->field_count; k++)
            if (op->fields[k].offset == field->count_offset)
                length = &op->fields[k];
        TEST_FOR(!array || (length && length->type == SCHEMA_UINT && strstr(length->name, "Count")), "%s: %s", op->name,
                 field->name);
    }
}

int main(void)
{
    const uint32_t count = sizeof(expected) / sizeof(expected[0]);
    TEST(schema_op_count() == count);
    for (uint32_t i = 0; i < count; i++) {
        test_operator(i);
        test_lengths(schema_op_at(i));
    }
    TEST(!schema_op_find(DML_OPERATOR_INVALID) && !schema_op_find((DML_OPERATOR_TYPE)(count + 1)) &&
         !schema_op_at(count));
    TEST(!schema_op_find((DML_OPERATOR_TYPE)UINT32_MAX));
    TEST(schema_op_find(DML_OPERATOR_SCATTER) == schema_op_find(DML_OPERATOR_SCATTER_ELEMENTS));
    TEST(!schema_field_find(schema_op_at(0), "NoSuchField"));
    return test_result();
}
