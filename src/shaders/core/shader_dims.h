/* SPDX-License-Identifier: Apache-2.0 */
/* An op's dimensions in another order, or merged, for kernels whose result does not depend on it. All tensors have one
 * rank. */
#ifndef SHADERS_CORE_SHADER_DIMS_H
#define SHADERS_CORE_SHADER_DIMS_H

#include "shaders/shader.h"

/* The stride without its sign. */
uint64_t shader_dims_distance(const struct kern_view *view, uint32_t d);

/* Appends the view's dimensions inside `axes` (bits) to `order`, which has `count`, without those of size 1; sorted:
 * largest stride first. Returns the new count. */
uint32_t shader_dims_pick(const struct kern_view *view, uint32_t axes, bool sorted, uint32_t *order, uint32_t count);

/* All tensors have these dimensions then, in this order. */
void shader_dims_permute(struct kern_op *op, const uint32_t *order, uint32_t count);

/* Merges adjacent dimensions from first to *end - 1 that are contiguous in every tensor; tensor 0's sizes are used. */
void shader_dims_merge(struct kern_op *op, uint32_t first, uint32_t *end);

#endif
