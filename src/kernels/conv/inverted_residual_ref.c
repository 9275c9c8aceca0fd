/* SPDX-License-Identifier: Apache-2.0 */
/* KERN_INVERTED_RESIDUAL pixel by pixel, in double. */
#include "kernels/conv/conv_plans.h"
#include "kernels/core/epilogue.h"
#include "kernels/map/map.h"

#include <math.h>

bool kern_inverted_residual_any_ref_accepts(const struct kern_op *op)
{
    struct inverted_residual b;
    return residual_shape(op, &b) && kern_type_bytes(op->tensors[0].type);
}

void kern_inverted_residual_any_ref_plan(const struct kern_op *op, const void *state, uint32_t threads,
                                         struct kern_work *out)
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
            sum += w[(uint64_t)m * b->depth + i] * kern_read_double(x->type, call->data[0], kern_offset(x, at));
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
