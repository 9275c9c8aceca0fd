/* SPDX-License-Identifier: Apache-2.0 */
/* Batch normalisation in training, and the gradients of normalisations. Intermediate statistics are FLOAT64: they are
 * small, and a mean that is large relative to the deviation loses no precision. */
#include "graph/lower/lower.h"

/* The axes along which the parameters (M) are broadcast. */
static uint32_t repeated_axes(const struct kern_view *small)
{
    uint32_t axes = 0;
    for (uint32_t d = 0; d < small->rank; d++)
        axes |= (small->sizes[d] == 1 ? 1u : 0u) << d;
    return axes;
}

static struct graph_operand small_temp(struct graph_lowering *lowering, const struct kern_view *like,
                                       DML_TENSOR_DATA_TYPE type)
{
    return graph_temp(lowering->graph, type, like->rank, like->sizes);
}

static uint32_t emit_inverse_deviation(struct lower_map *map, uint32_t variance, float epsilon)
{
    uint32_t deviation = lower_emit1(map, KERN_MAP_SQRT, lower_emit1(map, KERN_MAP_MULADD, variance, 1, epsilon), 0, 0);
    return lower_emit1(map, KERN_MAP_RECIP, deviation, 0, 0);
}

HRESULT lower_batch_normalization_training(struct graph_lowering *lowering)
{
    const DML_BATCH_NORMALIZATION_TRAINING_OPERATOR_DESC *desc = LOWER_DESC(lowering, BATCH_NORMALIZATION_TRAINING);
    const struct graph_operand *x = &lowering->inputs[0], *add = &lowering->inputs[3], *out = lowering->outputs;
    const struct kern_view *small = &lowering->inputs[1].view;
    const DML_TENSOR_DATA_TYPE f32 = DML_TENSOR_DATA_TYPE_FLOAT32, f64 = DML_TENSOR_DATA_TYPE_FLOAT64;
    struct graph_operand moments[] = { small_temp(lowering, small, f64), small_temp(lowering, small, f64) };
    if (!lower_moments(lowering, x, repeated_axes(small), &moments[0], &moments[1]))
        return E_OUTOFMEMORY;

    /* near + its rounding error = the mean; y = (x - near) * factor + shift */
    struct graph_operand in[] = { moments[0], moments[1], lowering->inputs[1], lowering->inputs[2] };
    struct graph_operand near = small_temp(lowering, small, f32), factor = small_temp(lowering, small, f32);
    struct graph_operand shift = small_temp(lowering, small, f32), outs[] = { out[1], out[2], near, factor, shift };
    struct lower_map map;
    lower_map_begin(&map, lowering, in, 4, f64);
    uint32_t scaled = lower_emit2(&map, KERN_MAP_MUL, emit_inverse_deviation(&map, 1, desc->Epsilon), 2);
    uint32_t rounded = lower_emit_convert(&map, 0, f32);
    uint32_t lost = lower_emit2(&map, KERN_MAP_SUB, lower_emit_convert(&map, rounded, f64), 0);
    uint32_t moved = lower_emit3(&map, KERN_MAP_FMA, lost, scaled, 3);
    lower_map_end_many(&map, outs, (const uint32_t[]){ 0, 1, rounded, scaled, moved }, 5);

    struct graph_operand big[] = { *x, lower_broadcast(&near, &x->view), lower_broadcast(&factor, &x->view),
                                   lower_broadcast(&shift, &x->view), *add };
    lower_map_begin(&map, lowering, big, lower_present(add) ? 5 : 4, f32);
    uint32_t y = lower_emit3(&map, KERN_MAP_FMA, lower_emit2(&map, KERN_MAP_SUB, 0, 1), 2, 3);
    if (lower_present(add))
        y = lower_emit2(&map, KERN_MAP_ADD, y, 4);
    if (desc->FusedActivation)
        y = lower_emit_activation(&map, y, desc->FusedActivation);
    if (y == UINT32_MAX)
        return lower_unsupported(lowering, "this fused activation");
    lower_map_end(&map, &out[0], y);
    return lower_done(lowering);
}

/* sums[] = of dY, of dY * (X - Mean), of X - Mean; inputs: X, dY, Mean, ... */
static bool grad_sums(struct graph_lowering *lowering, struct graph_operand *sums)
{
    const struct kern_view *small = &lowering->inputs[2].view;
    struct graph_operand in[] = { lowering->inputs[0], lowering->inputs[1],
                                  lower_broadcast(&lowering->inputs[2], &lowering->inputs[0].view) };
    for (uint32_t i = 0; i < 3; i++)
        sums[i] = small_temp(lowering, small, DML_TENSOR_DATA_TYPE_FLOAT64);
    struct graph_op *op = lower_op(lowering, KERN_GRAD_SUMS, in, 3, sums, 3);
    if (op)
        op->k.u.grad_sums.axes = repeated_axes(small);
    return op != NULL;
}

