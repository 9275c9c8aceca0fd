// SPDX-License-Identifier: Apache-2.0
/* The functions of kernels/core/mapops.def in FLOAT32 that are more than arithmetic. */

float sigmoid(float a)
{
    float e = exp_of(-abs(a)), y = 1 / (1 + e);
    return a < 0 ? e * y : y;
}

/* ln(1 + e^a) without overflow */
float softplus(float a)
{
    return is_nan(a) ? a : max(a, 0.0) + log1p_of(exp_of(-abs(a)));
}

float eval_function(uint code, float a, float b)
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

float eval_math(uint code, float a, float b, float p, float q)
{
    switch (code) {
    case KERN_MAP_ELU:
        return a < 0 ? p * expm1_of(a) : a;
    case KERN_MAP_SELU:
        return a > 0 ? q * a : q * p * expm1_of(a);
    case KERN_MAP_CELU:
        return is_nan(a) ? a : max(0.0, a) + min(0.0, p * expm1_of(a / p));
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
    case KERN_MAP_SWISH:
        return a * sigmoid(p * a);
    default:
        return eval_function(code, a, b);
    }
}
