/* SPDX-License-Identifier: Apache-2.0 */
/* FLOAT32 GEMM with factors of 16 or 32 bits that are not constant. */
#ifndef KERNELS_GEMM_PLAIN_H
#define KERNELS_GEMM_PLAIN_H

#include "kernels/gemm/gemm.h"

#define GEMM_PLAIN_COLUMNS 48  /* of a unit: whole tiles of every instruction set */
#define GEMM_PLAIN_GROUP   4   /* adjacent units that are one block, for which A is read once */
#define GEMM_PLAIN_ROWS    192 /* most of a block */
#define GEMM_PLAIN_FEW     16  /* number of rows up to which B is read in place, if it can be */
#define GEMM_PLAIN_DEPTH   256 /* steps of k at once */
#define GEMM_PLAIN_PITCH   (GEMM_PLAIN_COLUMNS * GEMM_PLAIN_GROUP)

struct gemm_plain {
    uint64_t batches, rows, blocks,
        panels; /* batches that share B are merged into one with more rows if A and Y allow it */
    uint32_t n, k, block_rows;
    int64_t a_row, y_row;
    bool direct;                /* sums are results */
    uint64_t a, b, c, epilogue; /* offsets in the worker's scratch, in floats */
};

void gemm_plain_init(const struct kern_op *op, struct gemm_plain *out);

#endif
