/* SPDX-License-Identifier: Apache-2.0 */
/* An element-wise op on dense whole tensors may view them in any shape. It gets the shape in which its input was
 * written or, for graph inputs, the one in which a convolution or pooling reads its result, so that fusions and layouts
 * find equal views. Only readers change, never writers, so nothing changes twice. */
#include "graph/passes/pass.h"

static bool uniform(const struct kern_view *view)
{
    bool result = true;
    for (uint32_t d = 0; d < view->rank; d++)
        result = result && (view->sizes[d] == 1 || view->strides[d] == 0);
    return result;
}

static bool takes_any_shape(const struct graph_op *op)
{
    bool result = op->k.kind == KERN_MAP && op->k.output_count == 1;
    for (uint32_t t = 0; result && t <= op->k.input_count; t++)
        result = kern_view_packed(&op->k.tensors[t]) || (t < op->k.input_count && uniform(&op->k.tensors[t]));
    return result;
}

static bool same_sizes(const struct kern_view *a, const struct kern_view *b)
{
    return a->rank == b->rank && !memcmp(a->sizes, b->sizes, a->rank * sizeof(*a->sizes));
}

/* `view` may define the shape of `map`. */
static bool gives(const struct graph_op *map, const struct kern_view *view)
{
    return kern_view_packed(view) &&
           kern_view_elements(view) == kern_view_elements(&map->k.tensors[map->k.input_count]);
}

static const struct kern_view *find_shape(const struct graph *graph, const struct graph_uses *uses, uint32_t at)
{
    const struct graph_op *op = graph->ops[at];
    struct graph_use_summary sum;
    for (uint32_t t = 0; t < op->k.input_count; t++) {
        sum = graph_uses_of(uses, op->value[t]);
        if (!sum.writes || uniform(&op->k.tensors[t]))
            continue;
        const struct kern_view *written = &graph->ops[sum.writer]->k.tensors[sum.writer_tensor];
        return sum.writes == 1 && sum.writer < at && gives(op, written) ? written : NULL;
    }
    sum = graph_uses_of(uses, op->value[op->k.input_count]);
    if (sum.reading_ops != 1)
        return NULL;
    const struct graph_op *reader = graph->ops[sum.reader];
    bool spatial = (reader->k.kind == KERN_CONV || reader->k.kind == KERN_POOL) &&
                   reader->value[0] == op->value[op->k.input_count];
    return spatial && gives(op, &reader->k.tensors[0]) ? &reader->k.tensors[0] : NULL;
}

static void take_shape(struct graph_op *op, const struct kern_view *shape)
{
    for (uint32_t t = 0; t <= op->k.input_count; t++) {
        struct kern_view *view = &op->k.tensors[t], old = *view;
        bool dense = kern_view_packed(&old) && !(t < op->k.input_count && uniform(&old));
        kern_view_set_packed(view, old.type, shape->rank, shape->sizes);
        view->offset = old.offset;
        for (uint32_t d = 0; d < view->rank && !dense; d++)
            view->strides[d] = 0;
    }
}

HRESULT graph_pass_shapes(struct graph *graph, const struct graph_options *options, bool *changed)
{
    struct graph_uses uses;
    bool ok = graph_uses_init(&uses, graph);
    (void)options;
    for (uint32_t i = 0; ok && i < graph->op_count; i++) {
        const struct kern_view *shape = NULL;
        struct graph_op *op = graph->ops[i];
        if (takes_any_shape(op))
            shape = find_shape(graph, &uses, i);
        if (!shape || same_sizes(shape, &op->k.tensors[op->k.input_count]))
            continue;
        const struct kern_view to = *shape;
        take_shape(op, &to);
        *changed = true;
    }
    graph_uses_finish(&uses);
    return ok ? S_OK : E_OUTOFMEMORY;
}
