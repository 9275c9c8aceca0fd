#include "kernels/gemm/blocked_gemm.h"

#include <immintrin.h>

#define BLOCKED_GEMM_LANES 16
#define BLOCKED_GEMM_VECS  4
#define BLOCKED_GEMM_ROWS  6
typedef int32_t number;
typedef uint32_t vec __attribute__((vector_size(64)));

DENSE_INLINE vec blocked_gemm_set(const char *from)
{
    return (vec)_mm512_set1_epi32(*(const int32_t *)from);
}

DENSE_INLINE vec blocked_gemm_get(const char *from)
{
    return (vec)_mm512_loadu_si512(from);
}

DENSE_INLINE vec blocked_gemm_add(vec sums, vec a, vec b)
{
    /* GCC 12 copies and spills the sums around the intrinsic: three times slower. */
    __asm__("vpdpbusd %2, %1, %0" : "+v"(sums) : "v"(a), "v"(b));
    return sums;
}

#include "kernels/gemm/blocked_gemm_body.h"

const struct blocked_gemm_isa blocked_gemm_int_vnni = {
    BLOCKED_GEMM_ROWS, BLOCKED_GEMM_COLUMNS, 4, sizeof(number), tile, &blocked_gemm_integers_avx512
};
