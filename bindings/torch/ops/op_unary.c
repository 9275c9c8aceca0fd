/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise functions of one tensor. */
#include "graph.h"

#include <math.h>

#define EW(name) DML_OPERATOR_ELEMENT_WISE_##name

/* The type of the computation: FLOAT32 for 16-bit floats. */
static int32_t wide_of(const struct aten_node *n)
{
    return aten_wide(n->outputs[0].type);
}

static struct aten_value *like(struct aten_graph *g, const struct aten_value *x, double value)
{
    return x ? aten_scalar(g, x->type, value) : NULL;
}

/* One operator on floats; integers are first converted to the result's type. */
bool aten_build_unary_float(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_value *x = aten_in_as(g, n, 0, n->outputs[0].type);
    return aten_result(g, n, 0, aten_apply(g, (DML_OPERATOR_TYPE)n->parameter, x));
}

/* The same on floats; integers are unchanged (floor, relu of unsigned ones). */
bool aten_build_unary_integral(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_value *x = aten_in_as(g, n, 0, n->outputs[0].type);
    return aten_result(g, n, 0, x && aten_is_float(x->type) ? aten_apply(g, (DML_OPERATOR_TYPE)n->parameter, x) : x);
}

bool aten_build_identity(struct aten_graph *g, const struct aten_node *n)
{
    return aten_result(g, n, 0, aten_in(g, n, 0));
}

bool aten_build_abs(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_value *x = aten_in(g, n, 0);
    return aten_result(g, n, 0, x && aten_is_signed(x->type) ? aten_apply(g, EW(ABS), x) : x);
}

bool aten_build_neg(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_value *x = aten_in(g, n, 0);
    if (x && aten_is_signed(x->type))
        return aten_result(g, n, 0, aten_apply(g, EW(NEGATE), x));
    return aten_result(g, n, 0, aten_subtract(g, like(g, x, 0), x));
}

bool aten_build_sign(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_value *x = aten_in(g, n, 0);
    return aten_result(g, n, 0, x && x->type != ATEN_BOOLEAN ? aten_apply(g, EW(SIGN), x) : x);
}

static struct aten_value *rounded(struct aten_graph *g, struct aten_value *x, DML_ROUNDING_MODE mode)
{
    return x && aten_is_float(x->type) ? aten_round(g, x, mode) : x;
}

bool aten_build_round(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_value *x = aten_in(g, n, 0);
    return aten_result(g, n, 0, rounded(g, x, DML_ROUNDING_MODE_HALVES_TO_NEAREST_EVEN));
}

bool aten_build_round_decimals(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_value *x = aten_in_as(g, n, 0, wide_of(n));
    const int64_t decimals = aten_int(g, n, 1, 0);
    const double factor = pow(10, fabs((double)decimals));
    if (!x || !aten_is_float(x->type) || !decimals)
        return aten_result(g, n, 0, rounded(g, x, DML_ROUNDING_MODE_HALVES_TO_NEAREST_EVEN));
    struct aten_value *scaled =
        decimals > 0 ? aten_multiply(g, x, like(g, x, factor)) : aten_divide(g, x, like(g, x, factor));
    struct aten_value *y = rounded(g, scaled, DML_ROUNDING_MODE_HALVES_TO_NEAREST_EVEN);
    return aten_result(g, n, 0,
                       decimals > 0 ? aten_divide(g, y, like(g, x, factor)) : aten_multiply(g, y, like(g, x, factor)));
}

bool aten_build_trunc(struct aten_graph *g, const struct aten_node *n)
{
    return aten_result(g, n, 0, rounded(g, aten_in(g, n, 0), DML_ROUNDING_MODE_TOWARD_ZERO));
}

bool aten_build_frac(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_value *x = aten_in(g, n, 0);
    return aten_result(g, n, 0, aten_subtract(g, x, rounded(g, x, DML_ROUNDING_MODE_TOWARD_ZERO)));
}

bool aten_build_rsqrt(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_value *x = aten_in_as(g, n, 0, wide_of(n));
    return aten_result(g, n, 0, aten_apply(g, EW(RECIP), aten_apply(g, EW(SQRT), x)));
}

bool aten_build_exp2(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_value *x = aten_in_as(g, n, 0, wide_of(n));
    return aten_result(g, n, 0, aten_apply2(g, EW(POW), like(g, x, 2), x));
}

/* log to another base; parameter: 2 or 10. */
bool aten_build_log_base(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_value *x = aten_in_as(g, n, 0, wide_of(n));
    return aten_result(g, n, 0, aten_scaled(g, aten_apply(g, EW(LOG), x), 1 / log((double)n->parameter), 0));
}

