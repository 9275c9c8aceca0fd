/* SPDX-License-Identifier: Apache-2.0 */
/* The depthwise convolutions of struct conv_dw_last (conv_plans.h) and of planes. */
#include "kernels/core/isa.h"
#include "kernels/conv/conv_plans.h"
#include "kernels/gemm/gemm.h"
#include "kernels/gemm/blocked_gemm.h"
#include "kernels/row/curve.h"
#include "kernels/row/epilogue_vec.h"
#include "kernels/row/row.h"
#include "kernels/row/window.h"
#include "kernels/vec/vec_group.h"

#define CONV_DW_INTEGERS KERN_ISA_PASTE(blocked_gemm_integers_, ISA)

struct conv_dw {
    struct conv_shape s;
    struct window w;
    struct window_band band;
    const struct kern_call *call;
    const struct kern_op *flat;
    struct conv_dw_slice *slices; /* that the results of a plane have */
    int64_t *held;                /* plane of X in each slot, or -1 */
    const float **taps;           /* of a slice, in slot 0; those of a phase are consecutive */
    int64_t *weight_at;           /* of the taps of each slice, from a filter's first weight */
    uint32_t *ends;               /* of each phase's taps */
    float *weights, *up;          /* weights: of all slices */
    uint32_t tap_count, slice_count;
    void *epilogue;
    struct blocked_gemm_end end; /* of integers */
};

/* A step of the init function: divisions are too slow for each filter. */
static void conv_dw_weights(struct conv_dw *d, int64_t tap, uint32_t to)
{
    for (int64_t k = 0; k < d->s.kernel[0]; k++)
        d->weight_at[k * d->tap_count + to] = conv_weight_at(&d->s, k * d->tap_count + tap);
}

/* Taps of the results that have these remainders by the strides. */
static uint32_t conv_dw_phase(struct conv_dw *d, int64_t row, int64_t column, uint32_t count)
{
    const struct conv_shape *s = &d->s;
    for (int64_t t = 0; t < d->tap_count; t++) {
        const int64_t down = row + s->pad[1] - t / s->kernel[2] * s->dilation[1];
        const int64_t right = column + s->pad[2] - t % s->kernel[2] * s->dilation[2];
        if (down % s->stride[1] || right % s->stride[2])
            continue;
        d->taps[count] =
            window_tap(&d->w, &d->band, down / s->stride[1] + d->w.pad[0], right / s->stride[2] + d->w.pad[1]);
        conv_dw_weights(d, t, count++);
    }
    return count;
}

static void conv_dw_init(struct conv_dw *d, const struct kern_call *call)
{
    d->call = call;
    conv_shape_init(call->op, &d->s);
    const struct conv_shape *s = &d->s;
    const int64_t phases = s->transposed ? s->stride[1] * s->stride[2] : 1;
    conv_dw_window(call->op, s, &d->w);
    window_band_init(&d->w, &d->band, call->worker_scratch);
    d->tap_count = (uint32_t)(s->kernel[1] * s->kernel[2]);
    d->slices = (struct conv_dw_slice *)((float *)call->worker_scratch + window_floats(&d->w));
    d->held = (int64_t *)(d->slices + s->kernel[0]);
    d->taps = (const float **)(d->held + s->kernel[0]);
    d->weight_at = (int64_t *)(d->taps + d->tap_count);
    d->weights = (float *)(d->weight_at + s->kernel[0] * d->tap_count);
    d->ends = (uint32_t *)(d->weights + s->kernel[0] * d->tap_count);
    d->up = (float *)base_align_up((uintptr_t)(d->ends + phases), 64);
    d->epilogue = (void *)base_align_up((uintptr_t)(d->up + conv_dw_up_floats(s, &d->w)), 64);
    for (uint32_t t = 0; t < d->tap_count && !s->transposed; t++) {
        d->taps[t] = window_tap(&d->w, &d->band, t / d->w.kernel[1], t % d->w.kernel[1]);
        conv_dw_weights(d, t, t);
    }
    for (int64_t p = 0; p < phases && s->transposed; p++)
        d->ends[p] = conv_dw_phase(d, p / s->stride[2], p % s->stride[2], p ? d->ends[p - 1] : 0);
}

