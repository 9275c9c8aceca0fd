/* SPDX-License-Identifier: Apache-2.0 */
/* From JSON to DML_OPERATOR_DESC, field by field according to the schema: no operator is handled specially. */
#include "tools/dispatch/dispatch.h"

#include <stdio.h>
#include <stdlib.h>

#define TYPE_END 16  /* above every DML_TENSOR_DATA_TYPE */
#define OP_END   256 /* above every DML_OPERATOR_TYPE */

/* ---- strings and objects ---- */

bool tools_dispatch_string(struct dispatch_reader *r, const json_t *value, const char **out)
{
    *out = json_string_value(value);
    return *out || tools_dispatch_refuse(r, value, "a string");
}

bool tools_dispatch_object(struct dispatch_reader *r, const json_t *value, const char *const *keys)
{
    const char *key;
    json_t *ignored;
    if (!json_is_object(value))
        return tools_dispatch_refuse(r, value, "an object");
    json_object_foreach((json_t *)(uintptr_t)value, key, ignored)
    {
        const char *const *known = keys;
        while (*known && strcmp(*known, key))
            known++;
        if (*known)
            continue;
        char list[300] = "";
        for (size_t i = 0, used = 0; keys[i] && used < sizeof(list); i++)
            used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s", i ? ", " : "", keys[i]);
        return tools_dispatch_fail(r, "%s%.60s: unknown key; expected %s", r->path[0] ? "." : "", key, list);
    }
    return true;
}

/* Whether `text` is `name`, or `name` without `prefix` and '_'. */
static bool tools_dispatch_named(const char *text, const char *prefix, const char *name)
{
    const size_t length = strlen(prefix);
    return !strcmp(text, name) || (!strncmp(name, prefix, length) && !strcmp(text, name + length + 1));
}

/* ---- enumerations ---- */

static bool read_type(struct dispatch_reader *r, const json_t *value, DML_TENSOR_DATA_TYPE *out)
{
    static const char prefix[] = "DML_TENSOR_DATA_TYPE_";
    const char *text;
    if (!tools_dispatch_string(r, value, &text))
        return false;
    if (!strncmp(text, prefix, strlen(prefix)))
        text += strlen(prefix);
    for (uint32_t type = 1; type < TYPE_END; type++) {
        if (!schema_data_type_bits((DML_TENSOR_DATA_TYPE)type) ||
            strcmp(text, schema_data_type_name((DML_TENSOR_DATA_TYPE)type)))
            continue;
        *out = (DML_TENSOR_DATA_TYPE)type;
        return true;
    }
    return tools_dispatch_refuse(r, value, "a DML_TENSOR_DATA_TYPE like \"FLOAT32\"");
}

static bool read_enum(struct dispatch_reader *r, const json_t *value, const struct schema_enum *type, uint32_t *out)
{
    const char *text;
    char rule[500] = "one of ";
    size_t used = strlen(rule);
    if (!tools_dispatch_string(r, value, &text))
        return false;
    for (uint32_t i = 0; i < type->count; i++) {
        if (tools_dispatch_named(text, type->name, type->values[i].name)) {
            *out = i;
            return true;
        }
        if (used < sizeof(rule))
            used += (size_t)snprintf(rule + used, sizeof(rule) - used, "%s%s", i ? ", " : "", type->values[i].name);
    }
    return tools_dispatch_refuse(r, value, rule);
}

static bool read_tensor_flags(struct dispatch_reader *r, const json_t *value, DML_TENSOR_FLAGS *out)
{
    const char *text;
    if (!tools_dispatch_string(r, value, &text))
        return false;
    const bool owned = tools_dispatch_named(text, "DML_TENSOR_FLAG", "DML_TENSOR_FLAG_OWNED_BY_DML");
    *out = owned ? DML_TENSOR_FLAG_OWNED_BY_DML : DML_TENSOR_FLAG_NONE;
    return owned || tools_dispatch_named(text, "DML_TENSOR_FLAG", "DML_TENSOR_FLAG_NONE") ||
           tools_dispatch_refuse(r, value, "\"NONE\" or \"OWNED_BY_DML\"");
}

/* ---- arrays and structs ---- */

