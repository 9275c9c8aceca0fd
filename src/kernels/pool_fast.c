#include "kernels/pool_fast.h"

void pool_fast_plan_init(const struct pool_shape *s, struct pool_fast_plan *plan)
{
    plan->width = (uint32_t)base_align_up((uint64_t)s->out[2], POOL_WIDTH_STEP);
    plan->line = (uint32_t)((plan->width - 1) * s->stride[2] + (s->window[2] - 1) * s->dilation[2] + 1);
}

bool pool_channels_last(const struct kern_op *op, const struct pool_shape *s)
{
    return op->tensors[0].sizes[1] > 1 && s->x[1] == 1 && s->y[1] == 1;
}

bool kern_pool_f32_accepts(const struct kern_op *op)
{
    struct pool_shape s;
    DML_TENSOR_DATA_TYPE type = op->tensors[0].type;
    if (op->epilogue || op->u.pool.has_indices || !pool_shape_init(op, &s) || op->tensors[1].type != type)
        return false;
    if (type != DML_TENSOR_DATA_TYPE_FLOAT32 && type != DML_TENSOR_DATA_TYPE_FLOAT16)
        return false;
    if (op->u.pool.mode == KERN_POOL_LP && op->u.pool.p != 1 && op->u.pool.p != 2)
        return false;
    return pool_channels_last(op, &s) || s.x[4] == 1;
}

void kern_pool_f32_plan(const struct kern_op *op, const void *state, uint32_t threads, struct kern_work *out)
{
    struct pool_shape s;
    struct pool_fast_plan plan;
    (void)state;
    (void)threads;
    pool_shape_init(op, &s);
    pool_fast_plan_init(&s, &plan);
    uint64_t rows = dense_rows(&op->tensors[1]), channels = op->tensors[1].sizes[1];
    if (pool_channels_last(op, &s)) {
        *out = (struct kern_work){ .units = rows / channels };
        out->grain = dense_grain((uint64_t)(s.area * s.out[2]) * channels / 4);
        return;
    }
    *out = (struct kern_work){ .units = rows, .grain = dense_grain((uint64_t)(s.area * s.out[2]) / 2) };
    out->worker_scratch_bytes = (2ull * plan.line + s.in[2] + 2ull * plan.width) * sizeof(float);
}
