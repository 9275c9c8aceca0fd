/* SPDX-License-Identifier: Apache-2.0 */
/* Bessel functions and Airy's, in FLOAT64: power series near 0, asymptotic series far from it; both are more precise
 * there than FLOAT32 requires. */
#include "special.h"

#include <math.h>

#define EW(name) DML_OPERATOR_ELEMENT_WISE_##name

#define TERMS  48 /* of power series */
#define HANKEL 16 /* of asymptotic series */

/* The argument; fails for results in FLOAT64, which would be less precise than their type. */
static struct aten_value *argument(struct aten_graph *g, const struct aten_node *n)
{
    if (n->outputs[0].type == ATEN_FLOAT64) {
        aten_fail(g, "results in float64 are not supported");
        return NULL;
    }
    return aten_in_double(g, n, 0);
}

/* (x / 2)^order times the sum of sign^k (x / 2)^(2k) / (k! (k + order)!), each term times weights[k] if given. */
static struct aten_value *power_series(struct aten_graph *g, struct aten_value *x, int order, double sign,
                                       const double *weights)
{
    double c[TERMS], factor = 1;
    for (int k = 0; k < TERMS; k++) {
        c[k] = weights ? factor * weights[k] : factor;
        factor *= sign / ((k + 1.0) * (k + 1 + order));
    }
    struct aten_value *half = aten_scaled(g, x, 0.5, 0);
    struct aten_value *y = aten_polynomial(g, aten_multiply(g, half, half), c, TERMS);
    return order ? aten_multiply(g, y, half) : y;
}

/* a(k) of Hankel's expansions: product of (4 order^2 - (2j - 1)^2) / (8j), j to k. */
static void hankel(int order, double *out)
{
    out[0] = 1;
    for (int k = 1; k < HANKEL; k++)
        out[k] = out[k - 1] * (4.0 * order * order - (2.0 * k - 1) * (2.0 * k - 1)) / (8.0 * k);
}

static struct aten_value *at_least(struct aten_graph *g, struct aten_value *x, double least)
{
    return aten_apply2(g, EW(MAX), x, aten_number(g, least));
}

static struct aten_value *at_most(struct aten_graph *g, struct aten_value *x, double most)
{
    return aten_apply2(g, EW(MIN), x, aten_number(g, most));
}

/* ---- oscillating functions ---- */

#define FAR 12

/* J or Y (`second`) of x >= FAR: the cosine or sine of x - (2 order + 1) pi / 4, in two series. */
static struct aten_value *oscillating_far(struct aten_graph *g, struct aten_value *x, int order, bool second)
{
    double a[HANKEL], even[HANKEL / 2], odd[HANKEL / 2];
    hankel(order, a);
    for (int k = 0; k < HANKEL / 2; k++) {
        even[k] = (k % 2 ? -1 : 1) * a[2 * k];
        odd[k] = (k % 2 ? -1 : 1) * a[2 * k + 1];
    }
    x = at_least(g, x, FAR);
    struct aten_value *r = aten_apply(g, EW(RECIP), x), *square = aten_multiply(g, r, r);
    struct aten_value *p = aten_polynomial(g, square, even, HANKEL / 2);
    struct aten_value *q = aten_multiply(g, r, aten_polynomial(g, square, odd, HANKEL / 2));
    struct aten_value *w = aten_scaled(g, x, 1, -(2 * order + 1) * M_PI_4);
    struct aten_value *cosine = aten_apply(g, EW(COS), w), *sine = aten_apply(g, EW(SIN), w);
    struct aten_value *wave = second ? aten_add(g, aten_multiply(g, p, sine), aten_multiply(g, q, cosine))
                                     : aten_subtract(g, aten_multiply(g, p, cosine), aten_multiply(g, q, sine));
    struct aten_value *y = aten_multiply(g, wave, aten_apply(g, EW(SQRT), aten_scaled(g, r, M_2_PI, 0)));
    return aten_select(g, aten_is(g, x, INFINITY), aten_number(g, 0), y);
}

/* bessel_j0, bessel_j1; parameter: the order. */
bool aten_build_bessel_j(struct aten_graph *g, const struct aten_node *n)
{
    const int order = (int)n->parameter;
    struct aten_value *x = argument(g, n), *away = aten_apply(g, EW(ABS), x), *near = aten_below(g, away, FAR);
    struct aten_value *far = oscillating_far(g, away, order, false);
    if (order)
        far = aten_multiply(g, far, aten_apply(g, EW(SIGN), x));
    struct aten_value *series = power_series(g, aten_select(g, near, x, aten_number(g, 0)), order, -1, NULL);
    return aten_result(g, n, 0, aten_select(g, near, series, aten_add(g, far, aten_scaled(g, x, 0, 0))));
}

