/* SPDX-License-Identifier: Apache-2.0 */
/* Requantised sums are what the division gives, rounded: next to midpoints of halves and their neighbours, for the
 * divisors with which a reciprocal comes nearest to failing (kernels/quotient.h), and for divisors out of the usual. */
#include "base/cpu.h"
#include "kernels/gemm/blocked_gemm.h"

#include "test.h"

#include <math.h>

enum { ROW = 3 * 2 * 256 };

static uint8_t divided(int32_t sum, float divisor)
{
    float value = rintf((float)sum / divisor);
    return (uint8_t)(value >= 0 ? (value < 255 ? value : 255) : 0); /* NaN: 0 */
}

static void check_row(const struct blocked_gemm_integers *isa, const int32_t *sums, uint32_t count, float divisor)
{
    static const int32_t columns[ROW];
    static const float one = 1;
    const struct blocked_gemm_shift shift = { .columns = columns };
    const struct blocked_gemm_requantize how = { .scale = &one, .divisor = divisor, .high = 255 };
    uint8_t out[ROW];
    memset(out, 0xaa, sizeof(out));
    isa->requantize(sums, count, &shift, &how, out);
    for (uint32_t i = 0; i < count; i++)
        if (!TEST_FOR(out[i] == divided(sums[i], divisor), "%d / %a: %u", sums[i], (double)divisor, out[i]))
            return;
}

/* Sums of 24 bits next to divisor * (half +- half a unit in its last place), as far as there are such: of
 * divisors with this mantissa. */
static void check_halves(const struct blocked_gemm_integers *isa, uint32_t mantissa)
{
    int32_t sums[ROW];
    for (int exponent = 0; exponent < 8; exponent++) {
        const float divisor = ldexpf((float)mantissa, -exponent);
        uint32_t count = 0;
        for (uint32_t twice = 1; twice < 512 && count + 6 <= ROW; twice += 2) {
            const float half = (float)twice / 2;
            for (int side = 0; side < 2; side++) {
                double c = ((double)half + nextafterf(half, side ? INFINITY : 0)) / 2;
                float a = (float)(c * divisor);
                if (a < 0x1p23f || a >= 0x1p25f)
                    continue;
                sums[count++] = (int32_t)nextafterf(a, 0);
                sums[count++] = (int32_t)a;
                sums[count++] = (int32_t)nextafterf(a, INFINITY);
            }
        }
        if (count)
            check_row(isa, sums, count, divisor);
    }
}

static void check_isa(const struct blocked_gemm_integers *isa)
{
    static const float odd[] = { 0,        -0.0f,    INFINITY, -INFINITY, NAN,      -3,   0x1p-149f, 0x1p-126f,
                                 0x1p-61f, 0x1p-60f, 0x1p60f,  0x1p61f,   0x1p127f, 0.3f, 1,         7e-20f };
    static const int32_t sums[] = {
        0, 1, -1, 2, 3, 100, -100, 255, 300, 765, 1 << 20, INT32_MAX, INT32_MIN, -7, 9, 5, 8
    };
    for (uint32_t i = 0; i < ARRAY_SIZE(odd); i++)
        check_row(isa, sums, ARRAY_SIZE(sums), odd[i]);
    for (uint32_t top = 512; top <= 1024; top++)
        for (int32_t low = -5; low <= 5; low++) {
            uint32_t mantissa = (top << 14) + (uint32_t)low;
            if (mantissa >= 1u << 23 && mantissa < 1u << 24)
                check_halves(isa, mantissa);
        }
}

int main(void)
{
    check_isa(&blocked_gemm_integers_portable);
#if defined(__x86_64__)
    if (base_cpu_flags() & BASE_CPU_AVX2)
        check_isa(&blocked_gemm_integers_avx2);
    if (base_cpu_flags() & BASE_CPU_AVX512_VNNI)
        check_isa(&blocked_gemm_integers_avx512);
#endif
    return test_result();
}
