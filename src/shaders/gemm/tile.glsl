// SPDX-License-Identifier: Apache-2.0
/* Products of matrices by tiles in shared memory: a workgroup computes TILE x TILE sums, an invocation SIDE x SIDE of
 * them in registers. Whoever includes this has the struct tile_params as TILE_PARAMS, and defines
 *   NUMBER, NUMBER4             type of factors and sums, and its vectors of four
 *   begin(batch, m, n)          before a tile
 *   prepare(k)                  before the elements k to k + DEPTH are loaded
 *   load_a(m, k, row), load_b   elements that exist; row = k's place in the tile
 *   finish(m, n, value)         stores a result
 * Factors that do not exist count as zero. */
#extension GL_EXT_control_flow_attributes : require

#ifdef TILE_LARGE
#define SIDE  8u
#define DEPTH 8u
#else
#define SIDE  4u
#define DEPTH 16u
#endif
#define TILE  (16u * SIDE)
#define QUADS (TILE / 4u)
#define LOADS (TILE * DEPTH / GROUP_SIZE) /* of an invocation, for each matrix */
#define TILE_B (DEPTH * QUADS)            /* where the tile of B begins */

/* Row k of a tile has the TILE elements with this k, by fours, which are permuted so that invocations that store one
 * column, or read neighbours, use different banks. Later the memory holds results on their way. */
shared NUMBER4 tiles[2u * DEPTH * QUADS];

/* Some of TILE_PARAMS, which are read once. */
uint size_m, size_n, a_along_k, b_along_k, y_along_m;

/* Of this invocation. */
NUMBER4 sums[SIDE][SIDE / 4u];
NUMBER a_next[LOADS], b_next[LOADS];

uint slot(uint quad, uint k)
{
    return k * QUADS + (quad ^ (k & 7u));
}

/* Load `number`'s place along m or n, and along k. */
uvec2 element(uint number, uint along_k)
{
    uint i = gl_LocalInvocationID.x + number * GROUP_SIZE;
    return along_k != 0u ? uvec2(i / DEPTH, i % DEPTH) : uvec2(i % TILE, i / TILE);
}

void fetch(uint m, uint n, uint k, uint end)
{
    [[unroll]] for (uint i = 0u; i < LOADS; i++) {
        uvec2 a = element(i, a_along_k), b = element(i, b_along_k);
        a_next[i] = NUMBER(0);
        b_next[i] = NUMBER(0);
        if (m + a.x < size_m && k + a.y < end)
            a_next[i] = load_a(m + a.x, k + a.y, a.y);
        if (n + b.x < size_n && k + b.y < end)
            b_next[i] = load_b(n + b.x, k + b.y, b.y);
    }
}

void keep()
{
    [[unroll]] for (uint i = 0u; i < LOADS; i++) {
        uvec2 a = element(i, a_along_k), b = element(i, b_along_k);
        tiles[slot(a.x >> 2, a.y)][a.x & 3u] = a_next[i];
        tiles[TILE_B + slot(b.x >> 2, b.y)][b.x & 3u] = b_next[i];
    }
}

/* Where an invocation's sums are: fours of rows and columns at multiples of 64. Invocations 0 to 31 are 4 rows of 8. */
uvec2 corner()
{
    uint i = gl_LocalInvocationID.x;
    return uvec2((i >> 3 & 3u) + 4u * (i >> 6), (i & 7u) + (i >> 2 & 8u));
}

void multiply(uvec2 from)
{
    for (uint k = 0u; k < DEPTH; k++) {
        NUMBER4 a[SIDE / 4u], b[SIDE / 4u];
        [[unroll]] for (uint i = 0u; i < SIDE / 4u; i++) {
            a[i] = tiles[slot(from.x + 16u * i, k)];
            b[i] = tiles[TILE_B + slot(from.y + 16u * i, k)];
        }
        [[unroll]] for (uint i = 0u; i < SIDE; i++)
            [[unroll]] for (uint j = 0u; j < SIDE / 4u; j++)
                sums[i][j] += a[i >> 2][i & 3u] * b[j];
    }
}

/* Of the elements first to end along k. */
void sum_products(uint m, uint n, uint first, uint end)
{
    uvec2 from = corner();
    [[unroll]] for (uint i = 0u; i < SIDE; i++)
        [[unroll]] for (uint j = 0u; j < SIDE / 4u; j++)
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

void store_sum(uint m, uint n, uint part, NUMBER value)
{
    if (TILE_PARAMS.splits == 1u)
        finish(m, n, value);
    else
        Words(scratch_at(4u * ((part * size_m + m) * size_n + n))).v = BITS_OF(value);
}

/* Line `round` of each invocation, a row or a column of its sums, to shared memory. */
void stage(uint round, uvec2 from)
{
    bool by_columns = y_along_m != 0u;
    uint to = by_columns ? from.y * QUADS + from.x : from.x * QUADS + from.y;
    [[unroll]] for (uint i = 0u; i < SIDE; i++) {
        if (i != round)
            continue;
        [[unroll]] for (uint j = 0u; j < SIDE / 4u; j++) {
            uint r = 4u * j, c = i >> 2, x = i & 3u;
            tiles[to + 16u * j] = by_columns ? NUMBER4(sums[r][c][x], sums[r + 1u][c][x], sums[r + 2u][c][x],
                                                       sums[r + 3u][c][x])
                                             : sums[i][j];
        }
    }
}

/* Through shared memory, so that neighbours in memory are written together. */
void store_sums(uint m, uint n, uint part)
{
    uvec2 from = corner();
    for (uint round = 0u; round < SIDE; round++) {
        stage(round, from);
        barrier();
        for (uint i = gl_LocalInvocationID.x; i < 16u * TILE; i += GROUP_SIZE) {
            uint along = i % TILE, across = i / TILE * 4u + (round & 3u) + 64u * (round >> 2);
            uvec2 at = y_along_m != 0u ? uvec2(m + along, n + across) : uvec2(m + across, n + along);
            if (at.x < size_m && at.y < size_n)
                store_sum(at.x, at.y, part, tiles[i >> 2][i & 3u]);
        }
        barrier();
    }
}

/* Tiles are numbered by bands of 8 rows of tiles, within which columns follow one another: workgroups that run at the
 * same time share much of what they read. */
void run_tile(uint unit)
{
    uint all = TILE_PARAMS.tiles_m * TILE_PARAMS.tiles_n, tile = unit % all, part = unit / all;
    uint band = tile / (8u * TILE_PARAMS.tiles_n), within = tile % (8u * TILE_PARAMS.tiles_n);
    uint rows = min(8u, TILE_PARAMS.tiles_m - 8u * band), split = part / TILE_PARAMS.batches;
    uint m = (8u * band + within % rows) * TILE, n = within / rows * TILE, first = split * TILE_PARAMS.depth;
    begin(part % TILE_PARAMS.batches, m, n);
    sum_products(m, n, first, min(first + TILE_PARAMS.depth, TILE_PARAMS.k));
    store_sums(m, n, part);
}

void main()
{
    size_m = TILE_PARAMS.m;
    size_n = TILE_PARAMS.n;
    a_along_k = TILE_PARAMS.a_along_k;
    b_along_k = TILE_PARAMS.b_along_k;
    y_along_m = TILE_PARAMS.y_along_m;
    EACH_GROUP_UNIT(unit)
    {
        run_tile(unit);
    }
}
