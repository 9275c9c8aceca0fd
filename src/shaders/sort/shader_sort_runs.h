/* SPDX-License-Identifier: Apache-2.0 */
/* Sorting in scratch memory: lines whose parts other dispatches sorted are merged in pairs. Two areas of `capacity`
 * items alternate. */
#ifndef SHADERS_SORT_RUNS_H
#define SHADERS_SORT_RUNS_H

#include "shaders/core/shader_block.h"
#include "shaders/sort/sort_params.h"

struct shader_runs {
    uint64_t lines;
    uint32_t length, kept; /* of a line; the first `kept` in order are needed */
    uint32_t parts;        /* sorted ones of SORT_CHUNK elements, of a line */
    bool wide;             /* 64-bit keys */
    uint32_t merges;       /* dispatches */
    uint64_t capacity;
};

struct shader_runs shader_runs(uint64_t lines, uint32_t length, uint32_t kept, bool wide);
uint64_t shader_runs_scratch_bytes(const struct shader_runs *runs);
/* The work of merge `index`; after the last one (index = merges) `from` and `stored` locate the results. */
struct sort_merge_params shader_runs_merge(const struct shader_runs *runs, uint32_t index);
/* Adds the merges. */
void shader_runs_plan(const struct shader_runs *runs, const struct kern_op *op, struct shader_work *out);
void shader_runs_write(const struct shader_runs *runs, const struct kern_op *op, uint32_t merge,
                       const struct shader_place *places, uint32_t *words);

#endif
