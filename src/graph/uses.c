#include "graph/pass.h"

#include <stdlib.h>

bool graph_uses_init(struct graph_uses *uses, const struct graph *graph)
{
    memset(uses, 0, sizeof(*uses));
    uses->graph = graph;
    for (uint32_t i = 0; i < graph->op_count; i++)
        if (!graph_uses_refresh(uses, i))
            return false;
    return true;
}

void graph_uses_finish(struct graph_uses *uses)
{
    free(uses->heads);
    free(uses->pool);
    memset(uses, 0, sizeof(*uses));
}

static bool listed(const struct graph_uses *uses, uint32_t value, uint32_t op, uint32_t tensor)
{
    for (uint32_t at = uses->heads[value]; at != GRAPH_NONE; at = uses->pool[at].next)
        if (uses->pool[at].op == op && uses->pool[at].tensor == tensor)
            return true;
    return false;
}

static bool reserve_heads(struct graph_uses *uses, uint32_t value)
{
    while (uses->head_capacity <= value) {
        uint32_t old = uses->head_capacity;
        if (!base_array_reserve((void **)&uses->heads, old, &uses->head_capacity, sizeof(*uses->heads)))
            return false;
        for (uint32_t i = old; i < uses->head_capacity; i++)
            uses->heads[i] = GRAPH_NONE;
    }
    return true;
}

bool graph_uses_refresh(struct graph_uses *uses, uint32_t op_index)
{
    const struct graph_op *op = uses->graph->ops[op_index];
    for (uint32_t t = 0; t < op->k.input_count + op->k.output_count; t++) {
        uint32_t value = op->value[t];
        if (!reserve_heads(uses, value))
            return false;
        if (listed(uses, value, op_index, t))
            continue;
        if (!base_array_reserve((void **)&uses->pool, uses->count, &uses->capacity, sizeof(*uses->pool)))
            return false;
        uses->pool[uses->count] = (struct graph_use){ op_index, t, uses->heads[value] };
        uses->heads[value] = uses->count++;
    }
    return true;
}

uint32_t graph_uses_next(const struct graph_uses *uses, uint32_t value, uint32_t at)
{
    for (; at != GRAPH_NONE; at = uses->pool[at].next) {
        const struct graph_use *use = &uses->pool[at];
        const struct graph_op *op = uses->graph->ops[use->op];
        if (!op->dead && use->tensor < op->k.input_count + op->k.output_count && op->value[use->tensor] == value)
            return at;
    }
    return GRAPH_NONE;
}

struct graph_use_summary graph_uses_of(const struct graph_uses *uses, uint32_t value)
{
    struct graph_use_summary sum = { 0, 0, GRAPH_NONE, GRAPH_NONE, GRAPH_NONE };
    if (value >= uses->head_capacity)
        return sum;
    for (uint32_t at = graph_uses_next(uses, value, uses->heads[value]); at != GRAPH_NONE;
         at = graph_uses_next(uses, value, uses->pool[at].next)) {
        const struct graph_use *use = &uses->pool[at];
        if (use->tensor >= uses->graph->ops[use->op]->k.input_count) {
            sum.writes++;
            sum.writer = use->op;
            sum.writer_tensor = use->tensor;
        } else if (sum.reader != use->op) {
            sum.reading_ops = sum.reader == GRAPH_NONE ? 1 : 2;
            sum.reader = use->op;
        }
    }
    return sum;
}

bool graph_op_reads(const struct graph_op *op, uint32_t value)
{
    for (uint32_t t = 0; t < op->k.input_count; t++)
        if (op->value[t] == value)
            return true;
    return false;
}

bool graph_op_writes(const struct graph_op *op, uint32_t value)
{
    for (uint32_t t = 0; t < op->k.output_count; t++)
        if (op->value[op->k.input_count + t] == value)
            return true;
    return false;
}

void graph_constant_drop_unread(struct graph *graph, uint32_t value)
{
    for (uint32_t i = 0; i < graph->op_count; i++)
        if (!graph->ops[i]->dead && graph_op_reads(graph->ops[i], value))
            return;
    if (!graph_derivations_read(graph, value))
        graph_constant_release(graph, value);
}

bool graph_stable_between(const struct graph *graph, uint32_t value, uint32_t from, uint32_t to)
{
    for (uint32_t i = from + 1; i < to; i++) {
        const struct graph_op *op = graph->ops[i];
        if (!op->dead && graph_op_writes(op, value))
            return false;
    }
    return true;
}

bool graph_op_may_sink(const struct graph *graph, const struct graph_op *op, uint32_t from, uint32_t to)
{
    for (uint32_t t = 0; t < op->k.input_count; t++)
        if (!graph_stable_between(graph, op->value[t], from, to))
            return false;
    return true;
}

bool graph_operand_fits(const struct graph *graph, const struct graph_op *op, uint32_t t)
{
    int64_t low, high;
    return graph_view_bounds(&op->k.tensors[t], &low, &high) && low >= 0 &&
           graph_view_span_bytes(&op->k.tensors[t]) <= graph->values[op->value[t]].size_bytes;
}

bool graph_is_float(DML_TENSOR_DATA_TYPE type)
{
    return type == DML_TENSOR_DATA_TYPE_FLOAT32 || type == DML_TENSOR_DATA_TYPE_FLOAT16 ||
           type == ANYDML_TENSOR_DATA_TYPE_BFLOAT16 || type == DML_TENSOR_DATA_TYPE_FLOAT64;
}

uint32_t graph_op_packable(const struct graph *graph, const struct graph_op *op)
{
    bool packs = op->k.kind == KERN_CONV || op->k.kind == KERN_GEMM || op->k.kind == KERN_BLOCK;
    if (!packs || op->k.input_count < 2)
        return 0;
    enum graph_place place = graph->values[op->value[1]].place;
    return place == GRAPH_CONSTANT || place == GRAPH_OWNED || place == GRAPH_DERIVED ? 2 : 0;
}
