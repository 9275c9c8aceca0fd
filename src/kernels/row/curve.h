/* SPDX-License-Identifier: Apache-2.0 */
/* Operations of an epilogue (epilogue.h) that need too many registers to be applied to a tile there: on rows in the
 * first-level cache; included once per instruction set. */
#ifndef KERNELS_CURVE_H
#define KERNELS_CURVE_H

#include "kernels/core/epilogue.h"
#include "kernels/vec/fmath.h"
#include "kernels/vec/vec.h"

/* Every element is one of a *_near function's; NaN is not. */
DENSE_INLINE bool curve_within(float bound, uint32_t count, const float *row)
{
    uint32_t beyond = 0;
    for (uint32_t i = 0; i < count; i++)
        beyond |= !(fmath_abs(row[i]) <= bound);
    return !beyond;
}

/* Likewise the sigmoid's argument of x * sigmoid((p + q * x * x) * x). */
DENSE_INLINE bool curve_cubic_within(float p, float q, uint32_t count, const float *row)
{
    uint32_t beyond = 0;
    for (uint32_t i = 0; i < count; i++)
        beyond |= !(fmath_abs((p + q * row[i] * row[i]) * row[i]) <= FMATH_NEAR_EXP);
    return !beyond;
}

DENSE_INLINE void curve_swish(float p, float q, uint32_t count, float *row)
{
    if (q == 0 && curve_within(FMATH_NEAR_SWISH(p), count, row))
        for (uint32_t i = 0; i < count; i++)
            row[i] = fmath_swish_near(row[i], p * row[i]);
    else if (q != 0 && curve_cubic_within(p, q, count, row))
        for (uint32_t i = 0; i < count; i++)
            row[i] = fmath_swish_near(row[i], (p + q * row[i] * row[i]) * row[i]);
    else if (q == 0) /* times the square of infinity it would be NaN */
        for (uint32_t i = 0; i < count; i++)
            row[i] = fmath_swish(row[i], p * row[i]);
    else
        for (uint32_t i = 0; i < count; i++)
            row[i] = fmath_swish(row[i], (p + q * row[i] * row[i]) * row[i]);
}

/* A step with one of KERN_EPILOGUE_CURVES. */
DENSE_INLINE void curve_row(const struct kern_epilogue_step *step, uint32_t count, float *row)
{
    if (step->code == KERN_MAP_SWISH)
        curve_swish(step->p, step->q, count, row);
    else if (step->code == KERN_MAP_GELU && curve_within(FMATH_NEAR_GELU, count, row))
        for (uint32_t i = 0; i < count; i++)
            row[i] = fmath_gelu_near(row[i]);
    else if (step->code == KERN_MAP_GELU)
        for (uint32_t i = 0; i < count; i++)
            row[i] = fmath_gelu(row[i]);
    else if (step->code == KERN_MAP_TANH)
        for (uint32_t i = 0; i < count; i++)
            row[i] = fmath_tanh(row[i]);
    else if (curve_within(FMATH_NEAR_EXP, count, row))
        for (uint32_t i = 0; i < count; i++)
            row[i] = fmath_sigmoid_near(row[i]);
    else
        for (uint32_t i = 0; i < count; i++)
            row[i] = fmath_sigmoid(row[i]);
}

/* Likewise; not inlined, for the many places of a family's tiles. */
static __attribute__((noinline, unused)) void curve_tile(const struct kern_epilogue_step *step, uint32_t count,
                                                         float *tile)
{
    curve_row(step, count, tile);
}

#endif