/* Harmonic numbers, the weights of the second solutions' series. */
static void harmonic(int order, double *out)
{
    double sum = 0;
    for (int k = 0; k < TERMS; k++) {
        out[k] = order ? 2 * sum + 1.0 / (k + 1) : sum;
        sum += 1.0 / (k + 1);
    }
}

#define EULER 0.57721566490153286061

/* bessel_y0, bessel_y1 */
bool aten_build_bessel_y(struct aten_graph *g, const struct aten_node *n)
{
    const int order = (int)n->parameter;
    double weights[TERMS];
    struct aten_value *x = argument(g, n), *near = aten_below(g, x, FAR);
    struct aten_value *z = at_most(g, x, FAR),
                      *l = aten_scaled(g, aten_apply(g, EW(LOG), aten_scaled(g, z, 0.5, 0)), 1, EULER);
    harmonic(order, weights);
    struct aten_value *y = aten_multiply(g, aten_scaled(g, l, 2, 0), power_series(g, z, order, -1, NULL));
    y = aten_subtract(g, y, aten_scaled(g, power_series(g, z, order, -1, weights), order ? 1 : 2, 0));
    if (order)
        y = aten_subtract(g, y, aten_divide(g, aten_number(g, 2), z));
    y = aten_select(g, near, aten_scaled(g, y, M_1_PI, 0), oscillating_far(g, x, order, true));
    y = aten_select(g, aten_is(g, x, 0), aten_number(g, -INFINITY), y);
    y = aten_select(g, aten_below(g, x, 0), aten_number(g, NAN), y);
    return aten_result(g, n, 0, aten_select(g, aten_test(g, EW(IS_NAN), x, 0), x, y));
}

/* ---- growing and decaying functions ---- */

/* The sum of sign^k a(k) x^-k, divided by sqrt(x). */
static struct aten_value *exponential_far(struct aten_graph *g, struct aten_value *x, int order, double sign)
{
    double a[HANKEL];
    hankel(order, a);
    for (int k = 1; k < HANKEL; k += 2)
        a[k] *= sign;
    struct aten_value *r = aten_apply(g, EW(RECIP), x);
    return aten_multiply(g, aten_polynomial(g, r, a, HANKEL), aten_apply(g, EW(SQRT), r));
}

#define GROWN 20

/* i0, i1: parameter bit 0: the order; bit 1: times e^-|x| */
bool aten_build_bessel_i(struct aten_graph *g, const struct aten_node *n)
{
    const int order = (int)(n->parameter & 1);
    const bool scaled = n->parameter & 2;
    struct aten_value *x = argument(g, n), *away = aten_apply(g, EW(ABS), x), *near = aten_below(g, away, GROWN);
    struct aten_value *series = power_series(g, at_most(g, away, GROWN), order, 1, NULL);
    struct aten_value *far = exponential_far(g, at_least(g, away, GROWN), order, -1);
    far = aten_scaled(g, far, 0.39894228040143267794, 0);
    if (scaled)
        series = aten_multiply(g, series, aten_apply(g, EW(EXP), aten_scaled(g, away, -1, 0)));
    else
        far = aten_multiply(g, far, aten_apply(g, EW(EXP), away));
    struct aten_value *y = aten_select(g, near, series, far);
    if (!scaled)
        y = aten_select(g, aten_is(g, away, INFINITY), away, y);
    if (order)
        y = aten_multiply(g, y, aten_apply(g, EW(SIGN), x));
    return aten_result(g, n, 0, aten_select(g, aten_test(g, EW(IS_NAN), x, 0), x, y));
}

#define FALLEN 8

/* modified_bessel_k0, k1: parameter bit 0: the order; bit 1: times e^x */
bool aten_build_bessel_k(struct aten_graph *g, const struct aten_node *n)
{
    const int order = (int)(n->parameter & 1);
    const bool scaled = n->parameter & 2;
    double weights[TERMS];
    struct aten_value *x = argument(g, n), *near = aten_below(g, x, FALLEN), *z = at_most(g, x, FALLEN);
    struct aten_value *l = aten_scaled(g, aten_apply(g, EW(LOG), aten_scaled(g, z, 0.5, 0)), 1, EULER);
    harmonic(order, weights);
    struct aten_value *y = aten_multiply(g, l, power_series(g, z, order, 1, NULL));
    struct aten_value *rest = power_series(g, z, order, 1, weights);
    y = order ? aten_add(g, aten_subtract(g, y, aten_scaled(g, rest, 0.5, 0)), aten_apply(g, EW(RECIP), z))
              : aten_subtract(g, rest, y);
    struct aten_value *far = exponential_far(g, at_least(g, x, FALLEN), order, 1);
    far = aten_scaled(g, far, 1.25331413731550025121, 0);
    if (scaled)
        y = aten_multiply(g, y, aten_apply(g, EW(EXP), z));
    else
        far = aten_multiply(g, far, aten_apply(g, EW(EXP), aten_scaled(g, x, -1, 0)));
    y = aten_select(g, near, y, far);
    y = aten_select(g, aten_is(g, x, 0), aten_number(g, INFINITY), y);
    y = aten_select(g, aten_below(g, x, 0), aten_number(g, NAN), y);
    return aten_result(g, n, 0, aten_select(g, aten_test(g, EW(IS_NAN), x, 0), x, y));
}

