/* Vectors of FLOAT32 as wide as the instruction set that the including file is compiled for. Bodies written with these
 * are included by x86/dense_avx2.c, x86/dense_avx512.c and arm/dense_neon.c. */
#ifndef KERNELS_DENSE_VEC_H
#define KERNELS_DENSE_VEC_H

#include "kernels/core/dense.h"

#if defined(__aarch64__)
#include <arm_neon.h>
#else
#include <immintrin.h>
#endif

#if defined(__AVX512F__)
#define VEC 16
typedef __m512 vec;

DENSE_INLINE vec vec_load(const float *from)
{
    return _mm512_loadu_ps(from);
}

/* The first `count` elements, of `rest` after them; reads nothing beyond. */
DENSE_INLINE vec vec_load_part(const float *from, uint32_t count, vec rest)
{
    return _mm512_mask_loadu_ps(rest, (__mmask16)((1u << count) - 1), from);
}

DENSE_INLINE vec vec_load_half(const uint16_t *from)
{
    return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)from));
}

DENSE_INLINE vec vec_load_bfloat(const uint16_t *from)
{
    __m512i wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)from));
    return _mm512_castsi512_ps(_mm512_slli_epi32(wide, 16));
}

DENSE_INLINE void vec_store(float *to, vec value)
{
    _mm512_storeu_ps(to, value);
}

/* The first `count` elements. */
DENSE_INLINE void vec_store_part(float *to, uint32_t count, vec value)
{
    _mm512_mask_storeu_ps(to, (__mmask16)((1u << count) - 1), value);
}

DENSE_INLINE void vec_store_half(uint16_t *to, vec value)
{
    _mm256_storeu_si256((__m256i *)to, _mm512_cvtps_ph(value, _MM_FROUND_TO_NEAREST_INT));
}

/* As base_float_to_bfloat. */
DENSE_INLINE void vec_store_bfloat(uint16_t *to, vec value)
{
    __m512i bits = _mm512_castps_si512(value),
            odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    __m512i rounded = _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff)), odd);
    __mmask16 nan = _mm512_cmp_ps_mask(value, value, _CMP_UNORD_Q);
    rounded = _mm512_mask_or_epi32(rounded, nan, bits, _mm512_set1_epi32(0x400000));
    _mm256_storeu_si256((__m256i *)to, _mm512_cvtepi32_epi16(_mm512_srli_epi32(rounded, 16)));
}

DENSE_INLINE vec vec_set(float value)
{
    return _mm512_set1_ps(value);
}

/* NaN in `a` gives b. */
DENSE_INLINE vec vec_max(vec a, vec b)
{
    return _mm512_max_ps(a, b);
}

DENSE_INLINE vec vec_min(vec a, vec b)
{
    return _mm512_min_ps(a, b);
}

DENSE_INLINE vec vec_abs(vec a)
{
    return _mm512_abs_ps(a);
}

DENSE_INLINE vec vec_fma(vec a, vec b, vec c)
{
    return _mm512_fmadd_ps(a, b, c);
}

DENSE_INLINE float vec_sum(vec a)
{
    return _mm512_reduce_add_ps(a);
}

DENSE_INLINE float vec_top(vec a)
{
    return _mm512_reduce_max_ps(a);
}

DENSE_INLINE vec vec_round(vec a)
{
    return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

/* a * 2^n for whole n */
DENSE_INLINE vec vec_scale(vec a, vec n)
{
    return _mm512_scalef_ps(a, n);
}

DENSE_INLINE vec vec_zero_below(vec value, vec x, float limit)
{
    return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(x, vec_set(limit), _CMP_NLT_UQ), value);
}

typedef __m512i vec_int;

DENSE_INLINE vec_int vec_int_set(int32_t value)
{
    return _mm512_set1_epi32(value);
}

DENSE_INLINE vec_int vec_int_load(const int32_t *from)
{
    return _mm512_loadu_si512(from);
}

DENSE_INLINE void vec_int_store(int32_t *to, vec_int value)
{
    _mm512_storeu_si512(to, value);
}

