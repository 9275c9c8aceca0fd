/* SPDX-License-Identifier: Apache-2.0 */
/* The sum or difference of two convolutions of one image with fixed filters, or of one and the image itself, scaled per
 * channel or not, is one convolution: of the larger window, if it has all taps of the other one. So are the blocks of
 * networks whose branches are meant to be merged after training (RepVGG, MobileOne), and position encodings by
 * depthwise convolutions. The larger convolution takes no longer than before. */
#include "graph/passes/pass.h"

#include <stdlib.h>

/* A term of the sum: a convolution, or the image. */
struct term {
    bool present, image;
    double sign;
    struct kern_view filter, bias, scale; /* bias, scale: one element per channel; scale: of an image */
    bool has_bias, has_scale;
    uint32_t first[KERN_SPATIAL_MAX], step[KERN_SPATIAL_MAX]; /* its taps among those of the sum */
};

/* The context of the derivation of filters and bias, whose inputs are each term's filter, scale and bias, if present.
 */
struct summing {
    struct term terms[2];
    struct kern_view filter; /* of the sum, packed */
    uint32_t spatial;
};

struct branches {
    struct graph *graph;
    const struct graph_options *options;
    const struct graph_uses *uses;
    uint32_t at;
    struct graph_op *map;
    struct graph_op *conv[2]; /* of each term; NULL: the image */
    uint32_t conv_at[2];
    struct graph_op *scaling[2]; /* the MAP op that scales the image, if any */
};

/* ---- filters ---- */

static double element(const void *data, const struct kern_view *view, uint32_t channel)
{
    return ((const float *)data)[view->offset + (view->sizes[1] > 1 ? channel * view->strides[1] : 0)];
}

/* Elements from the sum's filter to the tap that is the term's tap at these coordinates. */
static uint64_t tap_of(const struct summing *s, const struct term *term, const uint32_t *at)
{
    uint64_t index = 0;
    for (uint32_t d = 0; d < s->spatial; d++)
        index += (term->first[d] + at[d] * term->step[d]) * (uint64_t)s->filter.strides[2 + d];
    return index;
}

static void add_filter(const struct summing *s, const struct term *term, const float *data, float *out)
{
    const struct kern_view *view = &term->filter;
    const uint64_t count = kern_view_elements(view);
    const bool whole = kern_view_packed(view) && count == kern_view_elements(&s->filter); /* the larger one */
    uint32_t at[KERN_RANK_MAX] = { 0 };
    for (uint64_t i = 0; whole && i < count; i++)
        out[i] = (float)(out[i] + term->sign * data[view->offset + (int64_t)i]);
    if (whole)
        return;
    for (uint64_t i = 0; i < count; i++) {
        int64_t index = view->offset;
        for (uint32_t d = 0; d < view->rank; d++)
            index += at[d] * view->strides[d];
        float *to = out + at[0] * s->filter.strides[0] + at[1] * s->filter.strides[1] + tap_of(s, term, at + 2);
        *to = (float)(*to + term->sign * data[index]);
        for (uint32_t d = view->rank; d-- && ++at[d] == view->sizes[d];)
            at[d] = 0;
    }
}

/* Each channel's own input channel, of those of its group. */
static void add_image(const struct summing *s, const struct term *term, const void *scale, float *out)
{
    const uint32_t zero[KERN_SPATIAL_MAX] = { 0 };
    for (uint32_t o = 0; o < s->filter.sizes[0]; o++) {
        float *to =
            out + o * s->filter.strides[0] + o % s->filter.sizes[1] * s->filter.strides[1] + tap_of(s, term, zero);
        *to = (float)(*to + term->sign * (scale ? element(scale, &term->scale, o) : 1));
    }
}

