/* SPDX-License-Identifier: Apache-2.0 */
/* Depthwise convolutions of small images (NCHW, NCDHW): a vector is the same pixel of adjacent channels. The images of
 * a block of channels are transposed into a padded image, some adjacent results are summed in registers over all taps,
 * and the results are transposed back. Lines of a plane would leave most of a vector empty there. Weights are packed to
 * [block][tap][lane], zeros behind the last channel. */
#ifndef KERNELS_CONV_DW_SMALL_H
#define KERNELS_CONV_DW_SMALL_H

#include "kernels/conv/conv.h"

#define CONV_DW_SMALL_RESULTS 8 /* sums in registers: they hide the latency of additions */

#define CONV_DW_SMALL_LANES_avx512 16
#define CONV_DW_SMALL_LANES_avx2   8
#define CONV_DW_SMALL_LANES_neon   4

/* Results [first, first + count) of an image, with the planes of the window and the taps [begin, end) of each of them
 * of which some are inside. */
struct conv_dw_small_group {
    int32_t first, count, planes[2], begin, end;
};

struct conv_dw_small {
    struct conv_shape s;
    int64_t lanes, blocks;   /* blocks: of channels */
    int64_t taps, ins, outs; /* taps; pixels of an image of X and of Y */
    int64_t size[3], pixels; /* of the padded image, and all of them */
    int64_t groups;
    bool direct; /* results are clamped in registers, and stored channel by channel */
    struct kern_bounds bounds;
    /* Offsets in the worker's scratch, in floats; weights: if they are not packed once. places, reads and steps:
     * int32_t, of X's pixels in the image, of results' first taps, and of taps from these. */
    uint64_t image, bias, weights, results, planes, places, reads, steps, list, epilogue, floats;
};

/* false: not such a convolution. `lanes`: of a vector. */
bool conv_dw_small_init(const struct kern_op *op, int64_t lanes, struct conv_dw_small *out);

/* The weights of one block. */
void conv_dw_small_pack_block(const struct kern_op *op, const struct conv_dw_small *p, const void *source,
                              int64_t block, float *packed);

/* Places, reads, steps and groups in scratch. */
void conv_dw_small_tables(const struct conv_dw_small *p, float *scratch);

#endif
