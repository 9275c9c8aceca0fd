/* SPDX-License-Identifier: Apache-2.0 */
#include "mutate.h"

#include <string.h>

struct mutation {
    const struct schema_op *op;
    struct schema_sample_storage *storage;
    struct fuzz_bytes *bytes;
};

static uint32_t interesting(struct fuzz_bytes *bytes)
{
    static const uint32_t numbers[] = {
        0,          1,          2,          3,          4,          7,          8,          9,          16,
        17,         255,        256,        1 << 16,    1 << 30,    INT32_MAX,  1u << 31,   UINT32_MAX, UINT32_MAX - 1,
        0x3f800000, 0xbf800000, 0x3f000000, 0x40000000, 0x7f800000, 0xff800000, 0x7fc00000, 0x00000001, 0x7f7fffff,
    };
    uint8_t choice = fuzz_byte(bytes);
    return choice < 32 ? choice : numbers[choice % (sizeof(numbers) / sizeof(numbers[0]))];
}

static void *field_at(struct mutation *m, const struct schema_field *field)
{
    return (char *)m->storage->desc + field->offset;
}

/* The storage holds eight elements of every array that a recipe makes. */
static void change_array(struct mutation *m, const struct schema_field *field)
{
    uint32_t *array, what = fuzz_byte(m->bytes);
    memcpy(&array, field_at(m, field), sizeof(array));
    if (!array)
        return;
    if (what & 8) {
        uint32_t count = what & 7;
        memcpy((char *)m->storage->desc + field->count_offset, &count, sizeof(count));
    } else {
        array[what & 7] = interesting(m->bytes);
    }
}

static void size_again(DML_BUFFER_TENSOR_DESC *tensor)
{
    uint64_t bytes = schema_tensor_min_bytes(tensor);
    tensor->TotalTensorSizeInBytes = bytes ? bytes : tensor->TotalTensorSizeInBytes;
}

static void change_rank(struct mutation *m, uint32_t index)
{
    DML_BUFFER_TENSOR_DESC *tensor = &m->storage->buffers[index];
    UINT *sizes = m->storage->sizes[index];
    uint32_t rank = 1 + fuzz_byte(m->bytes) % 8, old = tensor->DimensionCount;
    UINT changed[8];
    for (uint32_t i = 0; i < rank; i++) /* aligned right, filled with 1 */
        changed[rank - 1 - i] = i < old ? sizes[old - 1 - i] : 1;
    memcpy(sizes, changed, rank * sizeof(*sizes));
    tensor->DimensionCount = rank;
    tensor->Strides = NULL;
}

static void change_strides(struct mutation *m, uint32_t index)
{
    DML_BUFFER_TENSOR_DESC *tensor = &m->storage->buffers[index];
    uint8_t what = fuzz_byte(m->bytes);
    uint32_t packed = 1;
    for (uint32_t i = tensor->DimensionCount; i-- > 0; packed *= tensor->Sizes[i] + (what >> i & 1))
        m->storage->strides[index][i] = packed;
    if (what & 128)
        m->storage->strides[index][what % 8] = fuzz_byte(m->bytes) % 64;
    tensor->Strides = m->storage->strides[index];
}

static void change_tensor(struct mutation *m, uint32_t index)
{
    DML_BUFFER_TENSOR_DESC *tensor = &m->storage->buffers[index];
    uint8_t what = fuzz_byte(m->bytes);
    switch (what % 8) {
    case 0:
    case 1:
        tensor->DataType = (DML_TENSOR_DATA_TYPE)(what / 8 % 16);
        break;
    case 2:
    case 3:
        m->storage->sizes[index][what / 8 % 8] = 1 + fuzz_byte(m->bytes) % 24;
        break;
    case 4:
        change_rank(m, index);
        break;
    case 5:
        change_strides(m, index);
        break;
    case 6:
        tensor->Flags ^= DML_TENSOR_FLAG_OWNED_BY_DML;
        return;
    default:
        tensor->TotalTensorSizeInBytes += (what & 128) ? 4 : UINT64_MAX - 3;
        return;
    }
    size_again(tensor);
}

/* All tensors that have the first one's type get another: what usually stays valid. */
static void change_all_types(struct mutation *m)
{
    DML_TENSOR_DATA_TYPE from = m->storage->buffers[fuzz_byte(m->bytes) % 4].DataType;
    DML_TENSOR_DATA_TYPE to = (DML_TENSOR_DATA_TYPE)(fuzz_byte(m->bytes) % 16);
    for (uint32_t i = 0; i < m->storage->tensor_count; i++) {
        if (m->storage->buffers[i].DataType != from)
            continue;
        m->storage->buffers[i].DataType = to;
        size_again(&m->storage->buffers[i]);
    }
}

/* Likewise a size. */
static void change_all_sizes(struct mutation *m)
{
    uint32_t d = fuzz_byte(m->bytes) % 8, from = m->storage->sizes[0][d], to = 1 + fuzz_byte(m->bytes) % 24;
    for (uint32_t i = 0; i < m->storage->tensor_count; i++) {
        if (d >= m->storage->buffers[i].DimensionCount || m->storage->sizes[i][d] != from)
            continue;
        m->storage->sizes[i][d] = to;
        size_again(&m->storage->buffers[i]);
    }
}

