/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of norm_meta.cu and meta_zero.cu. Included by C and CUDA. */
#ifndef SHADERS_CUDA_NORM_META_PARAMS_H
#define SHADERS_CUDA_NORM_META_PARAMS_H

#include "shaders/cuda/meta.h"

/* Rows of a workgroup, each a warp's, and of what size at most; of longer rows it has one. */
#define NORM_META_ROWS    4
#define NORM_META_SIZE    1024
#define NORM_META_THREADS 512
#define NORM_META_LONGEST 8192

struct norm_meta_params {
    u64 x, scale, bias, y, counters; /* bias: 0, there is none */
    u32 rows, size;                  /* elements of a row, a multiple of 8 */
    i32 x_row, y_row;                /* in elements */
    struct meta_turn turn;
    float epsilon;
    u32 use_mean; /* 0: it counts as 0 */
};

struct meta_zero_params {
    u64 at;
    u32 vectors, unused; /* of 16 bytes */
};

#endif
