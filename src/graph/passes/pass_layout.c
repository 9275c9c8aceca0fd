/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions are fastest in NHWC. A temporary that is only ever viewed whole, as one plain [N, C, ...] tensor, or as
 * a range of its channels (concatenation and split), may have any layout. NHWC is chosen for those that convolutions
 * access (of lines, [N, C, L], only where kernels want it), and for those that element-wise ops, pooling, sums over all
 * pixels and channel statistics connect to them or to NHWC inputs and outputs. Each element has one position before and
 * after, in all views. The gradient of a convolution's weights is a convolution as well, whose image and filter are
 * images with batch and channels exchanged. Products, normalisations and element-wise ops may view the pixels as
 * tokens, with the channels last. */
#include "graph/passes/pass.h"

#include <stdlib.h>

struct layout {
    struct graph *graph;
    const struct graph_options *options;
    struct kern_view *shape; /* [value]: the whole tensor; rank 0: none */
    bool *refused;           /* [value] */
    bool *conv;              /* [group] */
    uint32_t *group;         /* [value]: towards the group's first value */
    double *work;            /* [group]: what NHWC gains, less what the copies for `keeps` cost, in multiplications */
    bool *keeps;             /* [op]: a convolution that keeps its layout; its operands are copied */
};

static bool any_order(enum kern_kind kind)
{
    return kind == KERN_CONV || kind == KERN_POOL || kind == KERN_MAP || kind == KERN_RESAMPLE || kind == KERN_REDUCE ||
           kind == KERN_MOVE;
}

/* The channel statistics of batch normalisation. */
static bool by_channel(const struct kern_op *op)
{
    const uint32_t others = ((UINT32_C(1) << op->tensors[0].rank) - 1) & ~UINT32_C(2);
    return (op->kind == KERN_MOMENTS && op->u.moments.axes == others) ||
           (op->kind == KERN_GRAD_SUMS && op->u.grad_sums.axes == others);
}

static bool is_filter(const struct graph_op *op, uint32_t t)
{
    return op->k.kind == KERN_CONV && t && t < op->k.input_count && (!op->k.epilogue || t < op->k.epilogue_input);
}

/* Operand t of the op may have any layout. */
static bool suits(const struct layout *layout, const struct graph_op *op, uint32_t t)
{
    const struct kern_view *view = &op->k.tensors[t];
    const struct graph_backend *backend = layout->options->backend;
    return (any_order(op->k.kind) || by_channel(&op->k) || (op->k.kind == KERN_NORM && backend->norms_last)) &&
           view->rank >= (backend->lines_last ? 3 : 4) && kern_type_bytes(view->type);
}

/* A whole plain tensor with channels and pixels. */
static bool is_whole(const struct kern_view *view)
{
    uint64_t pixels = 1;
    for (uint32_t d = 2; d < view->rank; d++)
        pixels *= view->sizes[d];
    return view->sizes[1] > 1 && pixels > 1 && !view->offset && kern_view_packed(view);
}

/* The whole one, or all of a range of its channels. */
static bool is_part(const struct kern_view *whole, const struct kern_view *part)
{
    if (!whole->rank || part->type != whole->type || part->rank != whole->rank)
        return false;
    for (uint32_t d = 0; d < whole->rank; d++)
        if ((d != 1 && part->sizes[d] != whole->sizes[d]) ||
            (part->sizes[d] > 1 && part->strides[d] != whole->strides[d]))
            return false;
    int64_t first = part->offset / whole->strides[1];
    return part->offset == first * whole->strides[1] && first >= 0 &&
           first + (int64_t)part->sizes[1] <= (int64_t)whole->sizes[1];
}

static struct kern_view with_batch_as_channels(const struct kern_view *view)
{
    static const uint32_t order[KERN_RANK_MAX] = { 1, 0, 2, 3, 4, 5, 6, 7 };
    return graph_view_permute(view, order);
}

