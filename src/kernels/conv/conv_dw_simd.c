/* SPDX-License-Identifier: Apache-2.0 */
/* The depthwise convolutions of struct conv_dw_last (conv_plans.h) and of planes. */
#include "kernels/core/isa.h"
#include "kernels/conv/conv_plans.h"
#include "kernels/gemm/gemm.h"
#include "kernels/gemm/blocked_gemm.h"
#include "kernels/core/epilogue_vec.h"
#include "kernels/core/window.h"

#define CONV_DW_INTEGERS KERN_ISA_PASTE(blocked_gemm_integers_, ISA)

struct conv_dw {
    struct conv_shape s;
    struct window w;
    struct window_band band;
    const struct kern_call *call;
    const struct kern_op *flat;
    const float **taps;
    float *weights;
    uint32_t tap_count;
    void *epilogue;
    struct blocked_gemm_end end; /* of integers */
};

static void conv_dw_init(struct conv_dw *d, const struct kern_call *call)
{
    d->call = call;
    conv_shape_init(call->op, &d->s);
    conv_dw_window(call->op, &d->s, &d->w);
    window_band_init(&d->w, &d->band, call->worker_scratch);
    d->tap_count = (uint32_t)(d->w.kernel[0] * d->w.kernel[1]);
    d->taps = (const float **)((float *)call->worker_scratch + window_floats(&d->w));
    d->weights = (float *)(d->taps + d->tap_count);
    d->epilogue = (void *)base_align_up((uintptr_t)(d->weights + d->tap_count), 64);
    for (uint32_t t = 0; t < d->tap_count; t++)
        d->taps[t] = window_tap(&d->w, &d->band, t / d->w.kernel[1], t % d->w.kernel[1]);
}

static void conv_dw_multiply(const struct conv_dw *d, int64_t count, float bias)
{
    for (int64_t i = 0; i < count; i += 2 * VEC) {
        vec low = vec_set(bias), high = low;
        for (uint32_t t = 0; t < d->tap_count; t++) {
            vec w = vec_set(d->weights[t]);
            low = vec_fma(w, vec_load(d->taps[t] + i), low);
            high = vec_fma(w, vec_load(d->taps[t] + i + VEC), high);
        }
        vec_store(d->band.run + i, low);
        vec_store(d->band.run + i + VEC, high);
    }
}

/* Sums of integers, exact in FLOAT32, become INT32 in place. */
static void conv_dw_finish_integers(const struct conv_dw *d, float *values, const uint32_t *at, uint32_t row_dim,
                                    int64_t rows, int32_t bias)
{
    int64_t width = d->w.out[1], count = rows * width;
    int32_t *sums = (int32_t *)values;
    struct blocked_gemm_end end = d->end;
    struct blocked_gemm_shift shift = { .columns = sums, .plus = bias };
    struct kern_call to = *d->call;
    uint32_t where[KERN_RANK_MAX];
    end.floats = values == d->band.dense ? d->band.run : d->band.dense;
    end.call = &to;
    for (int64_t i = 0; i < count; i++)
        sums[i] = (int32_t)values[i];
    memcpy(where, at, sizeof(where));
    if (d->flat) { /* one row */
        to.op = d->flat;
        where[row_dim] = at[row_dim] * (uint32_t)width;
        width = count;
    }
    for (int64_t i = 0; i < count; i += width) {
        shift.columns = sums + i;
        blocked_gemm_finish_integers(&CONV_DW_INTEGERS, &end, where, (uint32_t)width, sums + i, &shift);
        where[row_dim] += row_dim > 1;
    }
}

