/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax and normalisation of dense lines without a call for each: all steps of a line in one function, its elements
 * in registers if they are few. Included once per instruction set. */
#ifndef KERNELS_REDUCTION_LINES_H
#define KERNELS_REDUCTION_LINES_H

#include "kernels/reduce/reduction_loops.h"

#define LINE_VECTORS 8 /* vectors of a line that stay in registers */
#define LINE_SUMS    4 /* vectors of independent sums of a longer one */

/* Vector v of a line, `rest` behind its end. */
DENSE_INLINE vec line_load(const void *x, bool half, uint32_t v, uint32_t length, float rest)
{
    const uint32_t left = length - v * VEC;
    if (left >= VEC)
        return reduction_load(x, v * VEC, half);
    if (!half)
        return vec_load_part((const float *)x + v * VEC, left, vec_set(rest));
    float part[VEC];
    for (uint32_t j = 0; j < VEC; j++)
        part[j] = j < left ? reduction_element(x, true, v * VEC + j) : rest;
    return vec_load(part);
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
        _Pragma("GCC unroll 8") for (uint32_t v = 0; v + step < count; v += 2 * step)
            all[v] = line_join(greatest, all[v], all[v + step]);
    return greatest ? vec_top(all[0]) : vec_sum(all[0]);
}

DENSE_INLINE bool line_finite(float value)
{
    return value - value == 0;
}

/* ---- softmax ---- */

/* A line of `vectors` vectors; false, and nothing is written: its largest element is not finite. */
DENSE_INLINE bool softmax_in_registers(uint32_t vectors, bool half, const void *x, void *y, uint32_t length,
                                       bool stream)
{
    vec e[LINE_VECTORS], fold[LINE_VECTORS];
    _Pragma("GCC unroll 8") for (uint32_t v = 0; v < vectors; v++)
        fold[v] = e[v] = line_load(x, half, v, v + 1 < vectors ? vectors * VEC : length, -INFINITY);
    const float top = line_fold(true, fold, vectors);
    if (!line_finite(top))
        return false;
    _Pragma("GCC unroll 8") for (uint32_t v = 0; v < vectors; v++) fold[v] = e[v] =
        vec_exp_below(e[v], vec_set(top), true);
    const vec factor = vec_set(1 / line_fold(false, fold, vectors));
    _Pragma("GCC unroll 8") for (uint32_t v = 0; v < vectors; v++)
        line_store(y, half, stream, v, v + 1 < vectors ? vectors * VEC : length, e[v] * factor);
    return true;
}

/* A longer one; `powers`: room for whole vectors. */
DENSE_INLINE bool softmax_in_memory(bool half, const void *x, void *y, uint32_t length, bool stream, float *powers)
{
    const uint32_t vectors = (length - 1) / VEC + 1;
    vec fold[LINE_SUMS], e;
    uint32_t v = 0;
    _Pragma("GCC unroll 4") for (uint32_t j = 0; j < LINE_SUMS; j++) fold[j] = reduction_load(x, j * VEC, half);
    for (v = LINE_SUMS; v + LINE_SUMS < vectors; v += LINE_SUMS)
        _Pragma("GCC unroll 4") for (uint32_t j = 0; j < LINE_SUMS; j++) fold[j] =
            vec_max(reduction_load(x, (v + j) * VEC, half), fold[j]);
    for (; v < vectors; v++)
        fold[v % LINE_SUMS] = vec_max(line_load(x, half, v, length, -INFINITY), fold[v % LINE_SUMS]);
    const float top = line_fold(true, fold, LINE_SUMS);
    if (!line_finite(top))
        return false;
    _Pragma("GCC unroll 4") for (uint32_t j = 0; j < LINE_SUMS; j++) fold[j] = vec_set(0);
    for (v = 0; v + LINE_SUMS < vectors; v += LINE_SUMS)
        _Pragma("GCC unroll 4") for (uint32_t j = 0; j < LINE_SUMS; j++)
        {
            e = vec_exp_below(reduction_load(x, (v + j) * VEC, half), vec_set(top), true);
            vec_store(powers + (v + j) * VEC, e);
            fold[j] += e;
        }
    for (; v < vectors; v++) {
        e = vec_exp_below(line_load(x, half, v, length, -INFINITY), vec_set(top), true);
        vec_store(powers + v * VEC, e);
        fold[0] += e;
    }
    const vec factor = vec_set(1 / line_fold(false, fold, LINE_SUMS));
    for (v = 0; v < vectors; v++)
        line_store(y, half, stream, v, length, vec_load(powers + v * VEC) * factor);
    return true;
}

