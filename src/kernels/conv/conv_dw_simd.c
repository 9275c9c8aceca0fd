/* The depthwise convolution of conv_dw.h. */
#include "kernels/core/isa.h"
#include "kernels/conv/conv_dw.h"
#include "kernels/gemm/gemm.h"
#include "kernels/gemm/blocked_gemm.h"
#include "kernels/core/window_body.h"

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
    end.floats = values == d->band.dense ? d->band.run : d->band.dense;
    uint32_t where[KERN_RANK_MAX];
    for (int64_t i = 0; i < count; i++)
        sums[i] = (int32_t)values[i];
    memcpy(where, at, sizeof(where));
    if (d->flat) {
        to.op = d->flat;
        where[row_dim] = at[row_dim] * (uint32_t)width;
        end.call = &to;
        blocked_gemm_finish_integers(&CONV_DW_INTEGERS, &end, where, (uint32_t)count, sums, &shift);
        return;
    }
    for (int64_t row = 0; row < rows; row++) {
        if (row_dim > 1)
            where[row_dim] = at[row_dim] + (uint32_t)row;
        shift.columns = sums + row * width;
        blocked_gemm_finish_integers(&CONV_DW_INTEGERS, &end, where, (uint32_t)width, sums + row * width, &shift);
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
        window_finish(d->call, d->flat, &d->w, window_dense(&d->w, &d->band, rows), d->epilogue, at, row_dim, rows);
    }
}

static void conv_dw_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    struct conv_dw d;
    struct kern_op flat;
    conv_dw_init(&d, call);
    static const uint32_t first[KERN_RANK_MAX];
    const struct kern_conv *conv = &call->op->u.conv;
    d.w.zero = (float)gemm_zero(call, conv->has_x_zero, 2u + conv->has_bias, first);
    blocked_gemm_end_init(call, &d.end);
    d.end.scratch = d.epilogue;
    d.flat = call->op->u.conv.spatial > 1 && dense_merge_rows(call->op, &flat) ? &flat : NULL;
    for (uint64_t plane = begin; plane < end; plane++)
        conv_dw_plane(&d, plane);
}

KERN_ISA_RUN(conv_dw_f32, conv_dw_run)
KERN_ISA_RUN(conv_dw_int, conv_dw_run)
