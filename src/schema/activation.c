/* SPDX-License-Identifier: Apache-2.0 */
/* FusedActivation and ActivationDescs: descriptions without tensors that are applied inside another operator. */
#include <inttypes.h>
#include <stdio.h>

#include "schema/check.h"
#include "schema/rules.h"

/* The level from which a kind of activation can be fused, in addition to the level of the activation itself. */
static uint32_t fuse_level(uint32_t fuse)
{
    if (fuse == SCHEMA_FUSE_CLIP)
        return DML_FEATURE_LEVEL_6_0;
    return fuse == SCHEMA_FUSE_SOFTMAX ? DML_FEATURE_LEVEL_6_1 : DML_FEATURE_LEVEL_1_0;
}

static bool check_kind(struct schema_check *host, const struct schema_field *field, const char *label,
                       const DML_OPERATOR_DESC *activation)
{
    const struct schema_op *op = schema_op_find(activation->Type);
    if (!op || !(op->fuse & field->fuse))
        return schema_fail(host, SCHEMA_ERROR_ACTIVATION, "%s: Type = %s (%" PRIu32 "), cannot be applied here", label,
                           op ? op->name : "unknown", (uint32_t)activation->Type);
    if (host->level < op->level || host->level < fuse_level(op->fuse))
        return schema_fail(
            host, SCHEMA_ERROR_ACTIVATION, "%s: Type = %s (%" PRIu32 "), cannot be applied here at feature level %x.%x",
            label, op->name, (uint32_t)activation->Type, (unsigned)host->level >> 12, (unsigned)host->level >> 8 & 15);
    if (!activation->Desc)
        return schema_fail(host, SCHEMA_ERROR_ACTIVATION, "%s: Desc = NULL, must be the struct of %s", label, op->name);
    return true;
}

static bool check_no_tensors(struct schema_check *check)
{
    for (uint32_t i = 0; i < check->op->field_count; i++) {
        const struct schema_field *field = &check->op->fields[i];
        if (field->kind != SCHEMA_ATTRIBUTE && schema_field_pointer(field, check->desc))
            return schema_fail(check, SCHEMA_ERROR_ACTIVATION, "%s: not NULL, must be NULL in an activation",
                               field->name);
    }
    return true;
}

bool schema_check_activation(struct schema_check *check, const struct schema_field *field,
                             const DML_OPERATOR_DESC *activation, uint32_t i)
{
    char label[48];
    if (field->type == SCHEMA_ACTIVATION_ARRAY)
        snprintf(label, sizeof(label), "%.31s[%" PRIu32 "]", field->name, i);
    else
        snprintf(label, sizeof(label), "%.31s", field->name);
    if (!check_kind(check, field, label, activation))
        return false;

    struct schema_check inner = {
        .op = schema_op_find(activation->Type),
        .desc = activation->Desc,
        .level = check->level,
        .rank = check->rank, /* hosts have one rank, that of their output */
        .host = check,
        .host_field = label,
        .error = check->error,
    };
    if (!check_no_tensors(&inner) || !schema_check_attributes(&inner))
        return false;
    /* A known client passes recurrent operators a SOFTPLUS whose Steepness is 0 and means 1. */
    const bool recurrent = field->type == SCHEMA_ACTIVATION_ARRAY;
    return inner.op->type != DML_OPERATOR_ACTIVATION_SOFTPLUS || recurrent || schema_rule_softplus(&inner);
}
