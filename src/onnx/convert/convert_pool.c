/* SPDX-License-Identifier: Apache-2.0 */
/* Pooling. */
#include "onnx/convert/converters.h"
#include "onnx/convert/geometry.h"
#include "onnx/emit/emit.h"

struct pool {
    struct onnx_window window;
    struct onnx_pool_shape shape;
    bool include; /* padding counts in averages */
    bool beyond;  /* and with it what a window has beyond the padding */
    bool ceil_mode;
    UINT p;
};

static bool emit_pool(struct onnx_builder *b, const char *op, const struct pool *pool, struct onnx_value *x,
                      struct onnx_value *const *y)
{
    const struct onnx_window *w = &pool->window;
    struct onnx_desc d[3];
    const DML_TENSOR_DESC *tx = onnx_desc_as(b, &d[0], x, pool->shape.rank, pool->shape.in);
    const DML_TENSOR_DESC *ty = onnx_desc_as(b, &d[1], y[0], pool->shape.rank, pool->shape.out);
    UINT spatial = pool->shape.rank - 2;
    if (!strcmp(op, "MaxPool")) {
        DML_MAX_POOLING2_OPERATOR_DESC desc = {
            tx,       ty,         y[1] ? onnx_desc_as(b, &d[2], y[1], pool->shape.rank, pool->shape.out) : NULL,
            spatial,  w->strides, w->kernel,
            w->start, w->end,     w->dilations,
        };
        return onnx_emit(b, DML_OPERATOR_MAX_POOLING2, &desc, &x, 1, y, 2);
    }
    if (!strcmp(op, "LpPool")) {
        DML_LP_POOLING1_OPERATOR_DESC desc = { tx,       ty,     spatial,      w->strides, w->kernel,
                                               w->start, w->end, w->dilations, pool->p };
        return onnx_emit(b, DML_OPERATOR_LP_POOLING1, &desc, &x, 1, y, 1);
    }
    DML_AVERAGE_POOLING1_OPERATOR_DESC desc = { tx,       ty,     spatial,      w->strides,   w->kernel,
                                                w->start, w->end, w->dilations, pool->include };
    return onnx_emit(b, DML_OPERATOR_AVERAGE_POOLING1, &desc, &x, 1, y, 1);
}

/* Averages that include padding: the part of a last window beyond the padding counts for DirectML, for ONNX unless
 * `beyond` is set it does not. With explicit zeros around the input, exactly the existing elements count. */
static struct onnx_value *pad_for_average(struct onnx_builder *b, struct pool *pool, struct onnx_value *x)
{
    struct onnx_window *w = &pool->window;
    UINT start[5] = { 0 }, end[5] = { 0 };
    struct onnx_desc dx, dy;
    bool beyond = false;
    for (uint32_t i = 0; i + 2 < pool->shape.rank; i++) {
        int64_t reach =
            (pool->shape.out[i + 2] - 1) * w->strides[i] + (int64_t)(w->kernel[i] - 1) * w->dilations[i] + 1;
        beyond = beyond || reach > pool->shape.in[i + 2] + w->start[i] + w->end[i];
    }
    if (!beyond || !pool->include || pool->beyond)
        return x;
    const DML_TENSOR_DESC *tx = onnx_desc_as(b, &dx, x, pool->shape.rank, pool->shape.in);
    for (uint32_t i = 0; i + 2 < pool->shape.rank; i++) {
        start[i + 2] = w->start[i];
        end[i + 2] = w->end[i];
        pool->shape.in[i + 2] += (int64_t)w->start[i] + w->end[i];
        w->start[i] = w->end[i] = 0;
    }
    pool->include = false;
    struct onnx_value *y = onnx_temp(b, x->type, pool->shape.rank, pool->shape.in);
    if (!y)
        return NULL;
    DML_PADDING1_OPERATOR_DESC desc = { tx,
                                        onnx_desc(b, &dy, y),
                                        DML_PADDING_MODE_CONSTANT,
                                        onnx_type_dml(x->type),
                                        { .UInt64 = 0 },
                                        pool->shape.rank,
                                        start,
                                        end };
    return onnx_emit(b, DML_OPERATOR_PADDING1, &desc, &x, 1, &y, 1) ? y : NULL;
}

static struct onnx_value *step(struct onnx_builder *b, DML_OPERATOR_TYPE type, struct onnx_value *x,
                               struct onnx_value *z)
{
    struct onnx_value *y = x && z ? onnx_temp(b, x->type, x->rank, x->dims) : NULL;
    return onnx_apply2_to(b, type, x, z, y) ? y : NULL;
}

/* storage_order = 1: positions are counted with the first spatial dimension fastest. */
static bool transpose_indices(struct onnx_builder *b, const struct onnx_value *x, struct onnx_value *rows,
                              struct onnx_value *y)
{
    int64_t area = 1, stride = 1;
    for (uint32_t i = 2; i < x->rank; i++)
        area *= x->dims[i];
    struct onnx_value *left =
        step(b, DML_OPERATOR_ELEMENT_WISE_MODULUS_TRUNCATE, rows, onnx_scalar(b, rows->type, (double)area));
    struct onnx_value *sum = step(b, DML_OPERATOR_ELEMENT_WISE_SUBTRACT, rows, left);
    for (uint32_t i = 2; i < x->rank; i++) {
        area /= BASE_MAX(x->dims[i], 1);
        struct onnx_value *size = onnx_scalar(b, rows->type, (double)area);
        struct onnx_value *at = step(b, DML_OPERATOR_ELEMENT_WISE_DIVIDE, left, size);
        struct onnx_value *part =
            step(b, DML_OPERATOR_ELEMENT_WISE_MULTIPLY, at, onnx_scalar(b, rows->type, (double)stride));
        sum = step(b, DML_OPERATOR_ELEMENT_WISE_ADD, sum, part);
        left = step(b, DML_OPERATOR_ELEMENT_WISE_MODULUS_TRUNCATE, left, size);
        stride *= x->dims[i];
    }
    return onnx_cast_to(b, sum, y);
}

