// SPDX-License-Identifier: Apache-2.0
/* The functions of kernels/core/mapops.def in FLOAT64 beyond arithmetic, with errors of a few units in the last place;
 * powers are exact where possible, since they may be converted to integers. Compilers inline all functions: exp_pair,
 * log_pair and similar are each called in one place only. */
#include "shaders/core/math_f64.glsl"
#include "shaders/core/pairs_f64.glsl"

#define ROOT_OF_HALF 0.70710678118654757lf
#define INFINITY_F64 packDouble2x32(uvec2(0u, 0x7ff00000u))

/* ---- angles ---- */

double circular(uint code, double x)
{
    int quadrant;
    if (is_nan(x) || is_inf(x))
        return nan_like(x);
    if (x == 0.0lf && code != KERN_MAP_COS)
        return x;
    dvec2 r = reduce_pair(x, quadrant);
    double z = r.x * r.x;
    double sine = r.x + (r.x * z * poly_sin(z) + r.y * (1.0lf - 0.5lf * z));
    precise double h = 0.5lf * z, w = 1.0lf - h;
    precise double cosine = w + (((1.0lf - w) - h) + (z * z * poly_cos(z) - r.x * r.y));
    bool swapped = (quadrant & 1) != 0;
    double s = swapped ? cosine : sine, c = swapped ? sine : cosine;
    s = (quadrant & 2) != 0 ? -s : s;
    c = ((quadrant + 1) & 2) != 0 ? -c : c;
    return code == KERN_MAP_SIN ? s : code == KERN_MAP_COS ? c : s / c;
}

double arc_sine(bool complement, double x)
{
    double a = abs(x);
    bool small = a <= 0.5lf;
    if (is_nan(x) || a > 1.0lf)
        return nan_like(x);
    double z = small ? a * a : 0.5lf * (1.0lf - a), root = small ? a : sqrt(z);
    double y = root + root * z * poly_asin(z);
    if (!complement)
        return with_sign(small ? y : HALF_PI_PAIR.x - (2.0lf * y - HALF_PI_PAIR.y), x);
    if (small)
        return HALF_PI_PAIR.x - (with_sign(y, x) - HALF_PI_PAIR.y);
    return x < 0.0lf ? 2.0lf * (HALF_PI_PAIR.x - (y - HALF_PI_PAIR.y)) : 2.0lf * y;
}

/* Of the point (x, y): atan2 */
double angle_of(double y, double x)
{
    double ax = abs(x), ay = abs(y), least = min(ax, ay), most = max(ax, ay);
    if (is_nan(x) || is_nan(y))
        return nan_like(x);
    double t = least == most && most != 0.0lf ? 1.0lf : most == 0.0lf || is_inf(most) ? 0.0lf : least / most;
    double eighths = 0.0lf; /* of a turn, to which the angle is relative */
    if (t > 0.41421356237309503lf) {
        eighths = 1.0lf;
        t = (t - 1.0lf) / (t + 1.0lf);
    }
    double z = t * t, rest = t + t * z * poly_atan(z);
    if (ay > ax) {
        eighths = 2.0lf - eighths;
        rest = -rest;
    }
    if ((unpackDouble2x32(x).y & 0x80000000u) != 0u) {
        eighths = 4.0lf - eighths;
        rest = -rest;
    }
    double angle = eighths * (0.5lf * HALF_PI_PAIR.x) + (rest + eighths * (0.5lf * HALF_PI_PAIR.y));
    return with_sign(angle, y);
}

/* ---- logarithms and exponentials ---- */

bool takes_log(uint code)
{
    return code == KERN_MAP_LOG || code == KERN_MAP_ASINH || code == KERN_MAP_ACOSH || code == KERN_MAP_ATANH;
}

