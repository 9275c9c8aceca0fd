/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of element-wise functions. */
#include "graph.h"

#include <math.h>

#define EW(name) DML_OPERATOR_ELEMENT_WISE_##name

static struct aten_value *like(struct aten_graph *g, const struct aten_value *x, double value)
{
    return x ? aten_scalar(g, x->type, value) : NULL;
}

/* The gradient and another argument, converted to the wide type. */
struct pair {
    struct aten_value *dy, *x;
};

static struct pair pair_of(struct aten_graph *g, const struct aten_node *n)
{
    const int32_t type = aten_wide(n->outputs[0].type);
    struct pair pair = { aten_in_as(g, n, 0, type), aten_in_as(g, n, 1, type) };
    return pair;
}

static struct aten_value *greater(struct aten_graph *g, struct aten_value *x, struct aten_value *y)
{
    return aten_apply2(g, EW(LOGICAL_GREATER_THAN), x, y);
}

/* dy * factor */
static bool scaled_by(struct aten_graph *g, const struct aten_node *n, struct pair p, struct aten_value *factor)
{
    return aten_result(g, n, 0, aten_multiply(g, p.dy, factor));
}

/* condition ? dy : 0 */
static bool passed_where(struct aten_graph *g, const struct aten_node *n, struct pair p, struct aten_value *condition)
{
    return aten_result(g, n, 0, aten_select(g, condition, p.dy, like(g, p.dy, 0)));
}

/* sigmoid_backward(grad_output, output) */
bool aten_build_sigmoid_backward(struct aten_graph *g, const struct aten_node *n)
{
    struct pair p = pair_of(g, n);
    return scaled_by(g, n, p, aten_multiply(g, aten_scaled(g, p.x, -1, 1), p.x));
}

/* tanh_backward(grad_output, output) */
bool aten_build_tanh_backward(struct aten_graph *g, const struct aten_node *n)
{
    struct pair p = pair_of(g, n);
    return scaled_by(g, n, p, aten_scaled(g, aten_multiply(g, p.x, p.x), -1, 1));
}

/* threshold_backward(grad_output, self, threshold): where self is NaN, the gradient passes. */
bool aten_build_threshold_backward(struct aten_graph *g, const struct aten_node *n)
{
    const int32_t type = n->outputs[0].type;
    struct pair p = { aten_in_as(g, n, 0, type), aten_in_as(g, n, 1, type) };
    struct aten_value *low = aten_apply2(g, EW(LOGICAL_LESS_THAN_OR_EQUAL), p.x, aten_in_as(g, n, 2, type));
    return aten_result(g, n, 0, aten_select(g, low, like(g, p.dy, 0), p.dy));
}

static struct aten_value *sigmoid(struct aten_graph *g, struct aten_value *x)
{
    return aten_apply(g, DML_OPERATOR_ACTIVATION_SIGMOID, x);
}

/* silu_backward(grad_output, self): s * (1 + x * (1 - s)) */
bool aten_build_silu_backward(struct aten_graph *g, const struct aten_node *n)
{
    struct pair p = pair_of(g, n);
    struct aten_value *s = sigmoid(g, p.x);
    struct aten_value *inner = aten_scaled(g, aten_multiply(g, p.x, aten_scaled(g, s, -1, 1)), 1, 1);
    return scaled_by(g, n, p, aten_multiply(g, s, inner));
}

/* 0.5 * (1 + t) + 0.5 * x * (1 - t^2) * sqrt(2/pi) * (1 + 3 * 0.044715 * x^2) */
static struct aten_value *gelu_tanh_slope(struct aten_graph *g, struct aten_value *x)
{
    const double root = 0.79788456080286535588, cube = 0.044715;
    struct aten_value *square = aten_multiply(g, x, x);
    struct aten_value *inner = aten_scaled(g, aten_multiply(g, x, aten_scaled(g, square, cube, 1)), root, 0);
    struct aten_value *t = aten_apply(g, EW(TANH), inner);
    struct aten_value *slope =
        aten_multiply(g, aten_scaled(g, aten_multiply(g, t, t), -1, 1), aten_scaled(g, square, 3 * cube * root, root));
    return aten_add(g, aten_scaled(g, t, 0.5, 0.5), aten_scaled(g, aten_multiply(g, x, slope), 0.5, 0));
}

