/* SPDX-License-Identifier: Apache-2.0 */
/* Relatives of the gamma function, and functions based on erf. Series are computed in FLOAT64 for every type: there,
 * cancellation does not affect results in FLOAT32. Devices without FLOAT64 fall back to the CPU. */
#include "special.h"

#include <math.h>

#define EW(name) DML_OPERATOR_ELEMENT_WISE_##name

/* ---- helpers of special functions ---- */

struct aten_value *aten_in_double(struct aten_graph *g, const struct aten_node *n, uint32_t i)
{
    if (!aten_has_type(g->device, ATEN_FLOAT64)) {
        aten_fail(g, "the computation requires float64, which the device does not support");
        return NULL;
    }
    return aten_in_as(g, n, i, ATEN_FLOAT64);
}

struct aten_value *aten_number(struct aten_graph *g, double value)
{
    return aten_scalar(g, ATEN_FLOAT64, value);
}

struct aten_value *aten_polynomial(struct aten_graph *g, struct aten_value *x, const double *c, uint32_t count)
{
    struct aten_value *y = aten_number(g, c[count - 1]);
    for (uint32_t i = count - 1; i-- > 0;)
        y = aten_scaled(g, aten_multiply(g, y, x), 1, c[i]);
    return y;
}

struct aten_value *aten_below(struct aten_graph *g, struct aten_value *x, double limit)
{
    return aten_apply2(g, EW(LOGICAL_LESS_THAN), x, aten_number(g, limit));
}

struct aten_value *aten_is(struct aten_graph *g, struct aten_value *x, double value)
{
    return aten_apply2(g, EW(LOGICAL_EQUALS), x, aten_number(g, value));
}

static struct aten_value *is_infinite(struct aten_graph *g, struct aten_value *x)
{
    return aten_test(g, EW(IS_INFINITY), x, DML_IS_INFINITY_MODE_EITHER);
}

static struct aten_value *is_whole(struct aten_graph *g, struct aten_value *x)
{
    return aten_apply2(g, EW(LOGICAL_EQUALS), x, aten_apply(g, EW(FLOOR), x));
}

/* 1 - x where x < `limit`; a reflection formula compensates for it. */
static struct aten_value *reflected(struct aten_graph *g, struct aten_value *x, struct aten_value *low)
{
    return aten_select(g, low, aten_scaled(g, x, -1, 1), x);
}

/* pi * (x - the nearest integer); the magnitudes of its sine and tangent equal those of pi x. */
static struct aten_value *angle(struct aten_graph *g, struct aten_value *x)
{
    struct aten_value *near = aten_round(g, x, DML_ROUNDING_MODE_HALVES_TO_NEAREST_EVEN);
    return aten_scaled(g, aten_subtract(g, x, near), M_PI, 0);
}

/* ---- gamma ---- */

#define SHIFT 8 /* from here on Stirling's series is more precise than FLOAT64 requires here */

/* B(2k) / (2k (2k - 1)) and B(2k) / 2k */
static const double stirling[] = {
    1.0 / 12, -1.0 / 360, 1.0 / 1260, -1.0 / 1680, 1.0 / 1188, -691.0 / 360360, 1.0 / 156
};
static const double asymptotic[] = { 1.0 / 12, -1.0 / 120, 1.0 / 252, -1.0 / 240, 1.0 / 132, -691.0 / 32760, 1.0 / 12 };

