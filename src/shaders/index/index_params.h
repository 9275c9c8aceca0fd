/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of the shaders that gather, scatter, pad and count. Included by C and GLSL (core/block.h). */
#ifndef SHADERS_INDEX_PARAMS_H
#define SHADERS_INDEX_PARAMS_H

#include "shaders/core/block.h"

/* struct kern_sequence: start and delta, 64 bits each, lower word first, in the type of the shader's variant: int,
 * int64_t, a pair of floats (their sum), or double. */
struct sequence_params {
    uint start[2], delta[2];
};

/* struct kern_gather. For rows, by_parts is the number of invocations that share one, each with up to GATHER_VECTORS
 * vectors. */
#define GATHER_VECTORS 4
struct gather_params {
    uint axis, index_rank, mode;
    SHADER_STRUCT shader_divisor by_parts;
};

/* struct kern_pad; the value's bits, lower word first; the result's sizes except for the last, of which by_parts is the
 * number of invocations that share a line, or, if vectors continue across lines, the length of a line. */
#define PAD_TOGETHER 4
struct pad_params {
    uint mode, value[2], start[8], gap[8], elements;
    SHADER_STRUCT shader_divisor by_sizes[8], by_parts;
};

struct append_params {
    uint none;
};

/* struct kern_nonzero, the number of X's elements, and the bits that make one non-zero, lower word first */
struct nonzero_params {
    uint block, elements, mask[2];
};

/* struct kern_scatter. Updates are grouped in `items` of `inner` adjacent elements that have one target: update number
 * item * inner + i belongs to Y's element target * inner + i. The items are in scratch memory, sorted, from `from` on.
 */
struct scatter_params {
    uint tuples; /* mode ND, else ELEMENTS */
    uint axis, reduction, items, inner, targets, from;
};

#endif
