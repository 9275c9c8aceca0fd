/* SPDX-License-Identifier: Apache-2.0 */
#include "schema/sample.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schema/schema.h"

/* Differences from the defaults: tensors that share all sizes are 2x3x4x5, single elements 1x1x1x1, other tensors
 * absent; numbers and elements of arrays are 1, axes and enumerations 0, scalars 0 of their output's data type. Fields
 * that an operator does not have are skipped, so that related operators share a text. */
struct recipe {
    DML_OPERATOR_TYPE type;
    const char *text;
};

#define POOL                                                                                                           \
    "InputTensor=1x2x5x6 OutputTensor=1x2x4x5 OutputIndicesTensor=1x2x4x5 WindowSize=2,2 Strides=1,1 Dilations=1,1 "   \
    "StartPadding=0,0 EndPadding=0,0 "
#define NORM "ScaleTensor=1x3x1x1 BiasTensor=1x3x1x1 "
#define ROI  "InputTensor=2x3x8x8 ROITensor=5x4 BatchIndicesTensor=5 OutputTensor=5x3x2x2 MaximumSamplesPerOutput=4 "
#define RESIZE                                                                                                         \
    "InputTensor=1x2x4x4 OutputTensor=1x2x8x6 Scales=1,1,2,1.5 InputPixelOffsets=0.5,0.5,0.5,0.5 "                     \
    "OutputPixelOffsets=-0.5,-0.5,-0.5,-0.5 "
#define RESIZE_GRAD                                                                                                    \
    "InputGradientTensor=1x2x8x6 OutputGradientTensor=1x2x4x4 Scales=1,1,2,1.5 "                                       \
    "InputPixelOffsets=0.5,0.5,0.5,0.5 OutputPixelOffsets=-0.5,-0.5,-0.5,-0.5 "
#define CONV                                                                                                           \
    "InputTensor=2x4x8x7 FilterTensor=6x2x3x3 BiasTensor=1x6x1x1 OutputTensor=2x6x4x4 Strides=2,2 Dilations=1,1 "      \
    "StartPadding=1,1 EndPadding=1,1 OutputPadding=0,0 GroupCount=2 "
#define MATMUL "ATensor=2x3x4x5 BTensor=2x3x5x6 OutputTensor=2x3x4x6 "
#define RECURRENT                                                                                                      \
    "InputTensor=1x5x2x4 HiddenInitTensor=1x2x2x3 CellMemInitTensor=1x2x2x3 SequenceLengthsTensor=1x1x1x2 "            \
    "PeepholeTensor=1x1x2x9 OutputSequenceTensor=5x2x2x3 OutputSingleTensor=1x2x2x3 OutputCellSingleTensor=1x2x2x3 "   \
    "Direction=2 "
#define WINDOWS "WindowSizes=2,3 Strides=1,2 Dilations=1,1 StartPadding=1,0 EndPadding=0,1 "

