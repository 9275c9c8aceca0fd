/* Pooling, the definition. Padding adds nothing to sums; the maximum never chooses padding or NaN. A window without
 * anything to choose gives the type's lowest value (-infinity) with index 0; an average or Lp of nothing is 0. */
#include "kernels/pool/pool.h"

#include <math.h>

bool pool_shape_of(const struct kern_pool *pool, const struct kern_view *x, const struct kern_view *y,
                   const struct kern_view *index, struct pool_shape *s)
{
    uint32_t rank = pool->spatial + 2, missing = KERN_SPATIAL_MAX - pool->spatial;
    if (!index)
        index = y;
    if (!pool->spatial || pool->spatial > KERN_SPATIAL_MAX || x->rank != rank || y->rank != rank || index->rank != rank)
        return false;
    *s = (struct pool_shape){ .area = 1 };
    for (uint32_t d = 0; d < 2; d++) {
        s->x[d] = x->strides[d];
        s->y[d] = y->strides[d];
        s->index[d] = index->strides[d];
    }
    for (uint32_t d = 0; d < KERN_SPATIAL_MAX; d++) {
        bool present = d >= missing;
        uint32_t from = present ? d - missing : 0, dim = from + 2;
        s->in[d] = present ? x->sizes[dim] : 1;
        s->out[d] = present ? y->sizes[dim] : 1;
        s->window[d] = present ? pool->window[from] : 1;
        s->stride[d] = present ? pool->strides[from] : 1;
        s->dilation[d] = present ? pool->dilations[from] : 1;
        s->pad[d] = present ? pool->pad_start[from] : 0;
        s->x[d + 2] = present ? x->strides[dim] : 0;
        s->y[d + 2] = present ? y->strides[dim] : 0;
        s->index[d + 2] = present ? index->strides[dim] : 0;
        s->area = s->area > INT64_MAX / s->window[d] ? INT64_MAX : s->area * s->window[d];
    }
    return true;
}

bool pool_shape_init(const struct kern_op *op, struct pool_shape *s)
{
    const struct kern_view *index = op->u.pool.has_indices ? &op->tensors[2] : NULL;
    return pool_shape_of(&op->u.pool, &op->tensors[0], &op->tensors[1], index, s);
}

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

void kern_pool_any_ref_plan(const struct kern_op *op, const void *state, uint32_t threads, struct kern_work *out)
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

void pool_for_each(const struct pool_shape *s, const struct pool_window *w, pool_visit *visit, void *context)
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

static void pool_store_lowest(void *y, int64_t at, DML_TENSOR_DATA_TYPE type)
{
    if (type == DML_TENSOR_DATA_TYPE_INT64)
        ((int64_t *)y)[at] = INT64_MIN;
    else if (type == DML_TENSOR_DATA_TYPE_UINT64)
        ((uint64_t *)y)[at] = 0;
    else
        dense_store(y, at, type, -INFINITY);
}

/* base = row-major position of the channel's first element in what the indices count. */
static void pool_max(const struct kern_call *call, const struct pool_shape *s, const struct pool_window *window,
                     int64_t y_at, int64_t index_at, uint64_t base)
{
    const struct kern_op *op = call->op;
    DML_TENSOR_DATA_TYPE type = op->tensors[0].type;
    uint32_t bytes = kern_type_bytes(type);
    struct pool_best best = pool_best_of(s, window, type);
    if (best.found)
        memcpy((char *)call->data[1] + y_at * bytes, (const char *)window->x + best.offset * bytes, bytes);
    else
        pool_store_lowest(call->data[1], y_at, type);
    if (!op->u.pool.has_indices)
        return;
    uint64_t index = best.found ? base + (uint64_t)best.position : 0;
    if (kern_type_bytes(op->tensors[2].type) == 8)
        ((uint64_t *)call->data[2])[index_at] = index;
    else
        ((uint32_t *)call->data[2])[index_at] = (uint32_t)index;
}

void kern_pool_any_ref_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    const struct kern_view *y = &call->op->tensors[1];
    struct pool_shape s;
    pool_shape_init(call->op, &s);
    uint64_t plane = (uint64_t)(s.in[0] * s.in[1] * s.in[2]);
    for (uint64_t row = begin; row < end; row++) {
        uint32_t at[KERN_RANK_MAX];
        int64_t where[5] = { 0 };
        dense_row_at(y, row, at);
        for (uint32_t d = 0; d < y->rank; d++)
            where[d < 2 ? d : d + 5 - y->rank] = at[d];
        struct pool_window window;
        uint64_t base = call->op->u.pool.whole_indices ? (at[0] * (uint64_t)y->sizes[1] + at[1]) * plane : 0;
        for (where[4] = 0; where[4] < s.out[2]; where[4]++) {
            int64_t y_at = 0, index_at = 0;
            for (uint32_t d = 0; d < 5; d++) {
                y_at += where[d] * s.y[d];
                index_at += where[d] * s.index[d];
            }
            pool_window_at(&s, call->data[0], where, &window);
            if (call->op->u.pool.mode == KERN_POOL_MAX)
                pool_max(call, &s, &window, y_at, index_at, base);
            else
                dense_store(call->data[1], y_at, y->type, pool_summed(call, &s, &window, where));
        }
    }
}
