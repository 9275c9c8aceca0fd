// SPDX-License-Identifier: Apache-2.0
/* vec.h for AVX-512 and AVX2. */
#ifndef KERNELS_VEC_X86_H
#define KERNELS_VEC_X86_H

/* Macros with another name in each: an instruction, one for VEC elements of 16 bits, where two vectors compare so. */
#if defined(__AVX512F__)
#define VEC_MM(name)                _mm512_##name
#define VEC_MM_ROUND                _mm512_roundscale_ps
#define VEC_MM_STORE_NARROW         _mm256_storeu_si256
#define VEC_MM_STREAM_NARROW        _mm256_stream_si256
#define VEC_MM_WHERE(a, b, compare) _mm512_cmp_ps_mask(a, b, compare)
typedef __m256i vec_narrow;
#else
#define VEC_MM(name)                _mm256_##name
#define VEC_MM_ROUND                _mm256_round_ps
#define VEC_MM_STORE_NARROW         _mm_storeu_si128
#define VEC_MM_STREAM_NARROW        _mm_stream_si128
#define VEC_MM_WHERE(a, b, compare) _mm256_movemask_ps(_mm256_cmp_ps(a, b, compare))
typedef __m128i vec_narrow;
#endif

/* The first `count` elements, of `rest` after them; reads nothing beyond. */
DENSE_INLINE vec vec_load_part(const float *from, uint32_t count, vec rest)
{
#if defined(__AVX512F__)
    return _mm512_mask_loadu_ps(rest, (__mmask16)((1u << count) - 1), from);
#else
    __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    __m256i mask = _mm256_cmpgt_epi32(_mm256_set1_epi32((int)count), lanes);
    return _mm256_blendv_ps(rest, _mm256_maskload_ps(from, mask), _mm256_castsi256_ps(mask));
#endif
}

/* The first `count` elements. */
DENSE_INLINE void vec_store_part(float *to, uint32_t count, vec value)
{
#if defined(__AVX512F__)
    _mm512_mask_storeu_ps(to, (__mmask16)((1u << count) - 1), value);
#else
    __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    _mm256_maskstore_ps(to, _mm256_cmpgt_epi32(_mm256_set1_epi32((int)count), lanes), value);
#endif
}

DENSE_INLINE vec vec_load_half(const uint16_t *from)
{
    vec_narrow halves;
    memcpy(&halves, from, sizeof(halves));
    return VEC_MM(cvtph_ps)(halves);
}

DENSE_INLINE vec vec_load_bfloat(const uint16_t *from)
{
    vec_narrow upper;
    memcpy(&upper, from, sizeof(upper));
    return (vec)((vec_bits)VEC_MM(cvtepu16_epi32)(upper) << 16);
}

DENSE_INLINE void vec_store_half(uint16_t *to, vec value)
{
    /* Not memcpy: converting into memory is slower than storing what was converted. */
    VEC_MM_STORE_NARROW((vec_narrow *)to, VEC_MM(cvtps_ph)(value, _MM_FROUND_TO_NEAREST_INT));
}

/* As base_float_to_bfloat. */
DENSE_INLINE void vec_store_bfloat(uint16_t *to, vec value)
{
    const vec_bits bits = (vec_bits)value, quiet = bits | 0x400000;
    vec_bits rounded = bits + 0x7fff + (bits >> 16 & 1);
#if defined(__AVX512F__)
    const __mmask16 nan = _mm512_cmp_ps_mask(value, value, _CMP_UNORD_Q);
    rounded = (vec_bits)_mm512_mask_mov_epi32((__m512i)rounded, nan, (__m512i)quiet);
    const vec_narrow upper = _mm512_cvtepi32_epi16((__m512i)(rounded >> 16));
#else
    const __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(value, value, _CMP_UNORD_Q));
    const __m256i wide = (__m256i)((vec_bits)_mm256_blendv_epi8((__m256i)rounded, (__m256i)quiet, nan) >> 16);
    const vec_narrow upper = _mm_packus_epi32(_mm256_castsi256_si128(wide), _mm256_extracti128_si256(wide, 1));
#endif
    memcpy(to, &upper, sizeof(upper));
}

