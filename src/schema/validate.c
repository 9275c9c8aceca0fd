/* SPDX-License-Identifier: Apache-2.0 */
/* The validation of a description: single tensors, tensors against each other, attributes, the operator's own rule. The
 * same rules infer the sizes of outputs. */
#include <inttypes.h>
#include <stdio.h>

#include "schema/check.h"

/* A required or optional tensor, or all of an array. */
static bool check_tensor_pointer(struct schema_check *check, const struct schema_field *field,
                                 const DML_TENSOR_DESC *tensor)
{
    if (!tensor && check->level < field->optional_level)
        return schema_fail(check, SCHEMA_ERROR_TENSOR_REQUIRED, "%s: NULL, must be given", field->name);
    if (tensor && (tensor->Type != DML_TENSOR_TYPE_BUFFER || !tensor->Desc))
        return schema_fail(check, SCHEMA_ERROR_TENSOR_DESC,
                           "%s: Type = %" PRIu32 ", Desc %s, must be DML_TENSOR_TYPE_BUFFER (1) with a Desc",
                           field->name, (uint32_t)tensor->Type, tensor->Desc ? "given" : "= NULL");
    return true;
}

static bool check_tensor_count(struct schema_check *check, const struct schema_field *field)
{
    const uint32_t count = schema_array_length(field, check->desc);
    if (count < 1 || count > SCHEMA_MAX_TENSORS)
        return schema_fail(check, SCHEMA_ERROR_COUNT, "%s: has %" PRIu32 " elements, must have 1 to %d", field->name,
                           count, SCHEMA_MAX_TENSORS);
    return true;
}

static bool check_tensor_field(struct schema_check *check, const struct schema_field *field)
{
    if (field->type == SCHEMA_TENSOR_ARRAY && !check_tensor_count(check, field))
        return false;
    const DML_TENSOR_DESC *tensors = schema_field_pointer(field, check->desc);
    if (!tensors)
        return check_tensor_pointer(check, field, NULL);
    const uint32_t count = schema_array_length(field, check->desc);
    for (uint32_t i = 0; i < count; i++) {
        if (!check_tensor_pointer(check, field, &tensors[i]))
            return false;
        const struct schema_tensor tensor = schema_tensor_of_field(field, check->desc, i);
        if (check->infer && field->kind == SCHEMA_OUTPUT && !tensor.desc->DimensionCount && tensor.desc->Sizes) {
            memset((UINT *)(uintptr_t)tensor.desc->Sizes, 0, SCHEMA_MAX_RANK * sizeof(UINT));
            continue;
        }
        if (!schema_check_tensor(check, field, &tensor))
            return false;
        if (!check->rank)
            check->rank = tensor.desc->DimensionCount;
    }
    return true;
}

static bool check_tensors(struct schema_check *check)
{
    for (uint32_t i = 0; i < check->op->field_count; i++)
        if (check->op->fields[i].kind != SCHEMA_ATTRIBUTE && !check_tensor_field(check, &check->op->fields[i]))
            return false;
    return true;
}

/* The first tensor of each group, with which later ones must agree. */
struct groups {
    struct schema_tensor type[4]; /* by type group */
    struct schema_tensor same[2]; /* SAME, SAME2 */
    struct schema_tensor rank[2]; /* RANK2 last */
};

static bool check_type_group(struct schema_check *check, struct schema_tensor *first,
                             const struct schema_tensor *tensor)
{
    if (!first->desc)
        *first = *tensor;
    return schema_expect_type(check, tensor, first->desc->DataType, first->name);
}

static bool check_shape_group(struct schema_check *check, struct groups *groups, enum schema_shape shape,
                              const struct schema_tensor *tensor)
{
    if (shape == SCHEMA_SHAPE_ANY)
        return true;
    if (shape != SCHEMA_SHAPE_ONE) {
        struct schema_tensor *rank = &groups->rank[shape == SCHEMA_SHAPE_RANK2];
        if (!rank->desc || !rank->desc->DimensionCount)
            *rank = *tensor;
        if (!schema_expect_rank(check, tensor, rank->desc->DimensionCount, rank->name))
            return false;
    }
    if (shape == SCHEMA_SHAPE_ONE)
        schema_infer_rank(check, tensor, check->rank);
    if (shape == SCHEMA_SHAPE_ONE || shape == SCHEMA_SHAPE_RANK_ONE)
        return schema_expect_leading_ones(check, tensor, 0);
    if (shape == SCHEMA_SHAPE_RANK || shape == SCHEMA_SHAPE_RANK2)
        return true;
    struct schema_tensor *first = &groups->same[shape == SCHEMA_SHAPE_SAME2];
    if (!first->desc || !first->desc->Sizes[0])
        *first = *tensor;
    return schema_expect_same_sizes(check, tensor, first);
}

