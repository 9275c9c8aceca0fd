/* SPDX-License-Identifier: Apache-2.0 */
/* An element-wise op of a table of which a gather reads some rows becomes one of these rows: a quantised embedding is
 * dequantised after it is read, not before. */
#include "graph/passes/pass.h"

/* The view of an operand in the shape of the gather's result: `axis` becomes the dimensions of the indices, which it
 * does not change along. */
static void spread(const struct kern_view *from, const struct kern_view *y, uint32_t axis, uint32_t index_rank,
                   struct kern_view *out)
{
    *out = (struct kern_view){ .type = from->type, .offset = from->offset, .rank = y->rank };
    memcpy(out->sizes, y->sizes, sizeof(out->sizes));
    for (uint32_t d = 0; d < from->rank; d++)
        if (d != axis)
            out->strides[d < axis ? d : d + index_rank - 1] = from->strides[d];
}

/* The result has the dimensions of X with those of the indices instead of the axis. */
static bool in_order(const struct graph_op *gather)
{
    const struct kern_view *x = &gather->k.tensors[0], *y = &gather->k.tensors[2];
    const uint32_t axis = gather->k.u.gather.axis, index_rank = gather->k.u.gather.index_rank;
    if (gather->k.u.gather.mode != KERN_INDEX_AXIS || gather->k.input_count != 2 || !index_rank ||
        x->rank + index_rank > KERN_RANK_MAX + 1 || y->rank != x->rank + index_rank - 1)
        return false;
    for (uint32_t d = 0; d < x->rank; d++)
        if (d != axis && y->sizes[d < axis ? d : d + index_rank - 1] != x->sizes[d])
            return false;
    return true;
}

/* The one input of the element-wise op that changes along the axis; GRAPH_NONE: there are several, or none. */
static uint32_t table_of(const struct kern_view *views, uint32_t count, uint32_t axis)
{
    uint32_t found = GRAPH_NONE;
    for (uint32_t t = 0; t < count; t++) {
        if (!views[t].strides[axis])
            continue;
        if (found != GRAPH_NONE)
            return GRAPH_NONE;
        found = t;
    }
    return found;
}

/* The views of the element-wise op in the shape of the table that the gather reads. */
static bool read_views(const struct graph_op *map, const struct kern_view *x, struct kern_view views[KERN_TENSORS_MAX])
{
    const uint32_t count = map->k.input_count;
    for (uint32_t t = 0; t <= count; t++)
        if (!graph_view_reshape(&map->k.tensors[t], x->rank, x->sizes, &views[t]))
            return false;
    return graph_view_equal(&views[count], x);
}

/* The position of the op that makes the table, GRAPH_NONE if it cannot be moved behind the gather. */
static uint32_t find_map(const struct graph *graph, const struct graph_uses *uses, uint32_t at)
{
    const struct graph_op *gather = graph->ops[at];
    const struct graph_use_summary sum = graph_uses_of(uses, gather->value[0]);
    if (!in_order(gather) || graph->values[gather->value[0]].place != GRAPH_TEMP || sum.writes != 1 ||
        sum.reading_ops != 1 || sum.writer >= at || gather->value[1] == gather->value[0] ||
        kern_view_elements(&gather->k.tensors[2]) >= kern_view_elements(&gather->k.tensors[0]))
        return GRAPH_NONE;
    const struct graph_op *map = graph->ops[sum.writer];
    if (map->k.kind != KERN_MAP || map->k.output_count != 1)
        return GRAPH_NONE;
    for (uint32_t t = 0; t < map->k.input_count; t++)
        if (schema_data_type_bits(map->k.tensors[t].type) < 8 || graph_op_writes(gather, map->value[t]) ||
            !graph_stable_between(uses, map->value[t], sum.writer, at))
            return GRAPH_NONE;
    return sum.writer;
}

bool graph_gather_rows(struct graph *graph, struct graph_uses *uses, const struct graph_options *options, uint32_t at)
{
    struct kern_view views[KERN_TENSORS_MAX];
    struct graph_op *gather = graph->ops[at];
    const uint32_t writer = find_map(graph, uses, at), axis = gather->k.u.gather.axis;
    if (writer == GRAPH_NONE || !read_views(graph->ops[writer], &gather->k.tensors[0], views))
        return false;
    struct graph_op *map = graph->ops[writer], made = *map, rows = *gather;
    const uint32_t inputs = map->k.input_count, table = table_of(views, inputs, axis);
    const struct kern_view *y = &gather->k.tensors[2];
    if (table == GRAPH_NONE)
        return false;
    const struct graph_operand read = graph_temp(graph, views[table].type, y->rank, y->sizes);
    for (uint32_t t = 0; t < inputs; t++)
        spread(&views[t], y, axis, gather->k.u.gather.index_rank, &made.k.tensors[t]);
    made.value[table] = read.value;
    made.k.tensors[table] = read.view;
    made.value[inputs] = gather->value[2];
    made.k.tensors[inputs] = *y;
    rows.value[0] = map->value[table];
    rows.k.tensors[0] = views[table];
    rows.value[2] = read.value;
    rows.k.tensors[2] = read.view;
    if (graph->failed || graph_op_priority(graph, options, &made) == GRAPH_PRIORITY_NONE ||
        graph_op_priority(graph, options, &rows) == GRAPH_PRIORITY_NONE)
        return false;
    const struct graph_operand in[2] = { { rows.value[0], rows.k.tensors[0] }, { rows.value[1], rows.k.tensors[1] } };
    struct graph_op *first = graph_op_insert(graph, at, gather, KERN_GATHER, in, 2, &read);
    if (!first)
        return false;
    first->k.u = gather->k.u;
    first->k.flags = gather->k.flags;
    graph_op_join(&made, gather);
    *gather = made;
    map->dead = true;
    if (!graph_uses_refresh(uses, at) || !graph_uses_refresh(uses, writer))
        graph->failed = true;
    return true;
}
