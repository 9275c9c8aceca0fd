/* Loops over groups side by side: rows that hold one element of each. */
#ifndef KERNELS_REDUCTION_COLUMN_H
#define KERNELS_REDUCTION_COLUMN_H

#include "kernels/vec/fmath.h"
#include "kernels/reduce/reduction_lane.h"

#include <float.h>

#define COLUMN_ROWS 4 /* rows that join before the statistics are stored again */

/* Vectors of a cache line. */
#define COLUMN_VECTORS(half) (REDUCTION_LINE / ((half) ? 2 : 4) / VEC)

/* Some of the rows; the compiler knows how many, and their type. */
DENSE_INLINE struct kern_reduction_rows reduction_part(const struct kern_reduction_rows *all, uint32_t first,
                                                       uint32_t rows, bool half, bool ahead)
{
    return (struct kern_reduction_rows){ all->x + first, ahead && all->ahead ? all->ahead + first : NULL, rows,
                                         all->count, half };
}

/* A cache line of each, from element i on. */
DENSE_INLINE void reduction_prefetch_rows(const struct kern_reduction_rows *rows, uint32_t i)
{
    for (uint32_t r = 0; r < rows->rows && rows->ahead; r++)
        reduction_prefetch(rows->ahead[r], i * (rows->half ? 2 : 4), 1);
}

