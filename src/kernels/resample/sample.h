/* SPDX-License-Identifier: Apache-2.0 */
/* Samples of images at any positions (SAMPLE). Positions are data and may be any number, including NaN and infinities,
 * so they are limited here, once. FLOAT32 for all implementations, unless a tensor is FLOAT64: a position halfway
 * between two pixels must select the same one everywhere. */
#ifndef KERNELS_SAMPLE_H
#define KERNELS_SAMPLE_H

#include "kernels/core/dense.h"

#include <math.h>

#define SAMPLE_TAPS_MAX 8
#define SAMPLE_POINTS   64 /* of one unit of the fast kernels */

/* Depth, row and column; images without depth have one of size 1, which no position addresses. */
struct sample_shape {
    uint32_t first; /* axis that the positions have: 1, or 0 with depth */
    uint32_t taps;  /* pixels of a sample */
    int64_t batch, channels, points, in[3], out[3];
    int64_t x[5], y[5]; /* strides of N, C, D, H, W */
    int64_t grid[5];    /* of N, D, H, W, coordinate */
};

bool sample_shape_init(const struct kern_op *op, struct sample_shape *out);

/* A position in pixels, padded. Pixels whose number is not in 0 .. size - 1 are outside. */
#define SAMPLE_POSITION(name, T, FLOOR)                                                                                \
    DENSE_INLINE T name(const struct kern_sample *s, T at, int64_t pixels)                                             \
    {                                                                                                                  \
        const T size = (T)pixels;                                                                                      \
        if (s->unit == KERN_SAMPLE_CENTRES)                                                                            \
            at = (at + 1) * (T)0.5 * (size - 1);                                                                       \
        if (s->unit == KERN_SAMPLE_EDGES)                                                                              \
            at = ((at + 1) * size - 1) * (T)0.5;                                                                       \
        if (s->padding == KERN_SAMPLE_ZEROS) {                                                                         \
            at = at > -2 ? at : -2;                                                                                    \
            return at < size + 1 ? at : size + 1;                                                                      \
        }                                                                                                              \
        if (s->padding != KERN_SAMPLE_EDGE) {                                                                          \
            const T low = s->padding == KERN_SAMPLE_MIRROR ? (T)-0.5 : 0, range = size - 1 - 2 * low;                  \
            T u = at - low;                                                                                            \
            u = u < 0 ? -u : u;                                                                                        \
            u -= FLOOR(u / (2 * range)) * (2 * range);                                                                 \
            at = low + (u > range ? 2 * range - u : u);                                                                \
        }                                                                                                              \
        at = at > 0 ? at : 0;                                                                                          \
        return at < size - 1 ? at : size - 1;                                                                          \
    }
SAMPLE_POSITION(sample_position, float, floorf)
SAMPLE_POSITION(sample_position_f64, double, floor)

#endif
