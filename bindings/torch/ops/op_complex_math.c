/* SPDX-License-Identifier: Apache-2.0 */
/* Complex numbers: functions, powers, means, products, running sums, variances and norms. */
#include "complex.h"
#include "index.h"

#include <math.h>

#define EW(name) DML_OPERATOR_ELEMENT_WISE_##name

static struct aten_value *like(struct aten_graph *g, const struct aten_value *x, double value)
{
    return x ? aten_scalar(g, x->type, value) : NULL;
}

static struct aten_pair added(struct aten_graph *g, struct aten_pair x, struct aten_pair y)
{
    struct aten_pair z = { aten_add(g, x.re, y.re), x.im ? x.im : y.im };
    if (x.im && y.im)
        z.im = aten_add(g, x.im, y.im);
    return z;
}

static struct aten_pair scaled(struct aten_graph *g, struct aten_pair x, double factor)
{
    return (struct aten_pair){ aten_scaled(g, x.re, factor, 0), x.im ? aten_scaled(g, x.im, factor, 0) : NULL };
}

static struct aten_pair selected(struct aten_graph *g, struct aten_value *condition, struct aten_pair x,
                                 struct aten_pair y)
{
    return (struct aten_pair){ aten_select(g, condition, x.re, y.re),
                               aten_select(g, condition, aten_pair_im(g, x), aten_pair_im(g, y)) };
}

/* ---- functions of one number ---- */

static struct aten_pair log_of(struct aten_graph *g, struct aten_pair x)
{
    return (struct aten_pair){ aten_apply(g, EW(LOG), aten_pair_size(g, x)),
                               aten_apply2(g, EW(ATAN_YX), aten_pair_im(g, x), x.re) };
}

/* Less than 0, or -0. */
static struct aten_value *is_negative(struct aten_graph *g, struct aten_value *x)
{
    struct aten_value *zero = like(g, x, 0);
    return aten_apply2(g, EW(LOGICAL_OR), aten_apply2(g, EW(LOGICAL_LESS_THAN), x, zero),
                       aten_apply2(g, EW(LOGICAL_LESS_THAN), aten_apply(g, EW(RECIP), x), zero));
}

/* The part that does not cancel, sqrt((|z| + |re|) / 2), and from it the other one: im / 2 divided by it. */
static struct aten_pair sqrt_of(struct aten_graph *g, struct aten_pair x)
{
    struct aten_value *im = aten_pair_im(g, x), *far = aten_apply(g, EW(ABS), x.re);
    struct aten_value *most = aten_add(g, aten_scaled(g, aten_pair_size(g, x), 0.5, 0), aten_scaled(g, far, 0.5, 0));
    most = aten_apply(g, EW(SQRT), most);
    struct aten_value *least = aten_divide(g, aten_scaled(g, im, 0.5, 0), most);
    least = aten_select(g, aten_apply2(g, EW(LOGICAL_EQUALS), most, like(g, most, 0)), im, least);
    struct aten_value *right = aten_apply2(g, EW(LOGICAL_GREATER_THAN_OR_EQUAL), x.re, like(g, x.re, 0));
    struct aten_value *signed_most = aten_select(g, is_negative(g, im), aten_apply(g, EW(NEGATE), most), most);
    return (struct aten_pair){ aten_select(g, right, most, aten_apply(g, EW(ABS), least)),
                               aten_select(g, right, least, signed_most) };
}

static struct aten_pair sinh_of(struct aten_graph *g, struct aten_pair x)
{
    struct aten_value *im = aten_pair_im(g, x);
    return (struct aten_pair){ aten_multiply(g, aten_apply(g, EW(SINH), x.re), aten_apply(g, EW(COS), im)),
                               aten_multiply(g, aten_apply(g, EW(COSH), x.re), aten_apply(g, EW(SIN), im)) };
}

