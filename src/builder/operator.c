/* SPDX-License-Identifier: Apache-2.0 */
/* One operator: completes its description with inputs, defaults and outputs, infers and validates it, and
 * adds a node. */
#include "builder/builder.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))

bool builder_refuse(struct builder_call *call, const char *format, ...)
{
    char text[400];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    return builder_fail(call->graph, E_INVALIDARG, "%s: %s", call->op->name, text);
}

/* ---- fields ---- */

static void *pointer_at(const struct builder_call *call, const struct schema_field *field)
{
    void *pointer;
    memcpy(&pointer, call->desc.bytes + field->offset, sizeof(pointer));
    return pointer;
}

void builder_set(struct builder_call *call, const struct schema_field *field, const void *value, size_t bytes)
{
    memcpy(call->desc.bytes + field->offset, value, bytes);
}

const DML_BUFFER_TENSOR_DESC *builder_tensor(const struct builder_call *call, const char *name)
{
    const struct schema_field *field = schema_field_find(call->op, name);
    const DML_TENSOR_DESC *tensor = field ? pointer_at(call, field) : NULL;
    return tensor ? tensor->Desc : NULL;
}

uint32_t builder_uint(const struct builder_call *call, const char *name)
{
    const struct schema_field *field = schema_field_find(call->op, name);
    uint32_t value = 0;
    if (field)
        memcpy(&value, call->desc.bytes + field->offset, sizeof(value));
    return value;
}

static const void *array_named(const struct builder_call *call, const char *name)
{
    const struct schema_field *field = schema_field_find(call->op, name);
    return field ? pointer_at(call, field) : NULL;
}

const UINT *builder_uints(const struct builder_call *call, const char *name)
{
    return array_named(call, name);
}

const INT *builder_ints(const struct builder_call *call, const char *name)
{
    return array_named(call, name);
}

const FLOAT *builder_floats(const struct builder_call *call, const char *name)
{
    return array_named(call, name);
}

const DML_BUFFER_TENSOR_DESC *builder_first(const struct builder_call *call)
{
    for (uint32_t i = 0; i < call->input_count + call->output_count; i++)
        if (call->tensors[i].Desc)
            return call->tensors[i].Desc;
    return NULL;
}

static bool is_tensor(const struct schema_field *field)
{
    return field->kind != SCHEMA_ATTRIBUTE;
}

static uint32_t slots_of(const struct builder_call *call, const struct schema_field *field)
{
    return schema_array_length(field, call->desc.bytes);
}

/* ---- inputs ---- */

static bool count_slots(struct builder_call *call)
{
    for (uint32_t i = 0; i < call->op->field_count; i++) {
        const struct schema_field *field = &call->op->fields[i];
        if (!is_tensor(field))
            continue;
        const uint32_t slots = slots_of(call, field);
        if (!slots || slots > SCHEMA_MAX_TENSORS)
            return builder_refuse(call, "%s: %u tensors, must be 1 to %u", field->name, slots,
                                  (unsigned)SCHEMA_MAX_TENSORS);
        *(field->kind == SCHEMA_INPUT ? &call->input_count : &call->output_count) += slots;
    }
    const size_t count = (size_t)call->input_count + call->output_count;
    call->tensors = calloc(count + 1, sizeof(*call->tensors));
    call->made = calloc(call->output_count + 1, sizeof(struct anydml_expression *));
    return (call->tensors && call->made) || builder_fail(call->graph, E_OUTOFMEMORY, "no memory for an operator");
}

/* Puts the tensors of slots from `slot` on into a field; a NULL pointer stays NULL. */
static void point_at(struct builder_call *call, const struct schema_field *field, uint32_t slot)
{
    const DML_TENSOR_DESC *tensors = &call->tensors[slot];
    if (field->type == SCHEMA_TENSOR && !tensors->Desc)
        tensors = NULL;
    builder_set(call, field, &tensors, sizeof(tensors));
}

static bool bind_inputs(struct builder_call *call)
{
    uint32_t slot = 0;
    for (uint32_t i = 0; i < call->op->field_count; i++) {
        const struct schema_field *field = &call->op->fields[i];
        if (field->kind != SCHEMA_INPUT)
            continue;
        const uint32_t first = slot;
        for (uint32_t end = slot + slots_of(call, field); slot < end; slot++) {
            anydml_expr input = call->inputs ? call->inputs[slot] : NULL;
            if (input && input->graph != call->graph)
                return builder_refuse(call, "%s: is an expression of another graph", field->name);
            if (!input && (field->required || field->type == SCHEMA_TENSOR_ARRAY))
                return builder_refuse(call, "%s: NULL, must be given", field->name);
            call->tensors[slot] = (DML_TENSOR_DESC){ DML_TENSOR_TYPE_BUFFER, input ? &input->tensor : NULL };
        }
        point_at(call, field, first);
    }
    return true;
}

/* ---- outputs ---- */

/* If all outputs are optional and none is requested, the first one is created. */
static bool wanted(const struct builder_call *call, const struct schema_field *field, uint32_t slot)
{
    if (field->required || field->type == SCHEMA_TENSOR_ARRAY || (call->outputs && call->outputs[slot].Expression))
        return true;
    for (uint32_t i = 0, at = 0; i < call->op->field_count; i++) {
        const struct schema_field *other = &call->op->fields[i];
        if (other->kind != SCHEMA_OUTPUT)
            continue;
        if (other->required || (call->outputs && call->outputs[at].Expression))
            return false;
        at++;
    }
    return slot == 0;
}

