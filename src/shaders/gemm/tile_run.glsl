// SPDX-License-Identifier: Apache-2.0
/* Selects the tile of a workgroup, and the destination of its sums: the including shader has
 *   begin(batch, m, n), finish(m, n, value)     as in tile.glsl
 *   run_tile(m, n, first, end, part)            computes the sums of a tile over first to end along k, and stores them
 */

/* Some of TILE_PARAMS, which are read once. */
uint size_m, size_n, a_along_k, b_along_k, y_along_m;
bool in_parts; /* along K, whose sums are stored in the scratch memory */
uvec2 sums_base;

void store_sum(uint m, uint n, uint part, NUMBER value)
{
    if (in_parts)
        Words(add64(sums_base, uvec2(4u * ((part * size_m + m) * size_n + n), 0u))).v = BITS_OF(value);
    else
        finish(m, n, value);
}

void run_tile(uint m, uint n, uint first, uint end, uint part);

/* Tiles are numbered by bands of 8 rows of tiles, column by column within a band: workgroups that run concurrently
 * share much of what they read. */
void run_unit(uint unit)
{
    uint all = TILE_PARAMS.tiles_m * TILE_PARAMS.tiles_n, tile = unit % all, part = unit / all;
    uint band = tile / (8u * TILE_PARAMS.tiles_n), within = tile % (8u * TILE_PARAMS.tiles_n);
    uint rows = min(8u, TILE_PARAMS.tiles_m - 8u * band), split = part / TILE_PARAMS.batches;
    uint m = (8u * band + within % rows) * TILE_M, n = within / rows * TILE_N, first = split * TILE_PARAMS.depth;
    begin(part % TILE_PARAMS.batches, m, n);
    run_tile(m, n, first, min(first + TILE_PARAMS.depth, TILE_PARAMS.k), part);
}

void main()
{
    read_finish();
    in_parts = TILE_PARAMS.splits != 1u;
    if (in_parts)
        sums_base = scratch_at(0u);
    size_m = TILE_PARAMS.m;
    size_n = TILE_PARAMS.n;
    a_along_k = TILE_PARAMS.a_along_k;
    b_along_k = TILE_PARAMS.b_along_k;
    y_along_m = TILE_PARAMS.y_along_m;
    EACH_GROUP_UNIT(unit)
    {
        run_unit(unit);
    }
}