/* NaN in `a` returns b. */
DENSE_INLINE vec vec_max(vec a, vec b)
{
    return VEC_MM(max_ps)(a, b);
}

DENSE_INLINE vec vec_min(vec a, vec b)
{
    return VEC_MM(min_ps)(a, b);
}

DENSE_INLINE vec vec_fma(vec a, vec b, vec c)
{
    return VEC_MM(fmadd_ps)(a, b, c);
}

DENSE_INLINE vec vec_round(vec a)
{
    return VEC_MM_ROUND(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

#if defined(__AVX512F__)
DENSE_INLINE float vec_sum(vec a)
{
    return _mm512_reduce_add_ps(a);
}

DENSE_INLINE float vec_top(vec a)
{
    return _mm512_reduce_max_ps(a);
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
#else
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

/* a * 2^n for whole n from -126 to 127 */
DENSE_INLINE vec vec_scale(vec a, vec n)
{
    return a * (vec)(((vec_bits)_mm256_cvtps_epi32(n) + 127) << 23);
}
#endif

/* If x is larger than *best, *best = x and *place = here. */
DENSE_INLINE void vec_take_greater(vec x, vec_int here, vec *best, vec_int *place)
{
#if defined(__AVX512F__)
    __mmask16 greater = _mm512_cmp_ps_mask(x, *best, _CMP_GT_OQ);
    *best = _mm512_mask_mov_ps(*best, greater, x);
    *place = (vec_int)_mm512_mask_mov_epi32((__m512i)*place, greater, (__m512i)here);
#else
    __m256 greater = _mm256_cmp_ps(x, *best, _CMP_GT_OQ);
    *best = _mm256_blendv_ps(*best, x, greater);
    *place = (vec_int)_mm256_blendv_epi8((__m256i)*place, (__m256i)here, _mm256_castps_si256(greater));
#endif
}

DENSE_INLINE bool vec_any_equal(vec a, vec b)
{
    return VEC_MM_WHERE(a, b, _CMP_EQ_OQ) != 0;
}

DENSE_INLINE bool vec_any_greater(vec a, vec b)
{
    return VEC_MM_WHERE(a, b, _CMP_GT_OQ) != 0;
}

/* Are all elements' sizes at most `bound`? Not if one is NaN. */
DENSE_INLINE bool vec_all_within(vec a, vec b, vec c, vec d, float bound)
{
    const vec most = vec_set(bound);
#if defined(__AVX512F__)
    const __mmask16 low = _mm512_cmp_ps_mask(vec_abs(b), most, _CMP_LE_OQ);
    const __mmask16 high = _mm512_cmp_ps_mask(vec_abs(d), most, _CMP_LE_OQ);
    const __mmask16 all = _mm512_mask_cmp_ps_mask(low, vec_abs(a), most, _CMP_LE_OQ) &
                          _mm512_mask_cmp_ps_mask(high, vec_abs(c), most, _CMP_LE_OQ);
    return all == 0xffff;
#else
    const vec_int within = (vec_abs(a) <= most) & (vec_abs(b) <= most) & (vec_abs(c) <= most) & (vec_abs(d) <= most);
    return _mm256_movemask_ps((vec)within) == 0xff;
#endif
}

/* Non-temporal stores to addresses of whole vectors; call kern_stream_end() before others read. */
DENSE_INLINE void vec_stream(float *to, vec value)
{
    VEC_MM(stream_ps)(to, value);
}

DENSE_INLINE void vec_stream_half(uint16_t *to, vec value)
{
    VEC_MM_STREAM_NARROW((vec_narrow *)to, VEC_MM(cvtps_ph)(value, _MM_FROUND_TO_NEAREST_INT));
}

DENSE_INLINE void vec_stream_halves(uint16_t *to, vec a, vec b)
{
#if defined(__AVX512F__)
    const __m256i low = _mm512_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT);
    const __m256i high = _mm512_cvtps_ph(b, _MM_FROUND_TO_NEAREST_INT);
    _mm512_stream_si512((__m512i *)to, _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1));
#else
    vec_stream_half(to, a);
    vec_stream_half(to + VEC, b);
#endif
}

#endif