/* log |gamma(x)| of x > 0 */
static struct aten_value *log_gamma(struct aten_graph *g, struct aten_value *x)
{
    struct aten_value *low = aten_below(g, x, SHIFT), *product = x;
    for (int i = 1; i < SHIFT; i++)
        product = aten_multiply(g, product, aten_scaled(g, x, 1, i));
    struct aten_value *z = aten_select(g, low, aten_scaled(g, x, 1, SHIFT), x), *r = aten_apply(g, EW(RECIP), z);
    struct aten_value *tail =
        aten_multiply(g, r, aten_polynomial(g, aten_multiply(g, r, r), stirling, ARRAY_SIZE(stirling)));
    struct aten_value *main =
        aten_multiply(g, aten_scaled(g, z, 1, -0.5), aten_scaled(g, aten_apply(g, EW(LOG), z), 1, -1));
    struct aten_value *y = aten_add(g, aten_scaled(g, main, 1, 0.91893853320467274178 - 0.5), tail);
    return aten_select(g, low, aten_subtract(g, y, aten_apply(g, EW(LOG), product)), y);
}

struct aten_value *aten_log_gamma(struct aten_graph *g, struct aten_value *x)
{
    struct aten_value *low = aten_below(g, x, 0.5), *y = log_gamma(g, reflected(g, x, low));
    struct aten_value *sine = aten_apply(g, EW(ABS), aten_apply(g, EW(SIN), angle(g, x)));
    struct aten_value *other = aten_subtract(g, aten_scaled(g, aten_apply(g, EW(LOG), sine), -1, log(M_PI)), y);
    y = aten_select(g, low, other, y);
    return aten_select(g, is_infinite(g, x), aten_number(g, INFINITY), y);
}

bool aten_build_lgamma(struct aten_graph *g, const struct aten_node *n)
{
    return aten_result(g, n, 0, aten_log_gamma(g, aten_in_double(g, n, 0)));
}

/* The derivative of log gamma: at 0 infinite, with the sign opposite to the zero's; NaN at -1, -2, ... */
static struct aten_value *digamma(struct aten_graph *g, struct aten_value *x)
{
    struct aten_value *below = aten_below(g, x, 0.5), *p = reflected(g, x, below), *low = aten_below(g, p, SHIFT), *sum;
    sum = aten_apply(g, EW(RECIP), p);
    for (int i = 1; i < SHIFT; i++)
        sum = aten_add(g, sum, aten_apply(g, EW(RECIP), aten_scaled(g, p, 1, i)));
    struct aten_value *z = aten_select(g, low, aten_scaled(g, p, 1, SHIFT), p), *r = aten_apply(g, EW(RECIP), z);
    struct aten_value *square = aten_multiply(g, r, r);
    struct aten_value *tail = aten_multiply(g, square, aten_polynomial(g, square, asymptotic, ARRAY_SIZE(asymptotic)));
    struct aten_value *y = aten_subtract(g, aten_apply(g, EW(LOG), z), aten_add(g, aten_scaled(g, r, 0.5, 0), tail));
    y = aten_select(g, low, aten_subtract(g, y, sum), y);
    struct aten_value *turn = aten_divide(g, aten_number(g, M_PI), aten_apply(g, EW(TAN), angle(g, x)));
    struct aten_value *pole = aten_apply2(g, EW(LOGICAL_AND), below, is_whole(g, x));
    struct aten_value *at_pole =
        aten_select(g, aten_is(g, x, 0), aten_apply(g, EW(NEGATE), aten_apply(g, EW(RECIP), x)), aten_number(g, NAN));
    y = aten_select(g, below, aten_subtract(g, y, turn), y);
    return aten_select(g, pole, at_pole, y);
}

bool aten_build_digamma(struct aten_graph *g, const struct aten_node *n)
{
    return aten_result(g, n, 0, digamma(g, aten_in_double(g, n, 0)));
}

/* ---- Hurwitz zeta ---- */

static struct aten_value *power(struct aten_graph *g, struct aten_value *x, struct aten_value *y)
{
    return aten_apply2(g, EW(POW), x, y);
}

#define TERMS 10