/* x * log(u) / (u - 1) with u = 1 + x rounded: both factors contain the error of u, so it cancels (Kahan). */
static struct aten_value *log1p_of(struct aten_graph *g, struct aten_value *x)
{
    struct aten_value *u = aten_scaled(g, x, 1, 1), *log_u = aten_apply(g, EW(LOG), u);
    struct aten_value *y = aten_multiply(g, log_u, aten_divide(g, x, aten_scaled(g, u, 1, -1)));
    struct aten_value *tiny = aten_apply2(g, EW(LOGICAL_EQUALS), u, like(g, x, 1));
    struct aten_value *huge = aten_apply2(g, EW(LOGICAL_EQUALS), u, like(g, x, INFINITY));
    return aten_select(g, tiny, x, aten_select(g, huge, u, y));
}

bool aten_build_log1p(struct aten_graph *g, const struct aten_node *n)
{
    return aten_result(g, n, 0, log1p_of(g, aten_in_as(g, n, 0, wide_of(n))));
}

/* (u - 1) * x / log(u) with u = e^x rounded, for the same reason. */
static struct aten_value *expm1_of(struct aten_graph *g, struct aten_value *x)
{
    struct aten_value *u = aten_apply(g, EW(EXP), x), *below = aten_scaled(g, u, 1, -1);
    struct aten_value *y = aten_multiply(g, below, aten_divide(g, x, aten_apply(g, EW(LOG), u)));
    struct aten_value *tiny = aten_apply2(g, EW(LOGICAL_EQUALS), u, like(g, x, 1));
    struct aten_value *far = aten_apply2(g, EW(LOGICAL_GREATER_THAN), aten_apply(g, EW(ABS), x), like(g, x, 1));
    return aten_select(g, far, below, aten_select(g, tiny, x, y));
}

bool aten_build_expm1(struct aten_graph *g, const struct aten_node *n)
{
    return aten_result(g, n, 0, expm1_of(g, aten_in_as(g, n, 0, wide_of(n))));
}

bool aten_build_logit(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_value *x = aten_in_as(g, n, 0, wide_of(n));
    if (aten_given(n, 1)) {
        const double eps = aten_real(g, n, 1, 0);
        struct aten_value *low = aten_apply2(g, EW(LOGICAL_LESS_THAN), x, like(g, x, eps));
        struct aten_value *high = aten_apply2(g, EW(LOGICAL_GREATER_THAN), x, like(g, x, 1 - eps));
        x = aten_select(g, low, like(g, x, eps), aten_select(g, high, like(g, x, 1 - eps), x));
    }
    return aten_result(g, n, 0, aten_apply(g, EW(LOG), aten_divide(g, x, aten_scaled(g, x, -1, 1))));
}

bool aten_build_sinc(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_value *x = aten_scaled(g, aten_in_as(g, n, 0, wide_of(n)), M_PI, 0);
    struct aten_value *zero = aten_apply2(g, EW(LOGICAL_EQUALS), x, like(g, x, 0));
    return aten_result(g, n, 0, aten_select(g, zero, like(g, x, 1), aten_divide(g, aten_apply(g, EW(SIN), x), x)));
}

/* ---- tests ---- */

bool aten_build_logical_not(struct aten_graph *g, const struct aten_node *n)
{
    return aten_result(g, n, 0, aten_not(g, aten_convert(g, aten_in(g, n, 0), ATEN_BOOLEAN)));
}

bool aten_build_bitwise_not(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_value *x = aten_in(g, n, 0);
    if (x && aten_is_float(x->type))
        return aten_fail(g, "argument 0 (self) is %s, must be integers or bool", aten_type_name(x->type));
    return aten_result(g, n, 0, x && x->type == ATEN_BOOLEAN ? aten_not(g, x) : aten_apply(g, EW(BIT_NOT), x));
}

/* parameter: -1 for NaN, otherwise DML_IS_INFINITY_MODE. False for integers. */
bool aten_build_float_test(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_value *x = aten_in(g, n, 0);
    if (x && !aten_is_float(x->type))
        return aten_result(g, n, 0, aten_scalar(g, ATEN_BOOLEAN, 0));
    return aten_result(g, n, 0,
                       n->parameter < 0 ? aten_test(g, EW(IS_NAN), x, 0)
                                        : aten_test(g, EW(IS_INFINITY), x, (int)n->parameter));
}

bool aten_build_signbit(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_value *x = aten_in(g, n, 0);
    if (x && aten_is_float(x->type)) /* 1 / -0 is negative, too */
        x = aten_select(g, aten_apply2(g, EW(LOGICAL_EQUALS), x, like(g, x, 0)), aten_apply(g, EW(RECIP), x), x);
    return aten_result(g, n, 0, aten_apply2(g, EW(LOGICAL_LESS_THAN), x, like(g, x, 0)));
}