static struct aten_pair cosh_of(struct aten_graph *g, struct aten_pair x)
{
    struct aten_value *im = aten_pair_im(g, x);
    return (struct aten_pair){ aten_multiply(g, aten_apply(g, EW(COSH), x.re), aten_apply(g, EW(COS), im)),
                               aten_multiply(g, aten_apply(g, EW(SINH), x.re), aten_apply(g, EW(SIN), im)) };
}

/* (t + i u) / (1 + i t u) with t = tanh(re) and u = tan(im); 1 - t^2 is 1 / cosh(re)^2. */
static struct aten_pair tanh_of(struct aten_graph *g, struct aten_pair x)
{
    struct aten_value *t = aten_apply(g, EW(TANH), x.re), *u = aten_apply(g, EW(TAN), aten_pair_im(g, x));
    struct aten_value *narrow = aten_apply(g, EW(RECIP), aten_apply(g, EW(COSH), x.re)), *tu = aten_multiply(g, t, u);
    struct aten_value *below = aten_scaled(g, aten_multiply(g, tu, tu), 1, 1);
    struct aten_value *re = aten_multiply(g, t, aten_scaled(g, aten_multiply(g, u, u), 1, 1));
    struct aten_value *im = aten_multiply(g, u, aten_multiply(g, narrow, narrow));
    return (struct aten_pair){ aten_divide(g, re, below), aten_divide(g, im, below) };
}

static struct aten_pair exp_of(struct aten_graph *g, struct aten_pair x)
{
    return aten_pair_polar(g, aten_apply(g, EW(EXP), x.re), aten_pair_im(g, x));
}

/* f(i z), divided by i if f is odd: the functions of angles from the hyperbolic ones. */
typedef struct aten_pair function(struct aten_graph *g, struct aten_pair x);
static struct aten_pair turned(struct aten_graph *g, struct aten_pair x, function *f, bool odd)
{
    struct aten_pair y = f(g, (struct aten_pair){ aten_apply(g, EW(NEGATE), aten_pair_im(g, x)), x.re });
    return odd ? (struct aten_pair){ y.im, aten_apply(g, EW(NEGATE), y.re) } : y;
}

static struct aten_pair sigmoid_of(struct aten_graph *g, struct aten_pair x)
{
    struct aten_pair one = { like(g, x.re, 1), NULL };
    return aten_pair_divide(g, one, added(g, exp_of(g, scaled(g, x, -1)), one));
}

/* The parameter is the operator of real numbers. */
bool aten_build_complex_function(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_pair x = aten_pair_in(g, n, 0, aten_pair_type(n)), y;
    if (!x.re)
        return false;
    switch (n->parameter) {
    case EW(LOG):
        y = log_of(g, x);
        break;
    case EW(SQRT):
        y = sqrt_of(g, x);
        break;
    case EW(SIN):
        y = turned(g, x, sinh_of, true);
        break;
    case EW(COS):
        y = turned(g, x, cosh_of, false);
        break;
    case EW(TAN):
        y = turned(g, x, tanh_of, true);
        break;
    case EW(SINH):
        y = sinh_of(g, x);
        break;
    case EW(COSH):
        y = cosh_of(g, x);
        break;
    case EW(TANH):
        y = tanh_of(g, x);
        break;
    case DML_OPERATOR_ACTIVATION_SIGMOID:
        y = sigmoid_of(g, x);
        break;
    default:
        return aten_fail(g, "no such function of complex numbers");
    }
    return aten_pair_result(g, n, 0, y);
}

bool aten_build_complex_rsqrt(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_pair x = aten_pair_in(g, n, 0, aten_pair_type(n)), one = { like(g, x.re, 1), NULL };
    return aten_pair_result(g, n, 0, aten_pair_divide(g, one, sqrt_of(g, x)));
}

bool aten_build_complex_exp2(struct aten_graph *g, const struct aten_node *n)
{
    return aten_pair_result(g, n, 0, exp_of(g, scaled(g, aten_pair_in(g, n, 0, aten_pair_type(n)), log(2))));
}

