#include "kernels/product.h"

#include <immintrin.h>

#define PRODUCT_LANES 4
#define PRODUCT_VECS  2
#define PRODUCT_ROWS  6
typedef double number;
typedef __m256d vec;

DENSE_INLINE vec product_set(const char *from)
{
    return _mm256_set1_pd(*(const double *)from);
}

DENSE_INLINE vec product_get(const char *from)
{
    return _mm256_loadu_pd((const double *)from);
}

DENSE_INLINE vec product_add(vec sums, vec a, vec b)
{
    return _mm256_fmadd_pd(a, b, sums);
}

#include "kernels/product_body.h"

const struct product_isa product_f64_avx2 = { PRODUCT_ROWS, PRODUCT_COLUMNS, 1, sizeof(number), tile, NULL };