static bool run_summing(const void *context, const void *const *in, void *const *out)
{
    const struct summing *s = context;
    float *filter = out[0], *bias = out[1];
    memset(filter, 0, (size_t)kern_view_elements(&s->filter) * sizeof(*filter));
    memset(bias, 0, s->filter.sizes[0] * sizeof(*bias));
    for (uint32_t i = 0, next = 0; i < 2; i++) {
        const struct term *term = &s->terms[i];
        if (!term->image)
            add_filter(s, term, in[next++], filter);
        else
            add_image(s, term, term->has_scale ? in[next++] : NULL, filter);
        for (uint32_t o = 0; term->has_bias && o < s->filter.sizes[0]; o++)
            bias[o] = (float)(bias[o] + term->sign * element(in[next], &term->bias, o));
        next += term->has_bias;
    }
    return true;
}

/* ---- terms ---- */

static const struct kern_view *result_of(const struct graph_op *op)
{
    return &op->k.tensors[op->k.input_count];
}

static bool fixed(const struct branches *b, const struct graph_op *op, uint32_t t)
{
    return graph_value_fixed(b->graph, b->options, op->value[t]) &&
           op->k.tensors[t].type == DML_TENSOR_DATA_TYPE_FLOAT32 && graph_operand_fits(b->graph, op, t);
}

/* The op that writes the sum's operand, for it alone; NULL: none. */
static struct graph_op *writer_of(const struct branches *b, uint32_t t, uint32_t *out_at)
{
    const struct graph_use_summary sum = graph_uses_of(b->uses, b->map->value[t]);
    if (b->graph->values[b->map->value[t]].place != GRAPH_TEMP || sum.writes != 1 || sum.reading_ops != 1 ||
        sum.writer >= b->at)
        return NULL;
    struct graph_op *op = b->graph->ops[sum.writer];
    *out_at = sum.writer;
    return !op->dead && op->k.output_count == 1 && graph_view_equal(&b->map->k.tensors[t], result_of(op)) ? op : NULL;
}

static bool suits(const struct branches *b, const struct graph_op *op)
{
    const struct kern_conv *conv = &op->k.u.conv;
    return op->k.kind == KERN_CONV && !conv->transposed && !conv->flip && !conv->integer && !op->k.epilogue &&
           op->k.input_count == 2 + (uint32_t)conv->has_bias && fixed(b, op, 1) &&
           (!conv->has_bias || fixed(b, op, 2)) && op->k.tensors[0].type == DML_TENSOR_DATA_TYPE_FLOAT32 &&
           result_of(op)->type == DML_TENSOR_DATA_TYPE_FLOAT32;
}

/* x * scale + shift with one of each per channel: inputs of the op, 0: none. */
static bool is_scaling(const struct branches *b, const struct graph_op *op)
{
    const struct kern_map_inst *inst = op->k.u.map.inst;
    if (op->k.kind != KERN_MAP || op->k.u.map.inst_count != 1 || op->k.input_count != 3 || inst->code != KERN_MAP_FMA ||
        inst->type != DML_TENSOR_DATA_TYPE_FLOAT32 || inst->src[0] != 0 || inst->src[1] != 1 || inst->src[2] != 2)
        return false;
    for (uint32_t t = 1; t < 3; t++)
        for (uint32_t d = 0; d < op->k.tensors[t].rank; d++)
            if (!fixed(b, op, t) || (d != 1 && op->k.tensors[t].sizes[d] > 1 && op->k.tensors[t].strides[d]))
                return false;
    return op->k.tensors[0].type == DML_TENSOR_DATA_TYPE_FLOAT32;
}

/* Taps of a window along one dimension. */
struct taps {
    uint32_t count, pad, dilation;
};

static struct taps taps_of(const struct graph_op *conv, uint32_t d)
{
    if (!conv) /* the image */
        return (struct taps){ 1, 0, 1 };
    return (struct taps){ conv->k.tensors[1].sizes[2 + d], conv->k.u.conv.pad_start[d], conv->k.u.conv.dilations[d] };
}

/* The positions of the small window's taps among the large one's. */
static bool place_taps(struct taps small, struct taps large, uint32_t *first, uint32_t *step)
{
    if (small.pad > large.pad || (large.pad - small.pad) % large.dilation ||
        (small.count > 1 && small.dilation % large.dilation))
        return false;
    *first = (large.pad - small.pad) / large.dilation;
    *step = small.count > 1 ? small.dilation / large.dilation : 1;
    return *first + (uint64_t)(small.count - 1) * *step < large.count;
}