/* Where x is greater than *best, *best = x and *place = here. */
DENSE_INLINE void vec_take_greater(vec x, vec_int here, vec *best, vec_int *place)
{
    __mmask16 greater = _mm512_cmp_ps_mask(x, *best, _CMP_GT_OQ);
    *best = _mm512_mask_mov_ps(*best, greater, x);
    *place = _mm512_mask_mov_epi32(*place, greater, here);
}

#elif defined(__aarch64__)
#define VEC 4
typedef float32x4_t vec;

DENSE_INLINE vec vec_load(const float *from)
{
    return vld1q_f32(from);
}

/* The first `count` elements, of `rest` after them; reads nothing beyond. */
DENSE_INLINE vec vec_load_part(const float *from, uint32_t count, vec rest)
{
    for (uint32_t i = 0; i < VEC && i < count; i++)
        rest[i] = from[i];
    return rest;
}

DENSE_INLINE vec vec_load_half(const uint16_t *from)
{
    return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(from)));
}

DENSE_INLINE vec vec_load_bfloat(const uint16_t *from)
{
    return vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(from), 16));
}

DENSE_INLINE void vec_store(float *to, vec value)
{
    vst1q_f32(to, value);
}

/* The first `count` elements. */
DENSE_INLINE void vec_store_part(float *to, uint32_t count, vec value)
{
    for (uint32_t i = 0; i < VEC && i < count; i++)
        to[i] = value[i];
}

DENSE_INLINE void vec_store_half(uint16_t *to, vec value)
{
    vst1_u16(to, vreinterpret_u16_f16(vcvt_f16_f32(value)));
}

/* As base_float_to_bfloat. */
DENSE_INLINE void vec_store_bfloat(uint16_t *to, vec value)
{
    uint32x4_t bits = vreinterpretq_u32_f32(value), odd = vandq_u32(vshrq_n_u32(bits, 16), vdupq_n_u32(1));
    uint32x4_t rounded = vaddq_u32(vaddq_u32(bits, vdupq_n_u32(0x7fff)), odd);
    uint32x4_t quiet = vorrq_u32(bits, vdupq_n_u32(0x400000));
    vst1_u16(to, vshrn_n_u32(vbslq_u32(vceqq_f32(value, value), rounded, quiet), 16));
}

DENSE_INLINE vec vec_set(float value)
{
    return vdupq_n_f32(value);
}

/* NaN in `a` gives b. */
DENSE_INLINE vec vec_max(vec a, vec b)
{
    return vbslq_f32(vcgtq_f32(a, b), a, b);
}

DENSE_INLINE vec vec_min(vec a, vec b)
{
    return vbslq_f32(vcltq_f32(a, b), a, b);
}

DENSE_INLINE vec vec_abs(vec a)
{
    return vabsq_f32(a);
}

DENSE_INLINE vec vec_fma(vec a, vec b, vec c)
{
    return vfmaq_f32(c, a, b);
}

DENSE_INLINE float vec_sum(vec a)
{
    return vaddvq_f32(a);
}

DENSE_INLINE float vec_top(vec a)
{
    return vmaxvq_f32(a);
}

DENSE_INLINE vec vec_round(vec a)
{
    return vrndnq_f32(a);
}

/* a * 2^n for whole n from -126 to 127 */
DENSE_INLINE vec vec_scale(vec a, vec n)
{
    int32x4_t bits = vshlq_n_s32(vaddq_s32(vcvtnq_s32_f32(n), vdupq_n_s32(127)), 23);
    return vmulq_f32(a, vreinterpretq_f32_s32(bits));
}

DENSE_INLINE vec vec_zero_below(vec value, vec x, float limit)
{
    return vreinterpretq_f32_u32(vbicq_u32(vreinterpretq_u32_f32(value), vcltq_f32(x, vec_set(limit))));
}

typedef int32x4_t vec_int;

DENSE_INLINE vec_int vec_int_set(int32_t value)
{
    return vdupq_n_s32(value);
}

