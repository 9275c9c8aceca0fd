/* The row by row work of integer products, compiled for each instruction set: words from lines of bytes, and what
 * becomes of sums. */
#include "kernels/product.h"

static __attribute__((unused)) void weave_bytes(const uint8_t *const *lines, uint64_t count, uint8_t flip,
                                                bool is_signed, void *words)
{
    const uint8_t *restrict a = lines[0], *restrict b = lines[1], *restrict c = lines[2], *restrict d = lines[3];
    uint8_t *restrict out = words;
    (void)is_signed;
    for (uint64_t i = 0; i < count; i++) {
        out[4 * i] = a[i] ^ flip;
        out[4 * i + 1] = b[i] ^ flip;
        out[4 * i + 2] = c[i] ^ flip;
        out[4 * i + 3] = d[i] ^ flip;
    }
}

static __attribute__((unused)) void weave_pairs(const uint8_t *const *lines, uint64_t count, uint8_t flip,
                                                bool is_signed, void *words)
{
    const uint8_t *restrict a = lines[0], *restrict b = lines[1];
    int16_t *restrict out = words;
    (void)flip;
    for (uint64_t i = 0; is_signed && i < count; i++) {
        out[2 * i] = (int8_t)a[i];
        out[2 * i + 1] = (int8_t)b[i];
    }
    for (uint64_t i = 0; !is_signed && i < count; i++) {
        out[2 * i] = a[i];
        out[2 * i + 1] = b[i];
    }
}

DENSE_INLINE uint32_t unshifted(const int32_t *sums, uint32_t i, const struct product_shift *shift, uint32_t same,
                                bool by_column)
{
    uint32_t sum = (uint32_t)sums[i] - (uint32_t)shift->zero * (uint32_t)shift->columns[i] + same;
    return by_column ? sum - (uint32_t)shift->zeros[i] * (uint32_t)shift->row : sum;
}

/* What is the same for all columns. */
static uint32_t unshift_same(const struct product_shift *shift)
{
    return (uint32_t)shift->plus - (shift->zeros ? 0 : (uint32_t)shift->zero_all * (uint32_t)shift->row);
}

static void unshift(const int32_t *sums, uint32_t count, const struct product_shift *shift, int32_t *out)
{
    const struct product_shift by = *shift; /* a copy that `out` cannot overlap */
    uint32_t same = unshift_same(&by);
    if (by.zeros) {
        for (uint32_t i = 0; i < count; i++)
            out[i] = (int32_t)unshifted(sums, i, &by, same, true);
    } else {
        for (uint32_t i = 0; i < count; i++)
            out[i] = (int32_t)unshifted(sums, i, &by, same, false);
    }
}

/* A NaN gives `low`. Numbers beyond 1024 are clamped anyway, so that adding 1.5 * 2^23 rounds to the nearest even. */
DENSE_INLINE uint8_t requantized(int32_t sum, float scale, const struct product_requantize *how)
{
    float value = (float)sum * scale;
    value = value > -1024 ? value : -1024;
    value = value < 1024 ? value : 1024;
    value = value + 0x1.8p23f - 0x1.8p23f + how->zero;
    value = value > how->low ? value : how->low;
    value = value < how->high ? value : how->high;
    return (uint8_t)(int32_t)value;
}

DENSE_INLINE void requantize_all(const int32_t *restrict sums, uint32_t count, const struct product_shift *shift,
                                 const struct product_requantize *how, uint8_t *restrict out, bool by_column,
                                 bool scales)
{
    const struct product_shift by = *shift;
    const struct product_requantize to = *how;
    uint32_t same = unshift_same(&by);
    for (uint32_t i = 0; i < count; i++)
        out[i] = requantized((int32_t)unshifted(sums, i, &by, same, by_column), to.scale[scales ? i : 0], &to);
}

static void requantize(const int32_t *sums, uint32_t count, const struct product_shift *shift,
                       const struct product_requantize *how, uint8_t *out)
{
    if (shift->zeros && how->scale_step)
        requantize_all(sums, count, shift, how, out, true, true);
    else if (shift->zeros)
        requantize_all(sums, count, shift, how, out, true, false);
    else if (how->scale_step)
        requantize_all(sums, count, shift, how, out, false, true);
    else
        requantize_all(sums, count, shift, how, out, false, false);
}
