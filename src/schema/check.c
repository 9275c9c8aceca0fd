/* SPDX-License-Identifier: Apache-2.0 */
/* Helpers of the checks: error text, access to fields and tensors, expectations about sizes and types. */
#include "schema/check.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

const void *schema_field_pointer(const struct schema_field *field, const void *desc)
{
    const void *pointer;
    memcpy(&pointer, (const char *)desc + field->offset, sizeof(pointer));
    return pointer;
}

uint32_t schema_field_u32(const struct schema_field *field, const void *desc)
{
    uint32_t value;
    memcpy(&value, (const char *)desc + field->offset, sizeof(value));
    return value;
}

bool schema_fail(struct schema_check *check, enum schema_error_id id, const char *format, ...)
{
    char *text = check->error->text;
    const size_t capacity = sizeof(check->error->text);
    int used;
    if (check->host)
        used = snprintf(text, capacity, "%s: %s: %s: ", check->host->op->name, check->host_field, check->op->name);
    else
        used = snprintf(text, capacity, "%s: ", check->op->name);
    va_list args;
    va_start(args, format);
    vsnprintf(text + used, capacity - (size_t)used, format, args);
    va_end(args);
    check->error->id = id;
    return false;
}

struct schema_tensor schema_tensor_from(const DML_TENSOR_DESC *tensor, const char *name)
{
    struct schema_tensor out = { .desc = tensor ? tensor->Desc : NULL };
    memcpy(out.name, name, strnlen(name, sizeof(out.name) - 1));
    return out;
}

struct schema_tensor schema_tensor_element(const DML_TENSOR_DESC *tensors, uint32_t i, const char *name)
{
    struct schema_tensor out = { .desc = tensors[i].Desc };
    snprintf(out.name, sizeof(out.name), "%.31s[%" PRIu32 "]", name, i);
    return out;
}

struct schema_tensor schema_tensor_of_field(const struct schema_field *field, const void *desc, uint32_t i)
{
    const DML_TENSOR_DESC *tensor = schema_field_pointer(field, desc);
    return field->type == SCHEMA_TENSOR ? schema_tensor_from(tensor, field->name)
                                        : schema_tensor_element(tensor, i, field->name);
}

/* The caller of schema_infer lets it write the outputs that it leaves open. */
static bool infer_size(struct schema_check *check, const struct schema_tensor *tensor, uint32_t axis, uint64_t want)
{
    if (want > UINT32_MAX)
        return schema_fail(check, SCHEMA_ERROR_SIZE_MISMATCH,
                           "%s: Sizes[%" PRIu32 "] = %" PRIu64 ", must be below 2^32", tensor->name, axis, want);
    if (want)
        ((UINT *)(uintptr_t)tensor->desc->Sizes)[axis] = (UINT)want;
    return true;
}

void schema_infer_rank(struct schema_check *check, const struct schema_tensor *tensor, uint32_t rank)
{
    if (check->infer && tensor->desc && !tensor->desc->DimensionCount)
        ((DML_BUFFER_TENSOR_DESC *)(uintptr_t)tensor->desc)->DimensionCount = rank;
}

bool schema_expect_size(struct schema_check *check, const struct schema_tensor *tensor, uint32_t axis, uint64_t want,
                        const char *what)
{
    if (!tensor->desc || tensor->desc->Sizes[axis] == want)
        return true;
    if (check->infer && (!want || !tensor->desc->Sizes[axis]))
        return infer_size(check, tensor, axis, want);
    return schema_fail(check, SCHEMA_ERROR_SIZE_MISMATCH,
                       "%s: Sizes[%" PRIu32 "] = %" PRIu32 ", must equal %s (%" PRIu64 ")", tensor->name, axis,
                       tensor->desc->Sizes[axis], what, want);
}

bool schema_expect_rank(struct schema_check *check, const struct schema_tensor *tensor, uint32_t rank, const char *what)
{
    schema_infer_rank(check, tensor, rank);
    if (!tensor->desc || tensor->desc->DimensionCount == rank || (check->infer && !rank))
        return true;
    return schema_fail(check, SCHEMA_ERROR_RANK_MISMATCH,
                       "%s: DimensionCount = %" PRIu32 ", must equal %s (%" PRIu32 ")", tensor->name,
                       tensor->desc->DimensionCount, what, rank);
}

