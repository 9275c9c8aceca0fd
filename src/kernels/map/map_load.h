/* SPDX-License-Identifier: Apache-2.0 */
/* Loads and stores of blocks of KERN_MAP: conversions, repeated elements, 4-bit elements, non-temporal stores, and
 * operations on bytes only. Included once per instruction set (map_simd.c). */
#ifndef KERNELS_MAP_LOAD_H
#define KERNELS_MAP_LOAD_H

#include "kernels/map/map.h"

#include "base/half.h"

#include "kernels/vec/vec.h"

/* ---- conversions worth vectors: to and from FLOAT32 ---- */

#define EACH(value, to_type, from_type, expr)                                                                          \
    case value:                                                                                                        \
        for (uint32_t i = 0; i < count; i++) {                                                                         \
            from_type v = ((const from_type *)in)[i];                                                                  \
            ((to_type *)out)[i] = expr;                                                                                \
        }                                                                                                              \
        return true;
#define FROM(name, type, least, most) EACH(DML_TENSOR_DATA_TYPE_##name, float, type, (float)v)
#define TO(name, type, least, most)   EACH(DML_TENSOR_DATA_TYPE_##name, type, float, (type)saturate(v, least, most))

static void halves_to_floats(float *out, const uint16_t *in, uint32_t count)
{
    uint32_t i = 0;
    for (; i + VEC <= count; i += VEC)
        vec_store(out + i, vec_load_half(in + i));
    if (i < count && i) /* again, some of them */
        vec_store(out + count - VEC, vec_load_half(in + count - VEC));
    else if (i < count)
        vec_store_part(out + i, count - i, vec_load_some(DML_TENSOR_DATA_TYPE_FLOAT16, in, i, count - i));
}

static void floats_to_halves(uint16_t *out, const float *in, uint32_t count)
{
    uint32_t i = 0;
    for (; i + VEC <= count; i += VEC)
        vec_store_half(out + i, vec_load(in + i));
    if (i < count)
        vec_store_some(DML_TENSOR_DATA_TYPE_FLOAT16, out, i, vec_load_part(in + i, count - i, vec_set(0)), count - i);
}

static bool convert_to_f32(void *out, DML_TENSOR_DATA_TYPE from, const void *in, uint32_t count)
{
    switch ((uint32_t)from) {
        KERN_INTEGER_TYPES(FROM)
        FROM(UINT4, uint8_t, , )
        FROM(INT4, int8_t, , )
        FROM(FLOAT64, double, , )
        EACH(ANYDML_TENSOR_DATA_TYPE_BFLOAT16, float, uint16_t, base_bfloat_to_float(v))
    default:
        return false;
    }
}

/* Via FLOAT32, which rounds only what FLOAT16 cannot represent anyway. */
static bool integers_to_halves(uint16_t *out, DML_TENSOR_DATA_TYPE from, const void *in, uint32_t count)
{
    float floats[128];
    const uint32_t bytes = BASE_MAX(1, kern_type_bytes(from));
    for (uint32_t i = 0; i < count; i += ARRAY_SIZE(floats)) {
        const uint32_t n = BASE_MIN(count - i, (uint32_t)ARRAY_SIZE(floats));
        if (!convert_to_f32(floats, from, (const char *)in + (size_t)i * bytes, n))
            return false;
        floats_to_halves(out + i, floats, n);
    }
    return true;
}

static inline int32_t saturate(float v, float least, float most)
{
    v = v < least ? least : v;
    v = v > most ? most : v;
    return v != v ? 0 : (int32_t)v;
}

/* Of bytes, saturated; the compiler would use dozens of masks for the loop. */
static void floats_to_bytes(uint8_t *out, const float *in, bool is_signed, uint32_t count)
{
    uint32_t i = 0;
#if defined(__AVX512F__)
    const __m512 least = _mm512_set1_ps(is_signed ? -128 : 0), most = _mm512_set1_ps(is_signed ? 127 : 255);
    for (; i + 16 <= count; i += 16) {
        __m512 v = _mm512_loadu_ps(in + i);
        v = _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(v, v, _CMP_ORD_Q), v);
        v = _mm512_min_ps(_mm512_max_ps(v, least), most);
        _mm_storeu_si128((__m128i *)(out + i), _mm512_cvtepi32_epi8(_mm512_cvttps_epi32(v)));
    }
