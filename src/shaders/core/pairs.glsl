// SPDX-License-Identifier: Apache-2.0
/* Sums and products of floats with what rounding took from them. Include core/math.glsl first. */

float exact_sum(float a, float b, out precise float error)
{
    precise float sum = a + b, part = sum - a;
    error = (a - (sum - part)) + (b - part);
    return sum;
}

/* Factors are cut into halves whose products are exact. */
float exact_product(float a, float b, out precise float error)
{
    float a_high = uintBitsToFloat(floatBitsToUint(a) & 0xfffff000u);
    float b_high = uintBitsToFloat(floatBitsToUint(b) & 0xfffff000u);
    precise float product = a * b, a_low = a - a_high, b_low = b - b_high;
    error = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low;
    return product;
}
