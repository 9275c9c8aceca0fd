// SPDX-License-Identifier: Apache-2.0
/* Vectors of FLOAT32 as wide as the instruction set that the including file is compiled for. The
 * instruction-set-specific functions are in vec_x86.h, vec_neon.h and vec_plain.h, the same for each. */
#ifndef KERNELS_VEC_H
#define KERNELS_VEC_H

#include "kernels/core/dense.h"

#if defined(__AVX512F__)
#include <immintrin.h>
#define VEC      16
#define VEC_WIDE 8 /* of FLOAT64 */
typedef __m512 vec;
#elif defined(__AVX2__)
#include <immintrin.h>
#define VEC      8
#define VEC_WIDE 4
typedef __m256 vec;
#elif defined(__aarch64__)
#include <arm_neon.h>
#define VEC      4
#define VEC_WIDE 2
typedef float32x4_t vec;
#else
#define VEC      4
#define VEC_WIDE 2
typedef float vec __attribute__((vector_size(VEC * sizeof(float))));
#endif
typedef int32_t vec_int __attribute__((vector_size(VEC * sizeof(int32_t))));
typedef uint32_t vec_bits __attribute__((vector_size(VEC * sizeof(uint32_t))));

DENSE_INLINE vec vec_load(const float *from)
{
    vec value;
    memcpy(&value, from, sizeof(value));
    return value;
}

DENSE_INLINE void vec_store(float *to, vec value)
{
    memcpy(to, &value, sizeof(value));
}

DENSE_INLINE vec vec_set(float value)
{
    return value - (vec){ 0 };
}

DENSE_INLINE vec vec_abs(vec a)
{
    return (vec)((vec_bits)a & 0x7fffffffu);
}

#if defined(__AVX2__)
#include "kernels/vec/vec_x86.h"
#elif defined(__aarch64__)
#include "kernels/vec/vec_neon.h"
#endif
#if !defined(__AVX2__)
#include "kernels/vec/vec_plain.h"
#endif

/* a * 2^n for integers n from -252 to 0, rounded once if the result is a normal number */
DENSE_INLINE vec vec_scale_down(vec a, vec n)
{
#if defined(__AVX512F__)
    return vec_scale(a, n);
#else
    vec half = vec_round(n * vec_set(0.5f));
    return vec_scale(vec_scale(a, half), n - half);
#endif
}

#if !defined(__AVX512F__)
DENSE_INLINE vec vec_zero_below(vec value, vec x, float limit)
{
    return (vec)((vec_bits)value & ~(vec_bits)(x < vec_set(limit)));
}
#endif

DENSE_INLINE vec_int vec_int_set(int32_t value)
{
    return value - (vec_int){ 0 };
}

DENSE_INLINE vec_int vec_int_load(const int32_t *from)
{
    vec_int value;
    memcpy(&value, from, sizeof(value));
    return value;
}

DENSE_INLINE void vec_int_store(int32_t *to, vec_int value)
{
    memcpy(to, &value, sizeof(value));
}

/* FLOAT32, FLOAT16 or bfloat16 from or to element `at`: one load or store if the type is a constant. */
DENSE_INLINE vec vec_load_of(DML_TENSOR_DATA_TYPE type, const void *data, int64_t at)
{
    if (type == DML_TENSOR_DATA_TYPE_FLOAT32)
        return vec_load((const float *)data + at);
    const uint16_t *from = (const uint16_t *)data + at;
    return type == DML_TENSOR_DATA_TYPE_FLOAT16 ? vec_load_half(from) : vec_load_bfloat(from);
}

DENSE_INLINE void vec_store_of(DML_TENSOR_DATA_TYPE type, void *data, int64_t at, vec value)
{
    if (type == DML_TENSOR_DATA_TYPE_FLOAT32)
        vec_store((float *)data + at, value);
    else if (type == DML_TENSOR_DATA_TYPE_FLOAT16)
        vec_store_half((uint16_t *)data + at, value);
    else
        vec_store_bfloat((uint16_t *)data + at, value);
}

/* FLOAT32 or FLOAT16 (half) to element `at`, non-temporally (stream) if that is on a vector's boundary. */
DENSE_INLINE void vec_put(void *data, int64_t at, bool half, bool stream, vec value)
{
    if (half && stream)
        vec_stream_half((uint16_t *)data + at, value);
    else if (stream)
        vec_stream((float *)data + at, value);
    else
        vec_store_of(half ? DML_TENSOR_DATA_TYPE_FLOAT16 : DML_TENSOR_DATA_TYPE_FLOAT32, data, at, value);
}

