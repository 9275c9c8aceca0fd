/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of igemm_pack.cu and igemm.cu. Included by C and CUDA. */
#ifndef SHADERS_CUDA_IGEMM_PARAMS_H
#define SHADERS_CUDA_IGEMM_PARAMS_H

#include "shaders/cuda/meta.h"

#define IGEMM_CHUNK   256 /* of K: what a block packs */
#define IGEMM_COLUMNS 128 /* likewise */

/* B [K, N] of each batch to scratch memory: signed bytes in tiles of `tile` columns, in which every 32 of K are core
 * matrices of 8 columns x 16 bytes, two of them one behind the other, in the order of K that igemm.cu reads A in; zeros
 * outside. sums: of each column, [chunks of K, batches, columns]. */
struct igemm_pack_params {
    u64 b, packed, sums;
    i64 batch_stride[2]; /* bytes; batch = i0 * batches1 + i1 */
    i64 stride_k, stride_n;
    u32 batches, batches1, k, n, tile;
    u32 columns, depth; /* N and K as they are packed */
    u32 flip;           /* 0x80808080: they are unsigned; else 0 */
};

/* Y = sum of (A - a_zero[m]) * (B - b_zero[n]), INT32: of each of `splits` of `part` of K by itself, [splits, ...]. */
struct igemm_params {
    u64 a, packed, sums, y, a_zero, b_zero;
    i64 a_row, a_batch[2], y_row, y_batch[2], y_split; /* elements */
    u32 m, n, k;
    u32 columns, depth, part; /* B as it is packed; part: a multiple of IGEMM_CHUNK */
    u32 splits, batches, batches1;
    u32 b_batches;                    /* 1: all batches have one B */
    u32 a_flip, b_flip;               /* as above */
    i32 a_zero_stride, b_zero_stride; /* 0: one for all; no zero points: the address is 0 */
    u32 group;                        /* rows of tiles that are walked together */
    u32 unused;
};

#endif
