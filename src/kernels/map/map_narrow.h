/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes to bytes for KERN_MAP. Included once per instruction set (map_exec.h), after map_load.h. */
#ifndef KERNELS_MAP_NARROW_H
#define KERNELS_MAP_NARROW_H

#include "kernels/vec/fmath.h"
#include "kernels/map/map.h"

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
#endif
    for (; i < count; i++)
        out[i] = table[in[i]];
}

/* Sums and products of 8 bits are the low bits of longer ones. */
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

#if defined(__AVX512F__)

static inline __attribute__((always_inline)) __m512 pair_load(const uint8_t *from, bool is_signed, __m512 zero)
{
    const __m128i bytes = _mm_loadu_si128((const __m128i *)from);
    const __m512i wide = is_signed ? _mm512_cvtepi8_epi32(bytes) : _mm512_cvtepu8_epi32(bytes);
    return _mm512_sub_ps(_mm512_cvtepi32_ps(wide), zero);
}

/* Rounded after each step as the instructions are; the quotient as in map_chain.h. */
static inline __attribute__((always_inline)) void
pair_step(const struct kern_map_pair *p, uint8_t *out, const uint8_t *a, const uint8_t *b, bool sign_a, bool sign_b)
{
    const __m512 scale = _mm512_set1_ps(p->scale[2]), inverse = _mm512_set1_ps(1.0f / p->scale[2]);
    const __m512 x = _mm512_mul_ps(pair_load(a, sign_a, _mm512_set1_ps(p->zero[0])), _mm512_set1_ps(p->scale[0]));
    const __m512 y = _mm512_mul_ps(pair_load(b, sign_b, _mm512_set1_ps(p->zero[1])), _mm512_set1_ps(p->scale[1]));
    const __m512 v = p->product ? _mm512_mul_ps(x, y) : _mm512_add_ps(x, y);
    __m512 q = _mm512_mul_ps(v, inverse);
    q = _mm512_fmadd_ps(_mm512_fnmadd_ps(q, scale, v), inverse, q);
    q = _mm512_add_ps(_mm512_roundscale_ps(q, _MM_FROUND_CUR_DIRECTION), _mm512_set1_ps(p->zero[2]));
    q = _mm512_min_ps(_mm512_max_ps(q, _mm512_set1_ps(p->low)), _mm512_set1_ps(p->high));
    _mm_storeu_si128((__m128i *)out, _mm512_cvtepi32_epi8(_mm512_cvttps_epi32(q)));
}

#define PAIR(sign_a, sign_b)                                                                                           \
    for (; i + 16 <= count; i += 16)                                                                                   \
        pair_step(&p, out + i, a + i, b + i, sign_a, sign_b);

static void pair_bytes_block(const struct kern_map_pair *pair, uint8_t *restrict out, const uint8_t *restrict a,
                             const uint8_t *restrict b, uint64_t count)
{
    struct kern_map_pair p = *pair;
    const float least = p.is_signed[2] ? -128 : 0, most = p.is_signed[2] ? 127 : 255;
    uint8_t rest[3][16];
    uint64_t i = 0;
    p.low = p.low > least ? p.low : least;
    p.high = p.high < most ? p.high : most;
    if (p.is_signed[0])
        if (p.is_signed[1])
            PAIR(true, true)
        else
            PAIR(true, false)
    else if (p.is_signed[1])
        PAIR(false, true)
    else
        PAIR(false, false)
    memcpy(rest[0], a + i, count - i);
    memcpy(rest[1], b + i, count - i);
    pair_step(&p, rest[2], rest[0], rest[1], p.is_signed[0], p.is_signed[1]);
    memcpy(out + i, rest[2], count - i);
}

#undef PAIR

#else
#define pair_bytes_block NULL
#endif
#endif
