// SPDX-License-Identifier: Apache-2.0
/* vec.h for AVX-512. */
#ifndef KERNELS_VEC_AVX512_H
#define KERNELS_VEC_AVX512_H

/* The first `count` elements, of `rest` after them; reads nothing beyond. */
DENSE_INLINE vec vec_load_part(const float *from, uint32_t count, vec rest)
{
    return _mm512_mask_loadu_ps(rest, (__mmask16)((1u << count) - 1), from);
}

DENSE_INLINE vec vec_load_half(const uint16_t *from)
{
    return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)from));
}

/* The first `count` elements. */
DENSE_INLINE void vec_store_part(float *to, uint32_t count, vec value)
{
    _mm512_mask_storeu_ps(to, (__mmask16)((1u << count) - 1), value);
}

DENSE_INLINE vec vec_load_bfloat(const uint16_t *from)
{
    __m512i wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)from));
    return _mm512_castsi512_ps(_mm512_slli_epi32(wide, 16));
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

/* NaN in `a` gives b. */
DENSE_INLINE vec vec_max(vec a, vec b)
{
    return _mm512_max_ps(a, b);
}

DENSE_INLINE vec vec_min(vec a, vec b)
{
    return _mm512_min_ps(a, b);
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

/* Where x is greater than *best, *best = x and *place = here. */
DENSE_INLINE void vec_take_greater(vec x, vec_int here, vec *best, vec_int *place)
{
    __mmask16 greater = _mm512_cmp_ps_mask(x, *best, _CMP_GT_OQ);
    *best = _mm512_mask_mov_ps(*best, greater, x);
    *place = (vec_int)_mm512_mask_mov_epi32((__m512i)*place, greater, (__m512i)here);
}

DENSE_INLINE bool vec_any_equal(vec a, vec b)
{
    return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ) != 0;
}

DENSE_INLINE bool vec_any_greater(vec a, vec b)
{
    return _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ) != 0;
}

/* Are all elements' sizes at most `bound`? Not if one is NaN. */
DENSE_INLINE bool vec_all_within(vec a, vec b, vec c, vec d, float bound)
{
    const vec most = vec_set(bound);
    const __mmask16 low = _mm512_cmp_ps_mask(vec_abs(b), most, _CMP_LE_OQ);
    const __mmask16 high = _mm512_cmp_ps_mask(vec_abs(d), most, _CMP_LE_OQ);
    const __mmask16 all = _mm512_mask_cmp_ps_mask(low, vec_abs(a), most, _CMP_LE_OQ) &
                          _mm512_mask_cmp_ps_mask(high, vec_abs(c), most, _CMP_LE_OQ);
    return all == 0xffff;
}

/* Stores past the caches of what does not fit there anyway, to whole vectors' addresses; an end before others read. */
DENSE_INLINE void vec_stream(float *to, vec value)
{
    _mm512_stream_ps(to, value);
}

DENSE_INLINE void vec_stream_half(uint16_t *to, vec value)
{
    _mm256_stream_si256((__m256i *)to, _mm512_cvtps_ph(value, _MM_FROUND_TO_NEAREST_INT));
}

DENSE_INLINE void vec_stream_halves(uint16_t *to, vec a, vec b)
{
    const __m256i low = _mm512_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT);
    const __m256i high = _mm512_cvtps_ph(b, _MM_FROUND_TO_NEAREST_INT);
    _mm512_stream_si512((__m512i *)to, _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1));
}

DENSE_INLINE void vec_stream_end(void)
{
    _mm_sfence();
}

#endif
