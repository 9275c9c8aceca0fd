/* Max pooling of integers of any width, in any layout: tap by tap along rows of results, or of channels. */
#include "kernels/pool/pool.h"

bool kern_pool_int_accepts(const struct kern_op *op)
{
    struct pool_shape s;
    DML_TENSOR_DATA_TYPE type = op->tensors[0].type;
    if (op->epilogue || op->u.pool.mode != KERN_POOL_MAX || !pool_shape_init(op, &s) || op->tensors[1].type != type ||
        !kern_type_bytes(type) || dense_is_float(type))
        return false;
    /* Positions have 32 bits beside numbers of at most 32. */
    return !op->u.pool.has_indices || kern_type_bytes(type) == 8 ||
           kern_view_elements(&op->tensors[0]) <= (uint64_t)INT32_MAX;
}

bool pool_int_by_channels(const struct kern_op *op, const struct pool_shape *s)
{
    return !op->u.pool.has_indices && s->x[1] == 1 && s->y[1] == 1 && op->tensors[1].sizes[1] >= 16;
}

void kern_pool_int_plan(const struct kern_op *op, const void *state, uint32_t threads, struct kern_work *out)
{
    const struct kern_view *y = &op->tensors[1];
    uint64_t width = y->sizes[y->rank - 1];
    struct pool_shape s;
    *out = (struct kern_work){ .units = dense_rows(y), .grain = dense_grain(16 * width) };
    if (pool_shape_init(op, &s) && pool_int_by_channels(op, &s))
        *out = (struct kern_work){ .units = y->sizes[0] * (uint64_t)(s.out[0] * s.out[1]),
                                   .grain = dense_grain(width * y->sizes[1]) };
    out->worker_scratch_bytes = (2 * width + op->tensors[0].sizes[op->tensors[0].rank - 1]) * sizeof(int64_t);
}
