/* SPDX-License-Identifier: Apache-2.0 */
/* Normalisation over batches, layers and groups, and the gradients. */
#include "graph.h"

#define EW(name) DML_OPERATOR_ELEMENT_WISE_##name

/* 1 / sqrt(x + epsilon) */
static struct aten_value *inverse_root(struct aten_graph *g, struct aten_value *x, double epsilon)
{
    return aten_apply(g, EW(RECIP), aten_apply(g, EW(SQRT), aten_scaled(g, x, 1, epsilon)));
}

static struct aten_value *summed(struct aten_graph *g, struct aten_value *x, uint32_t axes)
{
    return x ? aten_reduced(g, DML_REDUCE_FUNCTION_SUM, x, axes, x->type) : NULL;
}

static struct aten_value *averaged(struct aten_graph *g, struct aten_value *x, uint32_t axes)
{
    return x ? aten_reduced(g, DML_REDUCE_FUNCTION_AVERAGE, x, axes, x->type) : NULL;
}

/* The sizes of x with 1 along the axes; returns the number of elements that are reduced to one. */
static int64_t small_sizes(const struct aten_value *x, uint32_t axes, int64_t *out)
{
    int64_t count = 1;
    for (uint32_t i = 0; i < x->rank; i++) {
        out[i] = axes >> i & 1 ? 1 : x->sizes[i];
        count *= axes >> i & 1 ? x->sizes[i] : 1;
    }
    return count;
}

/* Argument i as values for the axes that remain (channels); `otherwise` if it is absent. */
static struct aten_value *parameter(struct aten_graph *g, const struct aten_node *n, uint32_t i, int32_t type,
                                    uint32_t rank, const int64_t *sizes, double otherwise)
{
    if (!aten_given(n, i))
        return aten_filled(g, type, rank, sizes, otherwise);
    return aten_reshape(g, aten_in_as(g, n, i, type), rank, sizes);
}

/* ---- normalisation with the statistics of the input ---- */

struct normal {
    struct aten_value *y, *mean, *variance;
};

/* y = scale * (x - mean) / sqrt(variance + epsilon) + bias, with statistics over the axes. */
static bool normalise(struct aten_graph *g, struct aten_value *x, uint32_t axes, struct aten_value *scale,
                      struct aten_value *bias, double epsilon, struct normal *out)
{
    int64_t sizes[ATEN_RANK_MAX];
    struct aten_desc d[6];
    if (!x || !scale || !bias || g->failed)
        return false;
    small_sizes(x, axes, sizes);
    if (x->type == ATEN_FLOAT64) { /* the operator does not support FLOAT64 */
        out->mean = averaged(g, x, axes);
        struct aten_value *centred = aten_subtract(g, x, out->mean);
        out->variance = averaged(g, aten_multiply(g, centred, centred), axes);
        struct aten_value *factor = aten_multiply(g, inverse_root(g, out->variance, epsilon), scale);
        out->y = aten_add(g, aten_multiply(g, centred, factor), bias);
        return out->y != NULL;
    }
    out->y = aten_new(g, x->type, x->rank, x->sizes);
    out->mean = aten_new_packed(g, x->type, x->rank, sizes);
    out->variance = aten_new_packed(g, x->type, x->rank, sizes);
    if (!out->variance)
        return false;
    DML_BATCH_NORMALIZATION_TRAINING_OPERATOR_DESC desc = {
        .InputTensor = aten_describe(g, &d[0], x),
        .ScaleTensor = aten_describe(g, &d[1], scale),
        .BiasTensor = aten_describe(g, &d[2], bias),
        .OutputTensor = aten_describe(g, &d[3], out->y),
        .OutputMeanTensor = aten_describe(g, &d[4], out->mean),
        .OutputVarianceTensor = aten_describe(g, &d[5], out->variance),
        .Epsilon = (float)epsilon,
    };
    struct aten_value *in[4] = { x, scale, bias, NULL }, *made[3] = { out->y, out->mean, out->variance };
    return aten_emit(g, DML_OPERATOR_BATCH_NORMALIZATION_TRAINING, &desc, in, 4, made, 3);
}

struct gradient {
    struct aten_value *x, *scale, *bias;
};

