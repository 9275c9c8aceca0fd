/* Convolutions with few output channels, stride 1. Vectors are of neighbouring pixels: vectors of output channels, as
 * libraries have them, would be mostly empty. The work is cut in bands of rows and columns, of which the inputs are
 * copied with their padding. */
#ifndef KERNELS_CONV_SMALL_COUT_H
#define KERNELS_CONV_SMALL_COUT_H

#include "kernels/conv/conv.h"

#define CONV_SMALL_COUT_CHANNELS 4  /* most output channels */
#define CONV_SMALL_COUT_LANES    16 /* the widest vectors: bands do not depend on the instruction set */
#define CONV_SMALL_COUT_VECS     8  /* most vectors of pixels for each output channel */

struct conv_small_cout {
    struct conv_shape s;
    int64_t rows, columns;        /* outputs of a band; columns are whole vectors of the widest */
    int64_t bands[2];             /* of an image */
    int64_t in_rows, pitch;       /* its inputs: [channel][in_rows][pitch] */
    uint64_t weights, bias, sums; /* where these start in worker scratch, floats; the inputs at 0 */
    uint64_t floats;
};

/* false when the op is not of this kind. */
bool conv_small_cout_init(const struct kern_op *op, struct conv_small_cout *out);

#endif
