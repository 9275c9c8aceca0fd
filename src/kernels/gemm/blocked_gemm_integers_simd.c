/* The row by row work of integer products: packs from lines of bytes, and what becomes of sums. */
#include "kernels/core/isa.h"
#include "kernels/gemm/blocked_gemm.h"

#if defined(__AVX512BW__) && defined(__AVX512VL__)
#include "kernels/gemm/quotient.h"
#endif

static void interleave_bytes(const uint8_t *const *lines, uint64_t count, uint8_t flip, void *packs)
{
    const uint8_t *restrict a = lines[0], *restrict b = lines[1], *restrict c = lines[2], *restrict d = lines[3];
    uint8_t *restrict out = packs;
    for (uint64_t i = 0; i < count; i++) {
        out[4 * i] = a[i] ^ flip;
        out[4 * i + 1] = b[i] ^ flip;
        out[4 * i + 2] = c[i] ^ flip;
        out[4 * i + 3] = d[i] ^ flip;
    }
}

static void interleave_pairs(const uint8_t *const *lines, uint64_t count, bool is_signed, void *packs)
{
    const uint8_t *restrict a = lines[0], *restrict b = lines[1];
    int16_t *restrict out = packs;
    for (uint64_t i = 0; is_signed && i < count; i++) {
        out[2 * i] = (int8_t)a[i];
        out[2 * i + 1] = (int8_t)b[i];
    }
    for (uint64_t i = 0; !is_signed && i < count; i++) {
        out[2 * i] = a[i];
        out[2 * i + 1] = b[i];
    }
}

static void interleave(uint32_t k_pack, const uint8_t *const *lines, uint64_t count, uint8_t flip, bool is_signed,
                       void *packs)
{
    if (k_pack == 4)
        interleave_bytes(lines, count, flip, packs);
    else
        interleave_pairs(lines, count, is_signed, packs);
}

static int32_t row_of_bytes(const uint8_t *in, uint32_t count, uint8_t flip, uint8_t *out)
{
    int32_t sum = 0;
    uint32_t i = 0;
#if defined(__AVX512BW__) && defined(__AVX512VL__)
    __m512i sums = _mm512_setzero_si512(), sign_bit = _mm512_set1_epi8((char)flip);
    for (; i + 64 <= count; i += 64) {
        __m512i bytes = _mm512_xor_si512(_mm512_loadu_si512(in + i), sign_bit);
        _mm512_storeu_si512(out + i, bytes);
        sums = _mm512_add_epi64(sums, _mm512_sad_epu8(bytes, _mm512_setzero_si512()));
    }
    sum = (int32_t)_mm512_reduce_add_epi64(sums);
#endif
    for (; i < count; i++) {
        out[i] = in[i] ^ flip;
        sum += out[i];
    }
    return sum;
}

DENSE_INLINE uint32_t unshifted(const int32_t *sums, uint32_t i, const struct blocked_gemm_shift *shift, uint32_t same,
                                bool by_column)
{
    uint32_t sum = (uint32_t)sums[i] - (uint32_t)shift->zero * (uint32_t)shift->columns[i] + same;
    return by_column ? sum - (uint32_t)shift->zeros[i] * (uint32_t)shift->row : sum;
}

/* What is the same for all columns. */
static uint32_t unshift_same(const struct blocked_gemm_shift *shift)
{
    return (uint32_t)shift->plus - (shift->zeros ? 0 : (uint32_t)shift->zero_all * (uint32_t)shift->row);
}

static void unshift(const int32_t *sums, uint32_t count, const struct blocked_gemm_shift *shift, int32_t *out)
{
    const struct blocked_gemm_shift by = *shift; /* a copy that `out` cannot overlap */
    uint32_t same = unshift_same(&by);
    if (by.zeros) {
        for (uint32_t i = 0; i < count; i++)
            out[i] = (int32_t)unshifted(sums, i, &by, same, true);
    } else {
        for (uint32_t i = 0; i < count; i++)
            out[i] = (int32_t)unshifted(sums, i, &by, same, false);
    }
}

#if defined(__AVX512BW__) && defined(__AVX512VL__)
/* Sixteen; a NaN gives `low`. */
DENSE_INLINE __m128i requantized(__m512i sums, __m512 scale, const struct quotient *by, __m512i zero, __m512i low,
                                 __m512i high)
{
    __m512 value = _mm512_mul_ps(_mm512_cvtepi32_ps(sums), scale);
    __m512i number = _mm512_add_epi32(_mm512_cvtps_epi32(quotient(by, value)), zero);
    return _mm512_cvtepi32_epi8(_mm512_min_epi32(_mm512_max_epi32(number, low), high));
}