/* The view with one dimension of channels, where dimension 1 has groups and dimension 2 the channels of one. */
static struct kern_view with_channels(const struct kern_view *whole, const struct kern_view *view)
{
    struct kern_view result = *view;
    if (view->rank != whole->rank + 1 || view->strides[1] != view->strides[2] * (int64_t)view->sizes[2])
        return result;
    result.rank--;
    result.sizes[1] *= view->sizes[2];
    for (uint32_t d = 1; d < result.rank; d++) {
        result.sizes[d] = d > 1 ? view->sizes[d + 1] : result.sizes[d];
        result.strides[d] = view->strides[d + 1];
    }
    return result;
}

/* The layout of `image` in the dimensions of `like`, the view that became it. */
static struct kern_view with_groups(const struct kern_view *image, const struct kern_view *like)
{
    struct kern_view result = *like;
    result.offset = image->offset;
    for (uint32_t d = 1; d < like->rank; d++)
        result.strides[d] = image->strides[d - 1];
    result.strides[0] = image->strides[0];
    result.strides[1] = image->strides[1] * (int64_t)like->sizes[2];
    return result;
}

/* ---- tokens ------------------------------------------------------------------------------------------------------ */

/* The offset or a dimension of a view of a plain image: in elements of the NHWC one. */
static int64_t moved(const struct kern_view *whole, int64_t distance)
{
    const int64_t pixels = whole->strides[1], channels = whole->sizes[1], image = pixels * channels;
    return distance / image * image + distance % image / pixels + distance % pixels * channels;
}

/* The view of a plain image in the NHWC one: each dimension must step through pixels, channels or images alone. */
static bool tokens_of(const struct kern_view *whole, const struct kern_view *view, struct kern_view *out)
{
    const int64_t pixels = whole->strides[1], image = pixels * whole->sizes[1];
    int64_t pixel = view->offset % pixels, channel = view->offset % image - pixel;
    *out = *view;
    if (view->type != whole->type || view->offset < 0)
        return false;
    for (uint32_t d = 0; d < view->rank; d++) {
        const int64_t stride = view->strides[d], length = stride * (int64_t)(view->sizes[d] - 1);
        if (view->sizes[d] < 2)
            continue;
        if (stride < 0 || (stride >= pixels && stride % pixels) || (stride >= image && stride % image))
            return false;
        if (stride < pixels)
            pixel += length;
        else if (stride < image)
            channel += length;
        out->strides[d] = moved(whole, stride);
    }
    out->offset = moved(whole, view->offset);
    return pixel < pixels && channel < image;
}

/* Lines of channels. */
static bool ends_in_channels(const struct kern_view *tokens)
{
    return tokens->strides[tokens->rank - 1] == 1 && tokens->sizes[tokens->rank - 1] > 1;
}

/* Another operand of the element-wise op, which takes any order of dimensions, has the channels in sequence, too. */
static bool follows_channels(const struct graph_op *op, uint32_t t, const struct kern_view *tokens)
{
    uint32_t channels = 0;
    while (channels < tokens->rank && (tokens->sizes[channels] < 2 || tokens->strides[channels] != 1))
        channels++;
    for (uint32_t i = 0; channels < tokens->rank && i < op->k.input_count + op->k.output_count; i++)
        if (i != t && op->k.tensors[i].rank == tokens->rank && op->k.tensors[i].strides[channels] == 1)
            return true;
    return false;
}

/* Operand t is read or written as tokens, as fast in NHWC. */
static bool reads_tokens(const struct layout *layout, const struct graph_op *op, uint32_t t, struct kern_view *out)
{
    const struct kern_view *whole = &layout->shape[op->value[t]];
    const enum kern_kind kind = op->k.kind;
    struct graph_op changed = *op;
    if (!whole->rank || is_part(whole, &op->k.tensors[t]) ||
        (kind != KERN_MAP && kind != KERN_MOVE && kind != KERN_NORM && (kind != KERN_GEMM || t == 1)) ||
        !tokens_of(whole, &op->k.tensors[t], out) ||
        (!ends_in_channels(out) && (kind != KERN_MAP || !follows_channels(op, t, out))))
        return false;
    changed.k.tensors[t] = *out;
    return graph_op_as_fast(layout->graph, layout->options, op, &changed);
}

/* ---- groups ------------------------------------------------------------------------------------------------------ */

