/* Pointwise convolutions on pixels whose channels lie together (nhwc): a product of X [pixels, K] and W packed into
 * panels [K][columns], in tiles of pixels by columns that stay in registers. The epilogue is part of the tile. */
#ifndef KERNELS_CONV_PW_H
#define KERNELS_CONV_PW_H

#include "kernels/conv/conv.h"

/* A tile: vectors of columns, and at most so many pixels. */
#define CONV_PW_VECS         2
#define CONV_PW_ROWS_avx512  14
#define CONV_PW_ROWS_avx2    6
#define CONV_PW_ROWS_neon    12
#define CONV_PW_LANES_avx512 16
#define CONV_PW_LANES_avx2   8
#define CONV_PW_LANES_neon   4

#define CONV_PW_LANES_MAX 16

/* The epilogue as steps on a tile. */
struct conv_pw_epilogue {
    struct kern_epilogue post;
    int64_t step[CONV_EPILOGUE_MAX]; /* of a tensor that is added, from pixel to pixel */
};

struct conv_pw {
    uint64_t pixels, tiles, blocks; /* a block: tiles that use a panel before the next one comes, and stay in cache */
    uint32_t k, columns, vecs, panels;
    int64_t x_step, y_step;
    struct conv_pw_epilogue epilogue;
};

/* false: not such a convolution. `rows` and `lanes`: of the instruction set. */
bool conv_pw_init(const struct kern_op *op, uint32_t rows, uint32_t lanes, struct conv_pw *out);

/* false when the epilogue is anything else. */
bool conv_pw_epilogue(const struct kern_op *op, struct conv_pw_epilogue *out);

/* The distance from pixel to pixel when channels lie together and pixels are evenly spaced; conv_pw_pixels: of FLOAT32.
 */
bool conv_pixels(const struct kern_view *view, int64_t *out_step);
bool conv_pw_pixels(const struct kern_view *view, int64_t *out_step);

#endif
