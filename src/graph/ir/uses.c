/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/ir/uses.h"

#include "graph/ir/constant.h"
#include "graph/ir/derive.h"
#include "graph/ir/view.h"

#include <stdlib.h>

#define NEAR 16 /* ops that are looked at one by one */

/* Operands of the op at this position: the index in uses->pool of each, plus 1. */
static uint32_t *listed_of(const struct graph_uses *uses, uint32_t op)
{
    return uses->listed + (size_t)op * KERN_TENSORS_MAX;
}

static bool reserve_ops(struct graph_uses *uses, uint32_t count)
{
    if (count <= uses->op_capacity)
        return true;
    uint32_t capacity = BASE_MAX(count, uses->op_capacity * 2);
    uint32_t *listed = calloc((size_t)capacity * KERN_TENSORS_MAX, sizeof(*listed));
    if (!listed)
        return false;
    if (uses->op_capacity)
        memcpy(listed, uses->listed, (size_t)uses->op_capacity * KERN_TENSORS_MAX * sizeof(*listed));
    free(uses->listed);
    uses->listed = listed;
    uses->op_capacity = capacity;
    return true;
}

static bool reserve_values(struct graph_uses *uses, uint32_t count)
{
    static const struct graph_use_list empty = { { GRAPH_NONE, GRAPH_NONE }, 0 };
    if (count <= uses->value_capacity)
        return true;
    uint32_t capacity = BASE_MAX(count, uses->value_capacity * 2);
    struct graph_use_list *lists = realloc(uses->lists, capacity * sizeof(*lists));
    if (!lists)
        return false;
    for (uint32_t i = uses->value_capacity; i < capacity; i++)
        lists[i] = empty;
    uses->lists = lists;
    uses->value_capacity = capacity;
    return true;
}

static void release(struct graph_uses *uses)
{
    free(uses->lists);
    free(uses->listed);
    free(uses->pool);
    memset(uses, 0, sizeof(*uses));
}

void graph_uses_finish(struct graph_uses *uses)
{
    struct graph_uses *kept = uses->graph ? uses->graph->uses : NULL;
    if (!kept) {
        release(uses);
        return;
    }
    release(kept);
    *kept = *uses;
    memset(uses, 0, sizeof(*uses));
}

void graph_uses_keep(struct graph *graph)
{
    graph->uses = base_arena_alloc(&graph->arena, sizeof(*graph->uses)); /* without it, each pass makes its own */
}

void graph_uses_forget(struct graph *graph)
{
    if (graph->uses)
        release(graph->uses);
}

bool graph_uses_init(struct graph_uses *uses, const struct graph *graph)
{
    if (graph->uses && graph->uses->graph) {
        *uses = *graph->uses;
        memset(graph->uses, 0, sizeof(*graph->uses));
        return true;
    }
    memset(uses, 0, sizeof(*uses));
    uses->graph = graph;
    bool ok = reserve_ops(uses, graph->op_count) && reserve_values(uses, graph->value_count);
    for (uint32_t i = 0; ok && i < graph->op_count; i++)
        ok = graph_uses_refresh(uses, i);
    return ok;
}

/* The entry keeps its `next`, so iterations that are at it find the rest of the list. */
static void take_out(const struct graph_uses *uses, uint32_t *listed)
{
    struct graph_use *use = &uses->pool[*listed - 1];
    if (use->previous == GRAPH_NONE)
        uses->lists[use->value].first[use->writes] = use->next;
    else
        uses->pool[use->previous].next = use->next;
    if (use->next != GRAPH_NONE)
        uses->pool[use->next].previous = use->previous;
    *listed = 0;
}

/* Where the op will run: an inserted op comes right before the op at the returned position. */
static uint32_t order_of(const struct graph *graph, uint32_t op, bool *out_inserted)
{
    uint32_t settled = graph->op_count - graph->inserted_count;
    *out_inserted = op >= settled;
    return *out_inserted ? graph->inserted_before[op - settled] : op;
}

static bool list(struct graph_uses *uses, uint32_t op, uint32_t tensor)
{
    const struct graph_op *of = uses->graph->ops[op];
    const bool writes = tensor >= of->k.input_count;
    const uint32_t value = of->value[tensor];
    bool inserted;
    if (!reserve_values(uses, value + 1) ||
        !base_array_reserve((void **)&uses->pool, uses->count, &uses->capacity, sizeof(*uses->pool)))
        return false;
    struct graph_use_list *values = &uses->lists[value];
    uses->pool[uses->count] = (struct graph_use){ op, tensor, value, values->first[writes], GRAPH_NONE, writes };
    if (values->first[writes] != GRAPH_NONE)
        uses->pool[values->first[writes]].previous = uses->count;
    values->first[writes] = uses->count++;
    listed_of(uses, op)[tensor] = uses->count;
    if (writes)
        values->written_up_to = BASE_MAX(values->written_up_to, order_of(uses->graph, op, &inserted) + 1);
    return true;
}

