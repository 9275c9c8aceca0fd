/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of convolutions. Included by C and GLSL (core/block.h). */
#ifndef SHADERS_CONV_PARAMS_H
#define SHADERS_CONV_PARAMS_H

#include "shaders/gemm/tile_params.h"

/* struct conv_shape (kernels/conv/conv.h): three spatial dimensions, missing outer ones have size 1. */
struct conv_params {
    int in_sizes[3], out_sizes[3], kernel[3], steps[3], dilations[3], pad[3];
    int x[5], w[5], y[5];                   /* strides of batch or channel or w's dimension 0, of channels, of space */
    int bias_step, zero_step;               /* from channel to channel */
    uint in_group, out_group, out_channels; /* channels, of one group and of all */
    SHADER_STRUCT shader_divisor by_channels, by_in_group, by_out[3]; /* out_channels, in_group, out_sizes */
    SHADER_STRUCT shader_divisor by_window, by_plane, by_line;        /* the window's size, of 3, 2 and 1 dimensions */
    uint transposed, flip;
    int bias, x_zero, w_zero; /* tensors, -1 = absent */
};

/* Tiled GEMM; channels_first: sums run over channels first, then over the window. */
struct conv_tile_params {
    SHADER_STRUCT tile_params tile;
    SHADER_STRUCT conv_params conv;
    uint channels_first;
};

/* Blocks of sums of the pixels of all images, whose number is batch: channels_first as above; images_first: neighbours
 * among the columns are the same pixel of neighbouring images. */
struct conv_block_params {
    SHADER_STRUCT tile_params tile;
    SHADER_STRUCT conv_params conv;
    uint channels_first, images_first;
    SHADER_STRUCT shader_divisor by_images, by_pixels;
};

/* Small tiles: m pixels of all images, by_pixels in each, n channels of a group, k elements of a window, which are
 * all_chunks chunks, of which a workgroup sums `chunks`. Workgroups are numbered by tiles along pixels, along channels,
 * groups and splits. For conv_depth.comp, tiles are four channels of a pixel; for conv_strip.comp, tiles_n are vectors
 * of adjacent channels, tiles_m strips of a line, splits the images. */
struct conv_parts_params {
    SHADER_STRUCT conv_params conv;
    uint m, n, k, splits, chunks, all_chunks;
    SHADER_STRUCT shader_divisor by_pixels, by_tiles_m, by_tiles_n, by_splits;
    uint channels_first;
};

/* Of conv_window.comp: tiles are numbered along x, y, channels, groups and images. */
struct conv_window_params {
    SHADER_STRUCT conv_params conv;
    SHADER_STRUCT shader_divisor by_pixels, by_tiles_x, by_tiles_y, by_tiles_n, by_groups;
    uint m; /* pixels of all images */
};

/* Of conv_winograd.comp: squares of 2 x 2 results, by_squares of an image, by_columns of a line; tiles_n blocks of
 * output channels; chunks of input channels. */
#define CONV_WINOGRAD_SQUARES  32u /* of a workgroup, */
#define CONV_WINOGRAD_CHANNELS 64u
#define CONV_WINOGRAD_CHUNK    4u
struct conv_winograd_params {
    SHADER_STRUCT conv_params conv;
    SHADER_STRUCT shader_divisor by_pixels, by_squares, by_columns, by_tiles_n;
    uint m, squares, chunks;
};

#define CONV_DEPTH_GROUP   128 /* GROUP_SIZE of conv_depth.comp and conv_strip.comp */
#define CONV_STRIP_RESULTS 4   /* pixels of an invocation of conv_strip.comp */

#define CONV_DIRECT_RESULTS 4
#define CONV_DIRECT_LINE    16

/* channels_last: channels of a pixel are adjacent in memory. by_units: division by the number of units of a line of the
 * result, of one element or CONV_DIRECT_RESULTS, which read at most CONV_DIRECT_LINE elements of X. */
struct conv_direct_params {
    SHADER_STRUCT conv_params conv;
    SHADER_STRUCT shader_divisor by_units;
    uint channels_last;
};

/* struct kern_inverted_residual, one stage of it. The parts of the parameters start at these elements of tensor 1; D
 * starts at byte `depthwise` of the scratch memory, after E. */
struct inverted_residual_params {
    uint stage, middle, channels, outputs;
    int first[2], first_steps[2], first_start[2], image[2], window[2], steps[2], pad[2], out_sizes[2], in_sizes[2];
    int w1, b1, wd, bd, w2, b2;
    uint depthwise;
    uint bounds[2];
    float low[2], high[2];
};

#endif