#endif
    for (; i < count; i++)
        out[i] = is_signed ? (uint8_t)(int8_t)saturate(in[i], -128, 127) : (uint8_t)saturate(in[i], 0, 255);
}

static bool convert_from_f32(DML_TENSOR_DATA_TYPE to, void *out, const void *in, uint32_t count)
{
    switch ((uint32_t)to) {
        TO(UINT4, uint8_t, 0, 15)
        TO(INT4, int8_t, -8, 7)
        TO(UINT16, uint16_t, 0, 65535)
        TO(INT16, int16_t, -32768, 32767)
        EACH(DML_TENSOR_DATA_TYPE_FLOAT64, double, float, (double)v)
        EACH(ANYDML_TENSOR_DATA_TYPE_BFLOAT16, uint16_t, float, base_float_to_bfloat(v))
        EACH(DML_TENSOR_DATA_TYPE_INT32, int32_t, float,
             v != v          ? 0
             : v >= 0x1p31f  ? INT32_MAX
             : v <= -0x1p31f ? INT32_MIN
                             : (int32_t)v)
    case DML_TENSOR_DATA_TYPE_UINT8:
        return floats_to_bytes(out, in, false, count), true;
    case DML_TENSOR_DATA_TYPE_INT8:
        return floats_to_bytes(out, in, true, count), true;
    default:
        return false;
    }
}

#undef EACH
#undef FROM
#undef TO

static bool convert_block(DML_TENSOR_DATA_TYPE to, void *out, DML_TENSOR_DATA_TYPE from, const void *in, uint32_t count)
{
    const DML_TENSOR_DATA_TYPE half = DML_TENSOR_DATA_TYPE_FLOAT16;
    if (to == DML_TENSOR_DATA_TYPE_FLOAT32 && from == half)
        return halves_to_floats(out, in, count), true;
    if (to == half && from == DML_TENSOR_DATA_TYPE_FLOAT32)
        return floats_to_halves(out, in, count), true;
    if (to == DML_TENSOR_DATA_TYPE_FLOAT32)
        return convert_to_f32(out, from, in, count);
    if (from == DML_TENSOR_DATA_TYPE_FLOAT32)
        return convert_from_f32(to, out, in, count);
    if (to == DML_TENSOR_DATA_TYPE_FLOAT16 && kern_type_class(from) != KERN_CLASS_FLOAT)
        return integers_to_halves(out, from, in, count);
    return false;
}

/* ---- loading and storing ---- */

/* Whole rows of one element each; known lengths become a few stores. */
#define REPEAT_ROWS(length)                                                                                            \
    for (; count >= (length); count -= (length), out += (length), in++)                                                \
        for (uint32_t k = 0; k < (length); k++)                                                                        \
            out[k] = *in;
#define REPEAT(name, type)                                                                                             \
    static void name(type *restrict out, const type *restrict in, uint32_t phase, uint32_t length, uint32_t count)     \
    {                                                                                                                  \
        const uint32_t head = BASE_MIN(length - phase, count);                                                         \
        for (uint32_t k = 0; k < head && phase; k++)                                                                   \
            *out++ = *in;                                                                                              \
        in += phase != 0;                                                                                              \
        count -= phase ? head : 0;                                                                                     \
        if (length == 16)                                                                                              \
            REPEAT_ROWS(16)                                                                                            \
        else if (length == 32)                                                                                         \
            REPEAT_ROWS(32)                                                                                            \
        else if (length == 64)                                                                                         \
            REPEAT_ROWS(64)                                                                                            \
        else                                                                                                           \
            REPEAT_ROWS(length)                                                                                        \
        for (uint32_t k = 0; k < count; k++)                                                                           \
            out[k] = *in;                                                                                              \
    }
