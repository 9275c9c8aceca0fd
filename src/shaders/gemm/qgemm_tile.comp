// SPDX-License-Identifier: Apache-2.0
/* KERN_QGEMM by tiles: codes are converted to floats on their way to shared memory. Tensors: as for qgemm_any.comp. */
#version 460
#extension GL_GOOGLE_include_directive : require
#define PARAMETERS qgemm_tile_params
#define TILE_PARAMS params.tile
#define QGEMM       params.qgemm
#include "shaders/gemm/qgemm_params.h"
#include "shaders/core/views.glsl"
#include "shaders/gemm/tile_number.glsl"
#include "shaders/gemm/tile_size.glsl"
#include "shaders/gemm/tile_finish.glsl"

/* Start of the rows of a tile in X and Y. For the summed elements: position of a panel's codes, in bytes, and scales;
 * position of a nibble. */
shared ivec2 lines[TILE_M];
shared ivec3 places[DEPTH];

uint x_type, scale_type, first_row, panel_bytes;
uvec2 x_base, code_base, scale_base;
int x_step, y_step;

void begin(uint batch, uint m, uint n)
{
    uint y = header.inputs, i = gl_LocalInvocationID.x, last = view(y).rank - 1u;
    first_row = m;
    x_type = type_of(0u);
    scale_type = type_of(2u);
    x_base = address_of(0u);
    code_base = address_of(1u);
    scale_base = address_of(2u);
    x_step = view(0).strides[last];
    y_step = view(y).strides[last];
    panel_bytes = QGEMM.groups * params.words * 64u;
    if (i < TILE_M) {
        uint rest = m + i;
        ivec2 start = ivec2(0);
        for (uint d = last; d-- > 0u;) {
            start += int(rest % view(y).sizes[d]) * ivec2(view(0).strides[d], view(y).strides[d]);
            rest /= view(y).sizes[d];
        }
        lines[i] = start;
    }
}

void prepare(uint k)
{
    uint i = gl_LocalInvocationID.x;
    if (i >= DEPTH)
        return;
    k += i;
    uint group = divide(k, params.by_block), within = k - group * QGEMM.block, row = within % QGEMM.word;
    uint word = group * params.words + within / QGEMM.word;
    bool nibbles = QGEMM.word == 8u;
    places[i] = ivec3(word * 64u + (nibbles ? row / 2u : row), group * 16u, nibbles ? 4u * (row & 1u) : 0u);
}

float load_a(uint m, uint k, uint row)
{
    return load_number(x_type, x_base, lines[m - first_row].x + int(k) * x_step);
}

float load_b(uint n, uint k, uint row)
{
    ivec3 place = places[row];
    uint panel = n / 16u, column = n % 16u, scale = panel * QGEMM.groups * 16u + uint(place.y) + column;
    int byte = int(load_byte(add64(code_base, uvec2(panel * panel_bytes + uint(place.x) + 4u * column, 0u))));
    int code = bitfieldExtract(byte, place.z, QGEMM.word == 8u ? 4 : 8);
    if (QGEMM.zeros >= 0)
        code -= bitfieldExtract(int(load_byte(add64(address_of(3u), uvec2(scale, 0u)))), 0, 8);
    return float(code) * load_number(scale_type, scale_base, int(scale));
}

void finish(uint m, uint n, float sum)
{
    store_result(m * TILE_PARAMS.n + n, lines[m - first_row].y + int(n) * y_step, 0, sum);
}

#include "shaders/gemm/tile.glsl"
