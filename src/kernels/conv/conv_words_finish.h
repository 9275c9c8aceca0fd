/* SPDX-License-Identifier: Apache-2.0 */
/* The final step of 8-bit convolutions (struct conv_bytes) with AVX2: requantises sums in registers. */
#ifndef KERNELS_CONV_WORDS_FINISH_H
#define KERNELS_CONV_WORDS_FINISH_H

#include "kernels/conv/conv_plans.h"
#include "kernels/gemm/blocked_gemm.h"
#include "kernels/gemm/gemm.h"

#include <immintrin.h>

/* Signed results are computed with an offset of 128, which is removed at the end by flipping the sign bit. */
struct finish {
    __m256 divisor, inverse, rest; /* inverse + rest: 1 / divisor */
    __m256i zero;
    __m128i low, high, sign_bit;
    bool divides, by_inverse;
};

/* largest: of all scales. The same cases as with VNNI (conv_bytes_finish.h, gemm/quotient.h). */
static struct finish finish_of(const struct kern_call *call, const struct conv_bytes *c, float largest)
{
    static const uint32_t first[KERN_RANK_MAX];
    const bool is_signed = call->op->tensors[call->op->input_count].type == DML_TENSOR_DATA_TYPE_INT8;
    const int plus = is_signed ? 128 : 0, zero = c->how.zero ? gemm_zero(call, true, c->how.zero, first) : 0;
    const float divisor = blocked_gemm_divisor(call, &c->how, first), inverse = 1.0f / divisor;
    const bool usual = divisor > 0x1p-60f && divisor < 0x1p60f;
    return (struct finish){ _mm256_set1_ps(divisor),
                            _mm256_set1_ps(inverse),
                            _mm256_set1_ps((float)(1.0 / divisor - inverse)),
                            _mm256_set1_epi16((short)(zero + plus)),
                            _mm_set1_epi8((char)((int)c->how.low + plus)),
                            _mm_set1_epi8((char)((int)c->how.high + plus)),
                            _mm_set1_epi8((char)(is_signed ? 0x80 : 0)),
                            divisor != 1,
                            usual && largest < divisor / 2 };
}

/* Sums that do not fit INT32 after scaling become its minimum, like NaN. */
DENSE_INLINE __m256i scaled(const struct finish *f, __m256i sums, __m256 scale)
{
    __m256 value = _mm256_mul_ps(_mm256_cvtepi32_ps(sums), scale);
    if (f->divides && f->by_inverse)
        return _mm256_cvtps_epi32(_mm256_fmadd_ps(value, f->inverse, _mm256_mul_ps(value, f->rest)));
    if (f->divides)
        value = _mm256_div_ps(value, f->divisor);
    return _mm256_cvtps_epi32(_mm256_min_ps(_mm256_set1_ps(0x1p30f), value));
}

/* Sixteen adjacent channels, of which `used` are stored. */
DENSE_INLINE void finished_store(const struct finish *f, const __m256i *sums, const float *scale, uint32_t used,
                                 uint8_t *y)
{
    const __m256i a = scaled(f, sums[0], _mm256_loadu_ps(scale));
    const __m256i b = scaled(f, sums[1], _mm256_loadu_ps(scale + 8));
    const __m256i words = _mm256_adds_epi16(_mm256_packs_epi32(a, b), f->zero); /* lane by lane four of each */
    const __m128i mixed = _mm_packus_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
    __m128i bytes = _mm_shuffle_epi32(mixed, 0xd8);
    bytes = _mm_xor_si128(_mm_min_epu8(_mm_max_epu8(bytes, f->low), f->high), f->sign_bit);
    if (used == CONV_BYTES_LANES) {
        _mm_storeu_si128((__m128i *)y, bytes);
    } else {
        uint8_t some[CONV_BYTES_LANES];
        _mm_storeu_si128((__m128i *)some, bytes);
        memcpy(y, some, used);
    }
}

#endif