/* gelu_backward(grad_output, self, approximate) */
bool aten_build_gelu_backward(struct aten_graph *g, const struct aten_node *n)
{
    struct pair p = pair_of(g, n);
    if (aten_given(n, 2) && !strcmp(n->args[2].string, "tanh"))
        return scaled_by(g, n, p, gelu_tanh_slope(g, p.x));
    struct aten_value *below = aten_apply(g, EW(ERF), aten_scaled(g, p.x, 0.70710678118654752440, 0));
    struct aten_value *density = aten_apply(g, EW(EXP), aten_scaled(g, aten_multiply(g, p.x, p.x), -0.5, 0));
    density = aten_multiply(g, p.x, aten_scaled(g, density, 0.39894228040143267794, 0));
    return scaled_by(g, n, p, aten_add(g, aten_scaled(g, below, 0.5, 0.5), density));
}

/* leaky_relu_backward(grad_output, self, negative_slope, self_is_result) */
bool aten_build_leaky_relu_backward(struct aten_graph *g, const struct aten_node *n)
{
    struct pair p = pair_of(g, n);
    struct aten_value *low = p.x ? aten_multiply(g, p.dy, aten_in_as(g, n, 2, p.x->type)) : NULL;
    return aten_result(g, n, 0, aten_select(g, greater(g, p.x, like(g, p.x, 0)), p.dy, low));
}

/* elu_backward(grad_output, alpha, scale, input_scale, is_result, self_or_result) */
bool aten_build_elu_backward(struct aten_graph *g, const struct aten_node *n)
{
    const int32_t type = aten_wide(n->outputs[0].type);
    struct aten_value *dy = aten_in_as(g, n, 0, type), *alpha = aten_in_as(g, n, 1, type);
    struct aten_value *scale = aten_in_as(g, n, 2, type), *inner = aten_in_as(g, n, 3, type);
    struct aten_value *x = aten_in_as(g, n, 5, type), *low;
    if (aten_int(g, n, 4, 0)) /* computed from the result: y + scale * alpha */
        low = aten_add(g, x, aten_multiply(g, scale, alpha));
    else
        low = aten_multiply(g, aten_multiply(g, scale, alpha), aten_apply(g, EW(EXP), aten_multiply(g, x, inner)));
    low = aten_multiply(g, low, inner);
    return aten_result(g, n, 0, aten_multiply(g, dy, aten_select(g, greater(g, x, like(g, x, 0)), scale, low)));
}

/* low < x < high */
static struct aten_value *between(struct aten_graph *g, struct aten_value *x, struct aten_value *low,
                                  struct aten_value *high)
{
    return aten_apply2(g, EW(LOGICAL_AND), greater(g, x, low), aten_apply2(g, EW(LOGICAL_LESS_THAN), x, high));
}

/* hardtanh_backward(grad_output, self, min_val, max_val) */
bool aten_build_hardtanh_backward(struct aten_graph *g, const struct aten_node *n)
{
    struct pair p = pair_of(g, n);
    if (!p.x)
        return aten_fail(g, "unsupported arguments");
    return passed_where(g, n, p, between(g, p.x, aten_in_as(g, n, 2, p.x->type), aten_in_as(g, n, 3, p.x->type)));
}

/* hardsigmoid_backward(grad_output, self) */
bool aten_build_hardsigmoid_backward(struct aten_graph *g, const struct aten_node *n)
{
    struct pair p = pair_of(g, n);
    struct aten_value *inside = between(g, p.x, like(g, p.x, -3), like(g, p.x, 3));
    p.dy = aten_scaled(g, p.dy, 1 / 6.0, 0);
    return passed_where(g, n, p, inside);
}

/* hardswish_backward(grad_output, self): 0 up to -3, x / 3 + 0.5 below 3, then 1. */
bool aten_build_hardswish_backward(struct aten_graph *g, const struct aten_node *n)
{
    struct pair p = pair_of(g, n);
    struct aten_value *low = aten_apply2(g, EW(LOGICAL_LESS_THAN_OR_EQUAL), p.x, like(g, p.x, -3));
    struct aten_value *mid = aten_apply2(g, EW(LOGICAL_LESS_THAN), p.x, like(g, p.x, 3));
    struct aten_value *slope = aten_scaled(g, aten_divide(g, p.x, like(g, p.x, 3)), 1, 0.5);
    struct aten_value *y = aten_select(g, mid, aten_multiply(g, p.dy, slope), p.dy);
    return aten_result(g, n, 0, aten_select(g, low, like(g, p.x, 0), y));
}

/* softplus_backward(grad_output, self, beta, threshold) */
bool aten_build_softplus_backward(struct aten_graph *g, const struct aten_node *n)
{
    struct pair p = pair_of(g, n);
    if (!p.x)
        return aten_fail(g, "unsupported arguments");
    struct aten_value *scaled = aten_multiply(g, p.x, aten_in_as(g, n, 2, p.x->type));
    struct aten_value *linear = greater(g, scaled, aten_in_as(g, n, 3, p.x->type));
    return aten_result(g, n, 0, aten_select(g, linear, p.dy, aten_multiply(g, p.dy, sigmoid(g, scaled))));
}

