/* Tiles of floating-point numbers for the instruction set of the including file, which defines before: ISA, `number`
 * (float or double) and, when the processor may lack fused operations, PRODUCT_UNFUSED. */
#include "kernels/isa.h"
#include "kernels/product.h"

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

/* The compilers make one instruction of the fused operations of all lanes. */
DENSE_INLINE vec product_add(vec sums, vec a, vec b)
{
#if defined(PRODUCT_UNFUSED)
    return sums + a * b;
#else
    for (int i = 0; i < PRODUCT_LANES; i++)
        sums[i] = _Generic(sums[i], float : __builtin_fmaf, double : __builtin_fma)(a[i], b[i], sums[i]);
    return sums;
#endif
}

#include "kernels/product_body.h"

#define PRODUCT_FLOAT_ISA                                                                                              \
    {                                                                                                                  \
        PRODUCT_ROWS, PRODUCT_COLUMNS, 1, sizeof(number), tile, NULL                                                   \
    }
