/* SPDX-License-Identifier: Apache-2.0 */
/* Quotients by multiplication in shaders (divide() in shaders/core/views.glsl) are those of the division. */
#include "shaders/core/shader_block.h"

#include "test.h"

/* As the shader computes it, in 32 bits. */
static uint32_t divide(uint32_t n, struct shader_divisor by)
{
    const uint32_t high = (uint32_t)((uint64_t)n * by.factor >> 32);
    return (high + n) >> by.shift;
}

static bool check(uint32_t n, uint32_t size)
{
    const uint32_t got = divide(n, shader_divisor(size));
    return TEST_FOR(got == n / size, "%u / %u: %u", n, size, got);
}

/* Multiples of the size and their neighbours, the largest ones above all. */
static void check_size(uint32_t size)
{
    const uint32_t quotients[] = { 0, 1, 2, 3, INT32_MAX / size / 2, INT32_MAX / size - 1, INT32_MAX / size };
    for (uint32_t i = 0; i < ARRAY_SIZE(quotients); i++)
        for (uint32_t beside = 0; beside < 3; beside++) {
            const uint64_t n = (uint64_t)quotients[i] * size + beside;
            if (n > 0 && n - 1 <= INT32_MAX && !check((uint32_t)(n - 1), size))
                return;
        }
    check(INT32_MAX, size);
}

int main(void)
{
    for (uint32_t size = 1; size <= 70000; size++)
        check_size(size);
    for (uint32_t bit = 16; bit < 31; bit++)
        for (uint32_t beside = 0; beside < 5; beside++)
            check_size((UINT32_C(1) << bit) - 2 + beside);
    check_size(INT32_MAX);
    return test_result();
}