/* Less than VEC elements, without a call. */
DENSE_INLINE void vec_copy_some(uint16_t *to, const uint16_t *from, int64_t count)
{
#pragma GCC unroll 4
    for (uint32_t n = VEC / 2; n; n /= 2) {
        if (count & n)
            memcpy(to, from, n * sizeof(*to));
        to += count & n;
        from += count & n;
    }
}

/* The same for `count` elements if that is less than VEC: zeros after them, nothing beyond is accessed. */
DENSE_INLINE vec vec_load_some(DML_TENSOR_DATA_TYPE type, const void *data, int64_t at, int64_t count)
{
    if (count >= VEC)
        return vec_load_of(type, data, at);
    if (type == DML_TENSOR_DATA_TYPE_FLOAT32)
        return vec_load_part((const float *)data + at, (uint32_t)count, vec_set(0));
    uint16_t part[VEC] = { 0 };
#if defined(__AVX512BW__)
    const __m256i some = _mm256_maskz_loadu_epi16((__mmask16)((1u << count) - 1), (const uint16_t *)data + at);
    memcpy(part, &some, sizeof(part)); /* stays in a register */
#else
    vec_copy_some(part, (const uint16_t *)data + at, count);
#endif
    return vec_load_of(type, part, 0);
}

DENSE_INLINE void vec_store_some(DML_TENSOR_DATA_TYPE type, void *data, int64_t at, vec value, int64_t count)
{
    if (count >= VEC) {
        vec_store_of(type, data, at, value);
    } else if (type == DML_TENSOR_DATA_TYPE_FLOAT32) {
        vec_store_part((float *)data + at, (uint32_t)count, value);
    } else {
        uint16_t part[VEC];
        vec_store_of(type, part, 0, value);
        vec_copy_some((uint16_t *)data + at, part, count);
    }
}

/* function(type, ...) with the type, one of those three, as a constant. */
#define VEC_BY_TYPE(type, function, ...)                                                                               \
    ((type) == DML_TENSOR_DATA_TYPE_FLOAT32   ? function(DML_TENSOR_DATA_TYPE_FLOAT32, __VA_ARGS__)                    \
     : (type) == DML_TENSOR_DATA_TYPE_FLOAT16 ? function(DML_TENSOR_DATA_TYPE_FLOAT16, __VA_ARGS__)                    \
                                              : function(ANYDML_TENSOR_DATA_TYPE_BFLOAT16, __VA_ARGS__))

/* A polynomial of x, the highest power's factor first. */
DENSE_INLINE vec vec_series(vec x, const float *factors, uint32_t count)
{
    vec p = vec_set(factors[0]);
#pragma GCC unroll 16
    for (uint32_t i = 1; i < count; i++)
        p = vec_fma(p, x, vec_set(factors[i]));
    return p;
}
#define VEC_SERIES(x, ...)                                                                                             \
    vec_series(x, (const float[]){ __VA_ARGS__ }, sizeof((const float[]){ __VA_ARGS__ }) / sizeof(float))

/* e^r for |r| <= ln 2 / 2 */
DENSE_INLINE vec vec_exp_rest(vec r)
{
    return VEC_SERIES(r, 0x1.6b7d2ep-10f, 0x1.110e6p-7f, 0x1.555502p-5f, 0x1.55554cp-3f, 0.5f, 1.0f, 1.0f);
}

/* x - n * ln 2, ln 2 in two parts */
DENSE_INLINE vec vec_less_ln2(vec x, vec n)
{
    return vec_fma(n, vec_set(-0x1.7f7d1cp-20f), vec_fma(n, vec_set(-0x1.62e4p-1f), x));
}

/* e^x for x <= 0, within 2 units in the last place; below -87 it is 0, NaN stays. */
DENSE_INLINE vec vec_exp(vec x)
{
    vec clamped = vec_max(vec_set(-87.0f), x); /* in this order a NaN in x is preserved */
    vec n = vec_round(clamped * vec_set(0x1.715476p+0f));
    return vec_zero_below(vec_scale(vec_exp_rest(vec_less_ln2(clamped, n)), n), x, -87.0f);
}

/* e^(x - top) for x <= top, including subnormal results; NaN stays. `exact`: corrects the rounding error of x - top,
 * which e^ would amplify to many units; otherwise within 2 units for the rounded x - top, if that is above -20. */
