/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of conv_pack.cu. Included by C and CUDA. */
#ifndef SHADERS_CUDA_CONV_PACK_PARAMS_H
#define SHADERS_CUDA_CONV_PACK_PARAMS_H

#include "shaders/cuda/conv_meta_params.h"

#define CONV_PACK_PIXELS   64 /* of a workgroup, and channels */
#define CONV_PACK_CHANNELS 64

/* A tensor of 2-byte numbers, of images or filters, in rows and columns: `pixels` in all, each of blocks of
 * by_block.size channels, of which the first `channels` are in the tensor: for each group of channels, by_taps.size
 * blocks, from planes z * step - pad + tap * dilation, of which those outside of in_depth are zeros; z is an image's
 * number in those of a volume, of which there are by_depth.size. Strides in elements. */
struct conv_pack_tensor {
    u32 pixels, packed_channels, channels;  /* packed_channels: of all blocks, a multiple of 8 */
    i32 image, plane, row, column, channel; /* strides */
    i32 step, pad, dilation, in_depth;
    u32 along_pixels;   /* neighbours in memory are pixels */
    u32 tiles_n, tiles; /* workgroups along channels, and all */
    struct conv_meta_divisor by_pixels, by_column, by_block, by_taps, by_depth;
};

/* From any order to channels innermost, with zeros as further channels, of X and W. */
struct conv_pack_params {
    u64 from[2], to[2];
    struct conv_pack_tensor tensors[2];
};

#endif
