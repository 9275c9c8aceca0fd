/* Winograd's convolutions, stride 1: the output is cut in tiles of outs x outs, each from size x size inputs with size
 * * size multiplications for a pair of channels instead of (outs * taps)^2. Inputs, weights and products are taken to
 * and from values of polynomials at `size` points: the last is infinity, the others 0 and pairs of either sign. */
#ifndef KERNELS_CONV_WINO_H
#define KERNELS_CONV_WINO_H

#include "kernels/conv/conv.h"

#define WINO_SIZE_MAX 8
#define WINO_OUTS     4

/* Pairs of points. Rounding errors depend on them: these were searched for among eighths and sixteenths. */
DENSE_INLINE double wino_point(uint32_t size, uint32_t pair)
{
    if (size == 6)
        return pair == 0 ? 0.6875 : 1.5;
    return pair == 0 ? 0.5 : pair == 1 ? 1.0 : 2.0;
}

/* What one call of the product computes: rows (tiles) and vectors of output channels, by lanes of a vector. */
#define WINO_ROWS(lanes) ((lanes) == 16 ? 14 : 6)
#define WINO_VECS(lanes) ((lanes) == 4 ? 4 : 2)

struct wino {
    struct conv_shape s;
    struct kern_epilogue post;
    uint32_t size, points;         /* points = size * size */
    uint32_t rows, columns, tiles; /* tiles of an image; of all */
    uint32_t lanes, panel, panels; /* panel: output channels of a product */
    uint32_t depth;                /* input channels in whole vectors */
    uint32_t block, blocks;        /* tiles at once */
    uint32_t cuts;                 /* parts of the panels: units of work are blocks * cuts */
    uint64_t in_step, out_step;    /* floats from one point to the next */
    uint64_t out, patch, bias;     /* where these start in worker scratch, floats; transformed inputs at 0 */
    uint64_t floats;
};

/* Of the inputs that `tiles` neighbours have. */
DENSE_INLINE uint32_t wino_strip_columns(const struct wino *w, uint32_t tiles)
{
    return tiles * WINO_OUTS + w->size - WINO_OUTS;
}

/* false when the op is not of this kind. */
bool wino_init(const struct kern_op *op, uint32_t lanes, struct wino *out);

#endif
