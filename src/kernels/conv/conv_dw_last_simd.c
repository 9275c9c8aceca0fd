/* The depthwise convolution of conv_dw_last.h. */
#include "kernels/core/isa.h"
#include "kernels/conv/conv_dw_last.h"
#include "kernels/vec/vec.h"

#define DW_PIXELS 6 /* of a tile: their sums stay in registers */

struct dw_last {
    struct conv_dw_last d;
    const struct kern_call *call;
    const float *weights;
    float *bias;
};

/* Some pixels of a row; every tap between these limits is inside the input for all of them. */
struct dw_tile {
    const float *x; /* of tap (0, 0) of the first pixel, whether that is there or not */
    float *y;
    int64_t first[2], end[2]; /* taps in each dimension */
    int64_t pixel;            /* elements of X between pixels' windows */
};

DENSE_INLINE void dw_last_vecs(const struct dw_last *r, const struct dw_tile *t, int pixels, int64_t c, int64_t count)
{
    const struct conv_shape *s = &r->d.s;
    const DML_TENSOR_DATA_TYPE f32 = DML_TENSOR_DATA_TYPE_FLOAT32;
    vec acc[DW_PIXELS];
#pragma GCC unroll 6
    for (int p = 0; p < pixels; p++)
        acc[p] = vec_load(r->bias + c);
    for (int64_t k1 = t->first[0]; k1 < t->end[0]; k1++) {
        for (int64_t k2 = t->first[1]; k2 < t->end[1]; k2++) {
            const float *x = t->x + k1 * s->dilation[1] * s->x[3] + k2 * s->dilation[2] * s->x[4] + c;
            vec w = vec_load(r->weights + (k1 * s->kernel[2] + k2) * r->d.pitch + c);
#pragma GCC unroll 6
            for (int p = 0; p < pixels; p++) {
                vec value = count >= VEC ? vec_load(x + p * t->pixel) : vec_load_some(f32, x + p * t->pixel, 0, count);
                acc[p] = vec_fma(w, value, acc[p]);
            }
        }
    }
#pragma GCC unroll 6
    for (int p = 0; p < pixels; p++) {
        vec value = acc[p];
        if (r->d.relu)
            value = vec_max(vec_set(0), value); /* NaN stays */
        if (r->d.clamp)
            value = vec_min(vec_max(value, vec_set(r->d.low)), vec_set(r->d.high));
        if (count >= VEC)
            vec_store(t->y + p * s->y[4] + c, value);
        else
            vec_store_some(f32, t->y + p * s->y[4], c, value, count);
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

/* Taps that bring an input inside, for the window that begins at input `at`. */
static void dw_last_limits(const struct conv_shape *s, uint32_t d, int64_t at, int64_t *first, int64_t *end)
{
    const int64_t step = s->dilation[d];
    *first = at < 0 ? BASE_MIN((-at + step - 1) / step, s->kernel[d]) : 0;
    *end = at >= s->in[d] ? 0 : BASE_MIN((s->in[d] - at + step - 1) / step, s->kernel[d]);
}

/* How many pixels from `i` on have windows with all taps inside. */
static int64_t dw_last_inner(const struct conv_shape *s, int64_t i)
{
    const int64_t reach = (s->kernel[2] - 1) * s->dilation[2], at = i * s->stride[2] - s->pad[2];
    if (at < 0 || at + reach >= s->in[2])
        return 0;
    return BASE_MIN((s->in[2] - 1 - reach - at) / s->stride[2] + 1, s->out[2] - i);
}

static void dw_last_finish(const struct dw_last *r, float *y, int64_t count)
{
    static const uint32_t start[KERN_RANK_MAX];
    const uint32_t out = r->call->op->input_count;
    void *data[KERN_TENSORS_MAX];
    struct kern_op line = *r->call->op;
    struct kern_call call = *r->call;
    kern_view_set_packed(&line.tensors[out], DML_TENSOR_DATA_TYPE_FLOAT32, 1, (uint32_t[]){ (uint32_t)count });
    data[out] = y;
    call.op = &line;
    call.data = data;
    dense_finish_f32(&call, (float *)r->call->worker_scratch + r->d.epilogue, start, (uint32_t)count, y);
}

static void dw_last_row(const struct dw_last *r, int64_t n, int64_t row)
{
    const struct conv_shape *s = &r->d.s;
    const int64_t down = row * s->stride[1] - s->pad[1];
    const float *x = (const float *)r->call->data[0] + n * s->x[0] + down * s->x[3];
    float *y = (float *)r->call->data[r->call->op->input_count] + n * s->y[0] + row * s->y[3];
    struct dw_tile t = { .pixel = s->stride[2] * s->x[4] };
    dw_last_limits(s, 1, down, &t.first[0], &t.end[0]);
    for (int64_t i = 0; i < s->out[2];) {
        const int64_t at = i * s->stride[2] - s->pad[2], inner = dw_last_inner(s, i);
        dw_last_limits(s, 2, at, &t.first[1], &t.end[1]);
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
        dw_last_finish(r, y, s->out[2] * s->out_channels);
}

static void dw_last_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    struct dw_last r = { .call = call };
    conv_dw_last_init(call->op, &r.d);
    const struct conv_shape *s = &r.d.s;
    float *scratch = call->worker_scratch;
    r.bias = scratch + r.d.bias;
    r.weights = call->data[1];
    if (call->op->packed_input != 2) {
        conv_dw_last_pack(&r.d, call->data[1], scratch + r.d.weights);
        r.weights = scratch + r.d.weights;
    }
    for (int64_t c = 0; c < r.d.pitch; c++)
        r.bias[c] = call->op->u.conv.has_bias && c < s->groups ? ((const float *)call->data[2])[c * s->bias] : 0;
    for (uint64_t unit = begin; unit < end; unit++)
        dw_last_row(&r, (int64_t)unit / s->out[1], (int64_t)unit % s->out[1]);
}

KERN_ISA_RUN(conv_dw_last_f32, dw_last_run)
