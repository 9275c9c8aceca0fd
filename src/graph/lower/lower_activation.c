/* SPDX-License-Identifier: Apache-2.0 */
/* Activations: one entry each, shared by the ACTIVATION_* operators and by fused activations. */
#include "graph/lower/lower.h"

#include <float.h>

#define NO_FIELD UINT16_MAX

struct activation_row {
    DML_OPERATOR_TYPE type;
    enum kern_map_code code;
    uint16_t p, q; /* offsets of the FLOAT fields that are the immediates */
};

#define FIELD(op, field) offsetof(DML_##op##_OPERATOR_DESC, field)
/* clang-format off */
#define ROW0(op, code)       { DML_OPERATOR_##op, KERN_MAP_##code, NO_FIELD, NO_FIELD }
#define ROW1(op, code, p)    { DML_OPERATOR_##op, KERN_MAP_##code, FIELD(op, p), NO_FIELD }
#define ROW2(op, code, p, q) { DML_OPERATOR_##op, KERN_MAP_##code, FIELD(op, p), FIELD(op, q) }
/* clang-format on */

static const struct activation_row activation_rows[] = {
    ROW1(ACTIVATION_ELU, ELU, Alpha),
    ROW1(ACTIVATION_CELU, CELU, Alpha),
    ROW0(ACTIVATION_GELU, GELU),
    ROW2(ACTIVATION_HARD_SIGMOID, HARD_SIGMOID, Alpha, Beta),
    ROW2(ACTIVATION_HARD_SWISH, HARD_SWISH, Alpha, Beta),
    ROW1(ACTIVATION_LEAKY_RELU, LEAKY_RELU, Alpha),
    ROW2(ACTIVATION_LINEAR, MULADD, Alpha, Beta),
    ROW2(ACTIVATION_PARAMETRIC_SOFTPLUS, PSOFTPLUS, Alpha, Beta),
    ROW0(ACTIVATION_RELU, RELU),
    ROW2(ACTIVATION_SCALED_ELU, SELU, Alpha, Gamma),
    ROW2(ACTIVATION_SCALED_TANH, STANH, Alpha, Beta),
    ROW2(ACTIVATION_SHRINK, SHRINK, Bias, Threshold),
    ROW0(ACTIVATION_SIGMOID, SIGMOID),
    ROW1(ACTIVATION_SOFTPLUS, SOFTPLUS, Steepness),
    ROW0(ACTIVATION_SOFTSIGN, SOFTSIGN),
    ROW1(ACTIVATION_SWISH, SWISH, SigmoidInputScale),
    ROW0(ACTIVATION_TANH, TANH),
    ROW1(ACTIVATION_THRESHOLDED_RELU, THRESH_RELU, Alpha),
};

static double float_field(const DML_OPERATOR_DESC *desc, uint16_t offset)
{
    float value = 0;
    if (offset != NO_FIELD)
        memcpy(&value, (const char *)desc->Desc + offset, sizeof(value));
    return value;
}

static uint32_t emit_clip(struct lower_map *map, uint32_t a, const DML_ELEMENT_WISE_CLIP_OPERATOR_DESC *desc)
{
    if (desc->ScaleBias)
        a = lower_emit1(map, KERN_MAP_MULADD, a, desc->ScaleBias->Scale, desc->ScaleBias->Bias);
    return lower_emit1(map, lower_extreme(map, a, KERN_MAP_CLAMP), a, desc->Min, desc->Max);
}

uint32_t lower_emit_activation(struct lower_map *map, uint32_t a, const DML_OPERATOR_DESC *activation)
{
    if (activation->Type == DML_OPERATOR_ACTIVATION_IDENTITY)
        return a;
    if (activation->Type == DML_OPERATOR_ELEMENT_WISE_CLIP)
        return emit_clip(map, a, activation->Desc);
    for (size_t i = 0; i < ARRAY_SIZE(activation_rows); i++) {
        const struct activation_row *row = &activation_rows[i];
        if (row->type == activation->Type)
            return lower_emit1(map, row->code, a, float_field(activation, row->p), float_field(activation, row->q));
    }
    return UINT32_MAX;
}

struct graph_operand lower_fused_target(struct graph_lowering *lowering, const struct graph_operand *output,
                                        const DML_OPERATOR_DESC *activation)
{
    return activation ? lower_temp_like(lowering, output) : *output;
}