/* ---- activations ---- */

bool aten_build_relu(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_value *x = aten_in(g, n, 0);
    if (!x || x->type == ATEN_BOOLEAN)
        return aten_fail(g, "argument 0 (self) is bool, which relu does not support");
    if (x->type == ATEN_INT64)
        return aten_result(g, n, 0, aten_apply2(g, EW(MAX), x, like(g, x, 0)));
    return aten_result(g, n, 0, aten_is_signed(x->type) ? aten_apply(g, DML_OPERATOR_ACTIVATION_RELU, x) : x);
}

static struct aten_value *sigmoid(struct aten_graph *g, struct aten_value *x)
{
    return aten_apply(g, DML_OPERATOR_ACTIVATION_SIGMOID, x);
}

bool aten_build_silu(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_value *x = aten_in_as(g, n, 0, wide_of(n));
    return aten_result(g, n, 0, aten_multiply(g, x, sigmoid(g, x)));
}

static bool is_tanh(const struct aten_node *n, uint32_t i)
{
    return aten_given(n, i) && n->args[i].kind == ATEN_STRING && !strcmp(n->args[i].string, "tanh");
}

/* tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)) */
static struct aten_value *gelu_tanh(struct aten_graph *g, struct aten_value *x)
{
    struct aten_value *square = aten_multiply(g, x, x);
    struct aten_value *inner = aten_multiply(g, x, aten_scaled(g, square, 0.044715, 1));
    return aten_apply(g, EW(TANH), aten_scaled(g, inner, 0.79788456080286535588, 0));
}

bool aten_build_gelu(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_value *x = aten_in_as(g, n, 0, wide_of(n));
    if (!is_tanh(n, 1))
        return aten_result(g, n, 0, aten_apply(g, DML_OPERATOR_ACTIVATION_GELU, x));
    /* This order avoids overflow. */
    return aten_result(g, n, 0, aten_multiply(g, aten_scaled(g, x, 0.5, 0), aten_scaled(g, gelu_tanh(g, x), 1, 1)));
}

bool aten_build_leaky_relu(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_value *x = aten_in_as(g, n, 0, wide_of(n));
    struct aten_value *positive = aten_apply2(g, EW(LOGICAL_GREATER_THAN), x, like(g, x, 0));
    return aten_result(g, n, 0, aten_select(g, positive, x, aten_multiply(g, x, aten_in_as(g, n, 1, wide_of(n)))));
}

/* elu(self, alpha, scale, input_scale) */
bool aten_build_elu(struct aten_graph *g, const struct aten_node *n)
{
    const int32_t type = wide_of(n);
    struct aten_value *x = aten_in_as(g, n, 0, type), *scale = aten_in_as(g, n, 2, type);
    struct aten_value *inner = aten_multiply(g, x, aten_in_as(g, n, 3, type));
    struct aten_value *low = aten_multiply(g, expm1_of(g, inner), aten_in_as(g, n, 1, type));
    struct aten_value *positive = aten_apply2(g, EW(LOGICAL_GREATER_THAN), x, like(g, x, 0));
    return aten_result(g, n, 0, aten_multiply(g, aten_select(g, positive, x, low), scale));
}

/* celu(self, alpha) */
bool aten_build_celu(struct aten_graph *g, const struct aten_node *n)
{
    const int32_t type = wide_of(n);
    struct aten_value *x = aten_in_as(g, n, 0, type), *alpha = aten_in_as(g, n, 1, type);
    struct aten_value *low = aten_multiply(g, expm1_of(g, aten_divide(g, x, alpha)), alpha);
    return aten_result(g, n, 0, aten_select(g, aten_apply2(g, EW(LOGICAL_GREATER_THAN), x, like(g, x, 0)), x, low));
}

static struct aten_value *relu6(struct aten_graph *g, struct aten_value *x)
{
    return aten_apply2(g, EW(MIN), aten_apply2(g, EW(MAX), x, like(g, x, 0)), like(g, x, 6));
}

bool aten_build_hardsigmoid(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_value *x = aten_in_as(g, n, 0, wide_of(n));
    struct aten_value *y = aten_divide(g, relu6(g, aten_scaled(g, x, 1, 3)), like(g, x, 6));
    return aten_result(g, n, 0, aten_select(g, aten_test(g, EW(IS_NAN), x, 0), x, y));
}

bool aten_build_hardswish(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_value *x = aten_in_as(g, n, 0, wide_of(n));
    return aten_result(g, n, 0, aten_divide(g, aten_multiply(g, x, relu6(g, aten_scaled(g, x, 1, 3))), like(g, x, 6)));
}

