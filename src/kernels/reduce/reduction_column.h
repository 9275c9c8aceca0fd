/* Loops over groups side by side: rows that hold one element of each. */
#ifndef KERNELS_REDUCTION_COLUMN_H
#define KERNELS_REDUCTION_COLUMN_H

#include "kernels/vec/fmath.h"
#include "kernels/reduce/reduction_lane.h"

#include <float.h>

#define COLUMN_ROWS 4 /* rows that join before the statistics are stored again */

/* Vectors of a cache line. */
#define COLUMN_VECTORS(half) (REDUCTION_LINE / ((half) ? 2 : 4) / VEC)

DENSE_INLINE void reduction_column_step(enum kern_stat stat, float *acc, const void *const *x, uint32_t rows, bool half,
                                        const float *center, uint32_t i, uint32_t vectors)
{
    const bool centered = stat == KERN_STAT_SQUARES || stat == KERN_STAT_EXP;
    vec total[8], middle[8];
    _Pragma("GCC unroll 8") for (uint32_t j = 0; j < vectors; j++)
    {
        total[j] = vec_load(acc + i + j * VEC);
        middle[j] = centered ? vec_load(center + i + j * VEC) : vec_set(0);
    }
    for (uint32_t r = 0; r < rows; r++)
        _Pragma("GCC unroll 8") for (uint32_t j = 0; j < vectors; j++) total[j] =
            reduction_join(stat, total[j], reduction_load(x[r], i + j * VEC, half), middle[j]);
    _Pragma("GCC unroll 8") for (uint32_t j = 0; j < vectors; j++) vec_store(acc + i + j * VEC, total[j]);
}

/* The last elements, fewer than a vector. */
static void reduction_column_end(enum kern_stat stat, float *acc, const void *row, bool half, const float *center,
                                 uint32_t i, uint32_t count)
{
    const bool centered = stat == KERN_STAT_SQUARES || stat == KERN_STAT_EXP;
    float part[2][VEC] = { { 0 }, { 0 } };
    memcpy(part[0], acc + i, count * sizeof(float));
    if (centered)
        memcpy(part[1], center + i, count * sizeof(float));
    vec_store(part[0],
              reduction_join(stat, vec_load(part[0]), reduction_load_end(row, i, count, half, 0), vec_load(part[1])));
    memcpy(acc + i, part[0], count * sizeof(float));
}

DENSE_INLINE void reduction_column_as(enum kern_stat stat, float *acc, const void *const *x, const void *const *ahead,
                                      uint32_t rows, bool half, const float *center, uint32_t count)
{
    const uint32_t vectors = COLUMN_VECTORS(half), line = vectors * VEC;
    uint32_t i = 0;
    for (; i + line <= count; i += line) {
        for (uint32_t r = 0; r < rows && ahead; r++)
            reduction_prefetch(ahead[r], i * (half ? 2 : 4), 1);
        reduction_column_step(stat, acc, x, rows, half, center, i, vectors);
    }
    for (; i + VEC <= count; i += VEC)
        reduction_column_step(stat, acc, x, rows, half, center, i, 1);
    for (uint32_t r = 0; r < rows && i < count; r++)
        reduction_column_end(stat, acc, x[r], half, center, i, count - i);
}

DENSE_INLINE void reduction_column_rows(enum kern_stat stat, float *acc, const void *const *x, const void *const *ahead,
                                        uint32_t rows, bool half, const float *center, uint32_t count)
{
    uint32_t r = 0;
    for (; r + COLUMN_ROWS <= rows; r += COLUMN_ROWS)
        reduction_column_as(stat, acc, x + r, ahead ? ahead + r : NULL, COLUMN_ROWS, half, center, count);
    for (; r < rows; r++)
        reduction_column_as(stat, acc, x + r, NULL, 1, half, center, count);
}

static void reduction_column(enum kern_stat stat, float *acc, const void *const *x, const void *const *ahead,
                             uint32_t rows, bool half, const float *center, uint32_t count)
{
#define REDUCTION_COLUMN(name)                                                                                         \
    case name:                                                                                                         \
        half ? reduction_column_rows(name, acc, x, ahead, rows, true, center, count)                                   \
             : reduction_column_rows(name, acc, x, ahead, rows, false, center, count);                                 \
        break;
    switch (stat) {
        REDUCTION_COLUMN(KERN_STAT_SUM)
        REDUCTION_COLUMN(KERN_STAT_SIZE)
        REDUCTION_COLUMN(KERN_STAT_SQUARES)
        REDUCTION_COLUMN(KERN_STAT_EXP)
        REDUCTION_COLUMN(KERN_STAT_MAX)
        REDUCTION_COLUMN(KERN_STAT_MIN)
    case KERN_STAT_PRODUCT:
        break;
    }
#undef REDUCTION_COLUMN
}