/* Numbers of 32 bits. */
static bool read_numbers(struct dispatch_reader *r, const json_t *value, DML_TENSOR_DATA_TYPE type, void **out,
                         uint32_t *out_count)
{
    if (!json_is_array(value))
        return tools_dispatch_refuse(r, value, "an array of numbers");
    *out_count = (uint32_t)json_array_size(value);
    *out = tools_dispatch_alloc(r, *out_count, sizeof(uint32_t));
    for (uint32_t i = 0; *out && i < *out_count; i++) {
        const size_t length = tools_dispatch_enter(r, "[%u]", i);
        if (!tools_dispatch_store(r, json_array_get(value, i), type, *out, i))
            return false;
        tools_dispatch_leave(r, length);
    }
    return *out != NULL;
}

/* A member of an object: its number. NULL leaves *out alone unless it is required. */
static bool read_member(struct dispatch_reader *r, const json_t *object, const char *key, bool required,
                        DML_TENSOR_DATA_TYPE type, void *out)
{
    const json_t *value = json_object_get(object, key);
    const size_t length = tools_dispatch_enter(r, ".%s", key);
    if ((value || required) && !tools_dispatch_store(r, value, type, out, 0))
        return false;
    tools_dispatch_leave(r, length);
    return true;
}

static bool read_size(struct dispatch_reader *r, const json_t *value, DML_SIZE_2D *out)
{
    static const char *const keys[] = { "Width", "Height", NULL };
    return tools_dispatch_object(r, value, keys) &&
           read_member(r, value, keys[0], true, DML_TENSOR_DATA_TYPE_UINT32, &out->Width) &&
           read_member(r, value, keys[1], true, DML_TENSOR_DATA_TYPE_UINT32, &out->Height);
}

static bool read_scale_bias(struct dispatch_reader *r, const json_t *value, const void **out)
{
    static const char *const keys[] = { "Scale", "Bias", NULL };
    DML_SCALE_BIAS *pair = tools_dispatch_alloc(r, 1, sizeof(*pair));
    *out = pair;
    return pair && tools_dispatch_object(r, value, keys) &&
           read_member(r, value, keys[0], true, DML_TENSOR_DATA_TYPE_FLOAT32, &pair->Scale) &&
           read_member(r, value, keys[1], true, DML_TENSOR_DATA_TYPE_FLOAT32, &pair->Bias);
}

/* ---- tensors ---- */

static bool read_dimensions(struct dispatch_reader *r, const json_t *value, DML_BUFFER_TENSOR_DESC *tensor)
{
    const json_t *strides = json_object_get(value, "Strides");
    uint32_t count, given;
    void *numbers;
    size_t length = tools_dispatch_enter(r, ".Sizes");
    if (!read_numbers(r, json_object_get(value, "Sizes"), DML_TENSOR_DATA_TYPE_UINT32, &numbers, &count))
        return false;
    tools_dispatch_leave(r, length);
    tensor->Sizes = numbers;
    tensor->DimensionCount = given = count;
    if (!read_member(r, value, "DimensionCount", false, DML_TENSOR_DATA_TYPE_UINT32, &given))
        return false;
    if (given != count)
        return tools_dispatch_fail(r, ".DimensionCount = %u, must be %u, the length of Sizes", given, count);
    if (!strides || json_is_null(strides))
        return true;
    length = tools_dispatch_enter(r, ".Strides");
    if (!read_numbers(r, strides, DML_TENSOR_DATA_TYPE_UINT32, &numbers, &given))
        return false;
    if (given != count)
        return tools_dispatch_fail(r, " has %u elements, must have %u as Sizes", given, count);
    tools_dispatch_leave(r, length);
    tensor->Strides = numbers;
    return true;
}

static bool read_tensor(struct dispatch_reader *r, const json_t *value, DML_TENSOR_DESC *out)
{
    static const char *const keys[] = { "DataType",
                                        "Sizes",
                                        "Strides",
                                        "Flags",
                                        "DimensionCount",
                                        "TotalTensorSizeInBytes",
                                        "GuaranteedBaseOffsetAlignment",
                                        NULL };
    DML_BUFFER_TENSOR_DESC *tensor = tools_dispatch_alloc(r, 1, sizeof(*tensor));
    const json_t *flags = json_object_get(value, "Flags");
    if (!tensor || !tools_dispatch_object(r, value, keys))
        return false;
    *out = (DML_TENSOR_DESC){ DML_TENSOR_TYPE_BUFFER, tensor };
    size_t length = tools_dispatch_enter(r, ".DataType");
    if (!read_type(r, json_object_get(value, "DataType"), &tensor->DataType))
        return false;
    tools_dispatch_leave(r, length);
    length = tools_dispatch_enter(r, ".Flags");
    if (flags && !read_tensor_flags(r, flags, &tensor->Flags))
        return false;
    tools_dispatch_leave(r, length);
    if (!read_dimensions(r, value, tensor))
        return false;
    tensor->TotalTensorSizeInBytes = schema_tensor_min_bytes(tensor);
    return read_member(r, value, "TotalTensorSizeInBytes", false, DML_TENSOR_DATA_TYPE_UINT64,
                       &tensor->TotalTensorSizeInBytes) &&
           read_member(r, value, "GuaranteedBaseOffsetAlignment", false, DML_TENSOR_DATA_TYPE_UINT32,
                       &tensor->GuaranteedBaseOffsetAlignment);
}

