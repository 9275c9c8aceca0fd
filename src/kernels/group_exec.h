/* The loops of struct kern_group_isa; each instruction set's file includes this once and is compiled with its flags. */
#ifndef KERNELS_GROUP_EXEC_H
#define KERNELS_GROUP_EXEC_H

#include "kernels/isa.h"
#include "kernels/fmath.h"
#include "kernels/group.h"
#include "kernels/group_vec.h"

#define SUMS  8 /* vectors of independent sums: enough to hide the latency of adding, and to keep their errors small */
#define AHEAD 1024 /* bytes that are asked for before they are needed */

DENSE_INLINE vec group_load(const void *x, uint32_t i, bool half)
{
    return half ? vec_load_half((const uint16_t *)x + i) : vec_load((const float *)x + i);
}

/* The last `count` elements (fewer than a vector), then `rest`. */
DENSE_INLINE vec group_load_end(const void *x, uint32_t i, uint32_t count, bool half, float rest)
{
    float part[VEC];
    vec_store(part, vec_set(rest));
    for (uint32_t j = 0; j < count; j++)
        part[j] = half ? (float)dense_load(x, i + j, DML_TENSOR_DATA_TYPE_FLOAT16) : ((const float *)x)[i + j];
    return vec_load(part);
}

DENSE_INLINE vec group_join(enum kern_stat stat, vec total, vec x, vec center)
{
    vec difference = x - center;
    switch (stat) {
    case KERN_STAT_SUM:
        return total + x;
    case KERN_STAT_SIZE:
        return total + vec_abs(x);
    case KERN_STAT_SQUARES:
        return vec_fma(difference, difference, total);
    case KERN_STAT_EXP:
        return total + group_exp(x, center, true);
    case KERN_STAT_MOST:
        return vec_max(x, total);
    case KERN_STAT_LEAST: /* minus the greatest of -x */
        return vec_max(-x, total);
    case KERN_STAT_PRODUCT:
        return total * x;
    }
    return total;
}

DENSE_INLINE bool group_is_extreme(enum kern_stat stat)
{
    return stat == KERN_STAT_MOST || stat == KERN_STAT_LEAST;
}

/* What joins without an effect. */
DENSE_INLINE float group_neutral(enum kern_stat stat, float center)
{
    if (stat == KERN_STAT_EXP)
        return -INFINITY;
    return stat == KERN_STAT_MOST      ? -INFINITY
           : stat == KERN_STAT_LEAST   ? INFINITY
           : stat == KERN_STAT_SQUARES ? center
                                       : 0;
}

DENSE_INLINE double group_row_as(enum kern_stat stat, const void *x, bool half, uint32_t count, float center)
{
    vec acc[SUMS], middle = vec_set(center);
    uint32_t i = 0;
    _Pragma("GCC unroll 8") for (uint32_t j = 0; j < SUMS; j++) acc[j] =
        vec_set(group_is_extreme(stat) ? -INFINITY : 0);
    for (; i + SUMS * VEC <= count; i += SUMS * VEC) {
        __builtin_prefetch((const char *)x + i * (half ? 2 : 4) + AHEAD);
        _Pragma("GCC unroll 8") for (uint32_t j = 0; j < SUMS; j++) acc[j] =
            group_join(stat, acc[j], group_load(x, i + j * VEC, half), middle);
    }
    for (; i + VEC <= count; i += VEC)
        acc[0] = group_join(stat, acc[0], group_load(x, i, half), middle);
    if (i < count)
        acc[1] = group_join(stat, acc[1], group_load_end(x, i, count - i, half, group_neutral(stat, center)), middle);
    for (uint32_t j = 1; j < SUMS; j++)
        acc[0] = group_is_extreme(stat) ? vec_max(acc[j], acc[0]) : group_join(KERN_STAT_SUM, acc[0], acc[j], middle);
    if (group_is_extreme(stat))
        return stat == KERN_STAT_MOST ? vec_top(acc[0]) : -vec_top(acc[0]);
    return vec_sum(acc[0]);
}

