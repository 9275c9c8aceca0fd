/* Pooling with vectors: along rows that are contiguous (nchw) or along channels (nhwc). */
#ifndef KERNELS_POOL_FAST_H
#define KERNELS_POOL_FAST_H

#include "kernels/pool/pool.h"
#include "kernels/core/window_plan.h"

#define POOL_LANES 16 /* channels of a unit where planes become pixels */

enum pool_way {
    POOL_PIXELS,           /* the input's channels lie together: vectors of channels */
    POOL_GLOBALS,          /* each channel's elements lie together, and one window takes them all */
    POOL_LINES,            /* rows lie together, of the output too: row by row without copies */
    POOL_LINES_TRANSPOSED, /* the same where the output's channels lie together */
    POOL_PLANES,           /* by bands of window_plan.h */
};

enum pool_way pool_way_of(const struct kern_op *op, const struct pool_shape *s);
void pool_window_of(const struct pool_shape *s, DML_TENSOR_DATA_TYPE type, float fill, struct window *out);
void pool_window(const struct kern_op *op, const struct pool_shape *s, struct window *out);
/* Scratch for the joined input rows of one output row. */
int64_t pool_line_floats(const struct pool_shape *s);
/* Floats from one pixel to the next where pixels become planes. */
int64_t pool_tile_pitch(const struct kern_op *op);

#endif
