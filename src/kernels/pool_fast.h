/* Pooling with vectors: along rows that are contiguous (nchw) or along channels (nhwc). */
#ifndef KERNELS_POOL_FAST_H
#define KERNELS_POOL_FAST_H

#include "kernels/pool.h"

#define POOL_WIDTH_STEP 32 /* whole vectors of every instruction set */

struct pool_fast_plan {
    uint32_t width; /* of the output, rounded up to whole vectors */
    uint32_t line;  /* floats of a padded input row that feed that width */
};

void pool_fast_plan_init(const struct pool_shape *s, struct pool_fast_plan *out);
bool pool_channels_last(const struct kern_op *op, const struct pool_shape *s);

#endif