/* The sum of (q + k)^-s over k >= 0, for q > 0 and s > 1: ten terms and the Euler-Maclaurin series. */
static struct aten_value *zeta_positive(struct aten_graph *g, struct aten_value *s, struct aten_value *q)
{
    /* B(2k) / (2k)! */
    static const double bernoulli[] = { 1.0 / 12,       -1.0 / 720,     1.0 / 30240,
                                        -1.0 / 1209600, 1.0 / 47900160, -691.0 / 1307674368000.0 };
    struct aten_value *less = aten_scaled(g, s, -1, 0), *sum = power(g, q, less);
    for (int i = 1; i < TERMS; i++)
        sum = aten_add(g, sum, power(g, aten_scaled(g, q, 1, i), less));
    struct aten_value *a = aten_scaled(g, q, 1, TERMS), *r = aten_apply(g, EW(RECIP), a), *last = power(g, a, less);
    struct aten_value *square = aten_multiply(g, r, r), *factor = aten_multiply(g, aten_multiply(g, last, r), s);
    struct aten_value *tail = aten_divide(g, aten_multiply(g, last, a), aten_scaled(g, s, 1, -1));
    tail = aten_add(g, tail, aten_scaled(g, last, 0.5, 0));
    for (uint32_t k = 0; k < ARRAY_SIZE(bernoulli); k++) {
        tail = aten_add(g, tail, aten_scaled(g, factor, bernoulli[k], 0));
        factor = aten_multiply(g, factor,
                               aten_multiply(g, aten_scaled(g, s, 1, 2 * k + 1), aten_scaled(g, s, 1, 2 * k + 2)));
        factor = aten_multiply(g, factor, square);
    }
    struct aten_value *y = aten_add(g, sum, tail);
    return aten_select(g, aten_is(g, q, INFINITY), aten_number(g, 0), y);
}

/* For negative q the function is defined only if s is an integer: the sum over all integers minus the terms before q.
 * `sign`: (-1)^s. */
static struct aten_value *zeta(struct aten_graph *g, struct aten_value *s, struct aten_value *q,
                               struct aten_value *sign)
{
    struct aten_value *low = aten_below(g, q, 0), *rest = aten_subtract(g, q, aten_apply(g, EW(FLOOR), q));
    struct aten_value *y = zeta_positive(g, s, aten_select(g, low, rest, q));
    struct aten_value *whole = zeta_positive(g, s, aten_scaled(g, rest, -1, 1));
    struct aten_value *before = zeta_positive(g, s, aten_select(g, low, aten_scaled(g, q, -1, 1), aten_number(g, 1)));
    struct aten_value *other = aten_add(g, y, aten_multiply(g, sign, aten_subtract(g, whole, before)));
    other = aten_select(g, is_whole(g, s), other, aten_number(g, NAN));
    y = aten_select(g, low, other, y);
    struct aten_value *pole = aten_apply2(g, EW(LOGICAL_AND), is_whole(g, q),
                                          aten_not(g, aten_apply2(g, EW(LOGICAL_GREATER_THAN), q, aten_number(g, 0))));
    return aten_select(g, pole, aten_number(g, INFINITY), y);
}

/* zeta(s, q) = special_zeta(self, other) */
bool aten_build_zeta(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_value *s = aten_in_double(g, n, 0), *q = aten_in_double(g, n, 1);
    struct aten_value *half = aten_scaled(g, s, 0.5, 0);
    struct aten_value *sign = aten_select(g, is_whole(g, half), aten_number(g, 1), aten_number(g, -1));
    struct aten_value *y = zeta(g, s, q, sign);
    y = aten_select(g, aten_below(g, s, 1), aten_number(g, NAN), y);
    y = aten_select(g, aten_is(g, s, 1), aten_number(g, INFINITY), y);
    y = aten_select(g, aten_test(g, EW(IS_NAN), s, 0), s, y);
    return aten_result(g, n, 0, aten_select(g, aten_test(g, EW(IS_NAN), q, 0), q, y));
}

