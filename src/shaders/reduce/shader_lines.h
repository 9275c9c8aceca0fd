/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by kernels that process lines: the elements of X that share all coordinates outside some axes. */
#ifndef SHADERS_REDUCE_LINES_H
#define SHADERS_REDUCE_LINES_H

#include "shaders/core/shader_block.h"
#include "shaders/reduce/reduce_params.h"

/* X is tensor 0; all tensors have its rank and its sizes, or size 1 or stride 0 where they are broadcast. */
struct shader_lines {
    struct kern_op op;         /* with merged dimensions: those of the lines first, then those along a line */
    struct line_params params; /* except for mode, last and epsilon */
    uint64_t units;            /* for each workgroup one at a time */
    uint64_t scratch_bytes;
};

/* ordered: the order of elements in their line matters. partial_bytes: size of the first dispatch's result for each
 * part.
 */
void shader_lines_of(const struct kern_op *op, uint32_t axes, bool ordered, uint64_t partial_bytes,
                     struct shader_lines *out);

/* Fewer invocations for each of many lines, which then have more work between barriers: `most` elements each. */
void shader_lines_gather(struct shader_lines *lines, uint32_t most);

/* The work of the second dispatch, for lines that were split (params.partials > 0): parts of lines again, whole lines,
 * or lines whose elements are the partial results. */
enum shader_finish { SHADER_FINISH_PARTS, SHADER_FINISH_LINES, SHADER_FINISH_TOTALS };
void shader_lines_finish(struct shader_lines *lines, enum shader_finish how);

/* NULL, or the reason why there are no lines: tensors of other ranks. */
const char *shader_lines_unsupported(const struct kern_op *op);

#endif
