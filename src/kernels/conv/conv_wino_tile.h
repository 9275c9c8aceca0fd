/* SPDX-License-Identifier: Apache-2.0 */
/* Winograd's transforms of tiles (struct wino, conv_plans.h), for the instruction set of the including file. */
#ifndef KERNELS_CONV_WINO_TILE_H
#define KERNELS_CONV_WINO_TILE_H

#include "kernels/conv/conv_plans.h"
#include "kernels/core/isa.h"
#include "kernels/vec/vec.h"

#define WINO_UNROLL _Pragma("GCC unroll 16")

/* The polynomial of x^2 with zeros at the squares of all points, or of all except for a pair's, for the even or the odd
 * coefficients d: the sum of factors times every second d. */
DENSE_INLINE vec wino_factors(uint32_t size, uint32_t without, const vec *d)
{
    float factors[WINO_SIZE_MAX / 2] = { 1 };
    uint32_t degree = 0;
    WINO_UNROLL for (uint32_t i = 0; i < size / 2 - 1; i++)
    {
        const float square = (float)wino_point(size, i) * (float)wino_point(size, i);
        if (i == without)
            continue;
        WINO_UNROLL for (uint32_t k = ++degree; k > 0; k--) factors[k] = factors[k - 1] - square * factors[k];
        factors[0] *= -square;
    }
    vec sum = d[2 * degree];
    WINO_UNROLL for (uint32_t k = degree; k-- > 0;) sum = vec_fma(vec_set(factors[k]), d[2 * k], sum);
    return sum;
}

/* Values of a polynomial at the points, times the divisors of the weights' values. */
DENSE_INLINE void wino_in(uint32_t size, const vec *d, vec *to)
{
    const uint32_t pairs = size / 2 - 1;
    WINO_UNROLL for (uint32_t i = 0; i < pairs; i++)
    {
        const vec at = vec_set((float)wino_point(size, i));
        const vec even = wino_factors(size, i, d + 2), odd = wino_factors(size, i, d + 1);
        to[2 * i + 1] = vec_fma(at, odd, even);
        to[2 * i + 2] = vec_fma(-at, odd, even);
    }
    to[0] = wino_factors(size, pairs, d);
    to[size - 1] = wino_factors(size, pairs, d + 1);
}

/* The coefficients that are outputs, from values at the points. */
DENSE_INLINE void wino_out(uint32_t size, uint32_t outs, const vec *m, vec *to)
{
    vec sum[3], difference[3];
    uint32_t pairs = size / 2 - 1;
    float power[3];
    WINO_UNROLL for (uint32_t i = 0; i < pairs; i++)
    {
        sum[i] = m[2 * i + 1] + m[2 * i + 2];
        difference[i] = m[2 * i + 1] - m[2 * i + 2];
        power[i] = 1;
    }
    WINO_UNROLL for (uint32_t o = 0; o < outs; o++)
    {
        vec value = o == 0 ? m[0] : o == outs - 1 ? m[size - 1] : vec_set(0);
        WINO_UNROLL for (uint32_t i = 0; i < pairs; i++)
        {
            value = vec_fma(vec_set(power[i]), o % 2 ? difference[i] : sum[i], value);
            power[i] *= (float)wino_point(size, i);
        }
        to[o] = value;
    }
}

DENSE_INLINE void wino_tile_in(uint32_t size, const float *from, int64_t row, int64_t column, float *to, uint64_t step)
{
    vec half[WINO_SIZE_MAX][WINO_SIZE_MAX], d[WINO_SIZE_MAX], values[WINO_SIZE_MAX];
    WINO_UNROLL for (uint32_t j = 0; j < size; j++)
    {
        WINO_UNROLL for (uint32_t i = 0; i < size; i++) d[i] = vec_load(from + i * row + j * column);
        wino_in(size, d, values);
        WINO_UNROLL for (uint32_t i = 0; i < size; i++) half[i][j] = values[i];
    }
    WINO_UNROLL for (uint32_t i = 0; i < size; i++)
    {
        wino_in(size, half[i], values);
        WINO_UNROLL for (uint32_t j = 0; j < size; j++) vec_store(to + (i * size + j) * step, values[j]);
    }
}

/* The values of the polynomial of a row of weights at the points, over the product of the differences of points. */
static void wino_values(uint32_t size, uint32_t taps, const double *from, double *to, uint32_t step)
{
    double points[WINO_SIZE_MAX] = { 0 };
    for (uint32_t i = 1; i + 1 < size; i++)
        points[i] = (i % 2 ? 1 : -1) * wino_point(size, (i - 1) / 2);
    for (uint32_t i = 0; i + 1 < size; i++) {
        double value = 0, product = 1;
        for (uint32_t t = taps; t-- > 0;)
            value = value * points[i] + from[t];
        for (uint32_t j = 0; j + 1 < size; j++)
            product *= j == i ? 1 : points[i] - points[j];
        to[i * step] = value / product;
    }
    to[(size - 1) * step] = from[taps - 1];
}

#endif