REPEAT(repeat_32, uint32_t)
REPEAT(repeat_64, uint64_t)
#undef REPEAT
#undef REPEAT_ROWS

static void repeat_block(uint32_t bytes, void *out, const void *in, uint32_t phase, uint32_t length, uint32_t count)
{
    if (bytes == 4)
        repeat_32(out, in, phase, length, count);
    else
        repeat_64(out, in, phase, length, count);
}

static void nibbles_block(float *restrict out, const uint8_t *restrict in, bool sign, uint32_t bytes)
{
    const int32_t flip = sign ? 8 : 0;
    uint32_t i = 0;
#if defined(__AVX512F__)
    const __m512i shifts = _mm512_set1_epi64((int64_t)4 << 32), low = _mm512_set1_epi32(15);
    const __m512i bit = _mm512_set1_epi32(flip);
    for (; i + 8 <= bytes; i += 8) {
        /* Each byte twice, as the two halves of a 64-bit lane. */
        __m512i pair = _mm512_cvtepu8_epi64(_mm_loadl_epi64((const __m128i *)(in + i)));
        pair = _mm512_or_si512(pair, _mm512_slli_epi64(pair, 32));
        pair = _mm512_and_si512(_mm512_srlv_epi32(pair, shifts), low);
        pair = _mm512_sub_epi32(_mm512_xor_si512(pair, bit), bit);
        _mm512_storeu_ps(out + 2 * i, _mm512_cvtepi32_ps(pair));
    }
#endif
    for (; i < bytes; i++) {
        out[2 * i] = (float)(((in[i] & 15) ^ flip) - flip);
        out[2 * i + 1] = (float)((in[i] >> 4 ^ flip) - flip);
    }
}

#define LOOK_UP(type)                                                                                                  \
    for (; i < in_bytes; i++) {                                                                                        \
        ((type *)out)[2 * i] = ((const type *)results)[in[i] & 15];                                                    \
        ((type *)out)[2 * i + 1] = ((const type *)results)[in[i] >> 4];                                                \
    }

static inline __attribute__((always_inline)) void look_up_32(uint32_t *restrict out, const uint32_t *restrict results,
                                                             const uint8_t *restrict in, uint32_t in_bytes)
{
    uint32_t i = 0;
#if defined(__AVX512F__)
    const __m512i all = _mm512_loadu_si512(results);
    for (; i + 8 <= in_bytes; i += 8) {
        /* The shuffle uses 4 bits of each half of a 64-bit lane. */
        __m512i pair = _mm512_cvtepu8_epi64(_mm_loadl_epi64((const __m128i *)(in + i)));
        pair = _mm512_or_si512(pair, _mm512_slli_epi64(pair, 28));
        _mm512_storeu_si512(out + 2 * i, _mm512_permutexvar_epi32(pair, all));
    }
#elif defined(__AVX2__)
    const __m256i low = _mm256_loadu_si256((const __m256i *)results);
    const __m256i high = _mm256_loadu_si256((const __m256i *)(results + 8));
    for (; i + 4 <= in_bytes; i += 4) {
        int32_t four;
        memcpy(&four, in + i, sizeof(four));
        __m256i pair = _mm256_cvtepu8_epi64(_mm_cvtsi32_si128(four));
        pair = _mm256_or_si256(pair, _mm256_slli_epi64(pair, 28));
        __m256 a = _mm256_castsi256_ps(_mm256_permutevar8x32_epi32(low, pair));
        __m256 b = _mm256_castsi256_ps(_mm256_permutevar8x32_epi32(high, pair));
        _mm256_storeu_ps((float *)out + 2 * i,
                         _mm256_blendv_ps(a, b, _mm256_castsi256_ps(_mm256_slli_epi32(pair, 28))));
    }
#endif
    LOOK_UP(uint32_t)
}

