#include "kernels/gemm/blocked_gemm.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#define BLOCKED_GEMM_LANES 4
#if defined(__aarch64__) /* twice the registers */
#define BLOCKED_GEMM_VECS 4
#define BLOCKED_GEMM_ROWS 6
#else
#define BLOCKED_GEMM_VECS 2
#define BLOCKED_GEMM_ROWS 4
#endif
typedef int32_t number;
typedef uint32_t vec __attribute__((vector_size(16)));
typedef int16_t pairs __attribute__((vector_size(16)));

DENSE_INLINE vec blocked_gemm_get(const char *from)
{
    vec value;
    memcpy(&value, from, sizeof(value));
    return value;
}

DENSE_INLINE vec blocked_gemm_set(const char *from)
{
    uint32_t value;
    memcpy(&value, from, sizeof(value));
    return (vec){ value, value, value, value };
}

DENSE_INLINE vec blocked_gemm_add(vec sums, vec a, vec b)
{
#if defined(__SSE2__)
    return sums + (vec)_mm_madd_epi16((__m128i)a, (__m128i)b);
#elif defined(__aarch64__)
    int16x8_t x = (int16x8_t)a, y = (int16x8_t)b;
    int32x4_t low = vmull_s16(vget_low_s16(x), vget_low_s16(y));
    return sums + (vec)vpaddq_s32(low, vmull_high_s16(x, y));
#else
    pairs x = (pairs)a, y = (pairs)b;
    for (uint32_t i = 0; i < BLOCKED_GEMM_LANES; i++)
        sums[i] += (uint32_t)(x[2 * i] * y[2 * i]) + (uint32_t)(x[2 * i + 1] * y[2 * i + 1]);
    return sums;
#endif
}

#include "kernels/gemm/blocked_gemm_body.h"

const struct blocked_gemm_isa blocked_gemm_int_portable = {
    BLOCKED_GEMM_ROWS, BLOCKED_GEMM_COLUMNS, 2, sizeof(number), tile, &blocked_gemm_integers_portable
};