/* The parameter is the base. */
bool aten_build_complex_log_base(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_pair y = log_of(g, aten_pair_in(g, n, 0, aten_pair_type(n)));
    return aten_pair_result(g, n, 0, scaled(g, y, 1 / log((double)n->parameter)));
}

/* isnan, isinf(self): of either part; the parameter is that of float_test: -1, or the mode of IS_INFINITY */
bool aten_build_complex_test(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_pair x = aten_pair_in(g, n, 0, aten_pair_type(n));
    const DML_OPERATOR_TYPE test = n->parameter < 0 ? EW(IS_NAN) : EW(IS_INFINITY);
    const int mode = n->parameter < 0 ? 0 : (int)n->parameter;
    return aten_result(
        g, n, 0,
        aten_apply2(g, EW(LOGICAL_OR), aten_test(g, test, x.re, mode), aten_test(g, test, aten_pair_im(g, x), mode)));
}

/* sigmoid_backward, tanh_backward(grad, y): grad times the conjugate of (1 - y) y, or, parameter 1, of 1 - y^2 */
bool aten_build_complex_slope(struct aten_graph *g, const struct aten_node *n)
{
    const int32_t part = aten_pair_type(n);
    struct aten_pair y = aten_pair_in(g, n, 1, part), one = { like(g, y.re, 1), NULL };
    struct aten_pair square = scaled(g, aten_pair_multiply(g, y, y), -1),
                     slope = added(g, n->parameter ? one : y, square);
    slope.im = aten_apply(g, EW(NEGATE), aten_pair_im(g, slope));
    return aten_pair_result(g, n, 0, aten_pair_multiply(g, aten_pair_in(g, n, 0, part), slope));
}

/* ---- functions of several ---- */

/* e^(y log x); powers of 0 are 1 if y is 0, 0 if its real part is positive, and otherwise not defined. */
static struct aten_pair power(struct aten_graph *g, struct aten_pair x, struct aten_pair y)
{
    struct aten_value *zero = aten_apply2(g, EW(LOGICAL_EQUALS), aten_pair_size(g, x), like(g, x.re, 0));
    struct aten_value *none = aten_apply2(g, EW(LOGICAL_EQUALS), aten_pair_size(g, y), like(g, y.re, 0));
    struct aten_value *positive = aten_apply2(g, EW(LOGICAL_GREATER_THAN), y.re, like(g, y.re, 0));
    struct aten_pair of_zero = { aten_select(g, none, like(g, x.re, 1), like(g, x.re, 0)), NULL };
    struct aten_value *defined = aten_apply2(g, EW(LOGICAL_OR), none, positive);
    of_zero.im = aten_select(g, defined, like(g, x.re, 0), like(g, x.re, NAN));
    of_zero.re = aten_select(g, defined, of_zero.re, like(g, x.re, NAN));
    return selected(g, zero, of_zero, exp_of(g, aten_pair_multiply(g, y, log_of(g, x))));
}

/* pow(self, exponent), either of which may be a number */
bool aten_build_complex_pow(struct aten_graph *g, const struct aten_node *n)
{
    const int32_t part = aten_pair_type(n);
    struct aten_pair x = aten_pair_in(g, n, 0, part), one = { like(g, x.re, 1), NULL };
    double exponent;
    if (!aten_known_number(g, n, 1, &exponent))
        return aten_pair_result(g, n, 0, power(g, x, aten_pair_in(g, n, 1, part)));
    if (fabs(exponent) == 0.5) {
        x = sqrt_of(g, x);
    } else if (exponent != 0 && fabs(exponent) <= 3 && exponent == floor(exponent)) {
        struct aten_pair y = x;
        for (int i = 1; i < (int)fabs(exponent); i++)
            y = aten_pair_multiply(g, y, x);
        x = y;
    } else {
        return aten_pair_result(g, n, 0, power(g, x, aten_pair_in(g, n, 1, part)));
    }
    return aten_pair_result(g, n, 0, exponent < 0 ? aten_pair_divide(g, one, x) : x);
}