/* The term's place in the window of `large`. */
static bool fits_window(const struct graph_op *large, const struct graph_op *conv, struct term *term)
{
    bool fits = true;
    for (uint32_t d = 0; d < large->k.u.conv.spatial; d++)
        fits = fits && place_taps(taps_of(conv, d), taps_of(large, d), &term->first[d], &term->step[d]);
    return fits;
}

/* Both convolutions are of the same image, group by group, with the same strides. */
static bool alike(const struct graph_op *a, const struct graph_op *b)
{
    const struct kern_conv *left = &a->k.u.conv, *right = &b->k.u.conv;
    return a->value[0] == b->value[0] && graph_view_equal(&a->k.tensors[0], &b->k.tensors[0]) &&
           left->spatial == right->spatial && left->groups == right->groups &&
           !memcmp(left->strides, right->strides, left->spatial * sizeof(*left->strides)) && a->k.flags == b->k.flags;
}

/* The value and view are the convolution's image, and the results are as large, so that it could be a convolution. */
static bool is_image(const struct graph_op *conv, uint32_t value, const struct kern_view *view)
{
    bool same = conv->value[0] == value && graph_view_equal(&conv->k.tensors[0], view);
    for (uint32_t d = 0; d < conv->k.u.conv.spatial; d++)
        same = same && conv->k.u.conv.strides[d] == 1;
    for (uint32_t d = 0; d < view->rank; d++)
        same = same && view->sizes[d] == result_of(conv)->sizes[d];
    return same;
}

static bool find_terms(struct branches *b)
{
    for (uint32_t t = 0; t < 2; t++) {
        struct graph_op *op = writer_of(b, t, &b->conv_at[t]);
        if (op && suits(b, op))
            b->conv[t] = op;
        else if (op && is_scaling(b, op))
            b->scaling[t] = op;
    }
    if (b->conv[0] && b->conv[1])
        return alike(b->conv[0], b->conv[1]);
    const uint32_t t = b->conv[0] ? 0 : 1;
    const struct graph_op *scaling = b->scaling[!t], *image = scaling ? scaling : b->map;
    const uint32_t tensor = scaling ? 0 : !t;
    return b->conv[t] && is_image(b->conv[t], image->value[tensor], &image->k.tensors[tensor]);
}

static void term_init(const struct branches *b, uint32_t t, struct term *out)
{
    const struct graph_op *conv = b->conv[t], *scaling = b->scaling[t];
    out->sign = t && b->map->k.u.map.inst[0].code == KERN_MAP_SUB ? -1 : 1;
    out->image = !conv;
    out->has_scale = !conv && scaling;
    out->has_bias = conv ? conv->k.u.conv.has_bias : scaling != NULL;
    if (conv)
        out->filter = conv->k.tensors[1];
    if (out->has_scale)
        out->scale = scaling->k.tensors[1];
    if (out->has_bias)
        out->bias = (conv ? conv : scaling)->k.tensors[2];
}

/* ---- the sum ---- */

static bool derive(const struct branches *b, const struct summing *s, uint32_t filter, uint32_t bias)
{
    uint32_t values[8], count = 0;
    for (uint32_t t = 0; t < 2; t++) {
        const struct graph_op *op = b->conv[t] ? b->conv[t] : b->scaling[t];
        if (!s->terms[t].image || s->terms[t].has_scale)
            values[count++] = op->value[1];
        if (s->terms[t].has_bias)
            values[count++] = op->value[2];
    }
    values[count] = filter;
    values[count + 1] = bias;
    return graph_derive(b->graph,
                        &(struct graph_derivation){ "branches", run_summing, s, sizeof(*s), count, 2, values });
}

/* Nothing changes what the terms read until the sum; they move there. */
static bool may_move(const struct branches *b)
{
    for (uint32_t t = 0; t < 2; t++) {
        const struct graph_op *op = b->conv[t] ? b->conv[t] : b->scaling[t];
        if (op && !graph_op_may_sink(b->uses, op, b->conv_at[t], b->at))
            return false;
    }
    return true;
}