static const struct recipe recipes[] = {
    { DML_OPERATOR_ACTIVATION_HARDMAX, "InputTensor=1x1x4x5 OutputTensor=1x1x4x5" },
    { DML_OPERATOR_ACTIVATION_LOG_SOFTMAX, "InputTensor=1x1x4x5 OutputTensor=1x1x4x5" },
    { DML_OPERATOR_ACTIVATION_SOFTMAX, "InputTensor=1x1x4x5 OutputTensor=1x1x4x5" },
    { DML_OPERATOR_CONVOLUTION, CONV },
    { DML_OPERATOR_GEMM, MATMUL "CTensor=2x3x4x6" },
    { DML_OPERATOR_REDUCE, "InputTensor=2x3x4x5 OutputTensor=2x1x4x1 Axes=3,1 Function=10" },
    { DML_OPERATOR_AVERAGE_POOLING, POOL },
    { DML_OPERATOR_LP_POOLING, POOL },
    { DML_OPERATOR_MAX_POOLING, POOL },
    { DML_OPERATOR_ROI_POOLING, "InputTensor=2x3x8x8 ROITensor=1x1x7x5 OutputTensor=7x3x2x3 PooledSize=3,2" },
    { DML_OPERATOR_SLICE, "InputTensor=2x3x4x5 OutputTensor=1x2x2x3 Offsets=1,0,1,0 Sizes=1,2,2,3 Strides=1,2,1,2" },
    { DML_OPERATOR_SPLIT, "InputTensor=2x3x4x5 OutputTensors=2x1x4x5+2x2x4x5 Axis=1" },
    { DML_OPERATOR_JOIN, "InputTensors=2x1x4x5+2x2x4x5 OutputTensor=2x3x4x5 Axis=1" },
    { DML_OPERATOR_PADDING, "InputTensor=2x3x4x5 OutputTensor=2x4x7x5 StartPadding=0,1,1,0 EndPadding=0,0,2,0" },
    { DML_OPERATOR_VALUE_SCALE_2D, "Bias=1,2,3" },
    { DML_OPERATOR_UPSAMPLE_2D, "InputTensor=1x2x3x4 OutputTensor=1x2x6x12 ScaleSize=3,2" },
    { DML_OPERATOR_GATHER, "InputTensor=1x3x4x5 IndicesTensor=1x1x2x2 OutputTensor=3x2x2x5 Axis=2 IndexDimensions=2" },
    { DML_OPERATOR_SPACE_TO_DEPTH, "InputTensor=2x3x4x6 OutputTensor=2x12x2x3 BlockSize=2" },
    { DML_OPERATOR_DEPTH_TO_SPACE, "InputTensor=2x12x2x3 OutputTensor=2x3x4x6 BlockSize=2" },
    { DML_OPERATOR_TILE, "InputTensor=2x3x4x5 OutputTensor=2x6x4x15 Repeats=1,2,1,3" },
    { DML_OPERATOR_TOP_K, "InputTensor=2x3x4x5 OutputValueTensor=2x3x4x2 OutputIndexTensor=2x3x4x2 Axis=3 K=2" },
    { DML_OPERATOR_BATCH_NORMALIZATION, NORM "MeanTensor=1x3x1x1 VarianceTensor=1x3x1x1" },
    { DML_OPERATOR_MEAN_VARIANCE_NORMALIZATION, NORM },
    { DML_OPERATOR_LP_NORMALIZATION, "Axis=1 P=2" },
    { DML_OPERATOR_RNN,
      RECURRENT "WeightTensor=1x2x3x4 RecurrenceTensor=1x2x3x3 BiasTensor=1x1x2x6 ActivationDescCount=2" },
    { DML_OPERATOR_LSTM,
      RECURRENT "WeightTensor=1x2x12x4 RecurrenceTensor=1x2x12x3 BiasTensor=1x1x2x24 ActivationDescCount=6" },
    { DML_OPERATOR_GRU,
      RECURRENT "WeightTensor=1x2x9x4 RecurrenceTensor=1x2x9x3 BiasTensor=1x1x2x18 ActivationDescCount=4" },
    { DML_OPERATOR_MAX_POOLING1, POOL },
    { DML_OPERATOR_MAX_UNPOOLING, "InputTensor=1x2x2x3 IndicesTensor=1x2x2x3 OutputTensor=1x2x4x6" },
    { DML_OPERATOR_DIAGONAL_MATRIX, "OutputTensor=1x1x4x5" },
    { DML_OPERATOR_SCATTER_ELEMENTS, "IndicesTensor=2x2x4x5 UpdatesTensor=2x2x4x5 Axis=1" },
    { DML_OPERATOR_ONE_HOT, "IndicesTensor=2x1x4x5 ValuesTensor=1x1x1x2 OutputTensor=2x3x4x5 Axis=1" },
    { DML_OPERATOR_RESAMPLE, RESIZE },
    { DML_OPERATOR_FILL_VALUE_CONSTANT, "OutputTensor=2x3x4x5" },
    { DML_OPERATOR_FILL_VALUE_SEQUENCE, "OutputTensor=2x3x4x5" },
    { DML_OPERATOR_REVERSE_SUBSEQUENCES, "SequenceLengthsTensor=2x1x4x5 Axis=1" },
    { DML_OPERATOR_GATHER_ELEMENTS, "InputTensor=2x3x4x5 IndicesTensor=2x6x4x5 OutputTensor=2x6x4x5 Axis=1" },
    { DML_OPERATOR_GATHER_ND,
      "InputTensor=1x2x3x4 IndicesTensor=1x1x5x2 OutputTensor=1x1x5x4 InputDimensionCount=3 IndicesDimensionCount=2" },
    { DML_OPERATOR_SCATTER_ND,
      "InputTensor=1x2x3x4 OutputTensor=1x2x3x4 IndicesTensor=1x1x5x2 UpdatesTensor=1x1x5x4 InputDimensionCount=3 "
      "IndicesDimensionCount=2" },
    { ANYDML_OPERATOR_SCATTER_REDUCE_ELEMENTS, "IndicesTensor=2x2x4x5 UpdatesTensor=2x2x4x5 Axis=1 Function=10" },
    { ANYDML_OPERATOR_SCATTER_REDUCE_ND,
      "InputTensor=1x2x3x4 OutputTensor=1x2x3x4 IndicesTensor=1x1x5x2 UpdatesTensor=1x1x5x4 InputDimensionCount=3 "
      "IndicesDimensionCount=2 Function=10" },
    { DML_OPERATOR_MAX_POOLING2, POOL },
    { DML_OPERATOR_SLICE1,
      "InputTensor=2x3x4x5 OutputTensor=1x3x2x3 InputWindowOffsets=1,0,0,0 InputWindowSizes=1,3,4,5 "
      "InputWindowStrides=1,1,-2,2" },
    { DML_OPERATOR_TOP_K1, "InputTensor=2x3x4x5 OutputValueTensor=2x3x4x2 OutputIndexTensor=2x3x4x2 Axis=3 K=2" },
    { DML_OPERATOR_DEPTH_TO_SPACE1, "InputTensor=2x12x2x3 OutputTensor=2x3x4x6 BlockSize=2" },
    { DML_OPERATOR_SPACE_TO_DEPTH1, "InputTensor=2x3x4x6 OutputTensor=2x12x2x3 BlockSize=2" },
    { DML_OPERATOR_MEAN_VARIANCE_NORMALIZATION1, NORM "Axes=2,3" },
    { DML_OPERATOR_RESAMPLE1, RESIZE },
    { DML_OPERATOR_MATRIX_MULTIPLY_INTEGER, MATMUL "AZeroPointTensor=1x1x4x1 BZeroPointTensor=1x1x1x6" },
    { DML_OPERATOR_QUANTIZED_LINEAR_MATRIX_MULTIPLY,
      MATMUL "AScaleTensor=1x1x4x1 AZeroPointTensor=1x1x4x1 BScaleTensor=1x1x1x6 BZeroPointTensor=1x1x1x6 "
             "OutputScaleTensor=1x1x1x1 OutputZeroPointTensor=1x1x1x1" },
    { DML_OPERATOR_CONVOLUTION_INTEGER, CONV "FilterZeroPointTensor=1x6x1x1" },
    { DML_OPERATOR_QUANTIZED_LINEAR_CONVOLUTION, CONV "FilterScaleTensor=1x6x1x1 FilterZeroPointTensor=1x6x1x1" },
    { DML_OPERATOR_AVERAGE_POOLING_GRAD, POOL "InputGradientTensor=1x2x4x5 OutputGradientTensor=1x2x5x6" },
    { DML_OPERATOR_MAX_POOLING_GRAD, POOL "InputGradientTensor=1x2x4x5 OutputGradientTensor=1x2x5x6" },
    { ANYDML_OPERATOR_GRID_SAMPLE, "InputTensor=2x3x4x5 GridTensor=2x6x7x2 OutputTensor=2x3x6x7" },
    { ANYDML_OPERATOR_INDEXED_MAX_POOLING_GRAD,
      POOL "InputGradientTensor=1x2x4x5 IndicesTensor=1x2x4x5 OutputGradientTensor=1x2x5x6" },
    { DML_OPERATOR_RANDOM_GENERATOR, "InputStateTensor=1x1x1x6 OutputTensor=2x3x4x5 OutputStateTensor=1x1x1x6" },
    { DML_OPERATOR_NONZERO_COORDINATES,
      "InputTensor=2x3x4x5 OutputCountTensor=1x1x1x1 OutputCoordinatesTensor=1x1x120x4" },
    { DML_OPERATOR_RESAMPLE_GRAD, RESIZE_GRAD },
    { DML_OPERATOR_SLICE_GRAD,
      "InputGradientTensor=1x3x2x3 OutputGradientTensor=2x3x4x5 InputWindowOffsets=1,0,0,0 InputWindowSizes=1,3,4,5 "
      "InputWindowStrides=1,1,-2,2" },
    { DML_OPERATOR_ARGMIN, "InputTensor=2x3x4x5 OutputTensor=2x1x4x5 Axes=1" },
    { DML_OPERATOR_ARGMAX, "InputTensor=2x3x4x5 OutputTensor=2x1x4x5 Axes=1" },
    { DML_OPERATOR_ROI_ALIGN, ROI "ReductionFunction=2" },
    { DML_OPERATOR_GATHER_ND1,
      "InputTensor=1x2x3x4 IndicesTensor=1x2x5x1 OutputTensor=1x2x5x4 InputDimensionCount=3 IndicesDimensionCount=3 "
      "BatchDimensionCount=1" },
    { DML_OPERATOR_BATCH_NORMALIZATION_GRAD,
      "MeanTensor=1x3x1x1 VarianceTensor=1x3x1x1 ScaleTensor=1x3x1x1 OutputScaleGradientTensor=1x3x1x1 "
      "OutputBiasGradientTensor=1x3x1x1" },
    { DML_OPERATOR_ROI_ALIGN1, ROI "ReductionFunction=7" },
    { DML_OPERATOR_ROI_ALIGN_GRAD,
      ROI "InputGradientTensor=5x3x2x2 OutputGradientTensor=2x3x8x8 OutputROIGradientTensor=5x4 ReductionFunction=2" },
    { DML_OPERATOR_BATCH_NORMALIZATION_TRAINING, NORM "OutputMeanTensor=1x3x1x1 OutputVarianceTensor=1x3x1x1" },
    { DML_OPERATOR_BATCH_NORMALIZATION_TRAINING_GRAD,
      "MeanTensor=1x3x1x1 VarianceTensor=1x3x1x1 ScaleTensor=1x3x1x1 OutputScaleGradientTensor=1x3x1x1 "
      "OutputBiasGradientTensor=1x3x1x1" },
    { DML_OPERATOR_PADDING1, "InputTensor=2x3x4x5 OutputTensor=2x4x7x5 StartPadding=0,1,1,0 EndPadding=0,0,2,0" },
    { DML_OPERATOR_ACTIVATION_SOFTMAX1, "Axes=3,1" },
    { DML_OPERATOR_ACTIVATION_LOG_SOFTMAX1, "Axes=3,1" },
    { DML_OPERATOR_ACTIVATION_HARDMAX1, "Axes=3,1" },
    { DML_OPERATOR_RESAMPLE2, RESIZE },
    { DML_OPERATOR_RESAMPLE_GRAD1, RESIZE_GRAD },
    { DML_OPERATOR_DIAGONAL_MATRIX1, "InputTensor=1x1x4x5 OutputTensor=1x1x4x5" },
    { DML_OPERATOR_MULTIHEAD_ATTENTION,
      "QueryTensor=2x3x8 KeyTensor=2x5x8 ValueTensor=2x5x12 BiasTensor=28 MaskTensor=2x2x3x9 "
      "RelativePositionBiasTensor=2x2x3x9 PastKeyTensor=2x2x4x4 PastValueTensor=2x2x4x6 OutputTensor=2x3x12 "
      "OutputPresentKeyTensor=2x2x9x4 OutputPresentValueTensor=2x2x9x6 HeadCount=2 MaskType=4" },
    { DML_OPERATOR_LP_POOLING1, POOL },
    { DML_OPERATOR_AVERAGE_POOLING1, POOL },
    { DML_OPERATOR_QUANTIZED_LINEAR_AVERAGE_POOLING,
      POOL "InputScaleTensor=1x2x1x1 InputZeroPointTensor=1x2x1x1 OutputScaleTensor=1x1x1x1 "
           "OutputZeroPointTensor=1x1x1x1" },
    { DML_OPERATOR_MATRIX_MULTIPLY_INTEGER_TO_FLOAT,
      MATMUL "AScaleTensor=1x1x4x1 AZeroPointTensor=1x1x4x1 BScaleTensor=1x1x1x6 BZeroPointTensor=1x1x1x6 "
             "BiasTensor=2x3x4x6" },
    { DML_OPERATOR_MEAN_VARIANCE_NORMALIZATION2, NORM "Axes=2,3" },
    { DML_OPERATOR_MULTIHEAD_ATTENTION1,
      "QueryTensor=2x3x16 KeyTensor=2x5x8 ValueTensor=2x5x12 PastSequenceLengthsTensor=2 OutputTensor=2x3x24 "
      "OutputPresentKeyTensor=2x2x9x4 OutputPresentValueTensor=2x2x9x6 QueryHeadCount=4 KeyValueHeadCount=2" },
    { DML_OPERATOR_QUANTIZE,
      "InputTensor=2x3x4x6 OutputTensor=2x3x4x6:UINT4 QuantizationTensors=2x3x4x2+2x3x4x2:UINT4 QuantizationType=2" },
    { DML_OPERATOR_DEQUANTIZE,
      "InputTensor=2x3x4x6:UINT4 OutputTensor=2x3x4x6 QuantizationTensors=2x3x4x2+2x3x4x2:UINT4 QuantizationType=2" },
    { DML_OPERATOR_RESAMPLE3, RESIZE },
    { DML_OPERATOR_FOLD, WINDOWS "InputTensor=2x18x12 OutputTensor=2x3x4x6" },
    { DML_OPERATOR_UNFOLD, WINDOWS "InputTensor=2x3x4x6 OutputTensor=2x18x12" },
};

