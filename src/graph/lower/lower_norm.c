/* SPDX-License-Identifier: Apache-2.0 */
/* Normalisations, softmax and reductions. */
#include "graph/lower/lower.h"

/* Softmax and log-softmax of few very large groups: e^(x - top), its sums in parts, then each element. */
static HRESULT huge_softmax(struct graph_lowering *lowering, struct kern_softmax params)
{
    const struct graph_operand *x = &lowering->inputs[0];
    const DML_TENSOR_DATA_TYPE f32 = DML_TENSOR_DATA_TYPE_FLOAT32;
    uint32_t sizes[KERN_RANK_MAX];
    for (uint32_t d = 0; d < x->view.rank; d++)
        sizes[d] = params.axes >> d & 1 ? 1 : x->view.sizes[d];
    struct graph_operand top = graph_temp(lowering->graph, f32, x->view.rank, sizes);
    struct graph_operand sum = graph_temp(lowering->graph, f32, x->view.rank, sizes);
    struct graph_operand powers = graph_temp(lowering->graph, f32, x->view.rank, x->view.sizes);
    struct graph_operand in[] = { *x, lower_broadcast(&top, &x->view), lower_broadcast(&sum, &x->view) };
    struct kern_reduce most = { DML_REDUCE_FUNCTION_MAX, params.axes, false };
    struct kern_reduce total = { DML_REDUCE_FUNCTION_SUM, params.axes, false };
    struct lower_map map;
    if (!lower_reduction(lowering, x, &top, most))
        return E_OUTOFMEMORY;
    lower_map_begin(&map, lowering, in, 2, f32);
    lower_map_end(&map, &powers, lower_emit1(&map, KERN_MAP_EXP, lower_emit2(&map, KERN_MAP_SUB, 0, 1), 0, 0));
    if (!lower_reduction(lowering, &powers, &sum, total))
        return E_OUTOFMEMORY;
    bool logarithm = params.mode == KERN_SOFTMAX_LOG;
    if (!logarithm)
        in[0] = powers;
    lower_map_begin(&map, lowering, in, 3, f32);
    uint32_t y = logarithm ? lower_emit2(&map, KERN_MAP_SUB, lower_emit2(&map, KERN_MAP_SUB, 0, 1),
                                         lower_emit1(&map, KERN_MAP_LOG, 2, 0, 0))
                           : lower_emit2(&map, KERN_MAP_DIV, 0, 2);
    lower_map_end(&map, &lowering->outputs[0], y);
    return lower_done(lowering);
}

static struct kern_softmax softmax_params(const struct graph_lowering *lowering)
{
    struct kern_softmax params = { .axes = 1u << (lowering->inputs[0].view.rank - 1) }; /* version 0: table entries */
    DML_OPERATOR_TYPE type = lowering->desc->op->type;
    if (type == DML_OPERATOR_ACTIVATION_SOFTMAX1 || type == DML_OPERATOR_ACTIVATION_LOG_SOFTMAX1 ||
        type == DML_OPERATOR_ACTIVATION_HARDMAX1) { /* one layout for the three */
        const DML_ACTIVATION_SOFTMAX1_OPERATOR_DESC *desc = LOWER_DESC(lowering, ACTIVATION_SOFTMAX1);
        params.axes = lower_axes_mask(desc->Axes, desc->AxisCount);
    }
    params.mode = KERN_SOFTMAX_PLAIN;
    if (type == DML_OPERATOR_ACTIVATION_LOG_SOFTMAX || type == DML_OPERATOR_ACTIVATION_LOG_SOFTMAX1)
        params.mode = KERN_SOFTMAX_LOG;
    if (type == DML_OPERATOR_ACTIVATION_HARDMAX || type == DML_OPERATOR_ACTIVATION_HARDMAX1)
        params.mode = KERN_SOFTMAX_HARD;
    return params;
}

