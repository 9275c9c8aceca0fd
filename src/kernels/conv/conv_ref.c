/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution and inverted residual, the definitions: sums over channels and kernel taps in double. */
#include "kernels/conv/conv_plans.h"
#include "kernels/gemm/gemm.h"
#include "kernels/gemm/blocked_gemm.h"
#include "kernels/row/row.h"

#include <math.h>

bool conv_shape_init(const struct kern_op *op, struct conv_shape *s)
{
    const struct kern_conv *conv = &op->u.conv;
    const struct kern_view *x = &op->tensors[0], *w = &op->tensors[1], *y = &op->tensors[op->input_count];
    uint32_t rank = conv->spatial + 2, missing = KERN_SPATIAL_MAX - conv->spatial;
    if (!conv->spatial || conv->spatial > KERN_SPATIAL_MAX || x->rank != rank || w->rank != rank || y->rank != rank)
        return false;
    *s = (struct conv_shape){ .batch = x->sizes[0], .in_channels = x->sizes[1], .out_channels = y->sizes[1] };
    s->groups = conv->groups ? conv->groups : 1;
    s->in_group = s->in_channels / s->groups;
    s->out_group = s->out_channels / s->groups;
    s->transposed = conv->transposed;
    s->flip = conv->flip;
    for (uint32_t d = 0; d < 2; d++) {
        s->x[d] = x->strides[d];
        s->w[d] = w->strides[d];
        s->y[d] = y->strides[d];
    }
    for (uint32_t d = 0; d < missing; d++)
        s->in[d] = s->out[d] = s->kernel[d] = s->stride[d] = s->dilation[d] = 1;
    for (uint32_t d = missing, dim = 2; d < KERN_SPATIAL_MAX; d++, dim++) {
        s->in[d] = x->sizes[dim];
        s->out[d] = y->sizes[dim];
        s->kernel[d] = w->sizes[dim];
        s->stride[d] = conv->strides[dim - 2];
        s->dilation[d] = conv->dilations[dim - 2];
        s->pad[d] = conv->pad_start[dim - 2];
        s->x[d + 2] = x->strides[dim];
        s->w[d + 2] = w->strides[dim];
        s->y[d + 2] = y->strides[dim];
    }
    s->bias = conv->has_bias && op->tensors[2].sizes[1] > 1 ? op->tensors[2].strides[1] : 0;
    return s->in_group * s->groups == s->in_channels && s->out_group * s->groups == s->out_channels &&
           w->sizes[0] == (s->transposed ? s->in_channels : s->out_channels) &&
           w->sizes[1] == (s->transposed ? s->out_group : s->in_group);
}

bool kern_conv_any_ref_accepts(const struct kern_op *op)
{
    struct conv_shape shape;
    const struct kern_conv *conv = &op->u.conv;
    if (!conv_shape_init(op, &shape) || !blocked_gemm_types_fit(op, conv->integer, conv->has_bias))
        return false;
    return !conv->integer || !conv->has_bias || op->tensors[2].type == DML_TENSOR_DATA_TYPE_INT32;
}

void kern_conv_any_ref_plan(const struct kern_op *op, uint32_t threads, struct kern_work *out)
{
    struct conv_shape s;
    conv_shape_init(op, &s);
    uint64_t cost = s.out[2] * s.in_group * s.kernel[0] * s.kernel[1] * s.kernel[2];
    *out = (struct kern_work){ .units = dense_rows(&op->tensors[op->input_count]), .grain = dense_grain(cost) };
    out->worker_scratch_bytes = (uint64_t)s.out[2] * sizeof(double);
}

/* The sum of an output element, also exact for integers: at = batch, channel, position. zeros: of X and W. */
DENSE_INLINE double conv_sum(const struct kern_call *call, const struct conv_shape *s, const int64_t *at,
                             const double *zeros, DML_TENSOR_DATA_TYPE x_type, DML_TENSOR_DATA_TYPE w_type)
{
    const int64_t group = at[1] / s->out_group, within = at[1] % s->out_group, taps = s->kernel[1] * s->kernel[2];
    const int64_t x_step = s->x[1], w_step = s->w[s->transposed ? 0 : 1];
    double sum = 0;
    for (int64_t tap = 0; tap < s->kernel[0] * taps; tap++) {
        const int64_t k[] = { tap / taps, tap / s->kernel[2] % s->kernel[1], tap % s->kernel[2] };
        int64_t x = at[0] * s->x[0] + group * s->in_group * x_step;
        int64_t w = s->transposed ? group * s->in_group * w_step + within * s->w[1] : at[1] * s->w[0];
        bool inside = true;
        for (uint32_t d = 0; d < 3; d++) {
            const int64_t from = conv_tap(s, d, at[2 + d], k[d]);
            inside = inside && from >= 0;
            x += from * s->x[2 + d];
            w += (s->flip ? s->kernel[d] - 1 - k[d] : k[d]) * s->w[2 + d];
        }
        for (int64_t c = 0; inside && c < s->in_group; c++)
            sum += (dense_load(call->data[1], w + c * w_step, w_type) - zeros[1]) *
                   (dense_load(call->data[0], x + c * x_step, x_type) - zeros[0]);
    }
    return sum;
}

