/* SPDX-License-Identifier: Apache-2.0 */
/* Pooling, the reference. Padding adds nothing to sums; the maximum never selects padding or NaN. A window without
 * candidates returns the type's lowest value (-infinity) with index 0; an average or Lp of no elements is 0. */
#include "kernels/pool/pool.h"

#include <math.h>

bool kern_pool_any_ref_accepts(const struct kern_op *op)
{
    struct pool_shape shape;
    DML_TENSOR_DATA_TYPE type = op->tensors[0].type;
    if (op->epilogue || !pool_shape_init(op, &shape) || op->tensors[1].type != type)
        return false;
    if (op->u.pool.mode == KERN_POOL_MAX)
        return kern_type_bytes(type) != 0;
    return dense_is_float(type) && (op->u.pool.mode != KERN_POOL_LP || op->u.pool.p > 0);
}

void kern_pool_any_ref_plan(const struct kern_op *op, uint32_t threads, struct kern_work *out)
{
    struct pool_shape s = { 0 };
    pool_shape_init(op, &s);
    uint64_t cost = (uint64_t)BASE_MIN(s.area, INT32_MAX) * (uint64_t)s.out[2];
    *out = (struct kern_work){ .units = dense_rows(&op->tensors[1]), .grain = dense_grain(4 * cost) };
}

void pool_window_at(const struct pool_shape *s, const void *x, const int64_t at[5], struct pool_window *out)
{
    *out = (struct pool_window){ .x = x, .at = at[0] * s->x[0] + at[1] * s->x[1] };
    for (uint32_t d = 0; d < 3; d++) {
        out->position[d] = at[d + 2] * s->stride[d] - s->pad[d];
        pool_taps(s, d, at[d + 2], &out->begin[d], &out->end[d]);
    }
}

/* Calls `visit` with the element's offset and its row-major position in the channel for every tap inside. */
typedef void pool_visit(void *context, const struct pool_window *window, int64_t offset, int64_t position);
static void pool_for_each(const struct pool_shape *s, const struct pool_window *w, pool_visit *visit, void *context)
{
    for (int64_t k0 = w->begin[0]; k0 < w->end[0]; k0++) {
        int64_t i0 = w->position[0] + k0 * s->dilation[0];
        for (int64_t k1 = w->begin[1]; k1 < w->end[1]; k1++) {
            int64_t i1 = w->position[1] + k1 * s->dilation[1];
            int64_t row = w->at + i0 * s->x[2] + i1 * s->x[3], line = (i0 * s->in[1] + i1) * s->in[2];
            for (int64_t k2 = w->begin[2]; k2 < w->end[2]; k2++) {
                int64_t i2 = w->position[2] + k2 * s->dilation[2];
                visit(context, w, row + i2 * s->x[4], line + i2);
            }
        }
    }
}

struct pool_sum {
    DML_TENSOR_DATA_TYPE type;
    uint32_t p; /* 0 = average */
    double sum;
};

static void pool_add(void *context, const struct pool_window *window, int64_t offset, int64_t position)
{
    struct pool_sum *sum = context;
    double value = dense_load(window->x, offset, sum->type);
    if (sum->p)
        value = sum->p == 1 ? fabs(value) : sum->p == 2 ? value * value : pow(fabs(value), sum->p);
    sum->sum += value;
}

static double pool_summed(const struct kern_call *call, const struct pool_shape *s, const struct pool_window *window,
                          const int64_t *at)
{
    const struct kern_pool *pool = &call->op->u.pool;
    struct pool_sum sum = { .type = call->op->tensors[0].type, .p = pool->mode == KERN_POOL_LP ? pool->p : 0 };
    double count = 1;
    pool_for_each(s, window, pool_add, &sum);
    if (pool->mode == KERN_POOL_LP)
        return pool->p == 1 ? sum.sum : pool->p == 2 ? sqrt(sum.sum) : pow(sum.sum, 1.0 / pool->p);
    for (uint32_t d = 0; d < 3; d++)
        count *= pool_count(s, d, at[d + 2], pool->include_padding);
    return count > 0 ? sum.sum / count : 0;
}

static bool pool_greater(const void *x, int64_t a, int64_t b, DML_TENSOR_DATA_TYPE type)
{
    if (type == DML_TENSOR_DATA_TYPE_INT64)
        return ((const int64_t *)x)[a] > ((const int64_t *)x)[b];
    if (type == DML_TENSOR_DATA_TYPE_UINT64)
        return ((const uint64_t *)x)[a] > ((const uint64_t *)x)[b];
    double left = dense_load(x, a, type), right = dense_load(x, b, type);
    return left > right;
}

static void pool_take(void *context, const struct pool_window *window, int64_t offset, int64_t position)
{
    struct pool_best *best = context;
    if (!best->found && dense_is_float(best->type)) {
        double value = dense_load(window->x, offset, best->type);
        if (value != value)
            return;
    }
    if (best->found && !pool_greater(window->x, offset, best->offset, best->type))
        return;
    best->found = true;
    best->offset = offset;
    best->position = position;
}

struct pool_best pool_best_of(const struct pool_shape *s, const struct pool_window *window, DML_TENSOR_DATA_TYPE type)
{
    struct pool_best best = { .type = type };
    pool_for_each(s, window, pool_take, &best);
    return best;
}

