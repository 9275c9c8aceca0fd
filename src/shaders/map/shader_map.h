/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the kernels for element-wise programs. */
#ifndef SHADERS_MAP_SHADER_MAP_H
#define SHADERS_MAP_SHADER_MAP_H

#include "shaders/shader.h"

/* The compute type that register `reg` of the op's program has. */
uint32_t shader_map_register_type(const struct kern_op *op, uint32_t reg);

/* The unsigned type of the same width: moves copy bits. */
uint32_t shader_move_type(DML_TENSOR_DATA_TYPE type);

/* The op itself or, if its results are only selected among 16-bit floating-point numbers, an op in `storage` that
 * treats these as integers: a device's conversions to FLOAT32 and back need not preserve a NaN's bits. */
const struct kern_op *shader_map_bits(const struct kern_op *op, struct kern_op *storage);

/* Of the consecutive shaders <name>, <name>_i64 and <name>_f64 of shaders.def, the one that supports all types of the
 * op's tensors and registers. */
enum shader_code shader_map_variant(enum shader_code plain, const struct kern_op *op);

#endif
