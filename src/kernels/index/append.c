/* SPDX-License-Identifier: Apache-2.0 */
/* New rows into caches whose length is known at execution only. Row l of x becomes row length + l of y, where y has
 * one; a negative length counts as 0. All other elements of y stay as they are. */
#include "kernels/core/dense.h"
#include "kernels/core/number.h"

bool kern_append_any_accepts(const struct kern_op *op)
{
    const struct kern_view *x = &op->tensors[0], *lengths = &op->tensors[1], *y = &op->tensors[2];
    return op->input_count == 2 && x->rank == 4 && y->rank == 4 && lengths->rank == 1 && x->type == y->type &&
           kern_type_bytes(x->type) && x->sizes[0] == y->sizes[0] && x->sizes[1] == y->sizes[1] &&
           x->sizes[3] == y->sizes[3] && lengths->sizes[0] == y->sizes[0] &&
           (lengths->type == DML_TENSOR_DATA_TYPE_INT32 || lengths->type == DML_TENSOR_DATA_TYPE_UINT32);
}

void kern_append_any_plan(const struct kern_op *op, const void *state, uint32_t threads, struct kern_work *out)
{
    *out = (struct kern_work){ .units = dense_rows(&op->tensors[0]), .grain = dense_grain(op->tensors[0].sizes[3]) };
}

/* The definition, element by element. */
void kern_append_any_ref_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    const struct kern_view *x = &call->op->tensors[0], *lengths = &call->op->tensors[1], *y = &call->op->tensors[2];
    const uint32_t bytes = kern_type_bytes(x->type);
    uint32_t index[4];
    for (uint64_t i = begin * x->sizes[3]; i < end * x->sizes[3]; i++) {
        kern_unflatten(i, x->rank, x->sizes, index);
        const int64_t from = kern_offset(x, index);
        const double length = kern_read_double(lengths->type, call->data[1], index[0] * lengths->strides[0]);
        const double row = (length < 0 ? 0 : length) + index[2];
        if (row >= y->sizes[2])
            continue;
        index[2] = (uint32_t)row;
        memcpy((char *)call->data[2] + kern_offset(y, index) * bytes, (const char *)call->data[0] + from * bytes,
               bytes);
    }
}