/* polygamma(n, self): the (n + 1)-th derivative of log gamma, (-1)^(n + 1) n! zeta(n + 1, x) */
bool aten_build_polygamma(struct aten_graph *g, const struct aten_node *n)
{
    const int64_t order = aten_int(g, n, 0, 0);
    struct aten_value *x = aten_in_double(g, n, 1);
    if (order < 0)
        return aten_fail(g, "n is %lld, must not be negative", (long long)order);
    if (!order)
        return aten_result(g, n, 0, digamma(g, x));
    struct aten_value *sign = aten_number(g, order % 2 ? 1 : -1);
    struct aten_value *y = zeta(g, aten_number(g, (double)order + 1), x, sign);
    y = aten_scaled(g, y, (order % 2 ? 1 : -1) * tgamma((double)order + 1), 0);
    return aten_result(g, n, 0, aten_select(g, aten_test(g, EW(IS_NAN), x, 0), x, y));
}

/* ---- erf ---- */

/* e^(x^2) (1 - erf(x)): a continued fraction from 2.5 on, where the difference would cancel. */
static struct aten_value *scaled_erfc(struct aten_graph *g, struct aten_value *x)
{
    struct aten_value *far = aten_apply2(g, EW(LOGICAL_GREATER_THAN), x, aten_number(g, 2.5));
    struct aten_value *z = aten_select(g, far, x, aten_number(g, 2.5)), *y = z;
    for (int k = 24; k > 0; k--)
        y = aten_add(g, z, aten_divide(g, aten_number(g, k / 2.0), y));
    y = aten_divide(g, aten_number(g, 0.56418958354775628695), y);
    struct aten_value *near = aten_scaled(g, aten_apply(g, EW(ERF), x), -1, 1);
    near = aten_multiply(g, near, aten_apply(g, EW(EXP), aten_multiply(g, x, x)));
    return aten_select(g, far, y, near);
}

bool aten_build_erfc(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_value *x = aten_in_double(g, n, 0), *below = aten_scaled(g, aten_multiply(g, x, x), -1, 0);
    struct aten_value *far = aten_apply2(g, EW(LOGICAL_GREATER_THAN), x, aten_number(g, 2.5));
    struct aten_value *tail = aten_multiply(g, scaled_erfc(g, x), aten_apply(g, EW(EXP), below));
    return aten_result(g, n, 0, aten_select(g, far, tail, aten_scaled(g, aten_apply(g, EW(ERF), x), -1, 1)));
}

bool aten_build_erfcx(struct aten_graph *g, const struct aten_node *n)
{
    return aten_result(g, n, 0, scaled_erfc(g, aten_in_double(g, n, 0)));
}

/* log of the cumulative normal distribution */
bool aten_build_log_ndtr(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_value *x = aten_in_double(g, n, 0), *z = aten_scaled(g, x, M_SQRT1_2, 0);
    struct aten_value *far = aten_below(g, x, -1);
    struct aten_value *tail = aten_apply(g, EW(LOG), aten_scaled(g, scaled_erfc(g, aten_scaled(g, z, -1, 0)), 0.5, 0));
    tail = aten_subtract(g, tail, aten_multiply(g, z, z));
    /* 1 - e with e < 0.16: log(1 - e) = -2 atanh(e / (2 - e)) */
    struct aten_value *above =
        aten_multiply(g, scaled_erfc(g, z), aten_apply(g, EW(EXP), aten_scaled(g, aten_multiply(g, z, z), -1, 0)));
    struct aten_value *e = aten_scaled(g, above, 0.5, 0);
    e = aten_apply(g, EW(ATANH), aten_divide(g, e, aten_scaled(g, e, -1, 2)));
    struct aten_value *infinite = aten_is(g, x, INFINITY);
    return aten_result(
        g, n, 0, aten_select(g, far, tail, aten_select(g, infinite, aten_number(g, 0), aten_scaled(g, e, -2, 0))));
}

