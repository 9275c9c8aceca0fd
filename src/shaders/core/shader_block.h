/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by kernels whose parameter block is that of core/block.h: unsupported reasons, dispatches, the block
 * itself. */
#ifndef SHADERS_CORE_SHADER_BLOCK_H
#define SHADERS_CORE_SHADER_BLOCK_H

#include "kernels/core/epilogue.h"
#include "shaders/core/block.h"
#include "shaders/shader.h"

#define SHADER_GROUP_SIZE 256  /* invocations, unless a shader declares otherwise */
#define SHADER_GROUPS_MAX 4096 /* of one dispatch; workgroups then process several units each */

/* The reason why no shader with this block accepts the op, else NULL: elements beyond 2^31 strides. */
const char *shader_size_unsupported(const struct kern_op *op);
/* The same for shaders without epilogues. */
const char *shader_block_unsupported(const struct kern_op *op);

/* ---- epilogues, of shaders that include core/epilogue.glsl ---- */

/* The first of two specialization constants. */
#define SHADER_STEPS_CONSTANT 6

/* The reason why they do not accept the op's epilogue, else NULL. */
const char *shader_epilogue_unsupported(const struct kern_op *op);
/* The epilogue as such steps; false: unsupported. */
bool shader_epilogue_match(const struct kern_op *op, struct kern_epilogue *out);
/* For the dispatch that stores the results; its own constants are set. */
void shader_epilogue_add(const struct kern_op *op, struct shader_dispatch *out);
/* Bit i: step i has a tensor. */
uint32_t shader_epilogue_tensors(const struct kern_op *op);
/* For shader_add() and shader_block_write(): the room of the steps in the block. */
uint32_t shader_epilogue_bytes(const struct kern_op *op);
void shader_epilogue_write(const struct kern_op *op, struct shader_step *out);

/* ---- dispatches ---- */

/* Shaders in up to three consecutive variants of shaders.def, <name>, <name>_i64 and <name>_f64: the one with the
 * arithmetic that the types of the op's tensors need. */
enum shader_code shader_variant(enum shader_code plain, const struct kern_op *op);

/* The same with two, <name> and <name>_f64, for arithmetic in REAL: the second for 64-bit types. */
enum shader_code shader_real_variant(enum shader_code plain, const struct kern_op *op);

/* Adds a dispatch of `units`, one per invocation (group_size > 1) or one per workgroup (1), with `parameters` bytes.
 * For much work the types become specialization constants 0 and 1: a specialised pipeline is faster, but a driver needs
 * 10 to 500 ms to create it; constant_count is 2. */
struct shader_dispatch *shader_add(struct shader_work *work, enum shader_code code, const struct kern_op *op,
                                   uint64_t units, uint32_t group_size, size_t parameter_bytes);

/* Makes the types constants, like shader_add(), depending on the work in other units. */
void shader_specialize(const struct kern_op *op, uint64_t work, struct shader_dispatch *out);

/* Whether that is much work. */
bool shader_much(uint64_t work);

/* Whether it is worth a specialised pipeline: for much work, and for all of an op that runs often. */
bool shader_specializes(const struct kern_op *op, uint64_t work);

/* For tests: overrides the number of units that are much work. */
void shader_specialize_from(uint64_t units);

/* Of 1 to 2^31: n / size = (n * factor / 2^32 + n) / 2^shift for n below 2^31. */
static inline struct shader_divisor shader_divisor(uint32_t size)
{
    uint32_t shift = 0;
    while (shift < 31 && 1u << shift < size)
        shift++;
    return (struct shader_divisor){ size, (uint32_t)((((UINT64_C(1) << shift) - size) << 32) / size + 1), shift };
}

/* Whether elements along dimension `along` are contiguous, and all vectors of this many are aligned: buffers start at
 * multiples of 16 bytes. */
bool shader_wide(const struct kern_view *view, uint32_t along, uint32_t vector);

/* Fills the block of a dispatch of shader_add(); `parameters` may be NULL if there are none. `units` as there.
 */
void shader_block_write(const struct kern_op *op, const struct shader_place *places, uint64_t units,
                        const void *parameters, size_t parameter_bytes, uint32_t *words);

/* Of the device that the op is planned for; those of an H100 SXM or H200 where they are not known. */
static inline uint32_t shader_multiprocessors(const struct kern_op *op)
{
    return op->multiprocessors ? op->multiprocessors : 132;
}

#endif
