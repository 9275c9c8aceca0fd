// SPDX-License-Identifier: Apache-2.0
/* The operations of kernels/map/mapops.def on floating-point registers. Included for float and for double: REAL is the
 * type, and only float has the TRANSCENDENTAL ones. */

REAL min_number(REAL a, REAL b)
{
    return a < b || is_nan(b) ? a : b;
}

REAL max_number(REAL a, REAL b)
{
    return a > b || is_nan(b) ? a : b;
}

REAL mod_floor(REAL a, REAL b)
{
    REAL rest = fmod_of(a, b);
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

REAL truth(bool value, REAL one)
{
    return value ? one : one - one;
}

REAL round_away(REAL a)
{
    REAL whole = trunc(a);
    return abs(a - whole) >= 0.5 ? whole + sign(a) : whole;
}

bool infinite_of_sign(REAL a, REAL p)
{
    return is_inf(a) && (a > 0 ? !(p < 0) : !(p > 0));
}

/* What the expressions of mapops.def know besides. */
#define absolute        abs
#define muladd(x, y, z) ((x) * (y) + (z))

REAL eval_basic(uint code, REAL a, REAL b, REAL c, REAL p, REAL q)
{
    switch (code) {
    MAP_EXPRS
    case KERN_MAP_CONST:
        return p;
    MAP_TRUTHS
    case KERN_MAP_IS_INF:
        return truth(infinite_of_sign(a, p), REAL(1));
    case KERN_MAP_MOD_TRUNC:
        return fmod_of(a, b);
    case KERN_MAP_MOD_FLOOR:
        return mod_floor(a, b);
    case KERN_MAP_MEAN:
        return a / 2 + b / 2;
    case KERN_MAP_MULADD:
        return fma(a, p, q);
    case KERN_MAP_FMA:
        return fma(a, b, c);
    case KERN_MAP_SELECT:
        return a != 0 || is_nan(a) ? b : c;
    case KERN_MAP_SIGN:
        return is_nan(a) ? p - p : sign(a);
    case KERN_MAP_SQRT:
        return a < 0 ? nan_like(a) : sqrt(a);
    case KERN_MAP_CEIL:
        return ceil(a);
    case KERN_MAP_FLOOR:
        return floor(a);
    case KERN_MAP_TRUNC:
        return trunc(a);
    case KERN_MAP_RINT:
        return roundEven(a);
    case KERN_MAP_ROUND_AWAY:
        return round_away(a);
    default:
        return a;
    }
}

#ifdef TRANSCENDENTAL
REAL sigmoid(REAL a)
{
    REAL e = exp_of(-abs(a));
    return a < 0 ? e / (1 + e) : 1 / (1 + e);
}

/* ln(1 + e^a) without overflow */
REAL softplus(REAL a)
{
    return is_nan(a) ? a : max(a, REAL(0)) + log1p_of(exp_of(-abs(a)));
}

REAL eval_math(uint code, REAL a, REAL b)
{
    switch (code) {
    case KERN_MAP_POW:
        return pow_of(a, b);
    case KERN_MAP_ATAN2:
        return atan2_of(a, b);
    case KERN_MAP_EXP:
        return exp_of(a);
    case KERN_MAP_LOG:
        return log_of(a);
    case KERN_MAP_SIN:
        return sin_of(a);
    case KERN_MAP_COS:
        return cos_of(a);
    case KERN_MAP_TAN:
        return tan_of(a);
    case KERN_MAP_ASIN:
        return asin_of(a);
    case KERN_MAP_ACOS:
        return acos_of(a);
    case KERN_MAP_ATAN:
        return atan_of(a);
    case KERN_MAP_SINH:
        return sinh_of(a);
    case KERN_MAP_COSH:
        return cosh_of(a);
    case KERN_MAP_TANH:
        return tanh_of(a);
    case KERN_MAP_ASINH:
        return asinh_of(a);
    case KERN_MAP_ACOSH:
        return acosh_of(a);
    case KERN_MAP_ATANH:
        return atanh_of(a);
    default:
        return erf_of(a);
    }
}

REAL eval_smooth(uint code, REAL a, REAL p, REAL q)
{
    switch (code) {
    case KERN_MAP_ELU:
        return a < 0 ? p * expm1_of(a) : a;
    case KERN_MAP_SELU:
        return a > 0 ? q * a : q * p * expm1_of(a);
    case KERN_MAP_CELU:
        return is_nan(a) ? a : max(REAL(0), a) + min(REAL(0), p * expm1_of(a / p));
    case KERN_MAP_SIGMOID:
        return sigmoid(a);
    case KERN_MAP_SOFTPLUS:
        return softplus(p * a) / p;
    case KERN_MAP_PSOFTPLUS:
        return p * softplus(q * a);
    case KERN_MAP_STANH:
        return p * tanh_of(q * a);
    case KERN_MAP_GELU:
        return a / 2 * erfc_of(-a * 0.707106781);
    default:
        return a * sigmoid(p * a);
    }
}
#endif

REAL eval_real(uint code, REAL a, REAL b, REAL c, REAL p, REAL q)
{
    switch (code) {
#ifdef TRANSCENDENTAL
    case KERN_MAP_POW:
    case KERN_MAP_ATAN2:
    case KERN_MAP_EXP:
    case KERN_MAP_LOG:
    case KERN_MAP_SIN:
    case KERN_MAP_COS:
    case KERN_MAP_TAN:
    case KERN_MAP_ASIN:
    case KERN_MAP_ACOS:
    case KERN_MAP_ATAN:
    case KERN_MAP_SINH:
    case KERN_MAP_COSH:
    case KERN_MAP_TANH:
    case KERN_MAP_ASINH:
    case KERN_MAP_ACOSH:
    case KERN_MAP_ATANH:
    case KERN_MAP_ERF:
        return eval_math(code, a, b);
    case KERN_MAP_ELU:
    case KERN_MAP_SELU:
    case KERN_MAP_CELU:
    case KERN_MAP_SIGMOID:
    case KERN_MAP_SOFTPLUS:
    case KERN_MAP_PSOFTPLUS:
    case KERN_MAP_STANH:
    case KERN_MAP_GELU:
    case KERN_MAP_SWISH:
        return eval_smooth(code, a, p, q);
#endif
    default:
        return eval_basic(code, a, b, c, p, q);
    }
}
