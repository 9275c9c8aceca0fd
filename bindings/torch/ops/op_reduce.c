/* SPDX-License-Identifier: Apache-2.0 */
/* Sums, means, extremes with their positions, variances, norms, running sums. */
#include "graph.h"

#include <math.h>

#define EW(name)     DML_OPERATOR_ELEMENT_WISE_##name
#define REDUCE(name) DML_REDUCE_FUNCTION_##name

static struct aten_value *like(struct aten_graph *g, const struct aten_value *x, double value)
{
    return x ? aten_scalar(g, x->type, value) : NULL;
}

/* The dimensions of argument i as a set of axes; all axes if it is absent or empty. */
static bool axes_of(struct aten_graph *g, const struct aten_node *n, uint32_t i, const struct aten_value *x,
                    uint32_t *out)
{
    uint32_t count, axis;
    const int64_t *dims = aten_ints(g, n, i, &count);
    *out = 0;
    for (uint32_t d = 0; d < count; d++) {
        if (!aten_axis(g, dims[d], x ? x->rank : 0, &axis))
            return false;
        *out |= UINT32_C(1) << axis;
    }
    if (!count)
        *out = (UINT32_C(1) << BASE_MAX(x ? x->rank : 0, 1u)) - 1;
    return x && !g->failed;
}

/* The number of elements that are reduced to one. */
static int64_t reduced_count(const struct aten_value *x, uint32_t axes)
{
    int64_t count = 1;
    for (uint32_t i = 0; i < x->rank; i++)
        count *= axes >> i & 1 ? x->sizes[i] : 1;
    return count;
}

/* Sets a result whose reduced dimensions have size 1 or are removed, as requested. */
static bool result(struct aten_graph *g, const struct aten_node *n, uint32_t i, struct aten_value *y)
{
    if (!aten_wanted(n, i))
        return true;
    return aten_result(g, n, i, y ? aten_reshape(g, y, n->outputs[i].rank, n->outputs[i].sizes) : NULL);
}

/* The reduction of an empty tensor, for results that are not empty. */
static bool of_nothing(struct aten_graph *g, const struct aten_node *n, double value)
{
    return aten_result(g, n, 0, aten_scalar(g, n->outputs[0].type, value));
}

/* Sums of integers of less than 32 bits are promoted already; DirectML can add the other types. */
static struct aten_value *summable(struct aten_graph *g, struct aten_value *x, int32_t type)
{
    return aten_convert(g, x, aten_is_float(type) || aten_type_bytes(type) >= 4 ? type : ATEN_INT64);
}

/* sum, prod, mean, nansum(self, dtype): parameter: the function; (self, dim, keepdim, dtype) likewise. */
static bool build_total(struct aten_graph *g, const struct aten_node *n, DML_REDUCE_FUNCTION function, bool dims,
                        bool skip_nan)
{
    struct aten_value *x = aten_in(g, n, 0);
    uint32_t axes;
    if (!axes_of(g, n, dims ? 1 : UINT32_MAX, x, &axes))
        return aten_fail(g, "unsupported arguments");
    if (!aten_elements(x))
        return of_nothing(g, n, function == REDUCE(SUM) ? 0 : function == REDUCE(MULTIPLY) ? 1 : NAN);
    if (skip_nan && aten_is_float(x->type))
        x = aten_select(g, aten_test(g, EW(IS_NAN), x, 0), like(g, x, 0), x);
    x = summable(g, x, n->outputs[0].type);
    return result(g, n, 0, x ? aten_reduced(g, function, x, axes, x->type) : NULL);
}

bool aten_build_total(struct aten_graph *g, const struct aten_node *n)
{
    return build_total(g, n, (DML_REDUCE_FUNCTION)n->parameter, false, false);
}

bool aten_build_total_dim(struct aten_graph *g, const struct aten_node *n)
{
    return build_total(g, n, (DML_REDUCE_FUNCTION)n->parameter, true, false);
}

bool aten_build_nansum(struct aten_graph *g, const struct aten_node *n)
{
    return build_total(g, n, REDUCE(SUM), true, true);
}

/* ---- extremes ---- */

/* BOOLEAN as UINT8, which DirectML can reduce. */
static struct aten_value *as_number(struct aten_graph *g, struct aten_value *x)
{
    return x && x->type == ATEN_BOOLEAN ? aten_convert(g, x, ATEN_UINT8) : x;
}

static struct aten_value *any_nan(struct aten_graph *g, struct aten_value *x, uint32_t axes)
{
    struct aten_value *nan = as_number(g, aten_test(g, EW(IS_NAN), x, 0));
    return aten_convert(g, aten_reduced(g, REDUCE(MAX), nan, axes, ATEN_UINT8), ATEN_BOOLEAN);
}

/* MIN or MAX that propagates NaN. */
static struct aten_value *extreme(struct aten_graph *g, DML_REDUCE_FUNCTION function, struct aten_value *x,
                                  uint32_t axes)
{
    x = as_number(g, x);
    struct aten_value *y = x ? aten_reduced(g, function, x, axes, x->type) : NULL;
    if (!y || !aten_is_float(x->type))
        return y;
    return aten_select(g, any_nan(g, x, axes), like(g, x, NAN), y);
}

