/* SPDX-License-Identifier: Apache-2.0 */
/* From the bytes of a request to a description, field by field as the schema says. */
#include "driver.h"

#include <string.h>

#include "base/base.h"

struct reader {
    const uint8_t *at, *end;
    struct driver_request *request;
    bool bad;
};

static const void *take(struct reader *reader, uint64_t size)
{
    const uint8_t *data = reader->at;
    const uint64_t padded = base_align_up(size, 4);
    if (reader->bad || padded > (uint64_t)(reader->end - reader->at)) {
        reader->bad = true;
        return NULL;
    }
    reader->at += padded;
    return data;
}

static uint32_t word(struct reader *reader)
{
    uint32_t value = 0;
    const void *data = take(reader, sizeof(value));
    if (data)
        memcpy(&value, data, sizeof(value));
    return value;
}

/* A copy of the next bytes, aligned; never NULL unless memory is short. */
static void *copy(struct reader *reader, uint64_t size)
{
    const void *data = take(reader, size);
    void *out = base_arena_alloc(&reader->request->arena, data && size ? (size_t)size : 1);
    if (!out)
        reader->bad = true;
    else if (data)
        memcpy(out, data, (size_t)size);
    return out;
}

static struct driver_slot *next_slot(struct reader *reader, const struct schema_field *field)
{
    struct driver_request *request = reader->request;
    static struct driver_slot unused;
    const bool output = field->kind == SCHEMA_OUTPUT;
    uint32_t *count = output ? &request->output_count : &request->input_count;
    if (*count == DRIVER_SLOTS) {
        reader->bad = true;
        return &unused;
    }
    return output ? &request->outputs[(*count)++] : &request->inputs[(*count)++];
}

/* Bytes up to the end of the last element. */
static uint64_t used_bytes(const DML_BUFFER_TENSOR_DESC *tensor)
{
    uint32_t strides[SCHEMA_MAX_RANK];
    uint64_t last = 0;
    if (!tensor->DimensionCount || tensor->DimensionCount > SCHEMA_MAX_RANK)
        return tensor->TotalTensorSizeInBytes;
    schema_tensor_strides(tensor, strides);
    for (uint32_t i = 0; i < tensor->DimensionCount; i++)
        last += (uint64_t)(BASE_MAX(tensor->Sizes[i], 1) - 1) * strides[i];
    return BASE_MIN(((last + 1) * schema_data_type_bits(tensor->DataType) + 7) / 8, tensor->TotalTensorSizeInBytes);
}

/* slot NULL: the tensors of a fused activation, which have no place of their own. */
static bool read_tensor(struct reader *reader, const struct schema_field *field, struct driver_slot *slot,
                        DML_TENSOR_DESC *out)
{
    if (!word(reader))
        return false;
    DML_BUFFER_TENSOR_DESC *buffer = base_arena_alloc(&reader->request->arena, sizeof(*buffer));
    struct driver_slot unused;
    if (!buffer) {
        reader->bad = true;
        return false;
    }
    slot = slot ? slot : &unused;
    buffer->DataType = (DML_TENSOR_DATA_TYPE)word(reader);
    buffer->Flags = (DML_TENSOR_FLAGS)word(reader);
    buffer->DimensionCount = word(reader);
    const bool strides = word(reader);
    if (buffer->DimensionCount > 64)
        reader->bad = true;
    buffer->Sizes = copy(reader, buffer->DimensionCount * UINT64_C(4));
    buffer->Strides = strides ? copy(reader, buffer->DimensionCount * UINT64_C(4)) : NULL;
    const uint64_t low = word(reader), high = word(reader);
    buffer->TotalTensorSizeInBytes = low | high << 32;
    slot->name = field->name;
    slot->tensor = buffer;
    slot->owned = buffer->Flags & DML_TENSOR_FLAG_OWNED_BY_DML;
    slot->bytes = buffer->TotalTensorSizeInBytes;
    slot->used = reader->bad ? 0 : used_bytes(buffer);
    slot->alias = word(reader);
    slot->source = (enum driver_source)word(reader);
    slot->data_bytes = word(reader);
    slot->data = take(reader, slot->data_bytes);
    if (slot->data_bytes > slot->bytes)
        reader->bad = true;
    *out = (DML_TENSOR_DESC){ DML_TENSOR_TYPE_BUFFER, buffer };
    return true;
}

