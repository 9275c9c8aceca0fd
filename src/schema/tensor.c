/* SPDX-License-Identifier: Apache-2.0 */
/* One tensor on its own: layout arithmetic, and the checks that do not involve other tensors. */
#include <inttypes.h>

#include "schema/check.h"

/* Elements from the first to the last, and elements in all; false beyond 2^32 - 1 or with a size of 0. */
static bool tensor_extent(const DML_BUFFER_TENSOR_DESC *tensor, uint64_t *out_extent)
{
    uint64_t count = 1, extent = 1;
    for (uint32_t i = 0; i < tensor->DimensionCount; i++) {
        if (!tensor->Sizes[i])
            return false;
        count *= tensor->Sizes[i]; /* both factors are below 2^32 */
        if (count > UINT32_MAX)
            return false;
    }
    for (uint32_t i = 0; tensor->Strides && i < tensor->DimensionCount; i++) {
        extent += (uint64_t)(tensor->Sizes[i] - 1) * tensor->Strides[i]; /* at most 2^32 + (2^32 - 1)^2 */
        if (extent > UINT32_MAX)
            return false;
    }
    *out_extent = tensor->Strides ? extent : count;
    return true;
}

uint64_t schema_tensor_min_bytes(const DML_BUFFER_TENSOR_DESC *tensor)
{
    const uint32_t bits = schema_data_type_bits(tensor->DataType);
    uint64_t extent;
    if (!bits || !tensor->Sizes || tensor->DimensionCount - 1 >= SCHEMA_MAX_RANK || !tensor_extent(tensor, &extent))
        return 0;
    return base_align_up((extent * bits + 7) / 8, 4);
}

void schema_tensor_strides(const DML_BUFFER_TENSOR_DESC *tensor, uint32_t out[SCHEMA_MAX_RANK])
{
    uint32_t packed = 1;
    for (uint32_t i = tensor->DimensionCount; i-- > 0; packed *= tensor->Sizes[i])
        out[i] = tensor->Strides ? tensor->Strides[i] : packed;
}

static bool check_type(struct schema_check *check, const struct schema_field *field, const struct schema_tensor *t)
{
    const uint32_t at = (uint32_t)(field - check->op->fields), type = (uint32_t)t->desc->DataType;
    const uint32_t types =
        schema_field_types(check->op, at, check->level) | schema_field_extensions(check->op, at, check->level);
    if (type < 16 && (types >> type & 1))
        return true;
    return schema_fail(check, SCHEMA_ERROR_DATA_TYPE,
                       "%s: DataType = %s (%" PRIu32 "), not supported for this tensor at feature level %x.%x%s",
                       t->name, schema_data_type_name(t->desc->DataType), type, (unsigned)check->level >> 12,
                       (unsigned)check->level >> 8 & 15,
                       type == ANYDML_TENSOR_DATA_TYPE_BFLOAT16 ? ", nor as an extension" : "");
}

static bool check_flags(struct schema_check *check, const struct schema_field *field, const struct schema_tensor *t)
{
    const uint32_t flags = (uint32_t)t->desc->Flags;
    if (flags & ~(uint32_t)DML_TENSOR_FLAG_OWNED_BY_DML)
        return schema_fail(check, SCHEMA_ERROR_TENSOR_FLAGS, "%s: Flags = 0x%" PRIx32 ", must be 0 or OWNED_BY_DML",
                           t->name, flags);
    if (flags && field->kind != SCHEMA_INPUT)
        return schema_fail(check, SCHEMA_ERROR_TENSOR_FLAGS,
                           "%s: Flags = OWNED_BY_DML (1), must be 0: only inputs can be owned", t->name);
    return true;
}

