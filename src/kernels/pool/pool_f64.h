#ifndef KERNELS_POOL_F64_H
#define KERNELS_POOL_F64_H

#include "kernels/pool/pool.h"

#define POOL_F64_CHANNELS 8 /* at once where they do not lie together */

/* How many channels are worked on together, pixel by pixel; 0: rows of results are, channel by channel. */
int64_t pool_f64_channels(const struct kern_op *op, const struct pool_shape *s);

#endif
