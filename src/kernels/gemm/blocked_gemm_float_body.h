/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles of floating-point numbers for the instruction set of the including file, which defines `number` before (float
 * or double). */
#include "kernels/core/isa.h"
#include "kernels/gemm/blocked_gemm.h"

#if defined(ISA_PORTABLE) /* the processor may lack fused operations */
#elif defined(__aarch64__)
#include <arm_neon.h>
#else
#include <immintrin.h>
#endif

#if defined(__AVX512F__)
#define BLOCKED_GEMM_VECTOR 64
#define BLOCKED_GEMM_VECS   4
#define BLOCKED_GEMM_ROWS   6
#elif defined(__AVX2__)
#define BLOCKED_GEMM_VECTOR 32
#define BLOCKED_GEMM_VECS   2
#define BLOCKED_GEMM_ROWS   6
#elif defined(__aarch64__) /* twice the registers */
#define BLOCKED_GEMM_VECTOR 16
#define BLOCKED_GEMM_VECS   4
#define BLOCKED_GEMM_ROWS   6
#else
#define BLOCKED_GEMM_VECTOR 16
#define BLOCKED_GEMM_VECS   2
#define BLOCKED_GEMM_ROWS   4
#endif
#define BLOCKED_GEMM_LANES (BLOCKED_GEMM_VECTOR / (int)sizeof(number))
typedef number vec __attribute__((vector_size(BLOCKED_GEMM_VECTOR)));

DENSE_INLINE vec blocked_gemm_set(const char *from)
{
    return *(const number *)from - (vec){ 0 };
}

DENSE_INLINE vec blocked_gemm_get(const char *from)
{
    vec value;
    memcpy(&value, from, sizeof(value));
    return value;
}

DENSE_INLINE vec blocked_gemm_add(vec sums, vec a, vec b)
{
#if defined(ISA_PORTABLE)
    return sums + a * b;
#elif defined(__AVX512F__)
    return _Generic((number)0, float : _mm512_fmadd_ps, double : _mm512_fmadd_pd)(a, b, sums);
#elif defined(__AVX2__)
    return _Generic((number)0, float : _mm256_fmadd_ps, double : _mm256_fmadd_pd)(a, b, sums);
#else
    return _Generic((number)0, float : vfmaq_f32, double : vfmaq_f64)(sums, a, b);
#endif
}

#include "kernels/gemm/blocked_gemm_body.h"

#define BLOCKED_GEMM_FLOAT_ISA                                                                                         \
    {                                                                                                                  \
        BLOCKED_GEMM_ROWS, BLOCKED_GEMM_COLUMNS, 1, sizeof(number), tile, NULL                                         \
    }
