// SPDX-License-Identifier: Apache-2.0
/* Accumulators of running sums and products: FLOAT64 with HAVE_FLOAT64, else pairs of floats (their sum), times a power
 * of two; integers wrap. As words, one type for all. Tensors: 0 X, [init], Y. Include core/views.glsl first. */
#include "shaders/core/pairs.glsl"

#define NUMBER uvec3 /* a pair of words, exponent */

bool is_real()
{
    return type_is_real(type_of(0u));
}

#ifdef HAVE_FLOAT64
NUMBER real_number(uvec2 x, uint type)
{
    return uvec3(register_to_double(x, type), 0u);
}

NUMBER joined_reals(NUMBER a, NUMBER b)
{
    precise double x = packDouble2x32(a.xy), y = packDouble2x32(b.xy);
    precise double sum = x + y, product = x * y;
    return uvec3(unpackDouble2x32(params.product != 0u ? product : sum), 0u);
}

uvec2 real_of(NUMBER a)
{
    return a.xy;
}
#else
/* A number whose first part, the pair's rounded sum, is from 1 to 2, or zero, infinite or NaN with exponent 0: neither
 * partial sums nor products leave FLOAT64's range. */
NUMBER with_exponent(float high, float low, int exponent)
{
    precise float sum = low == 0.0 ? high : high + low; /* devices may add zeros for subnormal numbers */
    precise float rest = low == 0.0 ? 0.0 : low - (sum - high);
    uint bits = floatBitsToUint(sum), field = bits >> 23 & 255u, sign_bit = bits & 0x80000000u;
    if (field == 255u || (bits & 0x7fffffffu) == 0u)
        return uvec3(bits, 0u, 0u);
    if (field == 0u) { /* subnormal */
        bits = floatBitsToUint(float(bits & 0x7fffffu)) | sign_bit;
        field = bits >> 23 & 255u;
        exponent -= 149;
        rest = 0.0;
    }
    int shift = int(field) - 127;
    exponent += shift;
    if (exponent > 1023)
        return uvec3(sign_bit | 0x7f800000u, 0u, 0u);
    if (exponent < -1074)
        return uvec3(sign_bit, 0u, 0u);
    return uvec3((bits & 0x807fffffu) | 0x3f800000u, floatBitsToUint(scale(rest, -shift)), uint(exponent));
}

NUMBER real_number(uvec2 x, uint type)
{
    return with_exponent(uintBitsToFloat(x.x), 0.0, 0);
}

bool is_zero(NUMBER a)
{
    return (a.x & 0x7fffffffu) == 0u;
}

NUMBER pair_sum(NUMBER a, NUMBER b)
{
    if (is_zero(a) || is_zero(b))
        return is_zero(a) ? b : a;
    int exponent = max(int(a.z), int(b.z));
    float down_a = power_of_two(max(int(a.z) - exponent, -126)), down_b = power_of_two(max(int(b.z) - exponent, -126));
    precise float x = uintBitsToFloat(a.x) * down_a, y = uintBitsToFloat(b.x) * down_b;
    precise float error, sum = exact_sum(x, y, error);
    error = error + (uintBitsToFloat(a.y) * down_a + uintBitsToFloat(b.y) * down_b);
    if (is_nan(sum) || is_inf(sum))
        error = 0.0;
    return with_exponent(sum, error, exponent);
}

NUMBER pair_product(NUMBER a, NUMBER b)
{
    float x = uintBitsToFloat(a.x), y = uintBitsToFloat(b.x);
    precise float error, product = exact_product(x, y, error);
    error = error + (x * uintBitsToFloat(b.y) + y * uintBitsToFloat(a.y));
    if (is_nan(product) || is_inf(product))
        error = 0.0;
    return with_exponent(product, error, int(a.z + b.z));
}

NUMBER joined_reals(NUMBER a, NUMBER b)
{
    if (params.product != 0u)
        return pair_product(a, b);
    return pair_sum(a, b);
}

uvec2 real_of(NUMBER a)
{
    return uvec2(floatBitsToUint(scale(uintBitsToFloat(a.x), clamp(int(a.z), -250, 250))), 0u);
}
#endif

#ifdef HAVE_INT64
#define WHOLE_TYPE TYPE_INT64
#else
#define WHOLE_TYPE TYPE_INT32
#endif

/* From a register of `type`. */
NUMBER number_of(uvec2 x, uint type)
{
    if (is_real())
        return real_number(x, type);
#ifdef HAVE_INT64
    x = register_to_int64(x, type, true);
#endif
    return uvec3(x, 0u);
}

NUMBER number_at(uint t, int at)
{
    uint type;
    uvec2 x = load(place_of(t, at), type_of(t), type);
    return number_of(x, type);
}

void put_number(uint t, int at, NUMBER a)
{
    bool real = is_real();
    uvec2 x = a.xy;
    if (real)
        x = real_of(a);
    store(place_of(t, at), type_of(t), x, real ? REAL_TYPE : WHOLE_TYPE);
}

/* The neutral element. */
NUMBER neutral()
{
    uint one = params.product;
#ifdef HAVE_FLOAT64
    if (is_real())
        return uvec3(unpackDouble2x32(double(one)), 0u);
#else
    if (is_real())
        return uvec3(floatBitsToUint(float(one)), 0u, 0u);
#endif
    return uvec3(one, 0u, 0u);
}

NUMBER joined(NUMBER a, NUMBER b)
{
    if (is_real())
        return joined_reals(a, b);
#ifdef HAVE_INT64
    uint64_t x = as_uint64(a.xy), y = as_uint64(b.xy);
    return uvec3(from_uint64(params.product != 0u ? x * y : x + y), 0u);
#else
    return uvec3(params.product != 0u ? a.x * b.x : a.x + b.x, 0u, 0u);
#endif
}

/* The initial value of the line's sums. */
NUMBER first_of(uint line)
{
    if (params.has_init == 0u)
        return neutral();
    return number_at(1u, at_line(1u, params.axis, line));
}
