/* Pooling of FLOAT64 in any layout: tap by tap along rows of results, or of channels. */
#include "kernels/pool/pool_f64.h"

bool kern_pool_f64_accepts(const struct kern_op *op)
{
    const struct kern_pool *pool = &op->u.pool;
    struct pool_shape s;
    return !op->epilogue && pool_shape_init(op, &s) && dense_same_type(op, 0, 1, DML_TENSOR_DATA_TYPE_FLOAT64) &&
           (pool->mode != KERN_POOL_LP || pool->p == 1 || pool->p == 2);
}

int64_t pool_f64_channels(const struct kern_op *op, const struct pool_shape *s)
{
    const int64_t channels = op->tensors[1].sizes[1];
    if (s->x[1] == 1 && channels >= POOL_F64_CHANNELS)
        return channels;
    return s->out[2] < POOL_F64_CHANNELS && channels > s->out[2] ? BASE_MIN(channels, POOL_F64_CHANNELS) : 0;
}

void kern_pool_f64_plan(const struct kern_op *op, const void *state, uint32_t threads, struct kern_work *out)
{
    const struct kern_view *y = &op->tensors[1];
    struct pool_shape s;
    pool_shape_init(op, &s);
    const uint64_t lanes = (uint64_t)pool_f64_channels(op, &s), width = (uint64_t)s.out[2];
    *out = (struct kern_work){ .units = dense_rows(y) };
    if (lanes)
        out->units = y->sizes[0] * ((y->sizes[1] + lanes - 1) / lanes) * (uint64_t)(s.out[0] * s.out[1]);
    out->grain = dense_grain(width * BASE_MAX(lanes, 1) * (uint64_t)BASE_MIN(s.area, INT16_MAX) / 2);
    out->worker_scratch_bytes = (2 * BASE_MAX(lanes, width) + width) * sizeof(double);
}
