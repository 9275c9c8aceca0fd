/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of GEMM with quantised weights. Included by C and GLSL. */
#ifndef SHADERS_QGEMM_PARAMS_H
#define SHADERS_QGEMM_PARAMS_H

#include "shaders/gemm/tile_params.h"

/* struct qgemm_shape, and the number of the tensor of zero points: -1 = none. */
struct qgemm_params {
    uint k, block, groups, depth;
    uint word; /* rows of a word: 4, of 4-bit codes 8 */
    int zeros;
};

/* By tiles, or by panels with few rows: then a split has this many rows of words. */
struct qgemm_tile_params {
    SHADER_STRUCT tile_params tile;
    SHADER_STRUCT qgemm_params qgemm;
    SHADER_STRUCT shader_divisor by_block, by_words;
    uint words; /* rows of them in a group */
    uint split_words;
};

#endif
