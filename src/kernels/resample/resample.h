#ifndef KERNELS_RESAMPLE_H
#define KERNELS_RESAMPLE_H

#include "kernels/core/dense.h"

/* Where one output coordinate reads: element i0 with weight 1 - w, element i1 with weight w (nearest: w = 0). */
struct resample_tap {
    int64_t i0, i1;
    float w;
};

/* The coordinate rule along dimension d: where output `out` of the forward op reads. */
float resample_position(const struct kern_op *op, uint32_t d, uint32_t out);
struct resample_tap resample_tap(const struct kern_op *op, uint32_t d, uint32_t out);

#endif
