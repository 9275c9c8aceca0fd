// SPDX-License-Identifier: Apache-2.0
/* 8-bit GEMM in blocks (gemm_block.comp), four at a time by integer dot products: bytes are signed and zero points are
 * subtracted from the sums as in tile_dot.glsl. If several groups share results, one subtracts the term of the
 * count. */
#include "shaders/gemm/dot.glsl"

ivec4 a_sums[QUADS_M], b_sums[QUADS_N]; /* of this invocation's rows and columns */
bool has_zeros;

#define ADD_FACTORS(a, b)                                                                                              \
    if (has_zeros) {                                                                                                   \
        [[unroll]] for (uint i = 0u; i < QUADS_M; i++)                                                                 \
            a_sums[i] += dot_each(ONES, a[i]);                                                                         \
        [[unroll]] for (uint j = 0u; j < QUADS_N; j++)                                                                 \
            b_sums[j] += dot_each(ONES, b[j]);                                                                         \
    }

int zero_point(int tensor, uint from_last, uint i)
{
    uint t = uint(max(tensor, 0));
    int at = int(i) * view(t).strides[view(t).rank - from_last];
    return tensor < 0 ? 0 : load_number(type_of(t), address_of(t), at);
}

void begin_factors()
{
    [[unroll]] for (uint i = 0u; i < QUADS_M; i++)
        a_sums[i] = ivec4(0);
    [[unroll]] for (uint j = 0u; j < QUADS_N; j++)
        b_sums[j] = ivec4(0);
    has_zeros = params.a_zero >= 0 || params.b_zero >= 0 || a_type == TYPE_UINT8 || b_type == TYPE_UINT8;
}

void take_zeros_off(uint m, uint n, uint count)
{
    if (!has_zeros)
        return;
    int of_count = own_group == 0u ? int(count) : 0;
    [[unroll]] for (uint j = 0u; j < QUADS_N; j++) {
        ivec4 b_zero;
        [[unroll]] for (uint e = 0u; e < 4u; e++)
            b_zero[e] = zero_point(params.b_zero, 1u, min(n + 4u * (corner.y + COLUMNS * j) + e, size_n - 1u)) +
                        bias_of(b_type);
        [[unroll]] for (uint i = 0u; i < SIDE_M; i++) {
            uint row = min(m + 4u * (corner.x + ROWS * (i >> 2)) + (i & 3u), size_m - 1u);
            int a_zero = zero_point(params.a_zero, 2u, row) + bias_of(a_type);
            sums[i][j] += a_zero * (of_count * b_zero - b_sums[j]) - b_zero * a_sums[i >> 2][i & 3u];
        }
    }
}
