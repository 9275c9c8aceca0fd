/* SPDX-License-Identifier: Apache-2.0 */
/* Hardmax: zeros, and a one at the place of each group's largest element. */
#include "kernels/core/dense.h"
#include "kernels/reduce/reduction.h"

/* Zeros in one row; in the caches only if they keep it. */
static void clear_row(const struct kern_reductions *groups, uint64_t group)
{
    DML_TENSOR_DATA_TYPE type = groups->call->op->tensors[1].type;
    const uint32_t bytes = kern_type_bytes(type);
    char *y = (char *)groups->call->data[1] + kern_iterator_offset(&groups->outer, 1, group) * bytes;
    for (uint64_t at = 0; at < groups->inner.count; at += KERN_REDUCTION_BLOCK) {
        uint32_t count = (uint32_t)BASE_MIN(groups->inner.count - at, KERN_REDUCTION_BLOCK);
        int64_t stride;
        if (groups->stream && kern_iterator_linear(&groups->inner, 1, at, count, &stride) && stride == 1)
            kern_stream(y + kern_iterator_offset(&groups->inner, 1, at) * bytes, groups->scratch->block,
                        (uint64_t)count * bytes);
        else
            kern_iterator_store(&groups->inner, 1, type, y, at, count, groups->scratch->block);
    }
}

void kern_reduction_hardmax_tile(const struct kern_reductions *groups, uint64_t first, uint32_t width)
{
    const struct kern_reduction_scratch *scratch = groups->scratch;
    const DML_TENSOR_DATA_TYPE type = groups->call->op->tensors[1].type;
    const struct kern_iterator *outer = &groups->outer, *inner = &groups->inner;
    const int64_t stride = outer->strides[1][outer->rank - 1], tile = kern_iterator_offset(outer, 1, first);
    kern_reductions_position(groups, true, false, first, width, scratch->position);
    memset(scratch->block, 0, scratch->block_length * sizeof(*scratch->block));
    for (uint64_t i = 0; groups->columns && i < inner->count; i++)
        kern_copy_row(kern_type_bytes(type),
                      (void *)kern_at(groups->call->data[1], type, tile + kern_iterator_offset(inner, 1, i)), stride,
                      scratch->block, 1, width);
    for (uint32_t i = 0; !groups->columns && i < width; i++)
        clear_row(groups, first + i);
    for (uint32_t i = 0; i < width; i++) {
        const int64_t at = tile + i * stride + kern_iterator_offset(inner, 1, scratch->position[i]);
        if (type == DML_TENSOR_DATA_TYPE_FLOAT32)
            ((float *)groups->call->data[1])[at] = 1;
        else
            ((uint16_t *)groups->call->data[1])[at] = type == DML_TENSOR_DATA_TYPE_FLOAT16 ? 0x3c00 : 0x3f80;
    }
}
