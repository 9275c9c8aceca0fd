/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution and GEMM. */
#include "graph/lower/lower.h"

/* Part of an operand: `size` elements from `start` on along dimension d. */
static struct graph_operand part(struct graph_operand operand, uint32_t d, uint32_t start, uint32_t size)
{
    uint32_t begin[KERN_RANK_MAX] = { 0 }, sizes[KERN_RANK_MAX];
    int32_t steps[KERN_RANK_MAX];
    for (uint32_t i = 0; i < operand.view.rank; i++) {
        sizes[i] = operand.view.sizes[i];
        steps[i] = 1;
    }
    begin[d] = start;
    sizes[d] = size;
    operand.view = graph_view_slice(&operand.view, begin, sizes, steps);
    return operand;
}

/* OutputPadding of a forward convolution: no window reaches these elements; they are act(bias). */
static void fill_padding(struct graph_lowering *lowering, const struct graph_operand *bias,
                         const struct graph_operand *rest, const DML_OPERATOR_DESC *activation)
{
    DML_TENSOR_DATA_TYPE real = lower_real_type(rest->view.type);
    struct graph_operand in = *bias;
    struct lower_map map;
    if (lower_present(bias))
        in = lower_broadcast(bias, &rest->view);
    lower_map_begin(&map, lowering, &in, lower_present(bias), real);
    uint32_t reg = lower_present(bias) ? 0 : lower_emit_const(&map, real, (union kern_scalar){ .u64 = 0 });
    if (activation)
        reg = lower_emit_activation(&map, reg, activation);
    if (reg == UINT32_MAX)
        lower_unsupported(lowering, "this fused activation"); /* the convolution's own pass reports it */
    else
        lower_map_end(&map, rest, reg);
}

/* The output without the elements that OutputPadding appends, for which ops are emitted here: the last elements beyond
 * the sizes that the other attributes imply. All others are windows. */
static struct graph_operand cut_padding(struct graph_lowering *lowering, const DML_CONVOLUTION_OPERATOR_DESC *desc)
{
    struct graph_operand out = lowering->outputs[0];
    const struct kern_view *x = &lowering->inputs[0].view, *w = &lowering->inputs[1].view;
    for (uint32_t i = 0; i + 2 < out.view.rank; i++) {
        uint64_t padded = (uint64_t)x->sizes[i + 2] + desc->StartPadding[i] + desc->EndPadding[i];
        uint64_t span = (uint64_t)(w->sizes[i + 2] - 1) * desc->Dilations[i] + 1, all = out.view.sizes[i + 2];
        uint64_t given = padded < span ? 1 : (padded - span) / desc->Strides[i] + 1;
        uint32_t appended = all <= given ? 0 : (uint32_t)BASE_MIN(all - given, desc->OutputPadding[i]);
        uint32_t size = (uint32_t)all - appended;
        if (!appended)
            continue;
        struct graph_operand rest = part(out, i + 2, size, appended);
        fill_padding(lowering, &lowering->inputs[2], &rest, desc->FusedActivation);
        out = part(out, i + 2, 0, size);
    }
    return out;
}

HRESULT lower_convolution(struct graph_lowering *lowering)
{
    const DML_CONVOLUTION_OPERATOR_DESC *desc = LOWER_DESC(lowering, CONVOLUTION);
    struct graph_operand out = lowering->outputs[0];
    uint32_t spatial = out.view.rank - 2;
    struct graph_operand in[3] = { lowering->inputs[0], lowering->inputs[1], lowering->inputs[2] };
    bool has_bias = lower_present(&in[2]), transposed = desc->Direction == DML_CONVOLUTION_DIRECTION_BACKWARD;
    if (spatial < 1 || spatial > KERN_SPATIAL_MAX)
        return lower_unsupported(lowering, "this number of dimensions");
    if (!transposed)
        out = cut_padding(lowering, desc);
    struct graph_operand target = lower_fused_target(lowering, &out, desc->FusedActivation);
    struct graph_op *op = lower_op(lowering, KERN_CONV, in, has_bias ? 3 : 2, &target, 1);
    if (!op)
        return E_OUTOFMEMORY;
    struct kern_conv *conv = &op->k.u.conv;
    conv->spatial = spatial;
    conv->groups = desc->GroupCount;
    conv->transposed = transposed;
    conv->flip = desc->Mode == DML_CONVOLUTION_MODE_CONVOLUTION;
    conv->has_bias = has_bias;
    for (uint32_t i = 0; i < spatial; i++) {
        conv->strides[i] = desc->Strides[i];
        conv->dilations[i] = desc->Dilations[i];
        conv->pad_start[i] = desc->StartPadding[i];
    }
    return lower_fused_finish(lowering, &target, &out, desc->FusedActivation);
}

static struct graph_operand transpose_last_two(struct graph_operand operand)
{
    uint32_t order[KERN_RANK_MAX], rank = operand.view.rank;
    for (uint32_t i = 0; i < rank; i++)
        order[i] = i;
    order[rank - 2] = rank - 1;
    order[rank - 1] = rank - 2;
    operand.view = graph_view_permute(&operand.view, order);
    return operand;
}

HRESULT lower_gemm(struct graph_lowering *lowering)
{
    const DML_GEMM_OPERATOR_DESC *desc = LOWER_DESC(lowering, GEMM);
    const struct graph_operand *out = &lowering->outputs[0];
    struct graph_operand in[3] = { lowering->inputs[0], lowering->inputs[1], lowering->inputs[2] };
    bool has_c = lower_present(&in[2]);
    if (desc->TransA == DML_MATRIX_TRANSFORM_TRANSPOSE)
        in[0] = transpose_last_two(in[0]);
    if (desc->TransB == DML_MATRIX_TRANSFORM_TRANSPOSE)
        in[1] = transpose_last_two(in[1]);
    struct graph_operand target = lower_fused_target(lowering, out, desc->FusedActivation);
    struct graph_op *op = lower_op(lowering, KERN_GEMM, in, has_c ? 3 : 2, &target, 1);
    if (!op)
        return E_OUTOFMEMORY;
    op->k.u.gemm.alpha = desc->Alpha;
    op->k.u.gemm.beta = has_c ? desc->Beta : 0;
    op->k.u.gemm.has_c = has_c;
    return lower_fused_finish(lowering, &target, out, desc->FusedActivation);
}
