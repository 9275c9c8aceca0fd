/* New rows into caches whose length is known at execution only. */
#include "kernels/core/dense.h"

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
