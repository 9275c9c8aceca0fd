/* SPDX-License-Identifier: Apache-2.0 */
/* clang-format off */
/* Made by scripts/generate/make-graph-operators from src/schema/operators.def: do not edit. Part of anydml_graph.h. Inputs that an
 * operator needs are arguments; optional inputs and attributes are in its options, whose members have the names of DirectML.h and
 * are 0 by default. NULL options: all defaults. The first output that an operator must have is returned; others are
 * stored through Expression of their member. */
#include "../anydml_graph.h" /* which includes this: whichever comes first */

#ifndef ANYDML_GRAPH_OPERATORS_H
#define ANYDML_GRAPH_OPERATORS_H

/* The descriptions of activations start with the fields of LINEAR, except for CLIP's. */
union anydml_activation_desc {
    DML_ACTIVATION_LINEAR_OPERATOR_DESC linear;
    DML_ELEMENT_WISE_CLIP_OPERATOR_DESC clip;
};

static inline const DML_OPERATOR_DESC *anydml_fused(const struct anydml_activation *given, DML_OPERATOR_DESC *out,
                                                    union anydml_activation_desc *desc)
{
    memset(desc, 0, sizeof(*desc));
    if (given->Type == DML_OPERATOR_ELEMENT_WISE_CLIP) {
        desc->clip.Min = given->Parameters[0];
        desc->clip.Max = given->Parameters[1];
    } else {
        desc->linear.Alpha = given->Parameters[0];
        desc->linear.Beta = given->Parameters[1];
    }
    out->Type = given->Type;
    out->Desc = desc;
    return given->Type == DML_OPERATOR_INVALID ? NULL : out;
}