DENSE_INLINE void conv_rows(const struct kern_call *call, uint64_t begin, uint64_t end, DML_TENSOR_DATA_TYPE x_type,
                            DML_TENSOR_DATA_TYPE w_type)
{
    const struct kern_conv *conv = &call->op->u.conv;
    const struct kern_view *y = &call->op->tensors[call->op->input_count];
    double *sums = call->worker_scratch;
    struct conv_shape s;
    conv_shape_init(call->op, &s);
    for (uint64_t row = begin; row < end; row++) {
        uint32_t at[KERN_RANK_MAX];
        int64_t where[5] = { 0 };
        dense_row_at(y, row, at);
        for (uint32_t d = 0; d + 1 < y->rank; d++)
            where[d < 2 ? d : d + 5 - y->rank] = at[d];
        const uint32_t o[KERN_RANK_MAX] = { 0, at[1] };
        const double zeros[] = { conv_x_zero(call),
                                 gemm_zero(call, conv->has_w_zero, 2u + conv->has_bias + conv->has_x_zero, o) };
        const double bias = conv->has_bias ? dense_load(call->data[2], at[1] * s.bias, call->op->tensors[2].type) : 0;
        for (; where[4] < s.out[2]; where[4]++) {
            const double sum = bias + conv_sum(call, &s, where, zeros, x_type, w_type);
            sums[where[4]] = conv->integer ? (int32_t)(uint32_t)(int64_t)sum : sum;
        }
        dense_finish(call, at, (uint32_t)s.out[2], sums);
    }
}

void kern_conv_any_ref_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    DENSE_BY_FACTORS(call->op->tensors[0].type, call->op->tensors[1].type, conv_rows, call, begin, end);
}

/* ---- inverted residuals, pixel by pixel ---- */

bool kern_inverted_residual_any_ref_accepts(const struct kern_op *op)
{
    struct inverted_residual b;
    return residual_shape(op, &b) && kern_type_bytes(op->tensors[0].type);
}

void kern_inverted_residual_any_ref_plan(const struct kern_op *op, uint32_t threads, struct kern_work *out)
{
    struct inverted_residual b;
    residual_shape(op, &b);
    *out = (struct kern_work){ .units = (uint64_t)b.batch * b.oh * b.ow, .grain = 16 };
    out->worker_scratch_bytes = b.m * sizeof(double);
}

static double bounded(const struct kern_bounds *bounds, double x)
{
    switch (bounds->kind) {
    case KERN_BOUNDS_NONE:
        return x;
    case KERN_BOUNDS_RELU:
        return x < 0 ? 0 : x;
    case KERN_BOUNDS_CLAMP:
        return fmin(fmax(x, bounds->low), bounds->high);
    case KERN_BOUNDS_CLIP:
        return fmax(fmin(x, bounds->high), bounds->low);
    case KERN_BOUNDS_CLAMP_NAN:
        return x < bounds->low ? bounds->low : x > bounds->high ? bounds->high : x;
    }
    return x;
}

/* Channel m of E at `row` and `column` of image n. */
static double expanded(const struct kern_call *call, const struct inverted_residual *b, uint32_t n, int64_t row,
                       int64_t column, uint32_t m)
{
    const struct kern_view *x = &call->op->tensors[0];
    const struct kern_inverted_residual *p = b->p;
    const float *w = call->data[1];
    uint32_t taps = p->first[0] * p->first[1];
    double sum = w[(uint64_t)b->m * b->depth + m];
    for (uint32_t i = 0; i < b->depth; i++) {
        int64_t y0 = row * p->first_strides[0] + i % taps / p->first[1] - p->first_start[0];
        int64_t x0 = column * p->first_strides[1] + i % p->first[1] - p->first_start[1];
        uint32_t at[KERN_RANK_MAX] = { n, i / taps, (uint32_t)y0, (uint32_t)x0 };
        if (y0 >= 0 && y0 < x->sizes[2] && x0 >= 0 && x0 < x->sizes[3])
            sum += w[(uint64_t)m * b->depth + i] * dense_load(call->data[0], dense_offset(x, at, 4), x->type);
    }
    return bounded(&p->bounds[0], sum);
}

/* Channel m of D at a pixel of Y; w: of the window. */
static double depthwise(const struct kern_call *call, const struct inverted_residual *b, const float *w,
                        const uint32_t *pixel, uint32_t m)
{
    const struct kern_inverted_residual *p = b->p;
    double sum = w[(uint64_t)b->m * b->taps + m];
    for (uint32_t t = 0; t < b->taps; t++) {
        int64_t row = (int64_t)pixel[2] * p->strides[0] + t / p->window[1] - p->pad_start[0];
        int64_t column = (int64_t)pixel[3] * p->strides[1] + t % p->window[1] - p->pad_start[1];
        if (row >= 0 && row < b->h && column >= 0 && column < b->w)
            sum += w[(uint64_t)m * b->taps + t] * expanded(call, b, pixel[0], row, column, m);
    }
    return bounded(&p->bounds[1], sum);
}

void kern_inverted_residual_any_ref_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    struct inverted_residual b;
    double *middle = call->worker_scratch;
    residual_shape(call->op, &b);
    const float *window = (const float *)call->data[1] + ((uint64_t)b.depth + 1) * b.m;
    const float *last = window + ((uint64_t)b.taps + 1) * b.m;
    for (uint64_t i = begin; i < end; i++) {
        uint32_t at[KERN_RANK_MAX] = { (uint32_t)(i / b.ow / b.oh), 0, (uint32_t)(i / b.ow % b.oh),
                                       (uint32_t)(i % b.ow) };
        for (uint32_t m = 0; m < b.m; m++)
            middle[m] = depthwise(call, &b, window, at, m);
        for (at[1] = 0; at[1] < b.o; at[1]++) {
            double sum = last[(uint64_t)b.o * b.m + at[1]];
            for (uint32_t m = 0; m < b.m; m++)
                sum += last[(uint64_t)at[1] * b.m + m] * middle[m];
            kern_epilogue_store(call, at, sum);
        }
    }
}
