/* SPDX-License-Identifier: Apache-2.0 */
/* A gather by constant indices that are one number, or a range with equal steps, is a copy of a slice, which becomes a
 * view: exporters take query, key and value out of one tensor so. */
#include "graph/passes/pass.h"

#define INDICES_MAX 64 /* longer ranges are not looked at */
#define BYTES_MAX   4096

/* Index number k of the constant, which counts from the end if it is negative and is clamped, like in kernels. */
static int64_t index_at(const char *data, const struct kern_view *view, int64_t at, int64_t size)
{
    const uint32_t bytes = kern_type_bytes(view->type);
    const bool is_signed = view->type == DML_TENSOR_DATA_TYPE_INT64 || view->type == DML_TENSOR_DATA_TYPE_INT32;
    int64_t wide = 0;
    int32_t narrow = 0;
    memcpy(bytes == 8 ? (void *)&wide : &narrow, data + at * bytes, bytes);
    if (bytes == 4)
        wide = is_signed ? narrow : (int64_t)(uint32_t)narrow;
    else if (!is_signed && wide < 0)
        wide = INT64_MAX;
    if (wide < 0)
        wide += size;
    return BASE_MAX(BASE_MIN(wide, size - 1), 0);
}

/* The indices are first, first + step, ... along the one dimension of them that has several. */
static bool find_range(struct graph *graph, const struct graph_op *op, int64_t *out_first, int64_t *out_step)
{
    const struct kern_view *indices = &op->k.tensors[1];
    const struct graph_value *value = &graph->values[op->value[1]];
    const int64_t size = op->k.tensors[0].sizes[op->k.u.gather.axis];
    const uint32_t bytes = kern_type_bytes(indices->type);
    int64_t low, high, stride = 0;
    uint32_t count = 1;
    if (value->place != GRAPH_CONSTANT || value->size_bytes > BYTES_MAX || (bytes != 4 && bytes != 8) ||
        !graph_view_bounds(indices, &low, &high) || low < 0 || (uint64_t)(high + 1) * bytes > value->size_bytes)
        return false;
    for (uint32_t d = 0; d < indices->rank; d++) {
        if (indices->sizes[d] == 1)
            continue;
        if (count > 1 || indices->sizes[d] > INDICES_MAX)
            return false;
        count = indices->sizes[d];
        stride = indices->strides[d];
    }
    const char *data = graph_constant_data(graph, op->value[1]);
    if (!data)
        return false;
    *out_first = index_at(data, indices, indices->offset, size);
    *out_step = count > 1 ? index_at(data, indices, indices->offset + stride, size) - *out_first : 1;
    for (uint32_t k = 1; k < count; k++)
        if (index_at(data, indices, indices->offset + k * stride, size) != *out_first + k * *out_step)
            return false;
    return *out_step > 0;
}

static bool to_move(struct graph *graph, const struct graph_options *options, struct graph_op *op)
{
    const struct kern_gather *gather = &op->k.u.gather;
    const struct kern_view *x = &op->k.tensors[0], *indices = &op->k.tensors[1], *y = &op->k.tensors[2];
    int64_t first, step;
    if (gather->mode != KERN_INDEX_AXIS || op->k.input_count != 2 || x->type != y->type ||
        x->rank + gather->index_rank > KERN_RANK_MAX + 1 || indices->rank < gather->index_rank ||
        !find_range(graph, op, &first, &step))
        return false;
    struct kern_view slice = { .type = x->type, .offset = x->offset + first * x->strides[gather->axis] };
    for (uint32_t d = 0; d < x->rank; d++) {
        const uint32_t *sizes = d == gather->axis ? indices->sizes + indices->rank - gather->index_rank : &x->sizes[d];
        const int64_t stride = x->strides[d] * (d == gather->axis ? step : 1);
        for (uint32_t i = 0; i < (d == gather->axis ? gather->index_rank : 1); i++, slice.rank++) {
            slice.sizes[slice.rank] = sizes[i];
            slice.strides[slice.rank] = stride;
        }
    }
    if (!slice.rank)
        slice.sizes[slice.rank++] = 1;
    if (slice.rank != y->rank || memcmp(slice.sizes, y->sizes, y->rank * sizeof(*y->sizes)) != 0)
        return false;
    struct graph_op made = *op;
    memset(&made.k, 0, sizeof(made.k));
    made.k.kind = KERN_MOVE;
    made.k.flags = op->k.flags;
    made.k.input_count = made.k.output_count = 1;
    made.k.tensors[0] = slice;
    made.k.tensors[1] = *y;
    made.value[1] = op->value[2];
    if (graph_op_priority(graph, options, &made) == GRAPH_PRIORITY_NONE)
        return false;
    *op = made;
    return true;
}

HRESULT graph_pass_gathers(struct graph *graph, const struct graph_options *options, bool *changed)
{
    struct graph_uses uses;
    const uint32_t count = graph->op_count;
    bool ok = graph_uses_init(&uses, graph);
    for (uint32_t i = 0; ok && !graph->failed && i < count; i++) {
        struct graph_op *op = graph->ops[i];
        if (op->dead || op->k.kind != KERN_GATHER)
            continue;
        const uint32_t indices = op->value[1];
        if (!to_move(graph, options, op)) {
            *changed |= graph_gather_rows(graph, &uses, options, i);
            continue;
        }
        *changed = true;
        ok = graph_uses_refresh(&uses, i);
        if (ok)
            graph_constant_drop_unread(graph, &uses, indices);
    }
    graph_uses_finish(&uses);
    return ok && !graph->failed ? S_OK : E_OUTOFMEMORY;
}