/* y = g(x) */
struct anydml_identity_options {
    const DML_SCALE_BIAS *ScaleBias;
};
static inline anydml_expr AnydmlIdentity(struct anydml_graph *graph, anydml_expr InputTensor, const struct anydml_identity_options *options)
{
    DML_ELEMENT_WISE_IDENTITY_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_identity_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    desc.ScaleBias = o.ScaleBias;
    whole.Type = DML_OPERATOR_ELEMENT_WISE_IDENTITY;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y = |g(x)| */
struct anydml_abs_options {
    const DML_SCALE_BIAS *ScaleBias;
};
static inline anydml_expr AnydmlAbs(struct anydml_graph *graph, anydml_expr InputTensor, const struct anydml_abs_options *options)
{
    DML_ELEMENT_WISE_ABS_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_abs_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    desc.ScaleBias = o.ScaleBias;
    whole.Type = DML_OPERATOR_ELEMENT_WISE_ABS;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y = acos(g(x)) */
struct anydml_acos_options {
    const DML_SCALE_BIAS *ScaleBias;
};
static inline anydml_expr AnydmlAcos(struct anydml_graph *graph, anydml_expr InputTensor, const struct anydml_acos_options *options)
{
    DML_ELEMENT_WISE_ACOS_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_acos_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    desc.ScaleBias = o.ScaleBias;
    whole.Type = DML_OPERATOR_ELEMENT_WISE_ACOS;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y = a + b */
static inline anydml_expr AnydmlAdd(struct anydml_graph *graph, anydml_expr ATensor, anydml_expr BTensor)
{
    DML_ELEMENT_WISE_ADD_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_output outputs[1];
    anydml_expr inputs[2];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    inputs[0] = ATensor;
    inputs[1] = BTensor;
    whole.Type = DML_OPERATOR_ELEMENT_WISE_ADD;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y = asin(g(x)) */
struct anydml_asin_options {
    const DML_SCALE_BIAS *ScaleBias;
};
static inline anydml_expr AnydmlAsin(struct anydml_graph *graph, anydml_expr InputTensor, const struct anydml_asin_options *options)
{
    DML_ELEMENT_WISE_ASIN_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_asin_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    desc.ScaleBias = o.ScaleBias;
    whole.Type = DML_OPERATOR_ELEMENT_WISE_ASIN;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y = atan(g(x)) */
struct anydml_atan_options {
    const DML_SCALE_BIAS *ScaleBias;
};
static inline anydml_expr AnydmlAtan(struct anydml_graph *graph, anydml_expr InputTensor, const struct anydml_atan_options *options)
{
    DML_ELEMENT_WISE_ATAN_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_atan_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    desc.ScaleBias = o.ScaleBias;
    whole.Type = DML_OPERATOR_ELEMENT_WISE_ATAN;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y = ceil(g(x)) */
struct anydml_ceil_options {
    const DML_SCALE_BIAS *ScaleBias;
};
static inline anydml_expr AnydmlCeil(struct anydml_graph *graph, anydml_expr InputTensor, const struct anydml_ceil_options *options)
{
    DML_ELEMENT_WISE_CEIL_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_ceil_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    desc.ScaleBias = o.ScaleBias;
    whole.Type = DML_OPERATOR_ELEMENT_WISE_CEIL;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y = min(Max, max(Min, g(x))) */
struct anydml_clip_options {
    const DML_SCALE_BIAS *ScaleBias;
    FLOAT Min;
    FLOAT Max;
};
static inline anydml_expr AnydmlClip(struct anydml_graph *graph, anydml_expr InputTensor, const struct anydml_clip_options *options)
{
    DML_ELEMENT_WISE_CLIP_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_clip_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    desc.ScaleBias = o.ScaleBias;
    desc.Min = o.Min;
    desc.Max = o.Max;
    whole.Type = DML_OPERATOR_ELEMENT_WISE_CLIP;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y = cos(g(x)) */
struct anydml_cos_options {
    const DML_SCALE_BIAS *ScaleBias;
};
static inline anydml_expr AnydmlCos(struct anydml_graph *graph, anydml_expr InputTensor, const struct anydml_cos_options *options)
{
    DML_ELEMENT_WISE_COS_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_cos_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    desc.ScaleBias = o.ScaleBias;
    whole.Type = DML_OPERATOR_ELEMENT_WISE_COS;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y = a / b; integers truncate toward zero */
static inline anydml_expr AnydmlDivide(struct anydml_graph *graph, anydml_expr ATensor, anydml_expr BTensor)
{
    DML_ELEMENT_WISE_DIVIDE_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_output outputs[1];
    anydml_expr inputs[2];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    inputs[0] = ATensor;
    inputs[1] = BTensor;
    whole.Type = DML_OPERATOR_ELEMENT_WISE_DIVIDE;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y = e^g(x) */
struct anydml_exp_options {
    const DML_SCALE_BIAS *ScaleBias;
};
static inline anydml_expr AnydmlExp(struct anydml_graph *graph, anydml_expr InputTensor, const struct anydml_exp_options *options)
{
    DML_ELEMENT_WISE_EXP_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_exp_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    desc.ScaleBias = o.ScaleBias;
    whole.Type = DML_OPERATOR_ELEMENT_WISE_EXP;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y = floor(g(x)) */
struct anydml_floor_options {
    const DML_SCALE_BIAS *ScaleBias;
};
static inline anydml_expr AnydmlFloor(struct anydml_graph *graph, anydml_expr InputTensor, const struct anydml_floor_options *options)
{
    DML_ELEMENT_WISE_FLOOR_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_floor_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    desc.ScaleBias = o.ScaleBias;
    whole.Type = DML_OPERATOR_ELEMENT_WISE_FLOOR;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y = ln(g(x)) */
struct anydml_log_options {
    const DML_SCALE_BIAS *ScaleBias;
};
static inline anydml_expr AnydmlLog(struct anydml_graph *graph, anydml_expr InputTensor, const struct anydml_log_options *options)
{
    DML_ELEMENT_WISE_LOG_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_log_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    desc.ScaleBias = o.ScaleBias;
    whole.Type = DML_OPERATOR_ELEMENT_WISE_LOG;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y = (a != 0 && b != 0) ? 1 : 0 */
static inline anydml_expr AnydmlLogicalAnd(struct anydml_graph *graph, anydml_expr ATensor, anydml_expr BTensor)
{
    DML_ELEMENT_WISE_LOGICAL_AND_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_output outputs[1];
    anydml_expr inputs[2];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    inputs[0] = ATensor;
    inputs[1] = BTensor;
    whole.Type = DML_OPERATOR_ELEMENT_WISE_LOGICAL_AND;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y = (a == b) ? 1 : 0 */
struct anydml_logical_equals_options {
    struct anydml_output OutputTensor;
};
static inline anydml_expr AnydmlLogicalEquals(struct anydml_graph *graph, anydml_expr ATensor, anydml_expr BTensor, const struct anydml_logical_equals_options *options)
{
    DML_ELEMENT_WISE_LOGICAL_EQUALS_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_logical_equals_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[2];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = ATensor;
    inputs[1] = BTensor;
    outputs[0] = o.OutputTensor;
    whole.Type = DML_OPERATOR_ELEMENT_WISE_LOGICAL_EQUALS;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y = (a > b) ? 1 : 0 */
struct anydml_logical_greater_than_options {
    struct anydml_output OutputTensor;
};
static inline anydml_expr AnydmlLogicalGreaterThan(struct anydml_graph *graph, anydml_expr ATensor, anydml_expr BTensor, const struct anydml_logical_greater_than_options *options)
{
    DML_ELEMENT_WISE_LOGICAL_GREATER_THAN_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_logical_greater_than_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[2];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = ATensor;
    inputs[1] = BTensor;
    outputs[0] = o.OutputTensor;
    whole.Type = DML_OPERATOR_ELEMENT_WISE_LOGICAL_GREATER_THAN;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y = (a < b) ? 1 : 0 */
struct anydml_logical_less_than_options {
    struct anydml_output OutputTensor;
};
static inline anydml_expr AnydmlLogicalLessThan(struct anydml_graph *graph, anydml_expr ATensor, anydml_expr BTensor, const struct anydml_logical_less_than_options *options)
{
    DML_ELEMENT_WISE_LOGICAL_LESS_THAN_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_logical_less_than_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[2];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = ATensor;
    inputs[1] = BTensor;
    outputs[0] = o.OutputTensor;
    whole.Type = DML_OPERATOR_ELEMENT_WISE_LOGICAL_LESS_THAN;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y = (x == 0) ? 1 : 0 */
static inline anydml_expr AnydmlLogicalNot(struct anydml_graph *graph, anydml_expr InputTensor)
{
    DML_ELEMENT_WISE_LOGICAL_NOT_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_output outputs[1];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    inputs[0] = InputTensor;
    whole.Type = DML_OPERATOR_ELEMENT_WISE_LOGICAL_NOT;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y = (a != 0 || b != 0) ? 1 : 0 */
static inline anydml_expr AnydmlLogicalOr(struct anydml_graph *graph, anydml_expr ATensor, anydml_expr BTensor)
{
    DML_ELEMENT_WISE_LOGICAL_OR_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_output outputs[1];
    anydml_expr inputs[2];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    inputs[0] = ATensor;
    inputs[1] = BTensor;
    whole.Type = DML_OPERATOR_ELEMENT_WISE_LOGICAL_OR;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y = ((a != 0) != (b != 0)) ? 1 : 0 */
static inline anydml_expr AnydmlLogicalXor(struct anydml_graph *graph, anydml_expr ATensor, anydml_expr BTensor)
{
    DML_ELEMENT_WISE_LOGICAL_XOR_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_output outputs[1];
    anydml_expr inputs[2];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    inputs[0] = ATensor;
    inputs[1] = BTensor;
    whole.Type = DML_OPERATOR_ELEMENT_WISE_LOGICAL_XOR;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y = max(a, b) */
static inline anydml_expr AnydmlMax(struct anydml_graph *graph, anydml_expr ATensor, anydml_expr BTensor)
{
    DML_ELEMENT_WISE_MAX_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_output outputs[1];
    anydml_expr inputs[2];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    inputs[0] = ATensor;
    inputs[1] = BTensor;
    whole.Type = DML_OPERATOR_ELEMENT_WISE_MAX;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y = (a + b) / 2 */
static inline anydml_expr AnydmlMean(struct anydml_graph *graph, anydml_expr ATensor, anydml_expr BTensor)
{
    DML_ELEMENT_WISE_MEAN_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_output outputs[1];
    anydml_expr inputs[2];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    inputs[0] = ATensor;
    inputs[1] = BTensor;
    whole.Type = DML_OPERATOR_ELEMENT_WISE_MEAN;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y = min(a, b) */
static inline anydml_expr AnydmlMin(struct anydml_graph *graph, anydml_expr ATensor, anydml_expr BTensor)
{
    DML_ELEMENT_WISE_MIN_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_output outputs[1];
    anydml_expr inputs[2];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    inputs[0] = ATensor;
    inputs[1] = BTensor;
    whole.Type = DML_OPERATOR_ELEMENT_WISE_MIN;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y = a * b */
static inline anydml_expr AnydmlMultiply(struct anydml_graph *graph, anydml_expr ATensor, anydml_expr BTensor)
{
    DML_ELEMENT_WISE_MULTIPLY_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_output outputs[1];
    anydml_expr inputs[2];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    inputs[0] = ATensor;
    inputs[1] = BTensor;
    whole.Type = DML_OPERATOR_ELEMENT_WISE_MULTIPLY;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y = pow(g(x), p), p = ExponentTensor */
struct anydml_pow_options {
    const DML_SCALE_BIAS *ScaleBias;
};
static inline anydml_expr AnydmlPow(struct anydml_graph *graph, anydml_expr InputTensor, anydml_expr ExponentTensor, const struct anydml_pow_options *options)
{
    DML_ELEMENT_WISE_POW_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_pow_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[2];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    inputs[1] = ExponentTensor;
    desc.ScaleBias = o.ScaleBias;
    whole.Type = DML_OPERATOR_ELEMENT_WISE_POW;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y = pow(g(x), Exponent) */
struct anydml_constant_pow_options {
    const DML_SCALE_BIAS *ScaleBias;
    FLOAT Exponent;
};
static inline anydml_expr AnydmlConstantPow(struct anydml_graph *graph, anydml_expr InputTensor, const struct anydml_constant_pow_options *options)
{
    DML_ELEMENT_WISE_CONSTANT_POW_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_constant_pow_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    desc.ScaleBias = o.ScaleBias;
    desc.Exponent = o.Exponent;
    whole.Type = DML_OPERATOR_ELEMENT_WISE_CONSTANT_POW;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y = 1 / g(x) */
struct anydml_recip_options {
    const DML_SCALE_BIAS *ScaleBias;
};
static inline anydml_expr AnydmlRecip(struct anydml_graph *graph, anydml_expr InputTensor, const struct anydml_recip_options *options)
{
    DML_ELEMENT_WISE_RECIP_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_recip_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    desc.ScaleBias = o.ScaleBias;
    whole.Type = DML_OPERATOR_ELEMENT_WISE_RECIP;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y = sin(g(x)) */
struct anydml_sin_options {
    const DML_SCALE_BIAS *ScaleBias;
};
static inline anydml_expr AnydmlSin(struct anydml_graph *graph, anydml_expr InputTensor, const struct anydml_sin_options *options)
{
    DML_ELEMENT_WISE_SIN_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_sin_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    desc.ScaleBias = o.ScaleBias;
    whole.Type = DML_OPERATOR_ELEMENT_WISE_SIN;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y = sqrt(g(x)) */
struct anydml_sqrt_options {
    const DML_SCALE_BIAS *ScaleBias;
};
static inline anydml_expr AnydmlSqrt(struct anydml_graph *graph, anydml_expr InputTensor, const struct anydml_sqrt_options *options)
{
    DML_ELEMENT_WISE_SQRT_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_sqrt_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    desc.ScaleBias = o.ScaleBias;
    whole.Type = DML_OPERATOR_ELEMENT_WISE_SQRT;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y = a - b */
static inline anydml_expr AnydmlSubtract(struct anydml_graph *graph, anydml_expr ATensor, anydml_expr BTensor)
{
    DML_ELEMENT_WISE_SUBTRACT_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_output outputs[1];
    anydml_expr inputs[2];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    inputs[0] = ATensor;
    inputs[1] = BTensor;
    whole.Type = DML_OPERATOR_ELEMENT_WISE_SUBTRACT;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y = tan(g(x)) */
struct anydml_tan_options {
    const DML_SCALE_BIAS *ScaleBias;
};
static inline anydml_expr AnydmlTan(struct anydml_graph *graph, anydml_expr InputTensor, const struct anydml_tan_options *options)
{
    DML_ELEMENT_WISE_TAN_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_tan_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    desc.ScaleBias = o.ScaleBias;
    whole.Type = DML_OPERATOR_ELEMENT_WISE_TAN;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y = max(g(x), Min) */
struct anydml_threshold_options {
    const DML_SCALE_BIAS *ScaleBias;
    FLOAT Min;
};
static inline anydml_expr AnydmlThreshold(struct anydml_graph *graph, anydml_expr InputTensor, const struct anydml_threshold_options *options)
{
    DML_ELEMENT_WISE_THRESHOLD_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_threshold_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    desc.ScaleBias = o.ScaleBias;
    desc.Min = o.Min;
    whole.Type = DML_OPERATOR_ELEMENT_WISE_THRESHOLD;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y = clamp(round(x / Scale) + ZeroPoint) to the range of the output type */
struct anydml_quantize_linear_options {
    anydml_expr ZeroPointTensor;
    struct anydml_output OutputTensor;
};
static inline anydml_expr AnydmlQuantizeLinear(struct anydml_graph *graph, anydml_expr InputTensor, anydml_expr ScaleTensor, const struct anydml_quantize_linear_options *options)
{
    DML_ELEMENT_WISE_QUANTIZE_LINEAR_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_quantize_linear_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[3];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    inputs[1] = ScaleTensor;
    inputs[2] = o.ZeroPointTensor;
    outputs[0] = o.OutputTensor;
    whole.Type = DML_OPERATOR_ELEMENT_WISE_QUANTIZE_LINEAR;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y = (x - ZeroPoint) * Scale */
struct anydml_dequantize_linear_options {
    anydml_expr ZeroPointTensor;
};
static inline anydml_expr AnydmlDequantizeLinear(struct anydml_graph *graph, anydml_expr InputTensor, anydml_expr ScaleTensor, const struct anydml_dequantize_linear_options *options)
{
    DML_ELEMENT_WISE_DEQUANTIZE_LINEAR_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_dequantize_linear_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[3];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    inputs[1] = ScaleTensor;
    inputs[2] = o.ZeroPointTensor;
    whole.Type = DML_OPERATOR_ELEMENT_WISE_DEQUANTIZE_LINEAR;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y = x >= 0 ? x : Alpha * (e^x - 1) */
struct anydml_activation_elu_options {
    struct anydml_float Alpha; /* default: 1.0f */
};
static inline anydml_expr AnydmlActivationElu(struct anydml_graph *graph, anydml_expr InputTensor, const struct anydml_activation_elu_options *options)
{
    DML_ACTIVATION_ELU_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_activation_elu_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    desc.Alpha = o.Alpha.Given ? o.Alpha.Value : 1.0f;
    whole.Type = DML_OPERATOR_ACTIVATION_ELU;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* 1 at the first maximum of each row of the {B, W} view, 0 elsewhere */
static inline anydml_expr AnydmlActivationHardmax(struct anydml_graph *graph, anydml_expr InputTensor)
{
    DML_ACTIVATION_HARDMAX_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_output outputs[1];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    inputs[0] = InputTensor;
    whole.Type = DML_OPERATOR_ACTIVATION_HARDMAX;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y = max(0, min(Alpha * x + Beta, 1)) */
struct anydml_activation_hard_sigmoid_options {
    struct anydml_float Alpha; /* default: 0.2f */
    struct anydml_float Beta; /* default: 0.5f */
};
static inline anydml_expr AnydmlActivationHardSigmoid(struct anydml_graph *graph, anydml_expr InputTensor, const struct anydml_activation_hard_sigmoid_options *options)
{
    DML_ACTIVATION_HARD_SIGMOID_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_activation_hard_sigmoid_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    desc.Alpha = o.Alpha.Given ? o.Alpha.Value : 0.2f;
    desc.Beta = o.Beta.Given ? o.Beta.Value : 0.5f;
    whole.Type = DML_OPERATOR_ACTIVATION_HARD_SIGMOID;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y = x */
static inline anydml_expr AnydmlActivationIdentity(struct anydml_graph *graph, anydml_expr InputTensor)
{
    DML_ACTIVATION_IDENTITY_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_output outputs[1];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    inputs[0] = InputTensor;
    whole.Type = DML_OPERATOR_ACTIVATION_IDENTITY;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y = x >= 0 ? x : Alpha * x */
struct anydml_activation_leaky_relu_options {
    struct anydml_float Alpha; /* default: 0.01f */
};
static inline anydml_expr AnydmlActivationLeakyRelu(struct anydml_graph *graph, anydml_expr InputTensor, const struct anydml_activation_leaky_relu_options *options)
{
    DML_ACTIVATION_LEAKY_RELU_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_activation_leaky_relu_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    desc.Alpha = o.Alpha.Given ? o.Alpha.Value : 0.01f;
    whole.Type = DML_OPERATOR_ACTIVATION_LEAKY_RELU;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y = Alpha * x + Beta */
struct anydml_activation_linear_options {
    struct anydml_float Alpha; /* default: 1.0f */
    FLOAT Beta;
};
static inline anydml_expr AnydmlActivationLinear(struct anydml_graph *graph, anydml_expr InputTensor, const struct anydml_activation_linear_options *options)
{
    DML_ACTIVATION_LINEAR_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_activation_linear_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    desc.Alpha = o.Alpha.Given ? o.Alpha.Value : 1.0f;
    desc.Beta = o.Beta;
    whole.Type = DML_OPERATOR_ACTIVATION_LINEAR;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y = ln(e^x / sum of e^x over the row) of the {B, W} view */
static inline anydml_expr AnydmlActivationLogSoftmax(struct anydml_graph *graph, anydml_expr InputTensor)
{
    DML_ACTIVATION_LOG_SOFTMAX_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_output outputs[1];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    inputs[0] = InputTensor;
    whole.Type = DML_OPERATOR_ACTIVATION_LOG_SOFTMAX;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y = x >= 0 ? x : s * x, s = SlopeTensor */
static inline anydml_expr AnydmlActivationParameterizedRelu(struct anydml_graph *graph, anydml_expr InputTensor, anydml_expr SlopeTensor)
{
    DML_ACTIVATION_PARAMETERIZED_RELU_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_output outputs[1];
    anydml_expr inputs[2];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    inputs[0] = InputTensor;
    inputs[1] = SlopeTensor;
    whole.Type = DML_OPERATOR_ACTIVATION_PARAMETERIZED_RELU;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y = Alpha * ln(1 + e^(Beta * x)) */
struct anydml_activation_parametric_softplus_options {
    struct anydml_float Alpha; /* default: 1.0f */
    struct anydml_float Beta; /* default: 1.0f */
};
static inline anydml_expr AnydmlActivationParametricSoftplus(struct anydml_graph *graph, anydml_expr InputTensor, const struct anydml_activation_parametric_softplus_options *options)
{
    DML_ACTIVATION_PARAMETRIC_SOFTPLUS_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_activation_parametric_softplus_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    desc.Alpha = o.Alpha.Given ? o.Alpha.Value : 1.0f;
    desc.Beta = o.Beta.Given ? o.Beta.Value : 1.0f;
    whole.Type = DML_OPERATOR_ACTIVATION_PARAMETRIC_SOFTPLUS;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y = max(0, x) */
static inline anydml_expr AnydmlActivationRelu(struct anydml_graph *graph, anydml_expr InputTensor)
{
    DML_ACTIVATION_RELU_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_output outputs[1];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    inputs[0] = InputTensor;
    whole.Type = DML_OPERATOR_ACTIVATION_RELU;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y = x > 0 ? Gamma * x : Gamma * (Alpha * e^x - Alpha) */
struct anydml_activation_scaled_elu_options {
    struct anydml_float Alpha; /* default: 1.67326319217681884765625f */
    struct anydml_float Gamma; /* default: 1.05070102214813232421875f */
};
static inline anydml_expr AnydmlActivationScaledElu(struct anydml_graph *graph, anydml_expr InputTensor, const struct anydml_activation_scaled_elu_options *options)
{
    DML_ACTIVATION_SCALED_ELU_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_activation_scaled_elu_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    desc.Alpha = o.Alpha.Given ? o.Alpha.Value : 1.67326319217681884765625f;
    desc.Gamma = o.Gamma.Given ? o.Gamma.Value : 1.05070102214813232421875f;
    whole.Type = DML_OPERATOR_ACTIVATION_SCALED_ELU;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y = Alpha * tanh(Beta * x) */
struct anydml_activation_scaled_tanh_options {
    struct anydml_float Alpha; /* default: 1.0f */
    struct anydml_float Beta; /* default: 0.5f */
};
static inline anydml_expr AnydmlActivationScaledTanh(struct anydml_graph *graph, anydml_expr InputTensor, const struct anydml_activation_scaled_tanh_options *options)
{
    DML_ACTIVATION_SCALED_TANH_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_activation_scaled_tanh_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    desc.Alpha = o.Alpha.Given ? o.Alpha.Value : 1.0f;
    desc.Beta = o.Beta.Given ? o.Beta.Value : 0.5f;
    whole.Type = DML_OPERATOR_ACTIVATION_SCALED_TANH;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y = 1 / (1 + e^-x) */
static inline anydml_expr AnydmlActivationSigmoid(struct anydml_graph *graph, anydml_expr InputTensor)
{
    DML_ACTIVATION_SIGMOID_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_output outputs[1];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    inputs[0] = InputTensor;
    whole.Type = DML_OPERATOR_ACTIVATION_SIGMOID;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y = e^x / sum of e^x over the row of the {B, W} view */
static inline anydml_expr AnydmlActivationSoftmax(struct anydml_graph *graph, anydml_expr InputTensor)
{
    DML_ACTIVATION_SOFTMAX_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_output outputs[1];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    inputs[0] = InputTensor;
    whole.Type = DML_OPERATOR_ACTIVATION_SOFTMAX;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y = ln(1 + e^(Steepness * x)) / Steepness */
struct anydml_activation_softplus_options {
    struct anydml_float Steepness; /* default: 1.0f */
};
static inline anydml_expr AnydmlActivationSoftplus(struct anydml_graph *graph, anydml_expr InputTensor, const struct anydml_activation_softplus_options *options)
{
    DML_ACTIVATION_SOFTPLUS_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_activation_softplus_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    desc.Steepness = o.Steepness.Given ? o.Steepness.Value : 1.0f;
    whole.Type = DML_OPERATOR_ACTIVATION_SOFTPLUS;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y = x / (1 + |x|) */
static inline anydml_expr AnydmlActivationSoftsign(struct anydml_graph *graph, anydml_expr InputTensor)
{
    DML_ACTIVATION_SOFTSIGN_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_output outputs[1];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    inputs[0] = InputTensor;
    whole.Type = DML_OPERATOR_ACTIVATION_SOFTSIGN;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y = tanh(x) */
static inline anydml_expr AnydmlActivationTanh(struct anydml_graph *graph, anydml_expr InputTensor)
{
    DML_ACTIVATION_TANH_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_output outputs[1];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    inputs[0] = InputTensor;
    whole.Type = DML_OPERATOR_ACTIVATION_TANH;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y = x > Alpha ? x : 0 */
struct anydml_activation_thresholded_relu_options {
    struct anydml_float Alpha; /* default: 1.0f */
};
static inline anydml_expr AnydmlActivationThresholdedRelu(struct anydml_graph *graph, anydml_expr InputTensor, const struct anydml_activation_thresholded_relu_options *options)
{
    DML_ACTIVATION_THRESHOLDED_RELU_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_activation_thresholded_relu_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    desc.Alpha = o.Alpha.Given ? o.Alpha.Value : 1.0f;
    whole.Type = DML_OPERATOR_ACTIVATION_THRESHOLDED_RELU;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y = act(bias + convolution or transposed convolution of the input with the filter) */
struct anydml_convolution_options {
    anydml_expr BiasTensor;
    struct anydml_output OutputTensor;
    struct anydml_uint Mode; /* default: DML_CONVOLUTION_MODE_CROSS_CORRELATION */
    DML_CONVOLUTION_DIRECTION Direction;
    const UINT *Strides;
    const UINT *Dilations;
    const UINT *StartPadding;
    const UINT *EndPadding;
    const UINT *OutputPadding;
    UINT GroupCount; /* default: 1 */
    struct anydml_activation FusedActivation;
};
static inline anydml_expr AnydmlConvolution(struct anydml_graph *graph, anydml_expr InputTensor, anydml_expr FilterTensor, const struct anydml_convolution_options *options)
{
    DML_CONVOLUTION_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_convolution_options o;
    DML_OPERATOR_DESC fused;
    union anydml_activation_desc activation;
    struct anydml_output outputs[1];
    anydml_expr inputs[3];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    inputs[1] = FilterTensor;
    inputs[2] = o.BiasTensor;
    outputs[0] = o.OutputTensor;
    desc.Mode = o.Mode.Given ? (DML_CONVOLUTION_MODE)o.Mode.Value : DML_CONVOLUTION_MODE_CROSS_CORRELATION;
    desc.Direction = o.Direction;
    desc.Strides = o.Strides;
    desc.Dilations = o.Dilations;
    desc.StartPadding = o.StartPadding;
    desc.EndPadding = o.EndPadding;
    desc.OutputPadding = o.OutputPadding;
    desc.GroupCount = o.GroupCount ? o.GroupCount : 1;
    desc.FusedActivation = anydml_fused(&o.FusedActivation, &fused, &activation);
    whole.Type = DML_OPERATOR_CONVOLUTION;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y = act(Alpha * opA(A) x opB(B) + Beta * C) */
struct anydml_gemm_options {
    anydml_expr CTensor;
    struct anydml_output OutputTensor;
    DML_MATRIX_TRANSFORM TransA;
    DML_MATRIX_TRANSFORM TransB;
    struct anydml_float Alpha; /* default: 1.0f */
    struct anydml_float Beta; /* default: 1.0f */
    struct anydml_activation FusedActivation;
};
static inline anydml_expr AnydmlGemm(struct anydml_graph *graph, anydml_expr ATensor, anydml_expr BTensor, const struct anydml_gemm_options *options)
{
    DML_GEMM_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_gemm_options o;
    DML_OPERATOR_DESC fused;
    union anydml_activation_desc activation;
    struct anydml_output outputs[1];
    anydml_expr inputs[3];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = ATensor;
    inputs[1] = BTensor;
    inputs[2] = o.CTensor;
    outputs[0] = o.OutputTensor;
    desc.TransA = o.TransA;
    desc.TransB = o.TransB;
    desc.Alpha = o.Alpha.Given ? o.Alpha.Value : 1.0f;
    desc.Beta = o.Beta.Given ? o.Beta.Value : 1.0f;
    desc.FusedActivation = anydml_fused(&o.FusedActivation, &fused, &activation);
    whole.Type = DML_OPERATOR_GEMM;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y = Function over the elements that share all coordinates outside Axes */
struct anydml_reduce_options {
    struct anydml_output OutputTensor;
    DML_REDUCE_FUNCTION Function;
    UINT AxisCount;
    const UINT *Axes;
};
static inline anydml_expr AnydmlReduce(struct anydml_graph *graph, anydml_expr InputTensor, const struct anydml_reduce_options *options)
{
    DML_REDUCE_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_reduce_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    outputs[0] = o.OutputTensor;
    desc.Function = o.Function;
    desc.AxisCount = o.AxisCount;
    desc.Axes = o.Axes;
    whole.Type = DML_OPERATOR_REDUCE;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y = mean over the window; padding counts if IncludePadding */
struct anydml_average_pooling_options {
    struct anydml_output OutputTensor;
    const UINT *Strides;
    const UINT *WindowSize;
    const UINT *StartPadding;
    const UINT *EndPadding;
    BOOL IncludePadding;
};
static inline anydml_expr AnydmlAveragePooling(struct anydml_graph *graph, anydml_expr InputTensor, const struct anydml_average_pooling_options *options)
{
    DML_AVERAGE_POOLING_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_average_pooling_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    outputs[0] = o.OutputTensor;
    desc.Strides = o.Strides;
    desc.WindowSize = o.WindowSize;
    desc.StartPadding = o.StartPadding;
    desc.EndPadding = o.EndPadding;
    desc.IncludePadding = o.IncludePadding;
    whole.Type = DML_OPERATOR_AVERAGE_POOLING;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y = (sum over the window of |x|^P)^(1/P) */
struct anydml_lp_pooling_options {
    struct anydml_output OutputTensor;
    const UINT *Strides;
    const UINT *WindowSize;
    const UINT *StartPadding;
    const UINT *EndPadding;
    UINT P; /* default: 2 */
};
static inline anydml_expr AnydmlLpPooling(struct anydml_graph *graph, anydml_expr InputTensor, const struct anydml_lp_pooling_options *options)
{
    DML_LP_POOLING_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_lp_pooling_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    outputs[0] = o.OutputTensor;
    desc.Strides = o.Strides;
    desc.WindowSize = o.WindowSize;
    desc.StartPadding = o.StartPadding;
    desc.EndPadding = o.EndPadding;
    desc.P = o.P ? o.P : 2;
    whole.Type = DML_OPERATOR_LP_POOLING;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y = maximum over the window */
struct anydml_max_pooling_options {
    struct anydml_output OutputTensor;
    const UINT *Strides;
    const UINT *WindowSize;
    const UINT *StartPadding;
    const UINT *EndPadding;
};
static inline anydml_expr AnydmlMaxPooling(struct anydml_graph *graph, anydml_expr InputTensor, const struct anydml_max_pooling_options *options)
{
    DML_MAX_POOLING_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_max_pooling_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    outputs[0] = o.OutputTensor;
    desc.Strides = o.Strides;
    desc.WindowSize = o.WindowSize;
    desc.StartPadding = o.StartPadding;
    desc.EndPadding = o.EndPadding;
    whole.Type = DML_OPERATOR_MAX_POOLING;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y = maximum over each of PooledSize bins of every region */
struct anydml_roi_pooling_options {
    struct anydml_output OutputTensor;
    FLOAT SpatialScale; /* default: 1.0f */
    DML_SIZE_2D PooledSize;
};
static inline anydml_expr AnydmlRoiPooling(struct anydml_graph *graph, anydml_expr InputTensor, anydml_expr ROITensor, const struct anydml_roi_pooling_options *options)
{
    DML_ROI_POOLING_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_roi_pooling_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[2];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    inputs[1] = ROITensor;
    outputs[0] = o.OutputTensor;
    desc.SpatialScale = o.SpatialScale ? o.SpatialScale : 1.0f;
    desc.PooledSize = o.PooledSize;
    whole.Type = DML_OPERATOR_ROI_POOLING;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y[o] = x[Offsets + Strides * o] */
struct anydml_slice_options {
    struct anydml_output OutputTensor;
    const UINT *Offsets;
    const UINT *Sizes;
    const UINT *Strides;
};
static inline anydml_expr AnydmlSlice(struct anydml_graph *graph, anydml_expr InputTensor, const struct anydml_slice_options *options)
{
    DML_SLICE_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_slice_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    outputs[0] = o.OutputTensor;
    desc.Offsets = o.Offsets;
    desc.Sizes = o.Sizes;
    desc.Strides = o.Strides;
    whole.Type = DML_OPERATOR_SLICE;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y = (output type) x */
struct anydml_cast_options {
    struct anydml_output OutputTensor;
};
static inline anydml_expr AnydmlCast(struct anydml_graph *graph, anydml_expr InputTensor, const struct anydml_cast_options *options)
{
    DML_CAST_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_cast_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    outputs[0] = o.OutputTensor;
    whole.Type = DML_OPERATOR_CAST;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* splits the input along Axis into the outputs */
struct anydml_split_options {
    UINT Axis;
};
static inline anydml_expr AnydmlSplit(struct anydml_graph *graph, anydml_expr InputTensor, UINT OutputCount, const struct anydml_output *OutputTensors, const struct anydml_split_options *options)
{
    DML_SPLIT_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_split_options o;
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    desc.OutputCount = OutputTensors ? OutputCount : 0;
    desc.Axis = o.Axis;
    whole.Type = DML_OPERATOR_SPLIT;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, OutputTensors);
}

/* concatenates the inputs along Axis */
struct anydml_join_options {
    struct anydml_output OutputTensor;
    UINT Axis;
};
static inline anydml_expr AnydmlJoin(struct anydml_graph *graph, UINT InputCount, const anydml_expr *InputTensors, const struct anydml_join_options *options)
{
    DML_JOIN_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_join_options o;
    struct anydml_output outputs[1];
    const anydml_expr *inputs = InputTensors;
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    desc.InputCount = InputTensors ? InputCount : 0;
    outputs[0] = o.OutputTensor;
    desc.Axis = o.Axis;
    whole.Type = DML_OPERATOR_JOIN;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y[o] = x[o - StartPadding], outside by PaddingMode */
struct anydml_padding_options {
    struct anydml_output OutputTensor;
    DML_PADDING_MODE PaddingMode;
    FLOAT PaddingValue;
    const UINT *StartPadding;
    const UINT *EndPadding;
};
static inline anydml_expr AnydmlPadding(struct anydml_graph *graph, anydml_expr InputTensor, const struct anydml_padding_options *options)
{
    DML_PADDING_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_padding_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    outputs[0] = o.OutputTensor;
    desc.PaddingMode = o.PaddingMode;
    desc.PaddingValue = o.PaddingValue;
    desc.StartPadding = o.StartPadding;
    desc.EndPadding = o.EndPadding;
    whole.Type = DML_OPERATOR_PADDING;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y[n, c, h, w] = Scale * x[n, c, h, w] + Bias[c] */
struct anydml_value_scale_2d_options {
    struct anydml_float Scale; /* default: 1.0f */
    UINT ChannelCount;
    const FLOAT *Bias;
};
static inline anydml_expr AnydmlValueScale2d(struct anydml_graph *graph, anydml_expr InputTensor, const struct anydml_value_scale_2d_options *options)
{
    DML_VALUE_SCALE_2D_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_value_scale_2d_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    desc.Scale = o.Scale.Given ? o.Scale.Value : 1.0f;
    desc.ChannelCount = o.ChannelCount;
    desc.Bias = o.Bias;
    whole.Type = DML_OPERATOR_VALUE_SCALE_2D;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y = x enlarged ScaleSize times in height and width */
struct anydml_upsample_2d_options {
    struct anydml_output OutputTensor;
    DML_SIZE_2D ScaleSize;
    DML_INTERPOLATION_MODE InterpolationMode;
};
static inline anydml_expr AnydmlUpsample2d(struct anydml_graph *graph, anydml_expr InputTensor, const struct anydml_upsample_2d_options *options)
{
    DML_UPSAMPLE_2D_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_upsample_2d_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    outputs[0] = o.OutputTensor;
    desc.ScaleSize = o.ScaleSize;
    desc.InterpolationMode = o.InterpolationMode;
    whole.Type = DML_OPERATOR_UPSAMPLE_2D;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y[p, q, r] = x[p, indices[q], r] */
struct anydml_gather_options {
    struct anydml_output OutputTensor;
    UINT Axis;
    UINT IndexDimensions;
};
static inline anydml_expr AnydmlGather(struct anydml_graph *graph, anydml_expr InputTensor, anydml_expr IndicesTensor, const struct anydml_gather_options *options)
{
    DML_GATHER_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_gather_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[2];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    inputs[1] = IndicesTensor;
    outputs[0] = o.OutputTensor;
    desc.Axis = o.Axis;
    desc.IndexDimensions = o.IndexDimensions;
    whole.Type = DML_OPERATOR_GATHER;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* moves BlockSize x BlockSize blocks of [H, W] into channels */
struct anydml_space_to_depth_options {
    struct anydml_output OutputTensor;
    UINT BlockSize;
};
static inline anydml_expr AnydmlSpaceToDepth(struct anydml_graph *graph, anydml_expr InputTensor, const struct anydml_space_to_depth_options *options)
{
    DML_SPACE_TO_DEPTH_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_space_to_depth_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    outputs[0] = o.OutputTensor;
    desc.BlockSize = o.BlockSize;
    whole.Type = DML_OPERATOR_SPACE_TO_DEPTH;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* moves channels into BlockSize x BlockSize blocks of [H, W] */
struct anydml_depth_to_space_options {
    struct anydml_output OutputTensor;
    UINT BlockSize;
};
static inline anydml_expr AnydmlDepthToSpace(struct anydml_graph *graph, anydml_expr InputTensor, const struct anydml_depth_to_space_options *options)
{
    DML_DEPTH_TO_SPACE_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_depth_to_space_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    outputs[0] = o.OutputTensor;
    desc.BlockSize = o.BlockSize;
    whole.Type = DML_OPERATOR_DEPTH_TO_SPACE;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y[o] = x[o mod input size] */
struct anydml_tile_options {
    struct anydml_output OutputTensor;
    const UINT *Repeats;
};
static inline anydml_expr AnydmlTile(struct anydml_graph *graph, anydml_expr InputTensor, const struct anydml_tile_options *options)
{
    DML_TILE_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_tile_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    outputs[0] = o.OutputTensor;
    desc.Repeats = o.Repeats;
    whole.Type = DML_OPERATOR_TILE;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* the K largest elements along Axis with their indices, in order */
struct anydml_top_k_options {
    struct anydml_output OutputValueTensor;
    struct anydml_output OutputIndexTensor;
    UINT Axis;
    UINT K;
};
static inline anydml_expr AnydmlTopK(struct anydml_graph *graph, anydml_expr InputTensor, const struct anydml_top_k_options *options)
{
    DML_TOP_K_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_top_k_options o;
    struct anydml_output outputs[2];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    outputs[0] = o.OutputValueTensor;
    outputs[1] = o.OutputIndexTensor;
    desc.Axis = o.Axis;
    desc.K = o.K;
    whole.Type = DML_OPERATOR_TOP_K;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y = act(Scale * (x - Mean) / sqrt(Variance + Epsilon) + Bias) */
struct anydml_batch_normalization_options {
    struct anydml_uint Spatial; /* default: 1 */
    struct anydml_float Epsilon; /* default: 1e-5f */
    struct anydml_activation FusedActivation;
};
static inline anydml_expr AnydmlBatchNormalization(struct anydml_graph *graph, anydml_expr InputTensor, anydml_expr MeanTensor, anydml_expr VarianceTensor, anydml_expr ScaleTensor, anydml_expr BiasTensor, const struct anydml_batch_normalization_options *options)
{
    DML_BATCH_NORMALIZATION_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_batch_normalization_options o;
    DML_OPERATOR_DESC fused;
    union anydml_activation_desc activation;
    struct anydml_output outputs[1];
    anydml_expr inputs[5];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    inputs[1] = MeanTensor;
    inputs[2] = VarianceTensor;
    inputs[3] = ScaleTensor;
    inputs[4] = BiasTensor;
    desc.Spatial = o.Spatial.Given ? o.Spatial.Value != 0 : 1;
    desc.Epsilon = o.Epsilon.Given ? o.Epsilon.Value : 1e-5f;
    desc.FusedActivation = anydml_fused(&o.FusedActivation, &fused, &activation);
    whole.Type = DML_OPERATOR_BATCH_NORMALIZATION;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y = act(Scale * (x - mean) / sqrt(variance + Epsilon) + Bias) over [H, W] or [C, H, W] */
struct anydml_mean_variance_normalization_options {
    anydml_expr ScaleTensor;
    anydml_expr BiasTensor;
    BOOL CrossChannel;
    struct anydml_uint NormalizeVariance; /* default: 1 */
    struct anydml_float Epsilon; /* default: 1e-5f */
    struct anydml_activation FusedActivation;
};
static inline anydml_expr AnydmlMeanVarianceNormalization(struct anydml_graph *graph, anydml_expr InputTensor, const struct anydml_mean_variance_normalization_options *options)
{
    DML_MEAN_VARIANCE_NORMALIZATION_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_mean_variance_normalization_options o;
    DML_OPERATOR_DESC fused;
    union anydml_activation_desc activation;
    struct anydml_output outputs[1];
    anydml_expr inputs[3];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    inputs[1] = o.ScaleTensor;
    inputs[2] = o.BiasTensor;
    desc.CrossChannel = o.CrossChannel;
    desc.NormalizeVariance = o.NormalizeVariance.Given ? o.NormalizeVariance.Value != 0 : 1;
    desc.Epsilon = o.Epsilon.Given ? o.Epsilon.Value : 1e-5f;
    desc.FusedActivation = anydml_fused(&o.FusedActivation, &fused, &activation);
    whole.Type = DML_OPERATOR_MEAN_VARIANCE_NORMALIZATION;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y = x / (Bias + Alpha / LocalSize * sum of x^2 over the region)^Beta */
struct anydml_local_response_normalization_options {
    struct anydml_uint CrossChannel; /* default: 1 */
    UINT LocalSize; /* default: 5 */
    struct anydml_float Alpha; /* default: 1e-4f */
    struct anydml_float Beta; /* default: 0.75f */
    struct anydml_float Bias; /* default: 1.0f */
};
static inline anydml_expr AnydmlLocalResponseNormalization(struct anydml_graph *graph, anydml_expr InputTensor, const struct anydml_local_response_normalization_options *options)
{
    DML_LOCAL_RESPONSE_NORMALIZATION_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_local_response_normalization_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    desc.CrossChannel = o.CrossChannel.Given ? o.CrossChannel.Value != 0 : 1;
    desc.LocalSize = o.LocalSize ? o.LocalSize : 5;
    desc.Alpha = o.Alpha.Given ? o.Alpha.Value : 1e-4f;
    desc.Beta = o.Beta.Given ? o.Beta.Value : 0.75f;
    desc.Bias = o.Bias.Given ? o.Bias.Value : 1.0f;
    whole.Type = DML_OPERATOR_LOCAL_RESPONSE_NORMALIZATION;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y = x / (P-norm along Axis, guarded by Epsilon) */
struct anydml_lp_normalization_options {
    UINT Axis;
    struct anydml_float Epsilon; /* default: 1e-5f */
    UINT P; /* default: 2 */
};
static inline anydml_expr AnydmlLpNormalization(struct anydml_graph *graph, anydml_expr InputTensor, const struct anydml_lp_normalization_options *options)
{
    DML_LP_NORMALIZATION_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_lp_normalization_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    desc.Axis = o.Axis;
    desc.Epsilon = o.Epsilon.Given ? o.Epsilon.Value : 1e-5f;
    desc.P = o.P ? o.P : 2;
    whole.Type = DML_OPERATOR_LP_NORMALIZATION;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* H[t] = f(X[t] W^T + H[t-1] R^T + bias) */
struct anydml_rnn_options {
    anydml_expr BiasTensor;
    anydml_expr HiddenInitTensor;
    anydml_expr SequenceLengthsTensor;
    struct anydml_output OutputSequenceTensor;
    struct anydml_output OutputSingleTensor;
    UINT ActivationDescCount;
    const struct anydml_activation *ActivationDescs; /* default: those of ONNX */
    DML_RECURRENT_NETWORK_DIRECTION Direction;
};
static inline anydml_expr AnydmlRnn(struct anydml_graph *graph, anydml_expr InputTensor, anydml_expr WeightTensor, anydml_expr RecurrenceTensor, const struct anydml_rnn_options *options)
{
    DML_RNN_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_rnn_options o;
    DML_OPERATOR_DESC fused[6];
    union anydml_activation_desc activations[6];
    UINT at;
    struct anydml_output outputs[2];
    anydml_expr inputs[6];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    inputs[1] = WeightTensor;
    inputs[2] = RecurrenceTensor;
    inputs[3] = o.BiasTensor;
    inputs[4] = o.HiddenInitTensor;
    inputs[5] = o.SequenceLengthsTensor;
    outputs[0] = o.OutputSequenceTensor;
    outputs[1] = o.OutputSingleTensor;
    desc.ActivationDescCount = o.ActivationDescCount;
    for (at = 0; at < o.ActivationDescCount && at < 6 && o.ActivationDescs; at++)
        anydml_fused(&o.ActivationDescs[at], &fused[at], &activations[at]);
    desc.ActivationDescs = fused;
    desc.Direction = o.Direction;
    whole.Type = DML_OPERATOR_RNN;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* long short-term memory; gates i, o, f, c */
struct anydml_lstm_options {
    anydml_expr BiasTensor;
    anydml_expr HiddenInitTensor;
    anydml_expr CellMemInitTensor;
    anydml_expr SequenceLengthsTensor;
    anydml_expr PeepholeTensor;
    struct anydml_output OutputSequenceTensor;
    struct anydml_output OutputSingleTensor;
    struct anydml_output OutputCellSingleTensor;
    UINT ActivationDescCount;
    const struct anydml_activation *ActivationDescs; /* default: those of ONNX */
    DML_RECURRENT_NETWORK_DIRECTION Direction;
    FLOAT ClipThreshold;
    BOOL UseClipThreshold;
    BOOL CoupleInputForget;
};
static inline anydml_expr AnydmlLstm(struct anydml_graph *graph, anydml_expr InputTensor, anydml_expr WeightTensor, anydml_expr RecurrenceTensor, const struct anydml_lstm_options *options)
{
    DML_LSTM_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_lstm_options o;
    DML_OPERATOR_DESC fused[6];
    union anydml_activation_desc activations[6];
    UINT at;
    struct anydml_output outputs[3];
    anydml_expr inputs[8];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    inputs[1] = WeightTensor;
    inputs[2] = RecurrenceTensor;
    inputs[3] = o.BiasTensor;
    inputs[4] = o.HiddenInitTensor;
    inputs[5] = o.CellMemInitTensor;
    inputs[6] = o.SequenceLengthsTensor;
    inputs[7] = o.PeepholeTensor;
    outputs[0] = o.OutputSequenceTensor;
    outputs[1] = o.OutputSingleTensor;
    outputs[2] = o.OutputCellSingleTensor;
    desc.ActivationDescCount = o.ActivationDescCount;
    for (at = 0; at < o.ActivationDescCount && at < 6 && o.ActivationDescs; at++)
        anydml_fused(&o.ActivationDescs[at], &fused[at], &activations[at]);
    desc.ActivationDescs = fused;
    desc.Direction = o.Direction;
    desc.ClipThreshold = o.ClipThreshold;
    desc.UseClipThreshold = o.UseClipThreshold;
    desc.CoupleInputForget = o.CoupleInputForget;
    whole.Type = DML_OPERATOR_LSTM;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* gated recurrent unit; gates z, r, h */
struct anydml_gru_options {
    anydml_expr BiasTensor;
    anydml_expr HiddenInitTensor;
    anydml_expr SequenceLengthsTensor;
    struct anydml_output OutputSequenceTensor;
    struct anydml_output OutputSingleTensor;
    UINT ActivationDescCount;
    const struct anydml_activation *ActivationDescs; /* default: those of ONNX */
    DML_RECURRENT_NETWORK_DIRECTION Direction;
    BOOL LinearBeforeReset;
};
static inline anydml_expr AnydmlGru(struct anydml_graph *graph, anydml_expr InputTensor, anydml_expr WeightTensor, anydml_expr RecurrenceTensor, const struct anydml_gru_options *options)
{
    DML_GRU_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_gru_options o;
    DML_OPERATOR_DESC fused[6];
    union anydml_activation_desc activations[6];
    UINT at;
    struct anydml_output outputs[2];
    anydml_expr inputs[6];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    inputs[1] = WeightTensor;
    inputs[2] = RecurrenceTensor;
    inputs[3] = o.BiasTensor;
    inputs[4] = o.HiddenInitTensor;
    inputs[5] = o.SequenceLengthsTensor;
    outputs[0] = o.OutputSequenceTensor;
    outputs[1] = o.OutputSingleTensor;
    desc.ActivationDescCount = o.ActivationDescCount;
    for (at = 0; at < o.ActivationDescCount && at < 6 && o.ActivationDescs; at++)
        anydml_fused(&o.ActivationDescs[at], &fused[at], &activations[at]);
    desc.ActivationDescs = fused;
    desc.Direction = o.Direction;
    desc.LinearBeforeReset = o.LinearBeforeReset;
    whole.Type = DML_OPERATOR_GRU;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y = x < 0 ? -1 : x > 0 ? 1 : 0 */
static inline anydml_expr AnydmlSign(struct anydml_graph *graph, anydml_expr InputTensor)
{
    DML_ELEMENT_WISE_SIGN_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_output outputs[1];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    inputs[0] = InputTensor;
    whole.Type = DML_OPERATOR_ELEMENT_WISE_SIGN;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y = isnan(x) ? 1 : 0 */
struct anydml_is_nan_options {
    struct anydml_output OutputTensor;
};
static inline anydml_expr AnydmlIsNan(struct anydml_graph *graph, anydml_expr InputTensor, const struct anydml_is_nan_options *options)
{
    DML_ELEMENT_WISE_IS_NAN_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_is_nan_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    outputs[0] = o.OutputTensor;
    whole.Type = DML_OPERATOR_ELEMENT_WISE_IS_NAN;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y = erf(g(x)) */
struct anydml_erf_options {
    const DML_SCALE_BIAS *ScaleBias;
};
static inline anydml_expr AnydmlErf(struct anydml_graph *graph, anydml_expr InputTensor, const struct anydml_erf_options *options)
{
    DML_ELEMENT_WISE_ERF_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_erf_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    desc.ScaleBias = o.ScaleBias;
    whole.Type = DML_OPERATOR_ELEMENT_WISE_ERF;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y = sinh(g(x)) */
struct anydml_sinh_options {
    const DML_SCALE_BIAS *ScaleBias;
};
static inline anydml_expr AnydmlSinh(struct anydml_graph *graph, anydml_expr InputTensor, const struct anydml_sinh_options *options)
{
    DML_ELEMENT_WISE_SINH_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_sinh_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    desc.ScaleBias = o.ScaleBias;
    whole.Type = DML_OPERATOR_ELEMENT_WISE_SINH;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y = cosh(g(x)) */
struct anydml_cosh_options {
    const DML_SCALE_BIAS *ScaleBias;
};
static inline anydml_expr AnydmlCosh(struct anydml_graph *graph, anydml_expr InputTensor, const struct anydml_cosh_options *options)
{
    DML_ELEMENT_WISE_COSH_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_cosh_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    desc.ScaleBias = o.ScaleBias;
    whole.Type = DML_OPERATOR_ELEMENT_WISE_COSH;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y = tanh(g(x)) */
struct anydml_tanh_options {
    const DML_SCALE_BIAS *ScaleBias;
};
static inline anydml_expr AnydmlTanh(struct anydml_graph *graph, anydml_expr InputTensor, const struct anydml_tanh_options *options)
{
    DML_ELEMENT_WISE_TANH_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_tanh_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    desc.ScaleBias = o.ScaleBias;
    whole.Type = DML_OPERATOR_ELEMENT_WISE_TANH;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y = asinh(g(x)) */
struct anydml_asinh_options {
    const DML_SCALE_BIAS *ScaleBias;
};
static inline anydml_expr AnydmlAsinh(struct anydml_graph *graph, anydml_expr InputTensor, const struct anydml_asinh_options *options)
{
    DML_ELEMENT_WISE_ASINH_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_asinh_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    desc.ScaleBias = o.ScaleBias;
    whole.Type = DML_OPERATOR_ELEMENT_WISE_ASINH;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y = acosh(g(x)) */
struct anydml_acosh_options {
    const DML_SCALE_BIAS *ScaleBias;
};
static inline anydml_expr AnydmlAcosh(struct anydml_graph *graph, anydml_expr InputTensor, const struct anydml_acosh_options *options)
{
    DML_ELEMENT_WISE_ACOSH_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_acosh_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    desc.ScaleBias = o.ScaleBias;
    whole.Type = DML_OPERATOR_ELEMENT_WISE_ACOSH;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y = atanh(g(x)) */
struct anydml_atanh_options {
    const DML_SCALE_BIAS *ScaleBias;
};
static inline anydml_expr AnydmlAtanh(struct anydml_graph *graph, anydml_expr InputTensor, const struct anydml_atanh_options *options)
{
    DML_ELEMENT_WISE_ATANH_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_atanh_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    desc.ScaleBias = o.ScaleBias;
    whole.Type = DML_OPERATOR_ELEMENT_WISE_ATANH;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y = condition != 0 ? a : b */
static inline anydml_expr AnydmlIf(struct anydml_graph *graph, anydml_expr ConditionTensor, anydml_expr ATensor, anydml_expr BTensor)
{
    DML_ELEMENT_WISE_IF_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_output outputs[1];
    anydml_expr inputs[3];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    inputs[0] = ConditionTensor;
    inputs[1] = ATensor;
    inputs[2] = BTensor;
    whole.Type = DML_OPERATOR_ELEMENT_WISE_IF;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y = act(a + b) */
struct anydml_add1_options {
    struct anydml_activation FusedActivation;
};
static inline anydml_expr AnydmlAdd1(struct anydml_graph *graph, anydml_expr ATensor, anydml_expr BTensor, const struct anydml_add1_options *options)
{
    DML_ELEMENT_WISE_ADD1_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_add1_options o;
    DML_OPERATOR_DESC fused;
    union anydml_activation_desc activation;
    struct anydml_output outputs[1];
    anydml_expr inputs[2];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = ATensor;
    inputs[1] = BTensor;
    desc.FusedActivation = anydml_fused(&o.FusedActivation, &fused, &activation);
    whole.Type = DML_OPERATOR_ELEMENT_WISE_ADD1;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y = x > Threshold ? x - Bias : x < -Threshold ? x + Bias : 0 */
struct anydml_activation_shrink_options {
    FLOAT Bias;
    struct anydml_float Threshold; /* default: 0.5f */
};
static inline anydml_expr AnydmlActivationShrink(struct anydml_graph *graph, anydml_expr InputTensor, const struct anydml_activation_shrink_options *options)
{
    DML_ACTIVATION_SHRINK_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_activation_shrink_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    desc.Bias = o.Bias;
    desc.Threshold = o.Threshold.Given ? o.Threshold.Value : 0.5f;
    whole.Type = DML_OPERATOR_ACTIVATION_SHRINK;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y = maximum over the window; optionally its index in the whole input */
struct anydml_max_pooling1_options {
    struct anydml_output OutputTensor;
    struct anydml_output OutputIndicesTensor;
    const UINT *Strides;
    const UINT *WindowSize;
    const UINT *StartPadding;
    const UINT *EndPadding;
};
static inline anydml_expr AnydmlMaxPooling1(struct anydml_graph *graph, anydml_expr InputTensor, const struct anydml_max_pooling1_options *options)
{
    DML_MAX_POOLING1_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_max_pooling1_options o;
    struct anydml_output outputs[2];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    outputs[0] = o.OutputTensor;
    outputs[1] = o.OutputIndicesTensor;
    desc.Strides = o.Strides;
    desc.WindowSize = o.WindowSize;
    desc.StartPadding = o.StartPadding;
    desc.EndPadding = o.EndPadding;
    whole.Type = DML_OPERATOR_MAX_POOLING1;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y = 0, then y.flat[indices[i]] = x[i] */
struct anydml_max_unpooling_options {
    struct anydml_output OutputTensor;
};
static inline anydml_expr AnydmlMaxUnpooling(struct anydml_graph *graph, anydml_expr InputTensor, anydml_expr IndicesTensor, const struct anydml_max_unpooling_options *options)
{
    DML_MAX_UNPOOLING_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_max_unpooling_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[2];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    inputs[1] = IndicesTensor;
    outputs[0] = o.OutputTensor;
    whole.Type = DML_OPERATOR_MAX_UNPOOLING;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y[.., r, c] = (r + Offset == c) ? Value : 0 */
struct anydml_diagonal_matrix_options {
    struct anydml_output OutputTensor;
    INT Offset;
    FLOAT Value;
};
static inline anydml_expr AnydmlDiagonalMatrix(struct anydml_graph *graph, const struct anydml_diagonal_matrix_options *options)
{
    DML_DIAGONAL_MATRIX_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_diagonal_matrix_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = NULL;
    outputs[0] = o.OutputTensor;
    desc.Offset = o.Offset;
    desc.Value = o.Value;
    whole.Type = DML_OPERATOR_DIAGONAL_MATRIX;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y = x, then y[.., indices[u], ..] = updates[u] along Axis */
struct anydml_scatter_elements_options {
    UINT Axis;
};
static inline anydml_expr AnydmlScatterElements(struct anydml_graph *graph, anydml_expr InputTensor, anydml_expr IndicesTensor, anydml_expr UpdatesTensor, const struct anydml_scatter_elements_options *options)
{
    DML_SCATTER_ELEMENTS_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_scatter_elements_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[3];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    inputs[1] = IndicesTensor;
    inputs[2] = UpdatesTensor;
    desc.Axis = o.Axis;
    whole.Type = DML_OPERATOR_SCATTER_ELEMENTS;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y[o] = (o[Axis] == index) ? Values[1] : Values[0] */
struct anydml_one_hot_options {
    struct anydml_output OutputTensor;
    UINT Axis;
};
static inline anydml_expr AnydmlOneHot(struct anydml_graph *graph, anydml_expr IndicesTensor, anydml_expr ValuesTensor, const struct anydml_one_hot_options *options)
{
    DML_ONE_HOT_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_one_hot_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[2];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = IndicesTensor;
    inputs[1] = ValuesTensor;
    outputs[0] = o.OutputTensor;
    desc.Axis = o.Axis;
    whole.Type = DML_OPERATOR_ONE_HOT;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y = x resized by Scales about pixel centres */
struct anydml_resample_options {
    struct anydml_output OutputTensor;
    DML_INTERPOLATION_MODE InterpolationMode;
    const FLOAT *Scales;
};
static inline anydml_expr AnydmlResample(struct anydml_graph *graph, anydml_expr InputTensor, const struct anydml_resample_options *options)
{
    DML_RESAMPLE_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_resample_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    outputs[0] = o.OutputTensor;
    desc.InterpolationMode = o.InterpolationMode;
    desc.Scales = o.Scales;
    whole.Type = DML_OPERATOR_RESAMPLE;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y = a << b */
static inline anydml_expr AnydmlBitShiftLeft(struct anydml_graph *graph, anydml_expr ATensor, anydml_expr BTensor)
{
    DML_ELEMENT_WISE_BIT_SHIFT_LEFT_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_output outputs[1];
    anydml_expr inputs[2];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    inputs[0] = ATensor;
    inputs[1] = BTensor;
    whole.Type = DML_OPERATOR_ELEMENT_WISE_BIT_SHIFT_LEFT;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y = a >> b, zero fill */
static inline anydml_expr AnydmlBitShiftRight(struct anydml_graph *graph, anydml_expr ATensor, anydml_expr BTensor)
{
    DML_ELEMENT_WISE_BIT_SHIFT_RIGHT_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_output outputs[1];
    anydml_expr inputs[2];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    inputs[0] = ATensor;
    inputs[1] = BTensor;
    whole.Type = DML_OPERATOR_ELEMENT_WISE_BIT_SHIFT_RIGHT;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y = x rounded by RoundingMode */
struct anydml_round_options {
    DML_ROUNDING_MODE RoundingMode;
};
static inline anydml_expr AnydmlRound(struct anydml_graph *graph, anydml_expr InputTensor, const struct anydml_round_options *options)
{
    DML_ELEMENT_WISE_ROUND_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_round_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    desc.RoundingMode = o.RoundingMode;
    whole.Type = DML_OPERATOR_ELEMENT_WISE_ROUND;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y = isinf(x) with the sign that InfinityMode asks for ? 1 : 0 */
struct anydml_is_infinity_options {
    struct anydml_output OutputTensor;
    DML_IS_INFINITY_MODE InfinityMode;
};
static inline anydml_expr AnydmlIsInfinity(struct anydml_graph *graph, anydml_expr InputTensor, const struct anydml_is_infinity_options *options)
{
    DML_ELEMENT_WISE_IS_INFINITY_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_is_infinity_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    outputs[0] = o.OutputTensor;
    desc.InfinityMode = o.InfinityMode;
    whole.Type = DML_OPERATOR_ELEMENT_WISE_IS_INFINITY;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y = a - b * trunc(a / b) */
static inline anydml_expr AnydmlModulusTruncate(struct anydml_graph *graph, anydml_expr ATensor, anydml_expr BTensor)
{
    DML_ELEMENT_WISE_MODULUS_TRUNCATE_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_output outputs[1];
    anydml_expr inputs[2];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    inputs[0] = ATensor;
    inputs[1] = BTensor;
    whole.Type = DML_OPERATOR_ELEMENT_WISE_MODULUS_TRUNCATE;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y = a - b * floor(a / b) */
static inline anydml_expr AnydmlModulusFloor(struct anydml_graph *graph, anydml_expr ATensor, anydml_expr BTensor)
{
    DML_ELEMENT_WISE_MODULUS_FLOOR_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_output outputs[1];
    anydml_expr inputs[2];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    inputs[0] = ATensor;
    inputs[1] = BTensor;
    whole.Type = DML_OPERATOR_ELEMENT_WISE_MODULUS_FLOOR;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y = Value */
struct anydml_fill_value_constant_options {
    struct anydml_output OutputTensor;
    DML_TENSOR_DATA_TYPE ValueDataType;
    DML_SCALAR_UNION Value;
};
static inline anydml_expr AnydmlFillValueConstant(struct anydml_graph *graph, const struct anydml_fill_value_constant_options *options)
{
    DML_FILL_VALUE_CONSTANT_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_fill_value_constant_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = NULL;
    outputs[0] = o.OutputTensor;
    desc.ValueDataType = o.ValueDataType;
    desc.Value = o.Value;
    whole.Type = DML_OPERATOR_FILL_VALUE_CONSTANT;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y[k] = ValueStart + k * ValueDelta in element order */
struct anydml_fill_value_sequence_options {
    struct anydml_output OutputTensor;
    DML_TENSOR_DATA_TYPE ValueDataType;
    DML_SCALAR_UNION ValueStart;
    DML_SCALAR_UNION ValueDelta;
};
static inline anydml_expr AnydmlFillValueSequence(struct anydml_graph *graph, const struct anydml_fill_value_sequence_options *options)
{
    DML_FILL_VALUE_SEQUENCE_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_fill_value_sequence_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = NULL;
    outputs[0] = o.OutputTensor;
    desc.ValueDataType = o.ValueDataType;
    desc.ValueStart = o.ValueStart;
    desc.ValueDelta = o.ValueDelta;
    whole.Type = DML_OPERATOR_FILL_VALUE_SEQUENCE;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y = running sum along Axis */
struct anydml_cumulative_summation_options {
    UINT Axis;
    DML_AXIS_DIRECTION AxisDirection;
    BOOL HasExclusiveSum;
};
static inline anydml_expr AnydmlCumulativeSummation(struct anydml_graph *graph, anydml_expr InputTensor, const struct anydml_cumulative_summation_options *options)
{
    DML_CUMULATIVE_SUMMATION_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_cumulative_summation_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    desc.Axis = o.Axis;
    desc.AxisDirection = o.AxisDirection;
    desc.HasExclusiveSum = o.HasExclusiveSum;
    whole.Type = DML_OPERATOR_CUMULATIVE_SUMMATION;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y = x with the first SequenceLengths elements along Axis reversed */
struct anydml_reverse_subsequences_options {
    UINT Axis;
};
static inline anydml_expr AnydmlReverseSubsequences(struct anydml_graph *graph, anydml_expr InputTensor, anydml_expr SequenceLengthsTensor, const struct anydml_reverse_subsequences_options *options)
{
    DML_REVERSE_SUBSEQUENCES_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_reverse_subsequences_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[2];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    inputs[1] = SequenceLengthsTensor;
    desc.Axis = o.Axis;
    whole.Type = DML_OPERATOR_REVERSE_SUBSEQUENCES;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y[o] = x[o with o[Axis] = indices[o]] */
struct anydml_gather_elements_options {
    UINT Axis;
};
static inline anydml_expr AnydmlGatherElements(struct anydml_graph *graph, anydml_expr InputTensor, anydml_expr IndicesTensor, const struct anydml_gather_elements_options *options)
{
    DML_GATHER_ELEMENTS_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_gather_elements_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[2];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    inputs[1] = IndicesTensor;
    desc.Axis = o.Axis;
    whole.Type = DML_OPERATOR_GATHER_ELEMENTS;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y[q, s] = x[indices[q], s] */
struct anydml_gather_nd_options {
    struct anydml_output OutputTensor;
    UINT InputDimensionCount;
    UINT IndicesDimensionCount;
};
static inline anydml_expr AnydmlGatherNd(struct anydml_graph *graph, anydml_expr InputTensor, anydml_expr IndicesTensor, const struct anydml_gather_nd_options *options)
{
    DML_GATHER_ND_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_gather_nd_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[2];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    inputs[1] = IndicesTensor;
    outputs[0] = o.OutputTensor;
    desc.InputDimensionCount = o.InputDimensionCount;
    desc.IndicesDimensionCount = o.IndicesDimensionCount;
    whole.Type = DML_OPERATOR_GATHER_ND;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y = x, then y[indices[q], s] = updates[q, s] */
struct anydml_scatter_nd_options {
    UINT InputDimensionCount;
    UINT IndicesDimensionCount;
};
static inline anydml_expr AnydmlScatterNd(struct anydml_graph *graph, anydml_expr InputTensor, anydml_expr IndicesTensor, anydml_expr UpdatesTensor, const struct anydml_scatter_nd_options *options)
{
    DML_SCATTER_ND_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_scatter_nd_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[3];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    inputs[1] = IndicesTensor;
    inputs[2] = UpdatesTensor;
    desc.InputDimensionCount = o.InputDimensionCount;
    desc.IndicesDimensionCount = o.IndicesDimensionCount;
    whole.Type = DML_OPERATOR_SCATTER_ND;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y = maximum over the dilated window; optionally its index in the whole input */
struct anydml_max_pooling2_options {
    struct anydml_output OutputTensor;
    struct anydml_output OutputIndicesTensor;
    const UINT *Strides;
    const UINT *WindowSize;
    const UINT *StartPadding;
    const UINT *EndPadding;
    const UINT *Dilations;
};
static inline anydml_expr AnydmlMaxPooling2(struct anydml_graph *graph, anydml_expr InputTensor, const struct anydml_max_pooling2_options *options)
{
    DML_MAX_POOLING2_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_max_pooling2_options o;
    struct anydml_output outputs[2];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    outputs[0] = o.OutputTensor;
    outputs[1] = o.OutputIndicesTensor;
    desc.Strides = o.Strides;
    desc.WindowSize = o.WindowSize;
    desc.StartPadding = o.StartPadding;
    desc.EndPadding = o.EndPadding;
    desc.Dilations = o.Dilations;
    whole.Type = DML_OPERATOR_MAX_POOLING2;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y[o] = x[InputWindowOffsets + InputWindowStrides * o], backwards for negative strides */
struct anydml_slice1_options {
    struct anydml_output OutputTensor;
    const UINT *InputWindowOffsets;
    const UINT *InputWindowSizes;
    const INT *InputWindowStrides;
};
static inline anydml_expr AnydmlSlice1(struct anydml_graph *graph, anydml_expr InputTensor, const struct anydml_slice1_options *options)
{
    DML_SLICE1_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_slice1_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    outputs[0] = o.OutputTensor;
    desc.InputWindowOffsets = o.InputWindowOffsets;
    desc.InputWindowSizes = o.InputWindowSizes;
    desc.InputWindowStrides = o.InputWindowStrides;
    whole.Type = DML_OPERATOR_SLICE1;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* the K largest or smallest elements along Axis with their indices, in order */
struct anydml_top_k1_options {
    struct anydml_output OutputValueTensor;
    struct anydml_output OutputIndexTensor;
    UINT Axis;
    UINT K;
    DML_AXIS_DIRECTION AxisDirection;
};
static inline anydml_expr AnydmlTopK1(struct anydml_graph *graph, anydml_expr InputTensor, const struct anydml_top_k1_options *options)
{
    DML_TOP_K1_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_top_k1_options o;
    struct anydml_output outputs[2];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    outputs[0] = o.OutputValueTensor;
    outputs[1] = o.OutputIndexTensor;
    desc.Axis = o.Axis;
    desc.K = o.K;
    desc.AxisDirection = o.AxisDirection;
    whole.Type = DML_OPERATOR_TOP_K1;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* moves channels, ordered by Order, into BlockSize x BlockSize blocks of [H, W] */
struct anydml_depth_to_space1_options {
    struct anydml_output OutputTensor;
    UINT BlockSize;
    DML_DEPTH_SPACE_ORDER Order;
};
static inline anydml_expr AnydmlDepthToSpace1(struct anydml_graph *graph, anydml_expr InputTensor, const struct anydml_depth_to_space1_options *options)
{
    DML_DEPTH_TO_SPACE1_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_depth_to_space1_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    outputs[0] = o.OutputTensor;
    desc.BlockSize = o.BlockSize;
    desc.Order = o.Order;
    whole.Type = DML_OPERATOR_DEPTH_TO_SPACE1;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* moves BlockSize x BlockSize blocks of [H, W] into channels, ordered by Order */
struct anydml_space_to_depth1_options {
    struct anydml_output OutputTensor;
    UINT BlockSize;
    DML_DEPTH_SPACE_ORDER Order;
};
static inline anydml_expr AnydmlSpaceToDepth1(struct anydml_graph *graph, anydml_expr InputTensor, const struct anydml_space_to_depth1_options *options)
{
    DML_SPACE_TO_DEPTH1_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_space_to_depth1_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    outputs[0] = o.OutputTensor;
    desc.BlockSize = o.BlockSize;
    desc.Order = o.Order;
    whole.Type = DML_OPERATOR_SPACE_TO_DEPTH1;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y = act(Scale * (x - mean) / sqrt(variance + Epsilon) + Bias) over Axes */
struct anydml_mean_variance_normalization1_options {
    anydml_expr ScaleTensor;
    anydml_expr BiasTensor;
    UINT AxisCount;
    const UINT *Axes;
    struct anydml_uint NormalizeVariance; /* default: 1 */
    struct anydml_float Epsilon; /* default: 1e-5f */
    struct anydml_activation FusedActivation;
};
static inline anydml_expr AnydmlMeanVarianceNormalization1(struct anydml_graph *graph, anydml_expr InputTensor, const struct anydml_mean_variance_normalization1_options *options)
{
    DML_MEAN_VARIANCE_NORMALIZATION1_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_mean_variance_normalization1_options o;
    DML_OPERATOR_DESC fused;
    union anydml_activation_desc activation;
    struct anydml_output outputs[1];
    anydml_expr inputs[3];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    inputs[1] = o.ScaleTensor;
    inputs[2] = o.BiasTensor;
    desc.AxisCount = o.AxisCount;
    desc.Axes = o.Axes;
    desc.NormalizeVariance = o.NormalizeVariance.Given ? o.NormalizeVariance.Value != 0 : 1;
    desc.Epsilon = o.Epsilon.Given ? o.Epsilon.Value : 1e-5f;
    desc.FusedActivation = anydml_fused(&o.FusedActivation, &fused, &activation);
    whole.Type = DML_OPERATOR_MEAN_VARIANCE_NORMALIZATION1;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y = x resized; x coordinate = (o - OutputPixelOffset) / Scale - InputPixelOffset */
struct anydml_resample1_options {
    struct anydml_output OutputTensor;
    DML_INTERPOLATION_MODE InterpolationMode;
    const FLOAT *Scales;
    const FLOAT *InputPixelOffsets;
    const FLOAT *OutputPixelOffsets;
};
static inline anydml_expr AnydmlResample1(struct anydml_graph *graph, anydml_expr InputTensor, const struct anydml_resample1_options *options)
{
    DML_RESAMPLE1_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_resample1_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    outputs[0] = o.OutputTensor;
    desc.InterpolationMode = o.InterpolationMode;
    desc.Scales = o.Scales;
    desc.InputPixelOffsets = o.InputPixelOffsets;
    desc.OutputPixelOffsets = o.OutputPixelOffsets;
    whole.Type = DML_OPERATOR_RESAMPLE1;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y = (A - AZeroPoint) x (B - BZeroPoint) in int32 */
struct anydml_matrix_multiply_integer_options {
    anydml_expr AZeroPointTensor;
    anydml_expr BZeroPointTensor;
    struct anydml_output OutputTensor;
};
static inline anydml_expr AnydmlMatrixMultiplyInteger(struct anydml_graph *graph, anydml_expr ATensor, anydml_expr BTensor, const struct anydml_matrix_multiply_integer_options *options)
{
    DML_MATRIX_MULTIPLY_INTEGER_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_matrix_multiply_integer_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[4];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = ATensor;
    inputs[1] = o.AZeroPointTensor;
    inputs[2] = BTensor;
    inputs[3] = o.BZeroPointTensor;
    outputs[0] = o.OutputTensor;
    whole.Type = DML_OPERATOR_MATRIX_MULTIPLY_INTEGER;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y = quantize(dequantize(A) x dequantize(B)) */
struct anydml_quantized_linear_matrix_multiply_options {
    anydml_expr AZeroPointTensor;
    anydml_expr BZeroPointTensor;
    anydml_expr OutputZeroPointTensor;
    struct anydml_output OutputTensor;
};
static inline anydml_expr AnydmlQuantizedLinearMatrixMultiply(struct anydml_graph *graph, anydml_expr ATensor, anydml_expr AScaleTensor, anydml_expr BTensor, anydml_expr BScaleTensor, anydml_expr OutputScaleTensor, const struct anydml_quantized_linear_matrix_multiply_options *options)
{
    DML_QUANTIZED_LINEAR_MATRIX_MULTIPLY_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_quantized_linear_matrix_multiply_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[8];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = ATensor;
    inputs[1] = AScaleTensor;
    inputs[2] = o.AZeroPointTensor;
    inputs[3] = BTensor;
    inputs[4] = BScaleTensor;
    inputs[5] = o.BZeroPointTensor;
    inputs[6] = OutputScaleTensor;
    inputs[7] = o.OutputZeroPointTensor;
    outputs[0] = o.OutputTensor;
    whole.Type = DML_OPERATOR_QUANTIZED_LINEAR_MATRIX_MULTIPLY;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y = convolution of (x - InputZeroPoint) with (filter - FilterZeroPoint) in int32 */
struct anydml_convolution_integer_options {
    anydml_expr InputZeroPointTensor;
    anydml_expr FilterZeroPointTensor;
    struct anydml_output OutputTensor;
    const UINT *Strides;
    const UINT *Dilations;
    const UINT *StartPadding;
    const UINT *EndPadding;
    UINT GroupCount; /* default: 1 */
};
static inline anydml_expr AnydmlConvolutionInteger(struct anydml_graph *graph, anydml_expr InputTensor, anydml_expr FilterTensor, const struct anydml_convolution_integer_options *options)
{
    DML_CONVOLUTION_INTEGER_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_convolution_integer_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[4];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    inputs[1] = o.InputZeroPointTensor;
    inputs[2] = FilterTensor;
    inputs[3] = o.FilterZeroPointTensor;
    outputs[0] = o.OutputTensor;
    desc.Strides = o.Strides;
    desc.Dilations = o.Dilations;
    desc.StartPadding = o.StartPadding;
    desc.EndPadding = o.EndPadding;
    desc.GroupCount = o.GroupCount ? o.GroupCount : 1;
    whole.Type = DML_OPERATOR_CONVOLUTION_INTEGER;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y = quantize(bias + convolution of dequantize(x) with dequantize(filter)) */
struct anydml_quantized_linear_convolution_options {
    anydml_expr InputZeroPointTensor;
    anydml_expr FilterZeroPointTensor;
    anydml_expr BiasTensor;
    anydml_expr OutputZeroPointTensor;
    struct anydml_output OutputTensor;
    const UINT *Strides;
    const UINT *Dilations;
    const UINT *StartPadding;
    const UINT *EndPadding;
    UINT GroupCount; /* default: 1 */
};
static inline anydml_expr AnydmlQuantizedLinearConvolution(struct anydml_graph *graph, anydml_expr InputTensor, anydml_expr InputScaleTensor, anydml_expr FilterTensor, anydml_expr FilterScaleTensor, anydml_expr OutputScaleTensor, const struct anydml_quantized_linear_convolution_options *options)
{
    DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_quantized_linear_convolution_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[9];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    inputs[1] = InputScaleTensor;
    inputs[2] = o.InputZeroPointTensor;
    inputs[3] = FilterTensor;
    inputs[4] = FilterScaleTensor;
    inputs[5] = o.FilterZeroPointTensor;
    inputs[6] = o.BiasTensor;
    inputs[7] = OutputScaleTensor;
    inputs[8] = o.OutputZeroPointTensor;
    outputs[0] = o.OutputTensor;
    desc.Strides = o.Strides;
    desc.Dilations = o.Dilations;
    desc.StartPadding = o.StartPadding;
    desc.EndPadding = o.EndPadding;
    desc.GroupCount = o.GroupCount ? o.GroupCount : 1;
    whole.Type = DML_OPERATOR_QUANTIZED_LINEAR_CONVOLUTION;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

#if DML_TARGET_VERSION >= 0x3000
/* y = a & b */
static inline anydml_expr AnydmlBitAnd(struct anydml_graph *graph, anydml_expr ATensor, anydml_expr BTensor)
{
    DML_ELEMENT_WISE_BIT_AND_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_output outputs[1];
    anydml_expr inputs[2];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    inputs[0] = ATensor;
    inputs[1] = BTensor;
    whole.Type = DML_OPERATOR_ELEMENT_WISE_BIT_AND;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}
#endif

#if DML_TARGET_VERSION >= 0x3000
/* y = a bit-or b */
static inline anydml_expr AnydmlBitOr(struct anydml_graph *graph, anydml_expr ATensor, anydml_expr BTensor)
{
    DML_ELEMENT_WISE_BIT_OR_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_output outputs[1];
    anydml_expr inputs[2];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    inputs[0] = ATensor;
    inputs[1] = BTensor;
    whole.Type = DML_OPERATOR_ELEMENT_WISE_BIT_OR;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}
#endif

#if DML_TARGET_VERSION >= 0x3000
/* y = a ^ b */
static inline anydml_expr AnydmlBitXor(struct anydml_graph *graph, anydml_expr ATensor, anydml_expr BTensor)
{
    DML_ELEMENT_WISE_BIT_XOR_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_output outputs[1];
    anydml_expr inputs[2];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    inputs[0] = ATensor;
    inputs[1] = BTensor;
    whole.Type = DML_OPERATOR_ELEMENT_WISE_BIT_XOR;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}
#endif

#if DML_TARGET_VERSION >= 0x3000
/* y = ~x */
static inline anydml_expr AnydmlBitNot(struct anydml_graph *graph, anydml_expr InputTensor)
{
    DML_ELEMENT_WISE_BIT_NOT_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_output outputs[1];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    inputs[0] = InputTensor;
    whole.Type = DML_OPERATOR_ELEMENT_WISE_BIT_NOT;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}
#endif

#if DML_TARGET_VERSION >= 0x3000
/* y = number of 1 bits in x */
struct anydml_bit_count_options {
    struct anydml_output OutputTensor;
};
static inline anydml_expr AnydmlBitCount(struct anydml_graph *graph, anydml_expr InputTensor, const struct anydml_bit_count_options *options)
{
    DML_ELEMENT_WISE_BIT_COUNT_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_bit_count_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    outputs[0] = o.OutputTensor;
    whole.Type = DML_OPERATOR_ELEMENT_WISE_BIT_COUNT;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}
#endif

#if DML_TARGET_VERSION >= 0x3000
/* y = (a >= b) ? 1 : 0 */
struct anydml_logical_greater_than_or_equal_options {
    struct anydml_output OutputTensor;
};
static inline anydml_expr AnydmlLogicalGreaterThanOrEqual(struct anydml_graph *graph, anydml_expr ATensor, anydml_expr BTensor, const struct anydml_logical_greater_than_or_equal_options *options)
{
    DML_ELEMENT_WISE_LOGICAL_GREATER_THAN_OR_EQUAL_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_logical_greater_than_or_equal_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[2];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = ATensor;
    inputs[1] = BTensor;
    outputs[0] = o.OutputTensor;
    whole.Type = DML_OPERATOR_ELEMENT_WISE_LOGICAL_GREATER_THAN_OR_EQUAL;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}
#endif

#if DML_TARGET_VERSION >= 0x3000
/* y = (a <= b) ? 1 : 0 */
struct anydml_logical_less_than_or_equal_options {
    struct anydml_output OutputTensor;
};
static inline anydml_expr AnydmlLogicalLessThanOrEqual(struct anydml_graph *graph, anydml_expr ATensor, anydml_expr BTensor, const struct anydml_logical_less_than_or_equal_options *options)
{
    DML_ELEMENT_WISE_LOGICAL_LESS_THAN_OR_EQUAL_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_logical_less_than_or_equal_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[2];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = ATensor;
    inputs[1] = BTensor;
    outputs[0] = o.OutputTensor;
    whole.Type = DML_OPERATOR_ELEMENT_WISE_LOGICAL_LESS_THAN_OR_EQUAL;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}
#endif

#if DML_TARGET_VERSION >= 0x3000
/* y = max(0, x) + min(0, Alpha * (e^(x / Alpha) - 1)) */
struct anydml_activation_celu_options {
    struct anydml_float Alpha; /* default: 1.0f */
};
static inline anydml_expr AnydmlActivationCelu(struct anydml_graph *graph, anydml_expr InputTensor, const struct anydml_activation_celu_options *options)
{
    DML_ACTIVATION_CELU_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_activation_celu_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    desc.Alpha = o.Alpha.Given ? o.Alpha.Value : 1.0f;
    whole.Type = DML_OPERATOR_ACTIVATION_CELU;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}
#endif

#if DML_TARGET_VERSION >= 0x3000
/* dx = x > 0 ? dy : 0 */
static inline anydml_expr AnydmlActivationReluGrad(struct anydml_graph *graph, anydml_expr InputTensor, anydml_expr InputGradientTensor)
{
    DML_ACTIVATION_RELU_GRAD_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_output outputs[1];
    anydml_expr inputs[2];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    inputs[0] = InputTensor;
    inputs[1] = InputGradientTensor;
    whole.Type = DML_OPERATOR_ACTIVATION_RELU_GRAD;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}
#endif

#if DML_TARGET_VERSION >= 0x3000
/* dx = sum over the windows that hold x of dy / count */
struct anydml_average_pooling_grad_options {
    struct anydml_output OutputGradientTensor;
    const UINT *Strides;
    const UINT *WindowSize;
    const UINT *StartPadding;
    const UINT *EndPadding;
    BOOL IncludePadding;
};
static inline anydml_expr AnydmlAveragePoolingGrad(struct anydml_graph *graph, anydml_expr InputGradientTensor, const struct anydml_average_pooling_grad_options *options)
{
    DML_AVERAGE_POOLING_GRAD_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_average_pooling_grad_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputGradientTensor;
    outputs[0] = o.OutputGradientTensor;
    desc.Strides = o.Strides;
    desc.WindowSize = o.WindowSize;
    desc.StartPadding = o.StartPadding;
    desc.EndPadding = o.EndPadding;
    desc.IncludePadding = o.IncludePadding;
    whole.Type = DML_OPERATOR_AVERAGE_POOLING_GRAD;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}
#endif

#if DML_TARGET_VERSION >= 0x3000
/* dx = sum of dy over the windows whose first maximum is x */
struct anydml_max_pooling_grad_options {
    const UINT *Strides;
    const UINT *WindowSize;
    const UINT *StartPadding;
    const UINT *EndPadding;
    const UINT *Dilations;
};
static inline anydml_expr AnydmlMaxPoolingGrad(struct anydml_graph *graph, anydml_expr InputTensor, anydml_expr InputGradientTensor, const struct anydml_max_pooling_grad_options *options)
{
    DML_MAX_POOLING_GRAD_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_max_pooling_grad_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[2];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    inputs[1] = InputGradientTensor;
    desc.Strides = o.Strides;
    desc.WindowSize = o.WindowSize;
    desc.StartPadding = o.StartPadding;
    desc.EndPadding = o.EndPadding;
    desc.Dilations = o.Dilations;
    whole.Type = DML_OPERATOR_MAX_POOLING_GRAD;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}
#endif

#if DML_TARGET_VERSION >= 0x3000
/* Philox 4x32-10 words from a 128-bit counter and a 64-bit key */
struct anydml_random_generator_options {
    struct anydml_output OutputTensor;
    struct anydml_output OutputStateTensor;
    DML_RANDOM_GENERATOR_TYPE Type;
};
static inline anydml_expr AnydmlRandomGenerator(struct anydml_graph *graph, anydml_expr InputStateTensor, const struct anydml_random_generator_options *options)
{
    DML_RANDOM_GENERATOR_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_random_generator_options o;
    struct anydml_output outputs[2];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputStateTensor;
    outputs[0] = o.OutputTensor;
    outputs[1] = o.OutputStateTensor;
    desc.Type = o.Type;
    whole.Type = DML_OPERATOR_RANDOM_GENERATOR;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}
#endif

#if DML_TARGET_VERSION >= 0x3000
/* the coordinates of the non-zero elements in order, and their number */
struct anydml_nonzero_coordinates_options {
    struct anydml_output OutputCountTensor;
    struct anydml_output OutputCoordinatesTensor;
};
static inline anydml_expr AnydmlNonzeroCoordinates(struct anydml_graph *graph, anydml_expr InputTensor, const struct anydml_nonzero_coordinates_options *options)
{
    DML_NONZERO_COORDINATES_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_nonzero_coordinates_options o;
    struct anydml_output outputs[2];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    outputs[0] = o.OutputCountTensor;
    outputs[1] = o.OutputCoordinatesTensor;
    whole.Type = DML_OPERATOR_NONZERO_COORDINATES;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}
#endif

#if DML_TARGET_VERSION >= 0x3000
/* dx = sum of dy * weight in RESAMPLE1 */
struct anydml_resample_grad_options {
    struct anydml_output OutputGradientTensor;
    DML_INTERPOLATION_MODE InterpolationMode;
    const FLOAT *Scales;
    const FLOAT *InputPixelOffsets;
    const FLOAT *OutputPixelOffsets;
};
static inline anydml_expr AnydmlResampleGrad(struct anydml_graph *graph, anydml_expr InputGradientTensor, const struct anydml_resample_grad_options *options)
{
    DML_RESAMPLE_GRAD_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_resample_grad_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputGradientTensor;
    outputs[0] = o.OutputGradientTensor;
    desc.InterpolationMode = o.InterpolationMode;
    desc.Scales = o.Scales;
    desc.InputPixelOffsets = o.InputPixelOffsets;
    desc.OutputPixelOffsets = o.OutputPixelOffsets;
    whole.Type = DML_OPERATOR_RESAMPLE_GRAD;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}
#endif

#if DML_TARGET_VERSION >= 0x3000
/* dx = 0, then dx at the SLICE1 source of each dy = dy */
struct anydml_slice_grad_options {
    struct anydml_output OutputGradientTensor;
    const UINT *InputWindowOffsets;
    const UINT *InputWindowSizes;
    const INT *InputWindowStrides;
};
static inline anydml_expr AnydmlSliceGrad(struct anydml_graph *graph, anydml_expr InputGradientTensor, const struct anydml_slice_grad_options *options)
{
    DML_SLICE_GRAD_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_slice_grad_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputGradientTensor;
    outputs[0] = o.OutputGradientTensor;
    desc.InputWindowOffsets = o.InputWindowOffsets;
    desc.InputWindowSizes = o.InputWindowSizes;
    desc.InputWindowStrides = o.InputWindowStrides;
    whole.Type = DML_OPERATOR_SLICE_GRAD;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}
#endif

#if DML_TARGET_VERSION >= 0x3000
/* M and V = moving averages of G and G^2; X -= LearningRate * Alpha * M / (sqrt(V) + Epsilon) */
struct anydml_adam_optimizer_options {
    struct anydml_output OutputFirstMomentTensor;
    struct anydml_output OutputSecondMomentTensor;
    FLOAT LearningRate;
    FLOAT Beta1;
    FLOAT Beta2;
    FLOAT Epsilon;
};
static inline anydml_expr AnydmlAdamOptimizer(struct anydml_graph *graph, anydml_expr InputParametersTensor, anydml_expr InputFirstMomentTensor, anydml_expr InputSecondMomentTensor, anydml_expr GradientTensor, anydml_expr TrainingStepTensor, const struct anydml_adam_optimizer_options *options)
{
    DML_ADAM_OPTIMIZER_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_adam_optimizer_options o;
    struct anydml_output outputs[3];
    anydml_expr inputs[5];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputParametersTensor;
    inputs[1] = InputFirstMomentTensor;
    inputs[2] = InputSecondMomentTensor;
    inputs[3] = GradientTensor;
    inputs[4] = TrainingStepTensor;
    outputs[1] = o.OutputFirstMomentTensor;
    outputs[2] = o.OutputSecondMomentTensor;
    desc.LearningRate = o.LearningRate;
    desc.Beta1 = o.Beta1;
    desc.Beta2 = o.Beta2;
    desc.Epsilon = o.Epsilon;
    whole.Type = DML_OPERATOR_ADAM_OPTIMIZER;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}
#endif

#if DML_TARGET_VERSION >= 0x3000
/* y = position of the minimum over Axes */
struct anydml_argmin_options {
    struct anydml_output OutputTensor;
    UINT AxisCount;
    const UINT *Axes;
    DML_AXIS_DIRECTION AxisDirection;
};
static inline anydml_expr AnydmlArgmin(struct anydml_graph *graph, anydml_expr InputTensor, const struct anydml_argmin_options *options)
{
    DML_ARGMIN_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_argmin_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    outputs[0] = o.OutputTensor;
    desc.AxisCount = o.AxisCount;
    desc.Axes = o.Axes;
    desc.AxisDirection = o.AxisDirection;
    whole.Type = DML_OPERATOR_ARGMIN;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}
#endif

#if DML_TARGET_VERSION >= 0x3000
/* y = position of the maximum over Axes */
struct anydml_argmax_options {
    struct anydml_output OutputTensor;
    UINT AxisCount;
    const UINT *Axes;
    DML_AXIS_DIRECTION AxisDirection;
};
static inline anydml_expr AnydmlArgmax(struct anydml_graph *graph, anydml_expr InputTensor, const struct anydml_argmax_options *options)
{
    DML_ARGMAX_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_argmax_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    outputs[0] = o.OutputTensor;
    desc.AxisCount = o.AxisCount;
    desc.Axes = o.Axes;
    desc.AxisDirection = o.AxisDirection;
    whole.Type = DML_OPERATOR_ARGMAX;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}
#endif

#if DML_TARGET_VERSION >= 0x3000
/* y = average or maximum of interpolated samples in each region */
struct anydml_roi_align_options {
    struct anydml_output OutputTensor;
    DML_REDUCE_FUNCTION ReductionFunction; /* default: DML_REDUCE_FUNCTION_AVERAGE */
    struct anydml_uint InterpolationMode; /* default: DML_INTERPOLATION_MODE_LINEAR */
    FLOAT SpatialScaleX; /* default: 1.0f */
    FLOAT SpatialScaleY; /* default: 1.0f */
    FLOAT OutOfBoundsInputValue;
    UINT MinimumSamplesPerOutput; /* default: 1 */
    UINT MaximumSamplesPerOutput; /* default: 0xffffffffu */
};
static inline anydml_expr AnydmlRoiAlign(struct anydml_graph *graph, anydml_expr InputTensor, anydml_expr ROITensor, anydml_expr BatchIndicesTensor, const struct anydml_roi_align_options *options)
{
    DML_ROI_ALIGN_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_roi_align_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[3];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    inputs[1] = ROITensor;
    inputs[2] = BatchIndicesTensor;
    outputs[0] = o.OutputTensor;
    desc.ReductionFunction = o.ReductionFunction ? o.ReductionFunction : DML_REDUCE_FUNCTION_AVERAGE;
    desc.InterpolationMode = o.InterpolationMode.Given ? (DML_INTERPOLATION_MODE)o.InterpolationMode.Value : DML_INTERPOLATION_MODE_LINEAR;
    desc.SpatialScaleX = o.SpatialScaleX ? o.SpatialScaleX : 1.0f;
    desc.SpatialScaleY = o.SpatialScaleY ? o.SpatialScaleY : 1.0f;
    desc.OutOfBoundsInputValue = o.OutOfBoundsInputValue;
    desc.MinimumSamplesPerOutput = o.MinimumSamplesPerOutput ? o.MinimumSamplesPerOutput : 1;
    desc.MaximumSamplesPerOutput = o.MaximumSamplesPerOutput ? o.MaximumSamplesPerOutput : 0xffffffffu;
    whole.Type = DML_OPERATOR_ROI_ALIGN;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}
#endif

#if DML_TARGET_VERSION >= 0x3000
/* y[b, q, s] = x[b, indices[b, q], s] */
struct anydml_gather_nd1_options {
    struct anydml_output OutputTensor;
    UINT InputDimensionCount;
    UINT IndicesDimensionCount;
    UINT BatchDimensionCount;
};
static inline anydml_expr AnydmlGatherNd1(struct anydml_graph *graph, anydml_expr InputTensor, anydml_expr IndicesTensor, const struct anydml_gather_nd1_options *options)
{
    DML_GATHER_ND1_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_gather_nd1_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[2];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    inputs[1] = IndicesTensor;
    outputs[0] = o.OutputTensor;
    desc.InputDimensionCount = o.InputDimensionCount;
    desc.IndicesDimensionCount = o.IndicesDimensionCount;
    desc.BatchDimensionCount = o.BatchDimensionCount;
    whole.Type = DML_OPERATOR_GATHER_ND1;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}
#endif

#if DML_TARGET_VERSION >= 0x3100
/* y = atan2(a, b) */
static inline anydml_expr AnydmlAtanYx(struct anydml_graph *graph, anydml_expr ATensor, anydml_expr BTensor)
{
    DML_ELEMENT_WISE_ATAN_YX_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_output outputs[1];
    anydml_expr inputs[2];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    inputs[0] = ATensor;
    inputs[1] = BTensor;
    whole.Type = DML_OPERATOR_ELEMENT_WISE_ATAN_YX;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}
#endif

#if DML_TARGET_VERSION >= 0x3100
/* dx = (x <= Min || x >= Max) ? 0 : dy */
struct anydml_clip_grad_options {
    FLOAT Min;
    FLOAT Max;
};
static inline anydml_expr AnydmlClipGrad(struct anydml_graph *graph, anydml_expr InputTensor, anydml_expr InputGradientTensor, const struct anydml_clip_grad_options *options)
{
    DML_ELEMENT_WISE_CLIP_GRAD_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_clip_grad_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[2];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    inputs[1] = InputGradientTensor;
    desc.Min = o.Min;
    desc.Max = o.Max;
    whole.Type = DML_OPERATOR_ELEMENT_WISE_CLIP_GRAD;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}
#endif

#if DML_TARGET_VERSION >= 0x3100
/* y = (a - b)^2 */
static inline anydml_expr AnydmlDifferenceSquare(struct anydml_graph *graph, anydml_expr ATensor, anydml_expr BTensor)
{
    DML_ELEMENT_WISE_DIFFERENCE_SQUARE_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_output outputs[1];
    anydml_expr inputs[2];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    inputs[0] = ATensor;
    inputs[1] = BTensor;
    whole.Type = DML_OPERATOR_ELEMENT_WISE_DIFFERENCE_SQUARE;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}
#endif

#if DML_TARGET_VERSION >= 0x3100
/* dx = gradient of LOCAL_RESPONSE_NORMALIZATION */
struct anydml_local_response_normalization_grad_options {
    struct anydml_uint CrossChannel; /* default: 1 */
    UINT LocalSize; /* default: 5 */
    struct anydml_float Alpha; /* default: 1e-4f */
    struct anydml_float Beta; /* default: 0.75f */
    struct anydml_float Bias; /* default: 1.0f */
};
static inline anydml_expr AnydmlLocalResponseNormalizationGrad(struct anydml_graph *graph, anydml_expr InputTensor, anydml_expr InputGradientTensor, const struct anydml_local_response_normalization_grad_options *options)
{
    DML_LOCAL_RESPONSE_NORMALIZATION_GRAD_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_local_response_normalization_grad_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[2];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    inputs[1] = InputGradientTensor;
    desc.CrossChannel = o.CrossChannel.Given ? o.CrossChannel.Value != 0 : 1;
    desc.LocalSize = o.LocalSize ? o.LocalSize : 5;
    desc.Alpha = o.Alpha.Given ? o.Alpha.Value : 1e-4f;
    desc.Beta = o.Beta.Given ? o.Beta.Value : 0.75f;
    desc.Bias = o.Bias.Given ? o.Bias.Value : 1.0f;
    whole.Type = DML_OPERATOR_LOCAL_RESPONSE_NORMALIZATION_GRAD;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}
#endif

#if DML_TARGET_VERSION >= 0x3100
/* y = running product along Axis */
struct anydml_cumulative_product_options {
    UINT Axis;
    DML_AXIS_DIRECTION AxisDirection;
    BOOL HasExclusiveProduct;
};
static inline anydml_expr AnydmlCumulativeProduct(struct anydml_graph *graph, anydml_expr InputTensor, const struct anydml_cumulative_product_options *options)
{
    DML_CUMULATIVE_PRODUCT_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_cumulative_product_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    desc.Axis = o.Axis;
    desc.AxisDirection = o.AxisDirection;
    desc.HasExclusiveProduct = o.HasExclusiveProduct;
    whole.Type = DML_OPERATOR_CUMULATIVE_PRODUCT;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}
#endif

#if DML_TARGET_VERSION >= 0x3100
/* gradient of BATCH_NORMALIZATION with constant mean and variance */
struct anydml_batch_normalization_grad_options {
    struct anydml_output OutputScaleGradientTensor;
    struct anydml_output OutputBiasGradientTensor;
    struct anydml_float Epsilon; /* default: 1e-5f */
};
static inline anydml_expr AnydmlBatchNormalizationGrad(struct anydml_graph *graph, anydml_expr InputTensor, anydml_expr InputGradientTensor, anydml_expr MeanTensor, anydml_expr VarianceTensor, anydml_expr ScaleTensor, const struct anydml_batch_normalization_grad_options *options)
{
    DML_BATCH_NORMALIZATION_GRAD_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_batch_normalization_grad_options o;
    struct anydml_output outputs[3];
    anydml_expr inputs[5];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    inputs[1] = InputGradientTensor;
    inputs[2] = MeanTensor;
    inputs[3] = VarianceTensor;
    inputs[4] = ScaleTensor;
    outputs[1] = o.OutputScaleGradientTensor;
    outputs[2] = o.OutputBiasGradientTensor;
    desc.Epsilon = o.Epsilon.Given ? o.Epsilon.Value : 1e-5f;
    whole.Type = DML_OPERATOR_BATCH_NORMALIZATION_GRAD;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}
#endif

#if DML_TARGET_VERSION >= 0x4000
/* y = quantize(dequantize(a) + dequantize(b)) */
struct anydml_quantized_linear_add_options {
    anydml_expr AZeroPointTensor;
    anydml_expr BZeroPointTensor;
    anydml_expr OutputZeroPointTensor;
    struct anydml_output OutputTensor;
};
static inline anydml_expr AnydmlQuantizedLinearAdd(struct anydml_graph *graph, anydml_expr ATensor, anydml_expr AScaleTensor, anydml_expr BTensor, anydml_expr BScaleTensor, anydml_expr OutputScaleTensor, const struct anydml_quantized_linear_add_options *options)
{
    DML_ELEMENT_WISE_QUANTIZED_LINEAR_ADD_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_quantized_linear_add_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[8];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = ATensor;
    inputs[1] = AScaleTensor;
    inputs[2] = o.AZeroPointTensor;
    inputs[3] = BTensor;
    inputs[4] = BScaleTensor;
    inputs[5] = o.BZeroPointTensor;
    inputs[6] = OutputScaleTensor;
    inputs[7] = o.OutputZeroPointTensor;
    outputs[0] = o.OutputTensor;
    whole.Type = DML_OPERATOR_ELEMENT_WISE_QUANTIZED_LINEAR_ADD;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}
#endif

#if DML_TARGET_VERSION >= 0x4000
/* y = x quantised with the scale and zero point of its own range */
struct anydml_dynamic_quantize_linear_options {
    struct anydml_output OutputTensor;
    struct anydml_output OutputScaleTensor;
    struct anydml_output OutputZeroPointTensor;
};
static inline anydml_expr AnydmlDynamicQuantizeLinear(struct anydml_graph *graph, anydml_expr InputTensor, const struct anydml_dynamic_quantize_linear_options *options)
{
    DML_DYNAMIC_QUANTIZE_LINEAR_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_dynamic_quantize_linear_options o;
    struct anydml_output outputs[3];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    outputs[0] = o.OutputTensor;
    outputs[1] = o.OutputScaleTensor;
    outputs[2] = o.OutputZeroPointTensor;
    whole.Type = DML_OPERATOR_DYNAMIC_QUANTIZE_LINEAR;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}
#endif

#if DML_TARGET_VERSION >= 0x4000
/* y = average or maximum of interpolated samples in each region, with pixel offsets */
struct anydml_roi_align1_options {
    struct anydml_output OutputTensor;
    DML_REDUCE_FUNCTION ReductionFunction; /* default: DML_REDUCE_FUNCTION_AVERAGE */
    struct anydml_uint InterpolationMode; /* default: DML_INTERPOLATION_MODE_LINEAR */
    FLOAT SpatialScaleX; /* default: 1.0f */
    FLOAT SpatialScaleY; /* default: 1.0f */
    struct anydml_float InputPixelOffset; /* default: 0.5f */
    struct anydml_float OutputPixelOffset; /* default: -0.5f */
    FLOAT OutOfBoundsInputValue;
    UINT MinimumSamplesPerOutput; /* default: 1 */
    UINT MaximumSamplesPerOutput; /* default: 0xffffffffu */
    BOOL AlignRegionsToCorners;
};
static inline anydml_expr AnydmlRoiAlign1(struct anydml_graph *graph, anydml_expr InputTensor, anydml_expr ROITensor, anydml_expr BatchIndicesTensor, const struct anydml_roi_align1_options *options)
{
    DML_ROI_ALIGN1_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_roi_align1_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[3];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    inputs[1] = ROITensor;
    inputs[2] = BatchIndicesTensor;
    outputs[0] = o.OutputTensor;
    desc.ReductionFunction = o.ReductionFunction ? o.ReductionFunction : DML_REDUCE_FUNCTION_AVERAGE;
    desc.InterpolationMode = o.InterpolationMode.Given ? (DML_INTERPOLATION_MODE)o.InterpolationMode.Value : DML_INTERPOLATION_MODE_LINEAR;
    desc.SpatialScaleX = o.SpatialScaleX ? o.SpatialScaleX : 1.0f;
    desc.SpatialScaleY = o.SpatialScaleY ? o.SpatialScaleY : 1.0f;
    desc.InputPixelOffset = o.InputPixelOffset.Given ? o.InputPixelOffset.Value : 0.5f;
    desc.OutputPixelOffset = o.OutputPixelOffset.Given ? o.OutputPixelOffset.Value : -0.5f;
    desc.OutOfBoundsInputValue = o.OutOfBoundsInputValue;
    desc.MinimumSamplesPerOutput = o.MinimumSamplesPerOutput ? o.MinimumSamplesPerOutput : 1;
    desc.MaximumSamplesPerOutput = o.MaximumSamplesPerOutput ? o.MaximumSamplesPerOutput : 0xffffffffu;
    desc.AlignRegionsToCorners = o.AlignRegionsToCorners;
    whole.Type = DML_OPERATOR_ROI_ALIGN1;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}
#endif

#if DML_TARGET_VERSION >= 0x4100
/* gradients of ROI_ALIGN1 for the input and for the regions */
struct anydml_roi_align_grad_options {
    anydml_expr InputTensor;
    struct anydml_output OutputGradientTensor;
    struct anydml_output OutputROIGradientTensor;
    DML_REDUCE_FUNCTION ReductionFunction; /* default: DML_REDUCE_FUNCTION_AVERAGE */
    struct anydml_uint InterpolationMode; /* default: DML_INTERPOLATION_MODE_LINEAR */
    FLOAT SpatialScaleX; /* default: 1.0f */
    FLOAT SpatialScaleY; /* default: 1.0f */
    struct anydml_float InputPixelOffset; /* default: 0.5f */
    struct anydml_float OutputPixelOffset; /* default: -0.5f */
    UINT MinimumSamplesPerOutput; /* default: 1 */
    UINT MaximumSamplesPerOutput; /* default: 0xffffffffu */
    BOOL AlignRegionsToCorners;
};
static inline anydml_expr AnydmlRoiAlignGrad(struct anydml_graph *graph, anydml_expr InputGradientTensor, anydml_expr ROITensor, anydml_expr BatchIndicesTensor, const struct anydml_roi_align_grad_options *options)
{
    DML_ROI_ALIGN_GRAD_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_roi_align_grad_options o;
    struct anydml_output outputs[2];
    anydml_expr inputs[4];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = o.InputTensor;
    inputs[1] = InputGradientTensor;
    inputs[2] = ROITensor;
    inputs[3] = BatchIndicesTensor;
    outputs[0] = o.OutputGradientTensor;
    outputs[1] = o.OutputROIGradientTensor;
    desc.ReductionFunction = o.ReductionFunction ? o.ReductionFunction : DML_REDUCE_FUNCTION_AVERAGE;
    desc.InterpolationMode = o.InterpolationMode.Given ? (DML_INTERPOLATION_MODE)o.InterpolationMode.Value : DML_INTERPOLATION_MODE_LINEAR;
    desc.SpatialScaleX = o.SpatialScaleX ? o.SpatialScaleX : 1.0f;
    desc.SpatialScaleY = o.SpatialScaleY ? o.SpatialScaleY : 1.0f;
    desc.InputPixelOffset = o.InputPixelOffset.Given ? o.InputPixelOffset.Value : 0.5f;
    desc.OutputPixelOffset = o.OutputPixelOffset.Given ? o.OutputPixelOffset.Value : -0.5f;
    desc.MinimumSamplesPerOutput = o.MinimumSamplesPerOutput ? o.MinimumSamplesPerOutput : 1;
    desc.MaximumSamplesPerOutput = o.MaximumSamplesPerOutput ? o.MaximumSamplesPerOutput : 0xffffffffu;
    desc.AlignRegionsToCorners = o.AlignRegionsToCorners;
    whole.Type = DML_OPERATOR_ROI_ALIGN_GRAD;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}
#endif

#if DML_TARGET_VERSION >= 0x4100
/* y = act(Scale * (x - mean) / sqrt(variance + Epsilon) + Bias + FusedAdd) */
struct anydml_batch_normalization_training_options {
    anydml_expr FusedAddTensor;
    struct anydml_output OutputMeanTensor;
    struct anydml_output OutputVarianceTensor;
    struct anydml_float Epsilon; /* default: 1e-5f */
    struct anydml_activation FusedActivation;
};
static inline anydml_expr AnydmlBatchNormalizationTraining(struct anydml_graph *graph, anydml_expr InputTensor, anydml_expr ScaleTensor, anydml_expr BiasTensor, const struct anydml_batch_normalization_training_options *options)
{
    DML_BATCH_NORMALIZATION_TRAINING_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_batch_normalization_training_options o;
    DML_OPERATOR_DESC fused;
    union anydml_activation_desc activation;
    struct anydml_output outputs[3];
    anydml_expr inputs[4];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    inputs[1] = ScaleTensor;
    inputs[2] = BiasTensor;
    inputs[3] = o.FusedAddTensor;
    outputs[1] = o.OutputMeanTensor;
    outputs[2] = o.OutputVarianceTensor;
    desc.Epsilon = o.Epsilon.Given ? o.Epsilon.Value : 1e-5f;
    desc.FusedActivation = anydml_fused(&o.FusedActivation, &fused, &activation);
    whole.Type = DML_OPERATOR_BATCH_NORMALIZATION_TRAINING;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}
#endif

#if DML_TARGET_VERSION >= 0x4100
/* gradient of BATCH_NORMALIZATION_TRAINING */
struct anydml_batch_normalization_training_grad_options {
    struct anydml_output OutputScaleGradientTensor;
    struct anydml_output OutputBiasGradientTensor;
    struct anydml_float Epsilon; /* default: 1e-5f */
};
static inline anydml_expr AnydmlBatchNormalizationTrainingGrad(struct anydml_graph *graph, anydml_expr InputTensor, anydml_expr InputGradientTensor, anydml_expr MeanTensor, anydml_expr VarianceTensor, anydml_expr ScaleTensor, const struct anydml_batch_normalization_training_grad_options *options)
{
    DML_BATCH_NORMALIZATION_TRAINING_GRAD_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_batch_normalization_training_grad_options o;
    struct anydml_output outputs[3];
    anydml_expr inputs[5];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    inputs[1] = InputGradientTensor;
    inputs[2] = MeanTensor;
    inputs[3] = VarianceTensor;
    inputs[4] = ScaleTensor;
    outputs[1] = o.OutputScaleGradientTensor;
    outputs[2] = o.OutputBiasGradientTensor;
    desc.Epsilon = o.Epsilon.Given ? o.Epsilon.Value : 1e-5f;
    whole.Type = DML_OPERATOR_BATCH_NORMALIZATION_TRAINING_GRAD;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}
#endif

#if DML_TARGET_VERSION >= 0x5000
/* y = max(Min, min(g(x), Max)), typed bounds */
struct anydml_clip1_options {
    const DML_SCALE_BIAS *ScaleBias;
    DML_TENSOR_DATA_TYPE MinMaxDataType;
    DML_SCALAR_UNION Min;
    DML_SCALAR_UNION Max;
};
static inline anydml_expr AnydmlClip1(struct anydml_graph *graph, anydml_expr InputTensor, const struct anydml_clip1_options *options)
{
    DML_ELEMENT_WISE_CLIP1_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_clip1_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    desc.ScaleBias = o.ScaleBias;
    desc.MinMaxDataType = o.MinMaxDataType;
    desc.Min = o.Min;
    desc.Max = o.Max;
    whole.Type = DML_OPERATOR_ELEMENT_WISE_CLIP1;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}
#endif

#if DML_TARGET_VERSION >= 0x5000
/* dx = (x <= Min || x >= Max) ? 0 : dy, typed bounds */
struct anydml_clip_grad1_options {
    DML_TENSOR_DATA_TYPE MinMaxDataType;
    DML_SCALAR_UNION Min;
    DML_SCALAR_UNION Max;
};
static inline anydml_expr AnydmlClipGrad1(struct anydml_graph *graph, anydml_expr InputTensor, anydml_expr InputGradientTensor, const struct anydml_clip_grad1_options *options)
{
    DML_ELEMENT_WISE_CLIP_GRAD1_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_clip_grad1_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[2];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    inputs[1] = InputGradientTensor;
    desc.MinMaxDataType = o.MinMaxDataType;
    desc.Min = o.Min;
    desc.Max = o.Max;
    whole.Type = DML_OPERATOR_ELEMENT_WISE_CLIP_GRAD1;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}
#endif

#if DML_TARGET_VERSION >= 0x5000
/* y[o] = x[o - StartPadding], outside by PaddingMode, typed constant */
struct anydml_padding1_options {
    struct anydml_output OutputTensor;
    DML_PADDING_MODE PaddingMode;
    DML_TENSOR_DATA_TYPE PaddingValueDataType;
    DML_SCALAR_UNION PaddingValue;
    const UINT *StartPadding;
    const UINT *EndPadding;
};
static inline anydml_expr AnydmlPadding1(struct anydml_graph *graph, anydml_expr InputTensor, const struct anydml_padding1_options *options)
{
    DML_PADDING1_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_padding1_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    outputs[0] = o.OutputTensor;
    desc.PaddingMode = o.PaddingMode;
    desc.PaddingValueDataType = o.PaddingValueDataType;
    desc.PaddingValue = o.PaddingValue;
    desc.StartPadding = o.StartPadding;
    desc.EndPadding = o.EndPadding;
    whole.Type = DML_OPERATOR_PADDING1;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}
#endif

#if DML_TARGET_VERSION >= 0x5000
/* y = -x */
static inline anydml_expr AnydmlNegate(struct anydml_graph *graph, anydml_expr InputTensor)
{
    DML_ELEMENT_WISE_NEGATE_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_output outputs[1];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    inputs[0] = InputTensor;
    whole.Type = DML_OPERATOR_ELEMENT_WISE_NEGATE;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}
#endif

#if DML_TARGET_VERSION >= 0x5100
/* y = 0.5 * x * (1 + erf(x / sqrt(2))) */
static inline anydml_expr AnydmlActivationGelu(struct anydml_graph *graph, anydml_expr InputTensor)
{
    DML_ACTIVATION_GELU_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_output outputs[1];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    inputs[0] = InputTensor;
    whole.Type = DML_OPERATOR_ACTIVATION_GELU;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}
#endif

#if DML_TARGET_VERSION >= 0x5100
/* y = e^x / sum of e^x over Axes */
struct anydml_activation_softmax1_options {
    UINT AxisCount;
    const UINT *Axes;
};
static inline anydml_expr AnydmlActivationSoftmax1(struct anydml_graph *graph, anydml_expr InputTensor, const struct anydml_activation_softmax1_options *options)
{
    DML_ACTIVATION_SOFTMAX1_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_activation_softmax1_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    desc.AxisCount = o.AxisCount;
    desc.Axes = o.Axes;
    whole.Type = DML_OPERATOR_ACTIVATION_SOFTMAX1;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}
#endif

#if DML_TARGET_VERSION >= 0x5100
/* y = ln(e^x / sum of e^x over Axes) */
struct anydml_activation_log_softmax1_options {
    UINT AxisCount;
    const UINT *Axes;
};
static inline anydml_expr AnydmlActivationLogSoftmax1(struct anydml_graph *graph, anydml_expr InputTensor, const struct anydml_activation_log_softmax1_options *options)
{
    DML_ACTIVATION_LOG_SOFTMAX1_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_activation_log_softmax1_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    desc.AxisCount = o.AxisCount;
    desc.Axes = o.Axes;
    whole.Type = DML_OPERATOR_ACTIVATION_LOG_SOFTMAX1;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}
#endif

#if DML_TARGET_VERSION >= 0x5100
/* 1 at the first maximum over Axes, 0 elsewhere */
struct anydml_activation_hardmax1_options {
    UINT AxisCount;
    const UINT *Axes;
};
static inline anydml_expr AnydmlActivationHardmax1(struct anydml_graph *graph, anydml_expr InputTensor, const struct anydml_activation_hardmax1_options *options)
{
    DML_ACTIVATION_HARDMAX1_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_activation_hardmax1_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    desc.AxisCount = o.AxisCount;
    desc.Axes = o.Axes;
    whole.Type = DML_OPERATOR_ACTIVATION_HARDMAX1;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}
#endif

#if DML_TARGET_VERSION >= 0x5100
/* RESAMPLE1 whose nearest neighbour is ceil or floor by RoundingDirection */
struct anydml_resample2_options {
    struct anydml_output OutputTensor;
    DML_INTERPOLATION_MODE InterpolationMode;
    DML_AXIS_DIRECTION RoundingDirection;
    const FLOAT *Scales;
    const FLOAT *InputPixelOffsets;
    const FLOAT *OutputPixelOffsets;
};
static inline anydml_expr AnydmlResample2(struct anydml_graph *graph, anydml_expr InputTensor, const struct anydml_resample2_options *options)
{
    DML_RESAMPLE2_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_resample2_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    outputs[0] = o.OutputTensor;
    desc.InterpolationMode = o.InterpolationMode;
    desc.RoundingDirection = o.RoundingDirection;
    desc.Scales = o.Scales;
    desc.InputPixelOffsets = o.InputPixelOffsets;
    desc.OutputPixelOffsets = o.OutputPixelOffsets;
    whole.Type = DML_OPERATOR_RESAMPLE2;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}
#endif

#if DML_TARGET_VERSION >= 0x5100
/* dx = sum of dy * weight in RESAMPLE2 */
struct anydml_resample_grad1_options {
    struct anydml_output OutputGradientTensor;
    DML_INTERPOLATION_MODE InterpolationMode;
    DML_AXIS_DIRECTION RoundingDirection;
    const FLOAT *Scales;
    const FLOAT *InputPixelOffsets;
    const FLOAT *OutputPixelOffsets;
};
static inline anydml_expr AnydmlResampleGrad1(struct anydml_graph *graph, anydml_expr InputGradientTensor, const struct anydml_resample_grad1_options *options)
{
    DML_RESAMPLE_GRAD1_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_resample_grad1_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputGradientTensor;
    outputs[0] = o.OutputGradientTensor;
    desc.InterpolationMode = o.InterpolationMode;
    desc.RoundingDirection = o.RoundingDirection;
    desc.Scales = o.Scales;
    desc.InputPixelOffsets = o.InputPixelOffsets;
    desc.OutputPixelOffsets = o.OutputPixelOffsets;
    whole.Type = DML_OPERATOR_RESAMPLE_GRAD1;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}
#endif

#if DML_TARGET_VERSION >= 0x5100
/* fills the diagonals DiagonalFillBegin .. DiagonalFillEnd - 1 with Value, else the input or 0 */
struct anydml_diagonal_matrix1_options {
    anydml_expr InputTensor;
    struct anydml_output OutputTensor;
    DML_TENSOR_DATA_TYPE ValueDataType;
    DML_SCALAR_UNION Value;
    INT DiagonalFillBegin;
    INT DiagonalFillEnd;
};
static inline anydml_expr AnydmlDiagonalMatrix1(struct anydml_graph *graph, const struct anydml_diagonal_matrix1_options *options)
{
    DML_DIAGONAL_MATRIX1_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_diagonal_matrix1_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = o.InputTensor;
    outputs[0] = o.OutputTensor;
    desc.ValueDataType = o.ValueDataType;
    desc.Value = o.Value;
    desc.DiagonalFillBegin = o.DiagonalFillBegin;
    desc.DiagonalFillEnd = o.DiagonalFillEnd;
    whole.Type = DML_OPERATOR_DIAGONAL_MATRIX1;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}
#endif

#if DML_TARGET_VERSION >= 0x6100
/* y = softmax(Scale * q x k^T + bias, masked) x v for each head */
struct anydml_multihead_attention_options {
    anydml_expr QueryTensor;
    anydml_expr KeyTensor;
    anydml_expr ValueTensor;
    anydml_expr StackedQueryKeyTensor;
    anydml_expr StackedKeyValueTensor;
    anydml_expr StackedQueryKeyValueTensor;
    anydml_expr BiasTensor;
    anydml_expr MaskTensor;
    anydml_expr RelativePositionBiasTensor;
    anydml_expr PastKeyTensor;
    anydml_expr PastValueTensor;
    struct anydml_output OutputTensor;
    struct anydml_output OutputPresentKeyTensor;
    struct anydml_output OutputPresentValueTensor;
    FLOAT Scale;
    struct anydml_float MaskFilterValue; /* default: -10000.0f */
    UINT HeadCount;
    DML_MULTIHEAD_ATTENTION_MASK_TYPE MaskType;
};
static inline anydml_expr AnydmlMultiheadAttention(struct anydml_graph *graph, const struct anydml_multihead_attention_options *options)
{
    DML_MULTIHEAD_ATTENTION_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_multihead_attention_options o;
    struct anydml_output outputs[3];
    anydml_expr inputs[11];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = o.QueryTensor;
    inputs[1] = o.KeyTensor;
    inputs[2] = o.ValueTensor;
    inputs[3] = o.StackedQueryKeyTensor;
    inputs[4] = o.StackedKeyValueTensor;
    inputs[5] = o.StackedQueryKeyValueTensor;
    inputs[6] = o.BiasTensor;
    inputs[7] = o.MaskTensor;
    inputs[8] = o.RelativePositionBiasTensor;
    inputs[9] = o.PastKeyTensor;
    inputs[10] = o.PastValueTensor;
    outputs[0] = o.OutputTensor;
    outputs[1] = o.OutputPresentKeyTensor;
    outputs[2] = o.OutputPresentValueTensor;
    desc.Scale = o.Scale;
    desc.MaskFilterValue = o.MaskFilterValue.Given ? o.MaskFilterValue.Value : -10000.0f;
    desc.HeadCount = o.HeadCount;
    desc.MaskType = o.MaskType;
    whole.Type = DML_OPERATOR_MULTIHEAD_ATTENTION;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}
#endif

#if DML_TARGET_VERSION >= 0x6200
/* y = (sum over the dilated window of |x|^P)^(1/P) */
struct anydml_lp_pooling1_options {
    struct anydml_output OutputTensor;
    const UINT *Strides;
    const UINT *WindowSize;
    const UINT *StartPadding;
    const UINT *EndPadding;
    const UINT *Dilations;
    UINT P; /* default: 2 */
};
static inline anydml_expr AnydmlLpPooling1(struct anydml_graph *graph, anydml_expr InputTensor, const struct anydml_lp_pooling1_options *options)
{
    DML_LP_POOLING1_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_lp_pooling1_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    outputs[0] = o.OutputTensor;
    desc.Strides = o.Strides;
    desc.WindowSize = o.WindowSize;
    desc.StartPadding = o.StartPadding;
    desc.EndPadding = o.EndPadding;
    desc.Dilations = o.Dilations;
    desc.P = o.P ? o.P : 2;
    whole.Type = DML_OPERATOR_LP_POOLING1;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}
#endif

#if DML_TARGET_VERSION >= 0x6200
/* y = mean over the dilated window; padding counts if IncludePadding */
struct anydml_average_pooling1_options {
    struct anydml_output OutputTensor;
    const UINT *Strides;
    const UINT *WindowSize;
    const UINT *StartPadding;
    const UINT *EndPadding;
    const UINT *Dilations;
    BOOL IncludePadding;
};
static inline anydml_expr AnydmlAveragePooling1(struct anydml_graph *graph, anydml_expr InputTensor, const struct anydml_average_pooling1_options *options)
{
    DML_AVERAGE_POOLING1_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_average_pooling1_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    outputs[0] = o.OutputTensor;
    desc.Strides = o.Strides;
    desc.WindowSize = o.WindowSize;
    desc.StartPadding = o.StartPadding;
    desc.EndPadding = o.EndPadding;
    desc.Dilations = o.Dilations;
    desc.IncludePadding = o.IncludePadding;
    whole.Type = DML_OPERATOR_AVERAGE_POOLING1;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}
#endif

#if DML_TARGET_VERSION >= 0x6200
/* y = x / (1 + e^(-SigmoidInputScale * x)) */
struct anydml_activation_swish_options {
    struct anydml_float SigmoidInputScale; /* default: 1.0f */
};
static inline anydml_expr AnydmlActivationSwish(struct anydml_graph *graph, anydml_expr InputTensor, const struct anydml_activation_swish_options *options)
{
    DML_ACTIVATION_SWISH_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_activation_swish_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    desc.SigmoidInputScale = o.SigmoidInputScale.Given ? o.SigmoidInputScale.Value : 1.0f;
    whole.Type = DML_OPERATOR_ACTIVATION_SWISH;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}
#endif

#if DML_TARGET_VERSION >= 0x6200
/* y = x * max(0, min(Alpha * x + Beta, 1)) */
struct anydml_activation_hard_swish_options {
    struct anydml_float Alpha; /* default: 1.0f / 6 */
    struct anydml_float Beta; /* default: 0.5f */
};
static inline anydml_expr AnydmlActivationHardSwish(struct anydml_graph *graph, anydml_expr InputTensor, const struct anydml_activation_hard_swish_options *options)
{
    DML_ACTIVATION_HARD_SWISH_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_activation_hard_swish_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    desc.Alpha = o.Alpha.Given ? o.Alpha.Value : 1.0f / 6;
    desc.Beta = o.Beta.Given ? o.Beta.Value : 0.5f;
    whole.Type = DML_OPERATOR_ACTIVATION_HARD_SWISH;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}
#endif

#if DML_TARGET_VERSION >= 0x6200
/* y = quantize(mean over the dilated window of dequantize(x)) */
struct anydml_quantized_linear_average_pooling_options {
    anydml_expr InputZeroPointTensor;
    anydml_expr OutputZeroPointTensor;
    struct anydml_output OutputTensor;
    const UINT *Strides;
    const UINT *WindowSize;
    const UINT *StartPadding;
    const UINT *EndPadding;
    const UINT *Dilations;
    BOOL IncludePadding;
};
static inline anydml_expr AnydmlQuantizedLinearAveragePooling(struct anydml_graph *graph, anydml_expr InputTensor, anydml_expr InputScaleTensor, anydml_expr OutputScaleTensor, const struct anydml_quantized_linear_average_pooling_options *options)
{
    DML_QUANTIZED_LINEAR_AVERAGE_POOLING_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_quantized_linear_average_pooling_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[5];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    inputs[1] = InputScaleTensor;
    inputs[2] = o.InputZeroPointTensor;
    inputs[3] = OutputScaleTensor;
    inputs[4] = o.OutputZeroPointTensor;
    outputs[0] = o.OutputTensor;
    desc.Strides = o.Strides;
    desc.WindowSize = o.WindowSize;
    desc.StartPadding = o.StartPadding;
    desc.EndPadding = o.EndPadding;
    desc.Dilations = o.Dilations;
    desc.IncludePadding = o.IncludePadding;
    whole.Type = DML_OPERATOR_QUANTIZED_LINEAR_AVERAGE_POOLING;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}
#endif

#if DML_TARGET_VERSION >= 0x6200
/* y = dequantize(A) x dequantize(B) + bias */
struct anydml_matrix_multiply_integer_to_float_options {
    anydml_expr AZeroPointTensor;
    anydml_expr BZeroPointTensor;
    anydml_expr BiasTensor;
    struct anydml_output OutputTensor;
};
static inline anydml_expr AnydmlMatrixMultiplyIntegerToFloat(struct anydml_graph *graph, anydml_expr ATensor, anydml_expr AScaleTensor, anydml_expr BTensor, anydml_expr BScaleTensor, const struct anydml_matrix_multiply_integer_to_float_options *options)
{
    DML_MATRIX_MULTIPLY_INTEGER_TO_FLOAT_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_matrix_multiply_integer_to_float_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[7];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = ATensor;
    inputs[1] = AScaleTensor;
    inputs[2] = o.AZeroPointTensor;
    inputs[3] = BTensor;
    inputs[4] = BScaleTensor;
    inputs[5] = o.BZeroPointTensor;
    inputs[6] = o.BiasTensor;
    outputs[0] = o.OutputTensor;
    whole.Type = DML_OPERATOR_MATRIX_MULTIPLY_INTEGER_TO_FLOAT;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}
#endif

#if DML_TARGET_VERSION >= 0x6300
/* y = act(Scale * (x - mean) / sqrt(variance + Epsilon) + Bias) over Axes; mean, variance optional */
struct anydml_mean_variance_normalization2_options {
    anydml_expr ScaleTensor;
    anydml_expr BiasTensor;
    UINT AxisCount;
    const UINT *Axes;
    struct anydml_uint UseMean; /* default: 1 */
    struct anydml_uint UseVariance; /* default: 1 */
    struct anydml_float Epsilon; /* default: 1e-5f */
    struct anydml_activation FusedActivation;
};
static inline anydml_expr AnydmlMeanVarianceNormalization2(struct anydml_graph *graph, anydml_expr InputTensor, const struct anydml_mean_variance_normalization2_options *options)
{
    DML_MEAN_VARIANCE_NORMALIZATION2_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_mean_variance_normalization2_options o;
    DML_OPERATOR_DESC fused;
    union anydml_activation_desc activation;
    struct anydml_output outputs[1];
    anydml_expr inputs[3];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    inputs[1] = o.ScaleTensor;
    inputs[2] = o.BiasTensor;
    desc.AxisCount = o.AxisCount;
    desc.Axes = o.Axes;
    desc.UseMean = o.UseMean.Given ? o.UseMean.Value != 0 : 1;
    desc.UseVariance = o.UseVariance.Given ? o.UseVariance.Value != 0 : 1;
    desc.Epsilon = o.Epsilon.Given ? o.Epsilon.Value : 1e-5f;
    desc.FusedActivation = anydml_fused(&o.FusedActivation, &fused, &activation);
    whole.Type = DML_OPERATOR_MEAN_VARIANCE_NORMALIZATION2;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}
#endif

#if DML_TARGET_VERSION >= 0x6300
/* MULTIHEAD_ATTENTION with grouped key and value heads and past lengths */
struct anydml_multihead_attention1_options {
    anydml_expr QueryTensor;
    anydml_expr KeyTensor;
    anydml_expr ValueTensor;
    anydml_expr StackedQueryKeyTensor;
    anydml_expr StackedKeyValueTensor;
    anydml_expr StackedQueryKeyValueTensor;
    anydml_expr BiasTensor;
    anydml_expr MaskTensor;
    anydml_expr RelativePositionBiasTensor;
    anydml_expr PastKeyTensor;
    anydml_expr PastValueTensor;
    anydml_expr PastSequenceLengthsTensor;
    struct anydml_output OutputTensor;
    struct anydml_output OutputPresentKeyTensor;
    struct anydml_output OutputPresentValueTensor;
    FLOAT Scale;
    struct anydml_float MaskFilterValue; /* default: -10000.0f */
    UINT QueryHeadCount;
    UINT KeyValueHeadCount;
    DML_MULTIHEAD_ATTENTION_MASK_TYPE MaskType;
};
static inline anydml_expr AnydmlMultiheadAttention1(struct anydml_graph *graph, const struct anydml_multihead_attention1_options *options)
{
    DML_MULTIHEAD_ATTENTION1_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_multihead_attention1_options o;
    struct anydml_output outputs[3];
    anydml_expr inputs[12];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = o.QueryTensor;
    inputs[1] = o.KeyTensor;
    inputs[2] = o.ValueTensor;
    inputs[3] = o.StackedQueryKeyTensor;
    inputs[4] = o.StackedKeyValueTensor;
    inputs[5] = o.StackedQueryKeyValueTensor;
    inputs[6] = o.BiasTensor;
    inputs[7] = o.MaskTensor;
    inputs[8] = o.RelativePositionBiasTensor;
    inputs[9] = o.PastKeyTensor;
    inputs[10] = o.PastValueTensor;
    inputs[11] = o.PastSequenceLengthsTensor;
    outputs[0] = o.OutputTensor;
    outputs[1] = o.OutputPresentKeyTensor;
    outputs[2] = o.OutputPresentValueTensor;
    desc.Scale = o.Scale;
    desc.MaskFilterValue = o.MaskFilterValue.Given ? o.MaskFilterValue.Value : -10000.0f;
    desc.QueryHeadCount = o.QueryHeadCount;
    desc.KeyValueHeadCount = o.KeyValueHeadCount;
    desc.MaskType = o.MaskType;
    whole.Type = DML_OPERATOR_MULTIHEAD_ATTENTION1;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}
#endif

#if DML_TARGET_VERSION >= 0x6300
/* y = clamp(round(x / scale) + zero point), block-wise */
struct anydml_quantize_options {
    struct anydml_output OutputTensor;
    DML_QUANTIZATION_TYPE QuantizationType;
};
static inline anydml_expr AnydmlQuantize(struct anydml_graph *graph, anydml_expr InputTensor, UINT QuantizationTensorCount, const anydml_expr *QuantizationTensors, const struct anydml_quantize_options *options)
{
    DML_QUANTIZE_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_quantize_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[3];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    inputs[1] = QuantizationTensorCount > 0 ? QuantizationTensors[0] : NULL;
    inputs[2] = QuantizationTensorCount > 1 ? QuantizationTensors[1] : NULL;
    desc.QuantizationTensorCount = QuantizationTensorCount < 2 ? QuantizationTensorCount : 2;
    outputs[0] = o.OutputTensor;
    desc.QuantizationType = o.QuantizationType;
    whole.Type = DML_OPERATOR_QUANTIZE;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}
#endif

#if DML_TARGET_VERSION >= 0x6300
/* y = (x - zero point) * scale, block-wise */
struct anydml_dequantize_options {
    struct anydml_output OutputTensor;
    DML_QUANTIZATION_TYPE QuantizationType;
};
static inline anydml_expr AnydmlDequantize(struct anydml_graph *graph, anydml_expr InputTensor, UINT QuantizationTensorCount, const anydml_expr *QuantizationTensors, const struct anydml_dequantize_options *options)
{
    DML_DEQUANTIZE_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_dequantize_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[3];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    inputs[1] = QuantizationTensorCount > 0 ? QuantizationTensors[0] : NULL;
    inputs[2] = QuantizationTensorCount > 1 ? QuantizationTensors[1] : NULL;
    desc.QuantizationTensorCount = QuantizationTensorCount < 2 ? QuantizationTensorCount : 2;
    outputs[0] = o.OutputTensor;
    desc.QuantizationType = o.QuantizationType;
    whole.Type = DML_OPERATOR_DEQUANTIZE;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}
#endif

#if DML_TARGET_VERSION >= 0x6400
/* RESAMPLE2 with an optional antialiasing filter */
struct anydml_resample3_options {
    struct anydml_output OutputTensor;
    DML_INTERPOLATION_MODE InterpolationMode;
    DML_AXIS_DIRECTION RoundingDirection;
    const FLOAT *Scales;
    const FLOAT *InputPixelOffsets;
    const FLOAT *OutputPixelOffsets;
    BOOL Antialiased;
};
static inline anydml_expr AnydmlResample3(struct anydml_graph *graph, anydml_expr InputTensor, const struct anydml_resample3_options *options)
{
    DML_RESAMPLE3_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_resample3_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    outputs[0] = o.OutputTensor;
    desc.InterpolationMode = o.InterpolationMode;
    desc.RoundingDirection = o.RoundingDirection;
    desc.Scales = o.Scales;
    desc.InputPixelOffsets = o.InputPixelOffsets;
    desc.OutputPixelOffsets = o.OutputPixelOffsets;
    desc.Antialiased = o.Antialiased;
    whole.Type = DML_OPERATOR_RESAMPLE3;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}
#endif

#if DML_TARGET_VERSION >= 0x6400
/* y = sum of the columns' windows put back in place (col2im) */
struct anydml_fold_options {
    struct anydml_output OutputTensor;
    UINT DimensionCount;
    const UINT *WindowSizes;
    const UINT *Strides;
    const UINT *Dilations;
    const UINT *StartPadding;
    const UINT *EndPadding;
};
static inline anydml_expr AnydmlFold(struct anydml_graph *graph, anydml_expr InputTensor, const struct anydml_fold_options *options)
{
    DML_FOLD_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_fold_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    outputs[0] = o.OutputTensor;
    desc.DimensionCount = o.DimensionCount;
    desc.WindowSizes = o.WindowSizes;
    desc.Strides = o.Strides;
    desc.Dilations = o.Dilations;
    desc.StartPadding = o.StartPadding;
    desc.EndPadding = o.EndPadding;
    whole.Type = DML_OPERATOR_FOLD;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}
#endif

#if DML_TARGET_VERSION >= 0x6400
/* y = the input's windows as columns (im2col) */
struct anydml_unfold_options {
    struct anydml_output OutputTensor;
    UINT DimensionCount;
    const UINT *WindowSizes;
    const UINT *Strides;
    const UINT *Dilations;
    const UINT *StartPadding;
    const UINT *EndPadding;
};
static inline anydml_expr AnydmlUnfold(struct anydml_graph *graph, anydml_expr InputTensor, const struct anydml_unfold_options *options)
{
    DML_UNFOLD_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_unfold_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[1];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    outputs[0] = o.OutputTensor;
    desc.DimensionCount = o.DimensionCount;
    desc.WindowSizes = o.WindowSizes;
    desc.Strides = o.Strides;
    desc.Dilations = o.Dilations;
    desc.StartPadding = o.StartPadding;
    desc.EndPadding = o.EndPadding;
    whole.Type = DML_OPERATOR_UNFOLD;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}
#endif

#if DML_TARGET_VERSION >= 0x3000
/* y = x between its pixels, at the positions of the grid */
struct anydml_grid_sample_options {
    struct anydml_output OutputTensor;
    DML_INTERPOLATION_MODE InterpolationMode;
    DML_PADDING_MODE PaddingMode;
    BOOL AlignCorners;
    BOOL PixelCoordinates;
};
static inline anydml_expr AnydmlGridSample(struct anydml_graph *graph, anydml_expr InputTensor, anydml_expr GridTensor, const struct anydml_grid_sample_options *options)
{
    ANYDML_GRID_SAMPLE_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_grid_sample_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[2];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    inputs[1] = GridTensor;
    outputs[0] = o.OutputTensor;
    desc.InterpolationMode = o.InterpolationMode;
    desc.PaddingMode = o.PaddingMode;
    desc.AlignCorners = o.AlignCorners;
    desc.PixelCoordinates = o.PixelCoordinates;
    whole.Type = ANYDML_OPERATOR_GRID_SAMPLE;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}
#endif

#if DML_TARGET_VERSION >= 0x3000
/* dx = sum of dy over the windows whose index is x's */
struct anydml_indexed_max_pooling_grad_options {
    struct anydml_output OutputGradientTensor;
    const UINT *Strides;
    const UINT *WindowSize;
    const UINT *StartPadding;
    const UINT *EndPadding;
    const UINT *Dilations;
};
static inline anydml_expr AnydmlIndexedMaxPoolingGrad(struct anydml_graph *graph, anydml_expr InputGradientTensor, anydml_expr IndicesTensor, const struct anydml_indexed_max_pooling_grad_options *options)
{
    ANYDML_INDEXED_MAX_POOLING_GRAD_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_indexed_max_pooling_grad_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[2];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputGradientTensor;
    inputs[1] = IndicesTensor;
    outputs[0] = o.OutputGradientTensor;
    desc.Strides = o.Strides;
    desc.WindowSize = o.WindowSize;
    desc.StartPadding = o.StartPadding;
    desc.EndPadding = o.EndPadding;
    desc.Dilations = o.Dilations;
    whole.Type = ANYDML_OPERATOR_INDEXED_MAX_POOLING_GRAD;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}
#endif

/* y = x, then y[.., indices[u], ..] = Function(itself, updates[u]) along Axis */
struct anydml_scatter_reduce_elements_options {
    UINT Axis;
    DML_REDUCE_FUNCTION Function;
};
static inline anydml_expr AnydmlScatterReduceElements(struct anydml_graph *graph, anydml_expr InputTensor, anydml_expr IndicesTensor, anydml_expr UpdatesTensor, const struct anydml_scatter_reduce_elements_options *options)
{
    ANYDML_SCATTER_REDUCE_ELEMENTS_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_scatter_reduce_elements_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[3];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    inputs[1] = IndicesTensor;
    inputs[2] = UpdatesTensor;
    desc.Axis = o.Axis;
    desc.Function = o.Function;
    whole.Type = ANYDML_OPERATOR_SCATTER_REDUCE_ELEMENTS;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

/* y = x, then y[indices[q], s] = Function(itself, updates[q, s]) */
struct anydml_scatter_reduce_nd_options {
    UINT InputDimensionCount;
    UINT IndicesDimensionCount;
    DML_REDUCE_FUNCTION Function;
};
static inline anydml_expr AnydmlScatterReduceNd(struct anydml_graph *graph, anydml_expr InputTensor, anydml_expr IndicesTensor, anydml_expr UpdatesTensor, const struct anydml_scatter_reduce_nd_options *options)
{
    ANYDML_SCATTER_REDUCE_ND_OPERATOR_DESC desc;
    DML_OPERATOR_DESC whole;
    struct anydml_scatter_reduce_nd_options o;
    struct anydml_output outputs[1];
    anydml_expr inputs[3];
    memset(&desc, 0, sizeof(desc));
    memset(outputs, 0, sizeof(outputs));
    memset(&o, 0, sizeof(o));
    if (options)
        o = *options;
    inputs[0] = InputTensor;
    inputs[1] = IndicesTensor;
    inputs[2] = UpdatesTensor;
    desc.InputDimensionCount = o.InputDimensionCount;
    desc.IndicesDimensionCount = o.IndicesDimensionCount;
    desc.Function = o.Function;
    whole.Type = ANYDML_OPERATOR_SCATTER_REDUCE_ND;
    whole.Desc = &desc;
    return AnydmlGraphOperator(graph, &whole, inputs, outputs);
}

#endif
