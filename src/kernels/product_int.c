#include "kernels/product_weave.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#define PRODUCT_LANES 4
#define PRODUCT_VECS  2
#define PRODUCT_ROWS  4
typedef int32_t number;
typedef uint32_t vec __attribute__((vector_size(16)));
typedef int16_t pairs __attribute__((vector_size(16)));

DENSE_INLINE vec product_get(const char *from)
{
    vec value;
    memcpy(&value, from, sizeof(value));
    return value;
}

DENSE_INLINE vec product_set(const char *from)
{
    uint32_t value;
    memcpy(&value, from, sizeof(value));
    return (vec){ value, value, value, value };
}

DENSE_INLINE vec product_add(vec sums, vec a, vec b)
{
#if defined(__SSE2__)
    return sums + (vec)_mm_madd_epi16((__m128i)a, (__m128i)b);
#else
    pairs x = (pairs)a, y = (pairs)b;
    for (uint32_t i = 0; i < PRODUCT_LANES; i++)
        sums[i] += (uint32_t)(x[2 * i] * y[2 * i]) + (uint32_t)(x[2 * i + 1] * y[2 * i + 1]);
    return sums;
#endif
}

#include "kernels/product_body.h"

static const struct product_integers integers = { weave_pairs, unshift, requantize };

const struct product_isa product_int = { PRODUCT_ROWS, PRODUCT_COLUMNS, 2, sizeof(number), tile, &integers };
