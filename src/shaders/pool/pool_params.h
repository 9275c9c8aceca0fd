/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of the shaders that pool. Included by C and GLSL (core/block.h). All views have rank 5: batch, channel,
 * three spatial dimensions, missing outer ones with size 1. */
#ifndef SHADERS_POOL_PARAMS_H
#define SHADERS_POOL_PARAMS_H

#include "shaders/core/block.h"

struct pool_params {
    uint window[3], strides[3], dilations[3], pad[3];
    uint mode, p, include_padding, has_indices, whole_indices; /* struct kern_pool */
    uint x, y;    /* tensors: the one that contains the windows, and the one with an element for each window */
    uint lanes;   /* invocations of a result, a power of 2 to 256 (lines.glsl) */
    uint columns; /* 0 */
    uint scratch; /* POOL_MAX: 1: only the largest elements' positions are needed, in scratch memory */
};

/* For two dimensions in NHWC: strides of images, rows and pixels. */
struct pool_last_params {
    int in_sizes[2], strides[2], dilations[2], pad[2], x[3], y[3];
    SHADER_STRUCT shader_divisor by_quads, by_rows,
        by_columns; /* of the result: four channels, rows, pixels of a row */
    uint include_padding;
};

/* For two dimensions in NCHW: strides of images, channels and rows. */
struct pool_plane_params {
    int in_sizes[2], down, pad[2], x[2], y[2], x_row, y_row;     /* down: rows from window to window */
    SHADER_STRUCT shader_divisor by_quads, by_rows, by_channels; /* of the result: four pixels, rows, channels */
    uint columns, include_padding;
};

/* Strides of images, channels and space. reach: from the first element of a window to its last one. */
struct pool_index_params {
    int dy[5], index[5], dx[5];
    uint pad[3], reach[3], out_sizes[3], channels_last;
    SHADER_STRUCT shader_divisor by_step[3], by_dilation[3], by_in[3], by_channels;
};

#define POOL_LAST_GROUP 128 /* GROUP_SIZE of pool_last.comp */

/* enum kern_pool_mode */
#define POOL_AVERAGE 0
#define POOL_LP      1
#define POOL_MAX     2

#endif
