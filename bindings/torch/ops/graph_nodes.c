/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs of many nodes (aten_graph_* of aten.h). */
#include "device.h"
#include "plan.h"

#include <stdlib.h>

struct aten_graph *aten_graph_begin(struct aten_device *device)
{
    struct aten_graph *g = malloc(sizeof(*g));
    if (g)
        aten_graph_init(g, device);
    return g;
}

void aten_graph_destroy(struct aten_graph *graph)
{
    if (!graph)
        return;
    aten_graph_finish(graph);
    free(graph);
}

/* The number of the value; 0: failed. */
static uint64_t number(struct aten_graph *g, struct aten_value *v)
{
    if (g->failed || !v)
        return 0;
    if (!base_array_reserve((void **)&g->values, g->value_count, &g->value_capacity, sizeof(struct aten_value *))) {
        aten_fail(g, "out of memory");
        return 0;
    }
    g->values[g->value_count++] = v;
    return g->value_count;
}

/* The value with this number; NULL (failed): none. */
static struct aten_value *numbered(struct aten_graph *g, uint64_t value)
{
    if (!g->failed && value && value <= g->value_count)
        return g->values[value - 1];
    aten_fail(g, "value %llu does not exist", (unsigned long long)value);
    return NULL;
}

/* The contents of device memory as a constant. */
static void read_constant(struct aten_graph *g, struct aten_value *v, const void *address)
{
    struct aten_buffer *buffer = v->buffer;
    const size_t bytes = (size_t)buffer->extent * aten_type_bytes(buffer->type);
    void *data = bytes ? aten_alloc(g, bytes) : NULL;
    if (!data)
        return; /* of an empty tensor, or the graph has failed */
    if (!aten_copy(g->device, data, address, bytes, ATEN_FROM_DEVICE, g->message, sizeof(g->message))) {
        g->failed = true;
        return;
    }
    buffer->source = ATEN_SOURCE_CONSTANT;
    buffer->data = data;
}

uint64_t aten_graph_input(struct aten_graph *graph, const struct aten_tensor *layout, bool fixed)
{
    struct aten_value *v = graph->failed ? NULL : aten_input_value(graph, layout, graph->argument_count++, 0);
    if (v)
        v->buffer->binding.fixed = fixed && aten_host_memory(graph->device);
    if (v && fixed && layout->data && !aten_host_memory(graph->device))
        read_constant(graph, v, layout->data);
    return number(graph, v);
}

static bool operand_of(struct aten_graph *g, const struct aten_arg *arg, struct aten_operand *out)
{
    const uint32_t count = arg->kind == ATEN_TENSORS ? arg->count : 1;
    *out = (struct aten_operand){ .kind = arg->kind, .count = arg->count };
    out->integers = arg->integers; /* copies any pointer of the union */
    if (arg->kind == ATEN_GENERATOR)
        return aten_fail(g, "random operators are not supported in graphs");
    if (arg->kind != ATEN_TENSOR && arg->kind != ATEN_TENSORS)
        return true;
    out->values = aten_alloc(g, count * sizeof(struct aten_value *));
    for (uint32_t i = 0; out->values && i < count; i++)
        if (arg->tensors[i].type != ATEN_ABSENT &&
            !(out->values[i] = numbered(g, (uint64_t)(uintptr_t)arg->tensors[i].data)))
            return false;
    return out->values != NULL;
}

bool aten_graph_node(struct aten_graph *graph, const struct aten_op *op, const struct aten_arg *args,
                     uint32_t arg_count, const struct aten_tensor *layouts, uint32_t layout_count, uint64_t *out_values)
{
    struct aten_operand *operands = aten_alloc(graph, arg_count * sizeof(*operands));
    struct aten_value **results = aten_alloc(graph, layout_count * sizeof(struct aten_value *));
    struct aten_node node = { .op = op,
                              .args = operands,
                              .arg_count = arg_count,
                              .outputs = layouts,
                              .output_count = layout_count,
                              .results = results };
    graph->node = &node;
    for (uint32_t i = 0; operands && i < arg_count; i++)
        if (!operand_of(graph, &args[i], &operands[i]))
            break;
    bool ok = !graph->failed && aten_build(graph, &node);
    graph->node = NULL;
    for (uint32_t i = 0; i < layout_count; i++)
        out_values[i] = ok && layouts[i].type != ATEN_ABSENT ? number(graph, results[i]) : 0;
    return !graph->failed;
}

uint64_t aten_graph_view(struct aten_graph *graph, uint64_t value, const struct aten_tensor *layout, int64_t offset)
{
    struct aten_value *v = numbered(graph, value);
    if (!v)
        return 0;
    if (v->type != layout->type) {
        aten_fail(graph, "a view of %s as %s is not supported", aten_type_name(v->type), aten_type_name(layout->type));
        return 0;
    }
    int64_t extent = 1, one = 1;
    for (uint32_t i = 0; i < layout->rank; i++) {
        if (!layout->sizes[i])
            return number(graph, aten_new_packed(graph, v->type, layout->rank, layout->sizes));
        extent += (layout->sizes[i] - 1) * layout->strides[i];
    }
    if (offset < 0 || offset + extent > v->buffer->extent) {
        aten_fail(graph, "a view exceeds its storage");
        return 0;
    }
    if (offset) /* values start at the first element of their buffers */
        v = aten_slice(graph, aten_view(graph, v, 1, &v->buffer->extent, &one), 0, offset, extent, 1);
    return number(graph, aten_view(graph, v, layout->rank, layout->sizes, layout->strides));
}

struct aten_plan *aten_graph_compile(struct aten_graph *graph, const uint64_t *outputs, uint32_t output_count,
                                     char *message, size_t message_bytes)
{
    struct aten_plan *plan = calloc(1, sizeof(*plan));
    struct aten_value **values = aten_alloc(graph, output_count * sizeof(struct aten_value *));
    BOOL before = AnydmlQuiet(TRUE);
    for (uint32_t i = 0; values && i < output_count; i++)
        values[i] = outputs[i] ? numbered(graph, outputs[i]) : NULL;
    bool ok = plan && values && !graph->failed;
    if (ok) {
        atomic_init(&plan->refs, 1);
        plan->device = graph->device;
        ok = aten_plan_fill(plan, graph, values, NULL, output_count);
    }
    AnydmlQuiet(before);
    if (!ok) {
        aten_say(message, message_bytes, S_OK, graph->failed ? graph->message : "out of memory");
        if (plan)
            aten_plan_destroy(plan);
        plan = NULL;
    }
    aten_graph_destroy(graph);
    return plan;
}
