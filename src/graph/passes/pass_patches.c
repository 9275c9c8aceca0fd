/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions whose windows do not overlap, such as those that make tokens of patches of an image: each element of a
 * channels-first image belongs to one window at most, so a copy of all windows is not larger than the image. Then the
 * convolution is a pointwise one, of as many channels as a window has elements. */
#include "graph/passes/pass.h"

#define LINE_LEAST 8 /* elements of a window's line that are worth a copy of their own */

/* The windows of dimension d do not overlap, and none reaches beyond the image. */
static bool apart(const struct kern_op *op, uint32_t d)
{
    const struct kern_conv *conv = &op->u.conv;
    const uint64_t window = op->tensors[1].sizes[2 + d], stride = conv->strides[d];
    const uint64_t results = op->tensors[op->input_count].sizes[2 + d];
    return conv->dilations[d] == 1 && !conv->pad_start[d] && stride >= window &&
           (results - 1) * stride + window <= op->tensors[0].sizes[2 + d];
}

static bool suits(const struct graph_op *op)
{
    const struct kern_conv *conv = &op->k.u.conv;
    const struct kern_view *x = &op->k.tensors[0], *w = &op->k.tensors[1];
    const DML_TENSOR_DATA_TYPE f32 = DML_TENSOR_DATA_TYPE_FLOAT32;
    if (op->k.kind != KERN_CONV || op->dead || conv->transposed || conv->flip || conv->integer || conv->groups > 1 ||
        op->k.output_count != 1 || x->type != f32 || w->type != f32 || (x->strides[1] == 1 && x->sizes[1] > 1) ||
        2 + 2 * conv->spatial > KERN_RANK_MAX)
        return false;
    for (uint32_t d = 0; d < conv->spatial; d++) {
        /* The elements of a window are in one order in the filter. */
        const uint32_t at = 1 + d;
        if (!apart(&op->k, d) || w->strides[at] != w->strides[at + 1] * (int64_t)w->sizes[at + 1])
            return false;
    }
    return w->sizes[1 + conv->spatial] >= LINE_LEAST;
}

/* The windows of X: image, position in each dimension, channel, element in each dimension. */
static struct kern_view windows_of(const struct kern_op *op)
{
    const struct kern_view *x = &op->tensors[0];
    const uint32_t spatial = op->u.conv.spatial;
    struct kern_view view = { .type = x->type, .rank = 2 + 2 * spatial, .offset = x->offset };
    view.sizes[0] = x->sizes[0];
    view.strides[0] = x->strides[0];
    view.sizes[1 + spatial] = x->sizes[1];
    view.strides[1 + spatial] = x->strides[1];
    for (uint32_t d = 0; d < spatial; d++) {
        view.sizes[1 + d] = op->tensors[op->input_count].sizes[2 + d];
        view.strides[1 + d] = x->strides[2 + d] * (int64_t)op->u.conv.strides[d];
        view.sizes[2 + spatial + d] = op->tensors[1].sizes[2 + d];
        view.strides[2 + spatial + d] = x->strides[2 + d];
    }
    return view;
}

/* The pointwise convolution of the copied windows. */
static void make_pointwise(struct kern_op *op)
{
    struct kern_conv *conv = &op->u.conv;
    struct kern_view *x = &op->tensors[0], *w = &op->tensors[1];
    const uint32_t last = 1 + conv->spatial;
    uint32_t elements = 1;
    for (uint32_t d = 1; d <= last; d++)
        elements *= w->sizes[d];
    w->strides[1] = w->strides[last];
    int64_t stride = elements;
    x->offset = 0;
    for (uint32_t d = last; d > 1; d--) {
        x->sizes[d] = op->tensors[op->input_count].sizes[d];
        x->strides[d] = stride;
        stride *= x->sizes[d];
        w->sizes[d] = 1;
        conv->strides[d - 2] = 1;
    }
    x->strides[0] = stride;
    x->sizes[1] = w->sizes[1] = elements;
    x->strides[1] = 1;
}

static bool replace(struct graph *graph, const struct graph_options *options, uint32_t at)
{
    const struct graph_op old = *graph->ops[at];
    const struct graph_operand from = { old.value[0], windows_of(&old.k) };
    struct graph_op made = old;
    make_pointwise(&made.k);
    if (!graph_op_as_fast(graph, options, &old, &made))
        return false;
    const struct graph_operand to = graph_temp(graph, from.view.type, from.view.rank, from.view.sizes);
    if (graph->failed || !graph_op_insert(graph, at, &old, KERN_MOVE, &from, 1, &to))
        return false;
    made.value[0] = to.value;
    *graph->ops[at] = made;
    return true;
}

HRESULT graph_pass_patches(struct graph *graph, const struct graph_options *options, bool *changed)
{
    const uint32_t count = graph->op_count;
    for (uint32_t i = 0; !graph->failed && i < count; i++)
        *changed |= suits(graph->ops[i]) && replace(graph, options, i);
    return graph->failed ? E_OUTOFMEMORY : S_OK;
}