HRESULT lower_softmax(struct graph_lowering *lowering)
{
    struct kern_softmax params = softmax_params(lowering);
    struct lower_split split;
    if (params.mode != KERN_SOFTMAX_HARD && lower_huge_split(&lowering->inputs[0].view, params.axes, &split))
        return huge_softmax(lowering, params);
    struct graph_op *op = lower_op(lowering, KERN_SOFTMAX, lowering->inputs, 1, lowering->outputs, 1);
    if (!op)
        return E_OUTOFMEMORY;
    op->k.u.softmax = params;
    return lower_done(lowering);
}

static HRESULT reduce(struct graph_lowering *lowering, struct kern_reduce params)
{
    return lower_reduction(lowering, &lowering->inputs[0], &lowering->outputs[0], params) ? lower_done(lowering)
                                                                                          : E_OUTOFMEMORY;
}

HRESULT lower_reduce(struct graph_lowering *lowering)
{
    const DML_REDUCE_OPERATOR_DESC *desc = LOWER_DESC(lowering, REDUCE);
    return reduce(lowering, (struct kern_reduce){ desc->Function, lower_axes_mask(desc->Axes, desc->AxisCount), false,
                                                  lower_keeps_nan(lowering) });
}

HRESULT lower_arg(struct graph_lowering *lowering)
{
    const DML_ARGMIN_OPERATOR_DESC *desc = LOWER_DESC(lowering, ARGMIN); /* ARGMAX has the same layout */
    bool max = lowering->desc->op->type == DML_OPERATOR_ARGMAX;
    return reduce(lowering, (struct kern_reduce){ max ? DML_REDUCE_FUNCTION_ARGMAX : DML_REDUCE_FUNCTION_ARGMIN,
                                                  lower_axes_mask(desc->Axes, desc->AxisCount),
                                                  desc->AxisDirection == DML_AXIS_DIRECTION_DECREASING,
                                                  lower_keeps_nan(lowering) });
}

/* The operand without its broadcast dimensions. */
static struct graph_operand without_repeats(const struct graph_operand *operand)
{
    struct graph_operand result = *operand;
    for (uint32_t d = 0; d < result.view.rank; d++)
        result.view.sizes[d] = result.view.strides[d] ? result.view.sizes[d] : 1;
    return result;
}

/* k = Scale / sqrt(Variance + Epsilon), b = Bias - Mean * k in the parameters' own small shape, then Y = X * k + b.
 * With constant parameters, k and b are constants, and a preceding convolution can absorb them into its weights. */
HRESULT lower_batch_normalization(struct graph_lowering *lowering)
{
    const DML_BATCH_NORMALIZATION_OPERATOR_DESC *desc = LOWER_DESC(lowering, BATCH_NORMALIZATION);
    const struct graph_operand *x = &lowering->inputs[0], *out = &lowering->outputs[0];
    const struct graph_operand mean = without_repeats(&lowering->inputs[1]),
                               variance = without_repeats(&lowering->inputs[2]),
                               scale = without_repeats(&lowering->inputs[3]),
                               bias = without_repeats(&lowering->inputs[4]);
    DML_TENSOR_DATA_TYPE type = lower_real_type(x->view.type);
    struct kern_view shape = mean.view;
    for (uint32_t d = 0; d < shape.rank; d++) {
        shape.sizes[d] = BASE_MAX(shape.sizes[d], variance.view.sizes[d]);
        shape.sizes[d] = BASE_MAX(shape.sizes[d], BASE_MAX(scale.view.sizes[d], bias.view.sizes[d]));
    }
    struct graph_operand k = graph_temp(lowering->graph, type, shape.rank, shape.sizes);
    struct graph_operand b = graph_temp(lowering->graph, type, shape.rank, shape.sizes);
    struct graph_operand in[3];
    struct lower_map map;

    in[0] = lower_broadcast(&variance, &shape);
    in[1] = lower_broadcast(&scale, &shape);
    lower_map_begin(&map, lowering, in, 2, type);
    uint32_t deviation =
        lower_emit1(&map, KERN_MAP_SQRT, lower_emit1(&map, KERN_MAP_MULADD, 0, 1, desc->Epsilon), 0, 0);
    lower_map_end(&map, &k, lower_emit2(&map, KERN_MAP_DIV, 1, deviation));

    in[0] = lower_broadcast(&mean, &shape);
    in[1] = k;
    in[2] = lower_broadcast(&bias, &shape);
    lower_map_begin(&map, lowering, in, 3, type);
    lower_map_end(&map, &b, lower_emit2(&map, KERN_MAP_SUB, 2, lower_emit2(&map, KERN_MAP_MUL, 0, 1)));

    in[0] = *x;
    in[1] = lower_broadcast(&k, &x->view);
    in[2] = lower_broadcast(&b, &x->view);
    lower_map_begin(&map, lowering, in, 3, type);
    uint32_t result = lower_emit3(&map, KERN_MAP_FMA, 0, 1, 2);
    if (desc->FusedActivation)
        result = lower_emit_activation(&map, result, desc->FusedActivation);
    if (result == UINT32_MAX)
        return lower_unsupported(lowering, "this fused activation");
    lower_map_end(&map, out, result);
    return lower_done(lowering);
}

