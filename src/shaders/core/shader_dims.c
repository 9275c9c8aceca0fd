/* SPDX-License-Identifier: Apache-2.0 */
#include "shaders/core/shader_dims.h"

uint64_t shader_dims_distance(const struct kern_view *view, uint32_t d)
{
    const int64_t stride = view->strides[d];
    return (uint64_t)(stride < 0 ? -stride : stride);
}

uint32_t shader_dims_pick(const struct kern_view *view, uint32_t axes, bool sorted, uint32_t *order, uint32_t count)
{
    const uint32_t first = count;
    for (uint32_t d = 0; d < view->rank; d++) {
        uint32_t at = count;
        if (!(axes >> d & 1) || view->sizes[d] == 1)
            continue;
        for (; sorted && at > first && shader_dims_distance(view, order[at - 1]) < shader_dims_distance(view, d); at--)
            order[at] = order[at - 1];
        order[at] = d;
        count++;
    }
    return count;
}

static void permute(struct kern_view *view, const uint32_t *order, uint32_t count)
{
    const struct kern_view old = *view;
    view->rank = count;
    for (uint32_t d = 0; d < count; d++) {
        view->sizes[d] = old.sizes[order[d]];
        view->strides[d] = view->sizes[d] > 1 ? old.strides[order[d]] : 0;
    }
}

void shader_dims_permute(struct kern_op *op, const uint32_t *order, uint32_t count)
{
    for (uint32_t t = 0; t < op->input_count + op->output_count; t++)
        permute(&op->tensors[t], order, count);
}

static bool can_merge(const struct kern_op *op, uint32_t d)
{
    const int64_t size = op->tensors[0].sizes[d + 1];
    for (uint32_t t = 0; t < op->input_count + op->output_count; t++)
        if (op->tensors[t].strides[d] != op->tensors[t].strides[d + 1] * size)
            return false;
    return true;
}

static void merge(struct kern_view *view, uint32_t d)
{
    view->sizes[d] *= view->sizes[d + 1];
    view->strides[d] = view->strides[d + 1];
    view->rank--;
    for (uint32_t i = d + 1; i < view->rank; i++) {
        view->sizes[i] = view->sizes[i + 1];
        view->strides[i] = view->strides[i + 1];
    }
}

void shader_dims_merge(struct kern_op *op, uint32_t first, uint32_t *end)
{
    for (uint32_t d = *end; d-- > first + 1;) {
        if (!can_merge(op, d - 1))
            continue;
        for (uint32_t t = 0; t < op->input_count + op->output_count; t++)
            merge(&op->tensors[t], d - 1);
        --*end;
    }
}
