/* SPDX-License-Identifier: Apache-2.0 */
/* Rotations in several dimensions as one padding with WRAP. A rotation in one dimension is written as slices and a
 * concatenation: two copies. Windows of attention are shifted by rotations of rows and then of columns, which are four
 * copies and two passes over the data. */
#include "graph/passes/pass.h"

/* y[i] = x[(i - start) mod size] in each dimension. */
struct roll {
    uint32_t op[2]; /* positions of what computes it: both copies, or the padding twice */
    uint32_t from, to;
    struct kern_view x, y;
    uint32_t start[KERN_RANK_MAX];
};

/* The copies at two positions, the first of which writes the first part of the result. */
static bool ordered_copies(const struct graph *graph, uint32_t first, uint32_t second, struct roll *out)
{
    const struct graph_op *a = graph->ops[first], *b = graph->ops[second];
    for (uint32_t d = 0; d < a->k.tensors[0].rank; d++) {
        const uint64_t size = (uint64_t)a->k.tensors[0].sizes[d] + b->k.tensors[0].sizes[d];
        int64_t x_stride, y_stride;
        if (size > INT32_MAX || !graph_view_follows(&a->k.tensors[1], &b->k.tensors[1], d, &y_stride) ||
            !graph_view_follows(&b->k.tensors[0], &a->k.tensors[0], d, &x_stride))
            continue;
        *out = (struct roll){ .op = { first, second }, .from = a->value[0], .to = a->value[1] };
        out->x = b->k.tensors[0];
        out->y = a->k.tensors[1];
        out->x.sizes[d] = out->y.sizes[d] = (uint32_t)size;
        out->x.strides[d] = x_stride;
        out->y.strides[d] = y_stride;
        out->start[d] = a->k.tensors[0].sizes[d];
        return graph_view_injective(&out->y);
    }
    return false;
}

static bool copies(const struct graph *graph, uint32_t first, uint32_t second, struct roll *out)
{
    const struct graph_op *a = graph->ops[first], *b = graph->ops[second];
    const uint32_t rank = a->k.tensors[0].rank;
    return a->k.kind == KERN_MOVE && b->k.kind == KERN_MOVE && !a->dead && !b->dead && a->value[0] == b->value[0] &&
           a->value[1] == b->value[1] && a->value[0] != a->value[1] && a->k.tensors[1].rank == rank &&
           b->k.tensors[0].rank == rank && b->k.tensors[1].rank == rank &&
           a->k.tensors[0].type == a->k.tensors[1].type && a->k.tensors[0].type == b->k.tensors[0].type &&
           b->k.tensors[0].type == b->k.tensors[1].type &&
           (ordered_copies(graph, first, second, out) || ordered_copies(graph, second, first, out));
}

static bool padding(const struct graph *graph, uint32_t at, struct roll *out)
{
    const struct graph_op *op = graph->ops[at];
    const struct kern_view *x = &op->k.tensors[0], *y = &op->k.tensors[1];
    if (op->k.kind != KERN_PAD || op->dead || op->k.u.pad.mode != DML_PADDING_MODE_WRAP)
        return false;
    for (uint32_t d = 0; d < x->rank; d++)
        if (x->sizes[d] != y->sizes[d] || op->k.u.pad.gap[d] || op->k.u.pad.start[d] > x->sizes[d])
            return false;
    *out = (struct roll){ .op = { at, at }, .from = op->value[0], .to = op->value[1], .x = *x, .y = *y };
    memcpy(out->start, op->k.u.pad.start, sizeof(out->start));
    return true;
}

/* All that writes the value is a rotation. */
static bool writes_roll(const struct graph_uses *uses, uint32_t value, struct roll *out)
{
    uint32_t op[2], count = 0;
    for (uint32_t at = graph_uses_first_write(uses, value); at != GRAPH_NONE; at = graph_uses_next(uses, at)) {
        if (count == 2)
            return false;
        op[count++] = uses->pool[at].op;
    }
    return count == 2 ? copies(uses->graph, op[0], op[1], out) : count == 1 && padding(uses->graph, op[0], out);
}

/* Nothing but the rotation's copies reads the value. */
static bool reads_alone(const struct graph_uses *uses, uint32_t value, const struct roll *roll)
{
    for (uint32_t at = graph_uses_first_read(uses, value); at != GRAPH_NONE; at = graph_uses_next(uses, at))
        if (uses->pool[at].op != roll->op[0] && uses->pool[at].op != roll->op[1])
            return false;
    return true;
}

static struct graph_op combined(const struct graph *graph, const struct roll *first, const struct roll *second)
{
    struct graph_op op = *graph->ops[second->op[0]];
    op.k.kind = KERN_PAD;
    op.k.u.pad = (struct kern_pad){ .mode = DML_PADDING_MODE_WRAP };
    op.value[0] = first->from;
    op.value[1] = second->to;
    op.k.tensors[0] = first->x;
    op.k.tensors[1] = second->y;
    for (uint32_t d = 0; d < first->x.rank; d++)
        op.k.u.pad.start[d] = (uint32_t)(((uint64_t)first->start[d] + second->start[d]) % first->x.sizes[d]);
    return op;
}

/* The rotation at `at` of a value that is one itself. */
static bool combine(struct graph *graph, const struct graph_options *options, struct graph_uses *uses, uint32_t at,
                    const struct roll *second)
{
    struct roll first;
    const uint32_t begin = BASE_MIN(second->op[0], second->op[1]);
    if (graph->values[second->from].place != GRAPH_TEMP || !writes_roll(uses, second->from, &first) ||
        !graph_view_equal(&first.y, &second->x) || !reads_alone(uses, second->from, second) || first.from == second->to)
        return false;
    const uint32_t since = BASE_MIN(first.op[0], first.op[1]);
    if (BASE_MAX(first.op[0], first.op[1]) >= begin || !graph_stable_between(uses, first.from, since, at + 1))
        return false;
    struct graph_op op = combined(graph, &first, second);
    if (graph_op_priority(graph, options, &op) == GRAPH_PRIORITY_NONE)
        return false;
    for (uint32_t i = 0; i < 2; i++) {
        graph_op_join(&op, graph->ops[first.op[i]]);
        graph->ops[first.op[i]]->dead = graph->ops[second->op[i]]->dead = true;
    }
    *graph->ops[at] = op;
    return graph_uses_refresh(uses, at);
}

HRESULT graph_pass_rolls(struct graph *graph, const struct graph_options *options, bool *changed)
{
    struct graph_uses uses;
    struct roll roll;
    bool ok = graph_uses_init(&uses, graph);
    for (uint32_t i = 0; ok && i < graph->op_count; i++) {
        uint32_t next = i + 1;
        while (next < graph->op_count && graph->ops[next]->dead)
            next++;
        if (graph->ops[i]->dead || next == graph->op_count || !copies(graph, i, next, &roll))
            continue;
        *changed |= combine(graph, options, &uses, next, &roll);
    }
    graph_uses_finish(&uses);
    return ok && !graph->failed ? S_OK : E_OUTOFMEMORY;
}
