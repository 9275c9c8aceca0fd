/* SPDX-License-Identifier: Apache-2.0 */
/* The order of an element-wise op's dimensions is arbitrary: kernels are fastest with the output's memory order in as
 * few dimensions as possible. */
#include "graph/plan/planner.h"

struct loop {
    uint32_t size;
    int64_t strides[KERN_TENSORS_MAX];
};

static int64_t length(int64_t stride)
{
    return stride < 0 ? -stride : stride;
}

static uint32_t collect(const struct kern_op *op, uint32_t tensors, struct loop *loops)
{
    uint32_t count = 0, out = op->input_count;
    for (uint32_t d = 0; d < op->tensors[out].rank; d++) {
        struct loop loop = { .size = op->tensors[out].sizes[d] };
        if (loop.size == 1)
            continue;
        for (uint32_t t = 0; t < tensors; t++)
            loop.strides[t] = op->tensors[t].strides[d];
        uint32_t at = count++;
        for (; at && length(loops[at - 1].strides[out]) < length(loop.strides[out]); at--)
            loops[at] = loops[at - 1];
        loops[at] = loop;
    }
    return count;
}

static bool runs_on(const struct loop *outer, const struct loop *inner, uint32_t tensors)
{
    for (uint32_t t = 0; t < tensors; t++)
        if (outer->strides[t] != inner->strides[t] * inner->size)
            return false;
    return (uint64_t)outer->size * inner->size <= UINT32_MAX;
}

static uint32_t merge(struct loop *loops, uint32_t count, uint32_t tensors)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (kept && runs_on(&loops[kept - 1], &loops[i], tensors)) {
            loops[i].size *= loops[kept - 1].size;
            loops[kept - 1] = loops[i];
        } else {
            loops[kept++] = loops[i];
        }
    }
    return kept;
}

static bool same_sizes(const struct kern_op *op, uint32_t tensors)
{
    const struct kern_view *out = &op->tensors[op->input_count];
    for (uint32_t t = 0; t < tensors; t++)
        if (op->tensors[t].rank != out->rank || memcmp(op->tensors[t].sizes, out->sizes, out->rank * sizeof(uint32_t)))
            return false;
    return true;
}

void plan_tidy_loops(struct kern_op *op)
{
    struct loop loops[KERN_RANK_MAX];
    uint32_t tensors = op->input_count + op->output_count;
    if ((op->kind != KERN_MAP && op->kind != KERN_MOVE) || !same_sizes(op, tensors))
        return;
    uint32_t count = merge(loops, collect(op, tensors, loops), tensors);
    if (!count) { /* a single element */
        loops[0] = (struct loop){ .size = 1 };
        for (uint32_t t = 0; t < tensors; t++)
            loops[0].strides[t] = 1;
        count = 1;
    }
    for (uint32_t t = 0; t < tensors; t++) {
        struct kern_view *view = &op->tensors[t];
        struct kern_view tidy = { .type = view->type, .rank = count, .offset = view->offset };
        for (uint32_t d = 0; d < count; d++) {
            tidy.sizes[d] = loops[d].size;
            tidy.strides[d] = loops[d].strides[t];
        }
        *view = tidy;
    }
}