static double group_product(const void *x, bool half, uint32_t count)
{
    double acc[32], total = 1;
    for (uint32_t j = 0; j < ARRAY_SIZE(acc); j++)
        acc[j] = 1;
    for (uint32_t i = 0; i < count; i += ARRAY_SIZE(acc)) {
        uint32_t width = BASE_MIN(count - i, ARRAY_SIZE(acc));
        float part[ARRAY_SIZE(acc)];
        for (uint32_t j = 0; j < width && half; j++)
            part[j] = (float)dense_load(x, i + j, DML_TENSOR_DATA_TYPE_FLOAT16);
        for (uint32_t j = 0; j < width && !half; j++)
            part[j] = ((const float *)x)[i + j];
        for (uint32_t j = 0; j < width; j++)
            acc[j] *= part[j];
    }
    for (uint32_t j = 0; j < ARRAY_SIZE(acc); j++)
        total *= acc[j];
    return total;
}

/* -infinity may be the greatest element or that there is no number at all. */
static double group_extreme(double found, const void *x, bool half, uint32_t count)
{
    if (!isinf(found))
        return found;
    for (uint32_t i = 0; i < count; i++) {
        double element = half ? dense_load(x, i, DML_TENSOR_DATA_TYPE_FLOAT16) : ((const float *)x)[i];
        if (element == element)
            return found;
    }
    return NAN;
}

DENSE_INLINE double group_row_any(enum kern_stat stat, const void *x, bool half, uint32_t count, float center)
{
    switch (stat) {
    case KERN_STAT_SUM:
        return group_row_as(KERN_STAT_SUM, x, half, count, 0);
    case KERN_STAT_SIZE:
        return group_row_as(KERN_STAT_SIZE, x, half, count, 0);
    case KERN_STAT_SQUARES:
        return group_row_as(KERN_STAT_SQUARES, x, half, count, center);
    case KERN_STAT_EXP:
        return group_row_as(KERN_STAT_EXP, x, half, count, center);
    case KERN_STAT_MOST:
        return group_extreme(group_row_as(KERN_STAT_MOST, x, half, count, 0), x, half, count);
    case KERN_STAT_LEAST:
        return group_extreme(group_row_as(KERN_STAT_LEAST, x, half, count, 0), x, half, count);
    case KERN_STAT_PRODUCT:
        break;
    }
    return group_product(x, half, count);
}

static double group_row(enum kern_stat stat, const void *x, bool half, uint32_t count, float center)
{
    return half ? group_row_any(stat, x, true, count, center) : group_row_any(stat, x, false, count, center);
}

static uint32_t group_find(const void *x, bool half, uint32_t count, float value, bool last)
{
    uint32_t whole = count / VEC * VEC, found = 0;
    vec wanted = vec_set(value);
    uint32_t begin = 0, end = count;
    while (!last && begin < whole && !vec_any_equal(group_load(x, begin, half), wanted))
        begin += VEC;
    while (last && end >= VEC && !vec_any_equal(group_load(x, end - VEC, half), wanted))
        end -= VEC;
    if (last)
        begin = end >= VEC ? end - VEC : 0;
    end = BASE_MIN(end, begin + VEC);
    for (uint32_t i = begin; i < end; i++) {
        float element = half ? (float)dense_load(x, i, DML_TENSOR_DATA_TYPE_FLOAT16) : ((const float *)x)[i];
        if (element != value)
            continue;
        found = i;
        if (!last)
            break;
    }
    return found;
}

/* out[] = e^(x - top); returns the sum. */
static double group_exponentials(float *out, const void *x, bool half, uint32_t count, float top)
{
    vec acc[4], from = vec_set(top);
    uint32_t i = 0;
    _Pragma("GCC unroll 4") for (uint32_t j = 0; j < 4; j++) acc[j] = vec_set(0);
    for (; i + 4 * VEC <= count; i += 4 * VEC)
        _Pragma("GCC unroll 4") for (uint32_t j = 0; j < 4; j++)
        {
            vec e = half ? group_exp(vec_load_half((const uint16_t *)x + i + j * VEC), from, false)
                         : group_exp(vec_load((const float *)x + i + j * VEC), from, true);
            vec_store(out + i + j * VEC, e);
            acc[j] += e;
        }
    for (; i < count; i += VEC) {
        float part[VEC];
        uint32_t width = BASE_MIN(count - i, VEC);
        vec e =
            group_exp(width == VEC ? group_load(x, i, half) : group_load_end(x, i, width, half, -INFINITY), from, true);
        vec_store(part, e);
        memcpy(out + i, part, width * sizeof(float));
        acc[0] += e;
    }
    return vec_sum((acc[0] + acc[2]) + (acc[1] + acc[3]));
}