/* Gradients of normalise(); `fixed`: the statistics are constants. `inverse`: 1 / deviation. */
static bool composed_gradient(struct aten_graph *g, struct aten_value *const *in, struct aten_value *inverse,
                              uint32_t axes, bool fixed, struct gradient *out)
{
    int64_t sizes[ATEN_RANK_MAX];
    struct aten_value *x = in[0], *dy = in[1];
    const double share = 1 / (double)small_sizes(x, axes, sizes);
    struct aten_value *normal = aten_multiply(g, aten_subtract(g, x, in[2]), inverse);
    out->bias = summed(g, dy, axes);
    out->scale = summed(g, aten_multiply(g, dy, normal), axes);
    struct aten_value *rest = dy;
    if (!fixed) {
        rest = aten_subtract(g, dy, aten_scaled(g, out->bias, share, 0));
        rest = aten_subtract(g, rest, aten_multiply(g, normal, aten_scaled(g, out->scale, share, 0)));
    }
    out->x = aten_multiply(g, rest, aten_multiply(g, inverse, in[4]));
    return out->x != NULL;
}

/* in: x, dy, mean, 1 / deviation, scale; statistics and scale have the same shape. */
static bool normalise_gradient(struct aten_graph *g, struct aten_value *const *in, uint32_t axes, bool fixed,
                               struct gradient *out)
{
    struct aten_desc d[8];
    struct aten_value *x = in[0];
    for (uint32_t i = 0; i < 5; i++)
        if (!in[i] || g->failed)
            return false;
    if (x->type == ATEN_FLOAT64)
        return composed_gradient(g, in, in[3], axes, fixed, out);
    /* The operator adds Epsilon, which the deviation already includes here. */
    struct aten_value *variance = aten_apply(g, EW(RECIP), aten_multiply(g, in[3], in[3]));
    out->x = aten_new(g, x->type, x->rank, x->sizes);
    out->scale = aten_new_packed(g, x->type, x->rank, in[4]->sizes);
    out->bias = aten_new_packed(g, x->type, x->rank, in[4]->sizes);
    if (!variance || !out->bias)
        return false;
    DML_BATCH_NORMALIZATION_TRAINING_GRAD_OPERATOR_DESC desc = {
        .InputTensor = aten_describe(g, &d[0], x),
        .InputGradientTensor = aten_describe(g, &d[1], in[1]),
        .MeanTensor = aten_describe(g, &d[2], in[2]),
        .VarianceTensor = aten_describe(g, &d[3], variance),
        .ScaleTensor = aten_describe(g, &d[4], in[4]),
        .OutputGradientTensor = aten_describe(g, &d[5], out->x),
        .OutputScaleGradientTensor = aten_describe(g, &d[6], out->scale),
        .OutputBiasGradientTensor = aten_describe(g, &d[7], out->bias),
    };
    struct aten_value *inputs[5] = { x, in[1], in[2], variance, in[4] }, *made[3] = { out->x, out->scale, out->bias };
    /* Both descriptions have the same fields. */
    return aten_emit(g, fixed ? DML_OPERATOR_BATCH_NORMALIZATION_GRAD : DML_OPERATOR_BATCH_NORMALIZATION_TRAINING_GRAD,
                     &desc, inputs, 5, made, 3);
}

/* ---- batches ---- */

/* Indices of the arguments; UINT32_MAX: none. */
struct batch_norm {
    uint32_t mean, variance, training, momentum, epsilon;
    bool trains; /* for operators without a training argument */
};

enum { NATIVE, NO_STATISTICS, NO_TRAINING, WITH_UPDATE, NO_UPDATE };

static const struct batch_norm batch_norms[] = {
    [NATIVE] = { 3, 4, 5, 6, 7, false },
    [NO_STATISTICS] = { UINT32_MAX, UINT32_MAX, 3, 4, 5, false },
    [NO_TRAINING] = { 3, 4, UINT32_MAX, 5, 6, false },
    [WITH_UPDATE] = { 3, 4, UINT32_MAX, 5, 6, true },
    [NO_UPDATE] = { 3, 4, UINT32_MAX, 5, 6, false },
};

