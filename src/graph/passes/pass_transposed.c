/* SPDX-License-Identifier: Apache-2.0 */
/* A transposed convolution of stride s equals s convolutions of stride 1 along each dimension, one of each phase: the
 * results at s * q + p, for one p, are sums over the same taps k, those with p + pad = k * dilation (mod s), at
 * neighbouring pixels. So nothing is multiplied by zero or tested for divisibility, and kernels of plain convolutions
 * do the work. Such a filter has the exchanged channels, and the phase's taps in the opposite order: fixed filters are
 * rearranged before execution, others by a copy.
 *
 * Along the last dimension, one convolution with s times the channels suffices if all phases read the same pixels: at
 * this point the layout is NHWC, and the channels of neighbouring pixels are adjacent. */
#include "graph/passes/pass.h"

#define PHASES_MAX 64 /* number of convolutions that one becomes */

/* Along one dimension. */
struct phase {
    uint32_t first, count;     /* results */
    uint32_t tap, step, taps;  /* of the transposed filter */
    uint32_t dilation, before; /* padding before, */
    uint32_t skipped;          /* or pixels that are not read */
};

struct part {
    struct phase phase[KERN_SPATIAL_MAX];
    uint32_t merged; /* number of phases of the last dimension that become channels */
};

struct search {
    struct graph *graph;
    const struct graph_options *options;
    struct graph_uses uses;
    const struct graph_op *conv;
};

