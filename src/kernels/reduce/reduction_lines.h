/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions, softmax and normalisation of dense lines without a call for each step of a line: a few lines at a time,
 * whose horizontal sums and divisions overlap. Included once per instruction set. */
#ifndef KERNELS_REDUCTION_LINES_H
#define KERNELS_REDUCTION_LINES_H

#include "kernels/reduce/reduction_loops.h"

#define LINE_SUMS      4    /* vectors of independent sums of a line */
#define LINES_TOGETHER 4    /* lines of one step */
#define LINES_POWERS   1024 /* elements of several lines whose powers stay in the first-level cache */

/* Vector v of a line, `rest` behind its end. */
DENSE_INLINE vec line_load(const void *x, bool half, uint32_t v, uint32_t length, float rest)
{
    const uint32_t left = length - v * VEC;
    if (left >= VEC)
        return reduction_load(x, v * VEC, half);
    if (!half)
        return vec_load_part((const float *)x + v * VEC, left, vec_set(rest));
    const vec value = vec_load_some(DML_TENSOR_DATA_TYPE_FLOAT16, x, v * VEC, left);
    static const int32_t lanes[16] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
    const vec_bits within = (vec_bits)(vec_int_load(lanes) < vec_int_set((int32_t)left));
    return (vec)(((vec_bits)value & within) | ((vec_bits)vec_set(rest) & ~within));
}

DENSE_INLINE void line_store(void *y, bool half, bool stream, uint32_t v, uint32_t length, vec value)
{
    const uint32_t left = length - v * VEC;
    if (left >= VEC)
        vec_put(y, v * VEC, half, stream, value);
    else
        vec_store_some(half ? DML_TENSOR_DATA_TYPE_FLOAT16 : DML_TENSOR_DATA_TYPE_FLOAT32, y, v * VEC, value, left);
}

DENSE_INLINE vec line_join(bool greatest, vec a, vec b)
{
    if (greatest)
        return vec_max(b, a);
    return a + b;
}

/* The largest or the sum of all elements of `count` vectors, which change. */
DENSE_INLINE float line_fold(bool greatest, vec *all, uint32_t count)
{
    _Pragma("GCC unroll 8") for (uint32_t step = 1; step < count; step *= 2)
        _Pragma("GCC unroll 8") for (uint32_t v = 0; v + step < count; v += 2 * step) all[v] =
            line_join(greatest, all[v], all[v + step]);
    return greatest ? vec_top(all[0]) : vec_sum(all[0]);
}

DENSE_INLINE bool line_finite(float value)
{
    return value - value == 0;
}

/* ---- softmax ---- */

/* e^(x - top), for x from top - SOFTMAX_NEAR on within 4 units for the rounded x - top; far below that some positive
 * number that is not noticed in a sum. */
#define SOFTMAX_NEAR 32 /* within, the rounding of x - top costs at most 8 units in the last place */
DENSE_INLINE vec line_exp_near(vec x, vec top)
{
    const vec d = vec_max(vec_set(-87.0f), x - top); /* a NaN is preserved */
    /* Integers added to 1.5 * 2^23 are the last bits of the sum: shifted, these bits are the exponent of 2^n. */
    const vec shifted = vec_fma(d, vec_set(0x1.715476p+0f), vec_set(0x1.8p23f + 127)),
              n = shifted - vec_set(0x1.8p23f + 127);
    const vec r = vec_fma(n, vec_set(-0x1.62e43p-1f), d);
    return VEC_SERIES(r, 0x1.10627ap-7f, 0x1.572a10p-5f, 0x1.5557aep-3f, 0x1.fffdfcp-2f, 1.0f, 1.0f) *
           (vec)((vec_bits)shifted << 23);
}

