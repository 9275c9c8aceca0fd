/* Convolution and matrix product. */
#include "graph/lower.h"

HRESULT lower_convolution(struct graph_lowering *lowering)
{
    const DML_CONVOLUTION_OPERATOR_DESC *desc = LOWER_DESC(lowering, CONVOLUTION);
    const struct graph_operand *out = &lowering->outputs[0];
    uint32_t spatial = out->view.rank - 2;
    struct graph_operand in[3] = { lowering->inputs[0], lowering->inputs[1], lowering->inputs[2] };
    bool has_bias = lower_present(&in[2]), transposed = desc->Direction == DML_CONVOLUTION_DIRECTION_BACKWARD;
    if (spatial < 1 || spatial > KERN_SPATIAL_MAX)
        return lower_unsupported(lowering, "this number of dimensions");
    for (uint32_t i = 0; !transposed && i < spatial; i++) {
        if (desc->OutputPadding[i])
            return lower_unsupported(lowering, "OutputPadding of a forward convolution");
    }
    struct graph_operand target = lower_fused_target(lowering, out, desc->FusedActivation);
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
        conv->pad_end[i] = desc->EndPadding[i];
    }
    return lower_fused_finish(lowering, &target, out, desc->FusedActivation);
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
