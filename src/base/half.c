/* SPDX-License-Identifier: Apache-2.0 */
#include "base/half.h"

float base_half_to_float(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000u) << 16;
    uint32_t exponent = (half >> 10) & 0x1f;
    uint32_t mantissa = half & 0x3ffu;
    if (exponent == 0x1f)
        return base_bits_to_float(sign | 0x7f800000u | mantissa << 13);
    if (exponent)
        return base_bits_to_float(sign | (exponent + 112) << 23 | mantissa << 13);
    float value = (float)mantissa * 0x1p-24f; /* exact: subnormals of half are normal floats */
    return sign ? -value : value;
}

uint16_t base_double_to_half(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    uint16_t sign = (uint16_t)(bits >> 48 & 0x8000u);
    uint64_t magnitude = bits & 0x7fffffffffffffffull;
    if (magnitude > 0x7ff0000000000000ull)
        return (uint16_t)(sign | 0x7e00u | (magnitude >> 42 & 0x3ffu));
    double absolute = value < 0 ? -value : value;
    if (absolute >= 65520.0)
        return sign | 0x7c00u;
    if (absolute < 0x1p-25 || absolute == 0x1p-25)
        return sign;
    int exponent = (int)(magnitude >> 52) - 1023;
    if (exponent < -14)
        exponent = -14;
    /* The step between halves at this magnitude is 2^(exponent - 10): adding 1.5 * 2^52 steps rounds to even. */
    uint64_t magic_bits = (uint64_t)(exponent - 10 + 52 + 1023) << 52 | 0x8000000000000ull;
    double magic;
    memcpy(&magic, &magic_bits, sizeof(magic));
    volatile double sum = absolute + magic;
    double rounded = sum - magic;
    float exact = (float)rounded;
    uint32_t single = base_float_to_bits(exact);
    int biased = (int)(single >> 23) - 112;
    if (biased <= 0)
        return (uint16_t)(sign | (uint16_t)(rounded * 0x1p24));
    return (uint16_t)(sign | (uint32_t)biased << 10 | (single >> 13 & 0x3ffu));
}

uint16_t base_float_to_half(float value)
{
    return base_double_to_half((double)value); /* a float is exact as a double, so this rounds once */
}

/* Via binary32 rounded to odd, whose 16 additional bits preserve what the last rounding needs. */
uint16_t base_double_to_bfloat(double value)
{
    float single = (float)value;
    uint32_t bits = base_float_to_bits(single);
    if (value != value || (double)single == value)
        return base_float_to_bfloat(single);
    if ((value > 0 ? value : -value) < (single > 0 ? (double)single : -(double)single))
        bits--;
    return base_float_to_bfloat(base_bits_to_float(bits | 1));
}