static bool check_groups(struct schema_check *check)
{
    struct groups groups = { 0 };
    for (uint32_t i = 0; i < check->op->field_count; i++) {
        const struct schema_field *field = &check->op->fields[i];
        if (field->kind == SCHEMA_ATTRIBUTE || !schema_field_pointer(field, check->desc))
            continue;
        const uint32_t count = schema_array_length(field, check->desc);
        for (uint32_t k = 0; k < count; k++) {
            const struct schema_tensor tensor = schema_tensor_of_field(field, check->desc, k);
            if (field->type_group && !check_type_group(check, &groups.type[field->type_group], &tensor))
                return false;
            if (!check_shape_group(check, &groups, field->shape, &tensor))
                return false;
        }
    }
    return true;
}

/* ---- inference ---- */

/* Outputs that have a single rank, where no relation to another tensor says so. */
static void infer_ranks(struct schema_check *check)
{
    for (uint32_t i = 0; i < check->op->field_count; i++) {
        const struct schema_field *field = &check->op->fields[i];
        const struct schema_support *row = schema_field_support(field, check->level);
        if (field->kind != SCHEMA_OUTPUT || field->type != SCHEMA_TENSOR || !row || row->min_rank != row->max_rank)
            continue;
        const struct schema_tensor tensor = schema_tensor_of_field(field, check->desc, 0);
        schema_infer_rank(check, &tensor, row->max_rank);
    }
}

static bool complete(struct schema_check *check, const struct schema_field *field, const struct schema_tensor *tensor)
{
    DML_BUFFER_TENSOR_DESC *desc = (DML_BUFFER_TENSOR_DESC *)(uintptr_t)tensor->desc;
    bool known = desc->DimensionCount != 0;
    for (uint32_t i = 0; known && i < desc->DimensionCount; i++)
        known = desc->Sizes[i] != 0;
    if (!known)
        return schema_fail(check, SCHEMA_ERROR_SIZE_MISMATCH,
                           "%s: Sizes do not follow from the inputs and must be given", tensor->name);
    if (!desc->TotalTensorSizeInBytes)
        desc->TotalTensorSizeInBytes = schema_tensor_min_bytes(desc);
    return schema_check_tensor(check, field, tensor);
}

static bool complete_outputs(struct schema_check *check)
{
    for (uint32_t i = 0; i < check->op->field_count; i++) {
        const struct schema_field *field = &check->op->fields[i];
        if (field->kind != SCHEMA_OUTPUT || !schema_field_pointer(field, check->desc))
            continue;
        const uint32_t count = schema_array_length(field, check->desc);
        for (uint32_t k = 0; k < count; k++) {
            const struct schema_tensor tensor = schema_tensor_of_field(field, check->desc, k);
            if (!complete(check, field, &tensor))
                return false;
        }
    }
    return true;
}

static bool check_all(struct schema_check *check)
{
    if (!check_tensors(check))
        return false;
    if (check->infer)
        infer_ranks(check);
    if (!check_groups(check) || !schema_check_attributes(check) || (check->op->rule && !check->op->rule(check)))
        return false;
    /* What the rule found is now the others' of its group. */
    return !check->infer || (check_groups(check) && complete_outputs(check));
}

static HRESULT validate(const DML_OPERATOR_DESC *desc, DML_FEATURE_LEVEL level, bool infer, struct schema_error *error)
{
    struct schema_error ignored;
    error = error ? error : &ignored;
    *error = (struct schema_error){ 0 };
    if (!desc) {
        error->id = SCHEMA_ERROR_DESC_NULL;
        snprintf(error->text, sizeof(error->text), "DML_OPERATOR_DESC: NULL, must be given");
        return E_INVALIDARG;
    }
    const struct schema_op *op = schema_op_find(desc->Type);
    if (!op) {
        error->id = SCHEMA_ERROR_OPERATOR_UNKNOWN;
        snprintf(error->text, sizeof(error->text), "DML_OPERATOR_DESC: Type = %" PRIu32 ", must be 1 to %" PRIu32,
                 (uint32_t)desc->Type, schema_op_count());
        return E_INVALIDARG;
    }

    struct schema_check check = { .op = op, .desc = desc->Desc, .level = level, .infer = infer, .error = error };
    bool good;
    if (!desc->Desc)
        good = schema_fail(&check, SCHEMA_ERROR_DESC_NULL, "Desc = NULL, must be the operator's struct");
    else if (level < op->level)
        good = schema_fail(&check, SCHEMA_ERROR_FEATURE_LEVEL, "needs feature level %x.%x, the device has %x.%x",
                           (unsigned)op->level >> 12, (unsigned)op->level >> 8 & 15, (unsigned)level >> 12,
                           (unsigned)level >> 8 & 15);
    else
        good = check_all(&check);
    return good ? S_OK : E_INVALIDARG;
}

HRESULT schema_validate(const DML_OPERATOR_DESC *desc, DML_FEATURE_LEVEL level, struct schema_error *error)
{
    return validate(desc, level, false, error);
}

HRESULT schema_infer(const DML_OPERATOR_DESC *desc, DML_FEATURE_LEVEL level, struct schema_error *error)
{
    return validate(desc, level, true, error);
}
