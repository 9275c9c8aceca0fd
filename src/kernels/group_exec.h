/* The loops of struct kern_group_isa; each instruction set's file includes this once and is compiled with its flags. */
#ifndef KERNELS_GROUP_EXEC_H
#define KERNELS_GROUP_EXEC_H

#include "kernels/fmath.h"
#include "kernels/group.h"

#define LANES 128 /* independent sums: enough to hide the latency of adding, and to keep their errors small */

/* acc[j] = expr of x = x[i + j] over whole and partial runs of LANES. */
#define EACH_LANE(expr)                                                                                                \
    for (; i + LANES <= count; i += LANES)                                                                             \
        for (uint32_t j = 0; j < LANES; j++) {                                                                         \
            float v = x[i + j];                                                                                        \
            acc[j] = expr;                                                                                             \
        }                                                                                                              \
    for (uint32_t j = 0; i + j < count; j++) {                                                                         \
        float v = x[i + j];                                                                                            \
        acc[j] = expr;                                                                                                 \
    }                                                                                                                  \
    break;

static float fold_sum(float *acc)
{
    float total = 0;
    for (uint32_t width = LANES / 2; width >= 8; width /= 2)
        for (uint32_t j = 0; j < width; j++)
            acc[j] += acc[j + width];
    for (uint32_t j = 0; j < 8; j++)
        total += acc[j];
    return total;
}

static float fold_extreme(float *acc, bool greatest)
{
    for (uint32_t width = LANES / 2; width >= 1; width /= 2)
        for (uint32_t j = 0; j < width; j++) {
            float u = acc[j + width], v = acc[j];
            acc[j] = (greatest ? u > v : u < v) || v != v ? u : v;
        }
    return acc[0];
}

static double row_product(const float *x, uint32_t count)
{
    double acc[32], total = 1;
    uint32_t i = 0;
    for (uint32_t j = 0; j < ARRAY_SIZE(acc); j++)
        acc[j] = 1;
    for (; i + ARRAY_SIZE(acc) <= count; i += ARRAY_SIZE(acc))
        for (uint32_t j = 0; j < ARRAY_SIZE(acc); j++)
            acc[j] *= x[i + j];
    for (; i < count; i++)
        total *= x[i];
    for (uint32_t j = 0; j < ARRAY_SIZE(acc); j++)
        total *= acc[j];
    return total;
}

static double group_row(enum kern_stat stat, const float *x, uint32_t count, float center)
{
    float acc[LANES];
    uint32_t i = 0;
    bool extreme = stat == KERN_STAT_MOST || stat == KERN_STAT_LEAST;
    for (uint32_t j = 0; j < LANES; j++)
        acc[j] = extreme ? NAN : 0.0f;
    switch (stat) {
    case KERN_STAT_SUM:
        EACH_LANE(acc[j] + v)
    case KERN_STAT_SIZE:
        EACH_LANE(acc[j] + fmath_abs(v))
    case KERN_STAT_SQUARES:
        EACH_LANE(fmath_fma(v - center, v - center, acc[j]))
    case KERN_STAT_EXP:
        EACH_LANE(acc[j] + fmath_exp(v - center))
    case KERN_STAT_MOST:
        EACH_LANE(v > acc[j] || acc[j] != acc[j] ? v : acc[j])
    case KERN_STAT_LEAST:
        EACH_LANE(v < acc[j] || acc[j] != acc[j] ? v : acc[j])
    case KERN_STAT_PRODUCT:
        return row_product(x, count);
    }
    return extreme ? fold_extreme(acc, stat == KERN_STAT_MOST) : fold_sum(acc);
}

/* out[] = e^(x - top); returns the sum. */
static double group_exponentials(float *out, const float *x, uint32_t count, float top)
{
    float acc[LANES] = { 0 };
    uint32_t i = 0;
    _Pragma("GCC ivdep") for (uint32_t j = 0; j < count; j++) out[j] = fmath_exp(x[j] - top);
    for (; i + LANES <= count; i += LANES)
        for (uint32_t j = 0; j < LANES; j++)
            acc[j] += out[i + j];
    for (uint32_t j = 0; i + j < count; j++)
        acc[j] += out[i + j];
    return fold_sum(acc);
}

static void group_scale(float *out, uint32_t count, float factor)
{
    for (uint32_t i = 0; i < count; i++)
        out[i] *= factor;
}

