/* SPDX-License-Identifier: Apache-2.0 */
/* The loops of struct kern_reduction_isa and struct kern_total_isa. */
#if defined(__AVX512F__)
#pragma GCC target("prefer-vector-width=512") /* loops that the compiler vectorises */
#endif
#include "kernels/core/isa.h"
#include "kernels/vec/fmath.h"
#include "kernels/reduce/reduction_lines.h"
#include "kernels/reduce/reduction_loops.h"

#define SUMS                                                                                                           \
    8 /* vectors of independent sums: enough to hide the latency of additions, and to keep their errors small */
#define AHEAD 2048 /* bytes that are prefetched */

/* `ahead` is prefetched meanwhile, or the next elements in the row. */
DENSE_INLINE double reduction_row_as(enum kern_stat stat, const void *x, bool half, uint32_t count, float center,
                                     const void *ahead)
{
    const uint32_t bytes = half ? 2 : 4;
    vec acc[SUMS], middle = vec_set(center);
    uint32_t i = 0;
    _Pragma("GCC unroll 8") for (uint32_t j = 0; j < SUMS; j++) acc[j] =
        vec_set(reduction_is_extreme(stat) ? -INFINITY : 0);
    for (; i + SUMS * VEC <= count; i += SUMS * VEC) {
        reduction_prefetch(ahead ? ahead : (const char *)x + AHEAD, i * bytes, SUMS * VEC * bytes);
        _Pragma("GCC unroll 8") for (uint32_t j = 0; j < SUMS; j++) acc[j] =
            reduction_join(stat, acc[j], reduction_load(x, i + j * VEC, half), middle);
    }
    for (; i + VEC <= count; i += VEC)
        acc[0] = reduction_join(stat, acc[0], reduction_load(x, i, half), middle);
    if (i < count)
        acc[1] = reduction_join(stat, acc[1],
                                reduction_load_end(x, i, count - i, half, reduction_neutral(stat, center)), middle);
    const bool nan = stat == KERN_STAT_MAX_NAN || stat == KERN_STAT_MIN_NAN;
    const enum kern_stat join = reduction_of_parts(stat);
    for (uint32_t j = 1; j < SUMS; j++)
        acc[0] = reduction_join(join, acc[0], acc[j], middle);
    if (!reduction_is_extreme(stat))
        return vec_sum(acc[0]);
    if (nan && isnan(vec_sum(vec_abs(acc[0]))))
        return NAN;
    return reduction_extreme(stat == KERN_STAT_MAX || stat == KERN_STAT_MAX_NAN ? vec_top(acc[0]) : -vec_top(acc[0]), x,
                             half, count);
}

DENSE_INLINE double reduction_product(const void *x, bool half, uint32_t count)
{
    double acc[32], total = 1;
    const uint32_t used = BASE_MIN(count, ARRAY_SIZE(acc)); /* the others' product would take longer than a short row */
    for (uint32_t j = 0; j < used; j++)
        acc[j] = 1;
    for (uint32_t i = 0; i < count; i += ARRAY_SIZE(acc)) {
        uint32_t width = BASE_MIN(count - i, ARRAY_SIZE(acc));
        for (uint32_t j = 0; j < width; j++)
            acc[j] *= reduction_element(x, half, i + j);
    }
    for (uint32_t j = 0; j < used; j++)
        total *= acc[j];
    return total;
}

static double reduction_row(enum kern_stat stat, const void *x, bool half, uint32_t count, float center,
                            const void *ahead)
{
#define REDUCTION_ROW(name)                                                                                            \
    case name:                                                                                                         \
        return half ? reduction_row_as(name, x, true, count, center, ahead)                                            \
                    : reduction_row_as(name, x, false, count, center, ahead);
    switch (stat) {
        REDUCTION_ROW(KERN_STAT_SUM)
        REDUCTION_ROW(KERN_STAT_SIZE)
        REDUCTION_ROW(KERN_STAT_SQUARES)
        REDUCTION_ROW(KERN_STAT_EXP)
        REDUCTION_ROW(KERN_STAT_MAX)
        REDUCTION_ROW(KERN_STAT_MIN)
        REDUCTION_ROW(KERN_STAT_MAX_NAN)
        REDUCTION_ROW(KERN_STAT_MIN_NAN)
    case KERN_STAT_PRODUCT:
        break;
    }
#undef REDUCTION_ROW
    return half ? reduction_product(x, true, count) : reduction_product(x, false, count);
}