DENSE_INLINE vec group_parameter(const struct kern_group_parameter *p, uint32_t i)
{
    if (p->step == KERN_GROUP_ONE)
        return vec_set(*(const float *)p->data);
    return group_load(p->data, i, p->step == KERN_GROUP_EACH_HALF);
}

DENSE_INLINE vec group_finished(enum kern_group_end end, const struct kern_group_finish *f, uint32_t i)
{
    vec x = group_load(f->x, i, f->x_half), a = group_parameter(&f->a, i), b = group_parameter(&f->b, i);
    switch (end) {
    case KERN_GROUP_SCALED:
        return x * b;
    case KERN_GROUP_DIVIDED:
        return x / b;
    case KERN_GROUP_POWERS:
        return group_exp(x, a, true) * b;
    case KERN_GROUP_LESS:
        return (x - a) - b;
    case KERN_GROUP_AFFINE:
        break;
    }
    x = vec_fma(x - a, b, group_parameter(&f->c, i));
    if (f->scale.data && f->shift.data)
        return vec_fma(x, group_parameter(&f->scale, i), group_parameter(&f->shift, i));
    if (f->scale.data)
        return x * group_parameter(&f->scale, i);
    if (f->shift.data)
        x += group_parameter(&f->shift, i);
    return x;
}

DENSE_INLINE void group_put(const struct kern_group_finish *f, uint32_t i, bool stream, vec value)
{
    if (f->y_half && stream)
        vec_stream_half((uint16_t *)f->y + i, value);
    else if (f->y_half)
        vec_store_half((uint16_t *)f->y + i, value);
    else if (stream)
        vec_stream((float *)f->y + i, value);
    else
        vec_store((float *)f->y + i, value);
}

/* A parameter's last `count` elements where a whole vector may be read. */
static void group_parameter_end(struct kern_group_parameter *p, uint32_t i, uint32_t count, float *room)
{
    const uint32_t bytes = p->step == KERN_GROUP_EACH_HALF ? 2 : 4;
    if (!p->data || p->step == KERN_GROUP_ONE)
        return;
    memset(room, 0, VEC * sizeof(float));
    memcpy(room, (const char *)p->data + i * bytes, count * bytes);
    p->data = room;
}

DENSE_INLINE void group_finish_end(enum kern_group_end end, const struct kern_group_finish *f, uint32_t i,
                                   uint32_t count)
{
    float room[7][VEC];
    struct kern_group_finish last = *f;
    memset(room, 0, sizeof(room));
    memcpy(room[0], (const char *)f->x + i * (f->x_half ? 2 : 4), count * (f->x_half ? 2 : 4));
    last.x = room[0];
    last.y = room[1];
    group_parameter_end(&last.a, i, count, room[2]);
    group_parameter_end(&last.b, i, count, room[3]);
    group_parameter_end(&last.c, i, count, room[4]);
    group_parameter_end(&last.scale, i, count, room[5]);
    group_parameter_end(&last.shift, i, count, room[6]);
    group_put(&last, 0, false, group_finished(end, &last, 0));
    memcpy((char *)f->y + i * (f->y_half ? 2 : 4), room[1], count * (f->y_half ? 2 : 4));
}

