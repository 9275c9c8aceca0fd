/* SPDX-License-Identifier: Apache-2.0 */
/* The parameter block of a dispatch, for C and GLSL: struct shader_header, the parameters of the shader's family (a
 * struct of 4-byte numbers and arrays of them, in <family>_params.h, which both sides include), and a struct
 * shader_view for every tensor of the op, inputs first; for ops with an epilogue then its steps. All numbers have 4
 * bytes: std430 and C lay them out alike. */
#ifndef SHADERS_CORE_BLOCK_H
#define SHADERS_CORE_BLOCK_H

#ifndef VULKAN /* built into GLSL */
#include <stdint.h>
typedef uint32_t uint;
#define SHADER_STRUCT struct
#else
#define SHADER_STRUCT
#endif

#define SHADER_RANK_MAX    8
#define SHADER_TENSORS_MAX 16
#define SHADER_BLOCK_BYTES 4096 /* visible to shaders at their block's address; bytes after their own are ignored */

struct shader_header {
    uint inputs, outputs; /* tensors */
    uint elements;        /* units of work: processed one by one by an invocation or a workgroup */
    uint scratch_base, scratch_low, scratch_high; /* scratch memory, as the fields of shader_view */
    uint steps;                                   /* start of the epilogue's steps in the block, in units of 16 bytes */
};

/* struct kern_view, with the position of element 0, ..., 0: `offset_low` and `offset_high`, one 64-bit number, are
 * bytes after address `base` of the program's table. Strides in elements, within 2^31 of element 0. */
struct shader_view {
    uint type, rank, base, offset_low, offset_high;
    uint sizes[SHADER_RANK_MAX];
    int strides[SHADER_RANK_MAX];
};

/* The position of an operand's element for a result: at the same distance from its element 0, ..., 0 as the result, by
 * index, or by the result's number, which for one line repeated for all lines is only the index along the last
 * dimension. */
#define STEP_AT_RESULT  0
#define STEP_AT_FIRST   1
#define STEP_BY_NUMBER  2
#define STEP_ALONG_LAST 3
/* Of a step's code. */
#define STEP_SHORT 128

/* One step of an epilogue (core/epilogue.glsl): immediates, and the operand (-1: a number). */
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
