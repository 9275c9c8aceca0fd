/* SPDX-License-Identifier: Apache-2.0 */
/* A convolution of an image whose pixels were repeated s times (nearest-neighbour upsampling) reads each original pixel
 * several times: all windows at s * i + p, for one p, cover the same original pixels in the same way. So it equals s
 * convolutions of the original along each dimension, with smaller windows whose weights are sums, and results s pixels
 * apart: 9 of 25 multiplications for 5x5 and s = 2, 4 of 9 for 3x3, and the large image is never stored.
 *
 * Along the last dimension, one convolution with s times the channels suffices if all p have the same window: at this
 * point the layout is NHWC, and the channels of neighbouring pixels are adjacent. Weights must be constant and are
 * rounded once more, as by fold_batch_norm. */
#include "graph/passes/pass.h"

#include "base/parallel.h"
#include "kernels/core/dense.h"
#include "kernels/row/row.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

#define PARTS_MAX    4 /* number of convolutions that one becomes */
#define CHANNELS_MIN 4 /* whose weights are worth a thread */

/* Original pixels that the windows of one p cover, relative to pixel i. */
struct reach {
    int32_t first;
    uint32_t size;
};

struct part {
    uint32_t phase[2],
        phases; /* the first pixel of the result, and the number of pixels along its line that become channels */
    struct reach reach[2];
};

struct search {
    struct graph *graph;
    const struct graph_options *options;
    struct graph_uses uses;
    const struct graph_op *resample;
    struct graph_op *conv;
    uint32_t times[2];
};

static int32_t floor_quotient(int32_t a, int32_t b)
{
    return a >= 0 ? a / b : -((-a + b - 1) / b);
}

static struct reach reach_of(const struct search *s, uint32_t d, uint32_t phase)
{
    const int32_t times = (int32_t)s->times[d];
    const int32_t begin = (int32_t)phase - (int32_t)s->conv->k.u.conv.pad_start[d];
    const int32_t end = begin + (int32_t)s->conv->k.tensors[1].sizes[2 + d] - 1;
    const int32_t first = floor_quotient(begin, times);
    return (struct reach){ first, (uint32_t)(floor_quotient(end, times) - first + 1) };
}

/* ---- pattern ---- */

/* How often pixels are repeated along dimension d, all equally often and in order; 0: otherwise. */
static uint32_t times_of(const struct kern_op *op, uint32_t d)
{
    const struct kern_resample *r = &op->u.resample;
    const uint32_t in = op->tensors[0].sizes[d], out = op->tensors[1].sizes[d];
    if (out % in)
        return 0;
    for (uint32_t o = 0; o < out; o++) {
        const float x = ((float)o - r->output_offsets[d]) / r->scales[d] - r->input_offsets[d];
        const float at = r->rounding == DML_AXIS_DIRECTION_INCREASING ? ceilf(x) : floorf(x);
        if (fminf(fmaxf(at, 0), (float)(in - 1)) != (float)(o / (out / in)))
            return 0;
    }
    return out / in;
}

static bool repeats(struct search *s)
{
    const struct kern_op *op = &s->resample->k;
    if (op->kind != KERN_RESAMPLE || op->u.resample.mode != DML_INTERPOLATION_MODE_NEAREST_NEIGHBOR ||
        op->u.resample.transposed || op->tensors[0].rank != 4 || op->tensors[0].sizes[0] != op->tensors[1].sizes[0] ||
        op->tensors[0].sizes[1] != op->tensors[1].sizes[1])
        return false;
    for (uint32_t d = 0; d < 2; d++) {
        s->times[d] = times_of(op, 2 + d);
        if (!s->times[d] || s->times[d] > PARTS_MAX)
            return false;
    }
    return s->times[0] * s->times[1] > 1 && s->times[0] * s->times[1] <= PARTS_MAX;
}

