/* SPDX-License-Identifier: Apache-2.0 */
/* Completes an operator's description: lengths that follow from the rank, arrays, activations, scales. */
#include "builder/builder.h"

#include <math.h>

static bool is_null(const struct builder_call *call, const struct schema_field *field)
{
    const void *pointer;
    memcpy(&pointer, call->desc.bytes + field->offset, sizeof(pointer));
    return !pointer;
}

/* An array owned by the call, to which the field points; the length is at most SCHEMA_MAX_RANK. */
static uint32_t *own_array(struct builder_call *call, const struct schema_field *field)
{
    uint32_t *array = call->arrays[call->array_count++];
    builder_set(call, field, &array, sizeof(array));
    return array;
}

static void set_length(struct builder_call *call, const struct schema_field *field, uint32_t length)
{
    memcpy(call->desc.bytes + field->count_offset, &length, sizeof(length));
}

/* ---- lengths ---- */

/* DimensionCount and similar fields: if 0, the rank of the first tensor or the number of its spatial dimensions. */
static void default_lengths(struct builder_call *call)
{
    const DML_BUFFER_TENSOR_DESC *first = builder_first(call);
    for (uint32_t i = 0; first && i < call->op->field_count; i++) {
        const struct schema_field *field = &call->op->fields[i];
        uint32_t length = 0;
        if (field->limit == SCHEMA_LIMIT_RANK)
            length = first->DimensionCount;
        else if (field->limit == SCHEMA_LIMIT_SPATIAL && first->DimensionCount > 2)
            length = first->DimensionCount - 2;
        if (length && !builder_uint(call, field->name))
            builder_set(call, field, &length, sizeof(length));
    }
}

/* Default axes: the last one for softmax and its variants, else all. An array of length 0 means no axes. */
static bool default_axes(struct builder_call *call, const struct schema_field *field)
{
    const DML_BUFFER_TENSOR_DESC *first = builder_first(call);
    const uint32_t rank = first ? first->DimensionCount : 0;
    const DML_OPERATOR_TYPE type = call->op->type;
    if (schema_array_length(field, call->desc.bytes) || !is_null(call, field))
        return true;
    if (type == DML_OPERATOR_MEAN_VARIANCE_NORMALIZATION1 || type == DML_OPERATOR_MEAN_VARIANCE_NORMALIZATION2)
        return builder_refuse(call, "Axes: NULL, must be given: the axes to normalise have no default");
    const bool last = type == DML_OPERATOR_ACTIVATION_SOFTMAX1 || type == DML_OPERATOR_ACTIVATION_LOG_SOFTMAX1 ||
                      type == DML_OPERATOR_ACTIVATION_HARDMAX1;
    uint32_t *axes = own_array(call, field);
    set_length(call, field, last ? 1 : rank);
    for (uint32_t i = 0; i < rank; i++)
        axes[i] = last ? rank - 1 : i;
    return true;
}

/* ---- arrays ---- */

static void fill_floats(uint32_t *array, uint32_t length, float value)
{
    for (uint32_t i = 0; i < length; i++)
        memcpy(&array[i], &value, sizeof(value));
}

/* Slices without sizes reach to the end: a window in the input, or for SLICE the elements that the strides select. */
static void rest_of_input(const struct builder_call *call, uint32_t *sizes)
{
    const bool picked = call->op->type == DML_OPERATOR_SLICE;
    const DML_BUFFER_TENSOR_DESC *input = builder_tensor(call, "InputTensor");
    const UINT *offsets = builder_uints(call, picked ? "Offsets" : "InputWindowOffsets");
    const UINT *strides = picked ? builder_uints(call, "Strides") : NULL;
    const uint32_t count = builder_uint(call, "DimensionCount");
    for (uint32_t i = 0; input && offsets && i < input->DimensionCount && i < count; i++) {
        const uint32_t rest = offsets[i] < input->Sizes[i] ? input->Sizes[i] - offsets[i] : 0;
        sizes[i] = rest && strides && strides[i] ? (rest - 1) / strides[i] + 1 : rest;
    }
}