static uint32_t reduction_find(const void *x, bool half, uint32_t count, float value, bool last)
{
    uint32_t whole = count / VEC * VEC, found = 0;
    vec wanted = vec_set(value);
    uint32_t begin = 0, end = count;
    while (!last && begin < whole && !vec_any_equal(reduction_load(x, begin, half), wanted))
        begin += VEC;
    while (last && end >= VEC && !vec_any_equal(reduction_load(x, end - VEC, half), wanted))
        end -= VEC;
    if (last)
        begin = end >= VEC ? end - VEC : 0;
    end = BASE_MIN(end, begin + VEC);
    for (uint32_t i = begin; i < end; i++) {
        if (reduction_element(x, half, i) != value)
            continue;
        found = i;
        if (!last)
            break;
    }
    return found;
}

/* Elements that are searched when they contain the extreme: fewer cost more sums, more cost longer searches. */
#define PLACE_RUN 1024

static bool reduction_place(const void *x, bool half, uint32_t count, bool greatest, bool last, float *best,
                            uint32_t *out_place)
{
    const enum kern_stat stat = greatest ? KERN_STAT_MAX : KERN_STAT_MIN;
    const char *at = x, *found = NULL;
    uint32_t found_count = 0;
    for (uint32_t i = 0, run; i < count; i += run, at += run * (half ? 2 : 4)) {
        run = BASE_MIN(count - i, PLACE_RUN);
        float top = (float)reduction_row(stat, at, half, run, 0, NULL);
        bool better = greatest ? top > *best : top < *best;
        if (!better && !(last && top == *best) && !(*best != *best && top == top))
            continue;
        *best = top;
        found = at;
        found_count = run;
    }
    if (found)
        *out_place = (uint32_t)((found - (const char *)x) / (half ? 2 : 4)) +
                     reduction_find(found, half, found_count, *best, last);
    return found;
}

/* out[] = e^(x - top); returns the sum. */
DENSE_INLINE double reduction_exponentials_as(float *out, const void *x, bool half, uint32_t count, float top,
                                              const void *ahead)
{
    const uint32_t bytes = half ? 2 : 4;
    vec acc[4], from = vec_set(top);
    uint32_t i = 0;
    _Pragma("GCC unroll 4") for (uint32_t j = 0; j < 4; j++) acc[j] = vec_set(0);
    for (; i + 4 * VEC <= count; i += 4 * VEC) {
        reduction_prefetch(ahead, i * bytes, 4 * VEC * bytes);
        _Pragma("GCC unroll 4") for (uint32_t j = 0; j < 4; j++)
        {
            vec e = vec_exp_below(reduction_load(x, i + j * VEC, half), from, !half);
            vec_store(out + i + j * VEC, e);
            acc[j] += e;
        }
    }
    for (; i < count; i += VEC) {
        const uint32_t width = BASE_MIN(count - i, VEC);
        vec e = vec_exp_below(
            width == VEC ? reduction_load(x, i, half) : reduction_load_end(x, i, width, half, -INFINITY), from, true);
        vec_store_some(DML_TENSOR_DATA_TYPE_FLOAT32, out, i, e, width);
        acc[0] += e;
    }
    return vec_sum((acc[0] + acc[2]) + (acc[1] + acc[3]));
}

static double reduction_exponentials(float *out, const void *x, bool half, uint32_t count, float top, const void *ahead)
{
    return half ? reduction_exponentials_as(out, x, true, count, top, ahead)
                : reduction_exponentials_as(out, x, false, count, top, ahead);
}

static void reduction_respond(float *out, const float *x, const float *squares, uint32_t count, float bias, float alpha,
                              float beta)
{
    _Pragma("GCC ivdep") for (uint32_t j = 0; j < count; j++)
    {
        float base = fmath_fma(alpha, squares[j], bias);
        out[j] = x[j] * fmath_exp(-beta * fmath_log(base));
    }
}