/* An activation of any kind, its parameters from the bytes. Its tensors are absent, as inside another operator. */
static void change_activation(struct mutation *m, const struct schema_field *field)
{
    uint32_t index = field->type == SCHEMA_ACTIVATION_ARRAY ? fuzz_byte(m->bytes) % SCHEMA_SAMPLE_ACTIVATIONS : 0;
    const struct schema_op *op = schema_op_at(fuzz_byte(m->bytes) % schema_op_count());
    const DML_OPERATOR_DESC *first = m->storage->activations;
    uint64_t *desc = m->storage->activation_descs[index];
    if (op->desc_size > sizeof(m->storage->activation_descs[index]))
        return;
    memset(desc, 0, sizeof(m->storage->activation_descs[index]));
    for (uint32_t i = 0; i < op->field_count; i++) {
        uint32_t number = interesting(m->bytes);
        if (op->fields[i].type == SCHEMA_FLOAT || op->fields[i].type == SCHEMA_UINT)
            memcpy((char *)desc + op->fields[i].offset, &number, sizeof(number));
    }
    /* Lengths of arrays that are not there. */
    for (uint32_t i = 0; i < op->field_count; i++)
        if (op->fields[i].type == SCHEMA_UINT_ARRAY || op->fields[i].type == SCHEMA_FLOAT_ARRAY)
            memset((char *)desc + op->fields[i].count_offset, 0, sizeof(UINT));
    m->storage->activations[index] = (DML_OPERATOR_DESC){ op->type, desc };
    memcpy(field_at(m, field), &first, sizeof(first));
}

static bool is_length(const struct schema_op *op, const struct schema_field *field)
{
    for (uint32_t i = 0; i < op->field_count; i++) {
        const struct schema_field *array = &op->fields[i];
        bool counted = array->type == SCHEMA_TENSOR_ARRAY || array->type == SCHEMA_UINT_ARRAY ||
                       array->type == SCHEMA_INT_ARRAY || array->type == SCHEMA_FLOAT_ARRAY ||
                       array->type == SCHEMA_ACTIVATION_ARRAY;
        if (counted && array->count_offset == field->offset)
            return true;
    }
    return false;
}

static void change_attribute(struct mutation *m, const struct schema_field *field)
{
    uint32_t number;
    switch ((enum schema_field_type)field->type) {
    case SCHEMA_UINT_ARRAY:
    case SCHEMA_INT_ARRAY:
    case SCHEMA_FLOAT_ARRAY:
        change_array(m, field);
        break;
    case SCHEMA_FUSED_ACTIVATION:
    case SCHEMA_ACTIVATION_ARRAY:
        if (fuzz_byte(m->bytes) % 4 == 0 && field->type == SCHEMA_FUSED_ACTIVATION)
            memset(field_at(m, field), 0, sizeof(void *));
        else
            change_activation(m, field);
        break;
    case SCHEMA_SCALE_BIAS:
        memset(field_at(m, field), 0, sizeof(void *));
        break;
    case SCHEMA_SIZE_2D:
    case SCHEMA_SCALAR:
        number = interesting(m->bytes);
        memcpy((char *)field_at(m, field) + (number & 1 ? 4 : 0), &number, sizeof(number));
        break;
    case SCHEMA_UINT:
    case SCHEMA_INT:
    case SCHEMA_FLOAT:
    case SCHEMA_BOOL:
    case SCHEMA_ENUM:
    case SCHEMA_VALUE_TYPE:
        number = interesting(m->bytes);
        if (!is_length(m->op, field))
            memcpy(field_at(m, field), &number, sizeof(number));
        break;
    case SCHEMA_TENSOR:
    case SCHEMA_TENSOR_ARRAY:
        break;
    }
}

static void change_field(struct mutation *m, const struct schema_field *field)
{
    if (field->type == SCHEMA_TENSOR && fuzz_byte(m->bytes) % 4 == 0)
        memset(field_at(m, field), 0, sizeof(void *));
    else if (field->kind == SCHEMA_ATTRIBUTE)
        change_attribute(m, field);
    else
        change_tensor(m, fuzz_byte(m->bytes) % m->storage->tensor_count);
}

static bool small_enough(const struct schema_sample_storage *storage)
{
    for (uint32_t i = 0; i < storage->tensor_count; i++) {
        uint64_t elements = 1;
        for (uint32_t d = 0; d < storage->buffers[i].DimensionCount; d++)
            elements *= storage->sizes[i][d];
        if (elements > FUZZ_TENSOR_BYTES_MAX / 4 || storage->buffers[i].TotalTensorSizeInBytes > FUZZ_TENSOR_BYTES_MAX)
            return false;
    }
    return true;
}

bool fuzz_operator(struct fuzz_bytes *bytes, struct schema_sample_storage *storage, DML_OPERATOR_DESC *out)
{
    const struct schema_op *op = schema_op_at(fuzz_byte(bytes) % schema_op_count());
    struct mutation m = { op, storage, bytes };
    uint32_t changes = fuzz_byte(bytes) % 12;
    if (!schema_sample(op->type, storage, out) || !storage->tensor_count)
        return false;
    for (uint32_t i = 0; i < changes; i++) {
        uint8_t what = fuzz_byte(bytes);
        if (what % 8 == 0)
            change_all_types(&m);
        else if (what % 8 == 1)
            change_all_sizes(&m);
        else
            change_field(&m, &op->fields[what / 8 % op->field_count]);
    }
    return small_enough(storage);
}
