/* SPDX-License-Identifier: Apache-2.0 */
/* A tile of a product: a few rows of A times a part of B, sums in registers; included once per instruction set. */
#ifndef KERNELS_GEMM_TILE_H
#define KERNELS_GEMM_TILE_H

#include "kernels/gemm/ukernel.h"

/* As many sums as there are registers for. */
#if defined(__AVX512F__)
#define GEMM_TILE_VECS 3
#define GEMM_TILE_ROWS 8
#elif defined(__aarch64__)
#define GEMM_TILE_VECS 4
#define GEMM_TILE_ROWS 6
#else
#define GEMM_TILE_VECS 2
#define GEMM_TILE_ROWS 6
#endif
#define GEMM_TILE_COLUMNS (GEMM_TILE_VECS * VEC)

/* Rows of B, GEMM_TILE_COLUMNS elements each, and how what comes next is fetched: `lines` cache lines at every fourth
 * step of k. */
struct gemm_tile_part {
    const char *b;
    uint32_t depth, lines;
    const char *next;
    bool add;        /* to the sums that there are */
    uint32_t across; /* elements from one row of sums to the next */
};

/* sums[m][0 .. columns) (+)= a[m] * b for `rows` rows. */
DENSE_INLINE void gemm_tile(uint32_t rows, DML_TENSOR_DATA_TYPE type, const struct gemm_tile_part *part,
                            const float *const *a, uint32_t k0, float *sums, const char *next)
{
    const float *row[GEMM_TILE_ROWS];
#pragma GCC unroll 8
    for (uint32_t m = 0; m < rows; m++)
        row[m] = a[m] + k0;
    ukernel(&(struct ukernel){ .rows = rows,
                               .vecs = GEMM_TILE_VECS,
                               .splits = rows == 1   ? 4
                                         : rows == 2 ? 2
                                                     : 1,
                               .group = 4,
                               .b_type = type,
                               .depth = part->depth,
                               .a_rows = row,
                               .b = part->b,
                               .b_row = GEMM_TILE_COLUMNS,
                               .next = next,
                               .next_lines = part->lines,
                               .next_step = 64 * part->lines,
                               .c = sums,
                               .c_row = part->across,
                               .add = part->add });
}

DENSE_INLINE void gemm_tile_rows(DML_TENSOR_DATA_TYPE type, uint32_t rows, const struct gemm_tile_part *part,
                                 const float *const *a, uint32_t k0, float *sums, const char *next)
{
    UKERNEL_BY_COUNT(rows, GEMM_TILE_ROWS, gemm_tile, type, part, a, k0, sums, next)
}

#endif
