// SPDX-License-Identifier: Apache-2.0
/* Single-precision functions with errors of a few units in the last place. GLSL's own may be off by 2^-11. */
#include "shaders/core/poly.glsl"

#define NAN      uintBitsToFloat(0x7fc00000u)
#define INFINITY uintBitsToFloat(0x7f800000u)

/* On bits, since compilers may assume that there are no NaNs. */
bool is_nan(float x)
{
    return (floatBitsToUint(x) & 0x7fffffffu) > 0x7f800000u;
}

bool is_inf(float x)
{
    return (floatBitsToUint(x) & 0x7fffffffu) == 0x7f800000u;
}

/* Subnormal numbers are not zero, even on devices that flush them. */
bool nonzero(float x)
{
    return (floatBitsToUint(x) & 0x7fffffffu) != 0u;
}

/* 2^n for n from -126 to 127 */
float power_of_two(int n)
{
    return uintBitsToFloat(uint(n + 127) << 23);
}

float scale(float x, int n)
{
    int half_n = n / 2;
    precise float y = x * power_of_two(half_n);
    return y * power_of_two(n - half_n);
}

float exp_of(float x)
{
    if (is_nan(x))
        return x;
    if (x > 88.8)
        return INFINITY;
    if (x < -104.0)
        return 0.0;
    float n = roundEven(x * 1.44269504);
    precise float r = x - n * 0.693359375;
    r = r + n * 2.12194440e-4;
    precise float y = r * r * poly_exp(r);
    y = 1.0 + (r + y);
    return scale(y, int(n));
}

/* e^x to 16 bits, unless it is 0 or infinite in FLOAT16 or BFLOAT16: for results that are rounded to these. exp2() may
 * be off by 3 + 2 * |x| units. */
float short_exp_of(float x)
{
    float y = exp2(x * 1.44269504);
    return is_nan(x) ? x : y;
}

float expm1_of(float x)
{
    if (abs(x) < 0.5)
        return x + x * x * poly_exp(x);
    return exp_of(x) - 1.0;
}

float log_of(float x)
{
    if (is_nan(x) || x < 0.0)
        return NAN;
    if (x == 0.0)
        return -INFINITY;
    if (is_inf(x))
        return x;
    uint bits = floatBitsToUint(x);
    int exponent = 0;
    if (bits < 0x00800000u) {
        bits = floatBitsToUint(x * 8388608.0);
        exponent = -23;
    }
    /* mantissa from sqrt(1/2) to sqrt(2) */
    exponent += int(bits - 0x3f3504f3u) >> 23;
    float f = uintBitsToFloat(bits - (uint(int(bits - 0x3f3504f3u) >> 23) << 23)) - 1.0;
    precise float e = float(exponent);
    precise float y = f * f * f * poly_log(f) - e * 2.12194440e-4 - 0.5 * f * f;
    y = y + f;
    return y + e * 0.693359375;
}

float log1p_of(float x)
{
    precise float u = 1.0 + x;
    if (u == 1.0 || is_inf(u) || is_nan(u))
        return x;
    precise float rest = u - 1.0;
    if (abs(x) < 0.25)
        return x + x * x * (x * poly_log(x) - 0.5);
    return rest == 0.0 ? x : log_of(u) * (x / rest);
}

/* 2 / pi as a binary fraction, after two words of zeros. */
const uint two_over_pi[9] = uint[9](0u, 0u, 0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u, 0xdb629599u, 0x3c439041u,
                                    0xfe5163abu);

uint pi_bits(uint position)
{
    uint word = position >> 5, shift = position & 31u;
    uint low = shift == 0u ? 0u : two_over_pi[word + 1u] >> (32u - shift);
    return two_over_pi[word] << shift | low;
}

/* x = quadrant * pi / 2 + result, for large x: the mantissa times those bits of 2 / pi that are not multiples of 4. */
float reduce_large(float x, out int quadrant)
{
    uint bits = floatBitsToUint(x) & 0x7fffffffu;
    uint m = (bits & 0x7fffffu) | 0x800000u;
    uint position = uint(int(bits >> 23) - 150 - 2 + 64);
    uint w0 = pi_bits(position), w1 = pi_bits(position + 32u), w2 = pi_bits(position + 64u);
    uint high1, low1, high2, low2, carry;
    umulExtended(m, w2, high2, low2);
    umulExtended(m, w1, high1, low1);
    uint p1 = uaddCarry(low1, high2, carry);
    uint p0 = m * w0 + high1 + carry;
    uint f0 = p0 << 2 | p1 >> 30, f1 = p1 << 2 | low2 >> 30;
    quadrant = int(p0 >> 30);
    bool negative = (f0 & 0x80000000u) != 0u;
    if (negative) {
        quadrant++;
        f1 = ~f1 + 1u;
        f0 = ~f0 + (f1 == 0u ? 1u : 0u);
    }
    float r = (float(f0) * 2.32830644e-10 + float(f1) * 5.42101086e-20) * 1.57079633;
    r = negative ? -r : r;
    if (x < 0.0) {
        quadrant = -quadrant;
        r = -r;
    }
    return r;
}

