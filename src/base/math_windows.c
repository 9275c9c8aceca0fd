/* SPDX-License-Identifier: Apache-2.0 */
/* Fused multiplication and addition. MinGW's round twice: once to the 64 bits of the x87, then to the result's. And
 * powers by Windows' own function: MinGW's, by the x87, is 200 units wrong in threads where that has the 53 bits of
 * Windows. */
#include <math.h>

extern double (*__imp_pow)(double, double);

double pow(double x, double y)
{
    if (x == 1 || y == 0 || (x == -1 && isinf(y))) /* of anything, also NaN, as C says and older libraries do not */
        return 1;
    return __imp_pow(x, y);
}

/* In a type of more than twice the bits the product is exact. Their sum is rounded to odd, to the neighbour whose last
 * bit is set where it is none itself: so the second rounding sees on which side of a middle the exact sum lies. */

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
