/* SPDX-License-Identifier: Apache-2.0 */
/* Pooling and its gradient: geometry, the definition of a window, and what the vectorised kernels accept. */
#ifndef KERNELS_POOL_H
#define KERNELS_POOL_H

#include "kernels/row/window.h"

/* Always three spatial dimensions: missing outer ones have size 1. Of gradients x is X (max) or dX (average), y dY. */
struct pool_shape {
    int64_t in[3], out[3], window[3], stride[3], dilation[3], pad[3];
    int64_t x[5], y[5], index[5]; /* strides of batch, channel, spatial */
    int64_t area;                 /* elements of a whole window, INT64_MAX when there are more */
};

bool pool_shape_init(const struct kern_op *op, struct pool_shape *out);

/* Window taps [*begin, *end) that are inside the input, for output position `out` along dimension d. */
DENSE_INLINE void pool_taps(const struct pool_shape *s, uint32_t d, int64_t out, int64_t *begin, int64_t *end)
{
    dense_range(s->window[d], s->dilation[d], out * s->stride[d] - s->pad[d], s->in[d], begin, end);
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

/* at: batch, channel, position. */
DENSE_INLINE int64_t pool_offset(const int64_t strides[5], const int64_t at[5])
{
    return at[0] * strides[0] + at[1] * strides[1] + at[2] * strides[2] + at[3] * strides[3] + at[4] * strides[4];
}

/* The start of a row of the output. */
DENSE_INLINE void pool_row_at(const struct kern_view *y, uint64_t row, int64_t at[5])
{
    uint32_t index[KERN_RANK_MAX];
    memset(at, 0, 5 * sizeof(*at));
    dense_row_at(y, row, index);
    for (uint32_t d = 0; d < y->rank; d++)
        at[d < 2 ? d : d + 5 - y->rank] = index[d];
}

/* Added to the indices: the number of elements before the first one of channel at[1] of image at[0]. */
DENSE_INLINE uint64_t pool_index_base(const struct kern_op *op, const struct pool_shape *s, const int64_t *at)
{
    const uint64_t plane = (uint64_t)at[0] * op->tensors[0].sizes[1] + (uint64_t)at[1];
    return op->u.pool.whole_indices ? plane * (uint64_t)(s->in[0] * s->in[1] * s->in[2]) : 0;
}

DENSE_INLINE void pool_store_index(const struct kern_call *call, int64_t at, uint64_t index)
{
    if (kern_type_bytes(call->op->tensors[2].type) == 8)
        ((uint64_t *)call->data[2])[at] = index;
    else
        ((uint32_t *)call->data[2])[at] = (uint32_t)index;
}

/* The position of element `at` of the indices, -1 if it is not in a channel. */
DENSE_INLINE int64_t pool_load_index(const struct pool_shape *s, const void *indices, DML_TENSOR_DATA_TYPE type,
                                     int64_t at)
{
    const uint64_t plane = (uint64_t)(s->in[0] * s->in[1] * s->in[2]);
    const uint64_t index = kern_type_bytes(type) == 8           ? ((const uint64_t *)indices)[at]
                           : type == DML_TENSOR_DATA_TYPE_INT32 ? (uint64_t)((const int32_t *)indices)[at]
                                                                : ((const uint32_t *)indices)[at];
    return index < plane ? (int64_t)index : -1;
}

/* Whether position i along dimension d is in the window of output position `out`. */
DENSE_INLINE bool pool_has(const struct pool_shape *s, uint32_t d, int64_t out, int64_t i)
{
    const int64_t distance = i - (out * s->stride[d] - s->pad[d]);
    if (s->dilation[d] == 1)
        return distance >= 0 && distance < s->window[d];
    return distance >= 0 && distance % s->dilation[d] == 0 && distance / s->dilation[d] < s->window[d];
}

/* ---- the definition ---- */

/* One output element's window. */
struct pool_window {
    const void *x;
    int64_t at;          /* element of the channel's first element */
    int64_t position[3]; /* of tap 0; may be negative */
    int64_t begin[3], end[3];
};

/* at: batch, channel, output position. */
void pool_window_at(const struct pool_shape *s, const void *x, const int64_t at[5], struct pool_window *out);

struct pool_best {
    DML_TENSOR_DATA_TYPE type;
    int64_t offset, position; /* of the first maximum; valid when found */
    bool found;
};

struct pool_best pool_best_of(const struct pool_shape *s, const struct pool_window *window, DML_TENSOR_DATA_TYPE type);

/* ---- the vectorised kernels ---- */

enum pool_kind { POOL_SUM, POOL_SUM_ABS, POOL_SUM_SQUARE, POOL_TOP };

DENSE_INLINE enum pool_kind pool_kind_of(const struct kern_pool *pool)
{
    if (pool->mode == KERN_POOL_LP)
        return pool->p == 1 ? POOL_SUM_ABS : POOL_SUM_SQUARE;
    return pool->mode == KERN_POOL_MAX ? POOL_TOP : POOL_SUM;
}

/* function(kind, ...) with the kind as a constant. */
#define POOL_BY_KIND(kind, function, ...)                                                                              \
    ((kind) == POOL_TOP       ? function(POOL_TOP, __VA_ARGS__)                                                        \
     : (kind) == POOL_SUM     ? function(POOL_SUM, __VA_ARGS__)                                                        \
     : (kind) == POOL_SUM_ABS ? function(POOL_SUM_ABS, __VA_ARGS__)                                                    \
                              : function(POOL_SUM_SQUARE, __VA_ARGS__))

#define POOL_LANES 16 /* channels of a unit where NCHW becomes NHWC */

enum pool_way {
    POOL_PIXELS,           /* the input is NHWC: vectors of channels */
    POOL_GLOBALS,          /* each channel's elements are contiguous, and one window covers them all */
    POOL_LINES,            /* rows are contiguous, also in the output: row by row without copies */
    POOL_LINES_TRANSPOSED, /* the same if the output is NHWC */
    POOL_PLANES,           /* by bands of window.h */
};

enum pool_way pool_way_of(const struct kern_op *op, const struct pool_shape *s);
/* Of POOL_PLANES and the gradients of maxima. */
void pool_window_init(const struct kern_op *op, const struct pool_shape *s, struct window *out);
/* Scratch for the combined input rows of one output row. */
int64_t pool_line_floats(const struct pool_shape *s);
/* Floats from one pixel to the next where NHWC becomes NCHW. */
int64_t pool_tile_pitch(const struct kern_op *op);
/* The sums of a channel's gradient can be computed in dX itself. */
bool pool_grad_in_place(const struct kern_op *op);

/* Max pooling of integers is vectorised along channels, not along the last dimension, if the input is NHWC. */
bool pool_int_by_channels(const struct kern_op *op, const struct pool_shape *s);
/* Of a line of X by channels in which the rows of a window are combined; 0: windows are combined one by one. */
uint64_t pool_int_line_bytes(const struct kern_op *op, const struct pool_shape *s);

#define POOL_F64_CHANNELS 8 /* of FLOAT64, at once if they are not contiguous */

/* FLOAT64: the number of channels that are processed together, pixel by pixel; 0: rows of results, channel by
 * channel. */
int64_t pool_f64_channels(const struct kern_op *op, const struct pool_shape *s);

#endif
