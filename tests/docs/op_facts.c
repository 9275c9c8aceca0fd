/* SPDX-License-Identifier: Apache-2.0 */
/* Prints what is known of every operator as JSON: its row in operators.def, a valid description as C initialisers, and
 * which adapters run it. scripts/generate/make-operator-docs turns it into docs/operators/. */
#include "base/base.h"
#include "graph/backend.h"
#include "graph/compile.h"
#include "schema/check.h"
#include "schema/sample.h"
#include "schema/schema.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const type_names[] = {
    [SCHEMA_TENSOR] = "tensor",
    [SCHEMA_TENSOR_ARRAY] = "tensors",
    [SCHEMA_UINT] = "UINT",
    [SCHEMA_INT] = "INT",
    [SCHEMA_FLOAT] = "FLOAT",
    [SCHEMA_BOOL] = "BOOL",
    [SCHEMA_ENUM] = "enumeration",
    [SCHEMA_VALUE_TYPE] = "DML_TENSOR_DATA_TYPE",
    [SCHEMA_SCALAR] = "DML_SCALAR_UNION",
    [SCHEMA_SIZE_2D] = "DML_SIZE_2D",
    [SCHEMA_SCALE_BIAS] = "DML_SCALE_BIAS *",
    [SCHEMA_UINT_ARRAY] = "UINT array",
    [SCHEMA_INT_ARRAY] = "INT array",
    [SCHEMA_FLOAT_ARRAY] = "FLOAT array",
    [SCHEMA_FUSED_ACTIVATION] = "activation",
    [SCHEMA_ACTIVATION_ARRAY] = "activations",
};
static const char *const limit_names[] = {
    [SCHEMA_LIMIT_ANY] = "any",           [SCHEMA_LIMIT_MIN1] = "min1",       [SCHEMA_LIMIT_NONZERO] = "nonzero",
    [SCHEMA_LIMIT_POSITIVE] = "positive", [SCHEMA_LIMIT_FINITE] = "finite",   [SCHEMA_LIMIT_WINDOW] = "window",
    [SCHEMA_LIMIT_EXTENT] = "extent",     [SCHEMA_LIMIT_AXIS] = "axis",       [SCHEMA_LIMIT_AXES] = "axes",
    [SCHEMA_LIMIT_RANK] = "rank",         [SCHEMA_LIMIT_SPATIAL] = "spatial",
};
static const char *const shape_names[] = {
    [SCHEMA_SHAPE_ANY] = "any",     [SCHEMA_SHAPE_RANK] = "rank",         [SCHEMA_SHAPE_SAME] = "same",
    [SCHEMA_SHAPE_SAME2] = "same2", [SCHEMA_SHAPE_RANK_ONE] = "rank one", [SCHEMA_SHAPE_RANK2] = "rank2",
    [SCHEMA_SHAPE_ONE] = "one",
};

static void string(const char *text)
{
    putchar('"');
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            putchar('\\');
        putchar(*text);
    }
    putchar('"');
}

static void level(uint32_t value)
{
    printf("\"%x.%x\"", value >> 12, value >> 8 & 15);
}

static void data_types(uint32_t types)
{
    const char *comma = "";
    printf("[");
    for (uint32_t type = 1; type < 16; type++) {
        if (!(types >> type & 1))
            continue;
        printf("%s\"%s\"", comma, schema_data_type_name((DML_TENSOR_DATA_TYPE)type));
        comma = ", ";
    }
    printf("]");
}

static void support(const struct schema_op *op, const struct schema_field *field)
{
    const char *comma = "";
    printf(", \"support\": [");
    for (const struct schema_support *row = field->support; row->level; row++) {
        if (row[1].level && row[1].level <= op->level)
            continue; /* replaced before the operator came */
        printf("%s{\"level\": ", comma);
        level(BASE_MAX(row->level, (uint32_t)op->level));
        printf(", \"ranks\": [%u, %u], \"types\": ", row->min_rank, row->max_rank);
        data_types(row->types);
        printf("}");
        comma = ", ";
    }
    printf("]");
}

static void enumerators(const struct schema_enum *values)
{
    printf(", \"enum\": \"%s\", \"values\": [", values->name);
    for (uint32_t i = 0; i < values->count; i++) {
        printf("%s[\"%s\", ", i ? ", " : "", values->values[i].name);
        level(values->values[i].level);
        printf("]");
    }
    printf("]");
}

/* ---- a valid description, as C ---- */

