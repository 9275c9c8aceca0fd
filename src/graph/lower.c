/* SPDX-License-Identifier: Apache-2.0 */
/* Which function lowers an operator. */
#include "graph/lower.h"

static const struct {
    DML_OPERATOR_TYPE type;
    graph_lower_fn *lower;
} lowerings[] = {
#define LOWER(name, function)           { DML_OPERATOR_##name, function },
#define LOWER_EXTENSION(name, function) { ANYDML_OPERATOR_##name, function },
#include "graph/lowerings.def"
#undef LOWER
#undef LOWER_EXTENSION
};

static graph_lower_fn *lowering_find(DML_OPERATOR_TYPE type)
{
    for (size_t i = 0; i < ARRAY_SIZE(lowerings); i++) {
        if (lowerings[i].type == type)
            return lowerings[i].lower;
    }
    return NULL;
}

bool graph_lower_known(DML_OPERATOR_TYPE type)
{
    return lowering_find(type) != NULL;
}

bool graph_lower_element_wise(DML_OPERATOR_TYPE type)
{
    static graph_lower_fn *const element_wise[] = {
        lower_activation,
        lower_add1,
        lower_batch_normalization,
        lower_binary,
        lower_cast,
        lower_clip,
        lower_clip1,
        lower_clip_grad,
        lower_constant_pow,
        lower_depth_to_space,
        lower_dequantize,
        lower_dequantize_linear,
        lower_difference_square,
        lower_fill,
        lower_identity,
        lower_if,
        lower_is_infinity,
        lower_join,
        lower_parameterized_relu,
        lower_pow,
        lower_quantize,
        lower_quantize_linear,
        lower_quantized_add,
        lower_relu_grad,
        lower_round,
        lower_slice,
        lower_slice1,
        lower_space_to_depth,
        lower_split,
        lower_threshold,
        lower_tile,
        lower_unary,
        lower_value_scale,
    };
    graph_lower_fn *lower = lowering_find(type);
    for (size_t i = 0; lower && i < ARRAY_SIZE(element_wise); i++) {
        if (element_wise[i] == lower)
            return true;
    }
    return false;
}

HRESULT graph_lower(struct graph_lowering *lowering)
{
    graph_lower_fn *lower = lowering_find(lowering->desc->op->type);
    return lower ? lower(lowering) : lower_unsupported(lowering, "this operator");
}