/* dX = dY * Scale / deviation, dScale = sum of dY * (X - Mean) / deviation, dBias = sum of dY */
HRESULT lower_batch_normalization_grad(struct graph_lowering *lowering)
{
    const DML_BATCH_NORMALIZATION_GRAD_OPERATOR_DESC *desc = LOWER_DESC(lowering, BATCH_NORMALIZATION_GRAD);
    const struct graph_operand *dy = &lowering->inputs[1], *out = lowering->outputs;
    const DML_TENSOR_DATA_TYPE f32 = DML_TENSOR_DATA_TYPE_FLOAT32, f64 = DML_TENSOR_DATA_TYPE_FLOAT64;
    struct graph_operand sums[3], factor = small_temp(lowering, &lowering->inputs[2].view, f32);
    struct lower_map map;
    if (!grad_sums(lowering, sums))
        return E_OUTOFMEMORY;
    struct graph_operand in[] = { sums[0], sums[1], lowering->inputs[3], lowering->inputs[4] };
    struct graph_operand outs[] = { out[1], out[2], factor };
    lower_map_begin(&map, lowering, in, 4, f64);
    uint32_t inverse = emit_inverse_deviation(&map, 2, desc->Epsilon);
    uint32_t scale_gradient = lower_emit2(&map, KERN_MAP_MUL, 1, inverse);
    lower_map_end_many(&map, outs, (const uint32_t[]){ scale_gradient, 0, lower_emit2(&map, KERN_MAP_MUL, 3, inverse) },
                       3);

    struct graph_operand big[] = { *dy, lower_broadcast(&factor, &dy->view) };
    lower_map_begin(&map, lowering, big, 2, f32);
    lower_map_end(&map, &out[0], lower_emit2(&map, KERN_MAP_MUL, 0, 1));
    return lower_done(lowering);
}

/* With d = mean(X) - Mean and k = Scale / deviation:
 *   dX = k * (dY - mean(dY)) + a * (X - Mean - d),  a = -k * mean(dY * (X - Mean - d)) / (Variance + Epsilon) */
HRESULT lower_batch_normalization_training_grad(struct graph_lowering *lowering)
{
    const DML_BATCH_NORMALIZATION_TRAINING_GRAD_OPERATOR_DESC *desc =
        LOWER_DESC(lowering, BATCH_NORMALIZATION_TRAINING_GRAD);
    const struct graph_operand *x = &lowering->inputs[0], *mean = &lowering->inputs[2], *out = lowering->outputs;
    const DML_TENSOR_DATA_TYPE f32 = DML_TENSOR_DATA_TYPE_FLOAT32, f64 = DML_TENSOR_DATA_TYPE_FLOAT64;
    double inverse_count = (double)kern_view_elements(&mean->view) / (double)kern_view_elements(&x->view);
    struct graph_operand sums[3], k = small_temp(lowering, &mean->view, f32);
    struct graph_operand a = small_temp(lowering, &mean->view, f32), c = small_temp(lowering, &mean->view, f32);
    struct graph_operand near = small_temp(lowering, &mean->view, f32); /* mean(dY) rounded to FLOAT32 */
    struct lower_map map;
    if (!grad_sums(lowering, sums))
        return E_OUTOFMEMORY;
    struct graph_operand in[] = { sums[0], sums[1], sums[2], lowering->inputs[3], lowering->inputs[4] };
    struct graph_operand outs[] = { out[1], out[2], near, k, a, c };
    lower_map_begin(&map, lowering, in, 5, f64);
    uint32_t inverse = emit_inverse_deviation(&map, 3, desc->Epsilon);
    uint32_t scale_gradient = lower_emit2(&map, KERN_MAP_MUL, 1, inverse);
    uint32_t factor = lower_emit2(&map, KERN_MAP_MUL, 4, inverse);
    uint32_t d = lower_emit1(&map, KERN_MAP_MULADD, 2, inverse_count, 0);
    uint32_t mean_gradient = lower_emit1(&map, KERN_MAP_MULADD, 0, inverse_count, 0);
    uint32_t mean_product = lower_emit2(&map, KERN_MAP_SUB, lower_emit1(&map, KERN_MAP_MULADD, 1, inverse_count, 0),
                                        lower_emit2(&map, KERN_MAP_MUL, d, mean_gradient));
    uint32_t slope = lower_emit2(&map, KERN_MAP_MUL, lower_emit2(&map, KERN_MAP_MUL, inverse, inverse),
                                 lower_emit2(&map, KERN_MAP_MUL, factor, mean_product));
    slope = lower_emit1(&map, KERN_MAP_NEG, slope, 0, 0);
    uint32_t rounded = lower_emit_convert(&map, mean_gradient, f32);
    uint32_t lost = lower_emit2(&map, KERN_MAP_SUB, mean_gradient, lower_emit_convert(&map, rounded, f64));
    uint32_t rest = lower_emit2(&map, KERN_MAP_ADD, lower_emit2(&map, KERN_MAP_MUL, factor, lost),
                                lower_emit2(&map, KERN_MAP_MUL, slope, d));
    rest = lower_emit1(&map, KERN_MAP_NEG, rest, 0, 0);
    lower_map_end_many(&map, outs, (const uint32_t[]){ scale_gradient, 0, rounded, factor, slope, rest }, 6);

    struct graph_operand big[] = { *x,
                                   lowering->inputs[1],
                                   lower_broadcast(mean, &x->view),
                                   lower_broadcast(&near, &x->view),
                                   lower_broadcast(&k, &x->view),
                                   lower_broadcast(&a, &x->view),
                                   lower_broadcast(&c, &x->view) };
    lower_map_begin(&map, lowering, big, 7, f32);
    uint32_t y = lower_emit3(&map, KERN_MAP_FMA, lower_emit2(&map, KERN_MAP_SUB, 0, 2), 5, 6);
    lower_map_end(&map, &out[0], lower_emit3(&map, KERN_MAP_FMA, lower_emit2(&map, KERN_MAP_SUB, 1, 3), 4, y));
    return lower_done(lowering);
}