/* Further changes if an operator's description cannot have a data type, the first that helps; the type "*" is the
 * requested one. */
static const struct recipe alternatives[] = {
    { DML_OPERATOR_ELEMENT_WISE_QUANTIZE_LINEAR, "InputTensor=2x3x4x5:* ScaleTensor=2x3x4x5:*" },
    { DML_OPERATOR_REDUCE, "InputTensor=2x3x4x5:* OutputTensor=2x1x4x1:* Function=7" },
    { DML_OPERATOR_MATRIX_MULTIPLY_INTEGER_TO_FLOAT,
      "ATensor=2x3x4x5:* BTensor=2x3x5x6:* AZeroPointTensor=1x1x4x1:* BZeroPointTensor=1x1x1x6:*" },
    { DML_OPERATOR_QUANTIZE, "InputTensor=2x3x4x6:* QuantizationTensors=2x3x4x2:*+2x3x4x2:UINT4" },
    { DML_OPERATOR_QUANTIZE, "OutputTensor=2x3x4x6:* QuantizationTensors=2x3x4x2:FLOAT32+2x3x4x2:*" },
    { DML_OPERATOR_DEQUANTIZE, "OutputTensor=2x3x4x6:* QuantizationTensors=2x3x4x2:*+2x3x4x2:UINT4" },
    { DML_OPERATOR_DEQUANTIZE, "InputTensor=2x3x4x6:* QuantizationTensors=2x3x4x2:FLOAT32+2x3x4x2:*" },
};

