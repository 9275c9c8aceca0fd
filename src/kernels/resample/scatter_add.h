/* SPDX-License-Identifier: Apache-2.0 */
/* Adding runs of numbers into a row at a stride. The row is stored by phase: element q of phase r is the row's element
 * q * stride + r, so that a run is added to one contiguous piece. Included once per instruction set. */
#ifndef KERNELS_SCATTER_ADD_H
#define KERNELS_SCATTER_ADD_H

#include "kernels/vec/vec.h"

#define SCATTER_ADD_STEP 16 /* the longest vector */

struct scatter_add {
    int64_t width, stride, pitch;
    float *phases, *line;
};

/* a / stride for a >= 0; most strides are 1 or 2, and a division takes as long as a short run. */
DENSE_INLINE int64_t scatter_add_div(int64_t a, int64_t stride)
{
    return stride == 1 ? a : stride == 2 ? a >> 1 : a / stride;
}

/* A stride beyond the width never adds two elements of a run: equivalent to 1. */
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

/* to[i] += from[i]; nothing after `from` is read, zeros may be added up to a vector after `to`. */
DENSE_INLINE void scatter_add_run(float *to, const float *from, int64_t count)
{
    int64_t i = 0;
    for (; i + VEC <= count; i += VEC)
        vec_store(to + i, vec_load(to + i) + vec_load(from + i));
    if (i < count)
        vec_store(to + i, vec_load(to + i) + vec_load_part(from + i, (uint32_t)(count - i), vec_set(0)));
}

DENSE_INLINE void scatter_add_clear(const struct scatter_add *s)
{
    memset(s->phases, 0, (size_t)(s->stride * s->pitch) * sizeof(float));
}

/* Element i of the run is added at first + i * stride, if the row has such an element. */
DENSE_INLINE void scatter_add_line(const struct scatter_add *s, int64_t stride, int64_t first, const float *run,
                                   int64_t count)
{
    const int64_t begin = first < 0 ? scatter_add_div(-first + stride - 1, stride) : 0;
    const int64_t past = first < s->width ? scatter_add_div(s->width - 1 - first, stride) + 1 : 0;
    const int64_t end = BASE_MIN(past, count);
    if (begin >= end)
        return;
    int64_t at = first + begin * stride, q = scatter_add_div(at, s->stride), r = at - q * s->stride;
    scatter_add_run(s->phases + r * s->pitch + q, run + begin, end - begin);
}

/* The row, in order; written to `line` unless it is in order already. */
static inline const float *scatter_add_end(const struct scatter_add *s, float *restrict line)
{
    const float *phase = s->phases, *odd = s->phases + s->pitch;
    if (s->stride == 1)
        return s->phases;
    if (s->stride == 2) {
        for (int64_t q = 0; q < s->width / 2; q++) {
            line[2 * q] = phase[q];
            line[2 * q + 1] = odd[q];
        }
        if (s->width % 2)
            line[s->width - 1] = phase[s->width / 2];
        return line;
    }
    for (int64_t r = 0; r < s->stride; r++, phase += s->pitch) {
        for (int64_t at = r, q = 0; at < s->width; at += s->stride)
            line[at] = phase[q++];
    }
    return line;
}

#endif
