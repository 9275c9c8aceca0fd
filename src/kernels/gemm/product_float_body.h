/* Tiles of floating-point numbers for the instruction set of the including file, which defines before: ISA, `number`
 * (float or double) and, when the processor may lack fused operations, PRODUCT_UNFUSED. */
#include "kernels/core/isa.h"
#include "kernels/gemm/product.h"

#if defined(PRODUCT_UNFUSED)
#elif defined(__aarch64__)
#include <arm_neon.h>
#else
#include <immintrin.h>
#endif

#if defined(__AVX512F__)
#define PRODUCT_VECTOR 64
#define PRODUCT_VECS   4
#define PRODUCT_ROWS   6
#elif defined(__AVX2__)
#define PRODUCT_VECTOR 32
#define PRODUCT_VECS   2
#define PRODUCT_ROWS   6
#elif defined(__aarch64__) /* twice the registers */
#define PRODUCT_VECTOR 16
#define PRODUCT_VECS   4
#define PRODUCT_ROWS   6
#else
#define PRODUCT_VECTOR 16
#define PRODUCT_VECS   2
#define PRODUCT_ROWS   4
#endif
#define PRODUCT_LANES (PRODUCT_VECTOR / (int)sizeof(number))
typedef number vec __attribute__((vector_size(PRODUCT_VECTOR)));

DENSE_INLINE vec product_set(const char *from)
{
    return *(const number *)from - (vec){ 0 };
}

DENSE_INLINE vec product_get(const char *from)
{
    vec value;
    memcpy(&value, from, sizeof(value));
    return value;
}

DENSE_INLINE vec product_add(vec sums, vec a, vec b)
{
#if defined(PRODUCT_UNFUSED)
    return sums + a * b;
#elif defined(__AVX512F__)
    return _Generic((number)0, float : _mm512_fmadd_ps, double : _mm512_fmadd_pd)(a, b, sums);
#elif defined(__AVX2__)
    return _Generic((number)0, float : _mm256_fmadd_ps, double : _mm256_fmadd_pd)(a, b, sums);
#else
    return _Generic((number)0, float : vfmaq_f32, double : vfmaq_f64)(sums, a, b);
#endif
}

#include "kernels/gemm/product_body.h"

#define PRODUCT_FLOAT_ISA                                                                                              \
    {                                                                                                                  \
        PRODUCT_ROWS, PRODUCT_COLUMNS, 1, sizeof(number), tile, NULL                                                   \
    }