static void pool_max(const struct kern_call *call, const struct pool_shape *s, const struct pool_window *window,
                     const int64_t *at)
{
    const struct kern_op *op = call->op;
    DML_TENSOR_DATA_TYPE type = op->tensors[0].type;
    uint32_t bytes = kern_type_bytes(type);
    struct pool_best best = pool_best_of(s, window, type);
    const int64_t y_at = pool_offset(s->y, at);
    if (best.found)
        memcpy((char *)call->data[1] + y_at * bytes, (const char *)window->x + best.offset * bytes, bytes);
    else
        dense_store(call->data[1], y_at, type, -INFINITY); /* of integers the lowest */
    if (op->u.pool.has_indices)
        pool_store_index(call, pool_offset(s->index, at),
                         best.found ? pool_index_base(op, s, at) + (uint64_t)best.position : 0);
}

void kern_pool_any_ref_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    const struct kern_view *y = &call->op->tensors[1];
    struct pool_shape s;
    pool_shape_init(call->op, &s);
    for (uint64_t row = begin; row < end; row++) {
        int64_t at[5];
        struct pool_window window;
        pool_row_at(y, row, at);
        for (; at[4] < s.out[2]; at[4]++) {
            pool_window_at(&s, call->data[0], at, &window);
            if (call->op->u.pool.mode == KERN_POOL_MAX)
                pool_max(call, &s, &window, at);
            else
                dense_store(call->data[1], pool_offset(s.y, at), y->type, pool_summed(call, &s, &window, at));
        }
    }
}

/* ---- the gradient: every window distributes its gradient to the elements that it was computed from ---- */

static bool pool_grad_indexed_accepts(const struct kern_op *op)
{
    const struct kern_view *dy = &op->tensors[0], *indices = &op->tensors[1], *dx = &op->tensors[2];
    const bool integer = !dense_is_float(indices->type) && kern_type_bytes(indices->type) >= 4;
    struct pool_shape s;
    if (op->epilogue || op->u.pool_grad.mode != KERN_POOL_MAX || op->input_count != 2 || !pool_shape_init(op, &s) ||
        !dense_is_float(dy->type) || dx->type != dy->type || !integer)
        return false;
    for (uint32_t d = 0; d < dx->rank; d++)
        if ((d < 2 && dy->sizes[d] != dx->sizes[d]) || indices->sizes[d] != dy->sizes[d])
            return false;
    return true;
}

bool kern_pool_grad_any_ref_accepts(const struct kern_op *op)
{
    const bool max = op->u.pool_grad.mode == KERN_POOL_MAX;
    const struct kern_view *x = &op->tensors[0], *dy = &op->tensors[max], *dx = &op->tensors[max + 1];
    if (op->u.pool_grad.has_indices)
        return pool_grad_indexed_accepts(op);
    struct pool_shape s;
    if (op->epilogue || op->u.pool_grad.mode == KERN_POOL_LP || op->input_count != 1u + max ||
        !pool_shape_init(op, &s) || !dense_is_float(x->type) || !dense_same_type(op, 1, op->input_count, x->type) ||
        x->rank != dx->rank)
        return false;
    for (uint32_t d = 0; d < dx->rank; d++)
        if ((d < 2 && dy->sizes[d] != dx->sizes[d]) || (max && x->sizes[d] != dx->sizes[d]))
            return false;
    return true;
}

/* A unit is a channel; its sums are computed in FLOAT64. */
void kern_pool_grad_any_ref_plan(const struct kern_op *op, uint32_t threads, struct kern_work *out)
{
    struct pool_shape s;
    pool_shape_init(op, &s);
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

static void pool_give_to_index(const struct kern_call *call, const struct pool_shape *s, const int64_t *at,
                               double *sums)
{
    const struct kern_view *indices = &call->op->tensors[1];
    int64_t place = pool_load_index(s, call->data[1], indices->type, pool_offset(s->index, at)), left = place;
    bool inside = place >= 0;
    for (uint32_t d = 3; inside && d-- > 0; left /= s->in[d])
        inside = pool_has(s, d, at[d + 2], left % s->in[d]);
    if (inside)
        sums[place] += dense_load(call->data[0], pool_offset(s->y, at), call->op->tensors[0].type);
}

static void pool_give_back(const struct kern_call *call, const struct pool_shape *s, const int64_t *at, double *sums)
{
    const struct kern_pool *pool = &call->op->u.pool_grad;
    DML_TENSOR_DATA_TYPE type = call->op->tensors[0].type;
    struct pool_window window;
    pool_window_at(s, call->data[0], at, &window);
    struct pool_share share = { sums, dense_load(call->data[call->op->input_count - 1], pool_offset(s->y, at), type) };
    if (pool->mode == KERN_POOL_MAX) {
        struct pool_best best = pool_best_of(s, &window, type);
        if (best.found)
            sums[best.position] += share.value;
        return;
    }
    for (uint32_t d = 0; d < 3; d++)
        share.value /= pool_count(s, d, at[d + 2], pool->include_padding); /* of no elements: nothing to visit */
    pool_for_each(s, &window, pool_give, &share);
}

void kern_pool_grad_any_ref_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    const struct kern_view *dx = &call->op->tensors[call->op->input_count];
    struct pool_shape s;
    double *sums = call->worker_scratch;
    pool_shape_init(call->op, &s);
    uint64_t plane = (uint64_t)(s.in[0] * s.in[1] * s.in[2]), windows = (uint64_t)(s.out[0] * s.out[1] * s.out[2]);
    for (uint64_t unit = begin; unit < end; unit++) {
        int64_t at[5] = { (int64_t)(unit / dx->sizes[1]), (int64_t)(unit % dx->sizes[1]) };
        memset(sums, 0, plane * sizeof(*sums));
        for (uint64_t w = 0; w < windows; w++) {
            at[2] = (int64_t)w / s.out[2] / s.out[1];
            at[3] = (int64_t)w / s.out[2] % s.out[1];
            at[4] = (int64_t)w % s.out[2];
            if (call->op->u.pool_grad.has_indices)
                pool_give_to_index(call, &s, at, sums);
            else
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
