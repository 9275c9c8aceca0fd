/* SPDX-License-Identifier: Apache-2.0 */
/* With NHWC images, shaders read the filter in the same order: constant filters get their input channels innermost,
 * depthwise ones their output channels. */
#include "graph/passes/pass.h"

static bool suits(const struct graph *graph, const struct graph_op *op)
{
    const struct kern_view *x = &op->k.tensors[0], *w = &op->k.tensors[1];
    uint64_t taps = 1;
    for (uint32_t d = 2; d < w->rank; d++)
        taps *= w->sizes[d];
    return op->k.kind == KERN_CONV && !op->dead && !op->k.u.conv.transposed && taps > 1 && x->sizes[1] > 1 &&
           x->strides[1] == 1 && (graph_is_float(w->type) || kern_type_bytes(w->type) == 1) && !w->offset &&
           kern_view_packed(w) && graph->values[op->value[1]].place == GRAPH_CONSTANT &&
           graph_operand_fits(graph, op, 1);
}

/* The filter's dimensions, outermost first. */
static void order_of(const struct kern_view *w, uint32_t *order)
{
    const bool single = w->sizes[1] == 1;
    uint32_t count = 0;
    if (!single)
        order[count++] = 0;
    for (uint32_t d = 2; d < w->rank; d++)
        order[count++] = d;
    order[count++] = 1;
    if (single)
        order[count++] = 0;
}

static bool reorder(struct graph *graph, const struct graph_uses *uses, struct graph_op *op)
{
    const uint32_t before = op->value[1];
    const struct kern_view given = op->k.tensors[1];
    struct kern_view from = given;
    struct graph_operand made = graph_temp(graph, given.type, given.rank, given.sizes);
    uint32_t order[KERN_RANK_MAX];
    int64_t stride = 1;
    order_of(&given, order);
    for (uint32_t i = given.rank; i-- > 0; stride *= given.sizes[order[i]]) {
        from.sizes[i] = given.sizes[order[i]];
        from.strides[i] = given.strides[order[i]];
        made.view.strides[order[i]] = stride;
    }
    if (graph->failed || !graph_derive_copy(graph, "filters", before, &from, made.value))
        return false;
    op->value[1] = made.value;
    op->k.tensors[1] = made.view;
    graph_constant_drop_unread(graph, uses, before);
    return true;
}

HRESULT graph_pass_filters(struct graph *graph, const struct graph_options *options, bool *changed)
{
    struct graph_uses uses;
    bool ok = graph_uses_init(&uses, graph);
    (void)options;
    for (uint32_t i = 0; ok && !graph->failed && i < graph->op_count; i++) {
        if (!suits(graph, graph->ops[i]) || !reorder(graph, &uses, graph->ops[i]))
            continue;
        *changed = true;
        ok = graph_uses_refresh(&uses, i);
    }
    graph_uses_finish(&uses);
    return ok && !graph->failed ? S_OK : E_OUTOFMEMORY;
}