DENSE_INLINE uint32_t softmax_lines_of(uint32_t vectors, bool half, const struct kern_reduction_dense *d)
{
    const int64_t bytes = half ? 2 : 4;
    for (uint32_t i = 0; i < d->count; i++) {
        const void *x = (const char *)d->x + i * d->x_apart * bytes;
        char *y = (char *)d->y + i * d->y_apart * bytes;
        const bool stream = d->stream && (uintptr_t)y % (VEC * (uint64_t)bytes) == 0;
        if (!(vectors <= LINE_VECTORS ? softmax_in_registers(vectors, half, x, y, d->length, stream)
                                      : softmax_in_memory(half, x, y, d->length, stream, d->powers)))
            return i;
    }
    return d->count;
}

DENSE_INLINE uint32_t softmax_lines_as(bool half, const struct kern_reduction_dense *d)
{
#define LINES_OF(n)                                                                                                    \
    case n:                                                                                                            \
        return softmax_lines_of(n, half, d);
    switch ((d->length - 1) / VEC + 1) {
        LINES_OF(1)
        LINES_OF(2)
        LINES_OF(3)
        LINES_OF(4)
        LINES_OF(5)
        LINES_OF(6)
        LINES_OF(7)
        LINES_OF(8)
    default:
        return softmax_lines_of(LINE_VECTORS + 1, half, d);
    }
#undef LINES_OF
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
    _Pragma("GCC unroll 4") for (uint32_t j = 0; j < LINE_SUMS; j++) if (v + j < vectors)
        fold[j] += line_load(x, half, v + j, length, 0);
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

/* False, and nothing is written: its squares do not fit FLOAT32. */
DENSE_INLINE bool norm_line(bool half, const struct kern_reduction_dense *d, const void *x, void *y, bool stream)
{
    const double count = d->length;
    const float mean = d->use_mean ? norm_sum(half, x, d->length) / (float)d->length : 0;
    float rest, sum;
    norm_squares(half, x, d->length, mean, &rest, &sum);
    if (!line_finite(sum))
        return false;
    /* The mean was rounded: the rest of it. */
    const double missing = d->use_mean ? rest / count : 0, squares = sum - missing * missing * count;
    const double factor = d->use_variance ? 1 / sqrt(fmax(squares, 0) / count + d->epsilon) : 1;
    const float b = (float)factor, c = (float)(-missing * factor);
    const struct kern_reduction_dense own = *d; /* so that stores are known not to change it */
    const uint32_t whole = d->length / VEC;
    for (uint32_t v = 0; v < whole; v++)
        vec_put(y, v * VEC, half, stream, norm_finished(&own, reduction_load(x, v * VEC, half), v, mean, b, c));
    if (whole * VEC < d->length)
        line_store(y, half, false, whole, d->length,
                   norm_finished(&own, line_load(x, half, whole, d->length, 0), whole, mean, b, c));
    return true;
}

DENSE_INLINE uint32_t norm_lines_as(bool half, const struct kern_reduction_dense *d)
{
    const int64_t bytes = half ? 2 : 4;
    for (uint32_t i = 0; i < d->count; i++) {
        char *y = (char *)d->y + i * d->y_apart * bytes;
        const bool stream = d->stream && (uintptr_t)y % (VEC * (uint64_t)bytes) == 0;
        if (!norm_line(half, d, (const char *)d->x + i * d->x_apart * bytes, y, stream))
            return i;
    }
    return d->count;
}

static uint32_t reduction_norm_lines(const struct kern_reduction_dense *d)
{
    return d->half ? norm_lines_as(true, d) : norm_lines_as(false, d);
}

#endif