static void conv_dw_plane(struct conv_dw *d, uint64_t plane)
{
    const struct conv_shape *s = &d->s;
    const struct kern_op *op = d->call->op;
    int64_t n = (int64_t)(plane / s->out_channels), o = (int64_t)(plane % s->out_channels);
    uint32_t at[KERN_RANK_MAX] = { (uint32_t)n, (uint32_t)o }, row_dim = op->tensors[0].rank - 2;
    const struct kern_conv *conv = &op->u.conv;
    const uint32_t channel[KERN_RANK_MAX] = { 0, (uint32_t)o };
    int32_t w_zero = gemm_zero(d->call, conv->has_w_zero, 2u + conv->has_bias + conv->has_x_zero, channel);
    for (uint32_t t = 0; t < d->tap_count; t++) {
        int64_t tap = s->flip ? d->tap_count - 1 - t : t;
        int64_t index = o * s->w[0] + tap / s->kernel[2] * s->w[3] + tap % s->kernel[2] * s->w[4];
        d->weights[t] = (float)dense_load(d->call->data[1], index, op->tensors[1].type) - (float)w_zero;
    }
    double bias = conv->has_bias ? dense_load(d->call->data[2], o * s->bias, op->tensors[2].type) : 0;
    int64_t x_at = n * s->x[0] + o / s->out_group * s->x[1];
    for (int64_t row = 0; row < d->w.out[0]; row += d->w.rows) {
        int64_t rows = BASE_MIN(d->w.rows, d->w.out[0] - row);
        window_load(&d->w, &d->band, d->call->data[0], x_at, row, rows);
        conv_dw_multiply(d, rows * d->w.pitch, conv->integer ? 0 : (float)bias);
        if (row_dim > 1)
            at[row_dim] = (uint32_t)row;
        if (conv->integer) {
            conv_dw_finish_integers(d, window_dense(&d->w, &d->band, rows), at, row_dim, rows, (int32_t)bias);
            continue;
        }
        window_finish(&(struct window_to){ d->call, d->flat, d->epilogue, row_dim }, &d->w,
                      window_dense(&d->w, &d->band, rows), at, rows);
    }
}

static void conv_dw_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    struct conv_dw d;
    struct kern_op flat;
    conv_dw_init(&d, call);
    d.w.zero = (float)conv_x_zero(call);
    blocked_gemm_end_init(call, d.epilogue, NULL, &d.end);
    d.flat = call->op->u.conv.spatial > 1 && dense_merge_rows(call->op, &flat) ? &flat : NULL;
    for (uint64_t plane = begin; plane < end; plane++)
        conv_dw_plane(&d, plane);
}

KERN_ISA_RUN(conv_dw_f32, conv_dw_run)
KERN_ISA_RUN(conv_dw_int, conv_dw_run)

/* ---- channels last ---- */

#define DW_PIXELS 6 /* of a tile: their sums stay in registers */

struct dw_last {
    struct conv_dw_last d;
    const struct kern_call *call;
    const float *weights;
    float *bias;
};

/* Some pixels of a row; every tap between these limits is inside the input for all of them. */
struct dw_tile {
    DML_TENSOR_DATA_TYPE type; /* of X and Y */
    int64_t x;                 /* tap (0, 0) of the first pixel, whether that is there or not */
    int64_t y;
    int64_t first[2], end[2]; /* taps in each dimension */
    int64_t pixel;            /* elements of X between pixels' windows */
};

DENSE_INLINE void dw_last_vecs(const struct dw_last *r, const struct dw_tile *t, int pixels, int64_t c, int64_t count)
{
    const struct conv_shape *s = &r->d.s;
    const void *data = r->call->data[0];
    void *results = r->call->data[r->call->op->input_count];
    const enum kern_bounds_kind bounds = r->d.bounds.kind;
    const vec low = vec_set(r->d.bounds.low), high = vec_set(r->d.bounds.high);
    vec acc[DW_PIXELS];
#pragma GCC unroll 6
    for (int p = 0; p < pixels; p++)
        acc[p] = vec_load(r->bias + c);
    for (int64_t k1 = t->first[0]; k1 < t->end[0]; k1++) {
        for (int64_t k2 = t->first[1]; k2 < t->end[1]; k2++) {
            const int64_t x = t->x + k1 * s->dilation[1] * s->x[3] + k2 * s->dilation[2] * s->x[4] + c;
            vec w = vec_load(r->weights + (k1 * s->kernel[2] + k2) * r->d.pitch + c);
#pragma GCC unroll 6
            for (int p = 0; p < pixels; p++) {
                acc[p] = vec_fma(w, vec_load_some(t->type, data, x + p * t->pixel, count), acc[p]);
            }
        }
    }
#pragma GCC unroll 6
    for (int p = 0; p < pixels; p++) {
        vec value = kern_bounds_vec(bounds, low, high, acc[p]);
        vec_store_some(t->type, results, t->y + p * s->y[4] + c, value, count);
    }
}