static bool merge(struct branches *b)
{
    struct graph *graph = b->graph;
    struct graph_op *map = b->map, *large = b->conv[0] ? b->conv[0] : b->conv[1];
    struct summing s = { .spatial = large->k.u.conv.spatial };
    if (b->conv[0] && b->conv[1] &&
        kern_view_elements(&b->conv[1]->k.tensors[1]) > kern_view_elements(&b->conv[0]->k.tensors[1]))
        large = b->conv[1];
    for (uint32_t t = 0; t < 2; t++) {
        term_init(b, t, &s.terms[t]);
        if (!fits_window(large, b->conv[t], &s.terms[t]))
            return false;
    }
    struct graph_op made = *large;
    const uint32_t outs = result_of(large)->sizes[1];
    uint32_t sizes[KERN_RANK_MAX];
    for (uint32_t d = 0; d < result_of(large)->rank; d++)
        sizes[d] = d == 1 ? outs : 1;
    kern_view_set_packed(&s.filter, DML_TENSOR_DATA_TYPE_FLOAT32, large->k.tensors[1].rank, large->k.tensors[1].sizes);
    made.k.u.conv.has_bias = true;
    made.k.input_count = 3;
    made.k.tensors[1] = s.filter;
    kern_view_set_packed(&made.k.tensors[2], DML_TENSOR_DATA_TYPE_FLOAT32, result_of(large)->rank, sizes);
    made.k.tensors[3] = map->k.tensors[2];
    made.value[3] = map->value[2];
    if (made.value[0] == made.value[3] || !graph_op_no_worse(graph, b->options, large, &made))
        return false;
    made.value[1] = graph_temp(graph, DML_TENSOR_DATA_TYPE_FLOAT32, s.filter.rank, s.filter.sizes).value;
    made.value[2] = graph_temp(graph, DML_TENSOR_DATA_TYPE_FLOAT32, result_of(large)->rank, sizes).value;
    if (graph->failed || !derive(b, &s, made.value[1], made.value[2]))
        return false;
    for (uint32_t t = 0; t < 2; t++) {
        struct graph_op *op = b->conv[t] ? b->conv[t] : b->scaling[t];
        if (!op)
            continue;
        op->dead = true;
        if (op != large)
            graph_op_join(&made, op);
    }
    graph_op_join(&made, map);
    *map = made;
    for (uint32_t t = 0; t < 2; t++)
        if (b->conv[t])
            graph_constant_drop_unread(graph, b->uses, b->conv[t]->value[1]);
    return true;
}

static bool find(struct branches *b)
{
    const struct graph_op *map = b->map;
    const struct kern_map *program = &map->k.u.map;
    if (map->dead || map->k.kind != KERN_MAP || map->k.output_count != 1 || map->k.input_count != 2 ||
        program->inst_count != 1 || map->value[0] == map->value[1])
        return false;
    const struct kern_map_inst *inst = program->inst;
    if ((inst->code != KERN_MAP_ADD && inst->code != KERN_MAP_SUB) || inst->type != DML_TENSOR_DATA_TYPE_FLOAT32 ||
        inst->src[0] != 0 || inst->src[1] != 1 || map->k.tensors[2].rank < 3)
        return false;
    for (uint32_t t = 0; t < 3; t++)
        if (map->k.tensors[t].type != DML_TENSOR_DATA_TYPE_FLOAT32)
            return false;
    return find_terms(b) && may_move(b);
}

HRESULT graph_pass_branches(struct graph *graph, const struct graph_options *options, bool *changed)
{
    struct graph_uses uses;
    bool ok = graph_uses_init(&uses, graph);
    for (uint32_t i = 0; ok && !graph->failed && i < graph->op_count; i++) {
        struct branches b = { .graph = graph, .options = options, .uses = &uses, .at = i, .map = graph->ops[i] };
        if (!find(&b) || !merge(&b))
            continue;
        *changed = true;
        ok = graph_uses_refresh(&uses, i);
    }
    graph_uses_finish(&uses);
    return ok && !graph->failed ? S_OK : E_OUTOFMEMORY;
}