/* Result i: {channels}, or empty if torch requests none. */
static bool channel_result(struct aten_graph *g, const struct aten_node *n, uint32_t i, struct aten_value *v)
{
    if (!aten_wanted(n, i))
        return true;
    int64_t elements = 1;
    for (uint32_t d = 0; d < n->outputs[i].rank; d++)
        elements *= n->outputs[i].sizes[d];
    return aten_result(g, n, i,
                       elements ? aten_reshape(g, v, n->outputs[i].rank, n->outputs[i].sizes)
                                : aten_scalar(g, n->outputs[i].type, 0));
}

/* Result i: argument `from`, moved towards the batch's statistic by momentum. */
static bool running(struct aten_graph *g, const struct aten_node *n, uint32_t i, uint32_t from,
                    struct aten_value *statistic, double momentum)
{
    if (!aten_wanted(n, i) || !aten_given(n, from))
        return true;
    struct aten_value *old = aten_in(g, n, from);
    if (statistic && old)
        old = aten_add(g, aten_scaled(g, aten_reshape(g, statistic, old->rank, old->sizes), momentum, 0),
                       aten_scaled(g, aten_convert(g, old, statistic->type), 1 - momentum, 0));
    return aten_result(g, n, i, old);
}

/* Statistics of an empty batch. */
static bool empty_batch(struct aten_graph *g, const struct aten_node *n, const struct batch_norm *at)
{
    for (uint32_t i = 0; i < n->output_count; i++)
        if (aten_wanted(n, i) && !aten_result(g, n, i,
                                              i < 3 ? aten_scalar(g, n->outputs[i].type, 0)
                                                    : aten_in(g, n, i == 3 ? at->mean : at->variance)))
            return false;
    return true;
}

static bool with_running(struct aten_graph *g, const struct aten_node *n, const struct batch_norm *at,
                         struct aten_value *x, const int64_t *sizes)
{
    struct aten_value *in[5] = { x, parameter(g, n, at->mean, x->type, x->rank, sizes, 0),
                                 parameter(g, n, at->variance, x->type, x->rank, sizes, 1),
                                 parameter(g, n, 1, x->type, x->rank, sizes, 1),
                                 parameter(g, n, 2, x->type, x->rank, sizes, 0) };
    struct aten_value *y = aten_new(g, x->type, x->rank, x->sizes);
    struct aten_desc d[6];
    if (!y)
        return false;
    DML_BATCH_NORMALIZATION_OPERATOR_DESC desc = { aten_describe(g, &d[0], x),
                                                   aten_describe(g, &d[1], in[1]),
                                                   aten_describe(g, &d[2], in[2]),
                                                   aten_describe(g, &d[3], in[3]),
                                                   aten_describe(g, &d[4], in[4]),
                                                   aten_describe(g, &d[5], y),
                                                   TRUE,
                                                   (float)aten_real(g, n, at->epsilon, 1e-5),
                                                   NULL };
    return aten_emit(g, DML_OPERATOR_BATCH_NORMALIZATION, &desc, in, 5, &y, 1) && aten_result(g, n, 0, y) &&
           channel_result(g, n, 1, in[1]) && channel_result(g, n, 2, inverse_root(g, in[2], desc.Epsilon));
}

/* Without the batch's statistics: the type of the result if all parameters have it, because the operator computes its
 * two factors in FLOAT32 anyway, and a convolution can include it. */
static int32_t batch_type(const struct aten_node *n, const struct batch_norm *at, bool training)
{
    const uint32_t parameters[4] = { 1, 2, at->mean, at->variance };
    const int32_t type = n->outputs[0].type;
    for (uint32_t i = 0; i < 4; i++)
        if (training || (aten_is_tensor(n, parameters[i]) && n->args[parameters[i]].values[0]->type != type))
            return aten_wide(type);
    return type;
}

/* (input, weight, bias, running_mean, running_var, training, momentum, eps) -> (output, mean, 1 / deviation, reserve of
 * _batch_norm_*, running_mean, running_var); parameter: the overload. */