static bool given_shape(struct builder_call *call, const struct schema_field *field, uint32_t slot,
                        struct builder_shape *shape)
{
    const struct anydml_output *given = call->outputs ? &call->outputs[slot] : NULL;
    if (!given || !given->DimensionCount)
        return builder_output_shape(call, field, shape);
    if (given->DimensionCount > SCHEMA_MAX_RANK || !given->Sizes)
        return builder_refuse(call, "%s: DimensionCount = %u, must be at most %u, with Sizes", field->name,
                              given->DimensionCount, (unsigned)SCHEMA_MAX_RANK);
    shape->rank = given->DimensionCount;
    for (uint32_t i = 0; i < shape->rank; i++)
        shape->sizes[i] = given->Sizes[i];
    return true;
}

static bool make_output(struct builder_call *call, const struct schema_field *field, uint32_t slot)
{
    struct builder_shape shape = { 0 };
    DML_TENSOR_DATA_TYPE type = call->outputs ? call->outputs[slot].DataType : DML_TENSOR_DATA_TYPE_UNKNOWN;
    UINT sizes[SCHEMA_MAX_RANK];
    if (!type && !builder_output_type(call, field, &type))
        return false;
    if (!given_shape(call, field, slot, &shape))
        return false;
    for (uint32_t i = 0; i < shape.rank; i++) {
        if (shape.sizes[i] < 1 || shape.sizes[i] > UINT32_MAX)
            return builder_refuse(call, "%s: Sizes[%u] = %lld, must be at least 1 and below 2^32", field->name, i,
                                  (long long)shape.sizes[i]);
        sizes[i] = (UINT)shape.sizes[i];
    }
    struct anydml_expression *made = builder_expression(call->graph, type, shape.rank, sizes);
    if (!made)
        return false;
    made->from.output = slot;
    call->made[slot] = made;
    call->tensors[call->input_count + slot] = (DML_TENSOR_DESC){ DML_TENSOR_TYPE_BUFFER, &made->tensor };
    return true;
}

static bool make_outputs(struct builder_call *call)
{
    uint32_t slot = 0;
    for (uint32_t i = 0; i < call->op->field_count; i++) {
        const struct schema_field *field = &call->op->fields[i];
        if (field->kind != SCHEMA_OUTPUT)
            continue;
        const uint32_t first = slot;
        for (uint32_t end = slot + slots_of(call, field); slot < end; slot++)
            if (wanted(call, field, slot) && !make_output(call, field, slot))
                return false;
        point_at(call, field, call->input_count + first);
    }
    return true;
}

/* ---- the node ---- */

static bool make_node(struct builder_call *call)
{
    const DML_OPERATOR_DESC desc = { call->op->type, call->desc.bytes };
    struct schema_error error;
    HRESULT hr = schema_infer(&desc, DML_FEATURE_LEVEL_6_4, &error);
    if (FAILED(hr))
        return builder_fail(call->graph, hr, "%s", error.text);
    struct emit_graph *graph = &call->graph->emit;
    const uint32_t node = graph->node_count;
    hr = emit_operator(graph, &desc, NULL);
    if (FAILED(hr))
        return builder_fail(call->graph, hr, "%s: CreateOperator returned 0x%08x", call->op->name, (unsigned)hr);
    for (uint32_t i = 0; i < call->input_count; i++)
        if (call->inputs && call->inputs[i] && !emit_edge(graph, call->inputs[i]->from, node, i, NULL))
            return builder_fail(call->graph, E_OUTOFMEMORY, "%s: no memory for an edge", call->op->name);
    for (uint32_t i = 0; i < call->output_count; i++)
        if (call->made[i])
            call->made[i]->from.index = node;
    return true;
}

/* Every result pointer receives its expression, or NULL. */
static anydml_expr give(const struct builder_call *call, bool made)
{
    anydml_expr first = NULL;
    for (uint32_t i = 0; i < call->output_count; i++) {
        anydml_expr one = made ? call->made[i] : NULL;
        if (!first)
            first = one;
        if (call->outputs && call->outputs[i].Expression)
            *call->outputs[i].Expression = one;
    }
    return first;
}

EXPORT anydml_expr AnydmlGraphOperator(struct anydml_graph *graph, const DML_OPERATOR_DESC *desc,
                                       const anydml_expr *inputs, const struct anydml_output *outputs)
{
    struct builder_call call = { .graph = graph, .inputs = inputs, .outputs = outputs };
    if (!graph)
        return NULL;
    call.op = desc && desc->Desc ? schema_op_find(desc->Type) : NULL;
    if (!call.op) {
        builder_fail(graph, E_INVALIDARG, "AnydmlGraphOperator: operator type %u, must be one with a description",
                     desc ? (unsigned)desc->Type : 0);
        return NULL;
    }
    memcpy(call.desc.bytes, desc->Desc, call.op->desc_size);
    bool fine = count_slots(&call) && SUCCEEDED(graph->hr) && bind_inputs(&call);
    fine = fine && builder_default_attributes(&call) && make_outputs(&call);
    if (fine)
        builder_default_after(&call);
    fine = fine && make_node(&call);
    anydml_expr first = call.made ? give(&call, fine) : NULL;
    free(call.tensors);
    free(call.made);
    return first;
}