/* GCC 12 makes chains of comparisons and masks of the loop below. */
DENSE_INLINE void requantize_all(const int32_t *restrict sums, uint32_t count, const struct blocked_gemm_shift *shift,
                                 const struct blocked_gemm_requantize *how, uint8_t *restrict out, bool by_column,
                                 bool scales, bool divides)
{
    const struct quotient divisor = quotient_by(divides ? how->divisor : 1);
    const int32_t *restrict columns = shift->columns, *restrict zeros = shift->zeros;
    const float *restrict scale = how->scale;
    __m512i a_zero = _mm512_set1_epi32(shift->zero), same = _mm512_set1_epi32((int32_t)unshift_same(shift));
    __m512i row = _mm512_set1_epi32(shift->row), zero = _mm512_set1_epi32((int32_t)how->zero);
    __m512i low = _mm512_set1_epi32((int32_t)how->low), high = _mm512_set1_epi32((int32_t)how->high);
    __m512 by = _mm512_set1_ps(*scale);
    for (uint32_t i = 0; i < count; i += 16) {
        __mmask16 mask = count - i < 16 ? (__mmask16)((1u << (count - i)) - 1) : 0xffff;
        __m512i sum = _mm512_maskz_loadu_epi32(mask, sums + i);
        __m512i column = _mm512_maskz_loadu_epi32(mask, columns + i);
        sum = _mm512_add_epi32(_mm512_sub_epi32(sum, _mm512_mullo_epi32(a_zero, column)), same);
        if (by_column)
            sum = _mm512_sub_epi32(sum, _mm512_mullo_epi32(_mm512_maskz_loadu_epi32(mask, zeros + i), row));
        if (scales)
            by = _mm512_maskz_loadu_ps(mask, scale + i);
        __m128i bytes = requantized(sum, by, &divisor, zero, low, high);
        if (count - i >= 16)
            _mm_storeu_si128((__m128i *)(out + i), bytes);
        else
            _mm_mask_storeu_epi8(out + i, mask, bytes);
    }
}
#else
/* A NaN gives `low`. Numbers beyond 1024 are clamped anyway, so that adding 1.5 * 2^23 rounds to the nearest even. */
DENSE_INLINE uint8_t requantized(int32_t sum, float scale, const struct blocked_gemm_requantize *how, bool divides)
{
    float value = (float)sum * scale;
    value = divides ? value / how->divisor : value;
    value = value > -1024 ? value : -1024;
    value = value < 1024 ? value : 1024;
    value = value + 0x1.8p23f - 0x1.8p23f + how->zero;
    value = value > how->low ? value : how->low;
    value = value < how->high ? value : how->high;
    return (uint8_t)(int32_t)value;
}

DENSE_INLINE void requantize_all(const int32_t *restrict sums, uint32_t count, const struct blocked_gemm_shift *shift,
                                 const struct blocked_gemm_requantize *how, uint8_t *restrict out, bool by_column,
                                 bool scales, bool divides)
{
    const struct blocked_gemm_shift by = *shift;
    const struct blocked_gemm_requantize to = *how;
    uint32_t same = unshift_same(&by);
    for (uint32_t i = 0; i < count; i++)
        out[i] = requantized((int32_t)unshifted(sums, i, &by, same, by_column), to.scale[scales ? i : 0], &to, divides);
}
#endif

DENSE_INLINE void requantize_by(const int32_t *sums, uint32_t count, const struct blocked_gemm_shift *shift,
                                const struct blocked_gemm_requantize *how, uint8_t *out, bool divides)
{
    if (shift->zeros && how->scale_step)
        requantize_all(sums, count, shift, how, out, true, true, divides);
    else if (shift->zeros)
        requantize_all(sums, count, shift, how, out, true, false, divides);
    else if (how->scale_step)
        requantize_all(sums, count, shift, how, out, false, true, divides);
    else
        requantize_all(sums, count, shift, how, out, false, false, divides);
}

static void requantize(const int32_t *sums, uint32_t count, const struct blocked_gemm_shift *shift,
                       const struct blocked_gemm_requantize *how, uint8_t *out)
{
    if (how->divisor == 1)
        requantize_by(sums, count, shift, how, out, false);
    else
        requantize_by(sums, count, shift, how, out, true);
}

const struct blocked_gemm_integers KERN_ISA_PASTE(blocked_gemm_integers_, ISA) = { interleave, unshift, requantize,
                                                                                   row_of_bytes };