/* lerp(self, end, weight) */
bool aten_build_complex_lerp(struct aten_graph *g, const struct aten_node *n)
{
    const int32_t part = aten_pair_type(n);
    struct aten_pair x = aten_pair_in(g, n, 0, part), way = added(g, aten_pair_in(g, n, 1, part), scaled(g, x, -1));
    return aten_pair_result(g, n, 0, added(g, x, aten_pair_multiply(g, aten_pair_in(g, n, 2, part), way)));
}

/* addcmul, addcdiv(self, tensor1, tensor2, value): parameter 1 divides */
bool aten_build_complex_addc(struct aten_graph *g, const struct aten_node *n)
{
    const int32_t part = aten_pair_type(n);
    struct aten_pair a = aten_pair_in(g, n, 1, part), b = aten_pair_in(g, n, 2, part);
    if (aten_given(n, 3) && !aten_is_number(g, n, 3, 1))
        a = aten_pair_multiply(g, a, aten_pair_in(g, n, 3, part));
    a = n->parameter ? aten_pair_divide(g, a, b) : aten_pair_multiply(g, a, b);
    return aten_pair_result(g, n, 0, added(g, aten_pair_in(g, n, 0, part), a));
}

/* ---- along dimensions ---- */

static struct aten_pair part_of(struct aten_graph *g, struct aten_pair x, uint32_t axis, int64_t start, int64_t count)
{
    return (struct aten_pair){ aten_slice(g, x.re, axis, start, count, 1), aten_slice(g, x.im, axis, start, count, 1) };
}

static struct aten_pair joined(struct aten_graph *g, struct aten_pair x, struct aten_pair y, uint32_t axis)
{
    struct aten_value *re[2] = { x.re, y.re }, *im[2] = { x.im, y.im };
    return (struct aten_pair){ aten_join(g, re, 2, axis), aten_join(g, im, 2, axis) };
}

/* prod(self), prod(self, dim): multiplies the halves until there is one number */
bool aten_build_complex_prod(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_pair x = aten_pair_in(g, n, 0, aten_pair_type(n));
    uint32_t axes, axis = 0;
    if (!aten_pair_axes(g, n, x, &axes))
        return false;
    x.im = aten_pair_im(g, x);
    if (!aten_elements(x.re))
        return aten_pair_result(g, n, 0, (struct aten_pair){ like(g, x.re, 1), NULL });
    if (n->op->overload[0] && x.re->rank) {
        while (!(axes >> axis & 1))
            axis++;
    } else {
        x = (struct aten_pair){ aten_flat(g, x.re), aten_flat(g, x.im) };
    }
    while (x.re && x.re->sizes[axis] > 1) {
        const int64_t size = x.re->sizes[axis], half = size / 2;
        struct aten_pair y = aten_pair_multiply(g, part_of(g, x, axis, 0, half), part_of(g, x, axis, half, half));
        x = size % 2 ? joined(g, y, part_of(g, x, axis, size - 1, 1), axis) : y;
    }
    const struct aten_tensor *out = &n->outputs[0];
    return aten_pair_result(g, n, 0,
                            (struct aten_pair){ aten_reshape(g, x.re, out->rank, out->sizes),
                                                aten_reshape(g, x.im, out->rank, out->sizes) });
}

