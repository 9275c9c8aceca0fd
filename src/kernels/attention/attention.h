/* SPDX-License-Identifier: Apache-2.0 */
/* What the attention kernels share: which input is which, and which keys a query sees. */
#ifndef KERNELS_ATTENTION_H
#define KERNELS_ATTENTION_H

#include "kernels/core/dense.h"

#include <math.h>

/* Numbers of the inputs, 0 for those that are absent. */
struct attention_inputs {
    uint32_t mask, keep, end, start, past, count;
};

/* false when the op's tensors are not those of kernels/core/ops.h. */
bool attention_inputs_init(const struct kern_op *op, struct attention_inputs *out);

/* How many keys exist for this query. */
DENSE_INLINE uint32_t attention_keys(const struct kern_call *call, const struct attention_inputs *in, uint32_t batch,
                                     uint32_t query)
{
    const struct kern_attention *attention = &call->op->u.attention;
    uint32_t total = call->op->tensors[1].sizes[2];
    if (in->end && attention->filter == -INFINITY) { /* no weight behind the end: those keys need not be read */
        const struct kern_view *ends = &call->op->tensors[in->end];
        int32_t end = ((const int32_t *)call->data[in->end])[dense_offset(ends, &batch, 1)];
        total = BASE_MIN(total, (uint32_t)BASE_MAX(end, 0));
    }
    if (!in->past)
        return total;
    const struct kern_view *view = &call->op->tensors[in->past];
    double past = dense_load(call->data[in->past], dense_offset(view, &batch, 1), view->type);
    uint64_t fresh = attention->causal ? BASE_MIN((uint64_t)query + 1, attention->new_keys) : attention->new_keys;
    return (uint32_t)BASE_MIN((past > 0 ? (uint64_t)past : 0) + fresh, total);
}

/* Keys outside [*out_start, *out_end) are masked. */
DENSE_INLINE void attention_span(const struct kern_call *call, const struct attention_inputs *in, uint32_t batch,
                                 int64_t *out_start, int64_t *out_end)
{
    *out_start = INT32_MIN;
    *out_end = INT64_MAX;
    if (in->start)
        *out_start = ((const int32_t *)call->data[in->start])[dense_offset(&call->op->tensors[in->start], &batch, 1)];
    if (in->end)
        *out_end = ((const int32_t *)call->data[in->end])[dense_offset(&call->op->tensors[in->end], &batch, 1)];
}

#endif
