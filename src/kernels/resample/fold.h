/* SPDX-License-Identifier: Apache-2.0 */
/* What FOLD and UNFOLD share: the place of a window's element. */
#ifndef KERNELS_FOLD_H
#define KERNELS_FOLD_H

#include "kernels/core/dense.h"
#include "kernels/core/number.h"

/* Elements of a window. */
DENSE_INLINE uint64_t fold_taps(const struct kern_fold *fold)
{
    uint64_t taps = 1;
    for (uint32_t d = 0; d < fold->spatial; d++)
        taps *= fold->window[d];
    return taps;
}

/* The pixel, along dimension d, of tap k of the window at position b; negative or beyond the size: outside. */
DENSE_INLINE int64_t fold_pixel(const struct kern_fold *fold, uint32_t d, uint32_t b, uint32_t k)
{
    return (int64_t)b * fold->strides[d] + (int64_t)k * fold->dilations[d] - fold->pad_start[d];
}

/* The position whose tap k is pixel p; false when there is none. */
DENSE_INLINE bool fold_position(const struct kern_fold *fold, uint32_t d, uint32_t p, uint32_t k, uint32_t *out_b)
{
    int64_t from = (int64_t)p + fold->pad_start[d] - (int64_t)k * fold->dilations[d];
    int64_t stride = fold->strides[d], b = stride == 1 ? from : stride == 2 ? from >> 1 : from / stride;
    if (from < 0 || b * stride != from || b >= fold->positions[d])
        return false;
    *out_b = (uint32_t)b;
    return true;
}

#endif