/* sin(x) / x */
bool aten_build_spherical_bessel(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_value *x = aten_in_double(g, n, 0);
    struct aten_value *y = aten_divide(g, aten_apply(g, EW(SIN), x), x);
    y = aten_select(g, aten_is(g, x, 0), aten_number(g, 1), y);
    struct aten_value *far = aten_test(g, EW(IS_INFINITY), x, DML_IS_INFINITY_MODE_EITHER);
    return aten_result(g, n, 0, aten_select(g, far, aten_number(g, 0), y));
}

/* ---- Airy functions ---- */

#define AIRY_FAR 6

/* u(k) = (6k - 5)(6k - 3)(6k - 1) / (216 k (2k - 1)) u(k - 1) */
static void airy_terms(double *out)
{
    out[0] = 1;
    for (int k = 1; k < HANKEL; k++)
        out[k] = out[k - 1] * (6.0 * k - 5) * (6.0 * k - 3) * (6.0 * k - 1) / (216.0 * k * (2 * k - 1));
}

/* Ai(0) times one series in x^3 and Ai'(0) x times another */
static struct aten_value *airy_near(struct aten_graph *g, struct aten_value *x)
{
    double f[TERMS], d[TERMS];
    f[0] = 0.35502805388781723926;
    d[0] = -0.25881940379280679841;
    for (int k = 1; k < TERMS; k++) {
        f[k] = f[k - 1] / ((3.0 * k) * (3 * k - 1));
        d[k] = d[k - 1] / ((3.0 * k) * (3 * k + 1));
    }
    struct aten_value *cube = aten_multiply(g, x, aten_multiply(g, x, x));
    return aten_add(g, aten_polynomial(g, cube, f, TERMS), aten_multiply(g, x, aten_polynomial(g, cube, d, TERMS)));
}

bool aten_build_airy_ai(struct aten_graph *g, const struct aten_node *n)
{
    double u[HANKEL], even[HANKEL / 2], odd[HANKEL / 2];
    struct aten_value *x = argument(g, n), *away = at_least(g, aten_apply(g, EW(ABS), x), AIRY_FAR);
    struct aten_value *root = aten_apply(g, EW(SQRT), away),
                      *zeta = aten_scaled(g, aten_multiply(g, away, root), 2.0 / 3, 0);
    struct aten_value *r = aten_apply(g, EW(RECIP), zeta), *square = aten_multiply(g, r, r);
    struct aten_value *size = aten_apply(g, EW(RECIP), aten_scaled(g, aten_apply(g, EW(SQRT), root), sqrt(M_PI), 0));
    airy_terms(u);
    for (int k = 0; k < HANKEL / 2; k++) {
        even[k] = (k % 2 ? -1 : 1) * u[2 * k];
        odd[k] = (k % 2 ? -1 : 1) * u[2 * k + 1];
    }
    struct aten_value *w = aten_scaled(g, zeta, 1, -M_PI_4);
    struct aten_value *p = aten_polynomial(g, square, even, HANKEL / 2);
    struct aten_value *q = aten_multiply(g, r, aten_polynomial(g, square, odd, HANKEL / 2));
    struct aten_value *wave =
        aten_add(g, aten_multiply(g, p, aten_apply(g, EW(COS), w)), aten_multiply(g, q, aten_apply(g, EW(SIN), w)));
    for (int k = 1; k < HANKEL; k += 2)
        u[k] = -u[k];
    struct aten_value *fall =
        aten_multiply(g, aten_polynomial(g, r, u, HANKEL), aten_apply(g, EW(EXP), aten_scaled(g, zeta, -1, 0)));
    struct aten_value *low = aten_below(g, x, 0);
    struct aten_value *y = aten_multiply(g, size, aten_select(g, low, wave, aten_scaled(g, fall, 0.5, 0)));
    struct aten_value *near = aten_below(g, aten_apply(g, EW(ABS), x), AIRY_FAR);
    y = aten_select(g, near, airy_near(g, aten_select(g, near, x, aten_number(g, 0))), y);
    y = aten_select(g, aten_test(g, EW(IS_INFINITY), x, DML_IS_INFINITY_MODE_EITHER), aten_number(g, NAN), y);
    return aten_result(g, n, 0, aten_select(g, aten_test(g, EW(IS_NAN), x, 0), x, y));
}