DENSE_INLINE void group_finish_as(enum kern_group_end end, const struct kern_group_finish *f, uint32_t count)
{
    const struct kern_group_finish own = *f; /* so that stores are known not to change it */
    bool stream = f->stream && (uintptr_t)f->y % (VEC * (f->y_half ? 2 : 4)) == 0;
    uint32_t i = 0;
    for (; i + 4 * VEC <= count; i += 4 * VEC) {
        vec value[4];
        _Pragma("GCC unroll 4") for (uint32_t j = 0; j < 4; j++) value[j] = group_finished(end, &own, i + j * VEC);
        _Pragma("GCC unroll 4") for (uint32_t j = 0; j < 4; j++) group_put(&own, i + j * VEC, stream, value[j]);
    }
    for (; i + VEC <= count; i += VEC)
        group_put(&own, i, stream, group_finished(end, &own, i));
    if (i < count)
        group_finish_end(end, &own, i, count - i);
}

static void group_finish(const struct kern_group_finish *f, uint32_t count)
{
    switch (f->end) {
    case KERN_GROUP_SCALED:
        group_finish_as(KERN_GROUP_SCALED, f, count);
        break;
    case KERN_GROUP_DIVIDED:
        group_finish_as(KERN_GROUP_DIVIDED, f, count);
        break;
    case KERN_GROUP_POWERS:
        group_finish_as(KERN_GROUP_POWERS, f, count);
        break;
    case KERN_GROUP_LESS:
        group_finish_as(KERN_GROUP_LESS, f, count);
        break;
    case KERN_GROUP_AFFINE:
        group_finish_as(KERN_GROUP_AFFINE, f, count);
        break;
    }
}

static void group_stream_end(void)
{
    vec_stream_end();
}

DENSE_INLINE void group_column_as(enum kern_stat stat, float *acc, const void *const *x, uint32_t rows, bool half,
                                  const float *center, uint32_t count)
{
    uint32_t i = 0;
    bool centered = stat == KERN_STAT_SQUARES || stat == KERN_STAT_EXP;
    for (; i + VEC <= count; i += VEC) {
        vec total = vec_load(acc + i), middle = centered ? vec_load(center + i) : vec_set(0);
        for (uint32_t r = 0; r < rows; r++)
            total = group_join(stat, total, group_load(x[r], i, half), middle);
        vec_store(acc + i, total);
    }
    if (i == count)
        return;
    float part[2][VEC] = { { 0 }, { 0 } };
    memcpy(part[0], acc + i, (count - i) * sizeof(float));
    if (centered)
        memcpy(part[1], center + i, (count - i) * sizeof(float));
    vec total = vec_load(part[0]);
    for (uint32_t r = 0; r < rows; r++)
        total = group_join(stat, total, group_load_end(x[r], i, count - i, half, 0), vec_load(part[1]));
    vec_store(part[0], total);
    memcpy(acc + i, part[0], (count - i) * sizeof(float));
}

DENSE_INLINE void group_column_rows(enum kern_stat stat, float *acc, const void *const *x, uint32_t rows, bool half,
                                    const float *center, uint32_t count)
{
    for (; rows >= 4; rows -= 4, x += 4)
        group_column_as(stat, acc, x, 4, half, center, count);
    for (; rows; rows--, x++)
        group_column_as(stat, acc, x, 1, half, center, count);
}

