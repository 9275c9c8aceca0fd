// SPDX-License-Identifier: Apache-2.0
/* Tiled GEMM in shared memory: a workgroup computes TILE_M x TILE_N sums, an invocation SIDE x SIDE
 * of them in registers. The including shader has the struct tile_params as TILE_PARAMS, and defines
 *   TILE_M and others           sizes (tile_size.glsl)
 *   NUMBER, NUMBER4             type of factors and sums, and its vectors of four
 *   begin(batch, m, n)          before a tile
 *   prepare(k)                  before the elements k to k + DEPTH are loaded
 *   load_a(m, k, row), load_b   existing elements; row = k's position in the tile
 *   finish(m, n, value)         stores a result
 * Factors that do not exist count as zero. With TILE_DOT (tile_dot.glsl) k counts words of four factors each. */
#extension GL_EXT_control_flow_attributes : require

#define ROWS    (TILE_M / SIDE) /* of invocations */
#define COLUMNS (TILE_N / SIDE)
#define QUADS   (SIDE / 4u)
#define LOADS_A (TILE_M * DEPTH / GROUP_SIZE) /* of an invocation */
#define LOADS_B (TILE_N * DEPTH / GROUP_SIZE)
#define TILE_B  (TILE_M * DEPTH / 4u) /* start of the tile of B */

/* For each k of a tile, its elements in groups of four, permuted so that invocations that store those of one row, or
 * read neighbours, use different banks. Later the memory stages results. */
shared NUMBER4 tiles[(TILE_M + TILE_N) * DEPTH / 4u];

#include "shaders/gemm/tile_run.glsl"

/* Of this invocation. */
NUMBER4 sums[SIDE][QUADS];
NUMBER a_next[LOADS_A], b_next[LOADS_B];

#ifdef TILE_DOT
#include "shaders/gemm/tile_dot.glsl"
#else
#define MULTIPLY_ADD(a, b, sum) ((sum) + (a) * (b))
#define ADD_FACTORS(a, b)
#endif

/* In a tile of `size` rows or columns. */
uint slot(uint quad, uint k, uint size)
{
    return k * (size / 4u) + (quad ^ (k & 7u));
}

/* The position of load `number` along m or n, and along k. */
uvec2 element(uint number, uint size, uint along_k)
{
    uint i = gl_LocalInvocationID.x + number * GROUP_SIZE;
    return along_k != 0u ? uvec2(i / DEPTH, i % DEPTH) : uvec2(i % size, i / size);
}

void fetch(uint m, uint n, uint k, uint end)
{
    [[unroll]] for (uint i = 0u; i < LOADS_A; i++) {
        uvec2 at = element(i, TILE_M, a_along_k);
        a_next[i] = NUMBER(0);
        if (m + at.x < size_m && k + at.y < end)
            a_next[i] = load_a(m + at.x, k + at.y, at.y);
    }
    [[unroll]] for (uint i = 0u; i < LOADS_B; i++) {
        uvec2 at = element(i, TILE_N, b_along_k);
        b_next[i] = NUMBER(0);
        if (n + at.x < size_n && k + at.y < end)
            b_next[i] = load_b(n + at.x, k + at.y, at.y);
    }
}

void keep()
{
    [[unroll]] for (uint i = 0u; i < LOADS_A; i++) {
        uvec2 at = element(i, TILE_M, a_along_k);
        tiles[slot(at.x >> 2, at.y, TILE_M)][at.x & 3u] = a_next[i];
    }
    [[unroll]] for (uint i = 0u; i < LOADS_B; i++) {
        uvec2 at = element(i, TILE_N, b_along_k);
        tiles[TILE_B + slot(at.x >> 2, at.y, TILE_N)][at.x & 3u] = b_next[i];
    }
}

/* Row and column of an invocation. Its sums are interleaved groups of four rows and columns: 32 consecutive invocations
 * are 4 rows of 8. */
uvec2 corner()
{
    uint i = gl_LocalInvocationID.x, block = i >> 5;
    return uvec2((i >> 3 & 3u) + 4u * (block % (ROWS / 4u)), (i & 7u) + 8u * (block / (ROWS / 4u)));
}

void multiply(uvec2 from)
{
    for (uint k = 0u; k < DEPTH; k++) {
        NUMBER4 a[QUADS], b[QUADS];
        [[unroll]] for (uint i = 0u; i < QUADS; i++) {
            a[i] = tiles[slot(from.x + ROWS * i, k, TILE_M)];
            b[i] = tiles[TILE_B + slot(from.y + COLUMNS * i, k, TILE_N)];
        }
        ADD_FACTORS(a[0], b[0]);
        [[unroll]] for (uint i = 0u; i < SIDE; i++)
            [[unroll]] for (uint j = 0u; j < QUADS; j++)
                sums[i][j] = MULTIPLY_ADD(a[i >> 2][i & 3u], b[j], sums[i][j]);
    }
}

/* Of the elements first to end along k. */
void sum_products(uint m, uint n, uint first, uint end)
{
    uvec2 from = corner();
    [[unroll]] for (uint i = 0u; i < SIDE; i++)
        [[unroll]] for (uint j = 0u; j < QUADS; j++)
            sums[i][j] = NUMBER4(0);
    prepare(first);
    barrier();
    fetch(m, n, first, end);
    for (uint k = first; k < end; k += DEPTH) {
        barrier();
        keep();
        prepare(k + DEPTH);
        barrier();
        if (k + DEPTH < end)
            fetch(m, n, k + DEPTH, end);
        multiply(from);
    }
    barrier();
}

/* Line `round` of each invocation, a row or a column of its sums, to shared memory. */
void stage(uint round, uvec2 from)
{
    bool by_columns = y_along_m != 0u;
    uint to = by_columns ? from.y * (TILE_M / 4u) + from.x : from.x * (TILE_N / 4u) + from.y;
    uint next = by_columns ? ROWS : COLUMNS;
    [[unroll]] for (uint i = 0u; i < SIDE; i++) {
        if (i != round)
            continue;
        [[unroll]] for (uint j = 0u; j < QUADS; j++) {
            uint r = 4u * j, c = i >> 2, x = i & 3u;
            tiles[to + next * j] = by_columns ? NUMBER4(sums[r][c][x], sums[r + 1u][c][x], sums[r + 2u][c][x],
                                                        sums[r + 3u][c][x])
                                              : sums[i][j];
        }
    }
}

/* Through shared memory, so that neighbours in memory are written together. */
void store_sums(uint m, uint n, uint part)
{
    bool by_columns = y_along_m != 0u;
    uint lines = by_columns ? COLUMNS : ROWS, size = by_columns ? TILE_M : TILE_N;
    uvec2 from = corner();
    for (uint round = 0u; round < SIDE; round++) {
        stage(round, from);
        barrier();
        for (uint i = gl_LocalInvocationID.x; i < lines * size; i += GROUP_SIZE) {
            uint along = i % size, across = (i / size + lines * (round >> 2)) * 4u + (round & 3u);
            uvec2 at = by_columns ? uvec2(m + along, n + across) : uvec2(m + across, n + along);
            if (at.x < size_m && at.y < size_n)
                store_sum(at.x, at.y, part, tiles[i >> 2][i & 3u]);
        }
        barrier();
    }
}

void run_tile(uint m, uint n, uint first, uint end, uint part)
{
#ifdef TILE_DOT
    begin_factors();
    sum_products(m, n, first / FACTORS, (end + FACTORS - 1u) / FACTORS);
    take_zeros_off(m, n, end - first);
#else
    sum_products(m, n, first, end);
#endif
    store_sums(m, n, part);
}
