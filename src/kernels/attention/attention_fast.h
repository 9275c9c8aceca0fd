/* SPDX-License-Identifier: Apache-2.0 */
/* Attention block by block: scores of some rows against some keys, their share of the softmax, and the product with the
 * values, while everything stays in the cache. */
#ifndef KERNELS_ATTENTION_FAST_H
#define KERNELS_ATTENTION_FAST_H

#include "kernels/attention/attention.h"

#define ATTENTION_ROWS 64  /* most rows of Q at once */
#define ATTENTION_KEYS 128 /* most keys at once */
#define ATTENTION_FEW  6   /* rows that are better not transposed */
#define ATTENTION_STEP 32  /* widths are rounded up to this: whole tiles of every instruction set */

#define ATTENTION_LINE                                                                                                 \
    16 /* rows and keys of scratch are rounded up to this: whole vectors of every instruction set                      \
        */

/* Scratch of a worker by the lengths of the sequences: where its parts begin, in floats. */
struct attention_scratch {
    uint32_t rows, keys; /* of a block of scores, rounded up */
    uint32_t width;      /* of a row of V, rounded up */
    uint64_t scores, sums, k, v, rows_state, masks, rows4, floats;
};

void attention_scratch_init(const struct kern_op *op, struct attention_scratch *out);

/* Whether products can read the rows of K or V where they lie, as `length` floats. */
static inline bool attention_in_place(const struct kern_view *view, uint32_t length)
{
    return view->type == DML_TENSOR_DATA_TYPE_FLOAT32 && view->strides[3] == 1 && length == view->sizes[3];
}

/* Few rows: the scores row by row, and from the elements as they are stored. */
static inline bool attention_direct(const struct kern_view *k, uint32_t rows)
{
    return rows <= ATTENTION_FEW && (k->strides[3] == 1 || k->sizes[3] == 1);
}

#endif
