/* SPDX-License-Identifier: Apache-2.0 */
/* R in 8 bits: a vector that it is multiplied with is rounded to 8 bits as ONNX's DynamicQuantizeLinear rounds, to 256
 * levels from its least to its greatest element, of which one is 0; sums of products with codes are exact integers.
 * Without VNNI, the sums of two products fit 16 bits if the codes have 7 (narrow); others are widened to 16 bits. */
#ifndef KERNELS_RECURRENT_BYTES_H
#define KERNELS_RECURRENT_BYTES_H

#include "kernels/gemm/ukernel.h"

#include <math.h>

/* A rounded row: x = (level - zero) * factor. */
struct recurrent_rounded {
    float factor;  /* NaN: an element is not finite, so that sums are NaN */
    int32_t zero;  /* a level, 0 to 255 */
    int32_t total; /* of all level - zero */
};

#if defined(__AVX2__)

#if defined(__AVX512F__)
enum { RECURRENT_BYTES_ROWS = 8 };
typedef __m512i recurrent_raw;
#else
enum { RECURRENT_BYTES_ROWS = 3 };
typedef __m256i recurrent_raw;
#endif

/* How codes are multiplied. */
enum recurrent_form { RECURRENT_VNNI, RECURRENT_NARROW, RECURRENT_WIDE };

/* `rows` rows times two vectors of columns: c[m][n] += (sum over k of (a[m][k] - zero[m]) * (codes[k][n] - zeros[n])) *
 * scales[n] * factor[m]. */
struct recurrent_bytes_tile {
    const int8_t *codes; /* [packs][2 VEC][4], then INT32 sums of each column's */
    uint32_t packs;      /* of four k */
    const uint8_t *a;    /* levels; RECURRENT_WIDE: INT16 */
    uint64_t a_row, c_row;
    const struct recurrent_rounded *rounded;
    const float *scales;
    const int32_t *zeros;
    float *c;
};

/* VEC integers as bytes, or as words. */
DENSE_INLINE void recurrent_store_levels(uint8_t *to, bool wide, vec_int value)
{
#if defined(__AVX512F__)
    (void)wide;
    _mm_storeu_si128((__m128i *)to, _mm512_cvtepi32_epi8((__m512i)value));
#else
    const __m256i all = (__m256i)value;
    const __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(all), _mm256_extracti128_si256(all, 1));
    if (wide)
        _mm_storeu_si128((__m128i *)to, words);
    else
        _mm_storel_epi64((__m128i *)to, _mm_packus_epi16(words, words));
#endif
}

/* `count` is a multiple of 2 VEC; `wide`: 16 bits each. */
static struct recurrent_rounded recurrent_round(const float *in, uint32_t count, bool wide, uint8_t *out)
{
    struct recurrent_rounded result = { .factor = 0 };
    vec_int most = { 0 }, totals = { 0 };
    vec low = vec_set(0), high = vec_set(0);
    int32_t bits = 0;
    float least = 0, greatest = 0, magnitude;
    for (uint32_t i = 0; i < count; i += VEC) { /* NaN wins: as an integer it is above all numbers */
        const vec x = vec_load(in + i);
        const vec_int here = (vec_int)vec_abs(x), more = here > most;
        most = (here & more) | (most & ~more);
        low = vec_min(low, x);
        high = vec_max(high, x);
    }
    for (uint32_t i = 0; i < VEC; i++) {
        bits = BASE_MAX(bits, most[i]);
        least = BASE_MIN(least, low[i]);
        greatest = BASE_MAX(greatest, high[i]);
    }
    memcpy(&magnitude, &bits, sizeof(magnitude));
    const float step = (greatest - least) / 255;
    const bool finite = magnitude < INFINITY && step < INFINITY, usual = finite && step > 0; /* or all are zero */
    const vec by = vec_set(usual ? step : 1);
    const vec_int keep = vec_int_set(usual ? -1 : 0); /* excludes infinities and NaN */
    result.zero = usual ? (int32_t)BASE_MIN(rintf(-least / step), 255.0f) : 0;
    for (uint32_t i = 0; i < count; i += VEC) {
        vec_int x = (vec_int)VEC_MM(cvtps_epi32)(vec_load(in + i) / by) & keep;
        const vec_int over = x > 255 - result.zero, under = x < -result.zero;
        x = (x & ~over & ~under) | (over & (255 - result.zero)) | (under & -result.zero);
        totals += x;
        recurrent_store_levels(out + (wide ? 2 * i : i), wide, x + result.zero);
    }
    for (uint32_t i = 0; i < VEC; i++)
        result.total += totals[i];
    result.factor = usual ? step : finite ? 0 : NAN;
    return result;
}

/* c += the sums, less what zero points contribute to them. */
DENSE_INLINE void recurrent_bytes_add(const struct recurrent_bytes_tile *t, uint32_t m, uint32_t n,
                                      const int8_t *columns, vec_int sum)
{
    const struct recurrent_rounded *rounded = &t->rounded[m];
    vec_int codes;
    memcpy(&codes, columns, sizeof(codes));
    sum -= codes * rounded->zero + vec_int_load(t->zeros + n) * rounded->total;
    const vec by = vec_load(t->scales + n) * vec_set(rounded->factor);
    float *c = t->c + m * t->c_row + n;
    vec_store(c, vec_fma((vec)VEC_MM(cvtepi32_ps)((recurrent_raw)sum), by, vec_load(c)));
}