/* y = (x - near) * factor + shift [* scale + bias]; near: the mean rounded to FLOAT32. */
static HRESULT huge_mean_variance(struct graph_lowering *lowering, struct kern_norm params,
                                  const DML_OPERATOR_DESC *activation)
{
    const struct graph_operand *x = &lowering->inputs[0];
    const DML_TENSOR_DATA_TYPE f32 = DML_TENSOR_DATA_TYPE_FLOAT32, f64 = DML_TENSOR_DATA_TYPE_FLOAT64;
    uint32_t sizes[KERN_RANK_MAX], count = 4;
    struct graph_operand moments[2], outs[3];
    for (uint32_t d = 0; d < x->view.rank; d++)
        sizes[d] = params.axes >> d & 1 ? 1 : x->view.sizes[d];
    for (uint32_t i = 0; i < 3; i++)
        outs[i] = graph_temp(lowering->graph, f32, x->view.rank, sizes);
    for (uint32_t i = 0; i < 2; i++)
        moments[i] = graph_temp(lowering->graph, f64, x->view.rank, sizes);
    if (!lower_moments(lowering, x, params.axes, &moments[0], &moments[1]))
        return E_OUTOFMEMORY;
    struct lower_map map;
    lower_map_begin(&map, lowering, moments, 2, f64);
    uint32_t factor =
        lower_emit1(&map, KERN_MAP_MULADD, 1, params.use_variance, params.use_variance ? params.epsilon : 1);
    factor = lower_emit1(&map, KERN_MAP_RECIP, lower_emit1(&map, KERN_MAP_SQRT, factor, 0, 0), 0, 0);
    uint32_t near = lower_emit_convert(&map, 0, f32);
    uint32_t lost = lower_emit2(&map, KERN_MAP_SUB, lower_emit_convert(&map, near, f64), 0);
    lower_map_end_many(&map, outs, (const uint32_t[]){ near, factor, lower_emit2(&map, KERN_MAP_MUL, lost, factor) },
                       3);

    struct graph_operand in[6] = { *x };
    for (uint32_t i = 0; i < 3; i++)
        in[1 + i] = lower_broadcast(&outs[i], &x->view);
    for (uint32_t i = 1; i < 3; i++)
        if (lower_present(&lowering->inputs[i]))
            in[count++] = lower_broadcast(&lowering->inputs[i], &x->view);
    lower_map_begin(&map, lowering, in, count, f32);
    uint32_t y = lower_emit3(&map, KERN_MAP_FMA, lower_emit2(&map, KERN_MAP_SUB, 0, 1), 2, 3);
    if (lower_present(&lowering->inputs[1]))
        y = lower_emit2(&map, KERN_MAP_MUL, y, 4);
    if (lower_present(&lowering->inputs[2]))
        y = lower_emit2(&map, KERN_MAP_ADD, y, count - 1);
    y = activation ? lower_emit_activation(&map, y, activation) : y;
    if (y == UINT32_MAX)
        return lower_unsupported(lowering, "this fused activation");
    lower_map_end(&map, &lowering->outputs[0], y);
    return lower_done(lowering);
}

