/* SPDX-License-Identifier: Apache-2.0 */
/* Equal ops on equal inputs have equal results: readers of the second's results read the first's. */
#include "graph/passes/pass.h"

#include "base/hash.h"

#include <stdlib.h>

static bool same_epilogue(const struct kern_map *a, const struct kern_map *b)
{
    return a == b || (a && b && !memcmp(a, b, sizeof(*a)));
}

static bool same_op(const struct graph_op *a, const struct graph_op *b)
{
    if (a->k.kind != b->k.kind || a->k.input_count != b->k.input_count || a->k.output_count != b->k.output_count ||
        a->k.flags != b->k.flags || a->k.epilogue_input != b->k.epilogue_input)
        return false;
    for (uint32_t t = 0; t < a->k.input_count; t++)
        if (a->value[t] != b->value[t])
            return false;
    for (uint32_t t = 0; t < a->k.input_count + a->k.output_count; t++)
        if (!graph_view_equal(&a->k.tensors[t], &b->k.tensors[t]))
            return false;
    return same_epilogue(a->k.epilogue, b->k.epilogue) && !memcmp(&a->k.u, &b->k.u, sizeof(a->k.u));
}

/* Every result is a temporary that this op alone writes. */
static bool sole_writer(const struct graph *graph, const struct graph_uses *uses, const struct graph_op *op)
{
    for (uint32_t t = 0; t < op->k.output_count; t++) {
        uint32_t value = op->value[op->k.input_count + t];
        if (graph->values[value].place != GRAPH_TEMP || graph_uses_of(uses, value).writes != 1)
            return false;
    }
    return true;
}

/* false when memory is short. */
static bool redirect(struct graph *graph, struct graph_uses *uses, uint32_t from, uint32_t to)
{
    struct graph_value *target = &graph->values[to];
    target->size_bytes = BASE_MAX(target->size_bytes, graph->values[from].size_bytes);
    for (uint32_t at = graph_uses_first_read(uses, from); at != GRAPH_NONE; at = graph_uses_next(uses, at)) {
        uint32_t op = uses->pool[at].op;
        graph->ops[op]->value[uses->pool[at].tensor] = to;
        if (!graph_uses_refresh(uses, op))
            return false;
    }
    return true;
}

/* ---- hashing of ops ---- */

/* The last op of each content so far: any of them can be the first of two, and the nearest is the most likely to be. */
struct table {
    uint32_t *ops; /* position + 1 in graph->ops */
    uint32_t mask;
};

#define HASHED_BYTES 320 /* of parameters: a program's first instructions */

/* Hashes enough of the members that same_op compares; equal ops have equal hashes. */
static uint64_t hash_of(const struct graph_op *op)
{
    struct {
        uint32_t kind, inputs, outputs, value[KERN_TENSORS_MAX];
        uint64_t views[KERN_TENSORS_MAX];
        char parameters[HASHED_BYTES], epilogue[HASHED_BYTES];
    } key;
    memset(&key, 0, sizeof(key));
    key.kind = op->k.kind;
    key.inputs = op->k.input_count;
    key.outputs = op->k.output_count;
    for (uint32_t t = 0; t < op->k.input_count + op->k.output_count; t++) {
        const struct kern_view *view = &op->k.tensors[t];
        key.value[t] = t < op->k.input_count ? op->value[t] : 0;
        key.views[t] = (uint64_t)view->offset;
        for (uint32_t d = 0; d < view->rank; d++)
            key.views[t] =
                (key.views[t] * 31 + view->sizes[d]) * 31 + (view->sizes[d] > 1 ? (uint64_t)view->strides[d] : 0);
    }
    if (op->k.epilogue)
        memcpy(key.epilogue, op->k.epilogue, sizeof(key.epilogue));
    memcpy(key.parameters, &op->k.u, sizeof(key.parameters));
    return base_hash(&key, sizeof(key)).low;
}

/* The op before this one, by position, that computes the same, or GRAPH_NONE; from now on it is this one. */
static uint32_t exchange(const struct graph *graph, struct table *table, uint32_t position)
{
    uint32_t at = (uint32_t)hash_of(graph->ops[position]) & table->mask, found;
    while (table->ops[at] && !same_op(graph->ops[table->ops[at] - 1], graph->ops[position]))
        at = (at + 1) & table->mask;
    found = table->ops[at] ? table->ops[at] - 1 : GRAPH_NONE;
    table->ops[at] = position + 1;
    return found;
}

static bool table_init(struct table *table, uint32_t count)
{
    uint32_t size = 16;
    while (size < count * UINT64_C(2) && size < UINT32_C(1) << 31)
        size *= 2;
    table->ops = calloc(size, sizeof(*table->ops));
    table->mask = size - 1;
    return table->ops != NULL;
}

/* Replaces op `second` by op `first`; false when memory is short. */
static bool merge(struct graph *graph, struct graph_uses *uses, uint32_t first, uint32_t second)
{
    const struct graph_op *kept = graph->ops[first];
    struct graph_op *gone = graph->ops[second];
    gone->dead = true;
    for (uint32_t t = gone->k.input_count; t < gone->k.input_count + gone->k.output_count; t++)
        if (!redirect(graph, uses, gone->value[t], kept->value[t]))
            return false;
    return true;
}

static bool try_op(struct graph *graph, struct graph_uses *uses, struct table *table, uint32_t second, bool *changed)
{
    const struct graph_op *op = graph->ops[second];
    if (!sole_writer(graph, uses, op))
        return true;
    uint32_t first = exchange(graph, table, second);
    if (first == GRAPH_NONE || !graph_op_may_sink(uses, op, first, second))
        return true;
    *changed = true;
    exchange(graph, table, first);
    return merge(graph, uses, first, second);
}

HRESULT graph_pass_common_subexpressions(struct graph *graph, const struct graph_options *options, bool *changed)
{
    (void)options;
    struct graph_uses uses;
    struct table table = { NULL, 0 };
    bool ok = graph_uses_init(&uses, graph) && table_init(&table, graph->op_count);
    for (uint32_t i = 0; ok && i < graph->op_count; i++)
        ok = try_op(graph, &uses, &table, i, changed);
    free(table.ops);
    graph_uses_finish(&uses);
    return ok ? S_OK : E_OUTOFMEMORY;
}
