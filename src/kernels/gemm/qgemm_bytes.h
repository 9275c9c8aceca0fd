/* SPDX-License-Identifier: Apache-2.0 */
/* Quantised weights times X in 8 bits, if the caller allows it: a group of a row of X is rounded to 8 bits relative to
 * its largest element; its sums of products with codes are exact integers. */
#ifndef KERNELS_QGEMM_BYTES_H
#define KERNELS_QGEMM_BYTES_H

#include "kernels/gemm/qgemm.h"

/* A group of X in scratch. Its bytes follow, a multiple of 8 of them: of codes with 4 bits, the elements 0, 2, 4, 6, 1,
 * 3, 5, 7 of each eight, since the low halves of a word are the elements 0, 2, 4, 6 of its column. */
struct qgemm_bytes_group {
    float scale; /* NaN: an element is not finite, so that sums are NaN */
    /* Initial sums: the negated sum of the bytes, times the offset that makes codes unsigned; or, for zero points, that
     * sum as pairs of 16 bits, for a pair of the zero point and 128 times it. */
    int32_t begin;
};

#define QGEMM_BYTES_ROWS    64      /* maximum rows of X at once: each thread rounds its own */
#define QGEMM_BYTES_A       1048576 /* bytes of X that stay in the second-level cache */
#define QGEMM_BYTES_DEPTH   256     /* of a part whose codes are converted to bytes in the first-level cache */
#define QGEMM_BYTES_BLOCK   32768   /* maximum rows of a group whose sums fit */
#define QGEMM_BYTES_PANELS  2       /* that are multiplied with a part */
#define QGEMM_BYTES_COLUMNS (QGEMM_BYTES_PANELS * KERN_QGEMM_COLUMNS)
#define QGEMM_BYTES_SUMS    65536 /* bytes of sums between two epilogues */

struct qgemm_bytes_shape {
    uint32_t blocks, block_rows, units;            /* units: pairs of panels of a block of rows */
    uint32_t chunk;                                /* units between two epilogues */
    uint32_t groups;                               /* of a part; 0: codes are read in place */
    uint64_t row;                                  /* bytes of a row of X in scratch */
    uint64_t a, part, sums, line, epilogue, bytes; /* offsets in the worker's scratch */
};

void qgemm_bytes_shape_init(const struct kern_op *op, const struct qgemm_shape *shape, struct qgemm_bytes_shape *out);

#endif