/* One description in the making. */
struct maker {
    const struct schema_op *op;
    struct schema_sample_storage *storage;
    const char *values[32]; /* text of each field, NULL: default */
    uint32_t rank;          /* of the first tensor */
    uint32_t typed_field;   /* with its type group it has this type, except for elements of arrays that name theirs */
    DML_TENSOR_DATA_TYPE type;
};

/* Every value ends at a space or at the end of the text. */
static size_t value_length(const char *value)
{
    return strcspn(value, " ");
}

static bool is_null(const char *text)
{
    return text && *text == '-' && value_length(text) == 1;
}

static bool read_fields(struct maker *maker, const char *text, bool strict)
{
    while (*text) {
        const char *equals = strchr(text, '=');
        if (!equals)
            return false;
        uint32_t i = 0;
        while (i < maker->op->field_count && (strlen(maker->op->fields[i].name) != (size_t)(equals - text) ||
                                              strncmp(maker->op->fields[i].name, text, (size_t)(equals - text))))
            i++;
        if (i < maker->op->field_count)
            maker->values[i] = equals + 1;
        else if (strict)
            return false;
        text = equals + 1 + value_length(equals + 1);
        text += strspn(text, " ");
    }
    return true;
}

/* Whether the field's type was requested. */
static bool is_typed(const struct maker *maker, uint32_t field)
{
    const struct schema_field *fields = maker->op->fields;
    if (maker->type == DML_TENSOR_DATA_TYPE_UNKNOWN)
        return false;
    return field == maker->typed_field ||
           (fields[field].type_group && fields[field].type_group == fields[maker->typed_field].type_group);
}