/* The argument of the logarithm, times 2^exponent. If there is none, log_result and pow_result handle it. */
dvec2 log_argument(uint code, double a, out int exponent)
{
    double x = abs(a), t = x - 1.0lf;
    bool large = x > 1e9lf, area = code == KERN_MAP_ASINH || code == KERN_MAP_ACOSH;
    exponent = area ? 1 : 0;
    if (code == KERN_MAP_ATANH)
        return sum_of(1.0lf, 2.0lf * x / (1.0lf - x));
    if (area && !large) {
        exponent = 0;
        return sum_of(1.0lf, code == KERN_MAP_ASINH ? x + x * x / (1.0lf + sqrt(1.0lf + x * x))
                                                    : t + sqrt(t * (t + 2.0lf)));
    }
    if (unpackDouble2x32(x).y < 0x00100000u) {
        exponent = -54;
        x *= 18014398509481984.0lf;
    }
    return dvec2(x, 0.0lf);
}

double log_result(uint code, double a, double ln)
{
    bool outside = code == KERN_MAP_LOG ? a < 0.0lf : code == KERN_MAP_ACOSH && a < 1.0lf;
    if (is_nan(a) || outside || (code == KERN_MAP_ATANH && abs(a) > 1.0lf))
        return nan_like(a);
    if (code == KERN_MAP_LOG && a == 0.0lf)
        return -INFINITY_F64;
    if (is_inf(a))
        return a;
    if (code == KERN_MAP_ATANH)
        ln = abs(a) == 1.0lf ? INFINITY_F64 : 0.5lf * ln;
    return code == KERN_MAP_ASINH || code == KERN_MAP_ATANH ? with_sign(ln, a) : ln;
}

/* b * ln: beyond 2^70 the size of b does not matter. */
dvec2 pow_argument(dvec2 ln, double b)
{
    return times(ln, dvec2(clamp(b, -1180591620717411303424.0lf, 1180591620717411303424.0lf), 0.0lf));
}

double pow_result(double a, double b, double power)
{
    double x = abs(a);
    bool whole = b == floor_of(b), odd = whole && abs(b) < 9007199254740992.0lf && floor_of(0.5lf * b) != 0.5lf * b;
    if (b == 0.0lf || a == 1.0lf)
        return 1.0lf;
    if (is_nan(a) || is_nan(b))
        return nan_like(a);
    if (is_inf(b))
        return x == 1.0lf ? 1.0lf : (x > 1.0lf) == (b > 0.0lf) ? INFINITY_F64 : 0.0lf;
    if (a < 0.0lf && !whole && !is_inf(a))
        return nan_like(a);
    if (x == 0.0lf || is_inf(x))
        power = (x == 0.0lf) == (b < 0.0lf) ? INFINITY_F64 : 0.0lf;
    return odd ? with_sign(power, a) : power;
}

/* a * b at most 40: hyperbolic tangents are 1 from there on. */
double tanh_argument(double a)
{
    a = abs(a);
    return a > 20.0lf ? 40.0lf : 2.0lf * a;
}

/* The argument of the exponential. */
dvec2 exp_argument(uint code, double a, double b, double p, double q, dvec2 ln)
{
    double x = abs(a);
    switch (code) {
    case KERN_MAP_POW:
        return pow_argument(ln, b);
    case KERN_MAP_ERF:
    case KERN_MAP_GELU:
        return -product_of(a, code == KERN_MAP_ERF ? a : 0.5lf * a);
    case KERN_MAP_SINH:
    case KERN_MAP_COSH: { /* half of e^x, which may overflow itself */
        dvec2 y = sum_of(x, -LN2_PAIR.x);
        return code == KERN_MAP_SINH && x < 20.0lf ? dvec2(x, 0.0lf) : dvec2(y.x, y.y - LN2_PAIR.y);
    }
    case KERN_MAP_TANH:
        x = tanh_argument(a);
        break;
    case KERN_MAP_STANH:
        x = tanh_argument(q * a);
        break;
    case KERN_MAP_CELU:
        x = a / p;
        break;
    case KERN_MAP_SIGMOID:
        x = -x;
        break;
    case KERN_MAP_SWISH:
    case KERN_MAP_SOFTPLUS:
        x = -abs(p * a);
        break;
    case KERN_MAP_PSOFTPLUS:
        x = -abs(q * a);
        break;
    default:
        x = a;
    }
    return dvec2(x, 0.0lf);
}