#define EACH_GROUP(expr)                                                                                               \
    _Pragma("GCC ivdep") for (uint32_t j = 0; j < count; j++)                                                          \
    {                                                                                                                  \
        float v = x[j];                                                                                                \
        acc[j] = expr;                                                                                                 \
    }                                                                                                                  \
    break;

static void group_column(enum kern_stat stat, float *acc, const float *x, const float *center, uint32_t count)
{
    switch (stat) {
    case KERN_STAT_SUM:
        EACH_GROUP(acc[j] + v)
    case KERN_STAT_SIZE:
        EACH_GROUP(acc[j] + fmath_abs(v))
    case KERN_STAT_SQUARES:
        EACH_GROUP(fmath_fma(v - center[j], v - center[j], acc[j]))
    case KERN_STAT_EXP:
        EACH_GROUP(acc[j] + fmath_exp(v - center[j]))
    case KERN_STAT_MOST:
        EACH_GROUP(v > acc[j] || acc[j] != acc[j] ? v : acc[j])
    case KERN_STAT_LEAST:
        EACH_GROUP(v < acc[j] || acc[j] != acc[j] ? v : acc[j])
    case KERN_STAT_PRODUCT:
        break;
    }
}

static void group_position(float *best, uint32_t *position, const float *x, uint32_t index, bool greatest, bool last,
                           uint32_t count)
{
    /* The least of x is the greatest of -x. */
    uint32_t flip = greatest ? 0 : 0x80000000u;
    _Pragma("GCC ivdep") for (uint32_t j = 0; j < count; j++)
    {
        float v = fmath_bits(fmath_to_bits(x[j]) ^ flip), b = best[j];
        bool better = (v > b) | (last & (v == b)) | ((b != b) & (v == v));
        best[j] = better ? v : b;
        position[j] = better ? index : position[j];
    }
}

static void group_respond(float *out, const float *x, const float *squares, uint32_t count, float bias, float alpha,
                          float beta)
{
    _Pragma("GCC ivdep") for (uint32_t j = 0; j < count; j++)
    {
        float base = fmath_fma(alpha, squares[j], bias);
        out[j] = x[j] * fmath_exp(-beta * fmath_log(base));
    }
}

static void group_spread(const float *x, uint32_t count, float center, double *out_sum, double *out_squares)
{
    float sum[LANES] = { 0 }, squares[LANES] = { 0 };
    for (uint32_t i = 0; i < count; i += LANES) {
        uint32_t width = BASE_MIN(LANES, count - i);
        for (uint32_t j = 0; j < width; j++) {
            float difference = x[i + j] - center;
            sum[j] += difference;
            squares[j] = fmath_fma(difference, difference, squares[j]);
        }
    }
    *out_sum = fold_sum(sum);
    *out_squares = fold_sum(squares);
}

static void group_spread_columns(float *sum, float *squares, const float *x, const float *center, uint32_t count)
{
    _Pragma("GCC ivdep") for (uint32_t j = 0; j < count; j++)
    {
        float difference = x[j] - center[j];
        sum[j] += difference;
        squares[j] = fmath_fma(difference, difference, squares[j]);
    }
}

static void group_pairs(const float *x, const float *g, uint32_t count, float center, double *out)
{
    float a[LANES] = { 0 }, b[LANES] = { 0 }, c[LANES] = { 0 };
    for (uint32_t i = 0; i < count; i += LANES) {
        uint32_t width = BASE_MIN(LANES, count - i);
        for (uint32_t j = 0; j < width; j++) {
            float difference = x[i + j] - center;
            a[j] += g[i + j];
            b[j] = fmath_fma(g[i + j], difference, b[j]);
            c[j] += difference;
        }
    }
    out[0] += fold_sum(a);
    out[1] += fold_sum(b);
    out[2] += fold_sum(c);
}

static void group_pair_columns(float *a, float *b, float *c, const float *x, const float *g, const float *center,
                               uint32_t count)
{
    _Pragma("GCC ivdep") for (uint32_t j = 0; j < count; j++)
    {
        float difference = x[j] - center[j];
        a[j] += g[j];
        b[j] = fmath_fma(g[j], difference, b[j]);
        c[j] += difference;
    }
}

#undef EACH_LANE
#undef EACH_GROUP

#endif