/* cumsum, cumprod(self, dim): parameter 0 or 1 */
bool aten_build_complex_running(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_pair x = aten_pair_in(g, n, 0, aten_pair_type(n));
    uint32_t axis;
    x = (struct aten_pair){ aten_lined(g, x.re), aten_lined(g, aten_pair_im(g, x)) };
    if (!x.re || !aten_axis(g, aten_int(g, n, 1, 0), x.re->rank, &axis))
        return false;
    const int64_t size = aten_elements(x.re) ? x.re->sizes[axis] : 0;
    if (!n->parameter && size)
        x = (struct aten_pair){ aten_running_sum(g, x.re, axis), aten_running_sum(g, x.im, axis) };
    for (int64_t step = 1; n->parameter && step < size && x.re; step *= 2)
        x = joined(g, part_of(g, x, axis, 0, step),
                   aten_pair_multiply(g, part_of(g, x, axis, 0, size - step), part_of(g, x, axis, step, size - step)),
                   axis);
    const struct aten_tensor *out = &n->outputs[0];
    return aten_pair_result(g, n, 0,
                            (struct aten_pair){ aten_reshape(g, x.re, out->rank, out->sizes),
                                                aten_reshape(g, x.im, out->rank, out->sizes) });
}

/* The mean of x along the axes, which have size 1 in the result. */
static struct aten_value *mean_of(struct aten_graph *g, struct aten_value *x, uint32_t axes)
{
    return x && x->rank ? aten_reduced(g, DML_REDUCE_FUNCTION_AVERAGE, x, axes, x->type) : x;
}

static struct aten_value *squares(struct aten_graph *g, struct aten_value *away, uint32_t axes)
{
    struct aten_value *square = aten_multiply(g, away, away);
    return square && square->rank ? aten_reduced(g, DML_REDUCE_FUNCTION_SUM, square, axes, square->type) : square;
}

/* var, std.correction(self, dim, correction, keepdim), var_mean, std_mean: parameter bit 0: root, bit 1: also the mean
 */
bool aten_build_complex_var(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_pair x = aten_pair_in(g, n, 0, aten_pair_type(n));
    uint32_t axes;
    if (!aten_pair_axes(g, n, x, &axes))
        return false;
    if (!aten_elements(x.re))
        return aten_fail(g, "the variance of no complex numbers is not supported");
    double left = -aten_real(g, n, 2, 1), count = 1;
    for (uint32_t i = 0; i < x.re->rank; i++)
        count *= axes >> i & 1 ? (double)x.re->sizes[i] : 1;
    left = fmax(left + count, 0);
    struct aten_pair mean = { mean_of(g, x.re, axes), mean_of(g, aten_pair_im(g, x), axes) };
    struct aten_value *sum = aten_add(g, squares(g, aten_subtract(g, x.re, mean.re), axes),
                                      squares(g, aten_subtract(g, aten_pair_im(g, x), mean.im), axes));
    struct aten_value *y = aten_divide(g, sum, like(g, sum, left));
    y = n->parameter & 1 ? aten_apply(g, EW(SQRT), y) : y;
    const struct aten_tensor *out = n->outputs;
    if (!aten_result(g, n, 0, aten_reshape(g, y, out[0].rank, out[0].sizes)))
        return false;
    if (!(n->parameter & 2) || !aten_wanted(n, 1))
        return true;
    mean = (struct aten_pair){ aten_reshape(g, mean.re, out[1].rank, out[1].sizes),
                               aten_reshape(g, mean.im, out[1].rank, out[1].sizes) };
    return aten_pair_result(g, n, 1, mean);
}

/* Norms are those of the absolute values. */
bool aten_build_complex_norm(struct aten_graph *g, const struct aten_node *n)
{
    const struct aten_row *row = aten_row_of(n->op);
    struct aten_value *size = aten_pair_size(g, aten_pair_in(g, n, 0, aten_pair_type(n)));
    struct aten_operand *args = aten_alloc(g, n->arg_count * sizeof(*args));
    struct aten_node plain = *n;
    if (!size || !args)
        return false;
    memcpy(args, n->args, n->arg_count * sizeof(*args));
    args[0].values = &size;
    plain.args = args;
    plain.parameter = row->parameter;
    g->node = &plain;
    bool ok = row->build(g, &plain);
    g->node = n;
    return ok;
}