static bool suits(const struct search *s)
{
    const struct kern_op *op = &s->conv->k;
    const struct kern_conv *conv = &op->u.conv;
    if (op->kind != KERN_CONV || s->conv->dead || conv->spatial != 2 || conv->groups != 1 || conv->transposed ||
        conv->flip || conv->integer || op->output_count != 1)
        return false;
    for (uint32_t t = 1; t < 2u + conv->has_bias; t++)
        if (!graph_value_fixed(s->graph, s->options, s->conv->value[t]) || !graph_operand_fits(s->graph, s->conv, t) ||
            (op->tensors[t].type != DML_TENSOR_DATA_TYPE_FLOAT32 &&
             op->tensors[t].type != DML_TENSOR_DATA_TYPE_FLOAT16))
            return false;
    for (uint32_t d = 0; d < 2; d++)
        if (conv->strides[d] != 1 || conv->dilations[d] != 1 || conv->pad_start[d] > INT16_MAX ||
            op->tensors[1].sizes[2 + d] > INT16_MAX || op->tensors[op->input_count].sizes[2 + d] % s->times[d])
            return false;
    return true;
}

/* The RESAMPLE op that alone writes the value, if the convolution is its only reader. */
static bool find(struct search *s, uint32_t at)
{
    s->conv = s->graph->ops[at];
    if (s->conv->k.kind != KERN_CONV || s->conv->dead)
        return false;
    const uint32_t x = s->conv->value[0];
    const struct graph_use_summary sum = graph_uses_of(&s->uses, x);
    if (s->graph->values[x].place != GRAPH_TEMP || sum.writes != 1 || sum.reading_ops != 1 || sum.writer >= at)
        return false;
    s->resample = s->graph->ops[sum.writer];
    for (uint32_t t = 1; t < s->conv->k.input_count; t++)
        if (s->conv->value[t] == x)
            return false;
    return repeats(s) && suits(s) && graph_view_equal(&s->resample->k.tensors[1], &s->conv->k.tensors[0]) &&
           !graph_op_reads(s->resample, s->conv->value[s->conv->k.input_count]) &&
           graph_op_may_sink(&s->uses, s->resample, sum.writer, at);
}

/* ---- weights ---- */

struct context {
    struct kern_view from; /* the weights, or the bias */
    struct part part;
    uint32_t times[2];
    int32_t pad[2];
};

static float load(const struct kern_view *view, const void *data, int64_t at)
{
    float value;
    dense_load_row(data, view->offset + at, 1, view->type, 1, &value);
    return value;
}

/* Rows and columns [begin, end) of the filter whose weights apply to one position of the part's window. */
struct span {
    int32_t begin[2], end[2];
};

static struct span span_of(const struct context *c, const uint32_t phase[2], uint32_t k)
{
    const struct reach *reach = c->part.reach;
    const int32_t place[] = { reach[0].first + (int32_t)(k / reach[1].size),
                              reach[1].first + (int32_t)(k % reach[1].size) };
    struct span span;
    for (uint32_t d = 0; d < 2; d++) {
        const int32_t first = place[d] * (int32_t)c->times[d] - (int32_t)phase[d] + c->pad[d];
        span.begin[d] = BASE_MAX(first, 0);
        span.end[d] = BASE_MIN(first + (int32_t)c->times[d], (int32_t)c->from.sizes[2 + d]);
    }
    return span;
}

static float sum_of(const struct span *span, const float *filter, uint32_t columns)
{
    float sum = 0;
    for (int32_t y = span->begin[0]; y < span->end[0]; y++)
        for (int32_t x = span->begin[1]; x < span->end[1]; x++)
            sum += filter[(uint32_t)y * columns + (uint32_t)x];
    return sum;
}

struct summing {
    const struct context *context;
    const void *from;
    void *to;
    _Atomic bool failed; /* no memory */
};