/* The largest element, and whether all are finite and near it. */
DENSE_INLINE float softmax_top(bool half, const void *x, uint32_t length, bool *out_near)
{
    const uint32_t vectors = (length - 1) / VEC + 1;
    vec most[2], least[2];
    uint32_t v = 0;
    _Pragma("GCC unroll 2") for (uint32_t j = 0; j < 2; j++) most[j] = least[j] =
        line_load(x, half, vectors > 2 ? j : 0, vectors > 2 ? 2 * VEC : length, reduction_element(x, half, 0));
    for (; v + 2 < vectors; v += 2)
        _Pragma("GCC unroll 2") for (uint32_t j = 0; j < 2; j++)
        {
            const vec here = reduction_load(x, (v + j) * VEC, half);
            most[j] = vec_max(here, most[j]);
            least[j] = vec_min(here, least[j]);
        }
    for (; v < vectors; v++) {
        const vec here = line_load(x, half, v, length, reduction_element(x, half, 0));
        most[0] = vec_max(here, most[0]);
        least[0] = vec_min(here, least[0]);
    }
    const float top = line_fold(true, most, 2), bottom = -vec_top(-vec_min(least[0], least[1]));
    *out_near = top - bottom <= SOFTMAX_NEAR;
    return top;
}

/* powers[] = e^(x - top), whole vectors; returns their sum. */
DENSE_INLINE float softmax_powers(bool half, bool near, const void *x, uint32_t length, float top, float *powers)
{
    const uint32_t vectors = (length - 1) / VEC + 1;
    const vec middle = vec_set(top);
    vec fold[2] = { vec_set(0), vec_set(0) };
    uint32_t v = 0;
    for (; v + 2 < vectors; v += 2)
        _Pragma("GCC unroll 2") for (uint32_t j = 0; j < 2; j++)
        {
            const vec here = reduction_load(x, (v + j) * VEC, half);
            const vec e = near ? line_exp_near(here, middle) : vec_exp_below(here, middle, true);
            vec_store(powers + (v + j) * VEC, e);
            fold[j] += e;
        }
    for (; v < vectors; v++) {
        const vec here = line_load(x, half, v, length, -INFINITY);
        const vec e = near ? line_exp_near(here, middle) : vec_exp_below(here, middle, true);
        vec_store(powers + v * VEC, e);
        fold[0] += e;
    }
    return line_fold(false, fold, 2);
}

/* Some lines in each step, so that their sums overlap; the number of lines before one whose largest element is not
 * finite, of which nothing is written. */
DENSE_INLINE uint32_t softmax_some(bool half, const struct kern_reduction_dense *d, uint32_t first, uint32_t count)
{
    const int64_t bytes = half ? 2 : 4;
    const uint32_t vectors = (d->length - 1) / VEC + 1;
    float factor[LINES_TOGETHER], top[LINES_TOGETHER];
    bool near[LINES_TOGETHER];
    const char *x = (const char *)d->x + first * d->x_apart * bytes;
    char *y = (char *)d->y + first * d->y_apart * bytes;
    for (uint32_t i = 0; i < count; i++)
        top[i] = softmax_top(half, x + i * d->x_apart * bytes, d->length, &near[i]);
    for (uint32_t i = 0; i < count; i++)
        count = line_finite(top[i]) ? count : i;
    for (uint32_t i = 0; i < count; i++) {
        const void *line = x + i * d->x_apart * bytes;
        float *powers = d->powers + i * vectors * VEC;
        factor[i] = 1 / (near[i] ? softmax_powers(half, true, line, d->length, top[i], powers)
                                 : softmax_powers(half, false, line, d->length, top[i], powers));
    }
    for (uint32_t i = 0; i < count; i++, y += d->y_apart * bytes) {
        const bool stream = d->stream && (uintptr_t)y % (VEC * (uint64_t)bytes) == 0;
        const float *powers = d->powers + i * vectors * VEC;
        for (uint32_t v = 0; v + 1 < vectors; v++)
            vec_put(y, v * VEC, half, stream, vec_load(powers + v * VEC) * vec_set(factor[i]));
        line_store(y, half, stream, vectors - 1, d->length,
                   vec_load(powers + (vectors - 1) * VEC) * vec_set(factor[i]));
    }
    return count;
}

