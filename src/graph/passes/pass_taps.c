/* SPDX-License-Identifier: Apache-2.0 */
/* Taps of a convolution's filter that meet nothing but padding are left out: with dilation as large as the image, only
 * the middle of a 3x3 filter is left. Constant filters are cut while compiling (pass fold_constants). */
#include "graph/passes/pass.h"

/* Tap k of dimension d meets an element of the input for some output. */
static bool meets(const struct kern_conv *conv, uint32_t d, uint32_t k, uint32_t in, uint32_t out)
{
    const int64_t stride = conv->strides[d], start = (int64_t)k * conv->dilations[d] - conv->pad_start[d];
    const int64_t first = start >= 0 ? 0 : (stride - 1 - start) / stride; /* the first output that is not before */
    return first < out && first * stride + start < in;
}

/* The taps of dimension d that are left, of a convolution that keeps at least one. */
static void find_taps(const struct graph_op *op, uint32_t d, uint32_t *out_first, uint32_t *out_count)
{
    const struct kern_conv *conv = &op->k.u.conv;
    const uint32_t in = op->k.tensors[0].sizes[d + 2], out = op->k.tensors[op->k.input_count].sizes[d + 2];
    const uint32_t all = op->k.tensors[1].sizes[d + 2];
    uint32_t first = 0, end = all;
    /* Padding is not negative: what begins behind the input's first element stays. */
    while (first + 1 < end && !meets(conv, d, first, in, out) &&
           (uint64_t)(first + 1) * conv->dilations[d] <= conv->pad_start[d])
        first++;
    while (first + 1 < end && !meets(conv, d, end - 1, in, out))
        end--;
    *out_first = first;
    *out_count = end - first;
}

static bool suits(const struct graph_op *op)
{
    return op->k.kind == KERN_CONV && !op->dead && !op->k.u.conv.transposed && kern_type_bytes(op->k.tensors[1].type);
}

static HRESULT cut_taps(struct graph *graph, uint32_t at, bool *changed)
{
    const struct graph_op old = *graph->ops[at];
    struct kern_conv conv = old.k.u.conv;
    const struct kern_view *w = &old.k.tensors[1];
    uint32_t start[KERN_RANK_MAX] = { 0 }, sizes[KERN_RANK_MAX], count;
    bool cut = false;
    memcpy(sizes, w->sizes, sizeof(sizes));
    for (uint32_t d = 0; d < conv.spatial; d++) {
        const uint32_t all = w->sizes[d + 2];
        find_taps(&old, d, &start[d + 2], &count);
        conv.pad_start[d] -= start[d + 2] * conv.dilations[d];
        sizes[d + 2] = count;
        cut = cut || count < all;
        if (conv.flip) /* taps are numbered from the other end */
            start[d + 2] = all - count - start[d + 2];
    }
    if (!cut)
        return S_OK;
    const struct graph_operand from = { old.value[1], graph_view_slice(w, start, sizes, NULL) };
    const struct graph_operand to = graph_temp(graph, w->type, w->rank, sizes);
    if (graph->failed || !graph_op_insert(graph, at, &old, KERN_MOVE, &from, 1, &to))
        return E_OUTOFMEMORY;
    struct graph_op *op = graph->ops[at];
    op->k.u.conv = conv;
    op->value[1] = to.value;
    op->k.tensors[1] = to.view;
    *changed = true;
    return S_OK;
}

HRESULT graph_pass_taps(struct graph *graph, const struct graph_options *options, bool *changed)
{
    const uint32_t count = graph->op_count;
    (void)options;
    for (uint32_t i = 0; i < count; i++) {
        HRESULT hr = suits(graph->ops[i]) ? cut_taps(graph, i, changed) : S_OK;
        if (FAILED(hr))
            return hr;
    }
    return S_OK;
}
