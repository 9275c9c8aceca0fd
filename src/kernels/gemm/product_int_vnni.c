#include "kernels/gemm/product_weave.h"

#include <immintrin.h>

#define PRODUCT_LANES 16
#define PRODUCT_VECS  4
#define PRODUCT_ROWS  6
typedef int32_t number;
typedef uint32_t vec __attribute__((vector_size(64)));

DENSE_INLINE vec product_set(const char *from)
{
    return (vec)_mm512_set1_epi32(*(const int32_t *)from);
}

DENSE_INLINE vec product_get(const char *from)
{
    return (vec)_mm512_loadu_si512(from);
}

DENSE_INLINE vec product_add(vec sums, vec a, vec b)
{
    /* GCC 12 copies and spills the sums around the intrinsic: three times slower. */
    __asm__("vpdpbusd %2, %1, %0" : "+v"(sums) : "v"(a), "v"(b));
    return sums;
}

#include "kernels/gemm/product_body.h"

static const struct product_integers integers = { weave_bytes, unshift, requantize, row_of_bytes };

const struct product_isa product_int_vnni = { PRODUCT_ROWS, PRODUCT_COLUMNS, 4, sizeof(number), tile, &integers };