DENSE_INLINE uint32_t softmax_lines_as(bool half, const struct kern_reduction_dense *d)
{
    const uint32_t room = LINES_POWERS / (uint32_t)base_align_up(d->length, VEC);
    const uint32_t most = BASE_MAX(BASE_MIN(room, LINES_TOGETHER), 1);
    for (uint32_t i = 0, done, some; i < d->count; i += done) {
        some = BASE_MIN(d->count - i, most);
        done = softmax_some(half, d, i, some);
        if (done < some)
            return i + done;
    }
    return d->count;
}

static uint32_t reduction_softmax_lines(const struct kern_reduction_dense *d)
{
    return d->half ? softmax_lines_as(true, d) : softmax_lines_as(false, d);
}

/* ---- normalisation ---- */

/* The sum of all elements, or of x - mean and (x - mean)^2. */
DENSE_INLINE float norm_sum(bool half, const void *x, uint32_t length)
{
    const uint32_t vectors = (length - 1) / VEC + 1;
    vec fold[LINE_SUMS];
    uint32_t v = 0;
    _Pragma("GCC unroll 4") for (uint32_t j = 0; j < LINE_SUMS; j++) fold[j] = vec_set(0);
    for (; v + LINE_SUMS < vectors; v += LINE_SUMS)
        _Pragma("GCC unroll 4") for (uint32_t j = 0; j < LINE_SUMS; j++) fold[j] +=
            reduction_load(x, (v + j) * VEC, half);
    _Pragma("GCC unroll 4") for (uint32_t j = 0; j < LINE_SUMS; j++) if (v + j < vectors) fold[j] +=
        line_load(x, half, v + j, length, 0);
    return line_fold(false, fold, LINE_SUMS);
}

DENSE_INLINE void norm_squares(bool half, const void *x, uint32_t length, float mean, float *out_rest,
                               float *out_squares)
{
    const uint32_t vectors = (length - 1) / VEC + 1;
    vec rest[LINE_SUMS], squares[LINE_SUMS], d;
    uint32_t v = 0;
    _Pragma("GCC unroll 4") for (uint32_t j = 0; j < LINE_SUMS; j++) rest[j] = squares[j] = vec_set(0);
    for (; v + LINE_SUMS < vectors; v += LINE_SUMS)
        _Pragma("GCC unroll 4") for (uint32_t j = 0; j < LINE_SUMS; j++)
        {
            d = reduction_load(x, (v + j) * VEC, half) - vec_set(mean);
            rest[j] += d;
            squares[j] = vec_fma(d, d, squares[j]);
        }
    _Pragma("GCC unroll 4") for (uint32_t j = 0; j < LINE_SUMS; j++) if (v + j < vectors)
    {
        d = line_load(x, half, v + j, length, mean) - vec_set(mean);
        rest[j] += d;
        squares[j] = vec_fma(d, d, squares[j]);
    }
    *out_rest = line_fold(false, rest, LINE_SUMS);
    *out_squares = line_fold(false, squares, LINE_SUMS);
}

/* y = ((x - mean) * b + c) [* scale] [+ shift] */
DENSE_INLINE vec norm_finished(const struct kern_reduction_dense *d, vec x, uint32_t v, float mean, float b, float c)
{
    vec y = vec_fma(x - vec_set(mean), vec_set(b), vec_set(c));
    const vec scale = d->scale ? line_load(d->scale, d->scale_half, v, d->length, 0) : vec_set(1);
    if (d->shift)
        return vec_fma(y, scale, line_load(d->shift, d->scale_half, v, d->length, 0));
    if (d->scale)
        return y * scale;
    return y;
}