static HRESULT mean_variance(struct graph_lowering *lowering, struct kern_norm params,
                             const DML_OPERATOR_DESC *activation)
{
    struct graph_operand in[3] = { lowering->inputs[0] };
    struct lower_split split;
    uint32_t count = 1;
    if (params.use_mean && lower_huge_split(&in[0].view, params.axes, &split))
        return huge_mean_variance(lowering, params, activation);
    params.has_scale = lower_present(&lowering->inputs[1]);
    params.has_bias = lower_present(&lowering->inputs[2]);
    if (params.has_scale)
        in[count++] = lower_broadcast(&lowering->inputs[1], &in[0].view);
    if (params.has_bias)
        in[count++] = lower_broadcast(&lowering->inputs[2], &in[0].view);
    struct graph_operand target = lower_fused_target(lowering, &lowering->outputs[0], activation);
    struct graph_op *op = lower_op(lowering, KERN_NORM, in, count, &target, 1);
    if (!op)
        return E_OUTOFMEMORY;
    op->k.u.norm = params;
    return lower_fused_finish(lowering, &target, &lowering->outputs[0], activation);
}

HRESULT lower_mean_variance(struct graph_lowering *lowering)
{
    switch (lowering->desc->op->type) {
    case DML_OPERATOR_MEAN_VARIANCE_NORMALIZATION: {
        const DML_MEAN_VARIANCE_NORMALIZATION_OPERATOR_DESC *desc = LOWER_DESC(lowering, MEAN_VARIANCE_NORMALIZATION);
        struct kern_norm params = {
            desc->CrossChannel ? 0xe : 0xc, desc->Epsilon, true, desc->NormalizeVariance, 0, 0
        };
        return mean_variance(lowering, params, desc->FusedActivation);
    }
    case DML_OPERATOR_MEAN_VARIANCE_NORMALIZATION1: {
        const DML_MEAN_VARIANCE_NORMALIZATION1_OPERATOR_DESC *desc = LOWER_DESC(lowering, MEAN_VARIANCE_NORMALIZATION1);
        struct kern_norm params = {
            lower_axes_mask(desc->Axes, desc->AxisCount), desc->Epsilon, true, desc->NormalizeVariance, 0, 0
        };
        return mean_variance(lowering, params, desc->FusedActivation);
    }
    default: {
        const DML_MEAN_VARIANCE_NORMALIZATION2_OPERATOR_DESC *desc = LOWER_DESC(lowering, MEAN_VARIANCE_NORMALIZATION2);
        struct kern_norm params = {
            lower_axes_mask(desc->Axes, desc->AxisCount), desc->Epsilon, desc->UseMean, desc->UseVariance, 0, 0
        };
        return mean_variance(lowering, params, desc->FusedActivation);
    }
    }
}

HRESULT lower_lp_normalization(struct graph_lowering *lowering)
{
    const DML_LP_NORMALIZATION_OPERATOR_DESC *desc = LOWER_DESC(lowering, LP_NORMALIZATION);
    struct graph_op *op = lower_op(lowering, KERN_LP_NORM, lowering->inputs, 1, lowering->outputs, 1);
    if (!op)
        return E_OUTOFMEMORY;
    op->k.u.lp_norm = (struct kern_lp_norm){ desc->Axis, desc->Epsilon, desc->P, false };
    return lower_done(lowering);
}
