/* SPDX-License-Identifier: Apache-2.0 */
/* What rows share whose parameter block is that of core/block.h: obstacles, dispatches, the block itself. */
#ifndef SHADERS_CORE_SHADER_BLOCK_H
#define SHADERS_CORE_SHADER_BLOCK_H

#include "kernels/core/epilogue.h"
#include "shaders/core/block.h"
#include "shaders/shader.h"

#define SHADER_GROUP_SIZE 256  /* invocations, unless a shader says otherwise */
#define SHADER_GROUPS_MAX 4096 /* of one dispatch; workgroups then take several units each */

/* Why no shader with this block takes the op, else NULL: elements beyond 2^31 strides. */
const char *shader_size_obstacle(const struct kern_op *op);
/* The same of shaders that take no epilogues. */
const char *shader_block_obstacle(const struct kern_op *op);

/* ---- epilogues, of shaders that include core/epilogue.glsl ---- */

/* The first of two specialization constants. */
#define SHADER_STEPS_CONSTANT 6

/* Why they do not take the op's epilogue, else NULL. */
const char *shader_epilogue_obstacle(const struct kern_op *op);
/* The epilogue as such steps; false: they do not take it. */
bool shader_epilogue_match(const struct kern_op *op, struct kern_epilogue *out);
/* To the dispatch that stores the results; its own constants are set. */
void shader_epilogue_add(const struct kern_op *op, struct shader_dispatch *out);
/* Bit i: step i has a tensor. */
uint32_t shader_epilogue_tensors(const struct kern_op *op);
/* For shader_add() and shader_block_write(): the room of the steps in the block. */
uint32_t shader_epilogue_bytes(const struct kern_op *op);
void shader_epilogue_write(const struct kern_op *op, struct shader_step *out);

/* ---- dispatches ---- */

/* Shaders in up to three variants that follow one another in shaders.def, <name>, <name>_i64 and <name>_f64: the one
 * whose arithmetic the types of the op's tensors need. */
enum shader_code shader_variant(enum shader_code plain, const struct kern_op *op);

/* The same in two, <name> and <name>_f64, for arithmetic in REAL: where types have 64 bits, the second. */
enum shader_code shader_real_variant(enum shader_code plain, const struct kern_op *op);

/* Adds a dispatch of `units`, one per invocation (group_size > 1) or one per workgroup (1), with parameters of so many
 * bytes. Of much work the types become specialization constants 0 and 1: a pipeline of its own is faster, but takes a
 * driver 10 to 500 ms to make; constant_count is 2. */
struct shader_dispatch *shader_add(struct shader_work *work, enum shader_code code, const struct kern_op *op,
                                   uint64_t units, uint32_t group_size, size_t parameter_bytes);

/* Makes the types constants, as shader_add() does, of so much work, in units of its own. */
void shader_specialize(const struct kern_op *op, uint64_t work, struct shader_dispatch *out);

/* Whether that is much work: worth pipelines of its own. */
bool shader_specializes(uint64_t work);

/* For tests: other than the usual number of units from which shader_add() makes the types constants. */
void shader_specialize_from(uint64_t units);

/* Of 1 to 2^31: n / size = (n * factor / 2^32 + n) / 2^shift for n below 2^31. */
static inline struct shader_divisor shader_divisor(uint32_t size)
{
    uint32_t shift = 0;
    while (shift < 31 && 1u << shift < size)
        shift++;
    return (struct shader_divisor){ size, (uint32_t)((((UINT64_C(1) << shift) - size) << 32) / size + 1), shift };
}

/* Fills the block of a dispatch that shader_add() made; `parameters` may be NULL when there are none. `units` as there.
 */
void shader_block_write(const struct kern_op *op, const struct shader_place *places, uint64_t units,
                        const void *parameters, size_t parameter_bytes, uint32_t *words);

#endif
