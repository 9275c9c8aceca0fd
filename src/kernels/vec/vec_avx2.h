// SPDX-License-Identifier: Apache-2.0
/* vec.h for AVX2. */
#ifndef KERNELS_VEC_AVX2_H
#define KERNELS_VEC_AVX2_H

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

/* The first `count` elements. */
DENSE_INLINE void vec_store_part(float *to, uint32_t count, vec value)
{
    __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    _mm256_maskstore_ps(to, _mm256_cmpgt_epi32(_mm256_set1_epi32((int)count), lanes), value);
}

DENSE_INLINE vec vec_load_bfloat(const uint16_t *from)
{
    __m256i wide = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)from));
    return _mm256_castsi256_ps(_mm256_slli_epi32(wide, 16));
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

/* NaN in `a` gives b. */
DENSE_INLINE vec vec_max(vec a, vec b)
{
    return _mm256_max_ps(a, b);
}

DENSE_INLINE vec vec_min(vec a, vec b)
{
    return _mm256_min_ps(a, b);
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

/* Where x is greater than *best, *best = x and *place = here. */
DENSE_INLINE void vec_take_greater(vec x, vec_int here, vec *best, vec_int *place)
{
    __m256 greater = _mm256_cmp_ps(x, *best, _CMP_GT_OQ);
    *best = _mm256_blendv_ps(*best, x, greater);
    *place = (vec_int)_mm256_blendv_epi8((__m256i)*place, (__m256i)here, _mm256_castps_si256(greater));
}

DENSE_INLINE bool vec_any_equal(vec a, vec b)
{
    return _mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_EQ_OQ)) != 0;
}

DENSE_INLINE bool vec_any_greater(vec a, vec b)
{
    return _mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_GT_OQ)) != 0;
}

/* Are all elements' sizes at most `bound`? Not if one is NaN. */
DENSE_INLINE bool vec_all_within(vec a, vec b, vec c, vec d, float bound)
{
    const vec most = vec_set(bound);
    const vec low =
        _mm256_and_ps(_mm256_cmp_ps(vec_abs(a), most, _CMP_LE_OQ), _mm256_cmp_ps(vec_abs(b), most, _CMP_LE_OQ));
    const vec high =
        _mm256_and_ps(_mm256_cmp_ps(vec_abs(c), most, _CMP_LE_OQ), _mm256_cmp_ps(vec_abs(d), most, _CMP_LE_OQ));
    return _mm256_movemask_ps(_mm256_and_ps(low, high)) == 0xff;
}

/* Stores past the caches of what does not fit there anyway, to whole vectors' addresses; an end before others read. */
DENSE_INLINE void vec_stream(float *to, vec value)
{
    _mm256_stream_ps(to, value);
}

DENSE_INLINE void vec_stream_half(uint16_t *to, vec value)
{
    _mm_stream_si128((__m128i *)to, _mm256_cvtps_ph(value, _MM_FROUND_TO_NEAREST_INT));
}

DENSE_INLINE void vec_stream_halves(uint16_t *to, vec a, vec b)
{
    vec_stream_half(to, a);
    vec_stream_half(to + VEC, b);
}

DENSE_INLINE void vec_stream_end(void)
{
    _mm_sfence();
}

#endif