bool schema_expect_sizes(struct schema_check *check, const struct schema_tensor *tensor, const uint64_t *want,
                         const char *what)
{
    for (uint32_t i = 0; tensor->desc && i < tensor->desc->DimensionCount; i++)
        if (!schema_expect_size(check, tensor, i, want[i], what))
            return false;
    return true;
}

bool schema_expect_same_sizes(struct schema_check *check, const struct schema_tensor *tensor,
                              const struct schema_tensor *other)
{
    if (!tensor->desc || !other->desc)
        return true;
    if (!schema_expect_rank(check, tensor, other->desc->DimensionCount, other->name))
        return false;
    for (uint32_t i = 0; i < tensor->desc->DimensionCount; i++)
        if (!schema_expect_size(check, tensor, i, other->desc->Sizes[i], other->name))
            return false;
    return true;
}

bool schema_expect_leading_ones(struct schema_check *check, const struct schema_tensor *tensor, uint32_t count)
{
    for (uint32_t i = 0; tensor->desc && i + count < tensor->desc->DimensionCount; i++)
        if (!schema_expect_size(check, tensor, i, 1, "one"))
            return false;
    return true;
}

bool schema_expect_trailing(struct schema_check *check, const struct schema_tensor *tensor, uint32_t count,
                            const uint64_t *want, const char *what)
{
    if (!tensor->desc)
        return true;
    schema_infer_rank(check, tensor, count);
    const uint32_t rank = tensor->desc->DimensionCount;
    if (rank < count)
        return schema_fail(check, SCHEMA_ERROR_RANK_MISMATCH,
                           "%s: DimensionCount = %" PRIu32 ", must be at least %" PRIu32 " for %s", tensor->name, rank,
                           count, what);
    for (uint32_t i = 0; i < count; i++)
        if (!schema_expect_size(check, tensor, rank - count + i, want[i], what))
            return false;
    return schema_expect_leading_ones(check, tensor, count);
}

bool schema_expect_broadcast(struct schema_check *check, const struct schema_tensor *tensor,
                             const struct schema_tensor *other)
{
    for (uint32_t i = 0; tensor->desc && i < tensor->desc->DimensionCount; i++) {
        const uint32_t size = tensor->desc->Sizes[i], full = other->desc->Sizes[i];
        if (size != 1 && size != full)
            return schema_fail(check, SCHEMA_ERROR_SIZE_MISMATCH,
                               "%s: Sizes[%" PRIu32 "] = %" PRIu32 ", must be 1 or that of %s (%" PRIu32 ")",
                               tensor->name, i, size, other->name, full);
    }
    return true;
}

bool schema_expect_vector(struct schema_check *check, const struct schema_tensor *tensor, uint32_t axis, uint64_t count,
                          const char *what)
{
    for (uint32_t i = 0; tensor->desc && i < tensor->desc->DimensionCount; i++) {
        const uint32_t size = tensor->desc->Sizes[i];
        if (size == 1 || (i == axis && size == count))
            continue;
        if (i != axis)
            return schema_expect_size(check, tensor, i, 1, "one element on that axis");
        return schema_fail(check, SCHEMA_ERROR_SIZE_MISMATCH,
                           "%s: Sizes[%" PRIu32 "] = %" PRIu32 ", must be 1 or equal %s (%" PRIu64 ")", tensor->name, i,
                           size, what, count);
    }
    return true;
}

bool schema_expect_type(struct schema_check *check, const struct schema_tensor *tensor, DML_TENSOR_DATA_TYPE want,
                        const char *what)
{
    if (!tensor->desc || tensor->desc->DataType == want)
        return true;
    return schema_fail(check, SCHEMA_ERROR_DATA_TYPE_MISMATCH, "%s: DataType = %s, must equal that of %s (%s)",
                       tensor->name, schema_data_type_name(tensor->desc->DataType), what, schema_data_type_name(want));
}

uint64_t schema_element_count(const DML_BUFFER_TENSOR_DESC *tensor)
{
    uint64_t count = 1;
    for (uint32_t i = 0; i < tensor->DimensionCount; i++)
        count *= tensor->Sizes[i];
    return count;
}
