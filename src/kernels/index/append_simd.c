/* SPDX-License-Identifier: Apache-2.0 */
/* Appending rows to caches, for the instruction set of the including file. */
#include "kernels/core/isa.h"
#include "kernels/core/copy_body.h"
#include "kernels/core/dense.h"

static void append_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    const struct kern_view *x = &call->op->tensors[0], *lengths = &call->op->tensors[1], *y = &call->op->tensors[2];
    const uint32_t bytes = kern_type_bytes(x->type);
    for (uint64_t row = begin; row < end; row++) {
        uint32_t at[4];
        dense_row_at(x, row, at);
        int64_t from = dense_offset(x, at, 3);
        double length = dense_load(call->data[1], dense_offset(lengths, at, 1), lengths->type);
        uint64_t place = (length > 0 ? (uint64_t)length : 0) + at[2];
        if (place >= y->sizes[2])
            continue;
        at[2] = (uint32_t)place;
        copy_row(bytes, (char *)call->data[2] + dense_offset(y, at, 3) * bytes, y->strides[3],
                 (const char *)call->data[0] + from * bytes, x->strides[3], x->sizes[3]);
    }
}

KERN_ISA_RUN(append_any, append_run)
