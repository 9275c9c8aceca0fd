/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise functions from bytes to bytes (map_bytes.c). Compiled for each instruction set. */
#ifndef KERNELS_MAP_BYTES_SIMD_H
#define KERNELS_MAP_BYTES_SIMD_H

#include "kernels/map/map.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

static void look_up_bytes_block(uint8_t *restrict out, const uint8_t *restrict table, const uint8_t *restrict in,
                                uint64_t count)
{
    uint64_t i = 0;
#if defined(__AVX512BW__)
    __m512i part[16]; /* 16 results each, four times */
    for (uint32_t k = 0; k < 16; k++)
        part[k] = _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)table + k));
    for (; i + 64 <= count; i += 64) {
        const __m512i at = _mm512_loadu_si512(in + i), low = _mm512_and_si512(at, _mm512_set1_epi8(15));
        const __m512i high = _mm512_and_si512(_mm512_srli_epi16(at, 4), _mm512_set1_epi8(15));
        __m512i result = _mm512_shuffle_epi8(part[0], low);
        for (uint32_t k = 1; k < 16; k++)
            result =
                _mm512_mask_shuffle_epi8(result, _mm512_cmpeq_epi8_mask(high, _mm512_set1_epi8((char)k)), part[k], low);
        _mm512_storeu_si512(out + i, result);
    }
#elif defined(__AVX2__)
    __m256i part[16];
    for (uint32_t k = 0; k < 16; k++)
        part[k] = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)table + k));
    for (; i + 32 <= count; i += 32) {
        /* The upper bits of an index select between results for the lower four, one bit after another. */
        const __m256i at = _mm256_loadu_si256((const __m256i *)(in + i));
        const __m256i low = _mm256_and_si256(at, _mm256_set1_epi8(15));
        __m256i halves[8];
#pragma GCC unroll 8
        for (uint32_t k = 0; k < 8; k++)
            halves[k] = _mm256_blendv_epi8(_mm256_shuffle_epi8(part[2 * k], low),
                                           _mm256_shuffle_epi8(part[2 * k + 1], low), _mm256_slli_epi16(at, 3));
#pragma GCC unroll 3
        for (uint32_t bit = 0, left = 4; bit < 3; bit++, left /= 2)
#pragma GCC unroll 4
            for (uint32_t k = 0; k < left; k++)
                halves[k] = _mm256_blendv_epi8(halves[2 * k], halves[2 * k + 1], _mm256_slli_epi16(at, 2 - (int)bit));
        _mm256_storeu_si256((__m256i *)(out + i), halves[0]);
    }
#endif
    for (; i < count; i++)
        out[i] = table[in[i]];
}

/* 8-bit sums and products are the low bits of longer ones. */
#define PLAIN(name, type, expr)                                                                                        \
    case KERN_MAP_##name:                                                                                              \
        _Pragma("GCC ivdep") for (uint64_t i = 0; i < count; i++)                                                      \
        {                                                                                                              \
            const type u = (type)a[i], v = (type)b[i];                                                                 \
            out[i] = (uint8_t)(expr);                                                                                  \
        }                                                                                                              \
        return true;

static bool plain_bytes_block(uint8_t code, bool is_signed, uint8_t *out, const uint8_t *a, const uint8_t *b,
                              uint64_t count)
{
    switch (is_signed ? code : KERN_MAP_CONST) {
        PLAIN(MIN, int8_t, u < v ? u : v)
        PLAIN(MAX, int8_t, u > v ? u : v)
    }
    switch (code) {
        PLAIN(ADD, uint8_t, u + v)
        PLAIN(SUB, uint8_t, u - v)
        PLAIN(MUL, uint8_t, u * v)
        PLAIN(MIN, uint8_t, u < v ? u : v)
        PLAIN(MAX, uint8_t, u > v ? u : v)
    }
    return false;
}

#undef PLAIN

#if defined(__AVX512F__) || defined(__AVX2__)

/* What b is made of. */
enum pair_of { PAIR_UNSIGNED, PAIR_SIGNED, PAIR_FLOATS };

#define PAIR_INLINE static inline __attribute__((always_inline))

#if defined(__AVX512F__)

PAIR_INLINE __m512 pair_load(const uint8_t *from, bool is_signed, float zero, float scale)
{
    const __m128i bytes = _mm_loadu_si128((const __m128i *)from);
    const __m512i wide = is_signed ? _mm512_cvtepi8_epi32(bytes) : _mm512_cvtepu8_epi32(bytes);
    return _mm512_mul_ps(_mm512_sub_ps(_mm512_cvtepi32_ps(wide), _mm512_set1_ps(zero)), _mm512_set1_ps(scale));
}

/* Sixteen results. Rounded after each step as the instructions are; the quotient of what bytes stand for as in
 * map_registers.h, that of other numbers, which may be infinite, by a division. */
PAIR_INLINE void pair_step(const struct kern_map_pair *p, uint8_t *out, const uint8_t *a, const void *b, bool sign_a,
                           enum pair_of of)
{
    const __m512 scale = _mm512_set1_ps(p->scale[2]), inverse = _mm512_set1_ps(1.0f / p->scale[2]);
    const __m512 x = pair_load(a, sign_a, p->zero[0], p->scale[0]);
    const __m512 y = of == PAIR_FLOATS ? _mm512_loadu_ps(b) : pair_load(b, of == PAIR_SIGNED, p->zero[1], p->scale[1]);
    const __m512 v = p->product ? _mm512_mul_ps(x, y) : _mm512_add_ps(x, y);
    __m512 q = of == PAIR_FLOATS ? _mm512_div_ps(v, scale) : _mm512_mul_ps(v, inverse);
    if (of != PAIR_FLOATS)
        q = _mm512_fmadd_ps(_mm512_fnmadd_ps(q, scale, v), inverse, q);
    q = _mm512_add_ps(_mm512_roundscale_ps(q, _MM_FROUND_CUR_DIRECTION), _mm512_set1_ps(p->zero[2]));
    q = _mm512_min_ps(_mm512_max_ps(q, _mm512_set1_ps(p->low)), _mm512_set1_ps(p->high));
    _mm_storeu_si128((__m128i *)out, _mm512_cvtepi32_epi8(_mm512_cvttps_epi32(q)));
}

