/* SPDX-License-Identifier: Apache-2.0 */
/* What the rows of element-wise programs share. */
#ifndef SHADERS_MAP_SHADER_MAP_H
#define SHADERS_MAP_SHADER_MAP_H

#include "shaders/shader.h"

/* Operands of each operation. */
extern const uint8_t shader_map_arity[KERN_MAP_CODE_COUNT];

/* The compute type that register `reg` of the op's program has. */
uint32_t shader_map_register_type(const struct kern_op *op, uint32_t reg);

/* The unsigned type of the same width: moves copy bits. */
uint32_t shader_move_type(DML_TENSOR_DATA_TYPE type);

/* The op itself or, of one whose results only are chosen among 16-bit floating-point numbers, one in `storage` that
 * takes these for integers: a device's conversions to FLOAT32 and back need not keep a NaN's bits. */
const struct kern_op *shader_map_bits(const struct kern_op *op, struct kern_op *storage);

/* Of the shaders <name>, <name>_i64 and <name>_f64, which follow one another in shaders.def, the one that has all types
 * of the op's tensors and registers. */
enum shader_code shader_map_variant(enum shader_code plain, const struct kern_op *op);

#endif
