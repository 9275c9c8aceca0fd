/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON Schema of dispatch files, so that editors complete and check them. */
#include "tools/dispatch/dispatch.h"

#include <stdio.h>

static const char shared[] =
    "\"$schema\": \"http://json-schema.org/draft-07/schema#\",\n"
    "\"title\": \"anydml dispatch: a DirectML operator or graph with its data\",\n"
    "\"type\": \"object\",\n"
    "\"properties\": {\n"
    "  \"$schema\": {\"type\": \"string\"},\n"
    "  \"comment\": {\"type\": \"string\"},\n"
    "  \"type\": {\"$ref\": \"#/definitions/type\"},\n"
    "  \"desc\": {\"type\": \"object\"},\n"
    "  \"graph\": {\"$ref\": \"#/definitions/graph\"},\n"
    "  \"flags\": {\"type\": \"array\", \"items\": {\"type\": \"string\"}},\n"
    "  \"inputs\": {\"type\": \"object\", \"additionalProperties\": {\"$ref\": \"#/definitions/data\"}},\n"
    "  \"outputs\": {\"type\": \"object\", \"additionalProperties\": {\"$ref\": \"#/definitions/file\"}}\n"
    "},\n"
    "\"additionalProperties\": false,\n"
    "\"if\": {\"required\": [\"graph\"]},\n"
    "\"then\": {\"not\": {\"anyOf\": [{\"required\": [\"type\"]}, {\"required\": [\"desc\"]}]}},\n"
    "\"else\": {\"$ref\": \"#/definitions/operator\"},\n"
    "\"definitions\": {\n"
    "\"integer\": {\"oneOf\": [{\"type\": \"integer\"}, {\"type\": \"string\"}, {\"type\": \"boolean\"}]},\n"
    "\"number\": {\"oneOf\": [{\"type\": \"number\"}, {\"type\": \"string\"}, {\"type\": \"boolean\"}]},\n"
    "\"integers\": {\"type\": \"array\", \"items\": {\"$ref\": \"#/definitions/integer\"}},\n"
    "\"numbers\": {\"type\": \"array\", \"items\": {\"$ref\": \"#/definitions/number\"}},\n"
    "\"file\": {\"type\": \"object\", \"properties\": {\"file\": {\"type\": \"string\"}}, \"required\": [\"file\"],\n"
    "  \"additionalProperties\": false},\n"
    "\"data\": {\"anyOf\": [{\"$ref\": \"#/definitions/number\"}, {\"$ref\": \"#/definitions/file\"},\n"
    "  {\"type\": \"array\", \"items\": {\"anyOf\": [{\"$ref\": \"#/definitions/number\"}, {\"type\": "
    "\"array\"}]}}]},\n"
    "\"size\": {\"type\": \"object\", \"properties\": {\"Width\": {\"$ref\": \"#/definitions/integer\"},\n"
    "  \"Height\": {\"$ref\": \"#/definitions/integer\"}}, \"required\": [\"Width\", \"Height\"],\n"
    "  \"additionalProperties\": false},\n"
    "\"scale_bias\": {\"type\": [\"object\", \"null\"], \"properties\": {\n"
    "  \"Scale\": {\"$ref\": \"#/definitions/number\"}, \"Bias\": {\"$ref\": \"#/definitions/number\"}},\n"
    "  \"required\": [\"Scale\", \"Bias\"], \"additionalProperties\": false},\n"
    "\"activation\": {\"type\": [\"object\", \"null\"], \"properties\": {\"type\": {\"$ref\": "
    "\"#/definitions/type\"},\n"
    "  \"desc\": {\"type\": \"object\"}}, \"required\": [\"type\"], \"additionalProperties\": false},\n"
    "\"tensor\": {\"type\": [\"object\", \"null\"], \"properties\": {\n"
    "  \"DataType\": {\"$ref\": \"#/definitions/data_type\"},\n"
    "  \"Sizes\": {\"$ref\": \"#/definitions/integers\"},\n"
    "  \"Strides\": {\"anyOf\": [{\"$ref\": \"#/definitions/integers\"}, {\"type\": \"null\"}]},\n"
    "  \"Flags\": {\"enum\": [\"NONE\", \"OWNED_BY_DML\", \"DML_TENSOR_FLAG_NONE\", "
    "\"DML_TENSOR_FLAG_OWNED_BY_DML\"]},\n"
    "  \"DimensionCount\": {\"$ref\": \"#/definitions/integer\"},\n"
    "  \"TotalTensorSizeInBytes\": {\"$ref\": \"#/definitions/integer\"},\n"
    "  \"GuaranteedBaseOffsetAlignment\": {\"$ref\": \"#/definitions/integer\"}\n"
    "}, \"required\": [\"DataType\", \"Sizes\"], \"additionalProperties\": false},\n"
    "\"graph\": {\"type\": \"object\", \"properties\": {\n"
    "  \"nodes\": {\"type\": \"array\", \"items\": {\"type\": \"object\", \"properties\": {\"name\": {\"type\": "
    "\"string\"}},\n"
    "    \"required\": [\"name\"], \"if\": {\"required\": [\"constant\"]},\n"
    "    \"then\": {\"properties\": {\"constant\": {\"$ref\": \"#/definitions/data\"}}},\n"
    "    \"else\": {\"$ref\": \"#/definitions/operator\"}}},\n"
    "  \"edges\": {\"type\": \"array\", \"items\": {\"type\": \"object\", \"properties\": {\n"
    "    \"input\": {\"type\": \"string\"}, \"from\": {\"type\": \"string\"}, \"to\": {\"type\": \"string\"},\n"
    "    \"output\": {\"type\": \"string\"}}, \"minProperties\": 2, \"maxProperties\": 2,\n"
    "    \"additionalProperties\": false}}\n"
    "}, \"required\": [\"nodes\", \"edges\"], \"additionalProperties\": false}";