/* ---- fields ---- */

static bool read_operator(struct dispatch_reader *r, const json_t *object, DML_OPERATOR_DESC *out);

static bool read_activation(struct dispatch_reader *r, const json_t *value, DML_OPERATOR_DESC *out)
{
    static const char *const keys[] = { "type", "desc", NULL };
    return tools_dispatch_object(r, value, keys) && read_operator(r, value, out);
}

/* Arrays of tensors and activations, and single ones. */
static bool read_structs(struct dispatch_reader *r, const json_t *value, bool is_array, bool is_tensor,
                         const void **out, uint32_t *out_count)
{
    if (is_array && !json_is_array(value))
        return tools_dispatch_refuse(r, value, "an array");
    const uint32_t count = *out_count = is_array ? (uint32_t)json_array_size(value) : 1;
    DML_TENSOR_DESC *tensors = tools_dispatch_alloc(r, count, sizeof(*tensors));
    DML_OPERATOR_DESC *operators = tools_dispatch_alloc(r, count, sizeof(*operators));
    if (!tensors || !operators)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        const json_t *element = is_array ? json_array_get(value, i) : value;
        const size_t length = is_array ? tools_dispatch_enter(r, "[%u]", i) : strlen(r->path);
        if (is_tensor ? !read_tensor(r, element, &tensors[i]) : !read_activation(r, element, &operators[i]))
            return false;
        tools_dispatch_leave(r, length);
    }
    *out = is_tensor ? (const void *)tensors : operators;
    return true;
}

/* A pointer, and for an array its length. */
static bool read_pointer(struct dispatch_reader *r, const json_t *value, const struct schema_field *field,
                         const void **out, uint32_t *out_count)
{
    void *numbers = NULL;
    bool ok;
    switch ((enum schema_field_type)field->type) {
    case SCHEMA_TENSOR:
        return read_structs(r, value, false, true, out, out_count);
    case SCHEMA_TENSOR_ARRAY:
        return read_structs(r, value, true, true, out, out_count);
    case SCHEMA_FUSED_ACTIVATION:
        return read_structs(r, value, false, false, out, out_count);
    case SCHEMA_ACTIVATION_ARRAY:
        return read_structs(r, value, true, false, out, out_count);
    case SCHEMA_SCALE_BIAS:
        return read_scale_bias(r, value, out);
    case SCHEMA_INT_ARRAY:
        ok = read_numbers(r, value, DML_TENSOR_DATA_TYPE_INT32, &numbers, out_count);
        break;
    case SCHEMA_FLOAT_ARRAY:
        ok = read_numbers(r, value, DML_TENSOR_DATA_TYPE_FLOAT32, &numbers, out_count);
        break;
    default:
        ok = read_numbers(r, value, DML_TENSOR_DATA_TYPE_UINT32, &numbers, out_count);
        break;
    }
    *out = numbers;
    return ok;
}

static bool is_pointer(const struct schema_field *field)
{
    switch ((enum schema_field_type)field->type) {
    case SCHEMA_UINT:
    case SCHEMA_INT:
    case SCHEMA_FLOAT:
    case SCHEMA_BOOL:
    case SCHEMA_ENUM:
    case SCHEMA_VALUE_TYPE:
    case SCHEMA_SCALAR:
    case SCHEMA_SIZE_2D:
        return false;
    case SCHEMA_TENSOR:
    case SCHEMA_TENSOR_ARRAY:
    case SCHEMA_SCALE_BIAS:
    case SCHEMA_UINT_ARRAY:
    case SCHEMA_INT_ARRAY:
    case SCHEMA_FLOAT_ARRAY:
    case SCHEMA_FUSED_ACTIVATION:
    case SCHEMA_ACTIVATION_ARRAY:
        break;
    }
    return true;
}

