// SPDX-License-Identifier: Apache-2.0
/* The sums of tile_matrix.glsl where both factors were packed (tile_pack.glsl): a matrix comes from memory to where it is
 * multiplied, without shared memory and barriers. While matrices of 16 elements along k are multiplied the next ones are
 * on their way. */
#include "shaders/gemm/matrix_packed.glsl"

#define DECLARE_VECTORS(i) uvec4 a_even##i, b_even##i, a_odd##i, b_odd##i;
#define LOAD_EVEN(i)                                                                                                   \
    a_even##i = Vectors(packed).v[a_at + i * line];                                                                    \
    b_even##i = Vectors(packed).v[b_at + i * line];
#define LOAD_ODD(i)                                                                                                    \
    a_odd##i = Vectors(packed).v[a_at + i * line + 32u];                                                               \
    b_odd##i = Vectors(packed).v[b_at + i * line + 32u];
#define PLAIN_AT(i) (4u * STAGE + (i) * GROUP_SIZE)
#define UNPACK_EVEN(i)                                                                                                 \
    MatrixA a##i;                                                                                                      \
    MatrixB b##i;                                                                                                      \
    UNPACK_A(a##i, a_even##i, PLAIN_AT(2u * i))                                                                        \
    UNPACK_B(b##i, b_even##i, PLAIN_AT(2u * i + 1u))
#define UNPACK_ODD(i)                                                                                                  \
    MatrixA a##i;                                                                                                      \
    MatrixB b##i;                                                                                                      \
    UNPACK_A(a##i, a_odd##i, PLAIN_AT(2u * i))                                                                         \
    UNPACK_B(b##i, b_odd##i, PLAIN_AT(2u * i + 1u))

/* A tile is 128 x 128, a subgroup's part 64 x 64. */
void run_tile(uint m, uint n, uint first, uint end, uint part)
{
    uint subgroup = SUBGROUP_NUMBER, place = subgroup, self = gl_LocalInvocationID.x % 32u;
    uint from_m = SIDE * BLOCKS_M * (place % GROUPS_M), from_n = SIDE * BLOCKS_N * (place / GROUPS_M);
    uint lines_m = TILE_PARAMS.tiles_m * (TILE_M / SIDE), lines_n = TILE_PARAMS.tiles_n * (TILE_N / SIDE);
    uint steps = (end + 63u) / 64u * 4u, line = steps * 32u;
    uint a_at = (part * lines_m + (m + from_m) / SIDE) * line + self;
    uint b_at = (TILE_PARAMS.batches * lines_m + part * lines_n + (n + from_n) / SIDE) * line + self;
    uvec2 packed = scratch_at(0u);
    EACH(DECLARE_VECTORS)
    EACH_PAIR(DECLARE_SUM)
    EACH_PAIR(CLEAR_SUM)
    EACH(LOAD_EVEN)
    if (WIDE_Y) {
        read_operands();
        read_c();
    }
    [[dont_unroll]] for (uint k = 0u; k < steps; k += 2u) {
        EACH(LOAD_ODD)
        {
            EACH(UNPACK_EVEN)
            EACH_PAIR(MULTIPLY)
        }
        uint move = k + 2u < steps ? 64u : 0u;
        a_at += move;
        b_at += move;
        EACH(LOAD_EVEN)
        {
            EACH(UNPACK_ODD)
            EACH_PAIR(MULTIPLY)
        }
    }
    EACH(STORE_ROW)
    barrier();
}