HRESULT lower_fused_finish(struct graph_lowering *lowering, const struct graph_operand *target,
                           const struct graph_operand *output, const DML_OPERATOR_DESC *activation)
{
    if (!activation)
        return lower_done(lowering);
    if (activation->Type == DML_OPERATOR_ACTIVATION_SOFTMAX || activation->Type == DML_OPERATOR_ACTIVATION_SOFTMAX1) {
        struct graph_op *op = lower_op(lowering, KERN_SOFTMAX, target, 1, output, 1);
        if (!op)
            return E_OUTOFMEMORY;
        op->k.u.softmax.mode = KERN_SOFTMAX_PLAIN;
        op->k.u.softmax.axes = 1u << (output->view.rank - 1);
        if (activation->Type == DML_OPERATOR_ACTIVATION_SOFTMAX1) {
            const DML_ACTIVATION_SOFTMAX1_OPERATOR_DESC *desc = activation->Desc;
            op->k.u.softmax.axes = lower_axes_mask(desc->Axes, desc->AxisCount);
        }
        return lower_done(lowering);
    }
    struct lower_map map;
    lower_map_begin(&map, lowering, target, 1, lower_real_type(target->view.type));
    uint32_t reg = lower_emit_activation(&map, 0, activation);
    if (reg == UINT32_MAX)
        return lower_unsupported(lowering, "this fused activation");
    lower_map_end(&map, output, reg);
    return lower_done(lowering);
}

HRESULT lower_activation(struct graph_lowering *lowering)
{
    struct lower_map map;
    const DML_TENSOR_DATA_TYPE type = lowering->inputs[0].view.type;
    if (lowering->desc->op->type == DML_OPERATOR_ACTIVATION_RELU && !lower_is_float(type)) {
        lower_map_begin(&map, lowering, lowering->inputs, 1, lower_compute_type(type));
        uint32_t zero = lower_emit_const(&map, lower_compute_type(type), (union kern_scalar){ .u64 = 0 });
        lower_map_end(&map, &lowering->outputs[0], lower_emit2(&map, KERN_MAP_MAX, 0, zero));
        return lower_done(lowering);
    }
    lower_map_begin(&map, lowering, lowering->inputs, 1, lower_real_type(type));
    uint32_t reg = lower_emit_activation(&map, 0, &lowering->desc->desc);
    if (reg == UINT32_MAX)
        return lower_unsupported(lowering, "this activation");
    lower_map_end(&map, &lowering->outputs[0], reg);
    return lower_done(lowering);
}

HRESULT lower_parameterized_relu(struct graph_lowering *lowering)
{
    struct lower_map map;
    DML_TENSOR_DATA_TYPE type = lower_compute_type(lowering->inputs[0].view.type);
    lower_map_begin(&map, lowering, lowering->inputs, 2, type);
    if (type == DML_TENSOR_DATA_TYPE_FLOAT32 || type == DML_TENSOR_DATA_TYPE_FLOAT64) {
        lower_map_end(&map, &lowering->outputs[0], lower_emit2(&map, KERN_MAP_PRELU, 0, 1));
        return lower_done(lowering);
    }
    uint32_t zero = lower_emit_const(&map, type, (union kern_scalar){ .u64 = 0 });
    uint32_t negative = lower_emit2(&map, KERN_MAP_LT, 0, zero);
    uint32_t product = lower_emit2(&map, KERN_MAP_MUL, 0, 1);
    lower_map_end(&map, &lowering->outputs[0], lower_emit3(&map, KERN_MAP_SELECT, negative, product, 0));
    return lower_done(lowering);
}

/* dX = X > 0 ? dY : 0 */
HRESULT lower_relu_grad(struct graph_lowering *lowering)
{
    struct lower_map map;
    DML_TENSOR_DATA_TYPE type = lower_compute_type(lowering->inputs[0].view.type);
    lower_map_begin(&map, lowering, lowering->inputs, 2, type);
    uint32_t zero = lower_emit_const(&map, type, (union kern_scalar){ .u64 = 0 });
    uint32_t positive = lower_emit2(&map, KERN_MAP_LT, zero, 0);
    lower_map_end(&map, &lowering->outputs[0], lower_emit3(&map, KERN_MAP_SELECT, positive, 1, zero));
    return lower_done(lowering);
}

/* Out = act(A + B) */
HRESULT lower_add1(struct graph_lowering *lowering)
{
    const DML_OPERATOR_DESC *activation = LOWER_DESC(lowering, ELEMENT_WISE_ADD1)->FusedActivation;
    struct lower_map map;
    lower_map_begin(&map, lowering, lowering->inputs, 2, lower_compute_type(lowering->inputs[0].view.type));
    uint32_t reg = lower_emit2(&map, KERN_MAP_ADD, 0, 1);
    if (activation)
        reg = lower_emit_activation(&map, reg, activation);
    if (reg == UINT32_MAX)
        return lower_unsupported(lowering, "this fused activation");
    lower_map_end(&map, &lowering->outputs[0], reg);
    return lower_done(lowering);
}
