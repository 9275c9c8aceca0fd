/* Two equal ops on equal inputs give equal results: readers of the second's results read the first's. */
#include "graph/pass.h"

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
    for (uint32_t at = graph_uses_next(uses, from, uses->heads[from]); at != GRAPH_NONE;
         at = graph_uses_next(uses, from, uses->pool[at].next)) {
        uint32_t op = uses->pool[at].op;
        graph->ops[op]->value[uses->pool[at].tensor] = to;
        if (!graph_uses_refresh(uses, op))
            return false;
    }
    return true;
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

static bool try_op(struct graph *graph, struct graph_uses *uses, uint32_t second, bool *changed)
{
    const struct graph_op *op = graph->ops[second];
    if (!sole_writer(graph, uses, op))
        return true;
    for (uint32_t first = 0; first < second; first++) {
        const struct graph_op *other = graph->ops[first];
        if (other->dead || !same_op(other, op) || !sole_writer(graph, uses, other) ||
            !graph_op_may_sink(graph, op, first, second))
            continue;
        *changed = true;
        return merge(graph, uses, first, second);
    }
    return true;
}

HRESULT graph_pass_common_subexpressions(struct graph *graph, const struct graph_options *options, bool *changed)
{
    (void)options;
    struct graph_uses uses;
    bool ok = graph_uses_init(&uses, graph);
    for (uint32_t i = 1; ok && i < graph->op_count; i++)
        ok = try_op(graph, &uses, i, changed);
    graph_uses_finish(&uses);
    return ok ? S_OK : E_OUTOFMEMORY;
}
