// SPDX-License-Identifier: Apache-2.0
/* Tiled GEMM of bytes, four at a time by integer dot products (SPV_KHR_integer_dot_product): for tile.glsl.
 * Bytes are signed: 128 is subtracted from UINT8 ones and their zero points. Zero points are not subtracted before
 * the multiplication; the sums are corrected by the sums of the factors:
 *   sum of (a - za) * (b - zb) = sum of a * b - zb * sum of a - za * sum of b + za * zb * count
 * The including shader has zero_of_a(m) and zero_of_b(n). */
#include "shaders/gemm/dot.glsl"

ivec4 a_sums, b_sums; /* of this invocation's rows and columns */
bool has_zeros;

#define ADD_FACTORS(a, b)                                                                                              \
    if (has_zeros) {                                                                                                   \
        a_sums += dot_each(ONES, a);                                                                                   \
        b_sums += dot_each(ONES, b);                                                                                   \
    }

void begin_factors()
{
    a_sums = b_sums = ivec4(0);
    has_zeros = TILE_PARAMS.a_zero >= 0 || TILE_PARAMS.b_zero >= 0 || type_of(0u) == TYPE_UINT8 ||
                type_of(1u) == TYPE_UINT8;
}

uvec2 corner();

void take_zeros_off(uint m, uint n, uint count)
{
    uvec2 from = 4u * corner() + uvec2(m, n);
    ivec4 a_zero = ivec4(0), b_zero = ivec4(0);
    if (!has_zeros)
        return;
    [[unroll]] for (uint i = 0u; i < 4u; i++) {
        a_zero[i] = zero_of_a(min(from.x + i, size_m - 1u));
        b_zero[i] = zero_of_b(min(from.y + i, size_n - 1u));
    }
    [[unroll]] for (uint i = 0u; i < SIDE; i++)
        sums[i][0] += a_zero[i] * (int(count) * b_zero - b_sums) - b_zero * a_sums[i];
}