/* e = e^-|a| */
double sigmoid(double a, double e)
{
    return a < 0.0lf ? e / (1.0lf + e) : 1.0lf / (1.0lf + e);
}

/* power = e^(-a^2); complement: erfc */
double error_function(bool complement, double a, double power)
{
    double x = abs(a);
    if (x < 0.5lf) {
        double y = a * poly_erf(a * a);
        return complement ? 1.0lf - y : y;
    }
    double tail = x > 27.5lf ? 0.0lf : power * poly_erfcx((x - 4.0lf) / (x + 4.0lf)) / (1.0lf + 2.0lf * x);
    if (complement)
        return a < 0.0lf ? 2.0lf - tail : tail;
    return with_sign(1.0lf - tail, a);
}

/* power, less_one: e^x and e^x - 1 of exp_argument's x */
double exp_result(uint code, double a, double b, double p, double q, double power, double less_one)
{
    switch (code) {
    case KERN_MAP_POW:
        return pow_result(a, b, power);
    case KERN_MAP_SINH:
        return with_sign(abs(a) < 20.0lf ? 0.5lf * (less_one + less_one / (less_one + 1.0lf)) : power, a);
    case KERN_MAP_COSH:
        return power + 0.25lf / power;
    case KERN_MAP_TANH:
        return with_sign(less_one / (less_one + 2.0lf), a);
    case KERN_MAP_STANH:
        return p * with_sign(less_one / (less_one + 2.0lf), q * a);
    case KERN_MAP_ELU:
        return a < 0.0lf ? p * less_one : a;
    case KERN_MAP_SELU:
        return a > 0.0lf ? q * a : q * p * less_one;
    case KERN_MAP_CELU:
        return max(0.0lf, a) + min(0.0lf, p * less_one);
    case KERN_MAP_SIGMOID:
        return sigmoid(a, power);
    case KERN_MAP_SWISH:
        return a * sigmoid(p * a, power);
    case KERN_MAP_ERF:
        return error_function(false, a, power);
    case KERN_MAP_GELU:
        return 0.5lf * a * error_function(true, -a * ROOT_OF_HALF, power);
    default:
        return power;
    }
}

double softplus_result(uint code, double a, double p, double q, double ln)
{
    double x = (code == KERN_MAP_SOFTPLUS ? p : q) * a;
    double y = is_nan(x) ? x : max(x, 0.0lf) + ln;
    return code == KERN_MAP_SOFTPLUS ? y / p : p * y;
}

double exponential(uint code, double a, double b, double p, double q)
{
    bool logs = takes_log(code), soft = code == KERN_MAP_SOFTPLUS || code == KERN_MAP_PSOFTPLUS;
    int exponent = 0;
    dvec2 from = dvec2(1.0lf, 0.0lf), ln, power, less_one;
    if (is_nan(a) && code != KERN_MAP_POW)
        return a;
    if (logs || code == KERN_MAP_POW)
        from = log_argument(code, a, exponent);
    for (uint rounds = soft ? 2u : 1u;; rounds--) { /* softplus: ln(1 + e^x) in the second */
        ln = log_pair(from, exponent);
        if (logs || (soft && rounds == 1u))
            break;
        exp_pair(exp_argument(code, a, b, p, q, ln), power, less_one);
        if (rounds == 1u)
            break;
        from = sum_of(1.0lf, power.x);
    }
    if (logs)
        return log_result(code, a, ln.x);
    return soft ? softplus_result(code, a, p, q, ln.x) : exp_result(code, a, b, p, q, power.x, less_one.x);
}

double eval_math(uint code, double a, double b, double p, double q)
{
    switch (code) {
    case KERN_MAP_SIN:
    case KERN_MAP_COS:
    case KERN_MAP_TAN:
        return circular(code, a);
    case KERN_MAP_ASIN:
    case KERN_MAP_ACOS:
        return arc_sine(code == KERN_MAP_ACOS, a);
    case KERN_MAP_ATAN:
    case KERN_MAP_ATAN2:
        return angle_of(a, code == KERN_MAP_ATAN ? 1.0lf : b);
    default:
        return exponential(code, a, b, p, q);
    }
}
