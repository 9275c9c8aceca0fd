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
    uint transposed, flip;
    int bias, x_zero, w_zero; /* tensors, -1 = absent */
};

/* Products by tiles; channels_first: sums run over channels, and then over the window. */
struct conv_tile_params {
    STRUCT tile_params tile;
    STRUCT conv_params conv;
    uint channels_first;
};

/* channels_last: in memory, channels of a pixel are neighbours. */
struct conv_direct_params {
    STRUCT conv_params conv;
    uint channels_last;
};

#endif