/* Approximate mean of a long run: of 64 elements spread over it. */
static float reduction_sample(const void *x, bool half, uint32_t count)
{
    const uint32_t parts = 64 / VEC, step = count / parts;
    vec sum = vec_set(0);
    if (count < 256)
        return (float)(reduction_row(KERN_STAT_SUM, x, half, count, 0, NULL) / count);
    for (uint32_t i = 0; i < parts; i++)
        sum += reduction_load(x, i * step, half);
    return vec_sum(sum) * (1.0f / 64);
}

DENSE_INLINE void reduction_deviations_as(const void *x, bool half, uint32_t count, float center, double *out_sum,
                                          double *out_squares)
{
    vec sum[4], squares[4], middle = vec_set(center);
    uint32_t i = 0;
    _Pragma("GCC unroll 4") for (uint32_t j = 0; j < 4; j++) sum[j] = squares[j] = vec_set(0);
    for (; i + 4 * VEC <= count; i += 4 * VEC) {
        reduction_prefetch((const char *)x + AHEAD, i * (half ? 2 : 4), 4 * VEC * (half ? 2 : 4));
        _Pragma("GCC unroll 4") for (uint32_t j = 0; j < 4; j++)
        {
            vec difference = reduction_load(x, i + j * VEC, half) - middle;
            sum[j] += difference;
            squares[j] = vec_fma(difference, difference, squares[j]);
        }
    }
    for (; i < count; i += VEC) {
        vec difference =
            (i + VEC <= count ? reduction_load(x, i, half) : reduction_load_end(x, i, count - i, half, center)) -
            middle;
        sum[0] += difference;
        squares[0] = vec_fma(difference, difference, squares[0]);
    }
    *out_sum = vec_sum((sum[0] + sum[2]) + (sum[1] + sum[3]));
    *out_squares = vec_sum((squares[0] + squares[2]) + (squares[1] + squares[3]));
}

static void reduction_deviations(const void *x, bool half, uint32_t count, float center, double *out_sum,
                                 double *out_squares)
{
    if (half)
        reduction_deviations_as(x, true, count, center, out_sum, out_squares);
    else
        reduction_deviations_as(x, false, count, center, out_sum, out_squares);
}

static void reduction_pairs(const float *x, const float *g, uint32_t count, float center, double *out)
{
    vec a[4], b[4], c[4], middle = vec_set(center);
    float rest[3] = { 0 };
    uint32_t i = 0;
    _Pragma("GCC unroll 4") for (uint32_t j = 0; j < 4; j++) a[j] = b[j] = c[j] = vec_set(0);
    for (; i + 4 * VEC <= count; i += 4 * VEC) {
        reduction_prefetch((const char *)x + AHEAD, i * 4, 4 * VEC * 4);
        reduction_prefetch((const char *)g + AHEAD, i * 4, 4 * VEC * 4);
        _Pragma("GCC unroll 4") for (uint32_t j = 0; j < 4; j++)
        {
            const vec gradient = reduction_load(g, i + j * VEC, false);
            const vec difference = reduction_load(x, i + j * VEC, false) - middle;
            a[j] += gradient;
            b[j] = vec_fma(gradient, difference, b[j]);
            c[j] += difference;
        }
    }
    for (; i < count; i++) {
        const float difference = x[i] - center;
        rest[0] += g[i];
        rest[1] = fmath_fma(g[i], difference, rest[1]);
        rest[2] += difference;
    }
    out[0] += vec_sum((a[0] + a[2]) + (a[1] + a[3])) + rest[0];
    out[1] += vec_sum((b[0] + b[2]) + (b[1] + b[3])) + rest[1];
    out[2] += vec_sum((c[0] + c[2]) + (c[1] + c[3])) + rest[2];
}