float reduce(float x, out int quadrant)
{
    quadrant = 0;
    if (abs(x) > 200.0)
        return reduce_large(x, quadrant);
    float n = roundEven(x * 0.636619772);
    precise float r = x - n * 1.5703125;
    r = r - n * 4.83751297e-4;
    r = r - n * 7.54978942e-8;
    quadrant = int(n);
    return r;
}

void sin_cos(float x, out float s, out float c)
{
    int quadrant;
    if (is_nan(x) || is_inf(x)) {
        s = c = NAN;
        return;
    }
    float r = reduce(x, quadrant), z = r * r;
    float sine = r * poly_sin(z), cosine = poly_cos(z);
    bool swapped = (quadrant & 1) != 0;
    s = swapped ? cosine : sine;
    c = swapped ? sine : cosine;
    s = (quadrant & 2) != 0 ? -s : s;
    c = ((quadrant + 1) & 2) != 0 ? -c : c;
}

float sin_of(float x)
{
    float s, c;
    sin_cos(x, s, c);
    return s;
}

float cos_of(float x)
{
    float s, c;
    sin_cos(x, s, c);
    return c;
}

float tan_of(float x)
{
    float s, c;
    sin_cos(x, s, c);
    return s / c;
}

float atan_of(float x)
{
    if (is_nan(x))
        return x;
    float a = abs(x), start = 0.0;
    if (a > 2.41421356) {
        start = 1.57079633;
        a = -1.0 / a;
    } else if (a > 0.414213562) {
        start = 0.785398163;
        a = (a - 1.0) / (a + 1.0);
    }
    float y = start + a * poly_atan(a * a);
    return x < 0.0 ? -y : y;
}

float atan2_of(float y, float x)
{
    if (is_nan(x) || is_nan(y))
        return NAN;
    bool left = (floatBitsToUint(x) & 0x80000000u) != 0u, below = (floatBitsToUint(y) & 0x80000000u) != 0u;
    /* Devices return no quotient for divisors near the end of the range. */
    float scale_by = max(abs(x), abs(y)) > 1.2676506e30 ? 5.4210109e-20 : 1.0; /* 2^100, 2^-64 */
    float ax = abs(x) * scale_by, ay = abs(y) * scale_by, angle;
    if (is_inf(x) && is_inf(y))
        angle = 0.785398163;
    else if (ay == 0.0 || is_inf(x))
        angle = 0.0;
    else if (ax == 0.0 || is_inf(y))
        angle = 1.57079633;
    else if (ay > ax)
        angle = 1.57079633 - atan_of(ax / ay);
    else
        angle = atan_of(ay / ax);
    angle = left ? 3.14159265 - angle : angle;
    return below ? -angle : angle;
}

float asin_of(float x)
{
    float a = abs(x);
    if (is_nan(x) || a > 1.0)
        return NAN;
    if (a <= 0.5)
        return x * poly_asin(a * a);
    float z = 0.5 * (1.0 - a), y = 1.57079633 - 2.0 * sqrt(z) * poly_asin(z);
    return x < 0.0 ? -y : y;
}

float acos_of(float x)
{
    float a = abs(x);
    if (is_nan(x) || a > 1.0)
        return NAN;
    if (a <= 0.5)
        return 1.57079633 - x * poly_asin(a * a);
    float z = 0.5 * (1.0 - a), y = 2.0 * sqrt(z) * poly_asin(z);
    return x < 0.0 ? 3.14159265 - y : y;
}

float sinh_of(float x)
{
    float a = abs(x), y;
    if (is_nan(x))
        return x;
    if (a > 80.0) {
        float e = exp_of(0.5 * a);
        precise float half_e = 0.5 * e, product = half_e * e; /* e * e may overflow */
        y = product;
    } else {
        float t = expm1_of(a);
        y = 0.5 * (t + t / (t + 1.0));
    }
    return x < 0.0 ? -y : y;
}

float cosh_of(float x)
{
    float e = exp_of(0.5 * abs(x));
    if (is_nan(x))
        return x;
    precise float half_e = 0.5 * e, y = half_e * e; /* e * e may overflow */
    return abs(x) > 40.0 ? y : y + 0.5 / (e * e);
}

float tanh_of(float x)
{
    float a = abs(x);
    if (is_nan(x))
        return x;
    float t = expm1_of(2.0 * min(a, 10.0));
    float y = t / (t + 2.0);
    return x < 0.0 ? -y : y;
}

