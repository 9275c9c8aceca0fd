/* A pooling's geometry with always three spatial dimensions: missing outer ones have size 1. */
#ifndef KERNELS_POOL_H
#define KERNELS_POOL_H

#include "kernels/core/dense.h"

struct pool_shape {
    int64_t in[3], out[3], window[3], stride[3], dilation[3], pad[3];
    int64_t x[5], y[5], index[5]; /* strides of batch, channel, spatial */
    int64_t area;                 /* elements of a whole window, INT64_MAX when there are more */
};

bool pool_shape_init(const struct kern_op *op, struct pool_shape *out);
/* The same of parts; index may be NULL. */
bool pool_shape_of(const struct kern_pool *pool, const struct kern_view *x, const struct kern_view *y,
                   const struct kern_view *index, struct pool_shape *out);

/* Max pooling of integers goes channels by channels, not along the last dimension, where those lie together. */
bool pool_int_by_channels(const struct kern_op *op, const struct pool_shape *s);

#define POOL_F64_CHANNELS 8 /* of FLOAT64, at once where they do not lie together */

/* FLOAT64: how many channels are worked on together, pixel by pixel; 0: rows of results are, channel by channel. */
int64_t pool_f64_channels(const struct kern_op *op, const struct pool_shape *s);

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

/* How many elements an average divides by along dimension d. */
DENSE_INLINE double pool_count(const struct pool_shape *s, uint32_t d, int64_t out, bool include_padding)
{
    int64_t begin, end;
    if (include_padding)
        return (double)s->window[d];
    pool_taps(s, d, out, &begin, &end);
    return (double)(end - begin);
}

/* One output element's window. */
struct pool_window {
    const void *x;
    int64_t at;          /* element of the channel's first element */
    int64_t position[3]; /* of tap 0; may be negative */
    int64_t begin[3], end[3];
};

/* at: batch, channel, output position. */
void pool_window_at(const struct pool_shape *s, const void *x, const int64_t at[5], struct pool_window *out);

/* Calls `visit` with the element's offset and its row-major position in the channel for every tap inside. */
typedef void pool_visit(void *context, const struct pool_window *window, int64_t offset, int64_t position);
void pool_for_each(const struct pool_shape *s, const struct pool_window *window, pool_visit *visit, void *context);

struct pool_best {
    DML_TENSOR_DATA_TYPE type;
    int64_t offset, position; /* of the first maximum; valid when found */
    bool found;
};

struct pool_best pool_best_of(const struct pool_shape *s, const struct pool_window *window, DML_TENSOR_DATA_TYPE type);

#endif