/* sums + four codes times four levels */
DENSE_INLINE vec_int recurrent_dot(enum recurrent_form form, vec_int sums, vec_int codes, vec_int levels)
{
    /* GCC 12 copies and spills the sums around the intrinsic. */
#if defined(__AVX512F__)
    (void)form;
    __asm__("vpdpbusd %2, %1, %0" : "+v"(sums) : "v"(levels), "v"(codes));
#else
    if (form == RECURRENT_NARROW)
        return sums +
               (vec_int)_mm256_madd_epi16(_mm256_maddubs_epi16((__m256i)levels, (__m256i)codes), _mm256_set1_epi16(1));
    __asm__("%{vex%} vpdpbusd %2, %1, %0" : "+x"(sums) : "x"(levels), "x"(codes));
#endif
    return sums;
}

/* `across` such tiles, that follow one another. */
DENSE_INLINE void recurrent_bytes_short(uint32_t rows, uint32_t across, enum recurrent_form form,
                                        struct recurrent_bytes_tile t)
{
    vec_int sum[RECURRENT_BYTES_ROWS][4] = { { { 0 } } };
    const uint64_t next = 8ull * VEC * (t.packs + 1);
    for (uint32_t k = 0; k < t.packs; k++, t.codes += 8 * VEC) {
        vec_int codes[4];
#pragma GCC unroll 4
        for (uint32_t v = 0; v < 2 * across; v++)
            memcpy(&codes[v], t.codes + v / 2 * next + v % 2 * 4 * VEC, sizeof(codes[v]));
#pragma GCC unroll 8
        for (uint32_t m = 0; m < rows; m++) {
            int32_t word;
            memcpy(&word, t.a + m * t.a_row + k * 4, sizeof(word));
            const vec_int levels = vec_int_set(word);
#pragma GCC unroll 4
            for (uint32_t v = 0; v < 2 * across; v++)
                sum[m][v] = recurrent_dot(form, sum[m][v], codes[v], levels);
        }
    }
#pragma GCC unroll 8
    for (uint32_t m = 0; m < rows; m++)
#pragma GCC unroll 4
        for (uint32_t v = 0; v < 2 * across; v++)
            recurrent_bytes_add(&t, m, v * VEC, t.codes + v / 2 * next + v % 2 * 4 * VEC, sum[m][v]);
}

#if !defined(__AVX512F__)
/* The same for RECURRENT_WIDE. Each vector of codes has two of sums: of its first columns and its last, each twice. */
DENSE_INLINE void recurrent_bytes_wide(uint32_t rows, uint32_t across, struct recurrent_bytes_tile t)
{
    __m256i sum[RECURRENT_BYTES_ROWS][4][2] = { { { { 0 } } } };
    const uint64_t next = 8ull * VEC * (t.packs + 1);
    for (uint32_t k = 0; k < t.packs; k++, t.codes += 8 * VEC)
#pragma GCC unroll 4
        for (uint32_t v = 0; v < 2 * across; v++) {
            const __m128i *from = (const void *)(t.codes + v / 2 * next + v % 2 * 4 * VEC);
            const __m256i first = _mm256_cvtepi8_epi16(_mm_loadu_si128(from));
            const __m256i last = _mm256_cvtepi8_epi16(_mm_loadu_si128(from + 1));
#pragma GCC unroll 4
            for (uint32_t m = 0; m < rows; m++) {
                int64_t word;
                memcpy(&word, t.a + m * t.a_row + k * 8, sizeof(word));
                const __m256i x = _mm256_set1_epi64x(word);
                sum[m][v][0] = _mm256_add_epi32(sum[m][v][0], _mm256_madd_epi16(first, x));
                sum[m][v][1] = _mm256_add_epi32(sum[m][v][1], _mm256_madd_epi16(last, x));
            }
        }
#pragma GCC unroll 4
    for (uint32_t m = 0; m < rows; m++)
#pragma GCC unroll 4
        for (uint32_t v = 0; v < 2 * across; v++) {
            const __m256i pairs = _mm256_hadd_epi32(sum[m][v][0], sum[m][v][1]);
            recurrent_bytes_add(&t, m, v * VEC, t.codes + v / 2 * next + v % 2 * 4 * VEC,
                                (vec_int)_mm256_permute4x64_epi64(pairs, _MM_SHUFFLE(3, 1, 2, 0)));
        }
}
#endif

DENSE_INLINE void recurrent_bytes_tile(uint32_t rows, uint32_t across, enum recurrent_form form,
                                       struct recurrent_bytes_tile t)
{
#if !defined(__AVX512F__)
    if (form == RECURRENT_WIDE) {
        recurrent_bytes_wide(rows, across, t);
        return;
    }
#endif
    recurrent_bytes_short(rows, across, form, t);
}

/* All rows. */
DENSE_INLINE void recurrent_bytes_rows(uint32_t rows, uint32_t across, enum recurrent_form form,
                                       struct recurrent_bytes_tile t)
{
    for (uint32_t m = 0, count; m < rows; m += count) {
        count = BASE_MIN(rows - m, RECURRENT_BYTES_ROWS);
        UKERNEL_BY_COUNT(count, RECURRENT_BYTES_ROWS, recurrent_bytes_tile, across, form, t)
        t.a += count * t.a_row;
        t.c += count * t.c_row;
        t.rounded += count;
    }
}

#endif
#endif