/* The filters of result channel o, which belongs to one phase. `filter` and `sums`: room for the windows. */
static void sum_channel(const struct summing *summing, uint32_t o, struct span *spans, float *filter, float *sums)
{
    const struct context *c = summing->context;
    const struct kern_view *w = &c->from;
    const uint32_t positions = c->part.reach[0].size * c->part.reach[1].size, columns = w->sizes[3];
    const uint32_t phase[] = { c->part.phase[0], c->part.phase[1] + o / w->sizes[0] };
    int64_t to = (int64_t)o * w->sizes[1] * positions;
    for (uint32_t k = 0; k < positions; k++)
        spans[k] = span_of(c, phase, k);
    for (uint32_t i = 0; i < w->sizes[1]; i++, to += positions) {
        const int64_t from = w->offset + o % w->sizes[0] * w->strides[0] + i * w->strides[1];
        for (uint32_t y = 0; y < w->sizes[2]; y++)
            dense_load_row(summing->from, from + y * w->strides[2], w->strides[3], w->type, columns,
                           filter + (size_t)y * columns);
        for (uint32_t k = 0; k < positions; k++)
            sums[k] = sum_of(&spans[k], filter, columns);
        dense_store_row(summing->to, to, 1, w->type, positions, sums);
    }
}

static void sum_channels(void *context, size_t begin, size_t end, unsigned worker)
{
    struct summing *summing = context;
    const struct context *c = summing->context;
    const size_t positions = (size_t)c->part.reach[0].size * c->part.reach[1].size;
    struct span *spans = malloc(positions * sizeof(*spans));
    float *filter = malloc((size_t)c->from.sizes[2] * c->from.sizes[3] * sizeof(*filter));
    float *sums = malloc(positions * sizeof(*sums));
    (void)worker;
    if (!spans || !filter || !sums)
        atomic_store(&summing->failed, true);
    else
        for (size_t o = begin; o < end; o++)
            sum_channel(summing, (uint32_t)o, spans, filter, sums);
    free(spans);
    free(filter);
    free(sums);
}

/* Output channels in blocks of one phase, all dense. */
static bool run_weights(const void *context, const void *const *in, void *const *out)
{
    const struct context *c = context;
    struct summing summing = { .context = c, .from = in[0], .to = out[0] };
    atomic_init(&summing.failed, false);
    base_parallel_for(c->part.phases * c->from.sizes[0], CHANNELS_MIN, sum_channels, &summing);
    return !atomic_load(&summing.failed);
}

static bool run_bias(const void *context, const void *const *in, void *const *out)
{
    const struct context *c = context;
    for (uint32_t o = 0; o < c->part.phases * c->from.sizes[1]; o++) {
        const float value = load(&c->from, in[0], o % c->from.sizes[1] * c->from.strides[1]);
        dense_store_row(out[0], o, 1, c->from.type, 1, &value);
    }
    return true;
}

/* ---- the parts ---- */

/* The pixels of a part, with neighbours along a line as channels. */
static bool part_view(const struct search *s, const struct part *part, const struct kern_view *view,
                      struct kern_view *out)
{
    *out = *view;
    for (uint32_t d = 0; d < 2; d++) {
        out->offset += part->phase[d] * view->strides[2 + d];
        out->sizes[2 + d] /= s->times[d];
        out->strides[2 + d] *= s->times[d];
    }
    out->sizes[1] *= part->phases;
    return part->phases == 1 || view->strides[3] == view->strides[1] * (int64_t)view->sizes[1];
}

/* All but its weights; their views as if they were there. */
static bool build(const struct search *s, const struct part *part, struct graph_op *out)
{
    *out = *s->conv;
    struct kern_op *op = &out->k;
    const uint32_t own = op->epilogue ? op->epilogue_input : op->input_count, channels = op->tensors[1].sizes[0];
    out->value[0] = s->resample->value[0];
    op->tensors[0] = s->resample->k.tensors[0];
    for (uint32_t d = 0; d < 2; d++)
        op->u.conv.pad_start[d] = (uint32_t)-part->reach[d].first;
    kern_view_set_packed(&op->tensors[1], op->tensors[1].type, 4,
                         (const uint32_t[]){ channels * part->phases, op->tensors[1].sizes[1], part->reach[0].size,
                                             part->reach[1].size });
    if (op->u.conv.has_bias)
        kern_view_set_packed(&op->tensors[2], op->tensors[2].type, 4,
                             (const uint32_t[]){ 1, channels * part->phases, 1, 1 });
    for (uint32_t t = own; t <= op->input_count; t++)
        if (!part_view(s, part, &s->conv->k.tensors[t], &op->tensors[t]))
            return false;
    return part->reach[0].first <= 0 && part->reach[1].first <= 0;
}