/* The position of the extreme, INT64; the first NaN if there is one. */
static struct aten_value *place(struct aten_graph *g, bool most, struct aten_value *x, uint32_t axes)
{
    x = as_number(g, x);
    struct aten_value *at = aten_reduced(g, most ? REDUCE(ARGMAX) : REDUCE(ARGMIN), x, axes, ATEN_INT64);
    if (!at || !aten_is_float(x->type))
        return at;
    struct aten_value *nan = as_number(g, aten_test(g, EW(IS_NAN), x, 0));
    return aten_select(g, any_nan(g, x, axes), aten_reduced(g, REDUCE(ARGMAX), nan, axes, ATEN_INT64), at);
}

/* amax, amin(self, dim, keepdim), max, min(self): parameter MAX or MIN. */
bool aten_build_amax(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_value *x = aten_in(g, n, 0);
    uint32_t axes;
    if (!axes_of(g, n, 1, x, &axes) || !reduced_count(x, axes))
        return aten_fail(g, "an empty tensor has no minimum or maximum");
    return result(g, n, 0, extreme(g, (DML_REDUCE_FUNCTION)n->parameter, x, axes));
}

/* aminmax(self, *, dim, keepdim) */
bool aten_build_aminmax(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_value *x = aten_in(g, n, 0);
    uint32_t axes;
    if (!axes_of(g, n, 1, x, &axes) || !reduced_count(x, axes))
        return aten_fail(g, "an empty tensor has no minimum or maximum");
    return result(g, n, 0, extreme(g, REDUCE(MIN), x, axes)) && result(g, n, 1, extreme(g, REDUCE(MAX), x, axes));
}

/* max.dim, min.dim(self, dim, keepdim) -> (values, indices) */
bool aten_build_max_dim(struct aten_graph *g, const struct aten_node *n)
{
    const DML_REDUCE_FUNCTION function = (DML_REDUCE_FUNCTION)n->parameter;
    struct aten_value *x = aten_in(g, n, 0);
    uint32_t axes;
    if (!axes_of(g, n, 1, x, &axes))
        return aten_fail(g, "unsupported arguments");
    struct aten_value *values = extreme(g, function, x, axes);
    struct aten_value *at = place(g, function == REDUCE(MAX), x, axes);
    if (values && x->type == ATEN_BOOLEAN)
        values = aten_convert(g, values, ATEN_BOOLEAN);
    return result(g, n, 0, values) && result(g, n, 1, at);
}

/* argmax, argmin(self, dim, keepdim): without dim, of the flattened tensor. parameter: 1 for argmax. */
bool aten_build_argmax(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_value *x = aten_in(g, n, 0);
    uint32_t axes = 1;
    if (x && !aten_given(n, 1)) {
        const int64_t all[1] = { aten_elements(x) };
        x = aten_reshape(g, x, 1, all);
    } else if (!axes_of(g, n, 1, x, &axes)) {
        return aten_fail(g, "unsupported arguments");
    }
    return result(g, n, 0, place(g, n->parameter, x, axes));
}

/* any, all(self), (self, dim, keepdim), (self, dims, keepdim): parameter MAX or MIN of the truth values. */
bool aten_build_any(struct aten_graph *g, const struct aten_node *n)
{
    const DML_REDUCE_FUNCTION function = (DML_REDUCE_FUNCTION)n->parameter;
    struct aten_value *x = aten_in(g, n, 0);
    uint32_t axes, count;
    if (!axes_of(g, n, 1, x, &axes))
        return aten_fail(g, "unsupported arguments");
    if (!aten_elements(x))
        return of_nothing(g, n, function == REDUCE(MIN));
    struct aten_value *truth = as_number(g, aten_convert(g, x, ATEN_BOOLEAN));
    /* dim=[] of any.dims is an empty set of dimensions */
    aten_ints(g, n, 1, &count);
    struct aten_value *y = aten_given(n, 1) && !count ? truth : aten_reduced(g, function, truth, axes, ATEN_UINT8);
    return result(g, n, 0, y);
}

/* ---- moments ---- */

/* sum of (x - mean)^2 / max(0, count - correction) over the axes, or its root, computed in the wide type; also
 * *out_mean. */
static struct aten_value *variance(struct aten_graph *g, const struct aten_node *n, struct aten_value *x, uint32_t axes,
                                   bool root, struct aten_value **out_mean)
{
    x = x ? aten_convert(g, x, aten_wide(x->type)) : NULL;
    *out_mean = x ? aten_reduced(g, REDUCE(AVERAGE), x, axes, x->type) : NULL;
    if (!*out_mean)
        return NULL;
    struct aten_value *away = aten_subtract(g, x, *out_mean);
    const double left = fmax((double)reduced_count(x, axes) - aten_real(g, n, 2, 1), 0);
    /* The squares may overflow although the root of their mean does not, and so may the unscaled norm. */
    if (root && left > 0)
        return aten_reduced(g, REDUCE(L2), aten_scaled(g, away, 1 / sqrt(left), 0), axes, x->type);
    struct aten_value *sum = aten_reduced(g, REDUCE(SUM), aten_multiply(g, away, away), axes, x->type);
    struct aten_value *y = aten_divide(g, sum, like(g, x, left));
    return root ? aten_apply(g, EW(SQRT), y) : y;
}