static struct aten_value *softplus(struct aten_graph *g, struct aten_value *x)
{
    struct aten_value *positive = aten_apply2(g, EW(MAX), x, like(g, x, 0));
    struct aten_value *away = aten_apply(g, EW(NEGATE), aten_apply(g, EW(ABS), x));
    struct aten_value *y = aten_add(g, positive, log1p_of(g, aten_apply(g, EW(EXP), away)));
    return aten_select(g, aten_test(g, EW(IS_NAN), x, 0), x, y);
}

/* softplus(self, beta, threshold) */
bool aten_build_softplus(struct aten_graph *g, const struct aten_node *n)
{
    const int32_t type = wide_of(n);
    struct aten_value *x = aten_in_as(g, n, 0, type), *beta = aten_in_as(g, n, 1, type);
    struct aten_value *scaled = aten_multiply(g, x, beta);
    struct aten_value *linear = aten_apply2(g, EW(LOGICAL_GREATER_THAN), scaled, aten_in_as(g, n, 2, type));
    return aten_result(g, n, 0, aten_select(g, linear, x, aten_divide(g, softplus(g, scaled), beta)));
}

bool aten_build_mish(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_value *x = aten_in_as(g, n, 0, wide_of(n));
    return aten_result(g, n, 0, aten_multiply(g, x, aten_apply(g, EW(TANH), softplus(g, x))));
}

/* log_sigmoid_forward(self) -> (output, buffer): buffer is e^-|x| if it was allocated. */
bool aten_build_log_sigmoid(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_value *x = aten_in_as(g, n, 0, wide_of(n));
    if (!aten_result(g, n, 0, aten_apply(g, EW(NEGATE), softplus(g, aten_apply(g, EW(NEGATE), x)))))
        return false;
    if (!aten_wanted(n, 1) || !x || n->outputs[1].rank != x->rank)
        return true;
    return aten_result(g, n, 1, aten_apply(g, EW(EXP), aten_apply(g, EW(NEGATE), aten_apply(g, EW(ABS), x))));
}

/* softshrink(self, lambd): parameter 1; hardshrink: 0, which propagates NaN. */
bool aten_build_shrink(struct aten_graph *g, const struct aten_node *n)
{
    const int32_t type = wide_of(n);
    struct aten_value *x = aten_in_as(g, n, 0, type), *lambda = aten_in_as(g, n, 1, type);
    struct aten_value *inside = aten_apply2(g, EW(LOGICAL_LESS_THAN_OR_EQUAL), aten_apply(g, EW(ABS), x), lambda);
    struct aten_value *y = n->parameter ? aten_subtract(g, x, aten_multiply(g, aten_apply(g, EW(SIGN), x), lambda)) : x;
    y = aten_select(g, aten_test(g, EW(IS_NAN), x, 0), x, y);
    return aten_result(g, n, 0, aten_select(g, inside, like(g, x, 0), y));
}

/* threshold(self, threshold, value) */
bool aten_build_threshold(struct aten_graph *g, const struct aten_node *n)
{
    const int32_t type = n->outputs[0].type;
    struct aten_value *x = aten_in_as(g, n, 0, type);
    struct aten_value *low = aten_apply2(g, EW(LOGICAL_LESS_THAN_OR_EQUAL), x, aten_in_as(g, n, 1, type));
    return aten_result(g, n, 0, aten_select(g, low, aten_in_as(g, n, 2, type), x));
}

/* nan_to_num(self, nan, posinf, neginf) */
bool aten_build_nan_to_num(struct aten_graph *g, const struct aten_node *n)
{
    const int32_t type = n->outputs[0].type;
    struct aten_value *x = aten_in_as(g, n, 0, type);
    if (!x || !aten_is_float(type))
        return aten_result(g, n, 0, x);
    const double most = type == ATEN_FLOAT64    ? 0x1.fffffffffffffp1023
                        : type == ATEN_FLOAT16  ? 65504
                        : type == ATEN_BFLOAT16 ? 0x1.fep127
                                                : 0x1.fffffep127;
    struct aten_value *nan = aten_given(n, 1) ? aten_in_as(g, n, 1, type) : like(g, x, 0);
    struct aten_value *above = aten_given(n, 2) ? aten_in_as(g, n, 2, type) : like(g, x, most);
    struct aten_value *below = aten_given(n, 3) ? aten_in_as(g, n, 3, type) : like(g, x, -most);
    struct aten_value *y = aten_select(g, aten_test(g, EW(IS_NAN), x, 0), nan, x);
    y = aten_select(g, aten_test(g, EW(IS_INFINITY), x, DML_IS_INFINITY_MODE_POSITIVE), above, y);
    return aten_result(g, n, 0,
                       aten_select(g, aten_test(g, EW(IS_INFINITY), x, DML_IS_INFINITY_MODE_NEGATIVE), below, y));
}
