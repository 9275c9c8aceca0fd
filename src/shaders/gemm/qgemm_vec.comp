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
#include "shaders/core/vector.glsl"
#extension GL_EXT_control_flow_attributes : require

layout(constant_id = 2) const uint LINES = 1;
layout(constant_id = 3) const uint NIBBLES = 0;

#define SLICES 64u
#define UNROLL 4u /* rows of words whose loads are on their way at once */
#define ROWS   (NIBBLES != 0u ? 8u : 4u) /* of a word */

shared vec4 parts[LINES][GROUP_SIZE];

vec4 sums[LINES];
int starts[LINES]; /* of rows of X */

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
        return QuadArray(base).v[number];
    for (uint i = 0u; i < 16u; i++)
        words[i >> 2] |= load_byte(add64(base, uvec2(16u * number + i, 0u))) << 8u * (i & 3u);
    return words;
}

/* Of four columns in a group. */
vec4 zeros_at(uint at)
{
    if (QGEMM.zeros < 0)
        return vec4(0.0);
    uvec2 address = add64(address_of(3u), uvec2(at, 0u));
    uint bytes = 0u;
    if ((address.x & 3u) == 0u)
        bytes = Words(address).v;
    else
        for (uint i = 0u; i < 4u; i++)
            bytes |= load_byte(add64(address, uvec2(i, 0u))) << 8u * i;
    return vec4(bitfieldExtract(ivec4(bytes) >> ivec4(0, 8, 16, 24), 0, 8));
}

/* Row `row` of four words. */
vec4 codes_of(uvec4 words, uint row)
{
    uint bits = NIBBLES != 0u ? 4u : 8u;
    return vec4(bitfieldExtract(ivec4(words), int(bits * row), int(bits)));
}

/* A row of words of four columns, with what is to be known of it. */
struct Row {
    uvec4 words;
    vec4 scale, zero;
    uint k, count; /* the first element of X, and how many there are */
};

Row row_at(uint panel, uint quad, uint row)
{
    uint group = divide(row, params.by_words), within = (row - group * params.words) * ROWS;
    uint at = (panel * QGEMM.groups + group) * 16u + 4u * quad, exist = min(QGEMM.block, QGEMM.k - group * QGEMM.block);
    Row r;
    r.words = words_at(address_of(1u), (panel * QGEMM.groups * params.words + row) * 4u + quad);
    r.scale = load_vec4(type_of(2u), address_of(2u), int(at), 1, 4u);
    r.zero = zeros_at(at);
    r.k = group * QGEMM.block + within;
    r.count = exist > within ? exist - within : 0u;
    return r;
}

void add_row(Row r, int step)
{
    [[unroll]] for (uint i = 0u; i < LINES; i++) {
        vec4 part = vec4(0.0);
        [[unroll]] for (uint half_row = 0u; half_row < ROWS; half_row += 4u) {
            uint count = r.count > half_row ? min(r.count - half_row, 4u) : 0u;
            vec4 x = vec4(0.0);
            if (count > 0u)
                x = load_vec4(type_of(0u), address_of(0u), starts[i] + int(r.k + half_row) * step, step, count);
            [[unroll]] for (uint e = 0u; e < 4u; e++)
                part += (codes_of(r.words, half_row + e) - r.zero) * x[e];
        }
        sums[i] += r.scale * part;
    }
}

/* Every SLICES-th row of words, from `from` to `end`. */
void sum_slice(uint panel, uint quad, uint m, uint from, uint end)
{
    int step = view(0).strides[view(0).rank - 1u];
    [[unroll]] for (uint i = 0u; i < LINES; i++) {
        starts[i] = row_start(0u, min(m + i, TILE_PARAMS.m - 1u));
        sums[i] = vec4(0);
    }
    for (uint row = from; row < end; row += UNROLL * SLICES) {
        Row rows[UNROLL];
        [[unroll]] for (uint j = 0u; j < UNROLL; j++)
            rows[j] = row_at(panel, quad, min(row + j * SLICES, end - 1u));
        [[unroll]] for (uint j = 0u; j < UNROLL; j++)
            if (row + j * SLICES < end)
                add_row(rows[j], step);
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
