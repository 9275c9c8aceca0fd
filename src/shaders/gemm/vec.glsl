// SPDX-License-Identifier: Apache-2.0
/* GEMM with a few rows or columns, "lines" here: their results. Needs the dependencies of tile_finish.glsl; PARAMETERS
 * is vec_params. */
#include "shaders/gemm/vec_places.glsl"

void store_line(uint batch, uint split, uint i, uint column, NUMBER sum)
{
    uint m = params.small == 0u ? i : column, n = params.small == 0u ? column : i, y = header.inputs;
    uint number = (batch * TILE_PARAMS.m + m) * TILE_PARAMS.n + n, c = uint(max(TILE_PARAMS.c, 0));
    if (TILE_PARAMS.splits == 1u)
        store_result(number, at_result(y, number), at_result(c, number), sum);
    else
        Words(scratch_at(4u * (split * TILE_PARAMS.batches * TILE_PARAMS.m * TILE_PARAMS.n + number))).v = BITS_OF(sum);
}
