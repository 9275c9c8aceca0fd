/* SPDX-License-Identifier: Apache-2.0 */
/* The deep copy of a description: everything it points to, in one allocation. Two passes over the same walk: the first
 * only measures. */
#include <stdlib.h>
#include <string.h>

#include "schema/check.h"

/* Copies are laid out consecutively from base, or only counted while base is NULL. */
struct copier {
    char *base;
    size_t used;
};

/* NULL while measuring, and if there is nothing to copy. */
static void *copy_bytes(struct copier *copier, const void *source, size_t size)
{
    if (!source || !size)
        return NULL;
    void *place = copier->base ? copier->base + copier->used : NULL;
    copier->used += (size_t)base_align_up(size, sizeof(uint64_t));
    return place ? memcpy(place, source, size) : NULL;
}

static const DML_BUFFER_TENSOR_DESC *copy_buffer(struct copier *copier, const DML_BUFFER_TENSOR_DESC *source)
{
    const size_t bytes = source->DimensionCount * sizeof(*source->Sizes);
    DML_BUFFER_TENSOR_DESC *tensor = copy_bytes(copier, source, sizeof(*source));
    const UINT *sizes = copy_bytes(copier, source->Sizes, bytes);
    const UINT *strides = copy_bytes(copier, source->Strides, bytes);
    if (tensor) {
        tensor->Sizes = sizes;
        tensor->Strides = strides;
        tensor->TotalTensorSizeInBytes &= ~UINT64_C(3);
    }
    return tensor;
}

static void *copy_tensors(struct copier *copier, const DML_TENSOR_DESC *source, uint32_t count)
{
    DML_TENSOR_DESC *tensors = copy_bytes(copier, source, count * sizeof(*source));
    for (uint32_t i = 0; source && i < count; i++) {
        const DML_BUFFER_TENSOR_DESC *buffer = copy_buffer(copier, source[i].Desc);
        if (tensors)
            tensors[i].Desc = buffer;
    }
    return tensors;
}

static void *copy_struct(struct copier *copier, const struct schema_op *op, const void *source);

static void *copy_operators(struct copier *copier, const DML_OPERATOR_DESC *source, uint32_t count)
{
    DML_OPERATOR_DESC *operators = copy_bytes(copier, source, count * sizeof(*source));
    for (uint32_t i = 0; source && i < count; i++) {
        const void *desc = copy_struct(copier, schema_op_find(source[i].Type), source[i].Desc);
        if (operators)
            operators[i].Desc = desc;
    }
    return operators;
}

static bool is_pointer(const struct schema_field *field)
{
    return schema_field_is_array(field) || field->type == SCHEMA_TENSOR || field->type == SCHEMA_SCALE_BIAS ||
           field->type == SCHEMA_FUSED_ACTIVATION;
}

/* The target of the field's pointer. */
static void *copy_target(struct copier *copier, const struct schema_field *field, const void *desc)
{
    const void *source = schema_field_pointer(field, desc);
    const uint32_t count = schema_array_length(field, desc);
    if (field->kind != SCHEMA_ATTRIBUTE)
        return copy_tensors(copier, source, count);
    if (field->type == SCHEMA_FUSED_ACTIVATION || field->type == SCHEMA_ACTIVATION_ARRAY)
        return copy_operators(copier, source, count);
    if (field->type == SCHEMA_SCALE_BIAS)
        return copy_bytes(copier, source, sizeof(DML_SCALE_BIAS));
    return copy_bytes(copier, source, count * sizeof(uint32_t)); /* UINT, INT and FLOAT alike */
}

/* An operator's C struct and all behind it. */
static void *copy_struct(struct copier *copier, const struct schema_op *op, const void *source)
{
    char *copy = copy_bytes(copier, source, op->desc_size);
    for (uint32_t i = 0; i < op->field_count; i++) {
        const struct schema_field *field = &op->fields[i];
        if (!is_pointer(field))
            continue;
        const void *target = copy_target(copier, field, source);
        if (copy)
            memcpy(copy + field->offset, &target, sizeof(target));
    }
    return copy;
}

static uint32_t count_slots(const struct schema_op *op, const void *desc, enum schema_kind kind)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < op->field_count; i++)
        if (op->fields[i].kind == kind)
            count += schema_array_length(&op->fields[i], desc);
    return count;
}

static void fill_slots(const struct schema_op *op, const void *desc, enum schema_kind kind,
                       const DML_BUFFER_TENSOR_DESC **slots)
{
    for (uint32_t i = 0; i < op->field_count; i++) {
        const struct schema_field *field = &op->fields[i];
        if (field->kind != kind)
            continue;
        const DML_TENSOR_DESC *tensors = schema_field_pointer(field, desc);
        const uint32_t count = schema_array_length(field, desc);
        for (uint32_t k = 0; k < count; k++)
            *slots++ = tensors ? tensors[k].Desc : NULL;
    }
}

HRESULT schema_desc_create(const DML_OPERATOR_DESC *desc, struct schema_desc **out)
{
    const struct schema_op *op = schema_op_find(desc->Type);
    const uint32_t inputs = count_slots(op, desc->Desc, SCHEMA_INPUT);
    const uint32_t outputs = count_slots(op, desc->Desc, SCHEMA_OUTPUT);
    const size_t header = (size_t)base_align_up(sizeof(**out), sizeof(uint64_t));
    const size_t slots = ((size_t)inputs + outputs) * sizeof(const DML_BUFFER_TENSOR_DESC *);

    struct copier copier = { 0 };
    copy_struct(&copier, op, desc->Desc);
    *out = malloc(header + slots + copier.used);
    if (!*out)
        return E_OUTOFMEMORY;

    const DML_BUFFER_TENSOR_DESC **slot = (const DML_BUFFER_TENSOR_DESC **)((char *)*out + header);
    copier = (struct copier){ .base = (char *)*out + header + slots };
    const void *copy = copy_struct(&copier, op, desc->Desc);
    fill_slots(op, copy, SCHEMA_INPUT, slot);
    fill_slots(op, copy, SCHEMA_OUTPUT, slot + inputs);
    **out = (struct schema_desc){
        .op = op,
        .desc = { desc->Type, copy },
        .input_count = inputs,
        .output_count = outputs,
        .inputs = slot,
        .outputs = slot + inputs,
    };
    return S_OK;
}

void schema_desc_destroy(struct schema_desc *desc)
{
    free(desc);
}