/* Operand t as an image with the batch first, and whether the op has batch and channels exchanged. */
static struct kern_view image_of(const struct layout *layout, const struct graph_op *op, uint32_t t, bool *out_swapped)
{
    const struct kern_view *view = &op->k.tensors[t];
    const struct kern_view swapped = with_batch_as_channels(view);
    *out_swapped = false;
    if (op->k.kind == KERN_NORM)
        return with_channels(&layout->shape[op->value[t]], view);
    *out_swapped = op->k.kind == KERN_CONV && t < 2 && !is_part(&layout->shape[op->value[t]], view) &&
                   is_part(&layout->shape[op->value[t]], &swapped);
    return *out_swapped ? swapped : *view;
}

/* A value's whole tensor is the largest one that an op views. */
static void look(struct layout *layout, const struct graph_op *op, uint32_t t)
{
    const struct kern_view *view = &op->k.tensors[t];
    struct kern_view *shape = &layout->shape[op->value[t]];
    if (suits(layout, op, t) && op->k.kind != KERN_NORM && !is_filter(op, t) && is_whole(view) &&
        (!shape->rank || kern_view_elements(view) > kern_view_elements(shape)))
        *shape = *view;
}

static void channels_last(const struct kern_view *whole, struct kern_view *view)
{
    int64_t stride = whole->sizes[1];
    view->offset /= whole->strides[1];
    for (uint32_t d = view->rank; d-- > 2; stride *= view->sizes[d])
        view->strides[d] = stride;
    view->strides[0] = stride;
    view->strides[1] = 1;
}

/* A normalisation has a fast kernel in NHWC, too. */
static bool norm_follows(const struct layout *layout, const struct graph_op *op)
{
    struct graph_op changed = *op;
    for (uint32_t t = 0; t < op->k.input_count + op->k.output_count; t++) {
        const struct kern_view *whole = &layout->shape[op->value[t]];
        struct kern_view image = with_channels(whole, &op->k.tensors[t]);
        if (layout->graph->values[op->value[t]].place != GRAPH_TEMP || !is_part(whole, &image))
            continue;
        channels_last(whole, &image);
        changed.k.tensors[t] = image.rank != op->k.tensors[t].rank ? with_groups(&image, &op->k.tensors[t]) : image;
    }
    return graph_op_as_fast(layout->graph, layout->options, op, &changed);
}

static void refuse(struct layout *layout, const struct graph_op *op, uint32_t t)
{
    uint32_t value = op->value[t];
    bool swapped = false;
    struct kern_view tokens;
    if (layout->graph->values[value].place == GRAPH_TEMP && reads_tokens(layout, op, t, &tokens))
        return;
    const bool suitable = suits(layout, op, t);
    const struct kern_view image = suitable ? image_of(layout, op, t, &swapped) : op->k.tensors[t];
    if (layout->graph->values[value].place != GRAPH_TEMP || !suitable || (is_filter(op, t) && !swapped) ||
        !is_part(&layout->shape[value], &image) || (op->k.kind == KERN_NORM && !norm_follows(layout, op)))
        layout->refused[value] = true;
}

static uint32_t find_group(struct layout *layout, uint32_t value)
{
    while (layout->group[value] != value)
        value = layout->group[value] = layout->group[layout->group[value]];
    return value;
}

/* Is NHWC and stays so. */
static bool is_last(const struct kern_view *view)
{
    bool pixels = false;
    for (uint32_t d = 2; d < view->rank; d++)
        pixels = pixels || view->sizes[d] > 1;
    return pixels && view->sizes[1] > 1 && view->strides[1] == 1 && graph_view_injective(view);
}

/* Puts the op's candidates into one group; a group that is connected to an NHWC tensor becomes NHWC. */
static void connect(struct layout *layout, const struct graph_op *op)
{
    uint32_t first = GRAPH_NONE;
    bool last = op->k.kind == KERN_CONV;
    for (uint32_t t = 0; t < op->k.input_count + op->k.output_count; t++)
        last = last || (layout->refused[op->value[t]] && op->k.tensors[t].rank >= 4 && suits(layout, op, t) &&
                        is_last(&op->k.tensors[t]));
    for (uint32_t t = 0; t < op->k.input_count + op->k.output_count; t++) {
        struct kern_view tokens;
        if (layout->refused[op->value[t]] || reads_tokens(layout, op, t, &tokens))
            continue;
        uint32_t group = find_group(layout, op->value[t]);
        if (first == GRAPH_NONE)
            first = group;
        layout->conv[first] |= layout->conv[group] || last;
        layout->group[group] = first;
    }
}

