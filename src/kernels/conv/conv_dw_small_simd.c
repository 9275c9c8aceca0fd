/* SPDX-License-Identifier: Apache-2.0 */
/* The depthwise convolutions of struct conv_dw_small (conv_dw_small.h). */
#include "kernels/conv/conv_dw_small.h"
#include "kernels/row/epilogue_vec.h"
#include "kernels/core/isa.h"
#include "kernels/row/window.h"

_Static_assert(VEC == KERN_ISA_PASTE(CONV_DW_SMALL_LANES_, ISA), "packed for these vectors");

struct dw_small {
    struct conv_dw_small p;
    const struct kern_call *call;
    const struct kern_op *flat; /* the op with planes as lines, NULL when they cannot be */
    int64_t plane_taps;
    float *scratch, *image, *results;
    const float *weights; /* of the block */
    const int32_t *places, *reads, *steps;
    const struct conv_dw_small_group *list;
};

/* From planes to the image. */
DENSE_INLINE void dw_small_load(DML_TENSOR_DATA_TYPE type, const struct dw_small *r, const void *const *x)
{
    const int64_t count = r->p.ins;
    for (int64_t i = 0; i < count; i += VEC) {
        const int64_t at = BASE_MAX(BASE_MIN(i, count - VEC), 0); /* the last vector overlaps the one before */
        vec v[VEC];
#pragma GCC unroll 16
        for (int c = 0; c < VEC; c++)
            v[c] = vec_load_some(type, x[c], at, count);
        vec_transpose(v);
#pragma GCC unroll 16
        for (int j = 0; j < VEC; j++)
            vec_store(r->image + r->places[at + j], v[j]);
    }
}

static void dw_small_image(const struct dw_small *r, int64_t n, int64_t first)
{
    const struct conv_shape *s = &r->p.s;
    const struct kern_view *view = &r->call->op->tensors[0];
    const void *x[VEC];
    for (int64_t c = 0; c < VEC; c++) { /* without a channel: another one's */
        const int64_t channel = BASE_MIN(first + c, (int64_t)s->out_channels - 1) / s->out_group;
        x[c] = (const char *)r->call->data[0] + (n * s->x[0] + channel * s->x[1]) * kern_type_bytes(view->type);
    }
    VEC_BY_TYPE(view->type, dw_small_load, r, x);
}

DENSE_INLINE void dw_small_sums(int count, const struct dw_small *r, const struct conv_dw_small_group *group, vec bias)
{
    const vec low = vec_set(r->p.bounds.low), high = vec_set(r->p.bounds.high);
    const float *x[CONV_DW_SMALL_RESULTS];
    float *to = r->results + (int64_t)group->first * VEC;
    vec sum[CONV_DW_SMALL_RESULTS];
#pragma GCC unroll 8
    for (int i = 0; i < count; i++) {
        sum[i] = bias;
        x[i] = r->image + r->reads[group->first + i];
    }
    for (int64_t plane = group->planes[0]; plane < group->planes[1]; plane++) {
        /* Pointers: the loop has few registers. */
        const int32_t *step = r->steps + plane * r->plane_taps + group->begin, *end = step + group->end - group->begin;
        const float *w = r->weights + (step - r->steps) * VEC;
        for (; step < end; step++, w += VEC) {
            const vec factor = vec_load(w);
#pragma GCC unroll 8
            for (int i = 0; i < count; i++)
                sum[i] = vec_fma(factor, vec_load(x[i] + *step), sum[i]);
        }
    }
#pragma GCC unroll 8
    for (int i = 0; i < count; i++)
        vec_store(to + i * VEC, r->p.direct ? kern_bounds_vec(r->p.bounds.kind, low, high, sum[i]) : sum[i]);
}

static void dw_small_group(const struct dw_small *r, const struct conv_dw_small_group *group, vec bias)
{
    switch (group->count) {
    case 1:
        dw_small_sums(1, r, group, bias);
        break;
    case 2:
        dw_small_sums(2, r, group, bias);
        break;
    case 3:
        dw_small_sums(3, r, group, bias);
        break;
    case 4:
        dw_small_sums(4, r, group, bias);
        break;
    case 5:
        dw_small_sums(5, r, group, bias);
        break;
    case 6:
        dw_small_sums(6, r, group, bias);
        break;
    case 7:
        dw_small_sums(7, r, group, bias);
        break;
    default:
        dw_small_sums(8, r, group, bias);
    }
}