DENSE_INLINE vec_int vec_int_load(const int32_t *from)
{
    return vld1q_s32(from);
}

DENSE_INLINE void vec_int_store(int32_t *to, vec_int value)
{
    vst1q_s32(to, value);
}

/* Where x is greater than *best, *best = x and *place = here. */
DENSE_INLINE void vec_take_greater(vec x, vec_int here, vec *best, vec_int *place)
{
    uint32x4_t greater = vcgtq_f32(x, *best);
    *best = vbslq_f32(greater, x, *best);
    *place = vbslq_s32(greater, here, *place);
}

#else
#define VEC 8
typedef __m256 vec;

DENSE_INLINE vec vec_load(const float *from)
{
    return _mm256_loadu_ps(from);
}

/* The first `count` elements, of `rest` after them; reads nothing beyond. */
DENSE_INLINE vec vec_load_part(const float *from, uint32_t count, vec rest)
{
    __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    __m256i mask = _mm256_cmpgt_epi32(_mm256_set1_epi32((int)count), lanes);
    return _mm256_blendv_ps(rest, _mm256_maskload_ps(from, mask), _mm256_castsi256_ps(mask));
}

DENSE_INLINE vec vec_load_half(const uint16_t *from)
{
    return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)from));
}

DENSE_INLINE vec vec_load_bfloat(const uint16_t *from)
{
    __m256i wide = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)from));
    return _mm256_castsi256_ps(_mm256_slli_epi32(wide, 16));
}

DENSE_INLINE void vec_store(float *to, vec value)
{
    _mm256_storeu_ps(to, value);
}

/* The first `count` elements. */
DENSE_INLINE void vec_store_part(float *to, uint32_t count, vec value)
{
    __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    _mm256_maskstore_ps(to, _mm256_cmpgt_epi32(_mm256_set1_epi32((int)count), lanes), value);
}

DENSE_INLINE void vec_store_half(uint16_t *to, vec value)
{
    _mm_storeu_si128((__m128i *)to, _mm256_cvtps_ph(value, _MM_FROUND_TO_NEAREST_INT));
}

/* As base_float_to_bfloat. */
DENSE_INLINE void vec_store_bfloat(uint16_t *to, vec value)
{
    __m256i bits = _mm256_castps_si256(value),
            odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    __m256i rounded = _mm256_add_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x7fff)), odd);
    __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(value, value, _CMP_UNORD_Q));
    rounded = _mm256_blendv_epi8(rounded, _mm256_or_si256(bits, _mm256_set1_epi32(0x400000)), nan);
    rounded = _mm256_srli_epi32(rounded, 16);
    _mm_storeu_si128((__m128i *)to,
                     _mm_packus_epi32(_mm256_castsi256_si128(rounded), _mm256_extracti128_si256(rounded, 1)));
}

DENSE_INLINE vec vec_set(float value)
{
    return _mm256_set1_ps(value);
}

/* NaN in `a` gives b. */
DENSE_INLINE vec vec_max(vec a, vec b)
{
    return _mm256_max_ps(a, b);
}

DENSE_INLINE vec vec_min(vec a, vec b)
{
    return _mm256_min_ps(a, b);
}

DENSE_INLINE vec vec_abs(vec a)
{
    return _mm256_andnot_ps(vec_set(-0.0f), a);
}

DENSE_INLINE vec vec_fma(vec a, vec b, vec c)
{
    return _mm256_fmadd_ps(a, b, c);
}

DENSE_INLINE float vec_sum(vec a)
{
    __m128 half = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    half = _mm_add_ps(half, _mm_movehl_ps(half, half));
    return _mm_cvtss_f32(_mm_add_ss(half, _mm_movehdup_ps(half)));
}

DENSE_INLINE float vec_top(vec a)
{
    __m128 half = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    half = _mm_max_ps(half, _mm_movehl_ps(half, half));
    return _mm_cvtss_f32(_mm_max_ss(half, _mm_movehdup_ps(half)));
}

