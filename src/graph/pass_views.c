/* MOVE ops that only bring data into another order or place:
 *   read-through   readers of the copy read the source, through a view (slice, split, transpose, reinterpret)
 *   write-through  what makes the source writes into the copy at once, and its other readers follow (join) */
#include "graph/pass.h"

struct views {
    struct graph *graph;
    const struct graph_options *options;
    struct graph_uses uses;
};

/* Every read of value `from` by the op at `reader` becomes one of value `to`; the sides of the copy say how. */
static bool redirect(const struct views *views, uint32_t reader, uint32_t from, const struct kern_view *from_side,
                     uint32_t to, const struct kern_view *to_side, struct graph_op *out)
{
    *out = *views->graph->ops[reader];
    for (uint32_t t = 0; t < out->k.input_count; t++) {
        if (out->value[t] != from)
            continue;
        if (!graph_view_through(from_side, to_side, &out->k.tensors[t], &out->k.tensors[t]))
            return false;
        out->value[t] = to;
    }
    /* Two copies on end become one, which is always less; other kernels must like the new strides. */
    return out->k.kind == KERN_MOVE || graph_op_no_worse(views->graph, views->options, views->graph->ops[reader], out);
}

static void commit(struct views *views, uint32_t position, const struct graph_op *op)
{
    *views->graph->ops[position] = *op;
    if (!graph_uses_refresh(&views->uses, position))
        views->graph->failed = true;
}

static bool read_through_one(struct views *views, uint32_t move_at, uint32_t reader)
{
    const struct graph_op *move = views->graph->ops[move_at];
    uint32_t source = move->value[0];
    struct graph_op changed;
    if (reader <= move_at || graph_op_writes(views->graph->ops[reader], source) ||
        !graph_stable_between(views->graph, source, move_at, reader) ||
        !redirect(views, reader, move->value[1], &move->k.tensors[1], source, &move->k.tensors[0], &changed))
        return false;
    commit(views, reader, &changed);
    return true;
}

static bool read_through(struct views *views, uint32_t move_at)
{
    struct graph *graph = views->graph;
    const struct graph_op *move = graph->ops[move_at];
    uint32_t copy = move->value[1];
    bool any = false;
    if (graph->values[copy].place != GRAPH_TEMP || copy == move->value[0] ||
        graph_uses_of(&views->uses, copy).writes != 1)
        return false;
    for (uint32_t at = graph_uses_next(&views->uses, copy, views->uses.heads[copy]); at != GRAPH_NONE;
         at = graph_uses_next(&views->uses, copy, views->uses.pool[at].next)) {
        const struct graph_use use = views->uses.pool[at];
        if (use.tensor < graph->ops[use.op]->k.input_count)
            any |= read_through_one(views, move_at, use.op);
    }
    if (graph_uses_of(&views->uses, copy).reading_ops == 0)
        graph->ops[move_at]->dead = true;
    return any;
}

/* Nobody reads the target up to the copy, and all others write other parts of it. */
static bool target_free(const struct views *views, uint32_t move_at)
{
    const struct graph_uses *uses = &views->uses;
    const struct graph_op *move = views->graph->ops[move_at];
    uint32_t target = move->value[1];
    for (uint32_t at = graph_uses_next(uses, target, uses->heads[target]); at != GRAPH_NONE;
         at = graph_uses_next(uses, target, uses->pool[at].next)) {
        const struct graph_use *use = &uses->pool[at];
        const struct kern_view *view = &views->graph->ops[use->op]->k.tensors[use->tensor];
        bool reads = use->tensor < views->graph->ops[use->op]->k.input_count;
        if (use->op != move_at && (!reads || use->op < move_at) && !graph_views_disjoint(view, &move->k.tensors[1]))
            return false;
    }
    return true;
}

/* The source is complete when it is copied: a later write would not reach the target. */
static bool all_before(const struct views *views, uint32_t move_at)
{
    const struct graph_uses *uses = &views->uses;
    uint32_t source = views->graph->ops[move_at]->value[0];
    for (uint32_t at = graph_uses_next(uses, source, uses->heads[source]); at != GRAPH_NONE;
         at = graph_uses_next(uses, source, uses->pool[at].next))
        if (uses->pool[at].op > move_at && uses->pool[at].tensor >= views->graph->ops[uses->pool[at].op]->k.input_count)
            return false;
    return true;
}

/* The op with every operand in the copy's source turned into one in its target. */
static bool rename_source(const struct views *views, uint32_t move_at, uint32_t position, struct graph_op *out)
{
    const struct graph_op *move = views->graph->ops[move_at];
    *out = *views->graph->ops[position];
    bool writes = graph_op_writes(out, move->value[0]);
    for (uint32_t t = 0; t < out->k.input_count + out->k.output_count; t++) {
        struct kern_view *view = &out->k.tensors[t];
        /* An op that will write there must not read there. */
        if (writes && t < out->k.input_count && out->value[t] == move->value[1] &&
            !graph_views_disjoint(view, &move->k.tensors[1]))
            return false;
        if (out->value[t] != move->value[0])
            continue;
        if (!graph_view_through(&move->k.tensors[0], &move->k.tensors[1], view, view))
            return false;
        out->value[t] = move->value[1];
    }
    return out->k.kind == KERN_MOVE ||
           graph_op_no_worse(views->graph, views->options, views->graph->ops[position], out);
}

/* All uses of the source but the copy: first a trial (`apply` false), then the change itself. */
static bool rename_all(struct views *views, uint32_t move_at, bool apply)
{
    const struct graph_uses *uses = &views->uses;
    uint32_t source = views->graph->ops[move_at]->value[0];
    struct graph_op changed;
    for (uint32_t at = graph_uses_next(uses, source, uses->heads[source]); at != GRAPH_NONE;
         at = graph_uses_next(uses, source, uses->pool[at].next)) {
        uint32_t position = uses->pool[at].op;
        if (position == move_at)
            continue;
        if (!rename_source(views, move_at, position, &changed))
            return false;
        if (apply)
            commit(views, position, &changed);
    }
    return true;
}

/* The source becomes the part of the target that it would be copied to: its own bytes are then needed nowhere. */
static bool write_through(struct views *views, uint32_t move_at)
{
    struct graph *graph = views->graph;
    struct graph_op *move = graph->ops[move_at];
    uint32_t source = move->value[0], target = move->value[1];
    enum graph_place place = graph->values[target].place;
    if (graph->values[source].place != GRAPH_TEMP || (place != GRAPH_TEMP && place != GRAPH_OUTPUT) ||
        source == target || !graph_uses_of(&views->uses, source).writes || !target_free(views, move_at) ||
        !all_before(views, move_at) || !rename_all(views, move_at, false))
        return false;
    rename_all(views, move_at, true);
    move->dead = true;
    return true;
}

HRESULT graph_pass_views(struct graph *graph, const struct graph_options *options, bool *changed)
{
    struct views views = { graph, options, { 0 } };
    bool ok = graph_uses_init(&views.uses, graph);
    for (uint32_t i = 0; ok && !graph->failed && i < graph->op_count; i++) {
        if (graph->ops[i]->dead || graph->ops[i]->k.kind != KERN_MOVE)
            continue;
        *changed |= read_through(&views, i);
        if (!graph->ops[i]->dead)
            *changed |= write_through(&views, i);
    }
    graph_uses_finish(&views.uses);
    return ok && !graph->failed ? S_OK : E_OUTOFMEMORY;
}
