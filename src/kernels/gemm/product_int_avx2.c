#include "kernels/gemm/product_weave.h"

#include <immintrin.h>

#define PRODUCT_LANES 8
#define PRODUCT_VECS  2
#define PRODUCT_ROWS  6
typedef int32_t number;
typedef uint32_t vec __attribute__((vector_size(32)));

DENSE_INLINE vec product_set(const char *from)
{
    return (vec)_mm256_set1_epi32(*(const int32_t *)from);
}

DENSE_INLINE vec product_get(const char *from)
{
    return (vec)_mm256_loadu_si256((const __m256i *)from);
}

DENSE_INLINE vec product_add(vec sums, vec a, vec b)
{
    return sums + (vec)_mm256_madd_epi16((__m256i)a, (__m256i)b);
}

#include "kernels/gemm/product_body.h"

static const struct product_integers integers = { weave_pairs, unshift, requantize, NULL };

const struct product_isa product_int_avx2 = { PRODUCT_ROWS, PRODUCT_COLUMNS, 2, sizeof(number), tile, &integers };
