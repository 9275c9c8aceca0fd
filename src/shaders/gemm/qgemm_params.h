/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of products with quantised weights. Included by C and GLSL. */
#ifndef SHADERS_QGEMM_PARAMS_H
#define SHADERS_QGEMM_PARAMS_H

#include "shaders/gemm/tile_params.h"

/* struct qgemm_shape, and which tensor holds the zero points: -1 = none. */
struct qgemm_params {
    uint k, block, groups, depth;
    uint word; /* rows of a word: 4, of nibbles 8 */
    int zeros;
};

/* By tiles, or by panels with few rows: then a split is of so many rows of words. */
struct qgemm_tile_params {
    SHADER_STRUCT tile_params tile;
    SHADER_STRUCT qgemm_params qgemm;
    SHADER_STRUCT shader_divisor by_block, by_words;
    uint words; /* rows of them in a group */
    uint split_words;
};

#endif
