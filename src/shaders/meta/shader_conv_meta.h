/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by kernels for convolutions by metacommands. */
#ifndef SHADERS_META_SHADER_CONV_META_H
#define SHADERS_META_SHADER_CONV_META_H

#include "shaders/conv/shader_conv.h"
#include "shaders/cuda/conv_meta_params.h"
#include "shaders/meta/shader_meta.h"

/* Of this number of images in one group: everything except for addresses, tiles, and the epilogue. */
struct conv_meta_params shader_conv_meta_parameters(const struct conv_params *conv, uint32_t images);

/* NULL, or the reason why kernels that multiply windows of one plane cannot compute it. */
const char *shader_conv_meta_shape_unsupported(const struct conv_shape *s);

#endif
