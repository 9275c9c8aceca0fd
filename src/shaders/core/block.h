/* SPDX-License-Identifier: Apache-2.0 */
/* The parameter block of a dispatch, for C and GLSL: struct shader_header, the parameters of the shader's family (a
 * struct of 4-byte numbers and arrays of them, in <family>_params.h, which both sides include, too), and a struct
 * shader_view for every tensor of the op, inputs first; of ops with an epilogue then its steps. All 4-byte numbers:
 * std430 and C place them alike. */
#ifndef SHADERS_CORE_BLOCK_H
#define SHADERS_CORE_BLOCK_H

#ifndef VULKAN /* which GLSL has */
#include <stdint.h>
typedef uint32_t uint;
#define SHADER_STRUCT struct
#else
#define SHADER_STRUCT
#endif

#define SHADER_RANK_MAX    8
#define SHADER_TENSORS_MAX 16
#define SHADER_BLOCK_BYTES                                                                                             \
    4096 /* that shaders see at their block's address; what is behind their own does not matter */

struct shader_header {
    uint inputs, outputs; /* tensors */
    uint elements;        /* units of work: what an invocation or a workgroup takes one by one */
    uint scratch_base, scratch_low, scratch_high; /* scratch memory, as the fields of shader_view */
    uint steps; /* where the epilogue's steps begin in the block, in units of 16 bytes */
};

/* struct kern_view, with the place of element 0, ..., 0: `offset_low` and `offset_high`, one number of 64 bits, are
 * bytes behind address `base` of the program's table. Strides in elements, within 2^31 of element 0. */
struct shader_view {
    uint type, rank, base, offset_low, offset_high;
    uint sizes[SHADER_RANK_MAX];
    int strides[SHADER_RANK_MAX];
};

/* Where an operand's element for a result lies: at the same distance from its element 0, ..., 0 as the result, at that
 * element, or by the result's number, which of a line for all lines is only its place along the last dimension. */
#define STEP_AT_RESULT  0
#define STEP_AT_FIRST   1
#define STEP_BY_NUMBER  2
#define STEP_ALONG_LAST 3
/* Of a step's code. */
#define STEP_SHORT 128

/* One step of an epilogue (core/epilogue.glsl): immediates, and the operand, if it is no number (-1). */
struct shader_step {
    float p, q;
    int tensor;
    uint place;
};

#define SHADER_STEPS_MAX 8

/* Division of numbers below 2^31 by `size` without dividing: shader_divisor() in C, divide() in GLSL. */
struct shader_divisor {
    uint size, factor, shift;
};

#endif
