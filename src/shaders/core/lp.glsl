// SPDX-License-Identifier: Apache-2.0
/* Terms and roots of sums of |x|^p, p at least 1. */

REAL lp_term(REAL x, uint p)
{
    REAL base = abs(x), y = REAL(1.0);
    if (p == 1u)
        return base;
    for (; p > 1u; p >>= 1) {
        y = (p & 1u) != 0u ? y * base : y;
        base *= base;
    }
    return y * base;
}

REAL lp_root(REAL sum, uint p)
{
    if (p == 1u)
        return sum;
    if (p == 2u)
        return sqrt(sum);
#ifdef HAVE_FLOAT64
    return exp_of(log_of(sum) / double(p));
#else
    return pow_of(sum, 1.0 / float(p));
#endif
}
