/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the kernels that pool images by vectors (pool_last, pool_plane). */
#ifndef SHADERS_POOL_SHADER_POOL_H
#define SHADERS_POOL_SHADER_POOL_H

#include "kernels/pool/pool.h"
#include "shaders/core/shader_block.h"

/* NULL: averages or maxima of images of FLOAT32, FLOAT16 or BFLOAT16, with `bytes` also maxima of bytes, with window
 * steps that fit 16 bits; `out` is their shape. */
const char *shader_pool_image_unsupported(const struct kern_op *op, bool bytes, struct pool_shape *out);

/* 0 for dimensions without movement. */
static inline int shader_pool_stride(int64_t stride, int64_t size)
{
    return size > 1 ? (int)stride : 0;
}

#endif