bool aten_build_batch_norm(struct aten_graph *g, const struct aten_node *n)
{
    const struct batch_norm *at = &batch_norms[n->parameter];
    const bool reserves = n->parameter == WITH_UPDATE || n->parameter == NO_UPDATE;
    const uint32_t next = reserves ? 4 : 3;
    const bool training = aten_int(g, n, at->training, at->trains) != 0;
    struct aten_value *x = aten_in_as(g, n, 0, batch_type(n, at, training));
    int64_t sizes[ATEN_RANK_MAX];
    if (!x || x->rank < 2)
        return aten_fail(g, "argument 0 (input) must have 2 dimensions or more");
    if (reserves && aten_wanted(n, 3) && !aten_result(g, n, 3, aten_scalar(g, n->outputs[3].type, 0)))
        return false;
    const uint32_t axes = ((1u << x->rank) - 1) & ~2u;
    const int64_t count = small_sizes(x, axes, sizes);
    if (!aten_elements(x))
        return !reserves && empty_batch(g, n, at);
    if (!training)
        return with_running(g, n, at, x, sizes) && running(g, n, next, at->mean, NULL, 0) &&
               running(g, n, next + 1, at->variance, NULL, 0);
    const double epsilon = aten_real(g, n, at->epsilon, 1e-5), momentum = aten_real(g, n, at->momentum, 0.1);
    struct normal normal;
    return normalise(g, x, axes, parameter(g, n, 1, x->type, x->rank, sizes, 1),
                     parameter(g, n, 2, x->type, x->rank, sizes, 0), epsilon, &normal) &&
           aten_result(g, n, 0, normal.y) && channel_result(g, n, 1, normal.mean) &&
           channel_result(g, n, 2, inverse_root(g, normal.variance, epsilon)) &&
           running(g, n, next, at->mean, normal.mean, momentum) &&
           running(g, n, next + 1, at->variance,
                   aten_scaled(g, normal.variance, (double)count / (double)(count - 1), 0), momentum);
}

/* Gradients of empty sums. */
static bool zeros(struct aten_graph *g, const struct aten_node *n)
{
    for (uint32_t i = 0; i < n->output_count; i++)
        if (aten_wanted(n, i) && !aten_result(g, n, i, aten_scalar(g, n->outputs[i].type, 0)))
            return false;
    return true;
}

/* (grad_out, input, weight, running_mean, running_var, save_mean, save_invstd, train, eps, output_mask) */
bool aten_build_batch_norm_backward(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_value *x = aten_in(g, n, 1);
    int64_t sizes[ATEN_RANK_MAX];
    struct gradient made;
    if (!x || x->rank < 2)
        return aten_fail(g, "argument 1 (input) must have 2 dimensions or more");
    if (!aten_elements(x))
        return zeros(g, n);
    const bool training = aten_int(g, n, 7, 0) != 0;
    const uint32_t axes = ((1u << x->rank) - 1) & ~2u;
    const int32_t type = aten_wide(x->type);
    small_sizes(x, axes, sizes);
    x = aten_convert(g, x, type);
    struct aten_value *in[5] = { x, aten_in_as(g, n, 0, type),
                                 parameter(g, n, training ? 5 : 3, type, x->rank, sizes, 0),
                                 parameter(g, n, training ? 6 : 4, type, x->rank, sizes, 1),
                                 parameter(g, n, 2, type, x->rank, sizes, 1) };
    if (!training)
        in[3] = inverse_root(g, in[3], aten_real(g, n, 8, 1e-5));
    return normalise_gradient(g, in, axes, !training, &made) && aten_result(g, n, 0, made.x) &&
           channel_result(g, n, 1, made.scale) && channel_result(g, n, 2, made.bias);
}

/* ---- layers and groups ---- */

/* x as rows: {batch, groups, channels of a group, the rest}. A layer norm is one group with one channel. */
struct rows {
    int64_t sizes[4];
    uint32_t axes;                /* axes over which each row is normalised */
    int64_t weights[4], small[4]; /* sizes of the parameters, and of the statistics */
};

static void finish_rows(struct rows *rows, bool layers)
{
    rows->axes = 0xc;
    for (uint32_t i = 0; i < 4; i++) {
        rows->small[i] = i < 2 ? rows->sizes[i] : 1;
        rows->weights[i] = layers ? i == 3 ? rows->sizes[3] : 1 : i == 1 || i == 2 ? rows->sizes[i] : 1;
    }
}

