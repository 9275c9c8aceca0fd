// SPDX-License-Identifier: Apache-2.0
/* Sums and products of floats with their rounding errors. Include core/math.glsl first. */

float exact_sum(float a, float b, out precise float error)
{
    precise float sum = a + b, part = sum - a;
    error = (a - (sum - part)) + (b - part);
    return sum;
}

/* Factors are split into halves whose products are exact. */
float exact_product(float a, float b, out precise float error)
{
    float a_high = uintBitsToFloat(floatBitsToUint(a) & 0xfffff000u);
    float b_high = uintBitsToFloat(floatBitsToUint(b) & 0xfffff000u);
    precise float product = a * b, a_low = a - a_high, b_low = b - b_high;
    error = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low;
    return product;
}

/* a / b, rounded once except for results near the ends of the range: devices' own quotients may be off by 2.5 units,
 * and are undefined for very large or very small divisors. */
float ratio(float a, float b)
{
    const float large = 1.2676506e30; /* 2^100 */
    float scale_by = abs(b) > large ? 5.4210109e-20 : abs(b) < 1.0 / large ? 1.8446744e19 : 1.0; /* 2^-64, 2^64 */
    precise float divisor = b * scale_by, near = a / divisor;
    if (abs(a) < 1e-24 || !(abs(a) < large) || abs(near) < 1e-24 || !(abs(near) < large) || is_inf(divisor))
        return near * scale_by;
    float error;
    precise float product = exact_product(near, divisor, error), rest = (a - product) - error;
    precise float better = near + rest / divisor;
    return better * scale_by;
}

#ifdef HAVE_FLOAT64
double ratio(double a, double b)
{
    return a / b;
}
#endif