bool graph_uses_refresh(struct graph_uses *uses, uint32_t op)
{
    if (!reserve_ops(uses, op + 1))
        return false;
    const struct graph_op *of = uses->graph->ops[op];
    uint32_t *listed = listed_of(uses, op), count = of->dead ? 0 : of->k.input_count + of->k.output_count;
    for (uint32_t t = 0; t < KERN_TENSORS_MAX; t++) {
        const struct graph_use *use = listed[t] ? &uses->pool[listed[t] - 1] : NULL;
        if (use && t < count && use->value == of->value[t] && use->writes == (t >= of->k.input_count))
            continue;
        if (use)
            take_out(uses, &listed[t]);
        if (t < count && !list(uses, op, t))
            return false;
    }
    return true;
}

/* The first entry from `at` on that is still valid. */
static uint32_t live(const struct graph_uses *uses, uint32_t at)
{
    while (at != GRAPH_NONE) {
        const struct graph_use *use = &uses->pool[at];
        const struct graph_op *op = uses->graph->ops[use->op];
        uint32_t *listed = &listed_of(uses, use->op)[use->tensor];
        if (!op->dead && use->tensor < op->k.input_count + op->k.output_count && op->value[use->tensor] == use->value &&
            use->writes == (use->tensor >= op->k.input_count))
            return at;
        at = use->next;
        if (op->dead && *listed == (uint32_t)(use - uses->pool) + 1)
            take_out(uses, listed);
    }
    return GRAPH_NONE;
}

static uint32_t first(const struct graph_uses *uses, uint32_t value, bool writes)
{
    return value < uses->value_capacity ? live(uses, uses->lists[value].first[writes]) : GRAPH_NONE;
}

uint32_t graph_uses_first_read(const struct graph_uses *uses, uint32_t value)
{
    return first(uses, value, false);
}

uint32_t graph_uses_first_write(const struct graph_uses *uses, uint32_t value)
{
    return first(uses, value, true);
}

uint32_t graph_uses_next(const struct graph_uses *uses, uint32_t at)
{
    return live(uses, uses->pool[at].next);
}

struct graph_use_summary graph_uses_of(const struct graph_uses *uses, uint32_t value)
{
    struct graph_use_summary sum = { 0, 0, GRAPH_NONE, GRAPH_NONE, GRAPH_NONE };
    for (uint32_t at = first(uses, value, true); at != GRAPH_NONE && sum.writes < 2; at = graph_uses_next(uses, at)) {
        sum.writes++;
        sum.writer = uses->pool[at].op;
        sum.writer_tensor = uses->pool[at].tensor;
    }
    for (uint32_t at = first(uses, value, false); at != GRAPH_NONE && sum.reading_ops < 2;
         at = graph_uses_next(uses, at)) {
        if (sum.reader == uses->pool[at].op)
            continue;
        sum.reading_ops++;
        sum.reader = uses->pool[at].op;
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

void graph_constant_drop_unread(struct graph *graph, const struct graph_uses *uses, uint32_t value)
{
    if (graph_uses_first_read(uses, value) == GRAPH_NONE && !graph_derivations_read(graph, value))
        graph_constant_release(graph, value);
}

static bool written_between(const struct graph_uses *uses, uint32_t value, uint32_t from, uint32_t to)
{
    const struct graph *graph = uses->graph;
    if (value >= uses->value_capacity || uses->lists[value].written_up_to <= from + 1)
        return false;
    if (to - from <= NEAR && !graph->inserted_count) {
        for (uint32_t i = from + 1; i < to; i++)
            if (!graph->ops[i]->dead && graph_op_writes(graph->ops[i], value))
                return true;
        return false;
    }
    for (uint32_t at = first(uses, value, true); at != GRAPH_NONE; at = graph_uses_next(uses, at)) {
        bool inserted;
        uint32_t order = order_of(graph, uses->pool[at].op, &inserted);
        if (order > from && (inserted ? order <= to : order < to))
            return true;
    }
    return false;
}

bool graph_stable_between(const struct graph_uses *uses, uint32_t value, uint32_t from, uint32_t to)
{
    return from >= to || !written_between(uses, value, from, to);
}

bool graph_op_may_sink(const struct graph_uses *uses, const struct graph_op *op, uint32_t from, uint32_t to)
{
    for (uint32_t t = 0; t < op->k.input_count; t++)
        if (!graph_stable_between(uses, op->value[t], from, to))
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
    bool packs = op->k.kind == KERN_CONV || op->k.kind == KERN_GEMM || op->k.kind == KERN_INVERTED_RESIDUAL ||
                 (op->k.kind == KERN_RECURRENT && op->k.u.recurrent.scale);
    if (!packs || op->k.input_count < 2)
        return 0;
    enum graph_place place = graph->values[op->value[1]].place;
    return place == GRAPH_CONSTANT || place == GRAPH_OWNED || place == GRAPH_DERIVED ? 2 : 0;
}