/* ln(1 + e^x), without overflow */
static struct aten_value *softplus(struct aten_graph *g, struct aten_value *x)
{
    struct aten_value *y = aten_apply(g, EW(LOG), aten_scaled(g, aten_apply(g, EW(EXP), x), 1, 1));
    return aten_select(g, greater(g, x, like(g, x, 20)), x, y);
}

/* mish_backward(grad_output, self): t + x * s * (1 - t^2), t = tanh(softplus(x)), s = sigmoid(x) */
bool aten_build_mish_backward(struct aten_graph *g, const struct aten_node *n)
{
    struct pair p = pair_of(g, n);
    struct aten_value *t = aten_apply(g, EW(TANH), softplus(g, p.x));
    struct aten_value *rest = aten_scaled(g, aten_multiply(g, t, t), -1, 1);
    struct aten_value *inner = aten_multiply(g, aten_multiply(g, p.x, sigmoid(g, p.x)), rest);
    return scaled_by(g, n, p, aten_add(g, t, inner));
}

/* log_sigmoid_backward(grad_output, self, buffer): sigmoid(-x) */
bool aten_build_log_sigmoid_backward(struct aten_graph *g, const struct aten_node *n)
{
    struct pair p = pair_of(g, n);
    return scaled_by(g, n, p, sigmoid(g, aten_apply(g, EW(NEGATE), p.x)));
}

/* softshrink_backward, hardshrink_backward(grad_out, self, lambd) */
bool aten_build_shrink_backward(struct aten_graph *g, const struct aten_node *n)
{
    struct pair p = pair_of(g, n);
    if (!p.x)
        return aten_fail(g, "unsupported arguments");
    struct aten_value *inside =
        aten_apply2(g, EW(LOGICAL_LESS_THAN_OR_EQUAL), aten_apply(g, EW(ABS), p.x), aten_in_as(g, n, 2, p.x->type));
    return aten_result(g, n, 0, aten_select(g, inside, like(g, p.x, 0), p.dy));
}

/* logit_backward(grad_output, self, eps): without eps NaN outside of [0, 1], with eps 0 outside of [eps, 1 - eps]. */
bool aten_build_logit_backward(struct aten_graph *g, const struct aten_node *n)
{
    struct pair p = pair_of(g, n);
    const double eps = aten_given(n, 2) ? aten_real(g, n, 2, 0) : 0;
    struct aten_value *low = aten_apply2(g, EW(LOGICAL_LESS_THAN), p.x, like(g, p.x, eps));
    struct aten_value *outside = aten_apply2(g, EW(LOGICAL_OR), low, greater(g, p.x, like(g, p.x, 1 - eps)));
    struct aten_value *y = aten_divide(g, p.dy, aten_multiply(g, p.x, aten_scaled(g, p.x, -1, 1)));
    return aten_result(g, n, 0, aten_select(g, outside, like(g, p.x, aten_given(n, 2) ? 0 : NAN), y));
}

/* ---- gated linear units ---- */

static bool halves(struct aten_graph *g, struct aten_value *x, int64_t dim, struct aten_value *out[2], uint32_t *axis)
{
    if (!x || !aten_axis(g, dim, x->rank, axis))
        return false;
    const int64_t half = x->rank ? x->sizes[*axis] / 2 : 0;
    out[0] = half ? aten_slice(g, x, *axis, 0, half, 1) : NULL;
    out[1] = half ? aten_slice(g, x, *axis, half, half, 1) : NULL;
    return out[0] && out[1];
}

/* glu(self, dim) */
bool aten_build_glu(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_value *part[2];
    uint32_t axis;
    if (!halves(g, aten_in_as(g, n, 0, aten_wide(n->outputs[0].type)), aten_int(g, n, 1, -1), part, &axis))
        return aten_fail(g, "the dimension cannot be halved");
    return aten_result(g, n, 0, aten_multiply(g, part[0], sigmoid(g, part[1])));
}

/* glu_backward(grad_output, self, dim) */
bool aten_build_glu_backward(struct aten_graph *g, const struct aten_node *n)
{
    struct pair p = pair_of(g, n);
    struct aten_value *part[2];
    uint32_t axis;
    if (!halves(g, p.x, aten_int(g, n, 2, -1), part, &axis))
        return aten_fail(g, "the dimension cannot be halved");
    struct aten_value *s = sigmoid(g, part[1]), *first = aten_multiply(g, p.dy, s);
    part[1] = aten_multiply(g, aten_multiply(g, first, aten_scaled(g, s, -1, 1)), part[0]);
    part[0] = first;
    return aten_result(g, n, 0, aten_join(g, part, 2, axis));
}