DENSE_INLINE void reduction_column_step(enum kern_stat stat, float *acc, const struct kern_reduction_rows *rows,
                                        const float *center, uint32_t i, uint32_t vectors)
{
    const bool centered = stat == KERN_STAT_SQUARES || stat == KERN_STAT_EXP;
    vec total[8], middle[8];
    _Pragma("GCC unroll 8") for (uint32_t j = 0; j < vectors; j++)
    {
        total[j] = vec_load(acc + i + j * VEC);
        middle[j] = centered ? vec_load(center + i + j * VEC) : vec_set(0);
    }
    for (uint32_t r = 0; r < rows->rows; r++)
        _Pragma("GCC unroll 8") for (uint32_t j = 0; j < vectors; j++) total[j] =
            reduction_join(stat, total[j], reduction_load(rows->x[r], i + j * VEC, rows->half), middle[j]);
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

DENSE_INLINE void reduction_column_as(enum kern_stat stat, float *acc, const struct kern_reduction_rows *rows,
                                      const float *center)
{
    const uint32_t vectors = COLUMN_VECTORS(rows->half), line = vectors * VEC, count = rows->count;
    uint32_t i = 0;
    for (; i + line <= count; i += line) {
        reduction_prefetch_rows(rows, i);
        reduction_column_step(stat, acc, rows, center, i, vectors);
    }
    for (; i + VEC <= count; i += VEC)
        reduction_column_step(stat, acc, rows, center, i, 1);
    for (uint32_t r = 0; r < rows->rows && i < count; r++)
        reduction_column_end(stat, acc, rows->x[r], rows->half, center, i, count - i);
}

DENSE_INLINE void reduction_column_rows(enum kern_stat stat, float *acc, const struct kern_reduction_rows *rows,
                                        bool half, const float *center)
{
    uint32_t r = 0;
    for (; r + COLUMN_ROWS <= rows->rows; r += COLUMN_ROWS) {
        const struct kern_reduction_rows part = reduction_part(rows, r, COLUMN_ROWS, half, true);
        reduction_column_as(stat, acc, &part, center);
    }
    for (; r < rows->rows; r++) {
        const struct kern_reduction_rows part = reduction_part(rows, r, 1, half, false);
        reduction_column_as(stat, acc, &part, center);
    }
}

static void reduction_column(enum kern_stat stat, float *acc, const struct kern_reduction_rows *rows,
                             const float *center)
{
#define REDUCTION_COLUMN(name)                                                                                         \
    case name:                                                                                                         \
        rows->half ? reduction_column_rows(name, acc, rows, true, center)                                              \
                   : reduction_column_rows(name, acc, rows, false, center);                                            \
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

DENSE_INLINE void reduction_powers_rows(float *top, double *sum, const struct kern_reduction_rows *rows)
{
    const uint32_t bytes = rows->half ? 2 : 4;
    uint32_t i = 0;
    for (; i + VEC <= rows->count; i += VEC) {
        if (i * bytes % REDUCTION_LINE == 0)
            reduction_prefetch_rows(rows, i);
        reduction_powers_step(top, sum, rows->x, rows->rows, rows->half, i);
    }
    if (i < rows->count)
        reduction_powers_end(top, sum, rows->x, rows->rows, rows->half, i, rows->count - i);
}

static void reduction_powers(float *top, double *sum, const struct kern_reduction_rows *rows)
{
    uint32_t r = 0;
    for (; r + POWER_ROWS <= rows->rows && rows->half; r += POWER_ROWS) {
        const struct kern_reduction_rows part = reduction_part(rows, r, POWER_ROWS, true, true);
        reduction_powers_rows(top, sum, &part);
    }
    for (; r + POWER_ROWS <= rows->rows; r += POWER_ROWS) {
        const struct kern_reduction_rows part = reduction_part(rows, r, POWER_ROWS, false, true);
        reduction_powers_rows(top, sum, &part);
    }
    for (; r < rows->rows; r++) {
        const struct kern_reduction_rows part = reduction_part(rows, r, 1, rows->half, true);
        reduction_powers_rows(top, sum, &part);
    }
}

/* Row r is number first + r * step. */
struct reduction_numbers {
    bool greatest;
    int32_t first, step;
};

DENSE_INLINE void reduction_place_step(float *best, int32_t *place, const struct kern_reduction_rows *rows,
                                       const struct reduction_numbers *numbers, uint32_t i, uint32_t vectors)
{
    vec top[8];
    vec_int where[8];
    _Pragma("GCC unroll 8") for (uint32_t j = 0; j < vectors; j++)
    {
        top[j] = vec_load(best + i + j * VEC);
        where[j] = vec_int_load(place + i + j * VEC);
    }
    for (uint32_t r = 0; r < rows->rows; r++) {
        const vec_int here = vec_int_set(numbers->first + (int32_t)r * numbers->step);
        _Pragma("GCC unroll 8") for (uint32_t j = 0; j < vectors; j++)
        {
            vec element = reduction_load(rows->x[r], i + j * VEC, rows->half);
            vec_take_greater(numbers->greatest ? element : -element, here, &top[j], &where[j]);
        }
    }
    _Pragma("GCC unroll 8") for (uint32_t j = 0; j < vectors; j++)
    {
        vec_store(best + i + j * VEC, top[j]);
        vec_int_store(place + i + j * VEC, where[j]);
    }
}

DENSE_INLINE float reduction_element(const void *x, bool half, uint32_t i)
{
    return half ? (float)dense_load(x, i, DML_TENSOR_DATA_TYPE_FLOAT16) : ((const float *)x)[i];
}

DENSE_INLINE void reduction_place_as(float *best, int32_t *place, const struct kern_reduction_rows *rows,
                                     const struct reduction_numbers *numbers)
{
    const uint32_t vectors = COLUMN_VECTORS(rows->half), line = vectors * VEC, count = rows->count;
    uint32_t i = 0;
    for (; i + line <= count; i += line) {
        reduction_prefetch_rows(rows, i);
        reduction_place_step(best, place, rows, numbers, i, vectors);
    }
    for (; i + VEC <= count; i += VEC)
        reduction_place_step(best, place, rows, numbers, i, 1);
    for (; i < count; i++)
        for (uint32_t r = 0; r < rows->rows; r++) {
            const float x = reduction_element(rows->x[r], rows->half, i), element = numbers->greatest ? x : -x;
            if (!(element > best[i]))
                continue;
            best[i] = element;
            place[i] = numbers->first + (int32_t)r * numbers->step;
        }
}

DENSE_INLINE void reduction_place_rows(float *best, int32_t *place, const struct kern_reduction_rows *rows, bool half,
                                       struct reduction_numbers numbers)
{
    const int32_t first = numbers.first;
    uint32_t r = 0;
    for (; r + COLUMN_ROWS <= rows->rows; r += COLUMN_ROWS) {
        const struct kern_reduction_rows part = reduction_part(rows, r, COLUMN_ROWS, half, true);
        numbers.first = first + (int32_t)r * numbers.step;
        reduction_place_as(best, place, &part, &numbers);
    }
    for (; r < rows->rows; r++) {
        const struct kern_reduction_rows part = reduction_part(rows, r, 1, half, false);
        numbers.first = first + (int32_t)r * numbers.step;
        reduction_place_as(best, place, &part, &numbers);
    }
}

static void reduction_column_place(float *best, uint32_t *place, const struct kern_reduction_rows *rows, bool greatest,
                                   uint32_t first, int32_t step)
{
    const struct reduction_numbers most = { true, (int32_t)first, step }, least = { false, (int32_t)first, step };
    int32_t *to = (int32_t *)place;
    if (rows->half && greatest)
        reduction_place_rows(best, to, rows, true, most);
    else if (rows->half)
        reduction_place_rows(best, to, rows, true, least);
    else if (greatest)
        reduction_place_rows(best, to, rows, false, most);
    else
        reduction_place_rows(best, to, rows, false, least);
}

DENSE_INLINE void reduction_deviations_rows(float *sum, float *squares, const struct kern_reduction_rows *rows,
                                            const float *center)
{
    uint32_t i = 0;
    for (; i + VEC <= rows->count; i += VEC) {
        vec total = vec_load(sum + i), total_squares = vec_load(squares + i), middle = vec_load(center + i);
        for (uint32_t r = 0; r < rows->rows; r++) {
            vec difference = reduction_load(rows->x[r], i, rows->half) - middle;
            total += difference;
            total_squares = vec_fma(difference, difference, total_squares);
        }
        vec_store(sum + i, total);
        vec_store(squares + i, total_squares);
    }
    for (; i < rows->count; i++)
        for (uint32_t r = 0; r < rows->rows; r++) {
            float difference = reduction_element(rows->x[r], rows->half, i) - center[i];
            sum[i] += difference;
            squares[i] = fmath_fma(difference, difference, squares[i]);
        }
}

static void reduction_deviations_columns(float *sum, float *squares, const struct kern_reduction_rows *rows,
                                         const float *center)
{
    for (uint32_t r = 0, n; r < rows->rows; r += n) {
        n = BASE_MIN(rows->rows - r, 8);
        const struct kern_reduction_rows halves = reduction_part(rows, r, n, true, false);
        const struct kern_reduction_rows floats = reduction_part(rows, r, n, false, false);
        if (rows->half)
            reduction_deviations_rows(sum, squares, &halves, center);
        else
            reduction_deviations_rows(sum, squares, &floats, center);
    }
}

#endif
