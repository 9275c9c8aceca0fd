// SPDX-License-Identifier: Apache-2.0
/* Functions in more than double precision. A pair is an unevaluated sum: y is at most half a unit of x in the last
 * place. Empty without HAVE_FLOAT64. */
#ifdef HAVE_FLOAT64
#include "shaders/core/poly_f64.glsl"

/* ln 2: n times the first part is exact for the exponents of numbers. */
#define LN2_HIGH 0.69314718055989033lf
#define LN2_LOW  5.4979230187083712e-14lf
const dvec2 LN2_PAIR = dvec2(0.69314718055994529lf, 2.3190468138462996e-17lf);
const dvec2 HALF_PI_PAIR = dvec2(1.5707963267948966lf, 6.123233995736766e-17lf);

/* a + b exactly */
dvec2 sum_of(double a, double b)
{
    precise double s = a + b, t = s - a;
    precise double rest = (a - (s - t)) + (b - t);
    return dvec2(s, rest);
}

/* The same if a is 0 or not the smaller one. */
dvec2 quick_sum(double a, double b)
{
    precise double s = a + b;
    precise double rest = b - (s - a);
    return dvec2(s, rest);
}

/* Its first 26 bits: products of two such numbers are exact. */
double leading(double a)
{
    uvec2 bits = unpackDouble2x32(a);
    return packDouble2x32(uvec2(bits.x & 0xf8000000u, bits.y));
}

/* a * b except for 2^-106 of it */
dvec2 product_of(double a, double b)
{
    double ah = leading(a), bh = leading(b);
    precise double p = a * b, al = a - ah, bl = b - bh;
    precise double rest = ((ah * bh - p) + ah * bl + al * bh) + al * bl;
    return dvec2(p, rest);
}

dvec2 times(dvec2 a, dvec2 b)
{
    dvec2 p = product_of(a.x, b.x);
    return quick_sum(p.x, p.y + (a.x * b.y + a.y * b.x));
}

/* e^x and e^x - 1 */
void exp_pair(dvec2 x, out dvec2 power, out dvec2 less_one)
{
    power = less_one = dvec2(x.x, 0.0lf);
    if (is_nan(x.x))
        return;
    if (x.x > 710.0lf) {
        power = less_one = dvec2(packDouble2x32(uvec2(0u, 0x7ff00000u)), 0.0lf);
        return;
    }
    if (x.x < -746.0lf) {
        power = dvec2(0.0lf);
        less_one = dvec2(-1.0lf, 0.0lf);
        return;
    }
    double n = rint_of(x.x * 1.4426950408889634lf);
    precise double high = x.x - n * LN2_HIGH;
    dvec2 r = sum_of(high, -n * LN2_LOW);
    r = quick_sum(r.x, r.y + x.y);
    /* t = e^r - 1 = r + r^2 / 2 + ... */
    dvec2 square = product_of(r.x, 0.5lf * r.x);
    double cube = r.x * r.x * r.x * poly_exp(r.x);
    dvec2 t = sum_of(r.x, square.x);
    t = quick_sum(t.x, t.y + (r.y + r.x * r.y + square.y + cube));
    dvec2 e = quick_sum(1.0lf, t.x);
    e = quick_sum(e.x, e.y + t.y);
    power = dvec2(scale(e.x, int(n)), scale(e.y, int(n)));
    less_one = n == 0.0lf ? t : power;
    if (n != 0.0lf && n < 100.0lf) {
        less_one = sum_of(power.x, -1.0lf);
        less_one = quick_sum(less_one.x, less_one.y + power.y);
    }
}

