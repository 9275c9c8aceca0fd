/* SPDX-License-Identifier: Apache-2.0 */
/* The final step of 8-bit convolutions (struct conv_bytes) with VNNI: requantises sums in registers. */
#ifndef KERNELS_CONV_BYTES_FINISH_H
#define KERNELS_CONV_BYTES_FINISH_H

#include "kernels/conv/conv_plans.h"
#include "kernels/gemm/blocked_gemm.h"
#include "kernels/gemm/quotient.h"

/* MULTIPLY: no divisor. BY_INVERSE: quotients are less than half of the sums, so they all fit. */
enum scaling { MULTIPLY, BY_INVERSE, DIVIDE };

/* Signed results are computed with an offset of 128, which is removed at the end by flipping the sign bit. */
struct finish {
    __m512i zero, low, high, sign_bit;
    struct quotient by;
    enum scaling scaling;
};

/* largest: of all scales. */
DENSE_INLINE struct finish finish_of(const struct kern_call *call, const struct conv_bytes *c, float largest)
{
    static const uint32_t first[KERN_RANK_MAX];
    bool is_signed = call->op->tensors[call->op->input_count].type == DML_TENSOR_DATA_TYPE_INT8;
    int plus = is_signed ? 128 : 0;
    int zero = c->how.zero ? gemm_zero(call, true, c->how.zero, first) : 0;
    float divisor = blocked_gemm_divisor(call, &c->how, first);
    struct quotient by = quotient_by(divisor);
    enum scaling scaling = !by.divides ? MULTIPLY : by.usual && largest < divisor / 2 ? BY_INVERSE : DIVIDE;
    return (struct finish){ _mm512_set1_epi16((short)(zero + plus)),
                            _mm512_set1_epi8((char)((int)c->how.low + plus)),
                            _mm512_set1_epi8((char)((int)c->how.high + plus)),
                            _mm512_set1_epi8((char)(is_signed ? 0x80 : 0)),
                            by,
                            scaling };
}

/* Sums that do not fit INT32 after scaling become its minimum, like NaN. */
DENSE_INLINE __m512i scaled(__m512i sums, __m512 scale, const struct quotient *by, enum scaling scaling)
{
    __m512 value = _mm512_mul_ps(_mm512_cvtepi32_ps(sums), scale);
    if (scaling == BY_INVERSE)
        return _mm512_cvtps_epi32(quotient_by_inverse(by, value));
    if (scaling == DIVIDE)
        value = _mm512_div_ps(value, by->divisor);
    return _mm512_cvtps_epi32(_mm512_min_ps(_mm512_set1_ps(0x1p30f), value));
}

/* Of 64 numbers; lane by lane four of each vector. */
DENSE_INLINE __m512i finished(const struct finish *f, __m512i a, __m512i b, __m512i c, __m512i d)
{
    __m512i low = _mm512_adds_epi16(_mm512_packs_epi32(a, b), f->zero);
    __m512i high = _mm512_adds_epi16(_mm512_packs_epi32(c, d), f->zero);
    __m512i bytes = _mm512_packus_epi16(low, high);
    return _mm512_xor_si512(_mm512_min_epu8(_mm512_max_epu8(bytes, f->low), f->high), f->sign_bit);
}

DENSE_INLINE __m512i multiply_add(__m512i sums, __m512i x, __m512i w)
{
    /* GCC 12 copies and spills the sums around the intrinsic. */
    __asm__("vpdpbusd %2, %1, %0" : "+v"(sums) : "v"(x), "v"(w));
    return sums;
}

/* 64 numbers of adjacent channels as bytes, where the mask is set. */
DENSE_INLINE void finished_store(const struct finish *f, const __m512i *number, uint64_t mask, uint8_t *y)
{
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    __m512i bytes = _mm512_permutexvar_epi32(order, finished(f, number[0], number[1], number[2], number[3]));
    _mm512_mask_storeu_epi8(y, mask, bytes);
}

#endif