/* Results [i, i + vecs * VEC): independent sums hide the latency of additions. */
DENSE_INLINE void conv_dw_block(const struct conv_dw *d, uint32_t first, uint32_t end, int64_t i, float bias, int vecs)
{
    vec sum[8];
    _Pragma("GCC unroll 8") for (int v = 0; v < vecs; v++) sum[v] = vec_set(bias);
    for (uint32_t k = 0; k < d->slice_count; k++) {
        const float *weights = d->slices[k].weights, **taps = d->taps;
        const int64_t at = d->slices[k].slot + i;
        for (uint32_t t = first; t < end; t++) {
            const vec w = vec_set(weights[t]);
            const float *x = taps[t] + at;
            _Pragma("GCC unroll 8") for (int v = 0; v < vecs; v++) sum[v] = vec_fma(w, vec_load(x + v * VEC), sum[v]);
        }
    }
    _Pragma("GCC unroll 8") for (int v = 0; v < vecs; v++) vec_store(d->band.run + i + v * VEC, sum[v]);
}

/* Taps [first, end); results are rounded up to whole steps of the window. */
static void conv_dw_multiply(const struct conv_dw *d, uint32_t first, uint32_t end, int64_t count, float bias)
{
    int64_t i = 0;
    for (; i + 8 * VEC <= count; i += 8 * VEC)
        conv_dw_block(d, first, end, i, bias, 8);
    for (; i + 4 * VEC <= count; i += 4 * VEC)
        conv_dw_block(d, first, end, i, bias, 4);
    for (; i < count; i += 2 * VEC)
        conv_dw_block(d, first, end, i, bias, 2);
}

/* Writes a phase's `rows` rows to their positions among the results. */
static void conv_dw_spread(const struct conv_dw *d, int64_t down, int64_t right, int64_t rows)
{
    const struct conv_shape *s = &d->s;
    const int64_t step = s->stride[2], count = (s->out[2] - right + step - 1) / step;
    for (int64_t row = 0; row < rows; row++) {
        const float *from = d->band.run + row * d->w.pitch;
        float *to = d->up + (row * s->stride[1] + down) * s->out[2] + right;
        if (step == 1) {
            memcpy(to, from, (size_t)count * sizeof(float));
            continue;
        }
        for (int64_t i = 0; i < count; i++)
            to[i * step] = from[i];
    }
}