static void real(float value)
{
    char text[32];
    snprintf(text, sizeof(text), "%.9g", (double)value);
    printf("%s%sf", text, strpbrk(text, ".e") ? "" : ".0");
}

static void activation(const DML_OPERATOR_DESC *desc)
{
    const struct schema_op *op = schema_op_find(desc->Type);
    printf("{ %s, &(DML_%s_OPERATOR_DESC){ ", op->name, op->name + strlen("DML_OPERATOR_"));
    for (uint32_t i = 0, count = 0; i < op->field_count; i++) {
        float value;
        if (op->fields[i].type != SCHEMA_FLOAT)
            continue;
        memcpy(&value, (const char *)desc->Desc + op->fields[i].offset, sizeof(value));
        printf("%s.%s = ", count++ ? ", " : "", op->fields[i].name);
        real(value);
    }
    printf("} }");
}

static void array(const struct schema_field *field, const void *desc)
{
    const uint32_t *values = schema_field_pointer(field, desc);
    uint32_t count = schema_array_length(field, desc);
    printf("(%.*s[]){ ", (int)strcspn(type_names[field->type], " "), type_names[field->type]);
    for (uint32_t i = 0; i < count; i++) {
        printf("%s", i ? ", " : "");
        if (field->type == SCHEMA_FLOAT_ARRAY)
            real(((const float *)values)[i]);
        else
            printf("%" PRId32, (int32_t)values[i]);
    }
    printf(" }");
}

static void activations(const struct schema_field *field, const void *desc)
{
    const DML_OPERATOR_DESC *first = schema_field_pointer(field, desc);
    uint32_t count = schema_array_length(field, desc);
    bool many = field->type == SCHEMA_ACTIVATION_ARRAY;
    printf(many ? "(DML_OPERATOR_DESC[]){ " : "&(DML_OPERATOR_DESC)");
    for (uint32_t i = 0; i < count; i++) {
        printf("%s", i ? ", " : "");
        activation(&first[i]);
    }
    printf(many ? " }" : "");
}

static void number(const struct schema_field *field, uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof(value));
    if (field->type == SCHEMA_FLOAT)
        real(value);
    else if (field->type == SCHEMA_BOOL)
        printf(bits ? "TRUE" : "FALSE");
    else if (field->values)
        printf("%s", field->values->values[bits].name);
    else
        printf("%" PRId32, (int32_t)bits);
}

/* The initialiser of one field, nothing for NULL. */
static void initialiser(const struct schema_field *field, const struct schema_sample_storage *storage)
{
    const void *desc = storage->desc;
    DML_SIZE_2D size;
    switch ((enum schema_field_type)field->type) {
    case SCHEMA_TENSOR:
    case SCHEMA_TENSOR_ARRAY: {
        const DML_TENSOR_DESC *tensor = schema_field_pointer(field, desc);
        if (tensor)
            printf("&tensors[%u]", (unsigned)(tensor - storage->tensors));
        break;
    }
    case SCHEMA_SCALAR:
        printf("{ .Bytes = { 0 } }");
        break;
    case SCHEMA_SIZE_2D:
        memcpy(&size, (const char *)desc + field->offset, sizeof(size));
        printf("{ %u, %u }", size.Width, size.Height);
        break;
    case SCHEMA_SCALE_BIAS: {
        const DML_SCALE_BIAS *value = schema_field_pointer(field, desc);
        printf("&(DML_SCALE_BIAS){ ");
        real(value->Scale);
        printf(", ");
        real(value->Bias);
        printf(" }");
        break;
    }
    case SCHEMA_UINT_ARRAY:
    case SCHEMA_INT_ARRAY:
    case SCHEMA_FLOAT_ARRAY:
        array(field, desc);
        break;
    case SCHEMA_FUSED_ACTIVATION:
    case SCHEMA_ACTIVATION_ARRAY:
        activations(field, desc);
        break;
    case SCHEMA_UINT:
    case SCHEMA_INT:
    case SCHEMA_FLOAT:
    case SCHEMA_BOOL:
    case SCHEMA_ENUM:
    case SCHEMA_VALUE_TYPE:
        number(field, schema_field_u32(field, desc));
        break;
    }
}

