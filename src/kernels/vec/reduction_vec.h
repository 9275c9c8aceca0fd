/* The vectors of dense_vec.h for every processor, and what kernels over groups need beyond them. */
#ifndef KERNELS_REDUCTION_VEC_H
#define KERNELS_REDUCTION_VEC_H

#if defined(__AVX2__) || defined(__aarch64__)
#include "kernels/vec/dense_vec.h"
#else
#include "base/half.h"
#include "kernels/core/dense.h"

#define VEC 4
typedef float vec __attribute__((vector_size(VEC * sizeof(float))));

DENSE_INLINE vec vec_load(const float *from)
{
    vec out;
    memcpy(&out, from, sizeof(out));
    return out;
}

DENSE_INLINE vec vec_load_half(const uint16_t *from)
{
    vec out;
    for (uint32_t i = 0; i < VEC; i++)
        out[i] = base_half_to_float(from[i]);
    return out;
}

DENSE_INLINE void vec_store(float *to, vec value)
{
    memcpy(to, &value, sizeof(value));
}

DENSE_INLINE void vec_store_half(uint16_t *to, vec value)
{
    for (uint32_t i = 0; i < VEC; i++)
        to[i] = base_float_to_half(value[i]);
}

DENSE_INLINE vec vec_set(float value)
{
    return (vec){ value, value, value, value };
}

/* NaN in `a` gives b. */
DENSE_INLINE vec vec_max(vec a, vec b)
{
    for (uint32_t i = 0; i < VEC; i++)
        b[i] = a[i] > b[i] ? a[i] : b[i];
    return b;
}

DENSE_INLINE vec vec_abs(vec a)
{
    for (uint32_t i = 0; i < VEC; i++)
        a[i] = __builtin_fabsf(a[i]);
    return a;
}

DENSE_INLINE vec vec_fma(vec a, vec b, vec c)
{
    return a * b + c;
}

DENSE_INLINE float vec_sum(vec a)
{
    return (a[0] + a[2]) + (a[1] + a[3]);
}

DENSE_INLINE float vec_top(vec a)
{
    float low = BASE_MAX(a[0], a[1]), high = BASE_MAX(a[2], a[3]);
    return BASE_MAX(low, high);
}

DENSE_INLINE vec vec_round(vec a)
{
    const vec shift = vec_set(12582912.0f); /* 1.5 * 2^23; |a| is small */
    return (a + shift) - shift;
}

/* a * 2^n for whole n from -126 to 127 */
DENSE_INLINE vec vec_scale(vec a, vec n)
{
    typedef uint32_t bits __attribute__((vector_size(VEC * sizeof(uint32_t))));
    vec shifted = n + vec_set(12582912.0f);
    bits two = ((bits)shifted - 0x4b400000u + 127u) << 23;
    return a * (vec)two;
}

DENSE_INLINE vec vec_zero_below(vec value, vec x, float limit)
{
    for (uint32_t i = 0; i < VEC; i++)
        value[i] = x[i] < limit ? 0 : value[i];
    return value;
}

typedef int32_t vec_int __attribute__((vector_size(VEC * sizeof(int32_t))));

DENSE_INLINE vec_int vec_int_set(int32_t value)
{
    return (vec_int){ value, value, value, value };
}

DENSE_INLINE vec_int vec_int_load(const int32_t *from)
{
    vec_int out;
    memcpy(&out, from, sizeof(out));
    return out;
}

DENSE_INLINE void vec_int_store(int32_t *to, vec_int value)
{
    memcpy(to, &value, sizeof(value));
}

/* Where x is greater than *best, *best = x and *place = here. */
DENSE_INLINE void vec_take_greater(vec x, vec_int here, vec *best, vec_int *place)
{
    vec_int greater = x > *best;
    *best = (vec)(((vec_int)x & greater) | ((vec_int)*best & ~greater));
    *place = (here & greater) | (*place & ~greater);
}
#endif

#if defined(__AVX512F__)
DENSE_INLINE bool vec_any_equal(vec a, vec b)
{
    return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ) != 0;
}
DENSE_INLINE bool vec_any_greater(vec a, vec b)
{
    return _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ) != 0;
}
#elif defined(__AVX2__)
DENSE_INLINE bool vec_any_equal(vec a, vec b)
{
    return _mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_EQ_OQ)) != 0;
}
DENSE_INLINE bool vec_any_greater(vec a, vec b)
{
    return _mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_GT_OQ)) != 0;
}
#else
DENSE_INLINE bool vec_any_equal(vec a, vec b)
{
    bool any = false;
    for (uint32_t i = 0; i < VEC; i++)
        any |= a[i] == b[i];
    return any;
}
DENSE_INLINE bool vec_any_greater(vec a, vec b)
{
    bool any = false;
    for (uint32_t i = 0; i < VEC; i++)
        any |= a[i] > b[i];
    return any;
}
#endif