static bool check_rank(struct schema_check *check, const struct schema_field *field, const struct schema_tensor *t)
{
    const struct schema_support *row = schema_field_support(field, check->level);
    const uint32_t rank = t->desc->DimensionCount;
    if (rank < row->min_rank || rank > row->max_rank)
        return schema_fail(check, SCHEMA_ERROR_RANK, "%s: DimensionCount = %" PRIu32 ", must be %u to %u", t->name,
                           rank, row->min_rank, row->max_rank);
    return true;
}

static bool check_sizes(struct schema_check *check, const struct schema_tensor *t)
{
    const DML_BUFFER_TENSOR_DESC *desc = t->desc;
    if (!desc->Sizes)
        return schema_fail(check, SCHEMA_ERROR_SIZE_ZERO, "%s: Sizes = NULL, must have %" PRIu32 " elements", t->name,
                           desc->DimensionCount);
    for (uint32_t i = 0; i < desc->DimensionCount; i++)
        if (!desc->Sizes[i])
            return schema_fail(check, SCHEMA_ERROR_SIZE_ZERO, "%s: Sizes[%" PRIu32 "] = 0, must be at least 1", t->name,
                               i);
    uint64_t extent;
    if (!tensor_extent(desc, &extent))
        return schema_fail(check, SCHEMA_ERROR_ELEMENT_COUNT,
                           "%s: Sizes[0] = %" PRIu32 " and the following with their Strides span more than 2^32 - 1 "
                           "elements",
                           t->name, desc->Sizes[0]);
    return true;
}

static bool check_strides(struct schema_check *check, const struct schema_field *field, const struct schema_tensor *t)
{
    const DML_BUFFER_TENSOR_DESC *desc = t->desc;
    if (!desc->Strides || field->kind != SCHEMA_OUTPUT)
        return true;
    for (uint32_t i = 0; i < desc->DimensionCount; i++)
        if (!desc->Strides[i] && desc->Sizes[i] > 1)
            return schema_fail(check, SCHEMA_ERROR_STRIDE_OUTPUT,
                               "%s: Strides[%" PRIu32 "] = 0 with Sizes[%" PRIu32 "] = %" PRIu32
                               ", an output's elements must not share memory",
                               t->name, i, i, desc->Sizes[i]);
    return true;
}

static bool check_bytes(struct schema_check *check, const struct schema_tensor *t)
{
    const DML_BUFFER_TENSOR_DESC *desc = t->desc;
    const uint64_t least = schema_tensor_min_bytes(desc);
    if (desc->TotalTensorSizeInBytes < least)
        return schema_fail(check, SCHEMA_ERROR_TENSOR_BYTES,
                           "%s: TotalTensorSizeInBytes = %" PRIu64 ", must be at least %" PRIu64, t->name,
                           (uint64_t)desc->TotalTensorSizeInBytes, least);
    if (desc->TotalTensorSizeInBytes > SCHEMA_MAX_TENSOR_BYTES)
        return schema_fail(check, SCHEMA_ERROR_TENSOR_BYTES,
                           "%s: TotalTensorSizeInBytes = %" PRIu64 ", must be at most %" PRIu64, t->name,
                           (uint64_t)desc->TotalTensorSizeInBytes, SCHEMA_MAX_TENSOR_BYTES);

    const uint32_t align = desc->GuaranteedBaseOffsetAlignment;
    if (align && ((align & (align - 1)) || align * UINT64_C(8) < schema_data_type_bits(desc->DataType)))
        return schema_fail(check, SCHEMA_ERROR_ALIGNMENT,
                           "%s: GuaranteedBaseOffsetAlignment = %" PRIu32
                           ", must be 0 or a power of two not below the size of an element",
                           t->name, align);
    return true;
}

bool schema_check_tensor(struct schema_check *check, const struct schema_field *field,
                         const struct schema_tensor *tensor)
{
    return check_type(check, field, tensor) && check_flags(check, field, tensor) && check_rank(check, field, tensor) &&
           check_sizes(check, tensor) && check_strides(check, field, tensor) && check_bytes(check, tensor);
}