/* x with erf(x) = y: Winitzki's formula, which has two correct digits, followed by Newton steps. */
bool aten_build_erfinv(struct aten_graph *g, const struct aten_node *n)
{
    const double a = 0.147;
    struct aten_value *y = aten_in_double(g, n, 0), *away = aten_apply(g, EW(ABS), y);
    struct aten_value *one = aten_is(g, away, 1), *part;
    struct aten_value *l = aten_apply(g, EW(LOG), aten_scaled(g, aten_multiply(g, away, away), -1, 1));
    l = aten_select(g, one, aten_number(g, -1), l);
    part = aten_scaled(g, l, 0.5, 2 / (M_PI * a));
    struct aten_value *root =
        aten_apply(g, EW(SQRT), aten_subtract(g, aten_multiply(g, part, part), aten_scaled(g, l, 1 / a, 0)));
    struct aten_value *x = aten_apply(g, EW(SQRT), aten_apply(g, EW(ABS), aten_subtract(g, root, part)));
    for (int i = 0; i < 4; i++) {
        struct aten_value *over = aten_subtract(g, aten_apply(g, EW(ERF), x), away);
        struct aten_value *slope = aten_apply(g, EW(EXP), aten_multiply(g, x, x));
        x = aten_subtract(g, x, aten_multiply(g, over, aten_scaled(g, slope, 0.88622692545275801365, 0)));
    }
    x = aten_select(g, one, aten_number(g, INFINITY), x);
    return aten_result(g, n, 0, aten_select(g, aten_below(g, y, 0), aten_apply(g, EW(NEGATE), x), x));
}

/* x at which the cumulative normal distribution is p: Newton steps on the logarithm of the smaller tail. */
bool aten_build_ndtri(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_value *p = aten_in_double(g, n, 0), *other = aten_scaled(g, p, -1, 1);
    struct aten_value *least = aten_apply2(g, EW(MIN), p, other), *l = aten_apply(g, EW(LOG), least);
    struct aten_value *z =
        aten_apply(g, EW(SQRT), aten_apply2(g, EW(MAX), aten_scaled(g, l, -1, -M_LN2), aten_number(g, 0)));
    for (int i = 0; i < 5; i++) {
        struct aten_value *e = scaled_erfc(g, z);
        struct aten_value *log_tail =
            aten_subtract(g, aten_scaled(g, aten_apply(g, EW(LOG), e), 1, -M_LN2), aten_multiply(g, z, z));
        struct aten_value *step =
            aten_scaled(g, aten_multiply(g, aten_subtract(g, log_tail, l), e), 0.88622692545275801365, 0);
        z = aten_add(g, z, step);
    }
    z = aten_select(g, aten_is(g, least, 0), aten_number(g, INFINITY), aten_scaled(g, z, M_SQRT2, 0));
    z = aten_select(g, aten_below(g, p, 0.5), aten_apply(g, EW(NEGATE), z), z);
    struct aten_value *outside = aten_apply2(g, EW(LOGICAL_OR), aten_below(g, p, 0), aten_below(g, other, 0));
    return aten_result(g, n, 0, aten_select(g, outside, aten_number(g, NAN), z));
}

/* ---- entropy ---- */

/* -x log x */
bool aten_build_entr(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_value *x = aten_in_as(g, n, 0, aten_wide(n->outputs[0].type));
    if (!x)
        return false;
    struct aten_value *zero = aten_scalar(g, x->type, 0),
                      *y = aten_scaled(g, aten_multiply(g, x, aten_apply(g, EW(LOG), x)), -1, 0);
    y = aten_select(g, aten_apply2(g, EW(LOGICAL_EQUALS), x, zero), zero, y);
    y = aten_select(g, aten_apply2(g, EW(LOGICAL_LESS_THAN), x, zero), aten_scalar(g, x->type, -INFINITY), y);
    return aten_result(g, n, 0, y);
}

