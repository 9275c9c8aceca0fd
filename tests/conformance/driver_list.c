/* SPDX-License-Identifier: Apache-2.0 */
/* The schema as JSON: what Python knows about the operators. */
#include "driver.h"

#include <stdio.h>
#include <string.h>

#include "base/base.h"

static const char *field_type_name(enum schema_field_type type)
{
    switch (type) {
    case SCHEMA_TENSOR:
        return "tensor";
    case SCHEMA_TENSOR_ARRAY:
        return "tensors";
    case SCHEMA_UINT:
        return "uint";
    case SCHEMA_INT:
        return "int";
    case SCHEMA_FLOAT:
        return "float";
    case SCHEMA_BOOL:
        return "bool";
    case SCHEMA_ENUM:
        return "enum";
    case SCHEMA_VALUE_TYPE:
        return "type";
    case SCHEMA_SCALAR:
        return "scalar";
    case SCHEMA_SIZE_2D:
        return "size";
    case SCHEMA_SCALE_BIAS:
        return "scale_bias";
    case SCHEMA_UINT_ARRAY:
        return "uints";
    case SCHEMA_INT_ARRAY:
        return "ints";
    case SCHEMA_FLOAT_ARRAY:
        return "floats";
    case SCHEMA_FUSED_ACTIVATION:
        return "activation";
    case SCHEMA_ACTIVATION_ARRAY:
        return "activations";
    }
    return "";
}

static const char *length_field(const struct schema_op *op, const struct schema_field *field)
{
    for (uint32_t i = 0; i < op->field_count; i++)
        if (op->fields[i].offset == field->count_offset && op->fields[i].type == SCHEMA_UINT)
            return op->fields[i].name;
    return "";
}

static void list_types(const char *name, uint32_t types)
{
    const char *comma = "";
    printf(", \"%s\": [", name);
    for (uint32_t type = 1; type < 16; type++) {
        if (types >> type & 1) {
            printf("%s\"%s\"", comma, schema_data_type_name((DML_TENSOR_DATA_TYPE)type));
            comma = ", ";
        }
    }
    printf("]");
}

static void list_tensor(const struct schema_op *op, uint32_t i)
{
    const struct schema_field *field = &op->fields[i];
    const struct schema_support *row = schema_field_support(field, DML_FEATURE_LEVEL_6_4);
    printf(", \"min_rank\": %u, \"max_rank\": %u, \"group\": %u, \"aliases\": %u", row ? row->min_rank : 0u,
           row ? row->max_rank : 0u, field->type_group, field->aliases);
    list_types("types", schema_field_types(op, i, DML_FEATURE_LEVEL_6_4));
    list_types("extensions", schema_field_extensions(op, i, DML_FEATURE_LEVEL_6_4));
}

static void list_field(const struct schema_op *op, uint32_t i)
{
    static const char *const kinds[] = { "input", "output", "attribute" };
    const struct schema_field *field = &op->fields[i];
    const enum schema_field_type type = (enum schema_field_type)field->type;
    printf("   {\"name\": \"%s\", \"kind\": \"%s\", \"type\": \"%s\", \"required\": %s, \"fuse\": %u", field->name,
           kinds[field->kind], field_type_name(type), field->required ? "true" : "false", field->fuse);
    if (field->kind != SCHEMA_ATTRIBUTE)
        list_tensor(op, i);
    if (type == SCHEMA_TENSOR_ARRAY || type == SCHEMA_UINT_ARRAY || type == SCHEMA_INT_ARRAY ||
        type == SCHEMA_FLOAT_ARRAY || type == SCHEMA_ACTIVATION_ARRAY)
        printf(", \"length\": \"%s\"", length_field(op, field));
    if (type == SCHEMA_ENUM) {
        printf(", \"values\": [");
        for (uint32_t value = 0; value < field->values->count; value++)
            printf("%s\"%s\"", value ? ", " : "", field->values->values[value].name);
        printf("]");
    }
    printf("}");
}

void driver_list(void)
{
    printf("{\"types\": [");
    for (uint32_t type = 1; type <= DML_TENSOR_DATA_TYPE_INT4; type++)
        printf("%s[\"%s\", %u]", type > 1 ? ", " : "", schema_data_type_name((DML_TENSOR_DATA_TYPE)type), type);
    printf(", [\"BFLOAT16\", %u]],\n\"operators\": [\n", (unsigned)ANYDML_TENSOR_DATA_TYPE_BFLOAT16);
    for (uint32_t i = 0; i < schema_op_count(); i++) {
        const struct schema_op *op = schema_op_at(i);
        printf(" {\"name\": \"%s\", \"type\": %u, \"fuse\": %u, \"fields\": [\n", op->name + strlen("DML_OPERATOR_"),
               (unsigned)op->type, op->fuse);
        for (uint32_t field = 0; field < op->field_count; field++) {
            list_field(op, field);
            printf("%s\n", field + 1 < op->field_count ? "," : "");
        }
        printf(" ]}%s\n", i + 1 < schema_op_count() ? "," : "");
    }
    printf("]}\n");
}

void driver_describe(struct driver_device *device)
{
    const char *comma = "";
    printf("{\"name\": \"%s\", \"host\": %s, \"lacks\": [", driver_device_name(device),
           driver_device_is_host(device) ? "true" : "false");
    for (uint32_t type = 1; type <= DML_TENSOR_DATA_TYPE_INT4 + 1; type++) {
        const bool last = type > DML_TENSOR_DATA_TYPE_INT4;
        DML_FEATURE_QUERY_TENSOR_DATA_TYPE_SUPPORT query = { last ? ANYDML_TENSOR_DATA_TYPE_BFLOAT16
                                                                  : (DML_TENSOR_DATA_TYPE)type };
        DML_FEATURE_DATA_TENSOR_DATA_TYPE_SUPPORT data = { 0 };
        IDMLDevice1_CheckFeatureSupport(driver_device_dml(device), DML_FEATURE_TENSOR_DATA_TYPE_SUPPORT, sizeof(query),
                                        &query, sizeof(data), &data);
        if (data.IsSupported)
            continue;
        printf("%s\"%s\"", comma, last ? "BFLOAT16" : schema_data_type_name(query.DataType));
        comma = ", ";
    }
    printf("]}\n");
}
