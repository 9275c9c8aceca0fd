/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions. */
#include "onnx/convert/converters.h"

#include <math.h>

/* A reduction of no elements returns the neutral value. */
enum nothing { ZERO, ONE, LOWEST, HIGHEST, MINUS_INFINITY, UNDEFINED };

static const struct reduce_row {
    const char *op;
    DML_REDUCE_FUNCTION function;
    enum nothing nothing;
    bool floats; /* DirectML's function accepts floats only */
} reduce_rows[] = {
    { "ReduceL1", DML_REDUCE_FUNCTION_L1, ZERO, false },
    { "ReduceL2", DML_REDUCE_FUNCTION_L2, ZERO, true },
    { "ReduceLogSum", DML_REDUCE_FUNCTION_LOG_SUM, MINUS_INFINITY, true },
    { "ReduceLogSumExp", DML_REDUCE_FUNCTION_LOG_SUM_EXP, MINUS_INFINITY, true },
    { "ReduceMax", DML_REDUCE_FUNCTION_MAX, LOWEST, false },
    { "ReduceMean", DML_REDUCE_FUNCTION_AVERAGE, UNDEFINED, false },
    { "ReduceMin", DML_REDUCE_FUNCTION_MIN, HIGHEST, false },
    { "ReduceProd", DML_REDUCE_FUNCTION_MULTIPLY, ONE, false },
    { "ReduceSum", DML_REDUCE_FUNCTION_SUM, ZERO, false },
    { "ReduceSumSquare", DML_REDUCE_FUNCTION_SUM_SQUARE, ZERO, false },
};

static const struct reduce_row *reduce_find(const char *op)
{
    uint32_t i = 0;
    while (strcmp(reduce_rows[i].op, op))
        i++;
    return &reduce_rows[i];
}

/* Axes: an attribute in older opsets, an input in newer ones; none = all (or none with noop_with_empty_axes). */
static bool reduce_axes(struct onnx_builder *b, const struct onnx_node *n, const struct onnx_value *x, UINT *axes,
                        uint32_t *count)
{
    int64_t values[ONNX_RANK_MAX];
    const struct onnx_value *input = onnx_in_optional(b, n, 1);
    uint32_t seen = 0, given;
    if (b->failed || !onnx_attr_ints(b, n, "axes", values, ONNX_RANK_MAX, &given) ||
        (input && !onnx_const_ints(b, input, values, ONNX_RANK_MAX, &given)))
        return false;
    *count = 0;
    if (!given && onnx_attr_int(n, "noop_with_empty_axes", 0))
        return true;
    for (uint32_t i = 0; i < given; i++) {
        uint32_t axis;
        if (!onnx_axis(b, values[i], x->rank, &axis))
            return false;
        if (!(seen >> axis & 1))
            axes[(*count)++] = axis;
        seen |= 1u << axis;
    }
    for (uint32_t i = 0; !given && i < x->rank; i++)
        axes[(*count)++] = i;
    return true;
}

static uint32_t reduced_dims(const struct onnx_value *x, const UINT *axes, uint32_t count, bool keep, int64_t *full,
                             int64_t *out)
{
    uint32_t rank = 0;
    for (uint32_t i = 0; i < x->rank; i++) {
        bool reduced = false;
        for (uint32_t j = 0; j < count; j++)
            reduced = reduced || axes[j] == i;
        full[i] = reduced ? 1 : x->dims[i];
        if (!reduced || keep)
            out[rank++] = full[i];
    }
    return rank;
}

static bool reduce_nothing(struct onnx_builder *b, enum nothing nothing, struct onnx_value *y)
{
    double value = nothing == ONE ? 1 : nothing == MINUS_INFINITY ? -INFINITY : nothing == UNDEFINED ? NAN : 0;
    struct onnx_value *one = nothing == LOWEST    ? onnx_smallest(b, y->type)
                             : nothing == HIGHEST ? onnx_largest(b, y->type)
                                                  : onnx_scalar(b, y->type, value);
    struct onnx_value *all = one ? onnx_broadcast_copy(b, one, y->rank, y->dims) : NULL;
    return all && onnx_alias(b, y, all);
}