/* ln(x 2^exponent), with an error of 2^-64 of it, for x that is positive and not subnormal */
dvec2 log_pair(dvec2 x, int exponent)
{
    uvec2 bits = unpackDouble2x32(x.x);
    /* mantissa from sqrt(1/2) to sqrt(2) */
    int more = int(bits.y - 0x3fe6a09eu) >> 20;
    bits.y -= uint(more) << 20;
    dvec2 f = sum_of(packDouble2x32(bits) - 1.0lf, x.y * power_of_two_f64(clamp(-more, -1000, 1000)));
    /* s = f / (2 + f); ln(1 + f) = 2 artanh(s) = 2 s (1 + z / 3 + ...), z = s^2 */
    dvec2 below = sum_of(2.0lf, f.x);
    below.y += f.y;
    double quotient = f.x / below.x;
    dvec2 back = product_of(quotient, below.x);
    precise double rest = ((f.x - back.x) - back.y) + (f.y - quotient * below.y);
    dvec2 s = quick_sum(quotient, rest / below.x), z = times(s, s);
    dvec2 tail = quick_sum(0.33333333333333331lf, z.x * poly_log(z.x));
    tail.y += 1.8503717077085941e-17lf;
    tail = times(z, tail);
    dvec2 series = quick_sum(1.0lf, tail.x);
    series.y += tail.y;
    dvec2 fraction = times(2.0lf * s, series);
    double n = double(exponent + more);
    dvec2 y = sum_of(n * LN2_HIGH, fraction.x);
    return quick_sum(y.x, y.y + (fraction.y + n * LN2_LOW));
}

/* 2 / pi as a binary fraction, after two words of zeros. */
const uint two_over_pi_f64[40] = uint[40](
    0u, 0u, 0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u, 0xdb629599u, 0x3c439041u, 0xfe5163abu, 0xdebbc561u,
    0xb7246e3au, 0x424dd2e0u, 0x06492eeau, 0x09d1921cu, 0xfe1deb1cu, 0xb129a73eu, 0xe88235f5u, 0x2ebb4484u, 0xe99c7026u,
    0xb45f7e41u, 0x3991d639u, 0x835339f4u, 0x9c845f8bu, 0xbdf9283bu, 0x1ff897ffu, 0xde05980fu, 0xef2f118bu, 0x5a0a6d1fu,
    0x6d367ecfu, 0x27cb09b7u, 0x4f463f66u, 0x9e5fea2du, 0x7527bac7u, 0xebe5f17bu, 0x3d0739f7u, 0x8a5292eau, 0x6bfb5fb1u,
    0x1f8d5d08u, 0x56033046u, 0xfc7b6babu);

uint pi_bits_f64(uint position)
{
    uint word = position >> 5, shift = position & 31u;
    uint low = shift == 0u ? 0u : two_over_pi_f64[word + 1u] >> (32u - shift);
    return two_over_pi_f64[word] << shift | low;
}

#define ANGLE_WORDS 6

/* The mantissa of x times those bits of 2 / pi that are not multiples of 4: 2 bits before the point. */
void angle_bits(uvec2 x, out uint words[ANGLE_WORDS])
{
    uint position = (x.y >> 20 & 0x7ffu) - 1013u, next = 0u; /* exponent - 1075 - 2 + 64 */
    uint64_t high = uint64_t(x.y & 0xfffffu | 0x100000u), low = uint64_t(x.x), mask = 0xfffffffful, carry = 0ul;
    for (int i = ANGLE_WORDS - 1; i >= 0; i--) {
        uint word = pi_bits_f64(position + 32u * uint(i));
        uint64_t a = low * uint64_t(word), b = high * uint64_t(next), sum = (a & mask) + (b & mask) + carry;
        words[i] = uint(sum & mask);
        carry = (a >> 32) + (b >> 32) + (sum >> 32);
        next = word;
    }
}

/* x = quadrant * pi / 2 + result */
dvec2 reduce_pair(double x, out int quadrant)
{
    const double unit = 2.3283064365386963e-10lf; /* 2^-32 */
    uint words[ANGLE_WORDS];
    double parts[4];
    quadrant = 0;
    if (abs(x) < 0.78539816339744828lf)
        return dvec2(x, 0.0lf);
    angle_bits(unpackDouble2x32(x), words);
    quadrant = int(words[0] >> 30);
    bool negative = (words[0] >> 29 & 1u) != 0u;
    for (int i = 0; i < 4; i++) {
        uint word = words[i] << 2 | words[i + 1] >> 30;
        parts[i] = double(negative ? ~word : word);
    }
    dvec2 y = sum_of(parts[0] * unit, parts[1] * (unit * unit));
    y = quick_sum(y.x, y.y + (parts[2] + parts[3] * unit) * (unit * unit * unit));
    y = times(y, HALF_PI_PAIR);
    quadrant += negative ? 1 : 0;
    if (x < 0.0lf)
        quadrant = -quadrant;
    return negative != x < 0.0lf ? -y : y;
}
#endif