/* The last step of line i. */
DENSE_INLINE void norm_finish(bool half, const struct kern_reduction_dense *d, uint32_t i, float mean, float b, float c)
{
    struct kern_reduction_dense own = *d; /* so that stores are known not to change it */
    const int64_t bytes = half ? 2 : 4;
    const char *x = (const char *)d->x + i * d->x_apart * bytes;
    char *y = (char *)d->y + i * d->y_apart * bytes;
    if (own.shift)
        own.shift = (const char *)own.shift + i * own.shift_apart * (own.scale_half ? 2 : 4);
    const uint32_t whole = own.length / VEC;
    const bool stream = own.stream && (uintptr_t)y % (VEC * (half ? 2u : 4u)) == 0;
    for (uint32_t v = 0; v < whole; v++)
        vec_put(y, v * VEC, half, stream, norm_finished(&own, reduction_load(x, v * VEC, half), v, mean, b, c));
    if (whole * VEC < own.length)
        line_store(y, half, false, whole, own.length,
                   norm_finished(&own, line_load(x, half, whole, own.length, 0), whole, mean, b, c));
}

#define SQUARES_LEAST 0x1p-100f /* the squares of smaller numbers are rounded to multiples of 2^-149 */

/* Some lines in each step; the number of lines before one whose squares do not fit FLOAT32, of which nothing is
 * written. */
DENSE_INLINE uint32_t norm_some(bool half, const struct kern_reduction_dense *d, uint32_t first, uint32_t count)
{
    const int64_t bytes = half ? 2 : 4;
    const double length = d->length, each = 1 / length;
    float mean[LINES_TOGETHER] = { 0 }, rest[LINES_TOGETHER] = { 0 }, squares[LINES_TOGETHER] = { 0 };
    float b[LINES_TOGETHER], c[LINES_TOGETHER];
    const char *x = (const char *)d->x + first * d->x_apart * bytes;
    for (uint32_t i = 0; i < count && d->use_mean; i++)
        mean[i] = norm_sum(half, x + i * d->x_apart * bytes, d->length) * (float)each;
    for (uint32_t i = 0; i < count; i++)
        norm_squares(half, x + i * d->x_apart * bytes, d->length, mean[i], &rest[i], &squares[i]);
    for (uint32_t i = 0; i < count; i++)
        count = line_finite(squares[i]) && (!d->size || squares[i] > SQUARES_LEAST) ? count : i;
    for (uint32_t i = 0; i < LINES_TOGETHER && d->size; i++) {
        b[i] = 1 / fmaxf(sqrtf(squares[i]), d->epsilon);
        c[i] = 0;
    }
    for (uint32_t i = 0; i < LINES_TOGETHER && !d->size; i++) {
        /* The mean was rounded: the rest of it. */
        const double missing = d->use_mean ? rest[i] * each : 0, sum = squares[i] - missing * rest[i];
        const double variance = (sum > 0 ? sum : 0) * each + d->epsilon;
        const double factor = d->use_variance ? 1 / sqrt(variance) : 1;
        b[i] = (float)factor;
        c[i] = (float)(-missing * factor);
    }
    for (uint32_t i = 0; i < count; i++)
        norm_finish(half, d, first + i, mean[i], b[i], c[i]);
    return count;
}

DENSE_INLINE uint32_t norm_lines_as(bool half, const struct kern_reduction_dense *d)
{
    for (uint32_t i = 0, done, some; i < d->count; i += done) {
        some = BASE_MIN(d->count - i, LINES_TOGETHER);
        done = norm_some(half, d, i, some);
        if (done < some)
            return i + done;
    }
    return d->count;
}

static uint32_t reduction_norm_lines(const struct kern_reduction_dense *d)
{
    return d->half ? norm_lines_as(true, d) : norm_lines_as(false, d);
}

/* ---- sums and extremes ---- */

