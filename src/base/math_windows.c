/* SPDX-License-Identifier: Apache-2.0 */
/* Fused multiply-add. MinGW's rounds twice: first to the 64 bits of the x87, then to the result. Also powers, by
 * Windows' own function: MinGW's uses the x87 and is off by 200 ulp in threads where the x87 has Windows' 53-bit
 * precision. */
#include <math.h>

extern double (*__imp_pow)(double, double);

double pow(double x, double y)
{
    if (x == 1 || y == 0 ||
        (x == -1 && isinf(y))) /* for any argument, also NaN, as C requires and older libraries do not */
        return 1;
    return __imp_pow(x, y);
}

/* In a type of more than twice the bits the product is exact. The sum is rounded to odd (to the neighbour whose last
 * bit is set if it is inexact), so the second rounding is correct on both sides of a tie. */

double fma(double x, double y, double z)
{
    const __float128 product = (__float128)x * y, sum = product + z;
    if (!isfinite(x) || !isfinite(y) || !isfinite(z))
        return (double)sum;
    const __float128 part = sum - product, error = (product - (sum - part)) + ((__float128)z - part);
    union {
        __float128 value;
        unsigned long long words[2];
    } odd = { sum };
    if (error != 0 && !(odd.words[0] & 1)) {
        const long long step = (error > 0) == (sum > 0) ? 1 : -1;
        odd.words[1] -= step < 0 && odd.words[0] == 0;
        odd.words[0] += (unsigned long long)step;
    }
    return (double)odd.value;
}

float fmaf(float x, float y, float z)
{
    const double product = (double)x * y, sum = product + z;
    if (!isfinite(x) || !isfinite(y) || !isfinite(z))
        return (float)sum;
    const double part = sum - product, error = (product - (sum - part)) + ((double)z - part);
    union {
        double value;
        unsigned long long word;
    } odd = { sum };
    if (error != 0 && !(odd.word & 1))
        odd.word += (error > 0) == (sum > 0) ? 1ull : ~0ull;
    return (float)odd.value;
}
