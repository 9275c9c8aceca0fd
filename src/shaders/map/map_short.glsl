// SPDX-License-Identifier: Apache-2.0
/* Functions of kernels/core/mapops.def to 16 bits, for results that are rounded to FLOAT16 or BFLOAT16. */

float short_sigmoid(float a)
{
    float e = short_exp_of(-abs(a)), y = 1.0 / (1.0 + e);
    return a < 0.0 ? e * y : y;
}

float short_tanh(float a)
{
    float e = short_exp_of(-2.0 * abs(a)), y = (1.0 - e) / (1.0 + e);
    y = a < 0.0 ? -y : y;
    return abs(a) < 0.03125 ? a - a * a * a * 0.333333333 : y;
}

/* erfc(|a| / sqrt(2)) is the probability outside. */
float short_gelu(float a)
{
    float z = abs(a) * 0.707106781, outside = short_exp_of(-z * z) * poly_short_erfcx(1.0 - 4.0 / (z + 2.0));
    outside = z > 10.0 ? 0.0 : outside;
    return a * (a < 0.0 ? 0.5 * outside : 1.0 - 0.5 * outside);
}

/* Those of SHADER_MAP_SHORT (shader_map_flat.c). */
float eval_short(uint code, float a, float p)
{
    switch (code) {
    case KERN_MAP_EXP:
        return short_exp_of(a);
    case KERN_MAP_SIGMOID:
        return short_sigmoid(a);
    case KERN_MAP_SWISH:
        return a * short_sigmoid(p * a);
    case KERN_MAP_TANH:
        return short_tanh(a);
    default:
        return short_gelu(a);
    }
}