static uint32_t greatest_divisor(uint32_t a, uint32_t b)
{
    while (b) {
        const uint32_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Phase `first` along dimension d. False if it has no taps or reads no pixels: its results are only bias. */
static bool phase_of(const struct kern_op *op, uint32_t d, uint32_t first, struct phase *out)
{
    const struct kern_conv *conv = &op->u.conv;
    const uint32_t stride = conv->strides[d], window = op->tensors[1].sizes[2 + d], x = op->tensors[0].sizes[2 + d];
    const uint32_t shared = greatest_divisor(stride, conv->dilations[d]), step = stride / shared;
    const uint64_t at = (uint64_t)first + conv->pad_start[d];
    uint64_t tap = 0;
    while (tap < step && tap * conv->dilations[d] % stride != at % stride)
        tap++;
    if (tap >= step || tap >= window)
        return false;
    *out = (struct phase){ .first = first, .tap = (uint32_t)tap, .step = step };
    out->count = (op->tensors[op->input_count].sizes[2 + d] - first + stride - 1) / stride;
    out->taps = (uint32_t)((window - 1 - tap) / step + 1);
    out->dilation = conv->dilations[d] / shared;
    /* The pixel that tap 0 multiplies for the first result. */
    const int64_t pixel = ((int64_t)at - (int64_t)(tap * conv->dilations[d])) / (int64_t)stride;
    const int64_t before = (int64_t)(out->taps - 1) * out->dilation - pixel;
    if (before > INT32_MAX || before <= -(int64_t)x)
        return false;
    out->before = before > 0 ? (uint32_t)before : 0;
    out->skipped = before < 0 ? (uint32_t)-before : 0;
    return true;
}

static bool suits(const struct graph_op *op)
{
    const struct kern_conv *conv = &op->k.u.conv;
    if (op->k.kind != KERN_CONV || op->dead || !conv->transposed || conv->integer || op->k.output_count != 1 ||
        op->k.tensors[1].rank + (conv->groups > 1) > KERN_RANK_MAX)
        return false;
    const uint32_t own = op->k.epilogue ? op->k.epilogue_input : op->k.input_count;
    const struct kern_view *y = &op->k.tensors[op->k.input_count];
    uint64_t phases = 1;
    for (uint32_t d = 0; d < conv->spatial; d++) {
        phases *= conv->strides[d];
        if (phases > PHASES_MAX)
            return false;
        for (uint32_t t = own; t < op->k.input_count; t++)
            if (op->k.tensors[t].rank != y->rank || op->k.tensors[t].sizes[2 + d] != y->sizes[2 + d])
                return false;
    }
    return !graph_op_reads(op, op->value[op->k.input_count]);
}

/* ---- the parts ---- */

static bool same_pixels(const struct phase *a, const struct phase *b)
{
    return a->count == b->count && a->taps == b->taps && a->before == b->before && a->skipped == b->skipped;
}

/* The results of a part, with neighbours along a line as channels. */
static void part_view(const struct search *s, const struct part *part, struct kern_view *view)
{
    const struct kern_conv *conv = &s->conv->k.u.conv;
    for (uint32_t d = 0; d < conv->spatial; d++) {
        view->offset += part->phase[d].first * view->strides[2 + d];
        view->sizes[2 + d] = part->phase[d].count;
        view->strides[2 + d] *= conv->strides[d];
    }
    view->sizes[1] *= part->merged;
}

/* All phases along the last dimension can be channels of one convolution. */
static bool merges(const struct search *s)
{
    const struct kern_op *op = &s->conv->k;
    const uint32_t last = op->u.conv.spatial - 1, own = op->epilogue ? op->epilogue_input : op->input_count;
    const uint32_t stride = op->u.conv.strides[last];
    struct phase first, other;
    if (op->u.conv.groups > 1 || stride == 1 || op->tensors[1].rank == KERN_RANK_MAX ||
        op->tensors[op->input_count].sizes[2 + last] % stride || !phase_of(op, last, 0, &first))
        return false;
    for (uint32_t p = 1; p < stride; p++)
        if (!phase_of(op, last, p, &other) || !same_pixels(&first, &other) || other.tap != first.tap + p)
            return false;
    for (uint32_t t = own; t <= op->input_count; t++) {
        const struct kern_view *view = &op->tensors[t];
        if (view->strides[2 + last] != view->strides[1] * (int64_t)view->sizes[1])
            return false;
    }
    return true;
}

/* The filter of a part, as it is in the transposed one: [phases] or [groups], output channels, input channels, taps. */
static struct kern_view filter_view(const struct search *s, const struct part *part)
{
    const struct kern_view *w = &s->conv->k.tensors[1];
    const struct kern_conv *conv = &s->conv->k.u.conv;
    struct kern_view view = { .type = w->type, .offset = w->offset };
    uint32_t n = 0;
    if (part->merged > 1) {
        const int64_t stride = w->strides[1 + conv->spatial];
        view.sizes[n] = part->merged;
        view.strides[n++] = conv->flip ? -stride : stride;
    } else if (conv->groups > 1) {
        view.sizes[n] = conv->groups;
        view.strides[n++] = w->strides[0] * (int64_t)(w->sizes[0] / conv->groups);
    }
    view.sizes[n] = w->sizes[1];
    view.strides[n++] = w->strides[1];
    view.sizes[n] = w->sizes[0] / conv->groups;
    view.strides[n++] = w->strides[0];
    for (uint32_t d = 0; d < conv->spatial; d++, n++) {
        const struct phase *phase = &part->phase[d];
        const uint32_t tap = phase->tap + phase->step * (phase->taps - 1);
        view.sizes[n] = phase->taps;
        view.offset += w->strides[2 + d] * (int64_t)(conv->flip ? w->sizes[2 + d] - 1 - tap : tap);
        view.strides[n] = w->strides[2 + d] * (conv->flip ? (int64_t)phase->step : -(int64_t)phase->step);
    }
    view.rank = n;
    return view;
}

/* All but filter and bias; their views as if they were there. */
static void build(const struct search *s, const struct part *part, struct graph_op *out)
{
    *out = *s->conv;
    struct kern_op *op = &out->k;
    struct kern_conv *conv = &op->u.conv;
    struct kern_view *w = &op->tensors[1];
    const uint32_t own = op->epilogue ? op->epilogue_input : op->input_count;
    uint32_t sizes[KERN_RANK_MAX] = { part->merged * conv->groups * w->sizes[1], w->sizes[0] / conv->groups };
    conv->transposed = conv->flip = false;
    for (uint32_t d = 0; d < conv->spatial; d++) {
        const struct phase *phase = &part->phase[d];
        conv->strides[d] = 1;
        conv->dilations[d] = phase->dilation;
        conv->pad_start[d] = phase->before;
        op->tensors[0].offset += phase->skipped * op->tensors[0].strides[2 + d];
        op->tensors[0].sizes[2 + d] -= phase->skipped;
        sizes[2 + d] = phase->taps;
    }
    kern_view_set_packed(w, w->type, w->rank, sizes);
    if (conv->has_bias && part->merged > 1) {
        const uint32_t channels[KERN_RANK_MAX] = { 1, sizes[0], 1, 1, 1 };
        kern_view_set_packed(&op->tensors[2], op->tensors[2].type, op->tensors[2].rank, channels);
    }
    for (uint32_t t = own; t <= op->input_count; t++)
        part_view(s, part, &op->tensors[t]);
}

/* ---- filters ---- */

/* Makes operand t of `op` a dense copy of what `from` views in the transposed convolution's. */
static bool copy(const struct search *s, uint32_t at, const struct kern_view *from, uint32_t t, struct graph_op *op)
{
    const uint32_t before = s->conv->value[t];
    struct graph_operand made = graph_temp(s->graph, from->type, from->rank, from->sizes);
    if (made.value == GRAPH_NONE)
        return false;
    op->value[t] = made.value;
    if (!graph_value_fixed(s->graph, s->options, before)) {
        const struct graph_operand operand = { before, *from };
        return graph_op_insert(s->graph, at, s->conv, KERN_MOVE, &operand, 1, &made);
    }
    return graph_derive_copy(s->graph, "transposed", before, from, made.value);
}

/* With NHWC images, shaders read the filter in the same order (pass filters): its input channels become innermost. */
static void reorder(struct kern_view *from, struct kern_view *w)
{
    const uint32_t channels = from->rank - w->rank + 1, last = from->rank - 1;
    const struct kern_view given = *from;
    for (uint32_t d = channels; d < last; d++) {
        from->sizes[d] = given.sizes[d + 1];
        from->strides[d] = given.strides[d + 1];
    }
    from->sizes[last] = given.sizes[channels];
    from->strides[last] = given.strides[channels];
    int64_t stride = w->sizes[1];
    w->strides[1] = 1;
    for (uint32_t d = w->rank; d-- > 2; stride *= w->sizes[d])
        w->strides[d] = stride;
    w->strides[0] = stride;
}

static bool fill_operands(const struct search *s, uint32_t at, const struct part *part, struct graph_op *op)
{
    struct kern_view from = filter_view(s, part);
    if (op->k.tensors[1].sizes[1] > 1 && op->k.tensors[0].strides[1] == 1)
        reorder(&from, &op->k.tensors[1]);
    if (!copy(s, at, &from, 1, op))
        return false;
    if (!op->k.u.conv.has_bias || part->merged == 1)
        return true;
    const struct kern_view *bias = &s->conv->k.tensors[2];
    struct kern_view repeated = {
        bias->type, 2, { part->merged, bias->sizes[1] }, { 0, bias->strides[1] }, bias->offset
    };
    return copy(s, at, &repeated, 2, op);
}

/* ---- the pass ---- */

/* The phases of all dimensions, one combination after the other. False if one has no taps. */
static bool parts_of(const struct search *s, struct part *out, uint32_t *out_count)
{
    const struct kern_op *op = &s->conv->k;
    const struct kern_conv *conv = &op->u.conv;
    const struct kern_view *y = &op->tensors[op->input_count];
    const uint32_t last = conv->spatial - 1, merged = merges(s) ? conv->strides[last] : 1;
    uint32_t at[KERN_SPATIAL_MAX] = { 0 }, d;
    *out_count = 0;
    do {
        struct part *part = &out[(*out_count)++];
        part->merged = merged;
        for (d = 0; d < conv->spatial; d++)
            if (!phase_of(op, d, at[d], &part->phase[d]))
                return false;
        for (d = conv->spatial; d-- > 0;) {
            at[d] += d == last ? merged : 1;
            if (at[d] < BASE_MIN(conv->strides[d], y->sizes[2 + d]))
                break;
            at[d] = 0;
        }
    } while (d < conv->spatial);
    return true;
}

bool graph_splits_transposed(const struct graph_op *op)
{
    const struct search s = { .conv = op };
    struct part parts[PHASES_MAX];
    uint32_t count;
    return suits(op) && parts_of(&s, parts, &count);
}

static bool replace(struct search *s, uint32_t at)
{
    struct graph *graph = s->graph;
    const struct graph_op old = *graph->ops[at];
    struct part parts[PHASES_MAX];
    struct graph_op made;
    uint32_t count;
    s->conv = &old;
    for (uint32_t t = 1; t < 2u + old.k.u.conv.has_bias; t++)
        if (graph_value_fixed(graph, s->options, old.value[t]) && !graph_operand_fits(graph, &old, t))
            return false;
    if (!parts_of(s, parts, &count))
        return false;
    for (uint32_t i = 0; i < count; i++) {
        build(s, &parts[i], &made);
        if (!graph_op_no_worse(graph, s->options, &old, &made))
            return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        build(s, &parts[i], &made);
        if (!fill_operands(s, at, &parts[i], &made))
            return false;
        const struct graph_operand x = { made.value[0], made.k.tensors[0] };
        const struct graph_operand y = { made.value[made.k.input_count], made.k.tensors[made.k.input_count] };
        struct graph_op *op = i + 1 < count ? graph_op_insert(graph, at, &old, KERN_CONV, &x, 1, &y) : graph->ops[at];
        if (!op)
            return false;
        *op = made;
    }
    graph->failed |= !graph_uses_refresh(&s->uses, at);
    for (uint32_t t = 1; t < 2u + old.k.u.conv.has_bias; t++)
        graph_constant_drop_unread(graph, &s->uses, old.value[t]);
    return true;
}

HRESULT graph_pass_transposed(struct graph *graph, const struct graph_options *options, bool *changed)
{
    struct search s = { .graph = graph, .options = options };
    bool ok = graph_uses_init(&s.uses, graph);
    const uint32_t count = graph->op_count;
    for (uint32_t i = 0; ok && !graph->failed && i < count; i++)
        *changed |= suits(graph->ops[i]) && replace(&s, i);
    graph_uses_finish(&s.uses);
    return ok && !graph->failed ? S_OK : E_OUTOFMEMORY;
}
