/* SPDX-License-Identifier: Apache-2.0 */
/* What the rows share whose work is lines: the elements of X that share all coordinates outside some axes. */
#ifndef SHADERS_REDUCE_LINES_H
#define SHADERS_REDUCE_LINES_H

#include "shaders/core/shader_block.h"
#include "shaders/reduce/reduce_params.h"

/* X is tensor 0; all tensors have its rank and its sizes, or size 1 or stride 0 where they are repeated. */
struct shader_lines {
    struct kern_op op;         /* with fewer dimensions: those of the lines first, then those along a line */
    struct line_params params; /* except for mode, last and epsilon */
    uint64_t units;            /* for each workgroup one at a time */
    uint64_t scratch_bytes;
};

/* ordered: the positions of elements in their line count. partial_bytes: what the first dispatch leaves of each part.
 */
void shader_lines_of(const struct kern_op *op, uint32_t axes, bool ordered, uint64_t partial_bytes,
                     struct shader_lines *out);

/* Fewer invocations for each of many lines, which then have more to do before they meet: `most` elements each. */
void shader_lines_gather(struct shader_lines *lines, uint32_t most);

/* What the second dispatch works on, of lines that have been cut (params.partials > 0): parts of lines once more, whole
 * lines, or lines whose elements are what the parts have left. */
enum shader_finish { SHADER_FINISH_PARTS, SHADER_FINISH_LINES, SHADER_FINISH_TOTALS };
void shader_lines_finish(struct shader_lines *lines, enum shader_finish how);

/* NULL, or why there are no lines: tensors of other ranks. */
const char *shader_lines_obstacle(const struct kern_op *op);

#endif
