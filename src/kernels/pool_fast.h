/* Pooling with vectors: along rows that are contiguous (nchw) or along channels (nhwc). */
#ifndef KERNELS_POOL_FAST_H
#define KERNELS_POOL_FAST_H

#include "kernels/pool.h"
#include "kernels/window_plan.h"

void pool_window(const struct kern_op *op, const struct pool_shape *s, struct window *out);
bool pool_channels_last(const struct kern_op *op, const struct pool_shape *s);
/* Each channel's elements lie together, and one window takes them all. */
bool pool_global(const struct pool_shape *s);

#endif
