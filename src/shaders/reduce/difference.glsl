// SPDX-License-Identifier: Apache-2.0
/* e^(x - top). The rounding error of a large difference would be many units of the result. */
REAL exp_of_difference(REAL x, REAL top)
{
    precise REAL difference = x - top, back = difference + top;
    precise REAL lost = (x - back) + (back - difference - top);
    REAL y = exp_of(difference);
    return abs(lost) < REAL(1.0) ? y + y * lost : y;
}
