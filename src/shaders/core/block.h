/* SPDX-License-Identifier: Apache-2.0 */
/* The parameter block of a dispatch, for C and GLSL: struct shader_header, the parameters of the shader's family (a
 * struct of 4-byte numbers and arrays of them, in <family>_params.h, which both sides include, too), and a struct
 * shader_view for every tensor of the op, inputs first. All 4-byte numbers: std430 and C place them alike. */
#ifndef SHADERS_CORE_BLOCK_H
#define SHADERS_CORE_BLOCK_H

#ifndef VULKAN /* which GLSL has */
#include <stdint.h>
typedef uint32_t uint;
#define SHADER_STRUCT struct
#else
#define SHADER_STRUCT
#endif

#define SHADER_RANK_MAX 8

struct shader_header {
    uint inputs, outputs; /* tensors */
    uint elements;        /* units of work: what an invocation or a workgroup takes one by one */
    uint scratch_base, scratch_low, scratch_high; /* scratch memory, as the fields of shader_view */
};

/* struct kern_view, with the place of element 0, ..., 0: `offset_low` and `offset_high`, one number of 64 bits, are
 * bytes behind address `base` of the program's table. Strides in elements, within 2^31 of element 0. */
struct shader_view {
    uint type, rank, base, offset_low, offset_high;
    uint sizes[SHADER_RANK_MAX];
    int strides[SHADER_RANK_MAX];
};

/* Division of numbers below 2^31 by `size` without dividing: shader_divisor() in C, divide() in GLSL. */
struct shader_divisor {
    uint size, factor, shift;
};

#endif
