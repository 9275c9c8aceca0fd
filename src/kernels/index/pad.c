/* Padding, row by row: the inside of a row is one copy, its ends a few. */
#include "kernels/core/kernel.h"

bool kern_pad_any_accepts(const struct kern_op *op)
{
    return op->tensors[0].rank == op->tensors[1].rank && op->tensors[0].type == op->tensors[1].type;
}

void kern_pad_any_plan(const struct kern_op *op, const void *state, uint32_t threads, struct kern_work *out)
{
    const struct kern_view *y = &op->tensors[1];
    uint64_t length = y->sizes[y->rank - 1];
    uint64_t rows = kern_view_elements(y) / length;
    *out = (struct kern_work){ .units = rows, .grain = BASE_MAX(1, 16384 / length) };
    if (!kern_type_bytes(y->type))
        out->grain = rows; /* neighbours share bytes */
}