/* x log(1 + y); 0 where x is 0 */
bool aten_build_xlog1py(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_value *x = aten_in_double(g, n, 0), *y = aten_in_double(g, n, 1);
    struct aten_value *l = aten_scaled(g, aten_apply(g, EW(ATANH), aten_divide(g, y, aten_scaled(g, y, 1, 2))), 2, 0);
    struct aten_value *near = aten_below(g, aten_apply(g, EW(ABS), y), 0.5);
    l = aten_select(g, near, l, aten_apply(g, EW(LOG), aten_scaled(g, y, 1, 1)));
    struct aten_value *z = aten_select(g, aten_is(g, x, 0), aten_number(g, 0), aten_multiply(g, x, l));
    return aten_result(g, n, 0, aten_select(g, aten_test(g, EW(IS_NAN), y, 0), y, z));
}

/* ---- incomplete gamma ---- */

#define SERIES    110 /* number of terms, for x < a + NEAR and a < LARGE */
#define FRACTION  40  /* number of levels, for x >= a + NEAR */
#define NEAR      6
#define LARGE     24
#define NODES     64 /* of the integral, for a >= LARGE */
#define DEVIATION 9  /* number of standard deviations beyond which the integrand is negligible */

/* x^a e^-x / gamma(a) */
static struct aten_value *density(struct aten_graph *g, struct aten_value *a, struct aten_value *x,
                                  struct aten_value *log_gamma_a)
{
    struct aten_value *l = aten_subtract(g, aten_multiply(g, a, aten_apply(g, EW(LOG), x)), x);
    return aten_apply(g, EW(EXP), aten_subtract(g, l, log_gamma_a));
}

/* The sum of x^k / (a (a + 1) ... (a + k)) */
static struct aten_value *lower_series(struct aten_graph *g, struct aten_value *a, struct aten_value *x)
{
    struct aten_value *y = aten_number(g, 1);
    for (int k = SERIES; k > 0; k--)
        y = aten_scaled(g, aten_multiply(g, y, aten_divide(g, x, aten_scaled(g, a, 1, k))), 1, 1);
    return aten_divide(g, y, a);
}

static struct aten_value *upper_fraction(struct aten_graph *g, struct aten_value *a, struct aten_value *x)
{
    struct aten_value *base = aten_subtract(g, x, a), *y = aten_scaled(g, base, 1, 2 * FRACTION + 1);
    for (int k = FRACTION; k > 0; k--) {
        struct aten_value *top = aten_scaled(g, aten_scaled(g, a, -1, k), k, 0);
        y = aten_subtract(g, aten_scaled(g, base, 1, 2 * k - 1), aten_divide(g, top, y));
    }
    return aten_apply(g, EW(RECIP), y);
}

/* Gauss-Legendre nodes in (-1, 1) and their weights, by Newton steps. */
static void nodes_of(double *nodes, double *weights)
{
    for (int i = 0; i < NODES; i++) {
        double x = cos(M_PI * (i + 0.75) / (NODES + 0.5)), slope = 1;
        for (int step = 0; step < 8; step++) {
            double before = 1, here = x;
            for (int k = 1; k < NODES; k++) {
                const double next = ((2 * k + 1) * x * here - k * before) / (k + 1);
                before = here;
                here = next;
            }
            slope = NODES * (x * here - before) / (x * x - 1);
            x -= here / slope;
        }
        nodes[i] = x;
        weights[i] = 2 / ((1 - x * x) * slope * slope);
    }
}

/* The integral of t^(a - 1) e^-t / gamma(a) from `low` to `high`. */
static struct aten_value *integral(struct aten_graph *g, struct aten_value *a, struct aten_value *log_gamma_a,
                                   struct aten_value *low, struct aten_value *high)
{
    double nodes[NODES], weights[NODES];
    struct aten_value *half = aten_scaled(g, aten_subtract(g, high, low), 0.5, 0), *middle = aten_add(g, low, half);
    struct aten_value *sum = NULL;
    nodes_of(nodes, weights);
    for (int i = 0; i < NODES; i++) {
        struct aten_value *t = aten_add(g, middle, aten_scaled(g, half, nodes[i], 0));
        struct aten_value *part = aten_scaled(g, aten_divide(g, density(g, a, t, log_gamma_a), t), weights[i], 0);
        sum = sum ? aten_add(g, sum, part) : part;
    }
    return aten_multiply(g, sum, half);
}