/* The statistics of one line per element of a vector, each a vector at first; of fewer lines, some twice. */
DENSE_INLINE vec reduce_some(enum kern_stat stat, bool half, uint32_t vectors, const struct kern_reduction_dense *d,
                             const char *x, uint32_t lines)
{
    const enum kern_stat join = reduction_of_parts(stat);
    vec row[VEC];
    for (uint32_t j = 0; j < VEC; j++) {
        const char *line = x + BASE_MIN(j, lines - 1) * d->x_apart * (half ? 2 : 4);
        vec total = vec_set(reduction_is_extreme(stat) ? -INFINITY : 0);
        for (uint32_t v = 0; v < vectors; v++)
            total = reduction_join(stat, total, line_load(line, half, v, d->length, reduction_neutral(stat, 0)),
                                   vec_set(0));
        row[j] = total;
    }
    vec_transpose(row);
    _Pragma("GCC unroll 4") for (uint32_t step = 1; step < VEC; step *= 2)
        _Pragma("GCC unroll 8") for (uint32_t j = 0; j < VEC; j += 2 * step) row[j] =
            reduction_join(join, row[j], row[j + step], vec_set(0));
    return stat == KERN_STAT_MIN || stat == KERN_STAT_MIN_NAN ? -row[0] : row[0];
}

static void reduce_finish(const struct kern_reduction_dense *d, const char *x, uint32_t lines, float *found)
{
    const bool extreme = reduction_is_extreme(d->stat);
    for (uint32_t j = 0; extreme && j < lines; j++)
        if (isinf(found[j]))
            found[j] = (float)reduction_extreme(found[j], x + j * d->x_apart * (d->half ? 2 : 4), d->half, d->length);
    for (uint32_t j = 0; !extreme && j < VEC; j++)
        found[j] /= d->divisor;
    for (uint32_t j = 0; d->root && j < VEC; j++)
        found[j] = sqrtf(found[j]);
}

/* Before the first sum that is not finite: that may be an intermediate result's overflow. */
static uint32_t reduce_finite(vec value, uint32_t lines)
{
    float found[VEC];
    uint32_t j = 0;
    vec_store(found, value);
    while (j < lines && line_finite(found[j]))
        j++;
    return j;
}

DENSE_INLINE uint32_t reduce_lines_as(enum kern_stat stat, bool half, const struct kern_reduction_dense *d)
{
    const DML_TENSOR_DATA_TYPE type = d->y_half ? DML_TENSOR_DATA_TYPE_FLOAT16 : DML_TENSOR_DATA_TYPE_FLOAT32;
    const uint32_t vectors = (d->length - 1) / VEC + 1;
    const char *x = d->x;
    float found[VEC];
    for (uint32_t i = 0; i < d->count; i += VEC, x += VEC * d->x_apart * (half ? 2 : 4)) {
        const uint32_t left = BASE_MIN(d->count - i, VEC);
        vec value =
            vectors == 1 ? reduce_some(stat, half, 1, d, x, left) : reduce_some(stat, half, vectors, d, x, left);
        const uint32_t lines = reduction_is_extreme(stat) ? left : reduce_finite(value, left);
        if (reduction_is_extreme(stat) ? vec_any_equal(vec_abs(value), vec_set(INFINITY))
                                       : d->root || d->divisor != 1) {
            vec_store(found, value);
            reduce_finish(d, x, lines, found);
            value = vec_load(found);
        }
        vec_store_some(type, d->y, i, value, lines);
        if (lines < left)
            return i + lines;
    }
    return d->count;
}

static uint32_t reduction_reduce_lines(const struct kern_reduction_dense *d)
{
#define REDUCE_LINES(name)                                                                                             \
    case name:                                                                                                         \
        return d->half ? reduce_lines_as(name, true, d) : reduce_lines_as(name, false, d);
    switch (d->stat) {
        REDUCE_LINES(KERN_STAT_SUM)
        REDUCE_LINES(KERN_STAT_SIZE)
        REDUCE_LINES(KERN_STAT_SQUARES)
        REDUCE_LINES(KERN_STAT_MAX)
        REDUCE_LINES(KERN_STAT_MIN)
        REDUCE_LINES(KERN_STAT_MAX_NAN)
        REDUCE_LINES(KERN_STAT_MIN_NAN)
    case KERN_STAT_EXP:
    case KERN_STAT_PRODUCT:
        break;
    }
#undef REDUCE_LINES
    return 0;
}

#endif