/* The op with its operands in groups of convolutions permuted; false if it has none. */
static bool permuted(struct layout *layout, const struct graph_op *op, struct graph_op *out)
{
    bool any = false;
    *out = *op;
    for (uint32_t t = 0; t < op->k.input_count + op->k.output_count; t++) {
        if (layout->refused[op->value[t]] || !layout->conv[find_group(layout, op->value[t])])
            continue;
        any = true;
        if (reads_tokens(layout, op, t, &out->k.tensors[t]))
            continue;
        bool swapped;
        struct kern_view image = image_of(layout, op, t, &swapped);
        channels_last(&layout->shape[op->value[t]], &image);
        const struct kern_view *old = &op->k.tensors[t];
        out->k.tensors[t] = swapped                   ? with_batch_as_channels(&image)
                            : image.rank != old->rank ? with_groups(&image, old)
                                                      : image;
    }
    return any;
}

/* Rank not worse; for integers better, because most integer kernels are for plain layouts, if one accepts the op,
 * unless the result already is NHWC. */
static bool permutes_well(const struct layout *layout, const struct graph_op *op, const struct graph_op *changed)
{
    if (!op->k.u.conv.integer || layout->options->backend->passes & GRAPH_PASS_BIT(filters))
        return graph_op_no_worse(layout->graph, layout->options, op, changed);
    const uint32_t before = graph_op_priority(layout->graph, layout->options, op);
    const uint32_t after = graph_op_priority(layout->graph, layout->options, changed);
    return after < before || (after == before && is_last(&op->k.tensors[op->k.input_count]));
}

/* Kernels pack filters, pass filters reorders constant ones; 1x1 filters are in both orders. */
static bool filter_follows(const struct layout *layout, const struct graph_op *op)
{
    const struct kern_view *w = &op->k.tensors[1];
    uint64_t taps = 1;
    for (uint32_t d = 2; d < w->rank; d++)
        taps *= w->sizes[d];
    return !(layout->options->backend->passes & GRAPH_PASS_BIT(filters)) || taps == 1 ||
           (layout->graph->values[op->value[1]].place == GRAPH_CONSTANT && !op->k.u.conv.transposed);
}

/* A convolution that is permuted and would lose its kernel. Pass transposed chooses another one. */
static bool loses(struct layout *layout, const struct graph_op *op, struct graph_op *out_changed)
{
    const uint64_t passes = layout->options->backend->passes & ~layout->options->disabled_passes;
    if ((passes & GRAPH_PASS_BIT(transposed)) && graph_splits_transposed(op))
        return false;
    return op->k.kind == KERN_CONV && permuted(layout, op, out_changed) &&
           !(filter_follows(layout, op) && permutes_well(layout, op, out_changed));
}

/* Operand t is in a group of convolutions. */
static bool in_group(struct layout *layout, const struct graph_op *op, uint32_t t)
{
    return !layout->refused[op->value[t]] && layout->conv[find_group(layout, op->value[t])];
}

#define SAME_KERNEL 0.25 /* of its time is gained, compared with a convolution that gets a better one */

/* Copies that keep a convolution's layout are worth it where others of the group do enough work. */
static void weigh(struct layout *layout, const struct graph_op *op)
{
    const struct kern_view *y = &op->k.tensors[op->k.input_count];
    struct graph_op changed;
    if (op->k.kind != KERN_CONV || !permuted(layout, op, &changed))
        return;
    const bool lost = loses(layout, op, &changed);
    const bool better = graph_op_priority(layout->graph, layout->options, &changed) <
                        graph_op_priority(layout->graph, layout->options, op);
    const double gain = (double)kern_view_elements(y) * (double)kern_view_elements(&op->k.tensors[1]) /
                        (double)y->sizes[1] * (better ? 1 : SAME_KERNEL);
    for (uint32_t t = 0; t < op->k.input_count + op->k.output_count; t++) {
        const double copy = (double)kern_view_elements(&op->k.tensors[t]) * layout->options->backend->layout_work;
        if (!in_group(layout, op, t))
            continue;
        layout->work[find_group(layout, op->value[t])] += lost ? -copy : gain;
        if (!lost) /* the others are in the same group */
            return;
    }
}

