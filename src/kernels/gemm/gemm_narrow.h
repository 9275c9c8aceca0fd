/* SPDX-License-Identifier: Apache-2.0 */
/* FLOAT32 GEMM of many rows and few columns: vectors are of rows, since those of columns would be mostly empty. */
#ifndef KERNELS_GEMM_NARROW_H
#define KERNELS_GEMM_NARROW_H

#include "kernels/gemm/gemm.h"

#define GEMM_NARROW_COLUMNS 8   /* most of Y */
#define GEMM_NARROW_ROWS    256 /* most of a block: whole vectors of every instruction set */
#define GEMM_NARROW_PITCH   272 /* between steps of k: lines of a column do not share a set of the cache */
#define GEMM_NARROW_DEPTH   32  /* steps of k at once: a block of A stays in the first-level cache */

struct gemm_narrow {
    uint64_t batches, rows, blocks; /* batches that share B are one with more rows if the other tensors allow it */
    uint32_t n, k, block_rows;
    int64_t row[KERN_TENSORS_MAX]; /* elements between rows of each tensor except for B */
    bool adds, adds_row;           /* C; which is one row for all rows */
    bool turned;                   /* rows of Y are adjacent: sums are stored as columns, without the block of rows */
    /* Offsets in the worker's scratch, in floats. A block, and blocks with one row repeated: C's, and those of each
     * input of the epilogue. */
    uint64_t a, b, c, block, added, same, epilogue;
    uint64_t bytes;
};

void gemm_narrow_init(const struct kern_op *op, struct gemm_narrow *out);
#endif
