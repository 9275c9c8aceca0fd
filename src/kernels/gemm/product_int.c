#include "kernels/gemm/product_weave.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#define PRODUCT_LANES 4
#if defined(__aarch64__) /* twice the registers */
#define PRODUCT_VECS 4
#define PRODUCT_ROWS 6
#else
#define PRODUCT_VECS 2
#define PRODUCT_ROWS 4
#endif
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
#elif defined(__aarch64__)
    int16x8_t x = (int16x8_t)a, y = (int16x8_t)b;
    int32x4_t low = vmull_s16(vget_low_s16(x), vget_low_s16(y));
    return sums + (vec)vpaddq_s32(low, vmull_high_s16(x, y));
#else
    pairs x = (pairs)a, y = (pairs)b;
    for (uint32_t i = 0; i < PRODUCT_LANES; i++)
        sums[i] += (uint32_t)(x[2 * i] * y[2 * i]) + (uint32_t)(x[2 * i + 1] * y[2 * i + 1]);
    return sums;
#endif
}

#include "kernels/gemm/product_body.h"

static const struct product_integers integers = { weave_pairs, unshift, requantize, NULL };

const struct product_isa product_int_portable = { PRODUCT_ROWS, PRODUCT_COLUMNS, 2, sizeof(number), tile, &integers };