/* Paddings and offsets are 0; strides, dilations and windows 1; pixel offsets align the edges of images. */
static void default_array(struct builder_call *call, const struct schema_field *field, uint32_t length)
{
    uint32_t *array = own_array(call, field);
    if (field->type == SCHEMA_FLOAT_ARRAY) {
        const float input = !strcmp(field->name, "InputPixelOffsets") ? 0.5f : 0;
        fill_floats(array, length, !strcmp(field->name, "OutputPixelOffsets") ? -0.5f : input);
        return;
    }
    const bool counts = field->limit == SCHEMA_LIMIT_WINDOW || field->limit == SCHEMA_LIMIT_MIN1 ||
                        field->limit == SCHEMA_LIMIT_NONZERO;
    for (uint32_t i = 0; i < length; i++)
        array[i] = counts;
}

/* The window of a slice, after the other arrays. */
static void default_slice(struct builder_call *call)
{
    const struct schema_field *field = NULL;
    if (call->op->type == DML_OPERATOR_SLICE)
        field = schema_field_find(call->op, "Sizes");
    else if (call->op->type == DML_OPERATOR_SLICE1)
        field = schema_field_find(call->op, "InputWindowSizes");
    if (field && is_null(call, field) && schema_array_length(field, call->desc.bytes) <= SCHEMA_MAX_RANK)
        rest_of_input(call, own_array(call, field));
}

static bool default_arrays(struct builder_call *call)
{
    for (uint32_t i = 0; i < call->op->field_count; i++) {
        const struct schema_field *field = &call->op->fields[i];
        if (field->type != SCHEMA_UINT_ARRAY && field->type != SCHEMA_INT_ARRAY && field->type != SCHEMA_FLOAT_ARRAY)
            continue;
        const uint32_t length = schema_array_length(field, call->desc.bytes);
        if (field->limit == SCHEMA_LIMIT_AXES && !default_axes(call, field))
            return false;
        /* Scales follow from the output; a missing window, axis or length is reported by validation. */
        const bool needed = field->limit == SCHEMA_LIMIT_AXES || field->limit == SCHEMA_LIMIT_POSITIVE ||
                            strstr(field->name, "Window") == field->name || !strcmp(field->name, "Sizes") ||
                            !strcmp(field->name, "InputWindowSizes") || length > SCHEMA_MAX_RANK;
        if (!needed && is_null(call, field))
            default_array(call, field, length);
    }
    default_slice(call);
    return true;
}

/* ---- recurrent operators ---- */

/* ONNX's defaults: sigmoid for gates, tanh for values, the same in both directions. */
static bool default_activations(struct builder_call *call)
{
    static const struct {
        DML_OPERATOR_TYPE type;
        uint32_t gates, values;
    } rows[] = { { DML_OPERATOR_RNN, 0, 1 }, { DML_OPERATOR_GRU, 1, 1 }, { DML_OPERATOR_LSTM, 1, 2 } };
    static const DML_ACTIVATION_SIGMOID_OPERATOR_DESC sigmoid;
    static const DML_ACTIVATION_TANH_OPERATOR_DESC tanh;
    const struct schema_field *field = schema_field_find(call->op, "ActivationDescs");
    if (!field || schema_array_length(field, call->desc.bytes))
        return true;
    const uint32_t directions =
        builder_uint(call, "Direction") == DML_RECURRENT_NETWORK_DIRECTION_BIDIRECTIONAL ? 2 : 1;
    uint32_t count = 0;
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        if (rows[row].type != call->op->type)
            continue;
        for (uint32_t direction = 0; direction < directions; direction++) {
            for (uint32_t i = 0; i < rows[row].gates; i++)
                call->activations[count++] = (DML_OPERATOR_DESC){ DML_OPERATOR_ACTIVATION_SIGMOID, &sigmoid };
            for (uint32_t i = 0; i < rows[row].values; i++)
                call->activations[count++] = (DML_OPERATOR_DESC){ DML_OPERATOR_ACTIVATION_TANH, &tanh };
        }
    }
    const DML_OPERATOR_DESC *activations = call->activations;
    builder_set(call, field, &activations, sizeof(activations));
    set_length(call, field, count);
    return true;
}

