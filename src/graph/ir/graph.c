/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/ir/ir.h"

#include "base/pages.h"

#include <stdlib.h>

void graph_init(struct graph *graph, uint32_t input_count, uint32_t output_count, uint32_t flags)
{
    memset(graph, 0, sizeof(*graph));
    graph->input_count = input_count;
    graph->output_count = output_count;
    graph->flags = flags;
    graph->node = GRAPH_NONE;
    graph->origin = "";
}

void graph_finish(struct graph *graph)
{
    for (uint32_t i = 0; i < graph->value_count; i++)
        base_pages_release(graph->values[i].made, graph->values[i].size_bytes);
    base_pages_finish(&graph->pages);
    free(graph->values);
    free(graph->ops);
    free(graph->inserted_before);
    free(graph->derivations);
    free(graph->deferred);
    base_arena_finish(&graph->arena);
    memset(graph, 0, sizeof(*graph));
}

uint32_t graph_value_add(struct graph *graph, enum graph_place place, uint32_t index, uint64_t size_bytes)
{
    if (!base_array_reserve((void **)&graph->values, graph->value_count, &graph->value_capacity,
                            sizeof(*graph->values))) {
        graph->failed = true;
        return GRAPH_NONE;
    }
    graph->values[graph->value_count] =
        (struct graph_value){ .place = place, .index = index, .size_bytes = size_bytes };
    return graph->value_count++;
}

struct graph_operand graph_temp(struct graph *graph, DML_TENSOR_DATA_TYPE type, uint32_t rank, const uint32_t *sizes)
{
    struct graph_operand operand = { GRAPH_NONE, { 0 } };
    uint64_t bits = schema_data_type_bits(type);
    bool fits = bits && rank >= 1 && rank <= KERN_RANK_MAX;
    for (uint32_t i = 0; fits && i < rank; i++)
        fits = base_mul_u64(bits, sizes[i], &bits) && bits / 8 <= SCHEMA_MAX_TENSOR_BYTES;
    if (!fits) {
        graph->failed = true;
        return operand;
    }
    kern_view_set_packed(&operand.view, type, rank, sizes);
    operand.value = graph_value_add(graph, GRAPH_TEMP, 0, base_align_up((bits + 7) / 8, 4));
    return operand;
}

static uint32_t kernel_flags(uint32_t execution_flags)
{
    uint32_t flags = 0;
    if (execution_flags & DML_EXECUTION_FLAG_ALLOW_HALF_PRECISION_COMPUTATION)
        flags |= KERN_FLAG_HALF_PRECISION;
    if (execution_flags & ANYDML_EXECUTION_FLAG_HALF_PRECISION_FLOAT32)
        flags |= KERN_FLAG_HALF_PRECISION | KERN_FLAG_HALF_FLOAT32;
    if (execution_flags & ANYDML_EXECUTION_FLAG_BYTE_ACTIVATIONS)
        flags |= KERN_FLAG_BYTES;
    if (execution_flags & DML_EXECUTION_FLAG_DISABLE_META_COMMANDS)
        flags |= KERN_FLAG_REFERENCE;
    return flags;
}

struct graph_op *graph_op_add(struct graph *graph, enum kern_kind kind, const struct graph_operand *inputs,
                              uint32_t input_count, const struct graph_operand *outputs, uint32_t output_count)
{
    struct graph_op *op = NULL;
    if (input_count <= KERN_TENSORS_MAX && output_count <= KERN_TENSORS_MAX - input_count &&
        base_array_reserve((void **)&graph->ops, graph->op_count, &graph->op_capacity, sizeof(*graph->ops)))
        op = base_arena_alloc(&graph->arena, sizeof(*op));
    if (!op) {
        graph->failed = true;
        return NULL;
    }
    op->k.kind = kind;
    op->k.input_count = input_count;
    op->k.output_count = output_count;
    op->k.flags = kernel_flags(graph->flags);
    op->node = graph->node;
    op->origin = graph->origin;
    for (uint32_t i = 0; i < input_count + output_count; i++) {
        const struct graph_operand *operand = i < input_count ? &inputs[i] : &outputs[i - input_count];
        op->value[i] = operand->value;
        op->k.tensors[i] = operand->view;
        if (operand->value == GRAPH_NONE)
            graph->failed = true;
    }
    if (graph->failed) /* an operand that was never created: the graph must not be used any more */
        return NULL;
    graph->ops[graph->op_count++] = op;
    return op;
}

struct graph_op *graph_op_insert(struct graph *graph, uint32_t at, const struct graph_op *of, enum kern_kind kind,
                                 const struct graph_operand *inputs, uint32_t input_count,
                                 const struct graph_operand *output)
{
    graph->node = of->node;
    graph->origin = of->origin;
    if (!base_array_reserve((void **)&graph->inserted_before, graph->inserted_count, &graph->inserted_capacity,
                            sizeof(*graph->inserted_before))) {
        graph->failed = true;
        return NULL;
    }
    struct graph_op *op = graph_op_add(graph, kind, inputs, input_count, output, 1);
    if (op)
        graph->inserted_before[graph->inserted_count++] = at;
    return op;
}

static void join_node(struct graph_op *op, uint32_t node)
{
    for (uint32_t i = 0; i < op->joined_count; i++)
        if (op->joined[i] == node)
            return;
    if (node != GRAPH_NONE && node != op->node && op->joined_count < GRAPH_JOINED_MAX)
        op->joined[op->joined_count++] = node;
}

void graph_op_join(struct graph_op *op, const struct graph_op *other)
{
    join_node(op, other->node);
    for (uint32_t i = 0; i < other->joined_count; i++)
        join_node(op, other->joined[i]);
}

static void remove_dead(struct graph *graph)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < graph->op_count; i++)
        if (!graph->ops[i]->dead)
            graph->ops[kept++] = graph->ops[i];
    graph->op_count = kept;
}

bool graph_settle(struct graph *graph)
{
    uint32_t settled = graph->op_count - graph->inserted_count;
    if (!graph->inserted_count) {
        remove_dead(graph);
        return true;
    }
    struct graph_op **ops = malloc((size_t)graph->op_capacity * sizeof(*ops));
    uint32_t *start = calloc(settled + (size_t)2, sizeof(*start));
    if (ops && start) {
        /* start[i]: the new position of the first op that belongs before op i; it advances with each op that is placed
         * there. */
        for (uint32_t i = 0; i < graph->inserted_count; i++)
            start[graph->inserted_before[i] + 1]++;
        for (uint32_t i = 1; i <= settled; i++)
            start[i] += start[i - 1] + 1;
        for (uint32_t i = 0; i < graph->inserted_count; i++)
            ops[start[graph->inserted_before[i]]++] = graph->ops[settled + i];
        for (uint32_t i = 0; i < settled; i++)
            ops[start[i]] = graph->ops[i];
        memcpy(graph->ops, ops, graph->op_count * sizeof(*ops));
        graph->inserted_count = 0;
        remove_dead(graph);
    }
    bool ok = ops && start;
    free(ops);
    free(start);
    graph->failed |= !ok;
    return ok;
}
