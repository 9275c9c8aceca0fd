/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the attention kernels: the roles of inputs, the keys visible to a query, and scratch memory. The FLOAT32
 * kernels work block by block: scores of some rows against some keys, their share of the softmax, and the GEMM with the
 * values, while everything stays in the cache. FLOAT64 kernels process some queries against all keys at once. */
#ifndef KERNELS_ATTENTION_H
#define KERNELS_ATTENTION_H

#include "kernels/core/dense.h"

#include <math.h>

/* Numbers of the inputs, 0 for absent ones. */
struct attention_inputs {
    uint32_t mask, keep, end, start, past, count;
};

/* false if the op's tensors are not those of kernels/core/ops.h. */
bool attention_inputs_init(const struct kern_op *op, struct attention_inputs *out);

/* How many keys exist for this query. */
DENSE_INLINE uint32_t attention_keys(const struct kern_call *call, const struct attention_inputs *in, uint32_t batch,
                                     uint32_t query)
{
    const struct kern_attention *attention = &call->op->u.attention;
    uint32_t total = call->op->tensors[1].sizes[2];
    if (in->end && attention->filter == -INFINITY) { /* no weight after the end: those keys need not be read */
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

DENSE_INLINE void attention_add(void *scores, int64_t n, bool wide, float value)
{
    if (wide)
        ((double *)scores)[n] += (double)value;
    else
        ((float *)scores)[n] += value;
}

/* Adds the filter to scores, FLOAT32 or (wide) FLOAT64, of keys from where[3] on that are masked for query where[2]. */
DENSE_INLINE void attention_filter(const struct kern_call *call, const struct attention_inputs *in,
                                   const uint32_t *where, uint32_t count, bool wide, void *scores)
{
    const struct kern_view *view = &call->op->tensors[in->keep];
    const int32_t *keep = in->keep ? (const int32_t *)call->data[in->keep] + dense_offset(view, where, 4) : NULL;
    const int64_t step = view->sizes[3] > 1 ? view->strides[3] : 0;
    const float filter = call->op->u.attention.filter;
    int64_t start, end;
    attention_span(call, in, where[0], &start, &end);
    const int64_t low = BASE_MAX(0, BASE_MIN(start - where[3], count));
    const int64_t high = BASE_MAX(low, BASE_MIN(end - where[3], count));
    for (uint32_t n = 0; keep && n < count; n++)
        attention_add(scores, n, wide, keep[n * step] ? 0 : filter);
    for (int64_t n = 0; n < low; n++)
        attention_add(scores, n, wide, filter);
    for (int64_t n = high; n < count; n++)
        attention_add(scores, n, wide, filter);
}

#define ATTENTION_ROWS 64  /* maximum rows of Q at once */
#define ATTENTION_KEYS 128 /* maximum keys at once */
#define ATTENTION_FEW  6   /* number of rows below which scores are not transposed */
#define ATTENTION_STEP 32  /* widths are rounded up to this: whole tiles of every instruction set */
#define ATTENTION_LINE 16  /* rows and keys of scratch, likewise: whole vectors */

/* Scratch of a worker by the lengths of the sequences: the start of its parts, in floats. */
struct attention_scratch {
    uint32_t rows, keys; /* of a block of scores, rounded up */
    uint32_t width;      /* of a row of V, rounded up */
    uint64_t scores, sums, k, v, rows_state, masks, rows4, floats;
};

void attention_scratch_init(const struct kern_op *op, struct attention_scratch *out);

/* With fewer blocks of rows than threads, several threads share the keys of a block, each with its own softmax, and the
 * results are combined at the end. Such a step is one unit, whose run() distributes the parts itself; its workers'
 * scratch precedes the parts' results, which have the layout of a worker's rows_state and sums. */
struct attention_parts {
    uint32_t count;      /* parts of a block of rows, 1: not shared */
    uint32_t keys;       /* of a part, at least */
    uint64_t units;      /* blocks of rows */
    uint64_t worker;     /* floats of a worker's scratch */
    uint64_t one, first; /* floats of a part's result; offset of the first one */
};

void attention_parts_init(const struct kern_op *op, uint32_t threads, struct attention_parts *out);

/* Whether GEMMs can read the rows of K or V in place, as `length` floats. */
static inline bool attention_in_place(const struct kern_view *view, uint32_t length)
{
    return view->type == DML_TENSOR_DATA_TYPE_FLOAT32 && view->strides[3] == 1 && length == view->sizes[3];
}

/* Few rows: the scores row by row, directly from the stored elements. */
static inline bool attention_direct(const struct kern_view *k, uint32_t rows)
{
    return rows <= ATTENTION_FEW && (k->strides[3] == 1 || k->sizes[3] == 1);
}

#define ATTENTION_F64_ROWS  4 /* of Q at once */
#define ATTENTION_F64_LANES 8 /* sums side by side */

/* Rows in scratch memory are padded to whole vectors. */
DENSE_INLINE uint64_t attention_f64_pitch(uint64_t count)
{
    return base_align_up(count, ATTENTION_F64_LANES);
}

#endif
