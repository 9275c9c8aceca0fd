/* Normalisations, softmax and reductions. */
#include "graph/lower.h"

HRESULT lower_softmax(struct graph_lowering *lowering)
{
    struct graph_op *op = lower_op(lowering, KERN_SOFTMAX, lowering->inputs, 1, lowering->outputs, 1);
    if (!op)
        return E_OUTOFMEMORY;
    struct kern_softmax *softmax = &op->k.u.softmax;
    softmax->axes = 1u << (lowering->inputs[0].view.rank - 1); /* version 0: rows of the {batch, width} view */
    switch (lowering->desc->op->type) {
    case DML_OPERATOR_ACTIVATION_SOFTMAX1:
    case DML_OPERATOR_ACTIVATION_LOG_SOFTMAX1:
    case DML_OPERATOR_ACTIVATION_HARDMAX1: { /* one layout for the three */
        const DML_ACTIVATION_SOFTMAX1_OPERATOR_DESC *desc = LOWER_DESC(lowering, ACTIVATION_SOFTMAX1);
        softmax->axes = lower_axes_mask(desc->Axes, desc->AxisCount);
        break;
    }
    default:
        break;
    }
    switch (lowering->desc->op->type) {
    case DML_OPERATOR_ACTIVATION_LOG_SOFTMAX:
    case DML_OPERATOR_ACTIVATION_LOG_SOFTMAX1:
        softmax->mode = KERN_SOFTMAX_LOG;
        break;
    case DML_OPERATOR_ACTIVATION_HARDMAX:
    case DML_OPERATOR_ACTIVATION_HARDMAX1:
        softmax->mode = KERN_SOFTMAX_HARD;
        break;
    default:
        softmax->mode = KERN_SOFTMAX_PLAIN;
        break;
    }
    return lower_done(lowering);
}

static HRESULT reduce(struct graph_lowering *lowering, struct kern_reduce params)
{
    struct graph_op *op = lower_op(lowering, KERN_REDUCE, lowering->inputs, 1, lowering->outputs, 1);
    if (!op)
        return E_OUTOFMEMORY;
    op->k.u.reduce = params;
    return lower_done(lowering);
}

HRESULT lower_reduce(struct graph_lowering *lowering)
{
    const DML_REDUCE_OPERATOR_DESC *desc = LOWER_DESC(lowering, REDUCE);
    return reduce(lowering,
                  (struct kern_reduce){ desc->Function, lower_axes_mask(desc->Axes, desc->AxisCount), false });
}

HRESULT lower_arg(struct graph_lowering *lowering)
{
    const DML_ARGMIN_OPERATOR_DESC *desc = LOWER_DESC(lowering, ARGMIN); /* ARGMAX has the same layout */
    bool max = lowering->desc->op->type == DML_OPERATOR_ARGMAX;
    return reduce(lowering, (struct kern_reduce){ max ? DML_REDUCE_FUNCTION_ARGMAX : DML_REDUCE_FUNCTION_ARGMIN,
                                                  lower_axes_mask(desc->Axes, desc->AxisCount),
                                                  desc->AxisDirection == DML_AXIS_DIRECTION_DECREASING });
}

/* k = Scale / sqrt(Variance + Epsilon), b = Bias - Mean * k at the parameters' own small shape, then Y = X * k + b:
 * with constant parameters k and b are constants, and a convolution before it can take them into its weights. */
HRESULT lower_batch_normalization(struct graph_lowering *lowering)
{
    const DML_BATCH_NORMALIZATION_OPERATOR_DESC *desc = LOWER_DESC(lowering, BATCH_NORMALIZATION);
    const struct graph_operand *x = &lowering->inputs[0], *mean = &lowering->inputs[1],
                               *variance = &lowering->inputs[2];
    const struct graph_operand *scale = &lowering->inputs[3], *bias = &lowering->inputs[4],
                               *out = &lowering->outputs[0];
    DML_TENSOR_DATA_TYPE type = lower_real_type(x->view.type);
    struct kern_view shape = mean->view;
    for (uint32_t i = 1; i <= 4; i++) {
        for (uint32_t d = 0; d < shape.rank; d++)
            shape.sizes[d] = BASE_MAX(shape.sizes[d], lowering->inputs[i].view.sizes[d]);
    }
    struct graph_operand k = graph_temp(lowering->graph, type, shape.rank, shape.sizes);
    struct graph_operand b = graph_temp(lowering->graph, type, shape.rank, shape.sizes);
    struct graph_operand in[3];
    struct lower_map map;

    in[0] = lower_broadcast(variance, &shape);
    in[1] = lower_broadcast(scale, &shape);
    lower_map_begin(&map, lowering, in, 2, type);
    uint32_t deviation =
        lower_emit1(&map, KERN_MAP_SQRT, lower_emit1(&map, KERN_MAP_MULADD, 0, 1, desc->Epsilon), 0, 0);
    lower_map_end(&map, &k, lower_emit2(&map, KERN_MAP_DIV, 1, deviation));

    in[0] = lower_broadcast(mean, &shape);
    in[1] = k;
    in[2] = lower_broadcast(bias, &shape);
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

static HRESULT mean_variance(struct graph_lowering *lowering, struct kern_norm params,
                             const DML_OPERATOR_DESC *activation)
{
    struct graph_operand in[3] = { lowering->inputs[0] };
    uint32_t count = 1;
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
    op->k.u.lp_norm = (struct kern_lp_norm){ desc->Axis, desc->Epsilon, desc->P };
    return lower_done(lowering);
}