static bool pool_read(struct onnx_builder *b, const struct onnx_node *n, const struct onnx_value *x, struct pool *pool,
                      int64_t *dims)
{
    struct onnx_window *w = &pool->window;
    int64_t p = onnx_attr_int(n, "p", 2);
    if (x->rank < 3 || x->rank > 5)
        return onnx_fail(b, "input of rank %u is not supported", x->rank);
    if (p < 1 || p > INT32_MAX)
        return onnx_fail(b, "p = %lld", (long long)p);
    w->spatial = x->rank - 2;
    if (!onnx_window_attribute(b, n, "kernel_shape", w->spatial, w->kernel, 0) ||
        !onnx_window_read(b, n, w, x->dims + 2))
        return false;
    pool->ceil_mode = onnx_attr_int(n, "ceil_mode", 0) != 0;
    pool->beyond = n->version < 19 && !pool->ceil_mode; /* as in ONNX Runtime */
    pool->include = onnx_attr_int(n, "count_include_pad", 0) != 0;
    pool->p = (UINT)p;
    dims[0] = x->dims[0];
    dims[1] = x->dims[1];
    for (uint32_t i = 0; i < w->spatial; i++)
        dims[2 + i] = onnx_pool_output(w, i, x->dims[2 + i], pool->ceil_mode);
    return true;
}

bool onnx_pool(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *x = onnx_in(b, n, 0), *y[2] = { NULL, NULL }, *from;
    struct pool pool = { 0 };
    int64_t dims[ONNX_RANK_MAX];
    bool indices = !strcmp(n->op, "MaxPool") && onnx_has_output(n, 1);
    if (!x || !pool_read(b, n, x, &pool, dims))
        return false;
    onnx_window_widen(&pool.window, &pool.shape, x, dims);
    y[0] = onnx_out(b, n, 0, x->type, x->rank, dims);
    y[1] = indices ? onnx_temp(b, ONNX_UINT64, x->rank, dims) : NULL;
    from = !strcmp(n->op, "AveragePool") ? pad_for_average(b, &pool, x) : x;
    if (!from || !y[0] || (indices && !y[1]) || !emit_pool(b, n->op, &pool, from, y))
        return false;
    if (!indices)
        return true;
    struct onnx_value *out = onnx_out(b, n, 1, ONNX_INT64, x->rank, dims);
    return onnx_attr_int(n, "storage_order", 0) ? transpose_indices(b, x, y[1], out) : onnx_cast_to(b, y[1], out);
}

static bool global_function(struct onnx_builder *b, const struct onnx_node *n, DML_REDUCE_FUNCTION *out)
{
    int64_t p = onnx_attr_int(n, "p", 2);
    if (!strcmp(n->op, "GlobalMaxPool"))
        *out = DML_REDUCE_FUNCTION_MAX;
    else if (!strcmp(n->op, "GlobalAveragePool"))
        *out = DML_REDUCE_FUNCTION_AVERAGE;
    else if (p == 1 || p == 2)
        *out = p == 1 ? DML_REDUCE_FUNCTION_L1 : DML_REDUCE_FUNCTION_L2;
    else
        return onnx_fail(b, "p = %lld", (long long)p);
    return true;
}

/* One window over everything, for norms that REDUCE does not support. */
static bool global_lp(struct onnx_builder *b, const struct onnx_node *n, struct onnx_value *x, struct onnx_value *y)
{
    int64_t p = onnx_attr_int(n, "p", 2), area = 1;
    for (uint32_t i = 2; i < x->rank; i++)
        area *= x->dims[i];
    if (p < 1 || p > INT32_MAX || area > INT32_MAX)
        return onnx_fail(b, "p = %lld over %lld elements is not supported", (long long)p, (long long)area);
    struct pool pool = { .window = { .kernel = { 1, (UINT)area }, .strides = { 1, 1 }, .dilations = { 1, 1 } },
                         .shape = { 4, { x->dims[0], x->dims[1], 1, area }, { x->dims[0], x->dims[1], 1, 1 } },
                         .p = (UINT)p };
    return emit_pool(b, "LpPool", &pool, x, &y);
}

bool onnx_global_pool(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *x = onnx_in(b, n, 0);
    DML_REDUCE_FUNCTION function = DML_REDUCE_FUNCTION_MAX;
    int64_t dims[ONNX_RANK_MAX];
    UINT axes[ONNX_RANK_MAX];
    if (!x)
        return false;
    if (x->rank < 3)
        return onnx_fail(b, "input of rank %u is not supported", x->rank);
    for (uint32_t i = 0; i < x->rank; i++) {
        dims[i] = i < 2 ? x->dims[i] : 1;
        axes[i] = i + 2;
    }
    struct onnx_value *y = onnx_out(b, n, 0, x->type, x->rank, dims);
    if (y && !strcmp(n->op, "GlobalLpPool") && onnx_attr_int(n, "p", 2) > 2)
        return global_lp(b, n, x, y);
    return y && global_function(b, n, &function) && onnx_reduced_to(b, function, x, axes, x->rank - 2, y);
}
