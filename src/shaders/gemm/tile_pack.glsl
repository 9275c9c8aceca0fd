// SPDX-License-Identifier: Apache-2.0
/* Packs both factors of a product for tile_packed.glsl, in matrices of 16 x 16 elements (matrix_packed.glsl), with zeros
 * where there are none: A by batches, 16 rows and 16 elements along k, B behind it by columns likewise. The including
 * shader is gemm_tile.comp. A workgroup packs 64 lines x 64 elements along k. */
#extension GL_EXT_control_flow_attributes : require

layout(constant_id = 3) const uint A_BY_COLUMNS = 0; /* A lies along m in memory, not k */
layout(constant_id = 4) const uint B_BY_COLUMNS = 1; /* B lies along k, not n */

#define SIDE   16u
#define BLOCK  64u
#define STRIDE 9u
#define WIDE_A ((TILE_SHAPE & 0x10000u) != 0u)
#define WIDE_B ((TILE_SHAPE & 0x20000u) != 0u)

shared uvec4 tiles[BLOCK * STRIDE];

layout(buffer_reference, std430, buffer_reference_align = 16) buffer Vectors { uvec4 v[]; };

#include "shaders/gemm/matrix.glsl"
#include "shaders/gemm/matrix_packed.glsl"

/* Eight elements from (line, k) on, along k or along lines. */
uvec4 fetch(bool of_b, bool along_k, uint line, uint k)
{
    uint lines = of_b ? TILE_PARAMS.n : TILE_PARAMS.m;
    uvec4 v = uvec4(0u);
    if (of_b ? WIDE_B : WIDE_A) {
        if (line < lines && k < TILE_PARAMS.k)
            v = of_b ? vector_b(line, k) : vector_a(line, k);
        return v;
    }
    [[unroll]] for (uint e = 0u; e < 8u; e++) {
        uint i = along_k ? line : line + e, j = along_k ? k + e : k;
        if (i < lines && j < TILE_PARAMS.k)
            v[e >> 1] |= (of_b ? load_b(i, j, 0u) : load_a(i, j, 0u)) << 16u * (e & 1u);
    }
    return v;
}

void run_unit(uint unit)
{
    uint blocks_k = (TILE_PARAMS.k + BLOCK - 1u) / BLOCK;
    uint a_blocks = TILE_PARAMS.tiles_m * (TILE_M / BLOCK), b_blocks = TILE_PARAMS.tiles_n * (TILE_N / BLOCK);
    uint blocks = unit / blocks_k, k = unit % blocks_k * BLOCK, batch = blocks / (a_blocks + b_blocks);
    uint block = blocks % (a_blocks + b_blocks), subgroup = SUBGROUP_NUMBER, lane = gl_LocalInvocationID.x % 32u;
    bool of_b = block >= a_blocks, along_k = of_b ? B_BY_COLUMNS != 0u : A_BY_COLUMNS == 0u;
    uint first = of_b ? TILE_PARAMS.batches * a_blocks + batch * b_blocks + block - a_blocks : batch * a_blocks + block;
    uint line = (of_b ? block - a_blocks : block) * BLOCK;
    begin(batch, 0u, 0u);
    [[unroll]] for (uint i = 0u; i < BLOCK * 8u / GROUP_SIZE; i++) {
        uint at = gl_LocalInvocationID.x + GROUP_SIZE * i, row = at / 8u, eight = at % 8u * 8u;
        tiles[row * STRIDE + at % 8u] = along_k ? fetch(of_b, true, line + row, k + eight)
                                                : fetch(of_b, false, line + eight, k + row);
    }
    barrier();
    first = ((first * (BLOCK / SIDE) + subgroup) * blocks_k * (BLOCK / SIDE) + k / SIDE) * 32u + lane;
    [[unroll]] for (uint i = 0u; i < BLOCK / SIDE; i++) {
        uint at = along_k ? SIDE * subgroup * STRIDE + 2u * i : SIDE * i * STRIDE + 2u * subgroup;
        uvec4 v;
        if (of_b) {
            PACK_B(v, at, along_k ? 1u : 0u, STRIDE)
        } else {
            PACK_A(v, at, along_k ? 0u : 1u, STRIDE)
        }
        Vectors(scratch_at(0u)).v[first + 32u * i] = v;
    }
    barrier();
}

void main()
{
    EACH_GROUP_UNIT(unit)
    {
        run_unit(unit);
    }
}