float asinh_of(float x)
{
    float a = abs(x);
    if (is_nan(x))
        return x;
    float y = a > 1e9 ? log_of(a) + 0.693147181 : log1p_of(a + a * a / (1.0 + sqrt(1.0 + a * a)));
    return x < 0.0 ? -y : y;
}

float acosh_of(float x)
{
    if (is_nan(x) || x < 1.0)
        return NAN;
    if (x > 1e9)
        return log_of(x) + 0.693147181;
    float t = x - 1.0;
    return log1p_of(t + sqrt(t * (t + 2.0)));
}

float atanh_of(float x)
{
    float a = abs(x);
    if (is_nan(x) || a > 1.0)
        return NAN;
    float y = a == 1.0 ? INFINITY : 0.5 * log1p_of(2.0 * a / (1.0 - a));
    return x < 0.0 ? -y : y;
}

/* erfc for x >= 0.8: e^(-x^2) in two factors, since the square does not fit one float. */
float erfc_tail(float x)
{
    if (x > 10.5)
        return 0.0;
    float high = uintBitsToFloat(floatBitsToUint(x) & 0xfffff000u);
    precise float low = x - high;
    return exp_of(-high * high) * exp_of(-low * (x + high)) * poly_erfcx((x - 2.0) / (x + 2.0));
}

float erf_of(float x)
{
    float a = abs(x);
    if (is_nan(x))
        return x;
    if (a < 1.0)
        return x * poly_erf(a * a);
    return x < 0.0 ? erfc_tail(a) - 1.0 : 1.0 - erfc_tail(a);
}

float erfc_of(float x)
{
    if (is_nan(x))
        return x;
    if (x >= 0.8)
        return erfc_tail(x);
    return 1.0 - erf_of(x);
}

/* For shaders whose numbers are of either type; doubles: core/number.glsl. */
float rint_of(float x)
{
    return roundEven(x);
}

float floor_of(float x)
{
    return floor(x);
}

float ceil_of(float x)
{
    return ceil(x);
}

float trunc_of(float x)
{
    return trunc(x);
}

/* The remainder of a / b with the sign of a, exactly. */
float fmod_of(float a, float b)
{
    uint ua = floatBitsToUint(a) & 0x7fffffffu, ub = floatBitsToUint(b) & 0x7fffffffu;
    if (is_nan(a) || is_nan(b) || is_inf(a) || ub == 0u)
        return NAN;
    if (ua < ub)
        return a;
    int ea = max(int(ua >> 23), 1), eb = max(int(ub >> 23), 1);
    uint ma = (ua & 0x7fffffu) | (ua >= 0x800000u ? 0x800000u : 0u);
    uint mb = (ub & 0x7fffffu) | (ub >= 0x800000u ? 0x800000u : 0u);
    uint rest = ma % mb;
    for (int e = ea - eb, k; e > 0; e -= k) {
        k = min(e, 8);
        rest = (rest << uint(k)) % mb;
    }
    float y = scale(float(rest), eb - 150);
    return (floatBitsToUint(a) & 0x80000000u) != 0u ? -y : y;
}

/* Beyond all numbers, or below them. */
float pow_far(bool great, bool negative)
{
    float y = great ? INFINITY : 0.0;
    return negative ? -y : y;
}

float pow_of(float a, float b)
{
    if (b == 0.0 || a == 1.0)
        return 1.0;
    if (is_nan(a) || is_nan(b))
        return NAN;
    float x = abs(a);
    bool whole = b == floor(b), odd = whole && abs(b) < 16777216.0 && fmod_of(abs(b), 2.0) == 1.0;
    if (is_inf(b))
        return x == 1.0 ? 1.0 : (x > 1.0) == (b > 0.0) ? INFINITY : 0.0;
    if (a < 0.0 && !whole && !is_inf(a))
        return NAN;
    float y;
    if (x == 0.0 || is_inf(x)) {
        y = (x == 0.0) == (b < 0.0) ? INFINITY : 0.0;
    } else {
        /* b * ln x with the exponent's part apart, so that its error stays small */
        uint bits = floatBitsToUint(x);
        int exponent = int(bits - 0x3f3504f3u) >> 23;
        float fraction = log_of(uintBitsToFloat(bits - (uint(exponent) << 23))) * 1.44269504;
        if (abs(b * (float(exponent) + fraction)) > 400.0)
            return pow_far(b * (float(exponent) + fraction) > 0.0, odd && a < 0.0);
        precise float whole_part = b * float(exponent), n = roundEven(whole_part);
        precise float rest = whole_part - n + b * fraction;
        float m = roundEven(rest);
        precise float left = rest - m;
        float power = clamp(n + m, -400.0, 400.0);
        y = exp_of(left * 0.693147181);
        y = power > 200.0 ? INFINITY : power < -200.0 ? 0.0 : scale(y, int(power));
    }
    return odd && (floatBitsToUint(a) & 0x80000000u) != 0u ? -y : y;
}
