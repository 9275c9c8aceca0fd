/* The gradient of pooling, the definition: every window gives what arrives at it back to the elements that it was made
 * of: the first maximum all, those of an average equal shares. */
#include "kernels/pool/pool_grad.h"

bool pool_grad_shape(const struct kern_op *op, struct pool_shape *out)
{
    const struct kern_pool *pool = &op->u.pool_grad;
    bool max = pool->mode == KERN_POOL_MAX;
    const struct kern_view *dy = &op->tensors[max], *dx = &op->tensors[max + 1];
    if (op->input_count != 1u + max || !pool_shape_of(pool, max ? &op->tensors[0] : dx, dy, NULL, out))
        return false;
    for (uint32_t d = 0; d < dx->rank; d++) {
        if ((d < 2 && dy->sizes[d] != dx->sizes[d]) || op->tensors[0].rank != dx->rank ||
            (max && op->tensors[0].sizes[d] != dx->sizes[d]))
            return false;
    }
    return true;
}

bool kern_pool_grad_any_ref_accepts(const struct kern_op *op)
{
    struct pool_shape s;
    DML_TENSOR_DATA_TYPE type = op->tensors[0].type;
    return !op->epilogue && op->u.pool_grad.mode != KERN_POOL_LP && pool_grad_shape(op, &s) && dense_is_float(type) &&
           dense_same_type(op, 1, op->input_count, type);
}

/* A unit is a channel; its sums are made in FLOAT64. */
void kern_pool_grad_any_ref_plan(const struct kern_op *op, const void *state, uint32_t threads, struct kern_work *out)
{
    struct pool_shape s;
    pool_grad_shape(op, &s);
    const struct kern_view *dx = &op->tensors[op->input_count];
    uint64_t plane = (uint64_t)(s.in[0] * s.in[1] * s.in[2]);
    *out = (struct kern_work){ .units = (uint64_t)dx->sizes[0] * dx->sizes[1], .grain = dense_grain(64 * plane) };
    out->worker_scratch_bytes = plane * sizeof(double);
}

struct pool_share {
    double *sums, value;
};

static void pool_give(void *context, const struct pool_window *window, int64_t offset, int64_t position)
{
    struct pool_share *share = context;
    share->sums[position] += share->value;
}

static void pool_give_back(const struct kern_call *call, const struct pool_shape *s, const int64_t *at, double *sums)
{
    const struct kern_pool *pool = &call->op->u.pool_grad;
    DML_TENSOR_DATA_TYPE type = call->op->tensors[0].type;
    int64_t y = 0;
    struct pool_window window;
    for (uint32_t d = 0; d < 5; d++)
        y += at[d] * s->y[d];
    pool_window_at(s, call->data[0], at, &window);
    struct pool_share share = { sums, dense_load(call->data[call->op->input_count - 1], y, type) };
    if (pool->mode == KERN_POOL_MAX) {
        struct pool_best best = pool_best_of(s, &window, type);
        if (best.found)
            sums[best.position] += share.value;
        return;
    }
    for (uint32_t d = 0; d < 3; d++)
        share.value /= pool_count(s, d, at[d + 2], pool->include_padding); /* of nothing: there is nothing to visit */
    pool_for_each(s, &window, pool_give, &share);
}

void kern_pool_grad_any_ref_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    const struct kern_view *dx = &call->op->tensors[call->op->input_count];
    struct pool_shape s;
    double *sums = call->worker_scratch;
    pool_grad_shape(call->op, &s);
    uint64_t plane = (uint64_t)(s.in[0] * s.in[1] * s.in[2]), windows = (uint64_t)(s.out[0] * s.out[1] * s.out[2]);
    for (uint64_t unit = begin; unit < end; unit++) {
        int64_t at[5] = { (int64_t)(unit / dx->sizes[1]), (int64_t)(unit % dx->sizes[1]) };
        memset(sums, 0, plane * sizeof(*sums));
        for (uint64_t w = 0; w < windows; w++) {
            at[2] = (int64_t)w / s.out[2] / s.out[1];
            at[3] = (int64_t)w / s.out[2] % s.out[1];
            at[4] = (int64_t)w % s.out[2];
            pool_give_back(call, &s, at, sums);
        }
        for (uint64_t i = 0; i < plane; i++) {
            uint32_t where[KERN_RANK_MAX] = { (uint32_t)at[0], (uint32_t)at[1] };
            uint64_t left = i;
            for (uint32_t d = dx->rank; d-- > 2; left /= dx->sizes[d])
                where[d] = (uint32_t)(left % dx->sizes[d]);
            dense_store(call->data[call->op->input_count], dense_offset(dx, where, dx->rank), dx->type, sums[i]);
        }
    }
}
