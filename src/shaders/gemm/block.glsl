// SPDX-License-Identifier: Apache-2.0
/* Register blocking of tiled GEMM: a workgroup computes TILE_M x TILE_N results, an invocation SIDE_M x SIDE_N of them;
 * GROUPS of invocations share the results and sum a part of each tile along k. The including shader stores the factors
 * to `tiles`, and has, like store_four(), the functions that tile_run.glsl needs. */
layout(constant_id = 2) const uint TILE = 64u << 16 | 64u;                        /* along n, and m */
layout(constant_id = 3) const uint SHAPE = 4u << 24 | 4u << 16 | 1u << 8 | 16u;   /* SIDE_N, SIDE_M, GROUPS, DEPTH */
layout(constant_id = 4) const uint FLAGS = GEMM_BLOCK_A_ALONG_K;
layout(constant_id = GROUP_SIZE_ID) const uint INVOCATIONS = 256;

#define TILE_M    (TILE & 0xffffu)
#define TILE_N    (TILE >> 16)
#define DEPTH     (SHAPE & 255u)
#define GROUPS    (SHAPE >> 8 & 255u)
#define SIDE_M    (SHAPE >> 16 & 255u)
#define SIDE_N    (SHAPE >> 24)
#define A_ALONG_K (FLAGS & GEMM_BLOCK_A_ALONG_K)
#define B_ALONG_K (FLAGS >> 1 & 1u)
#define WHOLE     ((FLAGS & GEMM_BLOCK_WHOLE) != 0u)
#define WIDE_Y    ((FLAGS & GEMM_BLOCK_WIDE_Y) != 0u)

#define ROWS     (TILE_M / SIDE_M) /* of invocations */
#define COLUMNS  (TILE_N / SIDE_N)
#define OF_GROUP (ROWS * COLUMNS)
#define QUADS_M  (SIDE_M / 4u)
#define QUADS_N  (SIDE_N / 4u)

/* For each k of a tile its elements in groups of four. For a factor whose vectors are along k, four stores write the
 * elements of one to four lines, whose distance is one vector more than their length: neighbours use different
 * banks. */
#define STRIDE_A (TILE_M / 4u + A_ALONG_K)
#define STRIDE_B (TILE_N / 4u + B_ALONG_K)
#define TILE_B   (DEPTH * STRIDE_A) /* start of the tile of B */
#define STAGE    (DEPTH * (STRIDE_A + STRIDE_B))
#define LINE     (INVOCATIONS * QUADS_N) /* staged sums: a line of each invocation, for ROUND lines at a time */
#define ROUND    (STAGE >= 4u * LINE ? 4u : STAGE >= 2u * LINE ? 2u : 1u)
shared NUMBER4 tiles[STAGE > LINE ? STAGE : LINE];

#include "shaders/gemm/tile_run.glsl"

/* Of this invocation: its group, and its index among the rows and columns of it. */
uint own_group;
uvec2 corner;

NUMBER4 sums[SIDE_M][QUADS_N];

/* Stores four adjacent results along n, those that exist. */
void store_four(uint m, uint n, uint part, NUMBER4 value);

void clear_sums()
{
    [[unroll]] for (uint i = 0u; i < SIDE_M; i++)
        [[unroll]] for (uint j = 0u; j < QUADS_N; j++)
            sums[i][j] = NUMBER4(0);
}

/* Rows and columns of an invocation are interleaved groups of four. 32 consecutive invocations are 4 rows of 8,
 * neighbours being two of a column: what eight of them load has no bank conflicts. */
void find_corner()
{
    uint i = gl_LocalInvocationID.x % OF_GROUP, block = i >> 5, lane = i & 31u;
    own_group = gl_LocalInvocationID.x / OF_GROUP;
    corner = uvec2((lane & 1u | lane >> 4 << 1) + 4u * (block % (ROWS / 4u)),
                   (lane >> 1 & 7u) + 8u * (block / (ROWS / 4u)));
}

#ifdef TILE_DOT
#include "shaders/gemm/block_dot.glsl"
#else
#define MULTIPLY_ADD(a, b, sum) fma(vec4(a), b, sum)
#define ADD_FACTORS(a, b)
#endif

void multiply()
{
    uint first = own_group * (DEPTH / GROUPS), a_from = first * STRIDE_A + corner.x;
    uint b_from = TILE_B + first * STRIDE_B + corner.y;
    [[unroll]] for (uint k = 0u; k < DEPTH / GROUPS; k++) {
        NUMBER4 a[QUADS_M], b[QUADS_N];
        [[unroll]] for (uint i = 0u; i < QUADS_M; i++)
            a[i] = tiles[a_from + k * STRIDE_A + ROWS * i];
        [[unroll]] for (uint j = 0u; j < QUADS_N; j++)
            b[j] = tiles[b_from + k * STRIDE_B + COLUMNS * j];
        [[unroll]] for (uint i = 0u; i < SIDE_M; i++)
            [[unroll]] for (uint j = 0u; j < QUADS_N; j++)
                sums[i][j] = MULTIPLY_ADD(a[i >> 2][i & 3u], b[j], sums[i][j]);
        ADD_FACTORS(a, b)
    }
}

/* Lines of each invocation to shared memory, ROUND of them: [group][line][row][quad]. */
void stage_lines(uint round)
{
    uint to = own_group * ROUND * OF_GROUP * QUADS_N + corner.x * (TILE_N / 4u) + corner.y;
    [[unroll]] for (uint i = 0u; i < SIDE_M; i++)
        if (i / ROUND == round)
            [[unroll]] for (uint j = 0u; j < QUADS_N; j++)
                tiles[to + i % ROUND * OF_GROUP * QUADS_N + COLUMNS * j] = sums[i][j];
}

/* Some lines of each invocation at a time, so that the storing code exists once. */
void store_sums(uint m, uint n, uint part)
{
    const uint line_size = OF_GROUP * QUADS_N;
    for (uint round = 0u; round < SIDE_M / ROUND; round++) {
        stage_lines(round);
        barrier();
        for (uint i = gl_LocalInvocationID.x; i < ROUND * line_size; i += INVOCATIONS) {
            uint line = i / line_size + ROUND * round, at = i % line_size;
            uint row = 4u * (at / (TILE_N / 4u) + ROWS * (line >> 2)) + (line & 3u), column = at % (TILE_N / 4u) * 4u;
            NUMBER4 sum = tiles[i];
            for (uint j = 1u; j < GROUPS; j++)
                sum += tiles[i + j * ROUND * line_size];
            if (m + row < size_m && n + column < size_n)
                store_four(m + row, n + column, part, sum);
        }
        barrier();
    }
}