static bool layer_rows(struct aten_graph *g, const struct aten_node *n, const struct aten_value *x, uint32_t shape,
                       struct rows *out)
{
    uint32_t count;
    aten_ints(g, n, shape, &count);
    if (!x || g->failed || count > x->rank)
        return aten_fail(g, "argument normalized_shape has more dimensions than the input");
    *out = (struct rows){ .sizes = { 1, 1, 1, 1 } };
    for (uint32_t i = 0; i < x->rank; i++)
        out->sizes[i + count < x->rank ? 0 : 3] *= x->sizes[i];
    finish_rows(out, true);
    return true;
}

/* Reads N, C, HxW, group: arguments from `first` on. */
static bool group_rows(struct aten_graph *g, const struct aten_node *n, uint32_t first, struct rows *out)
{
    const int64_t groups = aten_int(g, n, first + 3, 1), channels = aten_int(g, n, first + 1, 1);
    if (groups < 1 || channels % groups)
        return aten_fail(g, "%lld channels are not divisible by %lld groups", (long long)channels, (long long)groups);
    *out =
        (struct rows){ .sizes = { aten_int(g, n, first, 1), groups, channels / groups, aten_int(g, n, first + 2, 1) } };
    finish_rows(out, false);
    return true;
}

/* The type in which one operator computes: that of the result if the parameters have it, too. */
static int32_t rows_type(const struct aten_node *n, uint32_t weight)
{
    const int32_t type = n->outputs[0].type;
    for (uint32_t i = 0; i < 2; i++)
        if (aten_is_tensor(n, weight + i) && n->args[weight + i].values[0]->type != type)
            return aten_wide(type);
    return type;
}

/* Without the statistics; weight: the argument's index, that of the bias is the next one. */
static bool rows_alone(struct aten_graph *g, const struct aten_node *n, const struct rows *rows, uint32_t weight,
                       double epsilon)
{
    static const UINT axes[2] = { 2, 3 };
    const int32_t type = rows_type(n, weight);
    struct aten_value *given = aten_in(g, n, 0);
    struct aten_value *in[3] = { aten_reshape(g, aten_in_as(g, n, 0, type), 4, rows->sizes) };
    struct aten_value *y = aten_new(g, type, 4, rows->sizes);
    struct aten_desc d[4];
    for (uint32_t i = 0; i < 2; i++)
        if (aten_given(n, weight + i))
            in[1 + i] = parameter(g, n, weight + i, type, 4, rows->weights, 0);
    if (!y || g->failed)
        return false;
    DML_MEAN_VARIANCE_NORMALIZATION2_OPERATOR_DESC desc = {
        .InputTensor = aten_describe(g, &d[0], in[0]),
        .ScaleTensor = in[1] ? aten_describe(g, &d[1], in[1]) : NULL,
        .BiasTensor = in[2] ? aten_describe(g, &d[2], in[2]) : NULL,
        .OutputTensor = aten_describe(g, &d[3], y),
        .AxisCount = 2,
        .Axes = axes,
        .UseMean = TRUE,
        .UseVariance = TRUE,
        .Epsilon = (float)epsilon,
    };
    return aten_emit(g, DML_OPERATOR_MEAN_VARIANCE_NORMALIZATION2, &desc, in, 3, &y, 1) &&
           aten_result(g, n, 0, aten_reshape(g, y, given->rank, given->sizes));
}

/* FLOAT64 is computed in parts: the Epsilon of operators is FLOAT32. Otherwise the result is one operator even if the
 * statistics are read: its kernels are faster than the operator that returns both, of which only the statistics remain.
 */
