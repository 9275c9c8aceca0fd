/* SPDX-License-Identifier: Apache-2.0 */
/* What rows of convolutions by metacommands share. */
#ifndef SHADERS_META_SHADER_CONV_META_H
#define SHADERS_META_SHADER_CONV_META_H

#include "shaders/conv/shader_conv.h"
#include "shaders/cuda/conv_meta_params.h"
#include "shaders/meta/shader_meta.h"

/* All but addresses, tiles, and what the epilogue is. */
struct conv_meta_params shader_conv_meta_parameters(const struct kern_op *op, const struct conv_params *conv);

/* NULL, or why the kernels, which multiply pixels of planes, cannot compute it. */
const char *shader_conv_meta_shape_obstacle(const struct conv_shape *s);

#endif
