// SPDX-License-Identifier: Apache-2.0
/* The operations of kernels/core/mapops.def on floating-point registers. Included for float and for double: REAL is the
 * type; its eval_math has the functions beyond arithmetic. */

REAL min_number(REAL a, REAL b)
{
    return a < b || is_nan(b) ? a : b;
}

REAL max_number(REAL a, REAL b)
{
    return a > b || is_nan(b) ? a : b;
}

REAL at_least(REAL a, REAL bound)
{
    return a < bound ? bound : a;
}

REAL at_most(REAL a, REAL bound)
{
    return a > bound ? bound : a;
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
    REAL whole = trunc_of(a);
    return abs(a - whole) >= 0.5 ? whole + sign(a) : whole;
}

bool infinite_of_sign(REAL a, REAL p)
{
    return is_inf(a) && (a > 0 ? !(p < 0) : !(p > 0));
}

/* Each operation rounds its result: the next one must not use an unrounded product (fma), or x * x - x * x is not
 * zero and an overflow is not detected. Therefore results in MAP_EXPRS (codes.awk) are `precise`.
 * Additional functions for the expressions of mapops.def: */
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
    case KERN_MAP_MEAN: {
        precise REAL y = a / 2 + b / 2;
        return y;
    }
    case KERN_MAP_MULADD:
        return fma(a, p, q);
    case KERN_MAP_FMA:
        return fma(a, b, c);
    case KERN_MAP_SELECT:
        return nonzero(a) ? b : c;
    case KERN_MAP_SIGN:
        return is_nan(a) ? p - p : sign(a);
    case KERN_MAP_SQRT:
        return a < 0 ? nan_like(a) : sqrt(a);
    case KERN_MAP_CEIL:
        return ceil_of(a);
    case KERN_MAP_FLOOR:
        return floor_of(a);
    case KERN_MAP_TRUNC:
        return trunc_of(a);
    case KERN_MAP_RINT:
        return rint_of(a);
    case KERN_MAP_ROUND_AWAY:
        return round_away(a);
    default:
        return a;
    }
}

REAL eval_real(uint code, REAL a, REAL b, REAL c, REAL p, REAL q)
{
    switch (code) {
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
    case KERN_MAP_ELU:
    case KERN_MAP_SELU:
    case KERN_MAP_CELU:
    case KERN_MAP_SIGMOID:
    case KERN_MAP_SOFTPLUS:
    case KERN_MAP_PSOFTPLUS:
    case KERN_MAP_STANH:
    case KERN_MAP_GELU:
    case KERN_MAP_SWISH:
        return eval_math(code, a, b, p, q);
    default:
        return eval_basic(code, a, b, c, p, q);
    }
}