#else

PAIR_INLINE __m256 pair_load(const uint8_t *from, bool is_signed, float zero, float scale)
{
    const __m128i bytes = _mm_loadl_epi64((const __m128i *)from);
    const __m256i wide = is_signed ? _mm256_cvtepi8_epi32(bytes) : _mm256_cvtepu8_epi32(bytes);
    return _mm256_mul_ps(_mm256_sub_ps(_mm256_cvtepi32_ps(wide), _mm256_set1_ps(zero)), _mm256_set1_ps(scale));
}

/* Rounded after each step as the instructions are; the quotient of what bytes stand for as in map_registers.h, that of
 * other numbers, which may be infinite, by a division. */
PAIR_INLINE __m256i pair_half(const struct kern_map_pair *p, __m256 x, __m256 y, enum pair_of of)
{
    const __m256 scale = _mm256_set1_ps(p->scale[2]), inverse = _mm256_set1_ps(1.0f / p->scale[2]);
    const __m256 v = p->product ? _mm256_mul_ps(x, y) : _mm256_add_ps(x, y);
    __m256 q = of == PAIR_FLOATS ? _mm256_div_ps(v, scale) : _mm256_mul_ps(v, inverse);
    if (of != PAIR_FLOATS)
        q = _mm256_fmadd_ps(_mm256_fnmadd_ps(q, scale, v), inverse, q);
    q = _mm256_add_ps(_mm256_round_ps(q, _MM_FROUND_CUR_DIRECTION), _mm256_set1_ps(p->zero[2]));
    return _mm256_cvttps_epi32(_mm256_min_ps(_mm256_max_ps(q, _mm256_set1_ps(p->low)), _mm256_set1_ps(p->high)));
}

/* Sixteen results. */
PAIR_INLINE void pair_step(const struct kern_map_pair *p, uint8_t *out, const uint8_t *a, const void *b, bool sign_a,
                           enum pair_of of)
{
    __m256i q[2];
    for (uint32_t h = 0; h < 2; h++) {
        const __m256 x = pair_load(a + 8 * h, sign_a, p->zero[0], p->scale[0]);
        const __m256 y = of == PAIR_FLOATS
                             ? _mm256_loadu_ps((const float *)b + 8 * h)
                             : pair_load((const uint8_t *)b + 8 * h, of == PAIR_SIGNED, p->zero[1], p->scale[1]);
        q[h] = pair_half(p, x, y, of);
    }
    const __m256i words = _mm256_packs_epi32(q[0], q[1]); /* lane by lane four of each */
    const __m128i first = _mm256_castsi256_si128(words), second = _mm256_extracti128_si256(words, 1);
    const __m128i mixed = p->is_signed[2] ? _mm_packs_epi16(first, second) : _mm_packus_epi16(first, second);
    _mm_storeu_si128((__m128i *)out, _mm_shuffle_epi32(mixed, 0xd8));
}

#endif

PAIR_INLINE void pair_all(const struct kern_map_pair *p, uint8_t *out, const uint8_t *a, const char *b, uint64_t count,
                          bool sign_a, enum pair_of of)
{
    const uint64_t bytes = of == PAIR_FLOATS ? sizeof(float) : 1, whole = count / 16 * 16, left = count - whole;
    uint8_t last[2][16] = { 0 };
    float last_b[16] = { 0 };
    for (uint64_t i = 0; i < whole; i += 16)
        pair_step(p, out + i, a + i, b + i * bytes, sign_a, of);
    if (!left)
        return;
    memcpy(last[0], a + whole, left);
    memcpy(last_b, b + whole * bytes, left * bytes);
    pair_step(p, last[1], last[0], last_b, sign_a, of);
    memcpy(out + whole, last[1], left);
}

static void pair_bytes_block(const struct kern_map_pair *pair, uint8_t *restrict out, const uint8_t *restrict a,
                             const void *restrict b, uint64_t count)
{
    struct kern_map_pair p = *pair;
    const float least = p.is_signed[2] ? -128 : 0, most = p.is_signed[2] ? 127 : 255;
    const enum pair_of of = p.floats ? PAIR_FLOATS : p.is_signed[1] ? PAIR_SIGNED : PAIR_UNSIGNED;
    p.low = p.low > least ? p.low : least;
    p.high = p.high < most ? p.high : most;
#define PAIR(sign, which)                                                                                              \
    if (p.is_signed[0] == (sign) && of == (which))                                                                     \
        pair_all(&p, out, a, b, count, sign, which);
    PAIR(true, PAIR_SIGNED)
    PAIR(true, PAIR_UNSIGNED)
    PAIR(true, PAIR_FLOATS)
    PAIR(false, PAIR_SIGNED)
    PAIR(false, PAIR_UNSIGNED)
    PAIR(false, PAIR_FLOATS)
#undef PAIR
}

#undef PAIR_INLINE

#else
#define pair_bytes_block NULL
#endif

#endif