/* Combines all rows with some vectors of groups from the i-th on, of which `count` are left. */
DENSE_INLINE void pair_step(float *const sums[3], const struct kern_reduction_rows *x, const float *const *g,
                            const float *center, uint32_t i, uint32_t vectors, uint32_t count)
{
    vec total[3][4], middle[4];
    _Pragma("GCC unroll 4") for (uint32_t j = 0; j < vectors; j++)
    {
        middle[j] = vec_load(center + i + j * VEC);
        _Pragma("GCC unroll 3") for (uint32_t s = 0; s < 3; s++) total[s][j] = vec_load(sums[s] + i + j * VEC);
    }
    for (uint32_t r = 0; r < x->rows; r++)
        _Pragma("GCC unroll 4") for (uint32_t j = 0; j < vectors; j++)
        {
            const vec gradient = reduction_load_some(g[r], i + j * VEC, false, count - j * VEC);
            const vec difference = reduction_load_some(x->x[r], i + j * VEC, false, count - j * VEC) - middle[j];
            total[0][j] += gradient;
            total[1][j] = vec_fma(gradient, difference, total[1][j]);
            total[2][j] += difference;
        }
    _Pragma("GCC unroll 4") for (uint32_t j = 0; j < vectors; j++)
        _Pragma("GCC unroll 3") for (uint32_t s = 0; s < 3; s++) vec_store(sums[s] + i + j * VEC, total[s][j]);
}

static void reduction_pair_columns(float *a, float *b, float *c, const struct kern_reduction_rows *x,
                                   const float *const *g, const float *center)
{
    float *const sums[3] = { a, b, c };
    uint32_t i = 0;
    for (; i + 2 * VEC <= x->count; i += 2 * VEC)
        pair_step(sums, x, g, center, i, 2, 2 * VEC);
    for (; i + VEC <= x->count; i += VEC)
        pair_step(sums, x, g, center, i, 1, VEC);
    if (i < x->count)
        pair_step(sums, x, g, center, i, 1, x->count - i);
}

DENSE_INLINE void lines_load_as(const struct kern_reduction_lines *lines, bool half)
{
    const DML_TENSOR_DATA_TYPE type = half ? DML_TENSOR_DATA_TYPE_FLOAT16 : DML_TENSOR_DATA_TYPE_FLOAT32;
    for (uint32_t i = 0; i < lines->pitch; i += VEC)
        for (uint32_t at = 0; at < lines->length; at += VEC) {
            const uint32_t left = BASE_MIN(lines->length - at, VEC);
            vec v[VEC];
            _Pragma("GCC unroll 16") for (uint32_t r = 0; r < VEC; r++) v[r] =
                vec_load_some(type, lines->x, BASE_MIN(i + r, lines->count - 1) * lines->apart + at, left);
            vec_transpose(v);
            _Pragma("GCC unroll 16") for (uint32_t r = 0; r < VEC; r++) if (r < left)
                vec_store(lines->tile + (at + r) * lines->pitch + i, v[r]);
        }
}

static void reduction_lines_load(const struct kern_reduction_lines *lines)
{
    if (lines->half)
        lines_load_as(lines, true);
    else
        lines_load_as(lines, false);
}

DENSE_INLINE void lines_store_as(const struct kern_reduction_lines *lines, bool half)
{
    const DML_TENSOR_DATA_TYPE type = half ? DML_TENSOR_DATA_TYPE_FLOAT16 : DML_TENSOR_DATA_TYPE_FLOAT32;
    for (uint32_t i = 0; i < lines->count; i += VEC)
        for (uint32_t at = 0; at < lines->length; at += VEC) {
            const uint32_t left = BASE_MIN(lines->length - at, VEC);
            vec v[VEC];
            _Pragma("GCC unroll 16") for (uint32_t r = 0; r < VEC; r++) v[r] =
                vec_load(lines->tile + (at + BASE_MIN(r, left - 1)) * lines->pitch + i);
            vec_transpose(v);
            _Pragma("GCC unroll 16") for (uint32_t r = 0; r < VEC; r++) if (i + r < lines->count)
                vec_store_some(type, (void *)lines->x, (i + r) * lines->apart + at, v[r], left);
        }
}

static void reduction_lines_store(const struct kern_reduction_lines *lines)
{
    if (lines->half)
        lines_store_as(lines, true);
    else
        lines_store_as(lines, false);
}

static const struct kern_reduction_isa reduction_isa = {
    &KERN_ISA_TABLE(kern_map_isa_),
    reduction_row,
    reduction_place,
    reduction_sample,
    reduction_exponentials,
    reduction_finish,
    reduction_column,
    reduction_powers,
    reduction_column_place,
    reduction_respond,
    reduction_deviations,
    reduction_deviations_columns,
    reduction_pairs,
    reduction_pair_columns,
    reduction_lines_load,
    reduction_lines_store,
    reduction_softmax_lines,
    reduction_norm_lines,
    reduction_reduce_lines,
};

