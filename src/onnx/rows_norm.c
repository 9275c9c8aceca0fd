/* Normalisation, softmax and reductions. */
#include "onnx/build.h"

bool onnx_batch_normalization(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *x = onnx_in(b, n, 0), *scale = onnx_in(b, n, 1), *bias = onnx_in(b, n, 2);
    struct onnx_value *mean = onnx_in(b, n, 3), *variance = onnx_in(b, n, 4);
    struct onnx_desc d[6];
    if (!x || !scale || !bias || !mean || !variance)
        return false;
    if (onnx_attr_int(n, "training_mode", 0) || onnx_has_output(n, 1))
        return onnx_fail(b, "training mode is not supported");
    struct onnx_value *y = onnx_out(b, n, 0, x->type, x->rank, x->dims);
    int64_t channels[ONNX_RANK_MAX] = { 1, 1, 1, 1, 1, 1, 1, 1 };
    channels[x->rank > 1 ? 1 : 0] = onnx_elements(scale);
    if (!y)
        return false;
    DML_BATCH_NORMALIZATION_OPERATOR_DESC desc = {
        .InputTensor = onnx_desc(b, &d[0], x),
        .MeanTensor = onnx_desc_as(b, &d[1], mean, x->rank, channels),
        .VarianceTensor = onnx_desc_as(b, &d[2], variance, x->rank, channels),
        .ScaleTensor = onnx_desc_as(b, &d[3], scale, x->rank, channels),
        .BiasTensor = onnx_desc_as(b, &d[4], bias, x->rank, channels),
        .OutputTensor = onnx_desc(b, &d[5], y),
        .Spatial = TRUE,
        .Epsilon = onnx_attr_float(n, "epsilon", 1e-5f),
    };
    struct onnx_value *in[5] = { x, mean, variance, scale, bias };
    return onnx_emit(b, DML_OPERATOR_BATCH_NORMALIZATION, &desc, in, 5, &y, 1);
}

/* Mean-variance normalisation over axes with a scale and bias that are described by `params_dims`. */
static bool emit_normalization(struct onnx_builder *b, struct onnx_value *x, struct onnx_value *scale,
                               struct onnx_value *bias, const int64_t *params_dims, const UINT *axes, UINT axis_count,
                               float epsilon, struct onnx_value *y)
{
    struct onnx_desc d[4];
    DML_MEAN_VARIANCE_NORMALIZATION1_OPERATOR_DESC desc = {
        .InputTensor = onnx_desc(b, &d[0], x),
        .ScaleTensor = scale ? onnx_desc_as(b, &d[1], scale, x->rank, params_dims) : NULL,
        .BiasTensor = bias ? onnx_desc_as(b, &d[2], bias, x->rank, params_dims) : NULL,
        .OutputTensor = onnx_desc(b, &d[3], y),
        .AxisCount = axis_count,
        .Axes = axes,
        .NormalizeVariance = TRUE,
        .Epsilon = epsilon,
    };
    struct onnx_value *in[3] = { x, scale, bias };
    return onnx_emit(b, DML_OPERATOR_MEAN_VARIANCE_NORMALIZATION1, &desc, in, 3, &y, 1);
}

bool onnx_instance_normalization(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *x = onnx_in(b, n, 0), *scale = onnx_in(b, n, 1), *bias = onnx_in(b, n, 2);
    int64_t dims[ONNX_RANK_MAX] = { 1, 1, 1, 1, 1, 1, 1, 1 };
    UINT axes[ONNX_RANK_MAX];
    if (!x || !scale || !bias)
        return false;
    if (x->rank < 3)
        return onnx_fail(b, "input of rank %u is not supported", x->rank);
    dims[1] = x->dims[1];
    for (uint32_t i = 2; i < x->rank; i++)
        axes[i - 2] = i;
    struct onnx_value *y = onnx_out(b, n, 0, x->type, x->rank, x->dims);
    return y && emit_normalization(b, x, scale, bias, dims, axes, x->rank - 2, onnx_attr_float(n, "epsilon", 1e-5f), y);
}

bool onnx_lrn(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *x = onnx_in(b, n, 0);
    struct onnx_value *y = x ? onnx_out(b, n, 0, x->type, x->rank, x->dims) : NULL;
    struct onnx_desc dx, dy;
    if (!y)
        return false;
    DML_LOCAL_RESPONSE_NORMALIZATION_OPERATOR_DESC desc = { onnx_desc(b, &dx, x),
                                                            onnx_desc(b, &dy, y),
                                                            TRUE,
                                                            (UINT)onnx_attr_int(n, "size", 1),
                                                            onnx_attr_float(n, "alpha", 1e-4f),
                                                            onnx_attr_float(n, "beta", 0.75f),
                                                            onnx_attr_float(n, "bias", 1.0f) };
    return onnx_emit(b, DML_OPERATOR_LOCAL_RESPONSE_NORMALIZATION, &desc, &x, 1, &y, 1);
}

