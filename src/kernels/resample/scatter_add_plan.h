/* SPDX-License-Identifier: Apache-2.0 */
/* Adding runs of numbers into a row at a stride. The row is kept by phase: element q of phase r is the row's element
 * q * stride + r, so that a run is added to one contiguous piece. */
#ifndef KERNELS_SCATTER_ADD_PLAN_H
#define KERNELS_SCATTER_ADD_PLAN_H

#include "kernels/core/dense.h"

#define SCATTER_ADD_STEP 16 /* the longest vector */

struct scatter_add {
    int64_t width, stride, pitch;
    float *phases, *line;
};

/* a / stride for a >= 0; most strides are 1 or 2, and dividing takes as long as a short run. */
DENSE_INLINE int64_t scatter_add_div(int64_t a, int64_t stride)
{
    return stride == 1 ? a : stride == 2 ? a >> 1 : a / stride;
}

/* A stride beyond the width never adds two elements of a run: as good as 1. */
DENSE_INLINE void scatter_add_shape(struct scatter_add *s, int64_t width, int64_t stride)
{
    s->width = width;
    s->stride = stride > width ? 1 : stride;
    s->pitch = (width + s->stride - 1) / s->stride + SCATTER_ADD_STEP;
}

DENSE_INLINE void scatter_add_init(struct scatter_add *s, int64_t width, int64_t stride, float *scratch)
{
    scatter_add_shape(s, width, stride);
    s->phases = scratch;
    s->line = s->stride == 1 ? scratch : scratch + s->stride * s->pitch;
}

DENSE_INLINE uint64_t scatter_add_floats(int64_t width, int64_t stride)
{
    struct scatter_add s;
    scatter_add_shape(&s, width, stride);
    return (uint64_t)(s.stride * s.pitch + (s.stride == 1 ? 0 : width));
}

#endif