static DML_TENSOR_DATA_TYPE default_type(const struct maker *maker, uint32_t field)
{
    const struct schema_op *op = maker->op;
    static const DML_TENSOR_DATA_TYPE preferred[] = { DML_TENSOR_DATA_TYPE_FLOAT32, DML_TENSOR_DATA_TYPE_INT32,
                                                      DML_TENSOR_DATA_TYPE_UINT32, DML_TENSOR_DATA_TYPE_UINT8 };
    if (is_typed(maker, field))
        return maker->type;
    uint32_t types = schema_field_types(op, field, DML_FEATURE_LEVEL_6_4);
    for (uint32_t i = 0; i < op->field_count; i++)
        if (op->fields[field].type_group && op->fields[i].type_group == op->fields[field].type_group)
            types &= schema_field_types(op, i, DML_FEATURE_LEVEL_6_4);
    for (size_t i = 0; i < sizeof(preferred) / sizeof(preferred[0]); i++)
        if (types >> preferred[i] & 1)
            return preferred[i];
    return DML_TENSOR_DATA_TYPE_UNKNOWN;
}

static DML_TENSOR_DATA_TYPE type_named(const char *name, size_t length)
{
    for (uint32_t type = 1; type < 16; type++) {
        const char *known = schema_data_type_name((DML_TENSOR_DATA_TYPE)type);
        if (strlen(known) == length && !strncmp(known, name, length))
            return (DML_TENSOR_DATA_TYPE)type;
    }
    return DML_TENSOR_DATA_TYPE_UNKNOWN;
}