bool onnx_lp_normalization(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *x = onnx_in(b, n, 0);
    uint32_t axis;
    struct onnx_desc dx, dy;
    if (!x || !onnx_axis(b, onnx_attr_int(n, "axis", -1), x->rank, &axis))
        return false;
    struct onnx_value *y = onnx_out(b, n, 0, x->type, x->rank, x->dims);
    if (!y)
        return false;
    DML_LP_NORMALIZATION_OPERATOR_DESC desc = { onnx_desc(b, &dx, x), onnx_desc(b, &dy, y), axis, 0.0f,
                                                (UINT)onnx_attr_int(n, "p", 2) };
    return onnx_emit(b, DML_OPERATOR_LP_NORMALIZATION, &desc, &x, 1, &y, 1);
}

/* Before opset 13 the axes from `axis` (default 1) on are normalised together; since then only `axis` (default -1). */
bool onnx_softmax(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *x = onnx_in(b, n, 0);
    bool together = n->version < 13;
    UINT axes[ONNX_RANK_MAX];
    uint32_t axis, count = 0;
    struct onnx_desc dx, dy;
    if (!x || !onnx_axis(b, onnx_attr_int(n, "axis", together ? 1 : -1), x->rank, &axis))
        return false;
    for (uint32_t i = axis; i < (together ? x->rank : axis + 1); i++)
        axes[count++] = i;
    struct onnx_value *y = onnx_out(b, n, 0, x->type, x->rank, x->dims);
    if (!y)
        return false;
    DML_ACTIVATION_SOFTMAX1_OPERATOR_DESC desc = { onnx_desc(b, &dx, x), onnx_desc(b, &dy, y), count, axes };
    DML_OPERATOR_TYPE type = !strcmp(n->op, "Hardmax")      ? DML_OPERATOR_ACTIVATION_HARDMAX1
                             : !strcmp(n->op, "LogSoftmax") ? DML_OPERATOR_ACTIVATION_LOG_SOFTMAX1
                                                            : DML_OPERATOR_ACTIVATION_SOFTMAX1;
    return onnx_emit(b, type, &desc, &x, 1, &y, 1);
}

static const struct {
    const char *op;
    DML_REDUCE_FUNCTION function;
} reduce_rows[] = {
    { "ReduceL1", DML_REDUCE_FUNCTION_L1 },          { "ReduceL2", DML_REDUCE_FUNCTION_L2 },
    { "ReduceLogSum", DML_REDUCE_FUNCTION_LOG_SUM }, { "ReduceLogSumExp", DML_REDUCE_FUNCTION_LOG_SUM_EXP },
    { "ReduceMax", DML_REDUCE_FUNCTION_MAX },        { "ReduceMean", DML_REDUCE_FUNCTION_AVERAGE },
    { "ReduceMin", DML_REDUCE_FUNCTION_MIN },        { "ReduceProd", DML_REDUCE_FUNCTION_MULTIPLY },
    { "ReduceSum", DML_REDUCE_FUNCTION_SUM },        { "ReduceSumSquare", DML_REDUCE_FUNCTION_SUM_SQUARE },
};

/* Axes: an attribute in older opsets, an input in newer ones; none = all (or none at all with noop_with_empty_axes). */
static bool reduce_axes(struct onnx_builder *b, const struct onnx_node *n, const struct onnx_value *x, UINT *axes,
                        uint32_t *count)
{
    int64_t values[ONNX_RANK_MAX];
    const struct onnx_value *input = onnx_in_optional(b, n, 1);
    *count = onnx_attr_ints(n, "axes", values, ONNX_RANK_MAX);
    if (input && !onnx_const_ints(b, input, values, ONNX_RANK_MAX, count))
        return false;
    if (b->failed || *count > ONNX_RANK_MAX)
        return onnx_fail(b, "too many axes");
    if (!*count && onnx_attr_int(n, "noop_with_empty_axes", 0))
        return true;
    for (uint32_t i = 0; i < *count; i++) {
        if (!onnx_axis(b, values[i], x->rank, &axes[i]))
            return false;
    }
    for (uint32_t i = 0; !*count && i < x->rank; i++)
        axes[i] = i;
    *count = *count ? *count : x->rank;
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

bool onnx_reduce(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *x = onnx_in(b, n, 0);
    UINT axes[ONNX_RANK_MAX];
    uint32_t count, i = 0;
    int64_t full[ONNX_RANK_MAX], dims[ONNX_RANK_MAX];
    struct onnx_desc dx, dy;
    bool done;
    if (!x || !reduce_axes(b, n, x, axes, &count))
        return false;
    if (!count)
        return onnx_alias(b, onnx_out(b, n, 0, x->type, x->rank, x->dims), x);
    uint32_t rank = reduced_dims(x, axes, count, onnx_attr_int(n, "keepdims", 1) != 0, full, dims);
    struct onnx_value *y = onnx_out(b, n, 0, x->type, rank, dims);
    if (!y)
        return false;
    if (!onnx_known_reduce(b, n, y, x, full, &done) || done)
        return !b->failed;
    while (strcmp(reduce_rows[i].op, n->op))
        i++;
    DML_REDUCE_OPERATOR_DESC desc = { reduce_rows[i].function, onnx_desc(b, &dx, x),
                                      onnx_desc_as(b, &dy, y, x->rank, full), count, axes };
    return onnx_emit(b, DML_OPERATOR_REDUCE, &desc, &x, 1, &y, 1);
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