static inline __attribute__((always_inline)) void look_up_16(uint16_t *restrict out, const uint16_t *restrict results,
                                                             const uint8_t *restrict in, uint32_t in_bytes)
{
    uint32_t i = 0;
#if defined(__AVX512BW__)
    const __m512i all = _mm512_broadcast_i64x4(_mm256_loadu_si256((const __m256i *)results));
    for (; i + 16 <= in_bytes; i += 16) {
        __m512i pair = _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(in + i)));
        pair = _mm512_or_si512(pair, _mm512_slli_epi32(pair, 12));
        _mm512_storeu_si512(out + 2 * i, _mm512_permutexvar_epi16(pair, all));
    }
#elif defined(__AVX2__)
    /* Low and high bytes of the results separately. */
    const __m128i first = _mm_loadu_si128((const __m128i *)results),
                  second = _mm_loadu_si128((const __m128i *)results + 1);
    const __m128i byte = _mm_set1_epi16(255), four = _mm_set1_epi8(15);
    const __m128i low = _mm_packus_epi16(_mm_and_si128(first, byte), _mm_and_si128(second, byte));
    const __m128i high = _mm_packus_epi16(_mm_srli_epi16(first, 8), _mm_srli_epi16(second, 8));
    for (; i + 8 <= in_bytes; i += 8) {
        __m128i eight = _mm_loadl_epi64((const __m128i *)(in + i));
        __m128i index = _mm_and_si128(_mm_unpacklo_epi8(eight, _mm_srli_epi16(eight, 4)), four);
        __m128i a = _mm_shuffle_epi8(low, index), b = _mm_shuffle_epi8(high, index);
        _mm_storeu_si128((__m128i *)(out + 2 * i), _mm_unpacklo_epi8(a, b));
        _mm_storeu_si128((__m128i *)(out + 2 * i + 8), _mm_unpackhi_epi8(a, b));
    }
#endif
    LOOK_UP(uint16_t)
}

#undef LOOK_UP

#define LOOK_UP_ROWS(bits, length)                                                                                     \
    for (uint32_t r = 0; r < rows; r++)                                                                                \
        look_up_##bits((uint##bits##_t *)out + (size_t)r * 2 * (length),                                               \
                       (const uint##bits##_t *)results + (size_t)r * 16, in + (size_t)r * (length), length);

static void look_up_block(uint32_t bytes, void *restrict out, const void *restrict results, const uint8_t *restrict in,
                          uint32_t in_bytes, uint32_t rows)
{
    if (bytes == 4 && in_bytes == 16)
        LOOK_UP_ROWS(32, 16)
    else if (bytes == 4)
        LOOK_UP_ROWS(32, in_bytes)
    else if (in_bytes == 16)
        LOOK_UP_ROWS(16, 16)
    else
        LOOK_UP_ROWS(16, in_bytes)
}

#undef LOOK_UP_ROWS

/* Stores non-temporally; false: left to the caller. Incomplete cache lines are stored through the caches. */
static bool stream_block(DML_TENSOR_DATA_TYPE to, void *out, DML_TENSOR_DATA_TYPE from, const void *in, uint32_t count)
{
#if defined(__F16C__)
    uint32_t i = BASE_MIN((uint32_t)(-(uintptr_t)out % 64 / sizeof(uint16_t)), count);
    uint16_t *halves = out;
    const float *floats = in;
    if (to != DML_TENSOR_DATA_TYPE_FLOAT16 || from != DML_TENSOR_DATA_TYPE_FLOAT32)
        return false;
    floats_to_halves(halves, floats, i);
    for (; i + 32 <= count; i += 32)
        for (uint32_t j = 0; j < 32; j += 2 * VEC)
            vec_stream_halves(halves + i + j, vec_load(floats + i + j), vec_load(floats + i + j + VEC));
    floats_to_halves(halves + i, floats + i, count - i);
    return true;
#else
    return false;
#endif
}

#endif