DENSE_INLINE vec vec_round(vec a)
{
    return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

/* a * 2^n for whole n from -126 to 127 */
DENSE_INLINE vec vec_scale(vec a, vec n)
{
    __m256i bits = _mm256_slli_epi32(_mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127)), 23);
    return a * _mm256_castsi256_ps(bits);
}

DENSE_INLINE vec vec_zero_below(vec value, vec x, float limit)
{
    return _mm256_and_ps(value, _mm256_cmp_ps(x, vec_set(limit), _CMP_NLT_UQ));
}

typedef __m256i vec_int;

DENSE_INLINE vec_int vec_int_set(int32_t value)
{
    return _mm256_set1_epi32(value);
}

DENSE_INLINE vec_int vec_int_load(const int32_t *from)
{
    return _mm256_loadu_si256((const __m256i *)from);
}

DENSE_INLINE void vec_int_store(int32_t *to, vec_int value)
{
    _mm256_storeu_si256((__m256i *)to, value);
}

/* Where x is greater than *best, *best = x and *place = here. */
DENSE_INLINE void vec_take_greater(vec x, vec_int here, vec *best, vec_int *place)
{
    __m256 greater = _mm256_cmp_ps(x, *best, _CMP_GT_OQ);
    *best = _mm256_blendv_ps(*best, x, greater);
    *place = _mm256_blendv_epi8(*place, here, _mm256_castps_si256(greater));
}
#endif

/* FLOAT32, FLOAT16 or bfloat16 from or to element `at`: one load or store where the type is a constant. */
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

/* The same for `count` elements if that is less than VEC: zeros after them, nothing beyond is touched. */
DENSE_INLINE vec vec_load_some(DML_TENSOR_DATA_TYPE type, const void *data, int64_t at, int64_t count)
{
    if (count >= VEC)
        return vec_load_of(type, data, at);
    if (type == DML_TENSOR_DATA_TYPE_FLOAT32)
        return vec_load_part((const float *)data + at, (uint32_t)count, vec_set(0));
    uint16_t part[VEC] = { 0 };
    memcpy(part, (const uint16_t *)data + at, (size_t)count * sizeof(part[0]));
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
        memcpy((uint16_t *)data + at, part, (size_t)count * sizeof(part[0]));
    }
}

/* function(type, ...) with the type, one of those three, as a constant. */
#define VEC_BY_TYPE(type, function, ...)                                                                               \
    ((type) == DML_TENSOR_DATA_TYPE_FLOAT32   ? function(DML_TENSOR_DATA_TYPE_FLOAT32, __VA_ARGS__)                    \
     : (type) == DML_TENSOR_DATA_TYPE_FLOAT16 ? function(DML_TENSOR_DATA_TYPE_FLOAT16, __VA_ARGS__)                    \
                                              : function(ANYDML_TENSOR_DATA_TYPE_BFLOAT16, __VA_ARGS__))

/* e^x for x <= 0, within 2 units in the last place; below -87 it is 0, NaN stays. */
DENSE_INLINE vec vec_exp(vec x)
{
    vec clamped = vec_max(vec_set(-87.0f), x); /* in this order a NaN in x is kept */
    vec n = vec_round(clamped * vec_set(0x1.715476p+0f));
    vec r = vec_fma(n, vec_set(-0x1.62e4p-1f), clamped); /* ln 2 in two parts */
    r = vec_fma(n, vec_set(-0x1.7f7d1cp-20f), r);
    vec p = vec_set(0x1.6b7d2ep-10f);
    p = vec_fma(p, r, vec_set(0x1.110e6p-7f));
    p = vec_fma(p, r, vec_set(0x1.555502p-5f));
    p = vec_fma(p, r, vec_set(0x1.55554cp-3f));
    p = vec_fma(p, r, vec_set(0.5f));
    p = vec_fma(p, r, vec_set(1.0f));
    p = vec_fma(p, r, vec_set(1.0f));
    return vec_zero_below(vec_scale(p, n), x, -87.0f);
}

#endif
