/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of convolutions' weights as dot products of planes: struct conv_grad_planes (conv_grad.h). */
#include "kernels/conv/conv_grad.h"
#include "kernels/core/isa.h"
#include "kernels/gemm/ukernel.h"
#include "kernels/row/row.h"

#define TAPS CONV_GRAD_PLANES_TAPS

struct planes_run {
    struct conv_grad_planes p;
    const struct kern_call *call;
    struct window_band band;
    const float **taps; /* start of each of them in the band */
    float *sums, *lines;
    int64_t rows;   /* of the filter, in the band */
    const float *w; /* the filter's first line there */
    int64_t w_row;
};

/* The sums of some taps, VEC of each, go on with a band. */
DENSE_INLINE void planes_add(int taps, const struct planes_run *r, const float *const *x, float *sums)
{
    const int64_t width = r->p.w.out[1], whole = width / VEC * VEC, pitch = r->p.w.pitch;
    const uint32_t rest = (uint32_t)(width - whole);
    vec acc[TAPS];
#pragma GCC unroll 12
    for (int t = 0; t < taps; t++)
        acc[t] = vec_load(sums + t * VEC);
    for (int64_t row = 0; row < r->rows; row++) {
        const float *w = r->w + row * r->w_row;
        const int64_t at = row * pitch;
        for (int64_t i = 0; i < whole; i += VEC) {
            const vec filter = vec_load(w + i);
#pragma GCC unroll 12
            for (int t = 0; t < taps; t++)
                acc[t] = vec_fma(filter, vec_load(x[t] + at + i), acc[t]);
        }
        if (!rest)
            continue;
        const vec filter = vec_load_part(w + whole, rest, vec_set(0));
#pragma GCC unroll 12
        for (int t = 0; t < taps; t++)
            acc[t] = vec_fma(filter, vec_load_part(x[t] + at + whole, rest, vec_set(0)), acc[t]);
    }
#pragma GCC unroll 12
    for (int t = 0; t < taps; t++)
        vec_store(sums + t * VEC, acc[t]);
}

/* Lines of the filter from `row` on, as contiguous FLOAT32. */
static void planes_filter(struct planes_run *r, int64_t at, int64_t row)
{
    const struct conv_shape *s = &r->p.s;
    const DML_TENSOR_DATA_TYPE type = r->call->op->tensors[1].type;
    at += row * s->w[3];
    r->w = (const float *)r->call->data[1] + at;
    r->w_row = s->w[3];
    if (!r->p.lines_floats)
        return;
    r->w = r->lines;
    r->w_row = s->kernel[2];
    for (int64_t i = 0; i < r->rows; i++)
        dense_load_row(r->call->data[1], at + i * s->w[3], s->w[4], type, (uint32_t)s->kernel[2],
                       r->lines + i * s->kernel[2]);
}

/* A band of one channel with the filters [first, first + count). */
static void planes_band(struct planes_run *r, int64_t channel, int64_t first, int64_t count, int64_t row)
{
    const struct conv_shape *s = &r->p.s;
    const int64_t taps = r->p.taps, blocks = (taps + TAPS - 1) / TAPS, together = (taps + blocks - 1) / blocks;
    for (int64_t o = 0; o < count; o++) {
        planes_filter(r, (first + o) * s->w[0] + channel * s->w[1], row);
        for (int64_t t = 0; t < taps; t += together)
            UKERNEL_BY_COUNT(BASE_MIN(taps - t, together), TAPS, planes_add, r, r->taps + t,
                             r->sums + (o * taps + t) * VEC)
    }
}

static void planes_store(const struct planes_run *r, int64_t n, int64_t first, int64_t count)
{
    const struct conv_shape *s = &r->p.s;
    const struct kern_op *op = r->call->op;
    for (int64_t i = 0; i < count * r->p.taps; i++) {
        const int64_t o = first + i / r->p.taps, tap = i % r->p.taps;
        dense_store(r->call->data[op->input_count],
                    n * s->y[0] + o * s->y[1] + tap / s->out[2] * s->y[3] + tap % s->out[2] * s->y[4],
                    op->tensors[op->input_count].type, vec_sum(vec_load(r->sums + i * VEC)));
    }
}

static void planes_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    struct planes_run r = { .call = call, .sums = call->worker_scratch };
    conv_grad_planes_init(call->op, &r.p);
    const struct conv_shape *s = &r.p.s;
    r.lines = (float *)call->worker_scratch + r.p.lines;
    r.taps = (const float **)((float *)call->worker_scratch + r.p.places);
    window_band_init(&r.p.w, &r.band, (float *)call->worker_scratch + r.p.band);
    for (int64_t t = 0; t < r.p.taps; t++)
        r.taps[t] = window_tap(&r.p.w, &r.band, t / s->out[2], t % s->out[2]);
    for (int64_t unit = (int64_t)begin; unit < (int64_t)end; unit++) {
        const int64_t part = unit % r.p.parts, line = unit / r.p.parts, group = line % s->groups, n = line / s->groups;
        const int64_t o = part * r.p.together, count = BASE_MIN(s->out_group - o, r.p.together);
        memset(r.sums, 0, (size_t)(count * r.p.taps) * VEC * sizeof(float));
        for (int64_t c = 0; c < s->in_group; c++) {
            const int64_t x = n * s->x[0] + (group * s->in_group + c) * s->x[1];
            for (int64_t row = 0; row < r.p.w.out[0]; row += r.p.w.rows) {
                r.rows = BASE_MIN(r.p.w.rows, r.p.w.out[0] - row);
                window_load(&r.p.w, &r.band, call->data[0], x, row, r.rows);
                planes_band(&r, c, group * s->out_group + o, count, row);
            }
        }
        planes_store(&r, n, group * s->out_group + o, count);
    }
}

KERN_ISA_RUN(conv_grad_planes_f32, planes_run)
