/* SPDX-License-Identifier: Apache-2.0 */
/* Types and sizes of outputs: from rules.def, else types from the groups of the schema's table, and sizes from its
 * rules (schema_infer). */
#include "builder/builder.h"

#include "base/base.h"

/* A present tensor of the same type group; NULL if there is none. */
static const DML_BUFFER_TENSOR_DESC *relative(const struct builder_call *call, const struct schema_field *of)
{
    uint32_t slots[2] = { 0, call->input_count };
    for (uint32_t i = 0; i < call->op->field_count; i++) {
        const struct schema_field *field = &call->op->fields[i];
        if (field->kind == SCHEMA_ATTRIBUTE)
            continue;
        uint32_t *slot = &slots[field->kind == SCHEMA_OUTPUT];
        const uint32_t first = *slot, count = schema_array_length(field, call->desc.bytes);
        *slot += count;
        if (count && call->tensors[first].Desc && field->type_group && field->type_group == of->type_group)
            return call->tensors[first].Desc;
    }
    return NULL;
}

/* ---- types ---- */

struct type_row {
    DML_OPERATOR_TYPE op;
    const char *field;
    DML_TENSOR_DATA_TYPE type;
};

static const struct type_row type_rows[] = {
#define TYPE(OPERATOR, FIELD, TYPE) { DML_OPERATOR_##OPERATOR, #FIELD, DML_TENSOR_DATA_TYPE_##TYPE },
#include "builder/rules.def"
};

/* Defaults from the operator's own description: the type of scalars, of scales, of indices. */
static DML_TENSOR_DATA_TYPE type_by_attributes(const struct builder_call *call)
{
    if (call->op->type == DML_OPERATOR_REDUCE) {
        const uint32_t function = builder_uint(call, "Function");
        if (function == DML_REDUCE_FUNCTION_ARGMAX || function == DML_REDUCE_FUNCTION_ARGMIN)
            return DML_TENSOR_DATA_TYPE_UINT32;
    }
    if (call->op->type == DML_OPERATOR_DEQUANTIZE && call->input_count > 1)
        return ((const DML_BUFFER_TENSOR_DESC *)call->tensors[1].Desc)->DataType;
    if (call->op->type == DML_OPERATOR_QUANTIZE && call->input_count > 2)
        return ((const DML_BUFFER_TENSOR_DESC *)call->tensors[2].Desc)->DataType;
    for (uint32_t i = 0; i < call->op->field_count && !call->input_count; i++)
        if (call->op->fields[i].type == SCHEMA_VALUE_TYPE)
            return (DML_TENSOR_DATA_TYPE)builder_uint(call, call->op->fields[i].name);
    return DML_TENSOR_DATA_TYPE_UNKNOWN;
}

bool builder_output_type(struct builder_call *call, const struct schema_field *field, DML_TENSOR_DATA_TYPE *type)
{
    const DML_BUFFER_TENSOR_DESC *like = relative(call, field);
    *type = like ? like->DataType : type_by_attributes(call);
    for (size_t i = 0; i < ARRAY_SIZE(type_rows) && !*type; i++) {
        const struct type_row *row = &type_rows[i];
        if (row->op != call->op->type || strcmp(row->field, field->name))
            continue;
        like = builder_first(call);
        *type = row->type || !like ? row->type : like->DataType;
    }
    return *type || builder_refuse(call, "%s: DataType does not follow from the inputs and must be given", field->name);
}

/* ---- sizes ---- */

struct shape_row {
    DML_OPERATOR_TYPE op;
    bool (*rule)(struct builder_call *, struct builder_shape *);
};

static const struct shape_row shape_rows[] = {
#define SHAPE(OPERATOR, RULE)           { DML_OPERATOR_##OPERATOR, builder_shape_##RULE },
#define SHAPE_EXTENSION(OPERATOR, RULE) { ANYDML_OPERATOR_##OPERATOR, builder_shape_##RULE },
#include "builder/rules.def"
};

bool builder_output_shape(struct builder_call *call, const struct schema_field *field, struct builder_shape *shape)
{
    for (size_t i = 0; i < ARRAY_SIZE(shape_rows); i++) {
        if (shape_rows[i].op != call->op->type)
            continue;
        if (shape_rows[i].rule(call, shape))
            return true;
        return builder_refuse(call, "%s: Sizes do not follow from the inputs and must be given", field->name);
    }
    return true;
}

int64_t builder_times(int64_t a, int64_t b)
{
    const int64_t most = INT64_C(1) << 60;
    int64_t product;
    return __builtin_mul_overflow(a, b, &product) || product > most ? most : product;
}

bool builder_shape_given(struct builder_call *call, struct builder_shape *shape)
{
    (void)call, (void)shape;
    return false;
}