static void tensors(const struct schema_sample_storage *storage)
{
    printf(" \"tensors\": [");
    for (uint32_t i = 0; i < storage->tensor_count; i++) {
        const DML_BUFFER_TENSOR_DESC *buffer = &storage->buffers[i];
        printf("%s{\"type\": \"%s\", \"bytes\": %" PRIu64 ", \"sizes\": [", i ? ", " : "",
               schema_data_type_name(buffer->DataType), schema_tensor_min_bytes(buffer));
        for (uint32_t d = 0; d < buffer->DimensionCount; d++)
            printf("%s%u", d ? ", " : "", buffer->Sizes[d]);
        printf("]}");
    }
    printf("],");
}

static void one_field(const struct schema_op *op, uint32_t index, const struct schema_sample_storage *storage)
{
    static const char *const kinds[] = { "input", "output", "attribute" };
    const struct schema_field *field = &op->fields[index];
    printf("%s\n   {\"name\": \"%s\", \"kind\": \"%s\", \"type\": \"%s\"", index ? "," : "", field->name,
           kinds[field->kind], type_names[field->type]);
    if (field->kind != SCHEMA_ATTRIBUTE) {
        printf(", \"optional\": ");
        if (field->optional_level == UINT16_MAX)
            printf("null");
        else
            level(BASE_MAX(field->optional_level, (uint32_t)op->level));
        printf(", \"group\": %u, \"shape\": \"%s\", \"aliases\": %u", field->type_group, shape_names[field->shape],
               field->aliases);
        support(op, field);
        printf(", \"extensions\": ");
        data_types(schema_field_extensions(op, index, DML_FEATURE_LEVEL_6_4));
    } else {
        printf(", \"limit\": \"%s\", \"fuse\": %u", limit_names[field->limit], field->fuse);
    }
    if (field->values)
        enumerators(field->values);
    if (schema_field_is_array(field)) {
        for (uint32_t i = 0; i < op->field_count; i++)
            if (op->fields[i].offset == field->count_offset)
                printf(", \"count\": \"%s\"", op->fields[i].name);
    }
    printf(", \"c\": \"");
    initialiser(field, storage);
    printf("\"}");
}

/* Whether a backend takes the description, on a device that lacks nothing. */
static bool runs_on(const struct graph_backend *backend, const DML_OPERATOR_DESC *op_desc)
{
    char error[256] = "";
    struct graph_options options;
    struct graph_plan *plan = NULL;
    struct schema_desc *desc = NULL;
    struct graph graph;
    HRESULT hr = schema_desc_create(op_desc, &desc);
    graph_options_init(&options, backend, 1);
    options.shader_capabilities = UINT32_MAX;
    if (SUCCEEDED(hr))
        hr = graph_from_operator(&graph, desc, DML_EXECUTION_FLAG_NONE, error);
    if (SUCCEEDED(hr)) {
        hr = graph_run_passes(&graph, &options);
        if (SUCCEEDED(hr))
            hr = graph_plan_create(&graph, &options, &plan, error);
        graph_plan_destroy(plan);
        graph_finish(&graph);
    }
    schema_desc_destroy(desc);
    return SUCCEEDED(hr);
}

static bool one_operator(uint32_t index)
{
    static struct schema_sample_storage storage;
    const struct schema_op *op = schema_op_at(index);
    DML_OPERATOR_DESC desc;
    if (!schema_sample(op->type, &storage, &desc))
        return false;
    printf("%s\n {\"name\": \"%s\", \"number\": %u, \"level\": ", index ? "," : "", op->name + strlen("DML_OPERATOR_"),
           (unsigned)op->type);
    level((uint32_t)op->level);
    printf(", \"meaning\": ");
    string(op->meaning);
    printf(", \"rule\": \"%s\", \"fuse\": %u, \"cpu\": %s, \"vulkan\": %s,", op->rule_name, op->fuse,
           runs_on(&graph_backend_host, &desc) ? "true" : "false",
           runs_on(&graph_backend_spirv, &desc) ? "true" : "false");
    tensors(&storage);
    printf(" \"fields\": [");
    for (uint32_t i = 0; i < op->field_count; i++)
        one_field(op, i, &storage);
    printf("]}");
    return true;
}

int main(void)
{
    printf("{\"errors\": {");
    for (uint32_t id = 1; id < SCHEMA_ERROR_END; id++) {
        printf("%s\"%s\": ", id > 1 ? ", " : "", schema_error_name(id));
        string(schema_error_rule(id));
    }
    printf("},\n \"operators\": [");
    for (uint32_t i = 0; i < schema_op_count(); i++) {
        if (!one_operator(i))
            return 1;
    }
    printf("\n]}\n");
    return 0;
}
