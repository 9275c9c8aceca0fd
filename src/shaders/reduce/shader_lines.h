/* SPDX-License-Identifier: Apache-2.0 */
/* What the rows share whose work is lines: the elements of X that share all coordinates outside some axes. */
#ifndef SHADERS_REDUCE_LINES_H
#define SHADERS_REDUCE_LINES_H

#include "shaders/core/shader_block.h"
#include "shaders/reduce/reduce_params.h"

/* X is tensor 0; all tensors have its rank and its sizes, or size 1 or stride 0 where they are repeated. */
struct shader_lines {
    struct kern_op op;         /* with fewer dimensions: those of the lines first, then those along a line */
    struct line_params params; /* but for mode, last and epsilon */
    uint64_t units;            /* workgroups' worth of work, of the parts if there are any */
};

/* ordered: the positions of elements in their line count. total_bytes: of each part of a line; 0: lines are not cut. */
void shader_lines_of(const struct kern_op *op, uint32_t axes, bool ordered, uint64_t total_bytes,
                     struct shader_lines *out);
/* Makes the lines of `parts` those of the second dispatch, which adds them up. */
void shader_lines_finish(struct shader_lines *lines);
/* NULL, or why there are no lines: tensors of other ranks. */
const char *shader_lines_obstacle(const struct kern_op *op);

#endif