DENSE_INLINE vec vec_exp_below(vec x, vec top, bool exact)
{
    vec d = x - top;
    vec clamped = vec_max(vec_set(-105.0f), d); /* in this order a NaN is preserved */
    vec n = vec_round(clamped * vec_set(0x1.715476p+0f)), p;
    if (exact) {
        vec r = vec_less_ln2(clamped, n);
        vec back = x - d; /* minus the rounding error; far below it is irrelevant, and infinities make it NaN */
        r -= vec_zero_below(((d + back) - x) + (top - back), d, -105.0f);
        p = vec_exp_rest(r);
    } else {
        vec r = vec_fma(n, vec_set(-0x1.62e43p-1f), clamped);
        p = VEC_SERIES(r, 0x1.10627ap-7f, 0x1.572a10p-5f, 0x1.5557aep-3f, 0x1.fffdfcp-2f, 1.0f, 1.0f);
    }
    return vec_scale_down(p, n);
}

/* Lanes of a shuffle of two vectors of N elements: constants F(k, x, N) for each lane k. */
#define LANES_2(F, x, N) F(0, x, N), F(1, x, N)
#define LANES_4(F, x, N) LANES_2(F, x, N), F(2, x, N), F(3, x, N)
#define LANES_8(F, x, N) LANES_4(F, x, N), F(4, x, N), F(5, x, N), F(6, x, N), F(7, x, N)
#define LANES_16(F, x, N)                                                                                              \
    LANES_8(F, x, N), F(8, x, N), F(9, x, N), F(10, x, N), F(11, x, N), F(12, x, N), F(13, x, N), F(14, x, N),         \
        F(15, x, N)
#define LANES(N, F, x) LANES_##N(F, x, N)
/* The same if N is a macro. */
#define LANES_OF(N, F, x)           LANES(N, F, x)
#define LANES_INTERLEAVED(k, x, N)  ((k) % 2 * (N) + (x) + (k) / 2) /* from lane x on: ax bx ax+1 bx+1 ... */
#define LANES_EVERY_SECOND(k, x, N) (2 * (k) + (x))
#define LANES_UP(k, x, N)           ((N) - (x) + (k)) /* the last x of the first vector, then the second one's */

/* Lanes a0 b0 a1 b1 ... of the lower halves, or the upper ones. */
DENSE_INLINE vec vec_interleave(vec a, vec b, bool upper)
{
    return upper ? __builtin_shufflevector(a, b, LANES_OF(VEC, LANES_INTERLEAVED, VEC / 2))
                 : __builtin_shufflevector(a, b, LANES_OF(VEC, LANES_INTERLEAVED, 0));
}

/* A square of VEC vectors. */
DENSE_INLINE void vec_transpose(vec *rows)
{
    vec next[VEC];
#pragma GCC unroll 4
    for (uint32_t width = 1; width < VEC; width *= 2) {
#pragma GCC unroll 16
        for (uint32_t i = 0; i < VEC / 2; i++) {
            next[2 * i] = vec_interleave(rows[i], rows[i + VEC / 2], false);
            next[2 * i + 1] = vec_interleave(rows[i], rows[i + VEC / 2], true);
        }
#pragma GCC unroll 16
        for (uint32_t i = 0; i < VEC; i++)
            rows[i] = next[i];
    }
}

/* ---- small blocks of results, transposed if the output's layout requires it ---- */

/* The position of a tile in the output, in elements. */
struct tile_to {
    void *y;
    DML_TENSOR_DATA_TYPE type;
    int64_t at, row, column;
};

static inline void tile_store_transposed(const struct tile_to *to, const float *from, int64_t pitch, int64_t rows,
                                         int64_t columns)
{
    vec v[VEC];
    if (rows >= VEC) {
#pragma GCC unroll 16
        for (int r = 0; r < VEC; r++)
            v[r] = vec_load(from + r * pitch);
    } else { /* the last row again, in place of what was never written */
#pragma GCC unroll 16
        for (int r = 0; r < VEC; r++)
            v[r] = vec_load(from + BASE_MIN(r, rows - 1) * pitch);
    }
    vec_transpose(v);
    for (int64_t j = 0; j < columns; j++)
        vec_store_some(to->type, to->y, to->at + j * to->column, v[j], rows);
}

/* `rows` rows of `columns` results, both at most VEC; VEC elements of each row are read, which are `pitch` apart. */
static inline void tile_store(const struct tile_to *to, const float *from, int64_t pitch, int64_t rows, int64_t columns)
{
    if (to->row == 1) {
        tile_store_transposed(to, from, pitch, rows, columns);
        return;
    }
    for (int64_t r = 0; r < rows; r++) {
        if (to->column == 1)
            vec_store_some(to->type, to->y, to->at + r * to->row, vec_load(from + r * pitch), columns);
        else
            dense_store_row(to->y, to->at + r * to->row, to->column, to->type, (uint32_t)columns, from + r * pitch);
    }
}

#endif