KERN_ISA_RUN_WITH(reduce_float, kern_reduction_float_run(call, &reduction_isa, begin, end))
KERN_ISA_RUN_WITH(softmax_float, kern_reduction_float_run(call, &reduction_isa, begin, end))
KERN_ISA_RUN_WITH(norm_float, kern_reduction_float_run(call, &reduction_isa, begin, end))
KERN_ISA_RUN_WITH(lp_norm_float, kern_reduction_float_run(call, &reduction_isa, begin, end))
KERN_ISA_RUN_WITH(moments_float, kern_reduction_float_run(call, &reduction_isa, begin, end))
KERN_ISA_RUN_WITH(grad_sums_float, kern_reduction_float_run(call, &reduction_isa, begin, end))
KERN_ISA_RUN_WITH(lrn_float, kern_lrn_run(call, &reduction_isa, begin, end))

/* ---- integers ---- */

#define FOLD(fold, join)                                                                                               \
    case KERN_TOTAL_##fold:                                                                                            \
        _Pragma("GCC ivdep") for (uint32_t i = 0; i < count; i++) join;                                                \
        break;
/* Combined with `acc` for element i. */
#define FOLDS(S, acc)                                                                                                  \
    FOLD(SUM, acc += x[i])                                                                                             \
    FOLD(SIZE, acc += (S)x[i] < 0 ? 0 - x[i] : x[i])                                                                   \
    FOLD(SQUARES, acc += x[i] * x[i])                                                                                  \
    FOLD(PRODUCT, acc *= x[i])                                                                                         \
    FOLD(MAX, acc = (x[i] ^ mask) > acc ? x[i] ^ mask : acc)

/* For words of type W, S if they are signed. */
#define FOLD_WORDS(bits, W, S)                                                                                         \
    static uint64_t fold_row_##bits(enum kern_total fold, const void *data, uint32_t count, uint64_t flip)             \
    {                                                                                                                  \
        const W *x = data, mask = (W)flip;                                                                             \
        W total = fold == KERN_TOTAL_PRODUCT;                                                                          \
        switch (fold) {                                                                                                \
            FOLDS(S, total)                                                                                            \
        }                                                                                                              \
        return total;                                                                                                  \
    }                                                                                                                  \
    static void fold_column_##bits(enum kern_total fold, void *into, const void *data, uint32_t count, uint64_t flip)  \
    {                                                                                                                  \
        const W *x = data, mask = (W)flip;                                                                             \
        W *acc = into;                                                                                                 \
        switch (fold) {                                                                                                \
            FOLDS(S, acc[i])                                                                                           \
        }                                                                                                              \
    }                                                                                                                  \
    static void fold_position_##bits(void *extremes, uint32_t *position, const void *data, uint32_t index, bool last,  \
                                     uint32_t count, uint64_t flip)                                                    \
    {                                                                                                                  \
        const W *x = data, mask = (W)flip;                                                                             \
        W *best = extremes;                                                                                            \
        _Pragma("GCC ivdep") for (uint32_t i = 0; i < count; i++)                                                      \
        {                                                                                                              \
            W v = x[i] ^ mask, b = best[i];                                                                            \
            bool better = (v > b) | (last & (v == b));                                                                 \
            best[i] = better ? v : b;                                                                                  \
            position[i] = better ? index : position[i];                                                                \
        }                                                                                                              \
    }
FOLD_WORDS(32, uint32_t, int32_t)
FOLD_WORDS(64, uint64_t, int64_t)

static uint8_t fold_bytes(const uint8_t *x, uint64_t count, uint8_t flip)
{
    uint8_t most = 0;
    for (uint64_t i = 0; i < count; i++)
        most = (x[i] ^ flip) > most ? x[i] ^ flip : most;
    return most;
}

static const struct kern_total_isa reduce_int_isa = {
    &KERN_ISA_TABLE(kern_map_isa_),     { fold_row_32, fold_row_64 },           fold_bytes,
    { fold_column_32, fold_column_64 }, { fold_position_32, fold_position_64 },
};

KERN_ISA_RUN_WITH(reduce_int, kern_reduce_int_on(call, &reduce_int_isa, begin, end))
