/* SPDX-License-Identifier: Apache-2.0 */
/* Regions of interest, and samples at any positions. Corners and image numbers have leading dimensions of size 1 or,
 * for ROI_POOLING, are in one tensor: ops see them as [R, 4] and [R]. */
#include "graph/lower/lower.h"

/* The last `count` dimensions of the operand; the others are all 1. */
static struct graph_operand last_dimensions(struct graph_operand operand, uint32_t count)
{
    struct kern_view *view = &operand.view;
    uint32_t skipped = view->rank - count;
    for (uint32_t d = 0; d < count; d++) {
        view->sizes[d] = view->sizes[d + skipped];
        view->strides[d] = view->strides[d + skipped];
    }
    view->rank = count;
    return operand;
}

static HRESULT roi_add(struct graph_lowering *lowering, const struct graph_operand *inputs,
                       const struct kern_roi *params)
{
    struct graph_op *op = lower_op(lowering, KERN_ROI, inputs, 3, lowering->outputs, 1);
    if (!op)
        return E_OUTOFMEMORY;
    op->k.u.roi = *params;
    return lower_done(lowering);
}

HRESULT lower_roi_pooling(struct graph_lowering *lowering)
{
    const DML_ROI_POOLING_OPERATOR_DESC *desc = LOWER_DESC(lowering, ROI_POOLING);
    struct graph_operand regions = last_dimensions(lowering->inputs[1], 2);
    struct graph_operand inputs[] = { regions, regions, lowering->inputs[0] };
    struct kern_view *corners = &inputs[0].view, *batch = &inputs[1].view;
    corners->offset += corners->strides[1];
    corners->sizes[1] = 4;
    batch->rank = 1;
    const struct kern_roi params = {
        .mode = KERN_ROI_POOL, .scale_x = desc->SpatialScale, .scale_y = desc->SpatialScale, .least = 1, .most = 1
    };
    return roi_add(lowering, inputs, &params);
}

static HRESULT roi_align(struct graph_lowering *lowering, const struct kern_roi *params)
{
    const struct graph_operand inputs[] = { last_dimensions(lowering->inputs[1], 2),
                                            last_dimensions(lowering->inputs[2], 1), lowering->inputs[0] };
    return roi_add(lowering, inputs, params);
}

/* The fields that the three descriptions share. */
#define ROI_PARAMS(DESC)                                                                                               \
    {                                                                                                                  \
        .mode = (DESC)->ReductionFunction == DML_REDUCE_FUNCTION_MAX ? KERN_ROI_MAX : KERN_ROI_AVERAGE,                \
        .linear = (DESC)->InterpolationMode == DML_INTERPOLATION_MODE_LINEAR, .scale_x = (DESC)->SpatialScaleX,        \
        .scale_y = (DESC)->SpatialScaleY, .least = (DESC)->MinimumSamplesPerOutput,                                    \
        .most = (DESC)->MaximumSamplesPerOutput, .in_offset = 0.5f, .out_offset = -0.5f,                               \
    }

HRESULT lower_roi_align(struct graph_lowering *lowering)
{
    const DML_ROI_ALIGN_OPERATOR_DESC *desc = LOWER_DESC(lowering, ROI_ALIGN);
    struct kern_roi params = ROI_PARAMS(desc);
    params.outside = desc->OutOfBoundsInputValue;
    return roi_align(lowering, &params);
}

HRESULT lower_roi_align1(struct graph_lowering *lowering)
{
    const DML_ROI_ALIGN1_OPERATOR_DESC *desc = LOWER_DESC(lowering, ROI_ALIGN1);
    struct kern_roi params = ROI_PARAMS(desc);
    params.outside = desc->OutOfBoundsInputValue;
    params.in_offset = desc->InputPixelOffset;
    params.out_offset = desc->OutputPixelOffset;
    params.align_corners = desc->AlignRegionsToCorners;
    return roi_align(lowering, &params);
}

HRESULT lower_roi_align_grad(struct graph_lowering *lowering)
{
    const DML_ROI_ALIGN_GRAD_OPERATOR_DESC *desc = LOWER_DESC(lowering, ROI_ALIGN_GRAD);
    struct kern_roi params = ROI_PARAMS(desc);
    params.in_offset = desc->InputPixelOffset;
    params.out_offset = desc->OutputPixelOffset;
    params.align_corners = desc->AlignRegionsToCorners;
    bool image_gradient = lower_present(&lowering->outputs[0]), corner_gradient = lower_present(&lowering->outputs[1]);
    bool image = lower_present(&lowering->inputs[0]) && (corner_gradient || params.mode == KERN_ROI_MAX);
    const struct graph_operand inputs[] = { last_dimensions(lowering->inputs[2], 2),
                                            last_dimensions(lowering->inputs[3], 1), lowering->inputs[1],
                                            lowering->inputs[0] };
    struct graph_operand outputs[2];
    uint32_t count = 0;
    if (image_gradient)
        outputs[count++] = lowering->outputs[0];
    if (corner_gradient)
        outputs[count++] = last_dimensions(lowering->outputs[1], 2);
    struct graph_op *op = lower_op(lowering, KERN_ROI_GRAD, inputs, image ? 4 : 3, outputs, count);
    if (!op)
        return E_OUTOFMEMORY;
    op->k.u.roi_grad = (struct kern_roi_grad){ params, image, image_gradient, corner_gradient };
    return lower_done(lowering);
}

HRESULT lower_grid_sample(struct graph_lowering *lowering)
{
    static const enum kern_sample_padding paddings[] = { [DML_PADDING_MODE_CONSTANT] = KERN_SAMPLE_ZEROS,
                                                         [DML_PADDING_MODE_EDGE] = KERN_SAMPLE_EDGE,
                                                         [DML_PADDING_MODE_REFLECTION] = KERN_SAMPLE_REFLECT,
                                                         [DML_PADDING_MODE_SYMMETRIC] = KERN_SAMPLE_MIRROR };
    const ANYDML_GRID_SAMPLE_OPERATOR_DESC *desc = lowering->desc->desc.Desc;
    struct graph_op *op = lower_op(lowering, KERN_SAMPLE, lowering->inputs, 2, lowering->outputs, 1);
    if (!op)
        return E_OUTOFMEMORY;
    op->k.u.sample = (struct kern_sample){ .linear = desc->InterpolationMode == DML_INTERPOLATION_MODE_LINEAR,
                                           .padding = paddings[desc->PaddingMode],
                                           .unit = desc->PixelCoordinates ? KERN_SAMPLE_PIXELS
                                                   : desc->AlignCorners   ? KERN_SAMPLE_CENTRES
                                                                          : KERN_SAMPLE_EDGES };
    return lower_done(lowering);
}