/* "2x3x4:UINT8@12x1x3!" (type, strides and ! are optional), up to '+' or the end of the value, as tensor `index` of
 * field i. */
static bool read_tensor(struct maker *maker, const char *text, uint32_t i, uint32_t index)
{
    const bool fixed = is_typed(maker, i) && maker->op->fields[i].type == SCHEMA_TENSOR;
    DML_TENSOR_DATA_TYPE type = default_type(maker, i);
    struct schema_sample_storage *s = maker->storage;
    uint32_t rank = 0, packed = 1;
    char *end = (char *)(uintptr_t)text;
    do
        s->sizes[index][rank++] = (UINT)strtoul(text, &end, 10);
    while (rank < 8 && *end == 'x' && (text = end + 1));
    if (*end == ':' && !fixed)
        type = end[1] == '*' ? maker->type : type_named(end + 1, strcspn(end + 1, "@! +"));
    end += strcspn(end, "@! +");
    bool strided = *end == '@';
    for (uint32_t d = rank; d-- > 0; packed *= s->sizes[index][d])
        s->strides[index][d] = packed;
    for (uint32_t d = 0; d < rank && (*end == '@' || *end == 'x'); d++)
        s->strides[index][d] = (UINT)strtoul(end + 1, &end, 10);
    s->buffers[index] = (DML_BUFFER_TENSOR_DESC){ .DataType = type, .DimensionCount = rank, .Sizes = s->sizes[index] };
    s->buffers[index].Strides = strided ? s->strides[index] : NULL;
    s->buffers[index].Flags = *end == '!' ? DML_TENSOR_FLAG_OWNED_BY_DML : DML_TENSOR_FLAG_NONE;
    s->buffers[index].TotalTensorSizeInBytes = schema_tensor_min_bytes(&s->buffers[index]);
    s->tensors[index] = (DML_TENSOR_DESC){ DML_TENSOR_TYPE_BUFFER, &s->buffers[index] };
    if (!maker->rank)
        maker->rank = rank;
    return type != DML_TENSOR_DATA_TYPE_UNKNOWN;
}

static void store(struct maker *maker, size_t offset, const void *value, size_t size)
{
    memcpy((char *)maker->storage->desc + offset, value, size);
}

static bool make_tensors(struct maker *maker, uint32_t i)
{
    static const char *const defaults[] = {
        [SCHEMA_SHAPE_SAME] = "2x3x4x5",
        [SCHEMA_SHAPE_RANK_ONE] = "1x1x1x1",
        [SCHEMA_SHAPE_ONE] = "1x1x1x1",
    };
    const struct schema_field *field = &maker->op->fields[i];
    struct schema_sample_storage *s = maker->storage;
    const char *text = maker->values[i];
    if (!text && field->shape < sizeof(defaults) / sizeof(defaults[0]))
        text = defaults[field->shape];
    if (!text || is_null(text))
        return true;

    const DML_TENSOR_DESC *first = &s->tensors[s->tensor_count];
    uint32_t count = 0;
    for (; text; count++) {
        if (s->tensor_count == SCHEMA_SAMPLE_TENSORS || !read_tensor(maker, text, i, s->tensor_count++))
            return false;
        text += strcspn(text, " +");
        text = *text == '+' ? text + 1 : NULL;
    }
    store(maker, field->offset, &first, sizeof(first));
    if (field->type == SCHEMA_TENSOR_ARRAY)
        store(maker, field->count_offset, &count, sizeof(count));
    return true;
}