static void group_column(enum kern_stat stat, float *acc, const void *const *x, uint32_t rows, bool half,
                         const float *center, uint32_t count)
{
#define GROUP_COLUMN(name)                                                                                             \
    case name:                                                                                                         \
        half ? group_column_rows(name, acc, x, rows, true, center, count)                                              \
             : group_column_rows(name, acc, x, rows, false, center, count);                                            \
        break;
    switch (stat) {
        GROUP_COLUMN(KERN_STAT_SUM)
        GROUP_COLUMN(KERN_STAT_SIZE)
        GROUP_COLUMN(KERN_STAT_SQUARES)
        GROUP_COLUMN(KERN_STAT_EXP)
        GROUP_COLUMN(KERN_STAT_MOST)
        GROUP_COLUMN(KERN_STAT_LEAST)
    case KERN_STAT_PRODUCT:
        break;
    }
#undef GROUP_COLUMN
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

DENSE_INLINE void group_spread_as(const void *x, bool half, uint32_t count, float center, double *out_sum,
                                  double *out_squares)
{
    vec sum[4], squares[4], middle = vec_set(center);
    uint32_t i = 0;
    _Pragma("GCC unroll 4") for (uint32_t j = 0; j < 4; j++) sum[j] = squares[j] = vec_set(0);
    for (; i + 4 * VEC <= count; i += 4 * VEC)
        _Pragma("GCC unroll 4") for (uint32_t j = 0; j < 4; j++)
        {
            vec difference = group_load(x, i + j * VEC, half) - middle;
            sum[j] += difference;
            squares[j] = vec_fma(difference, difference, squares[j]);
        }
    for (; i < count; i += VEC) {
        vec difference =
            (i + VEC <= count ? group_load(x, i, half) : group_load_end(x, i, count - i, half, center)) - middle;
        sum[0] += difference;
        squares[0] = vec_fma(difference, difference, squares[0]);
    }
    *out_sum = vec_sum((sum[0] + sum[2]) + (sum[1] + sum[3]));
    *out_squares = vec_sum((squares[0] + squares[2]) + (squares[1] + squares[3]));
}

static void group_spread(const void *x, bool half, uint32_t count, float center, double *out_sum, double *out_squares)
{
    if (half)
        group_spread_as(x, true, count, center, out_sum, out_squares);
    else
        group_spread_as(x, false, count, center, out_sum, out_squares);
}

static void group_spread_columns(float *sum, float *squares, const void *x, bool half, const float *center,
                                 uint32_t count)
{
    uint32_t j = 0;
    for (; j + VEC <= count; j += VEC) {
        vec difference =
            (half ? vec_load_half((const uint16_t *)x + j) : vec_load((const float *)x + j)) - vec_load(center + j);
        vec_store(sum + j, vec_load(sum + j) + difference);
        vec_store(squares + j, vec_fma(difference, difference, vec_load(squares + j)));
    }
    for (; j < count; j++) {
        float element = half ? (float)dense_load(x, j, DML_TENSOR_DATA_TYPE_FLOAT16) : ((const float *)x)[j];
        float difference = element - center[j];
        sum[j] += difference;
        squares[j] = fmath_fma(difference, difference, squares[j]);
    }
}

#define LANES 64

static float group_fold(const float *acc)
{
    float total[8] = { 0 };
    for (uint32_t i = 0; i < LANES; i += 8)
        for (uint32_t j = 0; j < 8; j++)
            total[j] += acc[i + j];
    return ((total[0] + total[4]) + (total[1] + total[5])) + ((total[2] + total[6]) + (total[3] + total[7]));
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
    out[0] += group_fold(a);
    out[1] += group_fold(b);
    out[2] += group_fold(c);
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

#define GROUP_ISA(map)                                                                                                 \
    {                                                                                                                  \
        map, group_row, group_find, group_exponentials, group_finish, group_stream_end, group_column, group_respond,   \
            group_spread, group_spread_columns, group_pairs, group_pair_columns                                        \
    }

const struct kern_group_isa KERN_ISA_TABLE(kern_group_isa_) = GROUP_ISA(&KERN_ISA_TABLE(kern_map_isa_));

KERN_ISA_RUN_WITH(reduce_float, kern_reduce_run(call, &KERN_ISA_TABLE(kern_group_isa_), begin, end))
KERN_ISA_RUN_WITH(softmax_float, kern_softmax_run(call, &KERN_ISA_TABLE(kern_group_isa_), begin, end))
KERN_ISA_RUN_WITH(norm_float, kern_norm_run(call, &KERN_ISA_TABLE(kern_group_isa_), begin, end))
KERN_ISA_RUN_WITH(lp_norm_float, kern_lp_norm_run(call, &KERN_ISA_TABLE(kern_group_isa_), begin, end))
KERN_ISA_RUN_WITH(lrn_float, kern_lrn_run(call, &KERN_ISA_TABLE(kern_group_isa_), begin, end))
KERN_ISA_RUN_WITH(moments_float, kern_moments_run(call, &KERN_ISA_TABLE(kern_group_isa_), begin, end))
KERN_ISA_RUN_WITH(grad_sums_float, kern_grad_sums_run(call, &KERN_ISA_TABLE(kern_group_isa_), begin, end))

#endif
