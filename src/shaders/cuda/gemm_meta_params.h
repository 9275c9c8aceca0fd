/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of matrix products by metacommands. Included by C and CUDA. */
#ifndef SHADERS_CUDA_GEMM_META_PARAMS_H
#define SHADERS_CUDA_GEMM_META_PARAMS_H

#include "shaders/cuda/meta.h"

#define GEMM_B_VECTORS  1u  /* B has 16-byte vectors along K or N, */
#define GEMM_B_ALONG_K  2u  /* its neighbours are along K */
#define GEMM_Y_VECTORS  4u  /* Y has 8-byte vectors along N */
#define GEMM_Y_ALONG_M  8u  /* or M */
#define GEMM_TRANSPOSED 16u /* channels of the epilogue are along M */
#define GEMM_BFLOAT16   32u /* A, B, and Y unless it is FLOAT32 */
/* Of large ones: */
#define GEMM_QUICK                                                                                                     \
    64u /* no C; the epilogue adds the early operands in their order, and has at most one step more, without an        \
           operand */
#define GEMM_PLAIN                                                                                                     \
    128u /* GEMM_QUICK with vectors of Y along N, and no more steps than one of META_RELU, META_CLAMP, META_SWISH and  \
            META_GELU */

/* Operands of the epilogue that are loaded before sums are there. */
#define GEMM_EARLY 2

/* Packed B: [batch, N / 256, K / 16, 32, 2, 8, 8] elements, zeros behind its ends, along K up to a multiple of 128: for
 * each 16 rows and 8 columns two matrices of 8 columns x 8 rows. Of 32 rows, column t * 2 + e of matrix c of 16 h has
 * row 8t + 4h + 2c + e. Of 32 columns, column t * 2 + e of the matrices j of 4 is 8t + 2j + e. */
#define GEMM_PACKED_N     256
#define GEMM_PACKED_K     128
#define GEMM_PACKED_BYTES 8192 /* of 16 rows */
#define GEMM_RING_BYTES   40960

/* Packed as fragments: [batch, N / 8, K / 32, 8, 32] elements, zeros behind K's end. */
#define GEMM_FRAGMENT_BYTES 512 /* of 32 rows and 8 columns */

/* Strides in elements. Batches have up to two dimensions, the second one of batch_size elements. */
struct gemm_meta_params {
    u64 a, b, c, y, counters; /* counters: of `turn`; 0: the dispatch is in no chain */
    u64 parts; /* FLOAT32 sums of each part of K, of large ones: [splits, batches, m, part_line]; 0: there is one */
    struct meta_epilogue epilogue;
    u32 m, n, k, flags;
    i32 a_m, a_k, b_k, b_n, c_m, c_n, y_m, y_n;
    i32 a_batch[2], b_batch[2], c_batch[2], y_batch[2];
    u32 batch_size;
    u32 tiles_m, tiles_n, batches;
    u32 early[GEMM_EARLY]; /* 1 + steps whose operands are vectors, as Y's are or, of large kernels, along N */
    u32 group;             /* rows of tiles that workgroups take together */
    u32 c_type, y_type;
    float alpha, beta;
    struct meta_turn turn;
    u32 packed_batch;                   /* 16 bytes of packed B from one batch to the next; 0: there is one for all */
    u32 splits, split_depth, part_line; /* split_depth: elements of each part, a multiple of GEMM_PACKED_K */
};
#define GEMM_PART_COLUMNS 64 /* part_line is a multiple */
#define GEMM_ADDRESSES    (6 + META_EPILOGUE_STEPS)

#endif
