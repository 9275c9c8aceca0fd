/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of tiled GEMM. Included by C and GLSL. */
#ifndef SHADERS_TILE_PARAMS_H
#define SHADERS_TILE_PARAMS_H

#include "shaders/core/block.h"

/* Batches of M x K times K x N. Each is split into tiles, and along K into `splits` of `depth`, a multiple of the
 * tile's; with more than one split, FLOAT32 or INT32 sums are stored to the scratch memory, [splits, batches, M, N],
 * and a second dispatch adds them. The result is alpha * sum + beta * C. */
struct tile_params {
    uint m, n, k, batches;
    uint tiles_m, tiles_n, splits, depth;
    uint a_along_k, b_along_k, y_along_m; /* neighbours in memory are neighbours in this direction */
    float alpha, beta;
    int c, a_zero, b_zero; /* tensors, -1 = absent */
};

/* Of gemm_block.comp: vectors of A and B are along k; tiles end where k ends; four results are stored at once. */
#define GEMM_BLOCK_A_ALONG_K 1u
#define GEMM_BLOCK_B_ALONG_K 2u
#define GEMM_BLOCK_WHOLE     4u
#define GEMM_BLOCK_WIDE_Y    8u

#define GEMM_WIDE_GROUP 512 /* GROUP_SIZE of gemm_line_wide and qgemm_vec_wide */

/* GEMM with a few lines, rows of A or columns of B; they are those of tensor `small`. */
struct vec_params {
    SHADER_STRUCT tile_params tile;
    uint small, lines, columns; /* columns: lines of the other matrix */
    uint slices;                /* invocations for each of them; a power of two */
    uint along_k;               /* neighbours in the large matrix are neighbours along k */
};

#endif