/* A band of a transposed convolution; `row` counts results of a phase. */
static void conv_dw_up(const struct conv_dw *d, uint32_t *at, uint32_t row_dim, int64_t row, float bias)
{
    const struct conv_shape *s = &d->s;
    const int64_t first = row * s->stride[1], rows = BASE_MIN(d->w.rows * s->stride[1], s->out[1] - first);
    const struct window results = { .out = { rows, s->out[2] } };
    for (int64_t p = 0; p < s->stride[1] * s->stride[2]; p++) {
        const int64_t down = p / s->stride[2], right = p % s->stride[2];
        const int64_t here = (rows - down + s->stride[1] - 1) / s->stride[1];
        if (here <= 0 || right >= s->out[2])
            continue;
        conv_dw_multiply(d, p ? d->ends[p - 1] : 0, d->ends[p], here * d->w.pitch, bias);
        conv_dw_spread(d, down, right, here);
    }
    if (row_dim > 1)
        at[row_dim] = (uint32_t)first;
    window_finish(&(struct window_to){ d->call, d->flat, d->epilogue, row_dim }, &results, d->up, at, rows);
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

/* The slices whose planes are inside; these stay in their slots for the next depths. */
static void conv_dw_load(struct conv_dw *d, int64_t x_at, int64_t depth, int64_t row, int64_t rows)
{
    const struct conv_shape *s = &d->s;
    const int64_t apart = conv_dw_apart(s), slots = d->w.slots;
    d->slice_count = 0;
    for (int64_t k = 0; k < s->kernel[0]; k++) {
        const int64_t plane = conv_tap(s, 0, depth, k), slot = plane / apart % slots;
        if (plane < 0)
            continue;
        struct window_band band = d->band;
        band.phases += slot * window_slot_floats(&d->w);
        if (d->held[slot] != plane)
            window_load(&d->w, &band, d->call->data[0], x_at + plane * s->x[2], row, rows);
        d->held[slot] = plane;
        d->slices[d->slice_count++] =
            (struct conv_dw_slice){ d->weights + k * d->tap_count, band.phases - d->band.phases };
    }
}

/* Rows of results at one depth. */
static void conv_dw_rows(const struct conv_dw *d, uint32_t *at, uint32_t row_dim, int64_t row, int64_t rows,
                         double bias)
{
    const bool integer = d->call->op->u.conv.integer;
    if (d->s.transposed) {
        conv_dw_up(d, at, row_dim, row, (float)bias);
        return;
    }
    conv_dw_multiply(d, 0, d->tap_count, rows * d->w.pitch, integer ? 0 : (float)bias);
    if (row_dim > 1)
        at[row_dim] = (uint32_t)row;
    if (integer) {
        conv_dw_finish_integers(d, window_dense(&d->w, &d->band, rows), at, row_dim, rows, (int32_t)bias);
        return;
    }
    window_finish(&(struct window_to){ d->call, d->flat, d->epilogue, row_dim }, &d->w,
                  window_dense(&d->w, &d->band, rows), at, rows);
}

static void conv_dw_channel(struct conv_dw *d, uint64_t plane)
{
    const struct conv_shape *s = &d->s;
    const struct kern_op *op = d->call->op;
    int64_t n = (int64_t)(plane / s->out_channels), o = (int64_t)(plane % s->out_channels);
    uint32_t at[KERN_RANK_MAX] = { (uint32_t)n, (uint32_t)o }, row_dim = op->tensors[0].rank - 2;
    const struct kern_conv *conv = &op->u.conv;
    const uint32_t channel[KERN_RANK_MAX] = { 0, (uint32_t)o };
    int32_t w_zero = gemm_zero(d->call, conv->has_w_zero, 2u + conv->has_bias + conv->has_x_zero, channel);
    const int64_t filter = s->transposed ? o / s->out_group * s->w[0] + o % s->out_group * s->w[1] : o * s->w[0];
    const DML_TENSOR_DATA_TYPE w_type = op->tensors[1].type;
    const uint32_t taps = (uint32_t)s->kernel[0] * d->tap_count;
    for (uint32_t t = 0; t < taps && w_type == DML_TENSOR_DATA_TYPE_FLOAT32; t++)
        d->weights[t] = ((const float *)d->call->data[1])[filter + d->weight_at[t]];
    for (uint32_t t = 0; t < taps && w_type != DML_TENSOR_DATA_TYPE_FLOAT32; t++)
        d->weights[t] = (float)dense_load(d->call->data[1], filter + d->weight_at[t], w_type) - (float)w_zero;
    double bias = conv->has_bias ? dense_load(d->call->data[2], o * s->bias, op->tensors[2].type) : 0;
    int64_t x_at = n * s->x[0] + o / s->out_group * s->x[1];
    for (int64_t row = 0; row < d->w.out[0]; row += d->w.rows) {
        const int64_t rows = BASE_MIN(d->w.rows, d->w.out[0] - row);
        memset(d->held, -1, (size_t)d->w.slots * sizeof(*d->held));
        for (int64_t depth = 0; depth < s->out[0]; depth++) {
            conv_dw_load(d, x_at, depth, row, rows);
            if (row_dim > 2)
                at[2] = (uint32_t)depth;
            conv_dw_rows(d, at, row_dim, row, rows, bias);
        }
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
        conv_dw_channel(&d, plane);
}

KERN_ISA_RUN(conv_dw_f32, conv_dw_run)
KERN_ISA_RUN(conv_dw_int, conv_dw_run)

/* ---- channels last ---- */

#if VEC == 8
#define DW_PIXELS 7 /* of a tile: their sums stay in registers */
#else
#define DW_PIXELS 14
#endif

/* A tap that some pixels of a tile have: x points to each one's element, or to zeros. */
struct dw_part {
    const char *x[DW_PIXELS];
    int64_t w;
};

struct dw_last {
    struct conv_dw_last d;
    const struct kern_call *call;
    const float *weights;
    float *bias, *line; /* line: a row's results before the epilogue */
    const char *zeros;
    struct conv_dw_last_tap *taps; /* of all pixels of a tile */
    struct dw_part *parts;
    int64_t tap_count, part_count, x_bytes;
    const float *added[CONV_EPILOGUE_MAX]; /* operands of steps, at the phase's first pixel of the row */
};

/* Pixels of a row with the same remainder modulo the stride, for transposed convolutions; otherwise all pixels. */
struct dw_phase {
    const char *x;        /* the row's input, to which taps are relative */
    int64_t first, count; /* pixels of Y */
    int64_t depth, row;   /* of Y */
    int64_t x_step;       /* elements of X between pixels' windows */
    int64_t inner[2];     /* pixels with all taps inside: [begin, end) */
};

struct dw_tile {
    const char *x; /* base of the taps for the first pixel */
    void *y;
    int64_t x_step, y_step; /* from pixel to pixel: bytes; elements */
    int64_t first;          /* pixel of the phase */
};

#define DW_ALL(value)                                                                                                  \
    _Pragma("GCC unroll 14") for (int i = 0; i < pixels; i++)                                                          \
    {                                                                                                                  \
        const vec x = acc[i];                                                                                          \
        acc[i] = (value);                                                                                              \
    }

/* from: the operand of the tile's first pixel, `step` elements apart. */
DENSE_INLINE void dw_last_operand(uint8_t code, const float *from, int64_t step, int pixels, int64_t count, vec *acc)
{
#pragma GCC unroll 14
    for (int p = 0; p < pixels; p++) {
        const vec operand = vec_load_some(DML_TENSOR_DATA_TYPE_FLOAT32, from + p * step, 0, count);
        acc[p] = code == KERN_MAP_MUL ? acc[p] * operand : acc[p] + operand;
    }
}

DENSE_INLINE void dw_last_end(const struct dw_last *r, const struct dw_tile *t, int pixels, int64_t c, int64_t count,
                              vec *acc)
{
    const struct conv_pw_epilogue *ends = &r->d.ends;
    for (uint32_t n = 0; n < ends->post.count; n++) {
        const struct kern_epilogue_step *step = &ends->post.step[n];
        if (step->tensor)
            dw_last_operand(step->code, r->added[n] + t->first * ends->step[n] + c, ends->step[n], pixels, count, acc);
        else
            KERN_EPILOGUE_STEP(step, DW_ALL);
    }
#pragma GCC unroll 14
    for (int p = 0; p < pixels; p++)
        vec_store_some(r->d.to, t->y, p * t->y_step + c, acc[p], count);
}

DENSE_INLINE void dw_last_vecs(DML_TENSOR_DATA_TYPE type, const struct dw_last *r, const struct dw_tile *t, int pixels,
                               int64_t c, int64_t count)
{
    const int64_t at = c * (type == DML_TENSOR_DATA_TYPE_FLOAT32 ? 4 : 2);
    vec acc[DW_PIXELS];
#pragma GCC unroll 14
    for (int p = 0; p < pixels; p++)
        acc[p] = vec_load(r->bias + c);
    for (int64_t k = 0; k < r->tap_count; k++) {
        const char *x = t->x + r->taps[k].x + at;
        const vec w = vec_load(r->weights + r->taps[k].w + c);
#pragma GCC unroll 14
        for (int p = 0; p < pixels; p++)
            acc[p] = vec_fma(w, vec_load_some(type, x + p * t->x_step, 0, count), acc[p]);
    }
    for (int64_t k = 0; k < r->part_count; k++) {
        const vec w = vec_load(r->weights + r->parts[k].w + c);
#pragma GCC unroll 14
        for (int p = 0; p < pixels; p++)
            acc[p] = vec_fma(w, vec_load_some(type, r->parts[k].x[p] + at, 0, count), acc[p]);
    }
    dw_last_end(r, t, pixels, c, count, acc);
}

/* x of the pixels, `step` bytes apart if they are at constant distances, of groups of `depth` channels. */
#define DW_GROUP_TAP(from)                                                                                             \
    do {                                                                                                               \
        vec x[DW_PIXELS];                                                                                              \
        _Pragma("GCC unroll 14") for (int p = 0; p < pixels; p++) x[p] =                                               \
            vec_load_some(DML_TENSOR_DATA_TYPE_FLOAT32, from, 0, count);                                               \
        _Pragma("GCC unroll 4") for (int j = 0; j < depth; j++)                                                        \
        {                                                                                                              \
            const vec factor = vec_load(w + j * d->pitch);                                                             \
            _Pragma("GCC unroll 14") for (int p = 0; p < pixels; p++) acc[p] =                                         \
                vec_fma(factor, vec_group(x[p], depth, j), acc[p]);                                                    \
        }                                                                                                              \
    } while (0)

/* Groups of 2 or 4 channels of FLOAT32. */
DENSE_INLINE void dw_last_group_vecs(int depth, const struct dw_last *r, const struct dw_tile *t, int pixels, int64_t c,
                                     int64_t count)
{
    const struct conv_dw_last *d = &r->d;
    const int64_t at = c * 4;
    vec acc[DW_PIXELS];
#pragma GCC unroll 14
    for (int p = 0; p < pixels; p++)
        acc[p] = vec_load(r->bias + c);
    for (int64_t k = 0; k < r->tap_count; k++) {
        const char *from = t->x + r->taps[k].x + at;
        const float *w = r->weights + r->taps[k].w + c;
        DW_GROUP_TAP(from + p * t->x_step);
    }
    for (int64_t k = 0; k < r->part_count; k++) {
        const float *w = r->weights + r->parts[k].w + c;
        DW_GROUP_TAP(r->parts[k].x[p] + at);
    }
    dw_last_end(r, t, pixels, c, count, acc);
}

DENSE_INLINE void dw_last_group_tile(int depth, const struct dw_last *r, const struct dw_tile *t, int pixels)
{
    const int64_t channels = r->d.s.out_channels;
    int64_t c = 0;
    for (; c + VEC <= channels; c += VEC)
        dw_last_group_vecs(depth, r, t, pixels, c, VEC);
    if (c < channels)
        dw_last_group_vecs(depth, r, t, pixels, c, channels - c);
}

DENSE_INLINE void dw_last_tile(DML_TENSOR_DATA_TYPE type, const struct dw_last *r, const struct dw_tile *t, int pixels)
{
    const int64_t channels = r->d.s.groups;
    int64_t c = 0;
    if (type == DML_TENSOR_DATA_TYPE_FLOAT32 && r->d.s.in_group > 1) {
        if (r->d.s.in_group == 4)
            dw_last_group_tile(4, r, t, pixels);
        else
            dw_last_group_tile(2, r, t, pixels);
        return;
    }
    for (; c + VEC <= channels; c += VEC)
        dw_last_vecs(type, r, t, pixels, c, VEC);
    if (c < channels)
        dw_last_vecs(type, r, t, pixels, c, channels - c);
}

DENSE_INLINE void dw_last_pixels(DML_TENSOR_DATA_TYPE type, const struct dw_last *r, const struct dw_tile *t,
                                 int64_t pixels)
{
    switch (pixels) {
#if DW_PIXELS > 7
    case DW_PIXELS:
        dw_last_tile(type, r, t, DW_PIXELS);
        break;
#endif
    case 7:
        dw_last_tile(type, r, t, 7);
        break;
    case 3:
        dw_last_tile(type, r, t, 3);
        break;
    default:
        dw_last_tile(type, r, t, 1);
    }
}

/* Taps of a window's line for the pixels [first, first + count) of a phase. line: element of X's line; tap: the first.
 */
static void dw_last_line_taps(struct dw_last *r, const struct dw_phase *phase, int64_t first, int64_t count,
                              int64_t line, int64_t tap)
{
    const struct conv_shape *s = &r->d.s;
    for (int64_t k2 = 0; k2 < s->kernel[2]; k2++) {
        int64_t at = 0, begin, end; /* the first pixel's element */
        if (!conv_dw_last_column(s, phase->first, k2, &at))
            continue;
        at += first * phase->x_step;
        dense_range(count, phase->x_step, at, s->in[2], &begin, &end);
        if (begin >= end)
            continue;
        const int64_t from = (line + at * s->x[4]) * r->x_bytes, w = (tap + k2) * s->in_group * r->d.pitch;
        if (begin == 0 && end == count) { /* counted from the tile's first pixel */
            const int64_t tile = first * phase->x_step * s->x[4] * r->x_bytes;
            r->taps[r->tap_count++] = (struct conv_dw_last_tap){ from - tile, w };
            continue;
        }
        struct dw_part *part = &r->parts[r->part_count++];
        part->w = w;
        for (int64_t p = 0; p < count; p++)
            part->x[p] = p < begin || p >= end ? r->zeros : phase->x + from + p * phase->x_step * s->x[4] * r->x_bytes;
    }
}

/* Taps that are common to all of the pixels, and those of some. */
static void dw_last_taps(struct dw_last *r, const struct dw_phase *phase, int64_t first, int64_t count)
{
    const struct conv_shape *s = &r->d.s;
    r->tap_count = r->part_count = 0;
    for (int64_t k0 = 0; k0 < s->kernel[0]; k0++) {
        const int64_t plane = conv_tap(s, 0, phase->depth, k0);
        for (int64_t k1 = 0; plane >= 0 && k1 < s->kernel[1]; k1++) {
            const int64_t down = conv_tap(s, 1, phase->row, k1);
            if (down >= 0)
                dw_last_line_taps(r, phase, first, count, plane * s->x[2] + down * s->x[3],
                                  (k0 * s->kernel[1] + k1) * s->kernel[2]);
        }
    }
}

/* Results of a tile, in the first-level cache. */
static void dw_last_curve(const struct conv_dw_last *d, const struct dw_tile *t, int64_t pixels)
{
    const uint32_t channels = d->s.out_channels;
    if (t->y_step == channels)
        curve_tile(&d->ends.curve, (uint32_t)pixels * channels, t->y);
    else
        for (int64_t p = 0; p < pixels; p++)
            curve_tile(&d->ends.curve, channels, (float *)t->y + p * t->y_step);
}

static void dw_last_phase(struct dw_last *r, const struct dw_phase *phase, void *y, int64_t y_step)
{
    const struct conv_shape *s = &r->d.s;
    const int64_t step = phase->x_step * s->x[4] * r->x_bytes, to = kern_type_bytes(r->d.to);
    const DML_TENSOR_DATA_TYPE type = r->call->op->tensors[0].type;
    bool inner = false; /* the taps are those of a tile in which all pixels have them */
    for (int64_t i = 0, count; i < phase->count; i += count) {
        const int64_t rest = phase->count - i;
        count = rest >= DW_PIXELS ? DW_PIXELS : rest >= 7 ? 7 : rest >= 3 ? 3 : 1;
        const bool has_all = i >= phase->inner[0] && i + count <= phase->inner[1];
        if (!has_all || !inner)
            dw_last_taps(r, phase, i, count);
        inner = has_all;
        const struct dw_tile t = { phase->x + i * step, (char *)y + i * y_step * to, step, y_step, i };
        VEC_BY_TYPE(type, dw_last_pixels, r, &t, count);
        if (r->d.ends.curved)
            dw_last_curve(&r->d, &t, count);
    }
}

/* The coordinates of a pixel's first channel. */
static void dw_last_at(int64_t n, const struct dw_phase *p, uint32_t rank, uint32_t *at)
{
    memset(at, 0, KERN_RANK_MAX * sizeof(*at));
    if (rank > 4)
        at[rank - 3] = (uint32_t)p->depth;
    if (rank > 3)
        at[rank - 2] = (uint32_t)p->row;
    at[rank - 1] = (uint32_t)p->first;
    at[0] = (uint32_t)n;
}

static void dw_last_added(struct dw_last *r, int64_t n, const struct dw_phase *p)
{
    const struct kern_epilogue *post = &r->d.ends.post;
    for (uint32_t i = 0; i < post->count; i++) {
        const struct kern_view *view = &r->call->op->tensors[post->step[i].tensor];
        uint32_t at[KERN_RANK_MAX];
        if (!post->step[i].tensor)
            continue;
        dw_last_at(n, p, view->rank, at);
        r->added[i] = (const float *)r->call->data[post->step[i].tensor] + dense_offset(view, at, view->rank);
    }
}

/* Line `line` of an image. */
static void dw_last_row(struct dw_last *r, int64_t n, int64_t line)
{
    const struct conv_shape *s = &r->d.s;
    const struct kern_op *op = r->call->op;
    const int64_t phases = s->transposed ? s->stride[2] : 1;
    const int64_t bytes = kern_type_bytes(r->d.to);
    struct dw_phase p = { .x = (const char *)r->call->data[0] + n * s->x[0] * r->x_bytes,
                          .depth = line / s->out[1],
                          .row = line % s->out[1] };
    const int64_t y_at = n * s->y[0] + p.depth * s->y[2] + p.row * s->y[3];
    char *y = r->d.through_line ? (char *)r->line : (char *)r->call->data[op->input_count] + y_at * bytes;
    const int64_t y_step = r->d.through_line ? (int64_t)s->out_channels : s->y[4];
    p.x_step = s->transposed ? 1 : s->stride[2];
    for (p.first = 0; p.first < BASE_MIN(phases, s->out[2]); p.first++) {
        p.count = (s->out[2] - p.first + phases - 1) / phases;
        conv_dw_last_inner(s, p.first, p.count, p.inner);
        dw_last_added(r, n, &p);
        dw_last_phase(r, &p, y + p.first * y_step * bytes, phases * y_step);
    }
    if (r->d.post) {
        uint32_t at[KERN_RANK_MAX];
        p.first = 0;
        dw_last_at(n, &p, op->tensors[op->input_count].rank, at);
        dense_finish_pixels(r->call, (float *)r->call->worker_scratch + r->d.epilogue, at, r->line);
    } else if (r->d.through_line)
        dense_store_row(r->call->data[op->input_count], y_at, 1, op->tensors[op->input_count].type,
                        (uint32_t)(s->out[2] * s->out_channels), r->line);
}

static void dw_last_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    struct dw_last r = { .call = call, .x_bytes = kern_type_bytes(call->op->tensors[0].type) };
    conv_dw_last_init(call->op, &r.d);
    const struct conv_shape *s = &r.d.s;
    float *scratch = call->worker_scratch;
    r.bias = scratch + r.d.bias;
    r.line = scratch + r.d.line;
    r.zeros = (const char *)memset(scratch + r.d.zeros, 0, (size_t)r.d.pitch * sizeof(float));
    r.taps = (struct conv_dw_last_tap *)(scratch + r.d.list);
    r.parts = (struct dw_part *)(scratch + r.d.parts);
    r.weights = call->op->packed_input == 2 ? call->data[1] : scratch + r.d.weights;
    if (call->op->packed_input != 2)
        conv_dw_last_pack(&r.d, call->data[1], scratch + r.d.weights);
    conv_bias(call, s, r.d.pitch, r.bias);
    const int64_t lines = s->out[0] * s->out[1];
    for (uint64_t unit = begin; unit < end; unit++)
        dw_last_row(&r, (int64_t)unit / lines, (int64_t)unit % lines);
}

KERN_ISA_RUN(conv_dw_last_f32, dw_last_run)