/* Channel c of `channels` goes to element c * `pitch`. */
DENSE_INLINE void dw_small_store(DML_TENSOR_DATA_TYPE type, const struct dw_small *r, void *to, int64_t pitch,
                                 int64_t channels)
{
    const int64_t count = r->p.outs;
    for (int64_t i = 0; i < count; i += VEC) {
        const int64_t at = BASE_MAX(BASE_MIN(i, count - VEC), 0);
        vec v[VEC];
#pragma GCC unroll 16
        for (int j = 0; j < VEC; j++)
            v[j] = vec_load(r->results + (at + j) * VEC);
        vec_transpose(v);
#pragma GCC unroll 16
        for (int c = 0; c < VEC; c++)
            if (c < channels)
                vec_store_some(type, to, c * pitch + at, v[c], count);
    }
}

static void dw_small_finish(const struct dw_small *r, int64_t n, int64_t first)
{
    const struct conv_shape *s = &r->p.s;
    const struct kern_op *op = r->call->op;
    const DML_TENSOR_DATA_TYPE type = op->tensors[op->input_count].type;
    const int64_t channels = BASE_MIN((int64_t)s->out_channels - first, VEC);
    float *planes = r->scratch + r->p.planes;
    if (r->p.direct) {
        void *y = (char *)r->call->data[op->input_count] + (n * s->y[0] + first * s->y[1]) * kern_type_bytes(type);
        VEC_BY_TYPE(type, dw_small_store, r, y, s->y[1], channels);
        return;
    }
    const int64_t pitch = BASE_MAX(r->p.outs, VEC);
    const struct window_to to = { r->call, r->flat, r->scratch + r->p.epilogue, op->tensors[0].rank - 2 };
    const struct window results = { .out = { s->out[1], s->out[2] } };
    dw_small_store(DML_TENSOR_DATA_TYPE_FLOAT32, r, planes, pitch, channels);
    for (int64_t i = 0; i < channels * s->out[0]; i++) {
        const int64_t c = i / s->out[0], depth = i % s->out[0];
        const uint32_t at[KERN_RANK_MAX] = { (uint32_t)n, (uint32_t)(first + c), (uint32_t)depth };
        window_finish(&to, &results, planes + c * pitch + depth * s->out[1] * s->out[2], at, s->out[1]);
    }
}

static void dw_small_block(struct dw_small *r, int64_t n, int64_t block)
{
    const struct kern_op *op = r->call->op;
    const vec bias = vec_load(r->scratch + r->p.bias + block * VEC);
    if (op->packed_input == 2) {
        r->weights = (const float *)r->call->data[1] + block * r->p.taps * VEC;
    } else {
        conv_dw_small_pack_block(op, &r->p, r->call->data[1], block, r->scratch + r->p.weights);
        r->weights = r->scratch + r->p.weights;
    }
    dw_small_image(r, n, block * VEC);
    for (int64_t i = 0; i < r->p.groups; i++)
        dw_small_group(r, &r->list[i], bias);
    dw_small_finish(r, n, block * VEC);
}

static void dw_small_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    struct dw_small r = { .call = call, .scratch = call->worker_scratch };
    struct kern_op flat;
    conv_dw_small_init(call->op, VEC, &r.p);
    r.flat = call->op->u.conv.spatial > 1 && dense_merge_rows(call->op, &flat) ? &flat : NULL;
    r.plane_taps = r.p.s.kernel[1] * r.p.s.kernel[2];
    r.image = memset(r.scratch + r.p.image, 0, (size_t)(r.p.pixels * VEC) * sizeof(float));
    r.results = r.scratch + r.p.results;
    r.places = (const int32_t *)(r.scratch + r.p.places);
    r.reads = (const int32_t *)(r.scratch + r.p.reads);
    r.steps = (const int32_t *)(r.scratch + r.p.steps);
    r.list = (const struct conv_dw_small_group *)(r.scratch + r.p.list);
    conv_dw_small_tables(&r.p, r.scratch);
    conv_bias(call, &r.p.s, r.p.blocks * VEC, r.scratch + r.p.bias);
    for (uint64_t unit = begin; unit < end; unit++)
        dw_small_block(&r, (int64_t)unit / r.p.blocks, (int64_t)unit % r.p.blocks);
}

KERN_ISA_RUN(conv_dw_small_f32, dw_small_run)
