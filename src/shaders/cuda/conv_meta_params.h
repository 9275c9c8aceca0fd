/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of the convolutions of metacommands. Included by C and CUDA. */
#ifndef SHADERS_CUDA_CONV_META_PARAMS_H
#define SHADERS_CUDA_CONV_META_PARAMS_H

#include "shaders/cuda/meta.h"

/* n / size = (n * factor / 2^32 + n) / 2^shift for n below 2^31 (struct shader_divisor). */
struct conv_meta_divisor {
    u32 size, factor, shift;
};

/* An implicit product of m pixels of all images, n output channels and a depth k of taps and, within each, input
 * channels; of `groups` groups of channels, if there are several. Strides are in elements; those of W between output
 * channels and between elements of the depth's two parts. Steps of the epilogue have their strides, whatever their
 * place is. */
struct conv_meta_params {
    u64 x, w, y, bias;
    u64 counters; /* of `turn`; 0: the dispatch is in no chain */
    u64 parts; /* of conv_large.cu: FLOAT32 sums of each part of the depth, [splits, m, part_line]; 0: there is one */
    struct meta_epilogue epilogue;
    u32 m, n, k;
    i32 in_height, in_width, step_y, step_x, pad_y, pad_x, dilation_y, dilation_x;
    i32 x_image, x_channel, x_row, x_column;
    i32 w_out, w_channel, w_row, w_column;
    i32 y_image, y_channel, y_row, y_column;
    i32 r_image, r_channel, r_row, r_column; /* of what conv_halo.cu adds */
    i32 bias_step;
    struct conv_meta_divisor by_pixels, by_column, by_channels, by_line; /* of Y's image and row; of X; the window's */
    u32 tiles_m, tiles;                                                  /* along pixels, and all */
    u32 wide_y; /* neighbouring channels of Y are vectors, as are those of the bias */
    u32 out_height, out_width;
    float low, high; /* bounds of Y */
    u32 vectors;     /* bits: steps of the epilogue whose operands are vectors of FLOAT16 as Y's results are, if wide */
    u32 residual;    /* 1 + the first one of them; 0: there is none */
    u32 second;      /* likewise */
    u32 groups;
    i32 x_group; /* the stride of X */
    u32 flags;   /* CONV_INT_... */
    struct meta_turn turn;
    u32 splits, split_depth; /* of conv_large.cu: parts, and elements of the depth of each of them */
    u32 part_line;           /* channels in vectors of eight */
};
#define CONV_META_ADDRESSES (6 + META_EPILOGUE_STEPS)

/* Of conv_int.cu: X, W are without a sign, Y is bytes. Zero points take the places of the epilogue's last operands;
 * that of W has the step r_channel from channel to channel. */
#define CONV_INT_X_UNSIGNED 1u
#define CONV_INT_W_UNSIGNED 2u
#define CONV_INT_BYTES      4u
#define CONV_INT_QUANTIZES  8u /* by the epilogue min(max(rint(sum * scale) + zero, low), high) */
#define CONV_INT_STEPS      (META_EPILOGUE_STEPS - 2)
#define CONV_INT_X_ZERO     (META_EPILOGUE_STEPS - 2)
#define CONV_INT_W_ZERO     (META_EPILOGUE_STEPS - 1)

#endif
