/* New rows into caches whose length is known at execution only. */
#include "kernels/dense.h"
#include "kernels/number.h"
#include "kernels/walk.h"

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
    (void)state;
    (void)threads;
    *out = (struct kern_work){ .units = dense_rows(&op->tensors[0]), .grain = dense_grain(op->tensors[0].sizes[3]) };
}

void kern_append_any_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    const struct kern_view *x = &call->op->tensors[0], *lengths = &call->op->tensors[1], *y = &call->op->tensors[2];
    for (uint64_t row = begin; row < end; row++) {
        uint32_t at[4];
        dense_row_at(x, row, at);
        int64_t from = dense_offset(x, at, 3);
        double length = dense_load(call->data[1], dense_offset(lengths, at, 1), lengths->type);
        uint64_t place = (length > 0 ? (uint64_t)length : 0) + at[2];
        if (place >= y->sizes[2])
            continue;
        at[2] = (uint32_t)place;
        kern_copy_row(kern_type_bytes(x->type), (void *)kern_at(call->data[2], y->type, dense_offset(y, at, 3)),
                      y->strides[3], kern_at(call->data[0], x->type, from), x->strides[3], x->sizes[3]);
    }
}
