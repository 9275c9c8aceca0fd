#include "kernels/pool/pool_grad.h"

#include <math.h>

void pool_grad_window(const struct kern_op *op, const struct pool_shape *s, struct window *w)
{
    pool_window_of(s, op->tensors[0].type, -INFINITY, w);
}

bool pool_grad_in_place(const struct kern_op *op)
{
    const struct kern_view *dx = &op->tensors[op->input_count];
    int64_t dense = 1;
    for (uint32_t d = dx->rank; d-- > 2;) {
        if (dx->sizes[d] > 1 && dx->strides[d] != dense)
            return false;
        dense *= dx->sizes[d];
    }
    return dx->type == DML_TENSOR_DATA_TYPE_FLOAT32;
}

bool kern_pool_grad_f32_accepts(const struct kern_op *op)
{
    struct pool_shape s;
    struct window w;
    DML_TENSOR_DATA_TYPE type = op->tensors[0].type;
    if (!kern_pool_grad_any_ref_accepts(op) || type == DML_TENSOR_DATA_TYPE_FLOAT64 || !pool_grad_shape(op, &s))
        return false;
    if (op->u.pool_grad.mode == KERN_POOL_AVERAGE)
        return s.dilation[0] == 1 && s.dilation[1] == 1 && s.dilation[2] == 1;
    pool_grad_window(op, &s, &w);
    return s.x[4] == 1 && (double)s.in[0] * (double)s.in[1] * (double)s.in[2] < INT32_MAX &&
           window_floats(&w) <= 256 * 1024;
}

void kern_pool_grad_f32_plan(const struct kern_op *op, const void *state, uint32_t threads, struct kern_work *out)
{
    const struct kern_view *dx = &op->tensors[op->input_count];
    struct pool_shape s;
    struct window w;
    pool_grad_shape(op, &s);
    if (op->u.pool_grad.mode == KERN_POOL_AVERAGE) {
        *out = (struct kern_work){ .units = dense_rows(dx), .grain = dense_grain(4 * (uint64_t)(s.in[2] + s.out[2])) };
        out->worker_scratch_bytes =
            (uint64_t)(s.out[0] + s.out[1] + 3 * s.out[2] + 4 * SCATTER_ADD_STEP) * sizeof(float) +
            scatter_add_floats(s.in[2], s.stride[2]) * sizeof(float);
        return;
    }
    uint64_t plane = (uint64_t)(s.in[0] * s.in[1] * s.in[2]);
    pool_grad_window(op, &s, &w);
    *out = (struct kern_work){ .units = (uint64_t)dx->sizes[0] * dx->sizes[1], .grain = dense_grain(2 * plane) };
    out->worker_scratch_bytes =
        (window_floats(&w) + (uint64_t)w.run_floats + (uint64_t)s.out[2] + (pool_grad_in_place(op) ? 0 : plane)) *
        sizeof(float);
}
