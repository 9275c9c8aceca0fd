/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions whose filters have more elements than each plane of the result: gradients of weights. They are GEMMs
 * with K = all elements of a filter: rows are the taps of the forward pass (here pixels of Y) times images (there
 * channels of X), columns are output channels. A row contains the elements of X that one pixel of Y reads. */
#ifndef KERNELS_CONV_GRAD_H
#define KERNELS_CONV_GRAD_H

#include "kernels/conv/conv.h"
#include "kernels/row/window.h"

#define CONV_GRAD_COLUMNS 48  /* of a unit: whole tiles of every instruction set */
#define CONV_GRAD_GROUP   4   /* adjacent units that are one block, for which X is read once */
#define CONV_GRAD_DEPTH   256 /* elements of the filter at once */
#define CONV_GRAD_PITCH   (CONV_GRAD_COLUMNS * CONV_GRAD_GROUP)

struct conv_grad {
    struct conv_shape s;
    int64_t rows, blocks, block_rows, panels;
    int64_t lines;            /* of a filter, all of its channels and planes */
    int64_t together;         /* lines at once, if more than one fit */
    uint64_t a, b, c, floats; /* offsets in the worker's scratch */
};

bool conv_grad_init(const struct kern_op *op, struct conv_grad *out);

/* The same from planes whose lines are contiguous: each element of the result is a dot product of the filter and a
 * plane of X, from padded copies of bands of it, some elements at once. Lanes are added after all channels. */

#define CONV_GRAD_PLANES_TAPS 12 /* maximum elements of the result at once: their sums stay in registers */

struct conv_grad_planes {
    struct conv_shape s;
    struct window w;               /* its outputs are the filter, its kernel the result */
    int64_t taps, together, parts; /* filters that use a band at once; number of such parts of a group */
    uint64_t lines_floats;         /* of a band of the filter that is copied, or 0 */
    /* offsets in the worker's scratch, in floats; sums at 0 */
    uint64_t lines, places, band, floats;
};

bool conv_grad_planes_init(const struct kern_op *op, struct conv_grad_planes *out);

#endif
