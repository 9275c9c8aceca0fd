/* Convolutions of bytes to bytes on pixels whose channels lie together: each sum times a scale [by a divisor], rounded,
 * plus a zero point and clamped, all in registers. Weights are INT8 without zero points and packed once, X's packs of
 * four bytes are multiplied by one instruction. What zero points and biases add to a channel's sums is where they
 * start. */
#ifndef KERNELS_CONV_BYTES_H
#define KERNELS_CONV_BYTES_H

#include "kernels/gemm/blocked_gemm.h"

#define CONV_BYTES_PACK  4  /* bytes that one instruction adds up */
#define CONV_BYTES_LANES 16 /* sums of a vector */
#define CONV_BYTES_WIDTH 64 /* results of a vector of bytes */

/* A tile of the pointwise one: at most so many vectors of channels. */
#define CONV_PW_BYTES_VECS 4
#define CONV_PW_BYTES_ROWS 14 /* at most */

#define CONV_DW_BYTES_WINDOW 8 /* the largest */

struct conv_bytes {
    struct conv_shape s;
    struct kern_requantize how;
    int64_t scale_step;
    uint8_t flip;     /* changes X's signs, so that it is unsigned */
    uint32_t columns; /* output channels in whole vectors */
};

struct conv_pw_bytes {
    struct conv_bytes c;
    uint64_t pixels, blocks;
    uint32_t block; /* pixels that meet all weights before others come */
    uint32_t k, vecs, panels;
    int64_t x_step, y_step;
    uint64_t tile_scratch; /* where a tile's X and Y are in the worker's scratch when it is not full */
};

/* The channels of a block are where four bytes of four vectors get when they are interleaved: conv_dw_bytes_channel. */
struct conv_dw_bytes {
    struct conv_bytes c;
    uint32_t packs, blocks; /* of four taps; of 64 channels */
    uint64_t line, lines;   /* bytes of a padded row; where rows begin in the worker's scratch */
    uint64_t scratch;
};

bool conv_pw_bytes_init(const struct kern_op *op, struct conv_pw_bytes *out);
bool conv_dw_bytes_init(const struct kern_op *op, struct conv_dw_bytes *out);

DENSE_INLINE uint32_t conv_dw_bytes_channel(uint32_t place)
{
    uint32_t lane = place % 16;
    return place / 64 * 64 + lane / 4 * 16 + place % 64 / 16 * 4 + lane % 4;
}

/* Where sums start, and scales; returns the greatest size of a scale, NaN if one is. sums: of the weights, as
 * packed; `interleaved`: in the order of conv_dw_bytes_channel. */
float conv_bytes_parameters(const struct kern_call *call, const struct conv_bytes *c, const int32_t *sums,
                            bool interleaved, int32_t *start, float *scale);

#endif