static bool make_weights(const struct search *s, const struct part *part, struct graph_op *op)
{
    struct context c = { .part = *part, .times = { s->times[0], s->times[1] } };
    for (uint32_t d = 0; d < 2; d++)
        c.pad[d] = (int32_t)s->conv->k.u.conv.pad_start[d];
    for (uint32_t t = 1; t < 2u + op->k.u.conv.has_bias; t++) {
        const struct kern_view *view = &op->k.tensors[t];
        c.from = s->conv->k.tensors[t];
        struct graph_operand made = graph_temp(s->graph, view->type, 4, view->sizes);
        const uint32_t values[] = { s->conv->value[t], made.value };
        if (made.value == GRAPH_NONE ||
            !graph_derive(s->graph, &(struct graph_derivation){ "fuse_upsampling", t == 1 ? run_weights : run_bias, &c,
                                                                sizeof(c), 1, 1, values }))
            return false;
        op->value[t] = made.value;
    }
    return true;
}

/* All phases along the line in one, if their windows are the same. */
static uint32_t parts_of(const struct search *s, struct part out[PARTS_MAX])
{
    const uint32_t times = s->times[1];
    bool same = true;
    for (uint32_t q = 1; q < times; q++) {
        const struct reach first = reach_of(s, 1, 0), other = reach_of(s, 1, q);
        same = same && first.first == other.first && first.size == other.size;
    }
    uint32_t count = 0;
    for (uint32_t p = 0; p < s->times[0]; p++)
        for (uint32_t q = 0; q < times; q += same ? times : 1)
            out[count++] = (struct part){ { p, q }, same ? times : 1, { reach_of(s, 0, p), reach_of(s, 1, q) } };
    return count;
}

static bool split(struct search *s, uint32_t at)
{
    struct graph *graph = s->graph;
    struct part parts[PARTS_MAX];
    struct graph_op made[PARTS_MAX], old;
    const uint32_t count = parts_of(s, parts);
    for (uint32_t i = 0; i < count; i++)
        if (!build(s, &parts[i], &made[i]) || !graph_op_no_worse(graph, s->options, s->conv, &made[i]))
            return false;
    for (uint32_t i = 0; i < count; i++) {
        graph_op_join(&made[i], s->resample);
        if (!make_weights(s, &parts[i], &made[i]))
            return false;
    }
    old = *s->conv;
    for (uint32_t i = 0; i + 1 < count; i++) {
        const struct graph_operand x = { made[i].value[0], made[i].k.tensors[0] };
        const struct graph_operand y = { old.value[old.k.input_count], made[i].k.tensors[old.k.input_count] };
        struct graph_op *op = graph_op_insert(graph, at, &old, KERN_CONV, &x, 1, &y);
        if (!op)
            return false;
        *op = made[i];
    }
    *graph->ops[at] = made[count - 1];
    graph->failed |= !graph_uses_refresh(&s->uses, at);
    for (uint32_t t = 1; t < 2u + old.k.u.conv.has_bias; t++)
        graph_constant_drop_unread(graph, &s->uses, old.value[t]);
    return true;
}

HRESULT graph_pass_fuse_upsampling(struct graph *graph, const struct graph_options *options, bool *changed)
{
    struct search s = { .graph = graph, .options = options };
    bool ok = graph_uses_init(&s.uses, graph);
    const uint32_t count = graph->op_count;
    for (uint32_t i = 0; ok && !graph->failed && i < count; i++)
        *changed |= find(&s, i) && split(&s, i);
    graph_uses_finish(&s.uses);
    return ok && !graph->failed ? S_OK : E_OUTOFMEMORY;
}
