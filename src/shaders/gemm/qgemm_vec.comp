// SPDX-License-Identifier: Apache-2.0
/* KERN_QGEMM with few rows, LINES at a time: codes are read once, where they lie. A workgroup takes a panel: four
 * invocations side by side its rows of words, of four columns each, while the others share the sum over k. Tensors: as
 * for qgemm_any.comp. */
#version 460
#extension GL_GOOGLE_include_directive : require
#define PARAMETERS qgemm_tile_params
#define TILE_PARAMS params.tile
#define QGEMM       params.qgemm
#include "shaders/gemm/qgemm_params.h"
#include "shaders/core/views.glsl"
#include "shaders/gemm/tile_number.glsl"
#include "shaders/gemm/tile_finish.glsl"
#extension GL_EXT_control_flow_attributes : require

layout(constant_id = 2) const uint LINES = 1;
layout(constant_id = 3) const uint NIBBLES = 0;

#define SLICES 64u
#define ROWS   (NIBBLES != 0u ? 8u : 4u) /* of a word */

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Vectors { uvec4 v[]; };

shared vec4 parts[LINES][GROUP_SIZE];

vec4 sums[LINES];

/* Where row m of X or Y begins, in elements. */
int row_start(uint t, uint m)
{
    uint y = header.inputs;
    int start = 0;
    for (uint d = view(y).rank - 1u; d-- > 0u;) {
        start += int(m % view(y).sizes[d]) * view(t).strides[d];
        m /= view(y).sizes[d];
    }
    return start;
}

/* Four words, 16 bytes * `number` behind the first, which may lie anywhere. */
uvec4 words_at(uvec2 base, uint number)
{
    uvec4 words = uvec4(0u);
    if ((base.x & 15u) == 0u)
        return Vectors(base).v[number];
    for (uint i = 0u; i < 16u; i++)
        words[i >> 2] |= load_byte(add64(base, uvec2(16u * number + i, 0u))) << 8u * (i & 3u);
    return words;
}

/* Of four columns in a group. */
vec4 scales_at(uint at)
{
    uint type = type_of(2u);
    uvec2 base = address_of(2u);
    return vec4(load_number(type, base, int(at)), load_number(type, base, int(at) + 1), load_number(type, base, int(at) + 2),
                load_number(type, base, int(at) + 3));
}

vec4 zeros_at(uint at)
{
    vec4 zeros = vec4(0);
    if (QGEMM.zeros >= 0)
        for (uint i = 0u; i < 4u; i++)
            zeros[i] = float(bitfieldExtract(int(load_byte(add64(address_of(3u), uvec2(at + i, 0u)))), 0, 8));
    return zeros;
}

/* Row `row` of four words. */
vec4 codes_of(uvec4 words, uint row)
{
    uint bits = NIBBLES != 0u ? 4u : 8u;
    return vec4(bitfieldExtract(ivec4(words), int(bits * row), int(bits)));
}

/* Every SLICES-th row of words, from `from` to `end`, with rows of X from m. */
void sum_slice(uint panel, uint quad, uint m, uint from, uint end)
{
    uvec2 x_base = address_of(0u), code_base = address_of(1u);
    uint x_type = type_of(0u), lines = min(TILE_PARAMS.m - m, LINES), rows = QGEMM.groups * params.words;
    int step = view(0).strides[view(0).rank - 1u], starts[LINES];
    [[unroll]] for (uint i = 0u; i < LINES; i++) {
        starts[i] = row_start(0u, min(m + i, TILE_PARAMS.m - 1u));
        sums[i] = vec4(0);
    }
    for (uint row = from; row < end; row += SLICES) {
        uint group = divide(row, params.by_words), within = (row - group * params.words) * ROWS;
        uint k = group * QGEMM.block + within, at = (panel * QGEMM.groups + group) * 16u + 4u * quad;
        uint count = min(QGEMM.block, QGEMM.k - group * QGEMM.block);
        uvec4 words = words_at(code_base, (panel * rows + row) * 4u + quad);
        vec4 scale = scales_at(at), zero = zeros_at(at), part[LINES];
        [[unroll]] for (uint i = 0u; i < LINES; i++)
            part[i] = vec4(0);
        [[unroll]] for (uint r = 0u; r < ROWS; r++) {
            vec4 codes = codes_of(words, r) - zero;
            [[unroll]] for (uint i = 0u; i < LINES; i++)
                if (i < lines && within + r < count)
                    part[i] += codes * load_number(x_type, x_base, starts[i] + int(k + r) * step);
        }
        [[unroll]] for (uint i = 0u; i < LINES; i++)
            sums[i] += scale * part[i];
    }
}

void store_line(uint m, uint n, uint split, float sum)
{
    uint y = header.inputs, number = m * TILE_PARAMS.n + n;
    if (TILE_PARAMS.splits == 1u)
        store_result(number, row_start(y, m) + int(n) * view(y).strides[view(y).rank - 1u], 0, sum);
    else
        Words(scratch_at(4u * (split * TILE_PARAMS.m * TILE_PARAMS.n + number))).v = BITS_OF(sum);
}

void main()
{
    read_finish();
    uint i = gl_LocalInvocationID.x, rows = QGEMM.groups * params.words, share = params.split_words;
    EACH_GROUP_UNIT(unit)
    {
        uint panel = unit % TILE_PARAMS.tiles_n, rest = unit / TILE_PARAMS.tiles_n;
        uint m = rest % TILE_PARAMS.tiles_m * LINES, split = rest / TILE_PARAMS.tiles_m;
        sum_slice(panel, i & 3u, m, split * share + (i >> 2), min((split + 1u) * share, rows));
        [[unroll]] for (uint j = 0u; j < LINES; j++)
            parts[j][i] = sums[j];
        barrier();
        uint line = i / 16u, n = panel * 16u + i % 16u;
        if (line < LINES && m + line < TILE_PARAMS.m && n < TILE_PARAMS.n) {
            float sum = 0.0;
            for (uint slice = 0u; slice < SLICES; slice++)
                sum += parts[line][4u * slice + (i >> 2 & 3u)][i & 3u];
            store_line(m + line, n, split, sum);
        }
        barrier();
    }
}