static const char *field_definition(enum schema_field_type type)
{
    switch (type) {
    case SCHEMA_TENSOR:
        return "tensor";
    case SCHEMA_UINT:
    case SCHEMA_INT:
    case SCHEMA_BOOL:
        return "integer";
    case SCHEMA_FLOAT:
    case SCHEMA_SCALAR:
        return "number";
    case SCHEMA_VALUE_TYPE:
        return "data_type";
    case SCHEMA_ENUM:
        return NULL;
    case SCHEMA_SIZE_2D:
        return "size";
    case SCHEMA_SCALE_BIAS:
        return "scale_bias";
    case SCHEMA_UINT_ARRAY:
    case SCHEMA_INT_ARRAY:
        return "integers";
    case SCHEMA_FLOAT_ARRAY:
        return "numbers";
    case SCHEMA_FUSED_ACTIVATION:
        return "activation";
    case SCHEMA_TENSOR_ARRAY:
    case SCHEMA_ACTIVATION_ARRAY:
        break;
    }
    return NULL;
}

static void print_enum(const struct schema_enum *type)
{
    printf("{\"enum\": [");
    for (uint32_t i = 0; i < type->count; i++)
        printf("%s\"%s\", \"%s\"", i ? ", " : "", type->values[i].name, type->values[i].name + strlen(type->name) + 1);
    printf("]}");
}

static void print_field(const struct schema_field *field)
{
    const enum schema_field_type type = (enum schema_field_type)field->type;
    if (type == SCHEMA_ENUM)
        print_enum(field->values);
    else if (type == SCHEMA_TENSOR_ARRAY || type == SCHEMA_ACTIVATION_ARRAY)
        printf("{\"type\": \"array\", \"items\": {\"$ref\": \"#/definitions/%s\"}}",
               type == SCHEMA_TENSOR_ARRAY ? "tensor" : "activation");
    else
        printf("{\"$ref\": \"#/definitions/%s\"}", field_definition(type));
}

static void print_operator(const struct schema_op *op, bool first)
{
    printf("%s\n  {\"if\": {\"properties\": {\"type\": {\"const\": \"%s\"}}},\n"
           "   \"then\": {\"properties\": {\"desc\": {\"additionalProperties\": false, \"properties\": {",
           first ? "" : ",", op->name);
    for (uint32_t i = 0; i < op->field_count; i++) {
        printf("%s\n    \"%s\": ", i ? "," : "", op->fields[i].name);
        print_field(&op->fields[i]);
    }
    printf("}}}}}");
}

/* The operators, DirectML's and then ours, one for each call; NULL behind the last. */
static const struct schema_op *next_operator(uint32_t *type)
{
    const struct schema_op *op = NULL;
    while (!op && *type < 256)
        op = schema_op_find((DML_OPERATOR_TYPE)(*type)++);
    return op;
}

void tools_dispatch_schema(void)
{
    const struct schema_op *op;
    const char *comma = "";
    printf("{\n%s,\n\"data_type\": {\"enum\": [", shared);
    for (uint32_t type = 1; type < 16; type++) {
        const char *name = schema_data_type_name((DML_TENSOR_DATA_TYPE)type);
        if (!schema_data_type_bits((DML_TENSOR_DATA_TYPE)type))
            continue;
        printf("%s\"%s\", \"DML_TENSOR_DATA_TYPE_%s\"", comma, name, name);
        comma = ", ";
    }
    printf("]},\n\"type\": {\"enum\": [");
    comma = "";
    for (uint32_t type = 0; (op = next_operator(&type));) {
        printf("%s\n  \"%s\"", comma, op->name);
        comma = ",";
    }
    printf("]},\n\"operator\": {\"required\": [\"type\"], \"properties\": {\"type\": {\"$ref\": "
           "\"#/definitions/type\"}},\n"
           " \"allOf\": [");
    bool first = true;
    for (uint32_t type = 0; (op = next_operator(&type)); first = false)
        print_operator(op, first);
    printf("]}\n}}\n");
}
