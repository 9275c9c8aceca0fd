/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of pooling and resampling; windows as columns. */
#include "graph/lower/lower.h"

static void fill_windows(struct kern_pool *params, uint32_t spatial, const UINT *window, const UINT *strides,
                         const UINT *dilations, const UINT *start)
{
    params->spatial = spatial;
    for (uint32_t i = 0; i < spatial; i++) {
        params->window[i] = window[i];
        params->strides[i] = strides[i];
        params->dilations[i] = dilations ? dilations[i] : 1;
        params->pad_start[i] = start[i];
    }
}

HRESULT lower_average_pooling_grad(struct graph_lowering *lowering)
{
    const DML_AVERAGE_POOLING_GRAD_OPERATOR_DESC *desc = LOWER_DESC(lowering, AVERAGE_POOLING_GRAD);
    struct kern_pool params = { .mode = KERN_POOL_AVERAGE, .include_padding = desc->IncludePadding };
    fill_windows(&params, lowering->inputs[0].view.rank - 2, desc->WindowSize, desc->Strides, NULL, desc->StartPadding);
    struct graph_op *op = lower_op(lowering, KERN_POOL_GRAD, lowering->inputs, 1, lowering->outputs, 1);
    if (!op)
        return E_OUTOFMEMORY;
    op->k.u.pool_grad = params;
    return lower_done(lowering);
}

HRESULT lower_max_pooling_grad(struct graph_lowering *lowering)
{
    const DML_MAX_POOLING_GRAD_OPERATOR_DESC *desc = LOWER_DESC(lowering, MAX_POOLING_GRAD);
    struct kern_pool params = { .mode = KERN_POOL_MAX };
    fill_windows(&params, lowering->inputs[0].view.rank - 2, desc->WindowSize, desc->Strides, desc->Dilations,
                 desc->StartPadding);
    struct graph_op *op = lower_op(lowering, KERN_POOL_GRAD, lowering->inputs, 2, lowering->outputs, 1);
    if (!op)
        return E_OUTOFMEMORY;
    op->k.u.pool_grad = params;
    return lower_done(lowering);
}

HRESULT lower_indexed_max_pooling_grad(struct graph_lowering *lowering)
{
    const ANYDML_INDEXED_MAX_POOLING_GRAD_OPERATOR_DESC *desc = lowering->desc->desc.Desc;
    struct kern_pool params = { .mode = KERN_POOL_MAX, .has_indices = true };
    fill_windows(&params, lowering->inputs[0].view.rank - 2, desc->WindowSize, desc->Strides, desc->Dilations,
                 desc->StartPadding);
    struct graph_op *op = lower_op(lowering, KERN_POOL_GRAD, lowering->inputs, 2, lowering->outputs, 1);
    if (!op)
        return E_OUTOFMEMORY;
    op->k.u.pool_grad = params;
    return lower_done(lowering);
}

/* RESAMPLE_GRAD is the gradient of RESAMPLE1, which rounds to nearest, halves up; RESAMPLE_GRAD1 that of RESAMPLE2. */
HRESULT lower_resample_grad(struct graph_lowering *lowering)
{
    struct kern_resample params = { .transposed = true, .rounding = DML_AXIS_DIRECTION_DECREASING };
    const FLOAT *scales, *input_offsets, *output_offsets;
    float lowered = 0;
    if (lowering->desc->op->type == DML_OPERATOR_RESAMPLE_GRAD1) {
        const DML_RESAMPLE_GRAD1_OPERATOR_DESC *desc = LOWER_DESC(lowering, RESAMPLE_GRAD1);
        params.mode = desc->InterpolationMode;
        params.rounding = desc->RoundingDirection;
        scales = desc->Scales, input_offsets = desc->InputPixelOffsets, output_offsets = desc->OutputPixelOffsets;
    } else {
        const DML_RESAMPLE_GRAD_OPERATOR_DESC *desc = LOWER_DESC(lowering, RESAMPLE_GRAD);
        params.mode = desc->InterpolationMode;
        scales = desc->Scales, input_offsets = desc->InputPixelOffsets, output_offsets = desc->OutputPixelOffsets;
        lowered = params.mode == DML_INTERPOLATION_MODE_NEAREST_NEIGHBOR ? 0.5f : 0;
    }
    for (uint32_t i = 0; i < lowering->inputs[0].view.rank; i++) {
        params.scales[i] = scales[i];
        params.input_offsets[i] = input_offsets[i] - lowered;
        params.output_offsets[i] = output_offsets[i];
    }
    struct graph_op *op = lower_op(lowering, KERN_RESAMPLE, lowering->inputs, 1, lowering->outputs, 1);
    if (!op)
        return E_OUTOFMEMORY;
    op->k.u.resample = params;
    return lower_done(lowering);
}

/* The last `rank` dimensions; the preceding ones have size 1. */
static struct graph_operand trailing(const struct graph_operand *operand, uint32_t rank)
{
    struct graph_operand result = *operand;
    uint32_t less = operand->view.rank - rank;
    result.view.rank = rank;
    for (uint32_t d = 0; d < rank; d++) {
        result.view.sizes[d] = operand->view.sizes[d + less];
        result.view.strides[d] = operand->view.strides[d + less];
    }
    return result;
}

struct fold_fields {
    uint32_t spatial;
    const UINT *window, *strides, *dilations, *start, *end;
};

static HRESULT fold(struct graph_lowering *lowering, const struct fold_fields *fields, bool unfold)
{
    struct kern_fold params = { .unfold = unfold, .spatial = fields->spatial };
    struct graph_operand input = trailing(&lowering->inputs[0], unfold ? fields->spatial + 2 : 3);
    struct graph_operand output = trailing(&lowering->outputs[0], unfold ? 3 : fields->spatial + 2);
    const struct kern_view *image = unfold ? &input.view : &output.view;
    for (uint32_t d = 0; d < fields->spatial; d++) {
        uint64_t padded = (uint64_t)image->sizes[d + 2] + fields->start[d] + fields->end[d];
        uint64_t span = (uint64_t)(fields->window[d] - 1) * fields->dilations[d] + 1;
        params.window[d] = fields->window[d];
        params.strides[d] = fields->strides[d];
        params.dilations[d] = fields->dilations[d];
        params.pad_start[d] = fields->start[d];
        params.positions[d] = (uint32_t)((padded - span) / fields->strides[d] + 1);
    }
    struct graph_op *op = lower_op(lowering, KERN_FOLD, &input, 1, &output, 1);
    if (!op)
        return E_OUTOFMEMORY;
    op->k.u.fold = params;
    return lower_done(lowering);
}

HRESULT lower_fold(struct graph_lowering *lowering)
{
    const DML_FOLD_OPERATOR_DESC *desc = LOWER_DESC(lowering, FOLD);
    const struct fold_fields fields = { desc->DimensionCount, desc->WindowSizes,  desc->Strides,
                                        desc->Dilations,      desc->StartPadding, desc->EndPadding };
    return fold(lowering, &fields, false);
}

HRESULT lower_unfold(struct graph_lowering *lowering)
{
    const DML_UNFOLD_OPERATOR_DESC *desc = LOWER_DESC(lowering, UNFOLD);
    const struct fold_fields fields = { desc->DimensionCount, desc->WindowSizes,  desc->Strides,
                                        desc->Dilations,      desc->StartPadding, desc->EndPadding };
    return fold(lowering, &fields, true);
}