DENSE_INLINE void dw_last_tile(const struct dw_last *r, const struct dw_tile *t, int pixels)
{
    const int64_t channels = r->d.s.groups;
    int64_t c = 0;
    for (; c + VEC <= channels; c += VEC)
        dw_last_vecs(r, t, pixels, c, VEC);
    if (c < channels)
        dw_last_vecs(r, t, pixels, c, channels - c);
}

/* How many pixels from `i` on have windows with all taps inside. */
static int64_t dw_last_inner(const struct conv_shape *s, int64_t i)
{
    const int64_t reach = (s->kernel[2] - 1) * s->dilation[2], at = i * s->stride[2] - s->pad[2];
    if (at < 0 || at + reach >= s->in[2])
        return 0;
    return BASE_MIN((s->in[2] - 1 - reach - at) / s->stride[2] + 1, s->out[2] - i);
}

DENSE_INLINE void dw_last_row(const struct dw_last *r, DML_TENSOR_DATA_TYPE type, int64_t n, int64_t row)
{
    const struct conv_shape *s = &r->d.s;
    const int64_t down = row * s->stride[1] - s->pad[1];
    const int64_t x = n * s->x[0] + down * s->x[3], y = n * s->y[0] + row * s->y[3];
    struct dw_tile t = { .type = type, .pixel = s->stride[2] * s->x[4] };
    dense_range(s->kernel[1], s->dilation[1], down, s->in[1], &t.first[0], &t.end[0]);
    for (int64_t i = 0; i < s->out[2];) {
        const int64_t at = i * s->stride[2] - s->pad[2], inner = dw_last_inner(s, i);
        dense_range(s->kernel[2], s->dilation[2], at, s->in[2], &t.first[1], &t.end[1]);
        t.x = x + at * s->x[4];
        t.y = y + i * s->y[4];
        if (inner >= DW_PIXELS)
            dw_last_tile(r, &t, DW_PIXELS);
        else if (inner >= 3)
            dw_last_tile(r, &t, 3);
        else
            dw_last_tile(r, &t, 1);
        i += inner >= DW_PIXELS ? DW_PIXELS : inner >= 3 ? 3 : 1;
    }
    if (r->d.post)
        dense_finish_line(r->call, (float *)r->call->worker_scratch + r->d.epilogue,
                          (float *)r->call->data[r->call->op->input_count] + y, s->out[2] * s->out_channels);
}

DENSE_INLINE void dw_last_rows(DML_TENSOR_DATA_TYPE type, const struct dw_last *r, uint64_t begin, uint64_t end)
{
    for (uint64_t unit = begin; unit < end; unit++)
        dw_last_row(r, type, (int64_t)unit / r->d.s.out[1], (int64_t)unit % r->d.s.out[1]);
}

static void dw_last_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    struct dw_last r = { .call = call };
    conv_dw_last_init(call->op, &r.d);
    const struct conv_shape *s = &r.d.s;
    float *scratch = call->worker_scratch;
    r.bias = scratch + r.d.bias;
    r.weights = call->op->packed_input == 2 ? call->data[1] : scratch + r.d.weights;
    if (call->op->packed_input != 2)
        conv_dw_last_pack(call->op, &r.d, call->data[1], scratch + r.d.weights);
    for (int64_t c = 0; c < r.d.pitch; c++)
        r.bias[c] = call->op->u.conv.has_bias && c < s->groups
                        ? (float)dense_load(call->data[2], c * s->bias, call->op->tensors[2].type)
                        : 0;
    VEC_BY_TYPE(call->op->tensors[0].type, dw_last_rows, &r, begin, end);
}

KERN_ISA_RUN(conv_dw_last, dw_last_run)
