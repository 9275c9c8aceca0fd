/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of norm_meta.cu and meta_zero.cu. Included by C and CUDA. */
#ifndef SHADERS_META_NORM_META_PARAMS_H
#define SHADERS_META_NORM_META_PARAMS_H

#include "shaders/meta/meta.h"

#define NORM_META_ROWS 4 /* of a workgroup, each a warp's */
#define NORM_META_SIZE 1024

struct norm_meta_params {
    u64 x, scale, bias, y, counters;
    u32 rows, size;   /* elements of a row, a multiple of 8 */
    i32 x_row, y_row; /* in elements */
    struct meta_turn turn;
    float epsilon;
    u32 unused;
};

struct meta_zero_params {
    u64 at;
    u32 words, unused;
};

#endif
