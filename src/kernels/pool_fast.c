#include "kernels/pool_fast.h"

#include <math.h>

void pool_window(const struct kern_op *op, const struct pool_shape *s, struct window *w)
{
    *w = (struct window){ .x_row = s->x[3], .type = op->tensors[0].type };
    w->fill = op->u.pool.mode == KERN_POOL_MAX ? -INFINITY : 0;
    for (int d = 0; d < 2; d++) {
        w->in[d] = s->in[d + 1];
        w->out[d] = s->out[d + 1];
        w->kernel[d] = s->window[d + 1];
        w->stride[d] = s->stride[d + 1];
        w->dilation[d] = s->dilation[d + 1];
        w->pad[d] = s->pad[d + 1];
    }
    window_plan_init(w);
}

bool pool_channels_last(const struct kern_op *op, const struct pool_shape *s)
{
    return op->tensors[0].sizes[1] > 1 && s->x[1] == 1 && s->y[1] == 1;
}

bool pool_global(const struct pool_shape *s)
{
    int64_t dense = 1;
    for (int d = 2; d >= 0; d--) {
        if (s->out[d] != 1 || s->pad[d] || s->window[d] != s->in[d] || s->dilation[d] != 1 ||
            (s->in[d] > 1 && s->x[d + 2] != dense))
            return false;
        dense *= s->in[d];
    }
    return true;
}

/* Small integers are exact in FLOAT32, and nothing is below its -infinity. */
static bool small_integer(DML_TENSOR_DATA_TYPE type)
{
    return type == DML_TENSOR_DATA_TYPE_INT8 || type == DML_TENSOR_DATA_TYPE_UINT8 ||
           type == DML_TENSOR_DATA_TYPE_INT16 || type == DML_TENSOR_DATA_TYPE_UINT16;
}

bool kern_pool_f32_accepts(const struct kern_op *op)
{
    const struct kern_pool *pool = &op->u.pool;
    struct pool_shape s;
    struct window w;
    DML_TENSOR_DATA_TYPE type = op->tensors[0].type;
    bool floats = type == DML_TENSOR_DATA_TYPE_FLOAT32 || type == DML_TENSOR_DATA_TYPE_FLOAT16;
    if (op->epilogue || !pool_shape_init(op, &s) || op->tensors[1].type != type)
        return false;
    if (!floats && (pool->mode != KERN_POOL_MAX || !small_integer(type)))
        return false;
    if (pool->mode == KERN_POOL_LP && pool->p != 1 && pool->p != 2)
        return false;
    if (pool->has_indices && (double)s.in[0] * (double)s.in[1] * (double)s.in[2] >= INT32_MAX)
        return false;
    if (pool_channels_last(op, &s))
        return floats;
    if (pool_global(&s) && !pool->has_indices)
        return true;
    pool_window(op, &s, &w);
    return s.x[4] == 1 && window_floats(&w) <= 256 * 1024; /* stays in the second-level cache */
}

static uint64_t pool_cost(const struct pool_shape *s, uint64_t results)
{
    return (uint64_t)BASE_MIN(s->area, INT16_MAX) * results / 4;
}

void kern_pool_f32_plan(const struct kern_op *op, const void *state, uint32_t threads, struct kern_work *out)
{
    struct pool_shape s;
    struct window w;
    (void)state;
    (void)threads;
    pool_shape_init(op, &s);
    pool_window(op, &s, &w);
    uint64_t planes = (uint64_t)op->tensors[1].sizes[0] * op->tensors[1].sizes[1];
    if (pool_channels_last(op, &s)) {
        uint64_t channels = op->tensors[1].sizes[1];
        *out = (struct kern_work){ .units = dense_rows(&op->tensors[1]) / channels };
        out->grain = dense_grain(pool_cost(&s, (uint64_t)s.out[2] * channels));
        return;
    }
    *out = (struct kern_work){ .units = planes * (uint64_t)s.out[0] };
    out->grain = dense_grain(pool_cost(&s, (uint64_t)(s.out[1] * s.out[2])));
    if (!pool_global(&s) || op->u.pool.has_indices)
        out->worker_scratch_bytes = (window_floats(&w) + (uint64_t)(s.out[1] + s.out[2]) +
                                     (op->u.pool.has_indices ? (uint64_t)w.run_floats : 0)) *
                                    sizeof(float);
}
