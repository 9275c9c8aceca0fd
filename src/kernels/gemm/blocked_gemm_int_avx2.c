#include "kernels/gemm/blocked_gemm.h"

#include <immintrin.h>

#define BLOCKED_GEMM_LANES 8
#define BLOCKED_GEMM_VECS  2
#define BLOCKED_GEMM_ROWS  6
typedef int32_t number;
typedef uint32_t vec __attribute__((vector_size(32)));

DENSE_INLINE vec blocked_gemm_set(const char *from)
{
    return (vec)_mm256_set1_epi32(*(const int32_t *)from);
}

DENSE_INLINE vec blocked_gemm_get(const char *from)
{
    return (vec)_mm256_loadu_si256((const __m256i *)from);
}

DENSE_INLINE vec blocked_gemm_add(vec sums, vec a, vec b)
{
    return sums + (vec)_mm256_madd_epi16((__m256i)a, (__m256i)b);
}

#include "kernels/gemm/blocked_gemm_body.h"

const struct blocked_gemm_isa blocked_gemm_int_avx2 = {
    BLOCKED_GEMM_ROWS, BLOCKED_GEMM_COLUMNS, 2, sizeof(number), tile, &blocked_gemm_integers_avx2
};
