/* Convolutions of few input channels: the first ones of networks on images, and small ones. Tiles of output pixels by
 * output channels stay in registers while all taps pass by; the input comes from a padded copy of the rows that a band
 * of output rows needs. Weights are packed to [blocks of 16 output channels][taps][16], zeros where there are none. */
#ifndef KERNELS_CONV_SMALL_CIN_H
#define KERNELS_CONV_SMALL_CIN_H

#include "kernels/conv/conv.h"

#define CONV_SMALL_CIN_LANES 16 /* output channels of a block */

struct conv_small_cin {
    struct conv_shape s;
    int64_t taps, blocks;
    int64_t rows, bands;    /* output rows of a band; bands of an image */
    int64_t pitch, in_rows; /* floats of one channel's row in the copy; rows there */
    bool direct;            /* results go to Y at once */
    bool post;              /* they end in another program than bounds */
    struct kern_bounds bounds;
    /* places in the worker's scratch, in floats; weights: when they are not packed once */
    int64_t image, bias, offsets, results, weights, epilogue, floats;
};

/* false: not such a convolution. */
bool conv_small_cin_init(const struct kern_op *op, struct conv_small_cin *out);
void conv_small_cin_pack(const struct conv_small_cin *f, const float *source, float *packed);

#endif