/* If a convolution would lose its kernel, it keeps its layout if copies pay; otherwise its whole group does. */
static void veto(struct layout *layout, uint32_t at)
{
    const struct graph_op *op = layout->graph->ops[at];
    struct graph_op changed;
    bool pays = layout->options->backend->layout_work > 0;
    if (!loses(layout, op, &changed))
        return;
    for (uint32_t t = 0; t < op->k.input_count + op->k.output_count; t++)
        pays = pays && (!in_group(layout, op, t) || layout->work[find_group(layout, op->value[t])] > 0);
    layout->keeps[at] = pays;
    for (uint32_t t = 0; !pays && t < op->k.input_count + op->k.output_count; t++)
        if (!layout->refused[op->value[t]])
            layout->conv[find_group(layout, op->value[t])] = false;
}

/* The op at position `at` gets plain copies of the inputs that are permuted, and writes one of its result. */
static void copy_operands(struct layout *layout, uint32_t at)
{
    struct graph *graph = layout->graph;
    struct graph_op changed, *op = graph->ops[at];
    if (!permuted(layout, op, &changed))
        return;
    for (uint32_t t = 0; t < op->k.input_count + op->k.output_count; t++) {
        const struct kern_view *view = &changed.k.tensors[t];
        const struct graph_operand image = { op->value[t], *view };
        if (!in_group(layout, op, t))
            continue;
        const struct graph_operand copy = graph_temp(graph, view->type, view->rank, view->sizes);
        const bool out = t >= op->k.input_count;
        if (graph->failed ||
            !graph_op_insert(graph, at + out, op, KERN_MOVE, out ? &copy : &image, 1, out ? &image : &copy))
            return;
        op->value[t] = copy.value;
        op->k.tensors[t] = copy.view;
    }
}

static void permute_all(struct layout *layout, bool *changed)
{
    struct graph *graph = layout->graph;
    const uint32_t count = graph->op_count;
    struct graph_op op;
    for (uint32_t i = 0; i < graph->op_count; i++)
        for (uint32_t t = 0; t < graph->ops[i]->k.input_count + graph->ops[i]->k.output_count; t++)
            look(layout, graph->ops[i], t);
    for (uint32_t i = 0; i < graph->op_count; i++)
        for (uint32_t t = 0; t < graph->ops[i]->k.input_count + graph->ops[i]->k.output_count; t++)
            refuse(layout, graph->ops[i], t);
    for (uint32_t i = 0; i < graph->op_count; i++)
        connect(layout, graph->ops[i]);
    for (uint32_t i = 0; i < count; i++)
        weigh(layout, graph->ops[i]);
    for (uint32_t i = 0; i < count; i++)
        veto(layout, i);
    for (uint32_t i = 0; i < count; i++) {
        if (layout->keeps[i]) {
            copy_operands(layout, i);
            *changed = true;
            continue;
        }
        if (!permuted(layout, graph->ops[i], &op))
            continue;
        *graph->ops[i] = op;
        *changed = true;
    }
}

HRESULT graph_pass_layout(struct graph *graph, const struct graph_options *options, bool *changed)
{
    size_t count = (size_t)graph->value_count + 1;
    struct layout layout = { graph,
                             options,
                             calloc(count, sizeof(*layout.shape)),
                             calloc(count, sizeof(bool)),
                             calloc(count, sizeof(bool)),
                             calloc(count, sizeof(uint32_t)),
                             calloc(count, sizeof(double)),
                             calloc((size_t)graph->op_count + 1, sizeof(bool)) };
    bool ok = layout.shape && layout.refused && layout.conv && layout.group && layout.work && layout.keeps;
    for (uint32_t v = 0; ok && v < graph->value_count; v++)
        layout.group[v] = v;
    if (ok)
        permute_all(&layout, changed);
    free(layout.shape);
    free(layout.refused);
    free(layout.conv);
    free(layout.group);
    free(layout.work);
    free(layout.keeps);
    return ok ? S_OK : E_OUTOFMEMORY;
}