static bool is_array(const struct schema_field *field)
{
    return is_pointer(field) && field->type != SCHEMA_TENSOR && field->type != SCHEMA_SCALE_BIAS &&
           field->type != SCHEMA_FUSED_ACTIVATION;
}

/* The type of the operator's scalars. */
static DML_TENSOR_DATA_TYPE value_type(const struct schema_op *op, const char *desc)
{
    DML_TENSOR_DATA_TYPE type = DML_TENSOR_DATA_TYPE_UNKNOWN;
    for (uint32_t i = 0; i < op->field_count; i++)
        if (op->fields[i].type == SCHEMA_VALUE_TYPE)
            memcpy(&type, desc + op->fields[i].offset, sizeof(type));
    return type;
}

static bool read_plain(struct dispatch_reader *r, const json_t *value, const struct schema_op *op,
                       const struct schema_field *field, char *desc)
{
    void *out = desc + field->offset;
    switch ((enum schema_field_type)field->type) {
    case SCHEMA_INT:
        return tools_dispatch_store(r, value, DML_TENSOR_DATA_TYPE_INT32, out, 0);
    case SCHEMA_FLOAT:
        return tools_dispatch_store(r, value, DML_TENSOR_DATA_TYPE_FLOAT32, out, 0);
    case SCHEMA_ENUM:
        return read_enum(r, value, field->values, out);
    case SCHEMA_VALUE_TYPE:
        return read_type(r, value, out);
    case SCHEMA_SCALAR:
        return tools_dispatch_store(r, value, value_type(op, desc), out, 0);
    case SCHEMA_SIZE_2D:
        return read_size(r, value, out);
    default:
        return tools_dispatch_store(r, value, DML_TENSOR_DATA_TYPE_UINT32, out, 0);
    }
}

/* Whether the field is the length of an array. */
static bool is_length(const struct schema_op *op, const struct schema_field *field)
{
    for (uint32_t i = 0; field->type == SCHEMA_UINT && i < op->field_count; i++)
        if (is_array(&op->fields[i]) && op->fields[i].count_offset == field->offset)
            return true;
    return false;
}

/* All fields except for pointers, so that lengths and the type of scalars are known for the rest. Lengths are
 * optional. */
static bool read_plain_fields(struct dispatch_reader *r, const json_t *object, const struct schema_op *op, char *desc,
                              bool *known)
{
    for (uint32_t i = 0; i < op->field_count; i++) {
        const struct schema_field *field = &op->fields[i];
        const json_t *value = json_object_get(object, field->name);
        const size_t length = tools_dispatch_enter(r, ".%s", field->name);
        known[i] = value != NULL;
        if (!is_pointer(field) && (value || !is_length(op, field)) && !read_plain(r, value, op, field, desc))
            return false;
        tools_dispatch_leave(r, length);
    }
    return true;
}

/* The arrays that share a length agree with each other and with the length, if it is given. */
static bool set_length(struct dispatch_reader *r, const struct schema_op *op, const struct schema_field *array,
                       char *desc, bool *known, uint32_t count)
{
    for (uint32_t i = 0; i < op->field_count; i++) {
        const struct schema_field *field = &op->fields[i];
        uint32_t now;
        if (field->type != SCHEMA_UINT || field->offset != array->count_offset)
            continue;
        memcpy(&now, desc + field->offset, sizeof(now));
        if (known[i] && now != count)
            return tools_dispatch_fail(r, " has %u elements, must have %u (%s)", count, now, field->name);
        known[i] = true;
    }
    memcpy(desc + array->count_offset, &count, sizeof(count));
    return true;
}

static bool read_pointer_fields(struct dispatch_reader *r, const json_t *object, const struct schema_op *op, char *desc,
                                bool *known)
{
    for (uint32_t i = 0; i < op->field_count; i++) {
        const struct schema_field *field = &op->fields[i];
        const json_t *value = json_object_get(object, field->name);
        const void *pointer = NULL;
        uint32_t count = 0;
        if (!is_pointer(field) || !value || json_is_null(value))
            continue;
        const size_t length = tools_dispatch_enter(r, ".%s", field->name);
        if (!read_pointer(r, value, field, &pointer, &count) ||
            (is_array(field) && !set_length(r, op, field, desc, known, count)))
            return false;
        tools_dispatch_leave(r, length);
        memcpy(desc + field->offset, &pointer, sizeof(pointer));
    }
    return true;
}

