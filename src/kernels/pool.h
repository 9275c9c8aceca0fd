/* A pooling's geometry with always three spatial dimensions: missing outer ones have size 1. */
#ifndef KERNELS_POOL_H
#define KERNELS_POOL_H

#include "kernels/dense.h"

struct pool_shape {
    int64_t in[3], out[3], window[3], stride[3], dilation[3], pad[3];
    int64_t x[5], y[5], index[5]; /* strides of batch, channel, spatial */
    int64_t area;                 /* elements of a whole window */
};

bool pool_shape_init(const struct kern_op *op, struct pool_shape *out);

/* Window taps [*begin, *end) that lie inside the input, for output position `out` along dimension d. */
DENSE_INLINE void pool_taps(const struct pool_shape *s, uint32_t d, int64_t out, int64_t *begin, int64_t *end)
{
    int64_t first = out * s->stride[d] - s->pad[d], step = s->dilation[d];
    *begin = first < 0 ? (-first + step - 1) / step : 0;
    *end = s->in[d] > first ? (s->in[d] - first + step - 1) / step : 0;
    if (*end > s->window[d])
        *end = s->window[d];
    if (*begin > *end)
        *begin = *end;
}

#endif