static DML_OPERATOR_DESC read_fields(struct reader *reader, bool slots);

static const void *read_tensors(struct reader *reader, const struct schema_field *field, uint32_t count, bool slots)
{
    DML_TENSOR_DESC *tensors =
        base_arena_alloc(&reader->request->arena, (size_t)BASE_MIN(count, DRIVER_SLOTS) * sizeof(*tensors) + 1);
    bool any = false;
    if (!tensors || count > DRIVER_SLOTS)
        reader->bad = true;
    for (uint32_t i = 0; i < count && !reader->bad; i++)
        any |= read_tensor(reader, field, slots ? next_slot(reader, field) : NULL, &tensors[i]);
    return any ? tensors : NULL;
}

static const void *read_activations(struct reader *reader, uint32_t count)
{
    DML_OPERATOR_DESC *descs =
        base_arena_alloc(&reader->request->arena, (size_t)BASE_MIN(count, 64) * sizeof(*descs) + 1);
    if (!descs || count > 64)
        reader->bad = true;
    for (uint32_t i = 0; i < count && !reader->bad; i++)
        descs[i] = read_fields(reader, false);
    return count ? descs : NULL;
}

static void read_field(struct reader *reader, const struct schema_field *field, char *desc, bool slots)
{
    const void *pointer = NULL;
    uint32_t value;
    switch ((enum schema_field_type)field->type) {
    case SCHEMA_TENSOR:
        pointer = read_tensors(reader, field, 1, slots);
        break;
    case SCHEMA_TENSOR_ARRAY:
        pointer = read_tensors(reader, field, word(reader), slots);
        break;
    case SCHEMA_UINT:
    case SCHEMA_INT:
    case SCHEMA_FLOAT:
    case SCHEMA_BOOL:
    case SCHEMA_ENUM:
    case SCHEMA_VALUE_TYPE:
        value = word(reader);
        memcpy(desc + field->offset, &value, sizeof(value));
        return;
    case SCHEMA_SCALAR:
    case SCHEMA_SIZE_2D:
        memcpy(desc + field->offset, copy(reader, 8), 8);
        return;
    case SCHEMA_SCALE_BIAS:
        pointer = word(reader) ? copy(reader, sizeof(DML_SCALE_BIAS)) : NULL;
        break;
    case SCHEMA_UINT_ARRAY:
    case SCHEMA_INT_ARRAY:
    case SCHEMA_FLOAT_ARRAY:
        value = word(reader);
        pointer = value == UINT32_MAX ? NULL : copy(reader, value * UINT64_C(4));
        break;
    case SCHEMA_FUSED_ACTIVATION:
    case SCHEMA_ACTIVATION_ARRAY:
        pointer = read_activations(reader, word(reader));
        break;
    }
    memcpy(desc + field->offset, &pointer, sizeof(pointer));
}

static DML_OPERATOR_DESC read_fields(struct reader *reader, bool slots)
{
    DML_OPERATOR_DESC out = { (DML_OPERATOR_TYPE)word(reader), NULL };
    const struct schema_op *op = schema_op_find(out.Type);
    if (slots) {
        reader->request->flags = (DML_EXECUTION_FLAGS)word(reader);
        reader->request->poison = (uint8_t)word(reader);
        reader->request->graph = word(reader);
    }
    char *desc = op ? base_arena_alloc(&reader->request->arena, op->desc_size) : NULL;
    if (!desc)
        reader->bad = true;
    for (uint32_t i = 0; !reader->bad && i < op->field_count; i++)
        read_field(reader, &op->fields[i], desc, slots);
    out.Desc = desc;
    return out;
}

bool driver_read(const void *data, size_t size, struct driver_request *out)
{
    memset(out, 0, sizeof(*out));
    struct reader reader = { data, (const uint8_t *)data + size, out, false };
    out->desc = read_fields(&reader, true);
    for (uint32_t i = 0; i < out->output_count; i++)
        if (out->outputs[i].name && out->outputs[i].alias != UINT32_MAX &&
            (out->outputs[i].alias >= out->input_count || !out->inputs[out->outputs[i].alias].name))
            reader.bad = true;
    return !reader.bad && reader.at == reader.end;
}