static bool build_rows(struct aten_graph *g, const struct aten_node *n, const struct rows *rows, uint32_t weight,
                       double epsilon)
{
    const int32_t type = aten_wide(n->outputs[0].type);
    const bool parts = type == ATEN_FLOAT64;
    struct aten_value *x = aten_in(g, n, 0);
    struct normal normal;
    if (!x || !aten_elements(x))
        return x && zeros(g, n);
    if (!parts && !rows_alone(g, n, rows, weight, epsilon))
        return false;
    if (!parts && !aten_wanted(n, 1) && !aten_wanted(n, 2))
        return true;
    x = aten_convert(g, x, type);
    if (!normalise(g, aten_reshape(g, x, 4, rows->sizes), rows->axes, aten_filled(g, type, 4, rows->small, 1),
                   aten_filled(g, type, 4, rows->small, 0), epsilon, &normal))
        return false;
    struct aten_value *y = parts ? normal.y : NULL;
    if (y && aten_given(n, weight))
        y = aten_multiply(g, y, parameter(g, n, weight, type, 4, rows->weights, 1));
    if (y && aten_given(n, weight + 1))
        y = aten_add(g, y, parameter(g, n, weight + 1, type, 4, rows->weights, 0));
    return (!parts || aten_result(g, n, 0, aten_reshape(g, y, x->rank, x->sizes))) &&
           channel_result(g, n, 1, normal.mean) && channel_result(g, n, 2, inverse_root(g, normal.variance, epsilon));
}

/* native_layer_norm(input, normalized_shape, weight, bias, eps) -> (output, mean, 1 / deviation) */
bool aten_build_layer_norm(struct aten_graph *g, const struct aten_node *n)
{
    struct rows rows;
    return layer_rows(g, n, aten_in(g, n, 0), 1, &rows) && build_rows(g, n, &rows, 2, aten_real(g, n, 4, 1e-5));
}

/* native_group_norm(input, weight, bias, N, C, HxW, group, eps) -> (output, mean, 1 / deviation) */
bool aten_build_group_norm(struct aten_graph *g, const struct aten_node *n)
{
    struct rows rows;
    return group_rows(g, n, 3, &rows) && build_rows(g, n, &rows, 1, aten_real(g, n, 7, 1e-5));
}

/* Arguments grad_out and input, followed by the indices of mean (1 / deviation is the next one) and of weight. */
static bool build_rows_backward(struct aten_graph *g, const struct aten_node *n, const struct rows *rows, uint32_t mean,
                                uint32_t weight)
{
    struct aten_value *x = aten_in(g, n, 1);
    struct gradient made;
    if (!x || !aten_elements(x))
        return x && zeros(g, n);
    const int32_t type = aten_wide(x->type);
    uint32_t others = 0;
    for (uint32_t i = 0; i < 4; i++)
        others |= (rows->weights[i] == 1 ? 1u : 0u) << i;
    struct aten_value *flat = aten_reshape(g, aten_convert(g, x, type), 4, rows->sizes);
    struct aten_value *dy = aten_reshape(g, aten_in_as(g, n, 0, type), 4, rows->sizes);
    struct aten_value *in[5] = { flat, dy, parameter(g, n, mean, type, 4, rows->small, 0),
                                 parameter(g, n, mean + 1, type, 4, rows->small, 1),
                                 aten_filled(g, type, 4, rows->small, 1) };
    if (aten_wanted(n, 0)) {
        if (aten_given(n, weight))
            in[1] = aten_multiply(g, dy, parameter(g, n, weight, type, 4, rows->weights, 1));
        if (!normalise_gradient(g, in, rows->axes, false, &made) ||
            !aten_result(g, n, 0, aten_reshape(g, made.x, x->rank, x->sizes)))
            return false;
    }
    struct aten_value *normal = NULL;
    if (aten_wanted(n, 1))
        normal = aten_multiply(g, aten_multiply(g, aten_subtract(g, flat, in[2]), in[3]), dy);
    return (!normal || channel_result(g, n, 1, summed(g, normal, others))) &&
           (!aten_wanted(n, 2) || channel_result(g, n, 2, summed(g, dy, others)));
}

/* native_layer_norm_backward(grad_out, input, normalized_shape, mean, rstd, weight, bias, output_mask) */
bool aten_build_layer_norm_backward(struct aten_graph *g, const struct aten_node *n)
{
    struct rows rows;
    return layer_rows(g, n, aten_in(g, n, 1), 2, &rows) && build_rows_backward(g, n, &rows, 3, 5);
}

/* native_group_norm_backward(grad_out, input, mean, rstd, weight, N, C, HxW, group, output_mask) */
bool aten_build_group_norm_backward(struct aten_graph *g, const struct aten_node *n)
{
    struct rows rows;
    return group_rows(g, n, 5, &rows) && build_rows_backward(g, n, &rows, 2, 4);
}