#define POWER_ROWS 8 /* rows whose elements stay in registers between both looks at them */

DENSE_INLINE void reduction_powers_step(float *top, double *sum, const void *const *x, uint32_t rows, bool half,
                                        uint32_t i)
{
    const vec before = vec_load(top + i);
    vec row[POWER_ROWS], most = before, part = vec_set(0);
    float powers[VEC], factor[VEC];
    _Pragma("GCC unroll 8") for (uint32_t r = 0; r < rows; r++)
    {
        row[r] = reduction_load(x[r], i, half);
        most = vec_max(row[r], most);
    }
    vec_store(top + i, most);
    const bool raised = vec_any_greater(most, before);
    most = vec_max(most, vec_set(-FLT_MAX)); /* where there was nothing but -infinity: powers of 0 */
    _Pragma("GCC unroll 8") for (uint32_t r = 0; r < rows; r++) part += vec_exp_below(row[r], most, false);
    vec_store(powers, part);
    if (raised) {
        vec_store(factor, vec_exp_below(before, most, true));
        _Pragma("GCC ivdep") for (uint32_t j = 0; j < VEC; j++) sum[i + j] *= factor[j];
    }
    _Pragma("GCC ivdep") for (uint32_t j = 0; j < VEC; j++) sum[i + j] += powers[j];
}

/* The last groups, fewer than a vector. */
static void reduction_powers_end(float *top, double *sum, const void *const *x, uint32_t rows, bool half, uint32_t i,
                                 uint32_t count)
{
    float buffer[VEC], own_top[VEC];
    double own_sum[VEC] = { 0 };
    const void *row = buffer;
    vec_store(own_top, vec_set(-INFINITY));
    memcpy(own_top, top + i, count * sizeof(*top));
    memcpy(own_sum, sum + i, count * sizeof(*sum));
    for (uint32_t r = 0; r < rows; r++) {
        vec_store(buffer, reduction_load_end(x[r], i, count, half, 0));
        reduction_powers_step(own_top, own_sum, &row, 1, false, 0);
    }
    memcpy(top + i, own_top, count * sizeof(*top));
    memcpy(sum + i, own_sum, count * sizeof(*sum));
}

DENSE_INLINE void reduction_powers_rows(float *top, double *sum, const void *const *x, const void *const *ahead,
                                        uint32_t rows, bool half, uint32_t count)
{
    const uint32_t bytes = half ? 2 : 4;
    uint32_t i = 0;
    for (; i + VEC <= count; i += VEC) {
        for (uint32_t r = 0; r < rows && i * bytes % REDUCTION_LINE == 0; r++)
            reduction_prefetch(ahead[r], i * bytes, 1);
        reduction_powers_step(top, sum, x, rows, half, i);
    }
    if (i < count)
        reduction_powers_end(top, sum, x, rows, half, i, count - i);
}

static void reduction_powers(float *top, double *sum, const void *const *x, const void *const *ahead, uint32_t rows,
                             bool half, uint32_t count)
{
    uint32_t r = 0;
    for (; r + POWER_ROWS <= rows && half; r += POWER_ROWS)
        reduction_powers_rows(top, sum, x + r, ahead + r, POWER_ROWS, true, count);
    for (; r + POWER_ROWS <= rows; r += POWER_ROWS)
        reduction_powers_rows(top, sum, x + r, ahead + r, POWER_ROWS, false, count);
    for (; r < rows; r++)
        reduction_powers_rows(top, sum, x + r, ahead + r, 1, half, count);
}

DENSE_INLINE void reduction_place_step(float *best, int32_t *place, const void *const *x, uint32_t rows, bool half,
                                       bool greatest, int32_t first, int32_t step, uint32_t i, uint32_t vectors)
{
    vec top[8];
    vec_int where[8];
    _Pragma("GCC unroll 8") for (uint32_t j = 0; j < vectors; j++)
    {
        top[j] = vec_load(best + i + j * VEC);
        where[j] = vec_int_load(place + i + j * VEC);
    }
    for (uint32_t r = 0; r < rows; r++) {
        const vec_int here = vec_int_set(first + (int32_t)r * step);
        _Pragma("GCC unroll 8") for (uint32_t j = 0; j < vectors; j++)
        {
            vec element = reduction_load(x[r], i + j * VEC, half);
            vec_take_greater(greatest ? element : -element, here, &top[j], &where[j]);
        }
    }
    _Pragma("GCC unroll 8") for (uint32_t j = 0; j < vectors; j++)
    {
        vec_store(best + i + j * VEC, top[j]);
        vec_int_store(place + i + j * VEC, where[j]);
    }
}

