/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by kernels for convolutions. */
#ifndef SHADERS_CONV_SHADER_CONV_H
#define SHADERS_CONV_SHADER_CONV_H

#include "shaders/conv/conv_params.h"
#include "shaders/core/shader_block.h"
#include "shaders/gemm/shader_tile.h"

#include "kernels/conv/conv.h"
#include "kernels/core/kernel.h"

/* The unsupported reason of all shaders, else NULL and *out. */
const char *shader_conv_unsupported(const struct kern_op *op, struct conv_shape *out);
struct conv_params shader_conv_parameters(const struct kern_op *op);
/* Types of Y of which conv_finish.glsl stores several elements at once. */
static inline bool shader_conv_stores_vectors(DML_TENSOR_DATA_TYPE type)
{
    return type == DML_TENSOR_DATA_TYPE_FLOAT32 || type == DML_TENSOR_DATA_TYPE_FLOAT16 ||
           type == ANYDML_TENSOR_DATA_TYPE_BFLOAT16;
}
/* The epilogue, of dispatches that include conv_finish.glsl. */
void shader_conv_finish(const struct kern_op *op, struct shader_dispatch *out);

/* For tests: also accepts small images, with this line of WINDOW (tuning.def), counted from 1 and cyclically; 0: normal
 * selection. */
void shader_conv_window_force(uint32_t number);
/* For tests: of conv_depth's shaders the one for single pixels (1), for several (2) or for rows of windows (3), if it
 * accepts the op; 0: the best. */
void shader_conv_depth_force(uint32_t shader);
/* For tests: kernels also accept convolutions for which others are faster; returns the setting. */
void shader_conv_force_small(bool small);
bool shader_conv_takes_small(void);

#endif