static bool is_array(const struct schema_field *field)
{
    return field->type == SCHEMA_UINT_ARRAY || field->type == SCHEMA_INT_ARRAY || field->type == SCHEMA_FLOAT_ARRAY;
}

/* The 32 bits of a UINT, INT, enumeration or FLOAT. */
static uint32_t read_number(const struct schema_field *field, const char *text)
{
    const float real = strtof(text, NULL);
    uint32_t bits = (uint32_t)strtoll(text, NULL, 10);
    if (field->type == SCHEMA_FLOAT || field->type == SCHEMA_FLOAT_ARRAY)
        memcpy(&bits, &real, sizeof(bits));
    return bits;
}

static bool make_array(struct maker *maker, const struct schema_field *field, const char *text)
{
    struct schema_sample_storage *s = maker->storage;
    if (is_null(text))
        return true;
    if (s->array_count == SCHEMA_SAMPLE_ARRAYS)
        return false;
    uint32_t *array = s->arrays[s->array_count++];
    for (uint32_t i = 0; i < 8; i++)
        array[i] = read_number(field, "1");
    for (uint32_t count = 0; text && count < 8;) {
        array[count++] = read_number(field, text);
        store(maker, field->count_offset, &count, sizeof(count));
        text += strcspn(text, " ,");
        text = *text == ',' ? text + 1 : NULL;
    }
    store(maker, field->offset, &array, sizeof(array));
    return true;
}

static void make_number(struct maker *maker, const struct schema_field *field, const char *text)
{
    uint32_t number;
    memcpy(&number, (const char *)maker->storage->desc + field->offset, sizeof(number));
    if (text)
        number = read_number(field, text);
    else if (number)
        return; /* the length of an array of tensors, already known */
    else if (field->limit == SCHEMA_LIMIT_RANK || field->limit == SCHEMA_LIMIT_SPATIAL)
        number = maker->rank - (field->limit == SCHEMA_LIMIT_SPATIAL ? 2 : 0);
    else if (field->limit != SCHEMA_LIMIT_AXIS && field->type != SCHEMA_ENUM && field->type != SCHEMA_VALUE_TYPE)
        number = read_number(field, "1");
    else if (field->type == SCHEMA_VALUE_TYPE) /* that of the output, which comes after the inputs */
        number = (uint32_t)maker->storage->buffers[maker->storage->tensor_count - 1].DataType;
    store(maker, field->offset, &number, sizeof(number));
}

static void make_activations(struct maker *maker, const struct schema_field *field)
{
    static const DML_OPERATOR_TYPE types[] = { DML_OPERATOR_ACTIVATION_LEAKY_RELU, DML_OPERATOR_ACTIVATION_TANH };
    struct schema_sample_storage *s = maker->storage;
    const DML_OPERATOR_DESC *first = s->activations;
    const float alpha = 0.5f;
    for (uint32_t i = 0; i < SCHEMA_SAMPLE_ACTIVATIONS; i++) {
        s->activations[i] = (DML_OPERATOR_DESC){ types[i % 2], s->activation_descs[i] };
        if (i % 2 == 0)
            memcpy((char *)s->activation_descs[i] + offsetof(DML_ACTIVATION_LEAKY_RELU_OPERATOR_DESC, Alpha), &alpha,
                   sizeof(alpha));
    }
    store(maker, field->offset, &first, sizeof(first));
}

static void make_scale_bias(struct maker *maker, const struct schema_field *field)
{
    const DML_SCALE_BIAS *scale_bias = &maker->storage->scale_bias;
    maker->storage->scale_bias = (DML_SCALE_BIAS){ 2, 1 };
    store(maker, field->offset, &scale_bias, sizeof(scale_bias));
}

static void make_size_2d(struct maker *maker, const struct schema_field *field, const char *text)
{
    DML_SIZE_2D size = { 1, 1 };
    if (text && sscanf(text, "%" SCNu32 ",%" SCNu32, &size.Width, &size.Height) != 2)
        size = (DML_SIZE_2D){ 0 };
    store(maker, field->offset, &size, sizeof(size));
}

