/* Pointwise, depthwise and pointwise convolution in one (KERN_INVERTED_RESIDUAL), on pixels whose channels lie
 * together. The wide tensors between are never whole in memory: a worker takes bands of output rows, and in a band
 * panel by panel of the middle channels. Of a panel only the expanded rows under one window are held, padding included,
 * in a ring that stays in the first-level cache; rings go on from band to band, so no row is expanded twice. The
 * depthwise results of the band lie in the second-level cache, where the last product reads them. Instead of a
 * pointwise convolution, the first may be one of few input channels with a window, as networks on images begin:
 * conv_small_cin.h. */
#ifndef KERNELS_INVERTED_RESIDUAL_H
#define KERNELS_INVERTED_RESIDUAL_H

#include "kernels/conv/conv_small_cin.h"
#include "kernels/conv/conv_pw.h"

struct inverted_residual {
    uint32_t batch, c, h, w, m, o, oh, ow; /* h, w: of the expanded image */
    uint32_t depth;                        /* weights that make an expanded element */
    bool wide;                             /* the first convolution has windows: */
    struct conv_small_cin few;
    uint64_t image, offsets, floats; /* the copy of X under a window and few.offsets in worker scratch; all of it */
    const struct kern_inverted_residual *p;
    int64_t x_step, y_step; /* from pixel to pixel */
    uint32_t middle, out;   /* m and o in whole panels */
    uint32_t line;          /* pixels of an expanded row, padding included */
    uint32_t pitch;         /* floats from result to result of a pixel */
    uint32_t band;          /* output rows whose depthwise results are held at once */
    uint32_t taps;
    uint64_t b1, wd, w2, b2, packed; /* offsets among packed parameters, and their number */
    uint64_t held;                   /* floats of all rings: [panels][rows of a window][line][panel] */
    struct conv_pw_epilogue epilogue;
};

/* false: shapes that do not fit together, or an op that the fast rows do not take. `lanes`: of a vector. */
bool inverted_residual_init(const struct kern_op *op, uint32_t lanes, struct inverted_residual *out);

/* Sizes agree, and the parameters are as many as they must be. */
bool inverted_residual_shape(const struct kern_op *op, struct inverted_residual *out);

#endif