/* igamma(a, x): the normalised integral of the gamma function up to x; igammac, parameter 1: from x on. */
bool aten_build_igamma(struct aten_graph *g, const struct aten_node *n)
{
    if (n->outputs[0].type == ATEN_FLOAT64)
        return aten_fail(g, "results in float64 are not supported");
    struct aten_value *given_a = aten_in_double(g, n, 0), *given_x = aten_in_double(g, n, 1);
    struct aten_value *one = aten_number(g, 1), *zero = aten_number(g, 0);
    struct aten_value *usual = aten_apply2(g, EW(LOGICAL_AND), aten_apply2(g, EW(LOGICAL_GREATER_THAN), given_a, zero),
                                           aten_apply2(g, EW(LOGICAL_GREATER_THAN), given_x, zero));
    struct aten_value *large = aten_not(g, aten_below(g, given_a, LARGE));
    struct aten_value *a = aten_select(g, usual, given_a, one), *x = aten_select(g, usual, given_x, one);
    struct aten_value *small_a = aten_select(g, large, one, a), *size = aten_log_gamma(g, a);
    struct aten_value *far = aten_not(g, aten_below(g, aten_subtract(g, x, small_a), NEAR));
    struct aten_value *outer = density(g, small_a, x, aten_select(g, large, zero, size));
    struct aten_value *before = aten_multiply(g, outer, lower_series(g, small_a, aten_select(g, far, one, x)));
    struct aten_value *behind =
        aten_multiply(g, outer, upper_fraction(g, small_a, aten_select(g, far, x, aten_scaled(g, small_a, 1, NEAR))));
    struct aten_value *y = n->parameter ? aten_select(g, far, behind, aten_subtract(g, one, before))
                                        : aten_select(g, far, aten_subtract(g, one, behind), before);
    struct aten_value *wide = aten_select(g, large, a, aten_number(g, LARGE)),
                      *away = aten_scaled(g, aten_apply(g, EW(SQRT), wide), DEVIATION, 0);
    struct aten_value *least = aten_apply2(g, EW(MAX), aten_subtract(g, wide, away), aten_number(g, 1e-3));
    struct aten_value *most = aten_scaled(g, aten_add(g, wide, away), 1, 4 * DEVIATION);
    struct aten_value *inside = aten_apply2(g, EW(MIN), aten_apply2(g, EW(MAX), x, least), most);
    struct aten_value *sum = n->parameter ? integral(g, wide, aten_log_gamma(g, wide), inside, most)
                                          : integral(g, wide, aten_log_gamma(g, wide), least, inside);
    y = aten_select(g, large, sum, y);
    /* Limits: the lower integral is 0 at x = 0, and 1 if a is 0. */
    struct aten_value *zero_a = aten_is(g, given_a, 0), *zero_x = aten_is(g, given_x, 0);
    struct aten_value *all = aten_number(g, n->parameter ? 0 : 1), *none = aten_number(g, n->parameter ? 1 : 0);
    struct aten_value *nan = aten_number(g, NAN), *far_x = is_infinite(g, given_x), *far_a = is_infinite(g, given_a);
    y = aten_select(g, far_x, aten_select(g, far_a, nan, all), aten_select(g, far_a, none, y));
    y = aten_select(g, zero_x, aten_select(g, zero_a, nan, none), aten_select(g, zero_a, all, y));
    struct aten_value *bad = aten_apply2(g, EW(LOGICAL_OR), aten_below(g, given_a, 0), aten_below(g, given_x, 0));
    bad = aten_apply2(g, EW(LOGICAL_OR), bad, aten_test(g, EW(IS_NAN), aten_add(g, given_a, given_x), 0));
    return aten_result(g, n, 0, aten_select(g, bad, nan, y));
}