/* var, std.correction(self, dim, *, correction, keepdim), var_mean, std_mean: parameter bit 0: root, bit 1: also the
 * mean. */
bool aten_build_var(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_value *x = aten_in(g, n, 0), *mean;
    uint32_t axes;
    if (!axes_of(g, n, 1, x, &axes))
        return aten_fail(g, "unsupported arguments");
    if (!aten_elements(x))
        return of_nothing(g, n, NAN) && (!(n->parameter & 2) || aten_result(g, n, 1, aten_scalar(g, x->type, NAN)));
    struct aten_value *y = variance(g, n, x, axes, n->parameter & 1, &mean);
    return result(g, n, 0, y) && (!(n->parameter & 2) || result(g, n, 1, mean));
}

/* ---- norms ---- */

static struct aten_value *norm(struct aten_graph *g, struct aten_value *x, double ord, uint32_t axes)
{
    if (!x)
        return NULL;
    struct aten_value *away = aten_apply(g, EW(ABS), x);
    if (isinf(ord))
        return extreme(g, ord > 0 ? REDUCE(MAX) : REDUCE(MIN), away, axes);
    if (ord == 0) {
        struct aten_value *zero = aten_apply2(g, EW(LOGICAL_EQUALS), x, like(g, x, 0));
        return aten_reduced(g, REDUCE(SUM), aten_convert(g, aten_not(g, zero), x->type), axes, x->type);
    }
    if (ord == 1)
        return aten_reduced(g, REDUCE(SUM), away, axes, x->type);
    if (ord == 2)
        return aten_reduced(g, REDUCE(L2), x, axes, x->type); /* L2 avoids overflow of the squares */
    struct aten_value *powers = aten_apply2(g, EW(POW), away, like(g, x, ord));
    return aten_apply2(g, EW(POW), aten_reduced(g, REDUCE(SUM), powers, axes, x->type), like(g, x, 1 / ord));
}

/* parameter: index of the dimensions. linalg_vector_norm, norm(self, p, dim, ...). */
bool aten_build_norm(struct aten_graph *g, const struct aten_node *n)
{
    const int32_t type = n->outputs[0].type;
    struct aten_value *x = aten_in_as(g, n, 0, aten_wide(type));
    const double ord = aten_real(g, n, 1, 2);
    uint32_t axes;
    if (!axes_of(g, n, 2, x, &axes))
        return aten_fail(g, "unsupported arguments");
    if (!aten_elements(x))
        return of_nothing(g, n, ord < 0 ? INFINITY : 0);
    return result(g, n, 0, norm(g, x, ord, axes));
}

/* logsumexp(self, dim, keepdim): subtracts the maximum first. */
bool aten_build_logsumexp(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_value *x = aten_in_as(g, n, 0, aten_wide(n->outputs[0].type));
    uint32_t axes;
    if (!axes_of(g, n, 1, x, &axes))
        return aten_fail(g, "unsupported arguments");
    if (!aten_elements(x))
        return of_nothing(g, n, -INFINITY);
    struct aten_value *most = aten_reduced(g, REDUCE(MAX), x, axes, x->type);
    struct aten_value *far = aten_test(g, EW(IS_INFINITY), most, DML_IS_INFINITY_MODE_EITHER);
    most = aten_select(g, far, like(g, x, 0), most);
    struct aten_value *sum =
        aten_reduced(g, REDUCE(SUM), aten_apply(g, EW(EXP), aten_subtract(g, x, most)), axes, x->type);
    return result(g, n, 0, aten_add(g, aten_apply(g, EW(LOG), sum), most));
}

/* ---- running sums and products ---- */

/* cumsum, cumprod(self, dim, dtype): parameter: the operator. */
bool aten_build_running(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_value *x = summable(g, aten_in(g, n, 0), n->outputs[0].type);
    struct aten_desc dx, dy;
    uint32_t axis;
    if (!x || !aten_axis(g, aten_int(g, n, 1, 0), x->rank, &axis))
        return aten_fail(g, "unsupported arguments");
    x = aten_convert(g, x, aten_wide(x->type));
    struct aten_value *y = x ? aten_new(g, x->type, x->rank, x->sizes) : NULL;
    if (!y)
        return false;
    DML_CUMULATIVE_SUMMATION_OPERATOR_DESC desc = { aten_describe(g, &dx, x), aten_describe(g, &dy, y), axis,
                                                    DML_AXIS_DIRECTION_INCREASING, FALSE };
    return aten_emit(g, (DML_OPERATOR_TYPE)n->parameter, &desc, &x, 1, &y, 1) && aten_result(g, n, 0, y);
}