/* The mean of integers: an exact sum, divided with truncation. */
static bool reduce_mean_integer(struct onnx_builder *b, struct onnx_value *x, struct onnx_value *y, const UINT *axes,
                                uint32_t count)
{
    struct onnx_value *sum = onnx_temp(b, x->type, y->rank, y->dims);
    double elements = 1;
    for (uint32_t i = 0; i < count; i++)
        elements *= (double)x->dims[axes[i]];
    return onnx_reduced_to(b, DML_REDUCE_FUNCTION_SUM, x, axes, count, sum) &&
           onnx_apply2_to(b, DML_OPERATOR_ELEMENT_WISE_DIVIDE, sum, onnx_scalar(b, x->type, elements), y);
}

/* No axes: every element is reduced alone, over an additional axis. */
static bool reduce_each(struct onnx_builder *b, const struct reduce_row *row, struct onnx_value *x,
                        struct onnx_value *y)
{
    int64_t dims[2] = { onnx_elements(x), 1 };
    UINT axis = 1;
    struct onnx_value *flat = onnx_temp(b, x->type, 2, dims);
    if (row->function == DML_REDUCE_FUNCTION_AVERAGE)
        return onnx_alias(b, y, x);
    return flat && y && onnx_alias(b, flat, x) && onnx_reduced_to(b, row->function, flat, &axis, 1, y);
}

bool onnx_reduce(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *x = onnx_in(b, n, 0);
    const struct reduce_row *row = reduce_find(n->op);
    UINT axes[ONNX_RANK_MAX];
    uint32_t count = 0;
    int64_t full[ONNX_RANK_MAX], dims[ONNX_RANK_MAX];
    bool done;
    if (!x || !reduce_axes(b, n, x, axes, &count))
        return false;
    if (row->floats && !onnx_type_is_float(x->type))
        return onnx_in_type(b, n, onnx_reduce, 1, ONNX_DOUBLE);
    uint32_t rank = reduced_dims(x, axes, count, onnx_attr_int(n, "keepdims", 1) != 0, full, dims);
    struct onnx_value *y = onnx_out(b, n, 0, x->type, rank, dims);
    if (!y)
        return false;
    if (!onnx_fold_reduce(b, n, y, x, full, &done) || done)
        return !b->failed;
    if (!onnx_elements(x) && onnx_elements(y))
        return reduce_nothing(b, row->nothing, y);
    if (!count)
        return reduce_each(b, row, x, y);
    if (row->function == DML_REDUCE_FUNCTION_AVERAGE && !onnx_type_is_float(x->type))
        return reduce_mean_integer(b, x, y, axes, count);
    return onnx_reduced_to(b, row->function, x, axes, count, y);
}

bool onnx_arg(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *x = onnx_in(b, n, 0);
    UINT axis;
    int64_t full[ONNX_RANK_MAX], dims[ONNX_RANK_MAX];
    struct onnx_desc dx, dy;
    if (!x || !onnx_axis(b, onnx_attr_int(n, "axis", 0), x->rank, &axis))
        return false;
    uint32_t rank = reduced_dims(x, &axis, 1, onnx_attr_int(n, "keepdims", 1) != 0, full, dims);
    struct onnx_value *y = onnx_out(b, n, 0, ONNX_INT64, rank, dims);
    if (!y)
        return false;
    DML_ARGMAX_OPERATOR_DESC desc = { onnx_desc(b, &dx, x), onnx_desc_as(b, &dy, y, x->rank, full), 1, &axis,
                                      onnx_attr_int(n, "select_last_index", 0) ? DML_AXIS_DIRECTION_DECREASING
                                                                               : DML_AXIS_DIRECTION_INCREASING };
    return onnx_emit(b, !strcmp(n->op, "ArgMax") ? DML_OPERATOR_ARGMAX : DML_OPERATOR_ARGMIN, &desc, &x, 1, &y, 1);
}
