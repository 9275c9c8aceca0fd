/* SPDX-License-Identifier: Apache-2.0 */
/* R in 8 bits: a vector that it is multiplied with is rounded to 8 bits relative to its largest element, and sums of
 * products with codes are exact integers. Without VNNI, |x| * (sign of x * code) as unsigned and signed bytes: two such
 * products fit 16 bits. A code of -128 has no opposite; then it is |code| * (sign of the code * x). */
#ifndef KERNELS_RECURRENT_BYTES_H
#define KERNELS_RECURRENT_BYTES_H

#include "kernels/gemm/ukernel.h"

#include <math.h>

/* A rounded row: x = codes * factor. */
struct recurrent_rounded {
    float factor;  /* NaN: an element is not finite, so that sums are NaN */
    int32_t total; /* of the codes */
};

#if defined(__AVX2__)

#if defined(__AVX512F__)
enum { RECURRENT_BYTES_ROWS = 8 };
typedef __m512i recurrent_raw;
#else
enum { RECURRENT_BYTES_ROWS = 3 };
typedef __m256i recurrent_raw;
#endif

/* `rows` rows times two vectors of columns: c[m][n] += (sum over k of a[m][k] * codes[k][n] - zeros[n] * total[m]) *
 * scales[n] * factor[m]. */
struct recurrent_bytes_tile {
    const int8_t *codes; /* [packs][2 VEC][4] */
    uint32_t packs;      /* of four k */
    const int8_t *a;
    uint64_t a_row, c_row;
    const struct recurrent_rounded *rounded;
    const float *scales;
    const int32_t *zeros;
    float *c;
};

/* VEC integers as bytes. */
DENSE_INLINE void recurrent_store_codes(int8_t *to, vec_int value)
{
#if defined(__AVX512F__)
    _mm_storeu_si128((__m128i *)to, _mm512_cvtepi32_epi8((__m512i)value));
#else
    const __m256i all = (__m256i)value;
    const __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(all), _mm256_extracti128_si256(all, 1));
    _mm_storel_epi64((__m128i *)to, _mm_packs_epi16(words, words));
#endif
}

/* `count` is a multiple of 2 VEC. */
static struct recurrent_rounded recurrent_round(const float *in, uint32_t count, int8_t *out)
{
    vec_int most = { 0 }, totals = { 0 };
    int32_t total = 0, bits = 0;
    float greatest;
    for (uint32_t i = 0; i < count; i += VEC) { /* NaN wins: as an integer it is above all numbers */
        const vec_int here = (vec_int)vec_abs(vec_load(in + i)), more = here > most;
        most = (here & more) | (most & ~more);
    }
    for (uint32_t i = 0; i < VEC; i++)
        bits = BASE_MAX(bits, most[i]);
    memcpy(&greatest, &bits, sizeof(greatest));
    const float inverse = 127.0f / greatest;
    const bool finite = greatest < INFINITY, usual = finite && inverse < INFINITY; /* or all are zero, or next to it */
    const vec by = vec_set(usual ? inverse : 0);
    const vec_int keep = vec_int_set(usual ? -1 : 0); /* excludes infinities and NaN */
    for (uint32_t i = 0; i < count; i += VEC) {
        const vec_int code = (vec_int)VEC_MM(cvtps_epi32)(vec_load(in + i) * by) & keep;
        totals += code;
        recurrent_store_codes(out + i, code);
    }
    for (uint32_t i = 0; i < VEC; i++)
        total += totals[i];
    return (struct recurrent_rounded){ usual ? greatest / 127.0f : finite ? 0 : NAN, total };
}

enum recurrent_form { RECURRENT_SIGNS, RECURRENT_LEAST, RECURRENT_VNNI }; /* LEAST: there are codes of -128 */

/* sums + four codes times four of x; `positive`: |codes|, or with VNNI the codes plus 128. */
DENSE_INLINE vec_int recurrent_dot(enum recurrent_form form, vec_int sums, vec_int codes, vec_int positive, vec_int x)
{
    /* GCC 12 copies and spills the sums around the intrinsic. */
#if defined(__AVX512F__)
    (void)codes;
    __asm__("vpdpbusd %2, %1, %0" : "+v"(sums) : "v"(positive), "v"(x));
#else
    if (form != RECURRENT_VNNI) {
        const bool least = form == RECURRENT_LEAST;
        const __m256i by = least ? (__m256i)positive : _mm256_abs_epi8((__m256i)x);
        const __m256i same =
            least ? _mm256_sign_epi8((__m256i)x, (__m256i)codes) : _mm256_sign_epi8((__m256i)codes, (__m256i)x);
        return sums + (vec_int)_mm256_madd_epi16(_mm256_maddubs_epi16(by, same), _mm256_set1_epi16(1));
    }
    __asm__("%{vex%} vpdpbusd %2, %1, %0" : "+x"(sums) : "x"(positive), "x"(x));
#endif
    return sums;
}

DENSE_INLINE vec_int recurrent_positive(enum recurrent_form form, vec_int codes)
{
#if !defined(__AVX512F__)
    if (form != RECURRENT_VNNI)
        return (vec_int)_mm256_abs_epi8((__m256i)codes);
#endif
    return codes ^ (int32_t)0x80808080;
}

/* The same for `across` such tiles, that follow one another. */
DENSE_INLINE void recurrent_bytes_tile(uint32_t rows, uint32_t across, enum recurrent_form form,
                                       struct recurrent_bytes_tile t)
{
    vec_int sum[RECURRENT_BYTES_ROWS][4] = { { { 0 } } };
    const uint64_t next = 8ull * VEC * t.packs;
    for (uint32_t k = 0; k < t.packs; k++, t.codes += 8 * VEC) {
        vec_int codes[4], positive[4];
#pragma GCC unroll 4
        for (uint32_t v = 0; v < 2 * across; v++) {
            memcpy(&codes[v], t.codes + v / 2 * next + v % 2 * 4 * VEC, sizeof(codes[v]));
            positive[v] = recurrent_positive(form, codes[v]);
        }
#pragma GCC unroll 8
        for (uint32_t m = 0; m < rows; m++) {
            int32_t word;
            memcpy(&word, t.a + m * t.a_row + k * 4, sizeof(word));
            const vec_int x = vec_int_set(word);
#pragma GCC unroll 4
            for (uint32_t v = 0; v < 2 * across; v++)
                sum[m][v] = recurrent_dot(form, sum[m][v], codes[v], positive[v], x);
        }
    }
#pragma GCC unroll 8
    for (uint32_t m = 0; m < rows; m++)
#pragma GCC unroll 4
        for (uint32_t v = 0; v < 2 * across; v++) {
            const vec_int zero = vec_int_load(t.zeros + v * VEC) + (form == RECURRENT_VNNI ? 128 : 0);
            const vec by = vec_load(t.scales + v * VEC) * vec_set(t.rounded[m].factor);
            const vec value = (vec)VEC_MM(cvtepi32_ps)((recurrent_raw)(sum[m][v] - zero * t.rounded[m].total));
            float *c = t.c + m * t.c_row + v * VEC;
            vec_store(c, vec_fma(value, by, vec_load(c)));
        }
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