/* A fused softmax without axes is one over the last. */
static void default_fused(struct builder_call *call)
{
    const struct schema_field *field = schema_field_find(call->op, "FusedActivation");
    const DML_BUFFER_TENSOR_DESC *first = builder_first(call);
    const DML_OPERATOR_DESC *fused = NULL, *own = call->activations;
    if (field)
        memcpy(&fused, call->desc.bytes + field->offset, sizeof(fused));
    if (!first || !fused || fused->Type != DML_OPERATOR_ACTIVATION_SOFTMAX1 || !fused->Desc)
        return;
    call->softmax = *(const DML_ACTIVATION_SOFTMAX1_OPERATOR_DESC *)fused->Desc;
    if (call->softmax.AxisCount)
        return;
    uint32_t *axes = call->arrays[call->array_count++];
    axes[0] = first->DimensionCount - 1;
    call->softmax.AxisCount = 1;
    call->softmax.Axes = axes;
    call->activations[0] = (DML_OPERATOR_DESC){ fused->Type, &call->softmax };
    builder_set(call, field, &own, sizeof(own));
}

bool builder_default_attributes(struct builder_call *call)
{
    default_fused(call);
    default_lengths(call);
    return default_arrays(call) && default_activations(call);
}

/* ---- derived from the outputs ---- */

/* The scale of resampling: output size / input size, or the inverse for gradients. */
static void default_scales(struct builder_call *call)
{
    const struct schema_field *field = schema_field_find(call->op, "Scales");
    const DML_BUFFER_TENSOR_DESC *small = builder_tensor(call, "InputTensor");
    const DML_BUFFER_TENSOR_DESC *large = builder_tensor(call, "OutputTensor");
    small = small ? small : builder_tensor(call, "OutputGradientTensor");
    large = large ? large : builder_tensor(call, "InputGradientTensor");
    if (!field || !is_null(call, field) || !small || !large || small->DimensionCount != large->DimensionCount)
        return;
    uint32_t *array = own_array(call, field);
    for (uint32_t i = 0; i < small->DimensionCount; i++)
        fill_floats(&array[i], 1, (float)((double)large->Sizes[i] / small->Sizes[i]));
}

/* 1 / sqrt(size of a head). */
static void default_attention_scale(struct builder_call *call)
{
    const DML_BUFFER_TENSOR_DESC *query = builder_tensor(call, "QueryTensor");
    const struct schema_field *field = schema_field_find(call->op, "Scale");
    const uint32_t heads = builder_uint(call, "HeadCount") + builder_uint(call, "QueryHeadCount");
    static const char *const stacked[] = { "StackedQueryKeyTensor", "StackedQueryKeyValueTensor" };
    if (!schema_field_find(call->op, "MaskFilterValue") || builder_uint(call, "Scale") || !heads)
        return;
    uint32_t size = query ? query->Sizes[query->DimensionCount - 1] / heads : 1;
    for (int i = 0; i < 2 && !query; i++) {
        const DML_BUFFER_TENSOR_DESC *tensor = builder_tensor(call, stacked[i]);
        size = tensor ? tensor->Sizes[tensor->DimensionCount - 1] : size;
    }
    const float scale = 1 / sqrtf((float)(size ? size : 1));
    builder_set(call, field, &scale, sizeof(scale));
}

void builder_default_after(struct builder_call *call)
{
    const DML_BUFFER_TENSOR_DESC *first = builder_first(call);
    default_lengths(call); /* of operators without inputs */
    default_scales(call);
    default_attention_scale(call);
    for (uint32_t i = 0; first && i < call->op->field_count; i++) {
        const struct schema_field *field = &call->op->fields[i];
        if (field->type == SCHEMA_VALUE_TYPE && !builder_uint(call, field->name))
            builder_set(call, field, &first->DataType, sizeof(first->DataType));
    }
}