static bool check_names(struct dispatch_reader *r, const json_t *object, const struct schema_op *op)
{
    const char *key;
    json_t *ignored;
    json_object_foreach((json_t *)(uintptr_t)object, key, ignored)
    {
        if (!schema_field_find(op, key))
            return tools_dispatch_fail(r, ".%.60s: unknown field of %s", key, op->name);
    }
    return true;
}

/* ---- operators ---- */

static bool find_operator(struct dispatch_reader *r, const json_t *value, const struct schema_op **out)
{
    const char *text;
    if (!tools_dispatch_string(r, value, &text))
        return false;
    for (uint32_t type = 0; type < OP_END; type++) {
        *out = schema_op_find((DML_OPERATOR_TYPE)type);
        if (*out && !strcmp((*out)->name, text))
            return true;
    }
    return tools_dispatch_refuse(r, value, "an operator like \"DML_OPERATOR_GEMM\" (anydml ops)");
}

static bool read_operator(struct dispatch_reader *r, const json_t *object, DML_OPERATOR_DESC *out)
{
    const json_t *fields = json_object_get(object, "desc");
    const char *dot = r->path[0] ? "." : "";
    const struct schema_op *op;
    json_t *empty = fields ? NULL : json_object();
    size_t length = tools_dispatch_enter(r, "%stype", dot);
    if (!find_operator(r, json_object_get(object, "type"), &op)) {
        json_decref(empty);
        return false;
    }
    tools_dispatch_leave(r, length);
    length = tools_dispatch_enter(r, "%sdesc", dot);
    fields = fields ? fields : empty;
    char *desc = tools_dispatch_alloc(r, 1, op->desc_size);
    bool *known = tools_dispatch_alloc(r, op->field_count, sizeof(*known));
    bool ok = desc && known && (json_is_object(fields) || tools_dispatch_refuse(r, fields, "an object")) &&
              check_names(r, fields, op) && read_plain_fields(r, fields, op, desc, known) &&
              read_pointer_fields(r, fields, op, desc, known);
    json_decref(empty);
    if (!ok)
        return false;
    tools_dispatch_leave(r, length);
    *out = (DML_OPERATOR_DESC){ op->type, desc };
    return true;
}

/* The tensors in declared order, including absent ones. */
static bool make_slots(struct dispatch_reader *r, const struct schema_op *op, struct dispatch_node *node)
{
    for (uint32_t pass = 0; pass < 2; pass++) {
        node->input_count = node->output_count = 0;
        for (uint32_t i = 0; i < op->field_count; i++) {
            const struct schema_field *field = &op->fields[i];
            const bool is_output = field->kind == SCHEMA_OUTPUT;
            const DML_TENSOR_DESC *tensors;
            if (field->kind == SCHEMA_ATTRIBUTE)
                continue;
            memcpy(&tensors, (const char *)node->desc.Desc + field->offset, sizeof(tensors));
            const uint32_t count = schema_array_length(field, node->desc.Desc);
            for (uint32_t k = 0; k < count; k++) {
                struct dispatch_slot *slots = is_output ? node->outputs : node->inputs;
                uint32_t *used = is_output ? &node->output_count : &node->input_count;
                char name[80];
                snprintf(name, sizeof(name), "%s", field->name);
                if (is_array(field))
                    snprintf(name, sizeof(name), "%s[%u]", field->name, k);
                if (pass)
                    slots[*used] = (struct dispatch_slot){ base_arena_strdup(r->arena, name),
                                                           tensors ? tensors[k].Desc : NULL, NULL };
                if (pass && !slots[*used].name)
                    return tools_fail_memory(r->error);
                ++*used;
            }
        }
        if (!pass) {
            node->inputs = tools_dispatch_alloc(r, node->input_count, sizeof(*node->inputs));
            node->outputs = tools_dispatch_alloc(r, node->output_count, sizeof(*node->outputs));
            if (!node->inputs || !node->outputs)
                return false;
        }
    }
    return true;
}

bool tools_dispatch_operator(struct dispatch_reader *r, const json_t *object, struct dispatch_node *out)
{
    struct schema_error why;
    if (!read_operator(r, object, &out->desc))
        return false;
    if (FAILED(schema_validate(&out->desc, DML_FEATURE_LEVEL_6_4, &why)))
        return tools_dispatch_fail(r, "%s%s", r->path[0] ? ": " : "", why.text);
    return make_slots(r, schema_op_find(out->desc.Type), out);
}
