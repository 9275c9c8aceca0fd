/* Transposed convolutions whose windows lie side by side: strides equal the kernel's sizes, nothing is cut. Each input
 * pixel makes kernel[1] x kernel[2] output pixels of its own, so that this is one product, whose results are put in
 * place as they leave the registers or the first-level cache. Where channels lie innermost, results of a kernel row for
 * neighbouring pixels follow one another in Y: tiles of conv_pw_tile.h. Elsewhere vectors hold pixels, and the results
 * of a kernel row's elements are interleaved into output rows. */
#ifndef KERNELS_CONV_UP_H
#define KERNELS_CONV_UP_H

#include "kernels/conv/conv.h"
#include "kernels/conv/conv_pw.h"

#define CONV_UP_ROWS 4 /* results of a pixel that a tile holds */

struct conv_up {
    struct conv_shape s;
    bool last;           /* channels innermost in Y */
    bool copies;         /* X is brought into pixels or planes first */
    int64_t rows, bands; /* input rows of a band; bands of an image */
    int64_t pitch;       /* pixels of a band, whole vectors */
    /* Planes: output rows (of a channel, of a kernel row) that are made at once, tiles of their results, such groups.
     */
    int64_t lines, tiles, groups;
    int64_t width, panels; /* last: columns of a panel; panels of a kernel row */
    int64_t columns;       /* all results of a pixel, whole tiles or panels */
    struct conv_pw_epilogue tile_epilogue;
    /* places in the worker's scratch, in floats; weights: when they are not packed once */
    int64_t image, bias, sums, line, weights, epilogue, floats;
};

/* false: not such a convolution. `lanes`: of a vector. */
bool conv_up_init(const struct kern_op *op, uint32_t lanes, struct conv_up *out);
void conv_up_pack(const struct kern_op *op, const struct conv_up *u, const void *source, float *packed);

/* Output channel, kernel row and kernel column of a result, as column `i` of the packed weights; false: of none. */
bool conv_up_column(const struct conv_up *u, int64_t i, int64_t *out_place);

#endif