DENSE_INLINE void reduction_place_as(float *best, int32_t *place, const void *const *x, const void *const *ahead,
                                     uint32_t rows, bool half, bool greatest, int32_t first, int32_t step,
                                     uint32_t count)
{
    const uint32_t vectors = COLUMN_VECTORS(half), line = vectors * VEC;
    uint32_t i = 0;
    for (; i + line <= count; i += line) {
        for (uint32_t r = 0; r < rows && ahead; r++)
            reduction_prefetch(ahead[r], i * (half ? 2 : 4), 1);
        reduction_place_step(best, place, x, rows, half, greatest, first, step, i, vectors);
    }
    for (; i + VEC <= count; i += VEC)
        reduction_place_step(best, place, x, rows, half, greatest, first, step, i, 1);
    for (; i < count; i++)
        for (uint32_t r = 0; r < rows; r++) {
            float element = half ? (float)dense_load(x[r], i, DML_TENSOR_DATA_TYPE_FLOAT16) : ((const float *)x[r])[i];
            if (!((greatest ? element : -element) > best[i]))
                continue;
            best[i] = greatest ? element : -element;
            place[i] = first + (int32_t)r * step;
        }
}

DENSE_INLINE void reduction_place_rows(float *best, int32_t *place, const void *const *x, const void *const *ahead,
                                       uint32_t rows, bool half, bool greatest, int32_t first, int32_t step,
                                       uint32_t count)
{
    uint32_t r = 0;
    for (; r + COLUMN_ROWS <= rows; r += COLUMN_ROWS)
        reduction_place_as(best, place, x + r, ahead + r, COLUMN_ROWS, half, greatest, first + (int32_t)r * step, step,
                           count);
    for (; r < rows; r++)
        reduction_place_as(best, place, x + r, NULL, 1, half, greatest, first + (int32_t)r * step, step, count);
}

static void reduction_column_place(float *best, uint32_t *place, const void *const *x, const void *const *ahead,
                                   uint32_t rows, bool half, bool greatest, uint32_t first, int32_t step,
                                   uint32_t count)
{
    int32_t *to = (int32_t *)place, from = (int32_t)first;
    if (half && greatest)
        reduction_place_rows(best, to, x, ahead, rows, true, true, from, step, count);
    else if (half)
        reduction_place_rows(best, to, x, ahead, rows, true, false, from, step, count);
    else if (greatest)
        reduction_place_rows(best, to, x, ahead, rows, false, true, from, step, count);
    else
        reduction_place_rows(best, to, x, ahead, rows, false, false, from, step, count);
}

DENSE_INLINE void reduction_deviations_rows(float *sum, float *squares, const void *const *x, uint32_t rows, bool half,
                                            const float *center, uint32_t count)
{
    uint32_t i = 0;
    for (; i + VEC <= count; i += VEC) {
        vec total = vec_load(sum + i), total_squares = vec_load(squares + i), middle = vec_load(center + i);
        for (uint32_t r = 0; r < rows; r++) {
            vec difference = reduction_load(x[r], i, half) - middle;
            total += difference;
            total_squares = vec_fma(difference, difference, total_squares);
        }
        vec_store(sum + i, total);
        vec_store(squares + i, total_squares);
    }
    for (; i < count; i++)
        for (uint32_t r = 0; r < rows; r++) {
            float element = half ? (float)dense_load(x[r], i, DML_TENSOR_DATA_TYPE_FLOAT16) : ((const float *)x[r])[i];
            float difference = element - center[i];
            sum[i] += difference;
            squares[i] = fmath_fma(difference, difference, squares[i]);
        }
}

static void reduction_deviations_columns(float *sum, float *squares, const void *const *x, uint32_t rows, bool half,
                                         const float *center, uint32_t count)
{
    for (uint32_t r = 0, n; r < rows; r += n) {
        n = BASE_MIN(rows - r, 8);
        if (half)
            reduction_deviations_rows(sum, squares, x + r, n, true, center, count);
        else
            reduction_deviations_rows(sum, squares, x + r, n, false, center, count);
    }
}

#endif
