// SPDX-License-Identifier: Apache-2.0
/* Double-precision functions, which GLSL does not have, with errors of about two units in the last place. Empty without
 * HAVE_FLOAT64. */
#ifdef HAVE_FLOAT64
/* 2^n for n from -1022 to 1023 */
double power_of_two_f64(int n)
{
    return packDouble2x32(uvec2(0u, uint(n + 1023) << 20));
}

double scale(double x, int n)
{
    int half_n = n / 2;
    precise double y = x * power_of_two_f64(half_n);
    return y * power_of_two_f64(n - half_n);
}

double exp_of(double x)
{
    if (is_nan(x))
        return x;
    if (x > 709.8lf)
        return packDouble2x32(uvec2(0u, 0x7ff00000u));
    if (x < -745.2lf)
        return 0.0lf;
    double n = rint_of(x * 1.4426950408889634lf);
    /* ln 2 in two parts: the product of n and the first is exact */
    precise double high = x - n * 0.693147180369123816490lf;
    precise double r = high - n * 1.90821492927058770002e-10lf;
    double p = 1.0lf / 6227020800.0lf;
    double k = 13.0lf, factor = 1.0lf / 6227020800.0lf;
    for (; k > 2.0lf; k -= 1.0lf) { /* 1 / k! */
        factor *= k;
        p = p * r + factor;
    }
    precise double y = 1.0lf + (r + r * r * p);
    return scale(y, int(n));
}

double log_of(double x)
{
    uvec2 bits = unpackDouble2x32(x);
    if (is_nan(x) || x < 0.0lf)
        return packDouble2x32(uvec2(0u, 0x7ff80000u));
    if (x == 0.0lf)
        return packDouble2x32(uvec2(0u, 0xfff00000u));
    if (is_inf(x))
        return x;
    int exponent = 0;
    if (bits.y < 0x00100000u) {
        bits = unpackDouble2x32(x * 18014398509481984.0lf);
        exponent = -54;
    }
    /* mantissa from sqrt(1/2) to sqrt(2) */
    int more = int(bits.y - 0x3fe6a09eu) >> 20;
    exponent += more;
    bits.y -= uint(more) << 20;
    double f = packDouble2x32(bits) - 1.0lf, e = double(exponent);
    /* ln(1 + f) = 2 artanh(f / (2 + f)) = f - (h - s * (h + rest)), h = f^2 / 2 */
    double s = f / (2.0lf + f), z = s * s, p = 0.0lf;
    for (double k = 25.0lf; k > 2.0lf; k -= 2.0lf)
        p = z * (p + 2.0lf / k);
    precise double h = 0.5lf * f * f;
    precise double low = h - (s * (h + p) + e * 1.90821492927058770002e-10lf);
    precise double y = e * 0.693147180369123816490lf - (low - f);
    return y;
}
#endif