/* Stores past the caches of what does not fit there anyway, to whole vectors' addresses; an end before others read. */
#if defined(__AVX512F__)
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
#elif defined(__AVX2__)
DENSE_INLINE void vec_stream(float *to, vec value)
{
    _mm256_stream_ps(to, value);
}
DENSE_INLINE void vec_stream_half(uint16_t *to, vec value)
{
    _mm_stream_si128((__m128i *)to, _mm256_cvtps_ph(value, _MM_FROUND_TO_NEAREST_INT));
}
DENSE_INLINE void vec_stream_end(void)
{
    _mm_sfence();
}
#else
DENSE_INLINE void vec_stream(float *to, vec value)
{
    vec_store(to, value);
}
DENSE_INLINE void vec_stream_half(uint16_t *to, vec value)
{
    vec_store_half(to, value);
}
DENSE_INLINE void vec_stream_end(void)
{
}
#endif

#if !defined(__AVX512F__)
DENSE_INLINE void vec_stream_halves(uint16_t *to, vec a, vec b)
{
    vec_stream_half(to, a);
    vec_stream_half(to + VEC, b);
}
#endif

/* Are all elements' sizes at most `bound`? Not if one is NaN. */
DENSE_INLINE bool vec_all_within(vec a, vec b, vec c, vec d, float bound)
{
#if defined(__AVX512F__)
    const vec most = vec_set(bound);
    const __mmask16 low = _mm512_cmp_ps_mask(vec_abs(b), most, _CMP_LE_OQ);
    const __mmask16 high = _mm512_cmp_ps_mask(vec_abs(d), most, _CMP_LE_OQ);
    const __mmask16 all = _mm512_mask_cmp_ps_mask(low, vec_abs(a), most, _CMP_LE_OQ) &
                          _mm512_mask_cmp_ps_mask(high, vec_abs(c), most, _CMP_LE_OQ);
    return all == 0xffff;
#elif defined(__AVX2__)
    const vec most = vec_set(bound);
    const vec low =
        _mm256_and_ps(_mm256_cmp_ps(vec_abs(a), most, _CMP_LE_OQ), _mm256_cmp_ps(vec_abs(b), most, _CMP_LE_OQ));
    const vec high =
        _mm256_and_ps(_mm256_cmp_ps(vec_abs(c), most, _CMP_LE_OQ), _mm256_cmp_ps(vec_abs(d), most, _CMP_LE_OQ));
    return _mm256_movemask_ps(_mm256_and_ps(low, high)) == 0xff;
#else
    bool within = true;
    for (uint32_t i = 0; i < VEC; i++)
        within &= vec_abs(a)[i] <= bound && vec_abs(b)[i] <= bound && vec_abs(c)[i] <= bound && vec_abs(d)[i] <= bound;
    return within;
#endif
}

/* a * 2^n for whole n from -252 to 0, rounded once where the result is a normal number */
DENSE_INLINE vec reduction_scale_down(vec a, vec n)
{
#if defined(__AVX512F__)
    return vec_scale(a, n);
#else
    vec half = vec_round(n * vec_set(0.5f));
    return vec_scale(vec_scale(a, half), n - half);
#endif
}

/* e^(x - top) for x <= top, subnormal results included; NaN stays. `exact`: with what x - top loses when it is rounded,
 * which e^ would make many units of; else within 2 units for x - top as it is rounded, where that is above -20. */
DENSE_INLINE vec reduction_exp(vec x, vec top, bool exact)
{
    vec d = x - top;
    vec clamped = vec_max(vec_set(-105.0f), d); /* in this order a NaN is kept */
    vec n = vec_round(clamped * vec_set(0x1.715476p+0f)), p;
    if (exact) {
        vec r = vec_fma(n, vec_set(-0x1.62e4p-1f), clamped); /* ln 2 in two parts */
        r = vec_fma(n, vec_set(-0x1.7f7d1cp-20f), r);
        vec back = x - d; /* minus what is lost; far below it is of no use, and infinities make it NaN */
        r -= vec_zero_below(((d + back) - x) + (top - back), d, -105.0f);
        p = vec_set(0x1.6b7d2ep-10f);
        p = vec_fma(p, r, vec_set(0x1.110e6p-7f));
        p = vec_fma(p, r, vec_set(0x1.555502p-5f));
        p = vec_fma(p, r, vec_set(0x1.55554cp-3f));
        p = vec_fma(p, r, vec_set(0.5f));
        p = vec_fma(p, r, vec_set(1.0f));
        p = vec_fma(p, r, vec_set(1.0f));
    } else {
        vec r = vec_fma(n, vec_set(-0x1.62e43p-1f), clamped);
        p = vec_set(0x1.10627ap-7f);
        p = vec_fma(p, r, vec_set(0x1.572a10p-5f));
        p = vec_fma(p, r, vec_set(0x1.5557aep-3f));
        p = vec_fma(p, r, vec_set(0x1.fffdfcp-2f));
        p = vec_fma(p, r, vec_set(1.0f));
        p = vec_fma(p, r, vec_set(1.0f));
    }
    return reduction_scale_down(p, n);
}

#endif