static bool make_attribute(struct maker *maker, const struct schema_field *field, const char *text)
{
    switch ((enum schema_field_type)field->type) {
    case SCHEMA_UINT_ARRAY:
    case SCHEMA_INT_ARRAY:
    case SCHEMA_FLOAT_ARRAY:
        return make_array(maker, field, text);
    case SCHEMA_FUSED_ACTIVATION:
    case SCHEMA_ACTIVATION_ARRAY:
        if (!is_null(text))
            make_activations(maker, field);
        break;
    case SCHEMA_SCALE_BIAS:
        if (!is_null(text))
            make_scale_bias(maker, field);
        break;
    case SCHEMA_SIZE_2D:
        make_size_2d(maker, field, text);
        break;
    case SCHEMA_UINT:
    case SCHEMA_INT:
    case SCHEMA_FLOAT:
    case SCHEMA_BOOL:
    case SCHEMA_ENUM:
    case SCHEMA_VALUE_TYPE:
        make_number(maker, field, text);
        break;
    case SCHEMA_SCALAR:
    case SCHEMA_TENSOR:
    case SCHEMA_TENSOR_ARRAY:
        break;
    }
    return true;
}

/* Numbers first, then arrays, which set their length fields, then the numbers that the text gives. */
static bool make_attributes(struct maker *maker)
{
    for (int pass = 0; pass < 3; pass++) {
        for (uint32_t i = 0; i < maker->op->field_count; i++) {
            const struct schema_field *field = &maker->op->fields[i];
            if (field->kind != SCHEMA_ATTRIBUTE || is_array(field) != (pass == 1) || (pass == 2 && !maker->values[i]))
                continue;
            if (!make_attribute(maker, field, maker->values[i]))
                return false;
        }
    }
    return true;
}

static bool make(struct maker *maker, DML_OPERATOR_TYPE type, const char *changes, DML_OPERATOR_DESC *out)
{
    struct schema_sample_storage *storage = maker->storage;
    maker->op = schema_op_find(type);
    memset(storage, 0, sizeof(*storage));
    if (!maker->op || maker->op->desc_size > sizeof(storage->desc) || maker->op->field_count > 32)
        return false;
    for (size_t i = 0; i < sizeof(recipes) / sizeof(recipes[0]); i++)
        if (recipes[i].type == type && !read_fields(maker, recipes[i].text, false))
            return false;
    if (!read_fields(maker, changes, true))
        return false;

    for (uint32_t i = 0; i < maker->op->field_count; i++)
        if (maker->op->fields[i].kind != SCHEMA_ATTRIBUTE && !make_tensors(maker, i))
            return false;
    if (!make_attributes(maker))
        return false;
    *out = (DML_OPERATOR_DESC){ type, storage->desc };
    return true;
}

bool schema_sample_with(DML_OPERATOR_TYPE type, const char *changes, struct schema_sample_storage *storage,
                        DML_OPERATOR_DESC *out)
{
    struct maker maker = { .storage = storage };
    return make(&maker, type, changes, out);
}

static bool make_typed(const struct schema_op *op, uint32_t field, DML_TENSOR_DATA_TYPE type, const char *changes,
                       struct schema_sample_storage *storage, DML_OPERATOR_DESC *out)
{
    struct maker maker = { .storage = storage, .typed_field = field, .type = type };
    return make(&maker, op->type, changes, out) && SUCCEEDED(schema_validate(out, DML_FEATURE_LEVEL_6_4, NULL));
}

bool schema_sample_typed(const struct schema_op *op, uint32_t field, DML_TENSOR_DATA_TYPE type,
                         struct schema_sample_storage *storage, DML_OPERATOR_DESC *out)
{
    if (make_typed(op, field, type, "", storage, out))
        return true;
    for (size_t i = 0; i < sizeof(alternatives) / sizeof(alternatives[0]); i++)
        if (alternatives[i].type == op->type && make_typed(op, field, type, alternatives[i].text, storage, out))
            return true;
    return false;
}

bool schema_sample(DML_OPERATOR_TYPE type, struct schema_sample_storage *storage, DML_OPERATOR_DESC *out)
{
    return schema_sample_with(type, "", storage, out);
}
