// SPDX-License-Identifier: Apache-2.0
/* KERN_MOVE: transposes of 16 and 32 bits through tiles in shared memory, so that neighbouring invocations read and write
 * neighbouring elements. Tensors: 0 X, 1 Y. */
#version 460
#extension GL_GOOGLE_include_directive : require
#define PARAMETERS move_tile_params
#include "shaders/core/block.h"
#include "shaders/move/move_params.h"
#include "shaders/core/views.glsl"
#include "shaders/core/vector.glsl"

#define TILE   64u
#define VECTOR (16u >> type_shift(type_of(0u))) /* elements of 16 bytes */

shared uint tile[TILE * TILE];

/* In an order in which neither rows nor columns lie in one bank. */
uint tile_place(uint row, uint column)
{
    row %= TILE;
    return row * TILE + (column % TILE ^ row);
}

/* Elements of row `row`, from column `column` on, as X has them: along rows. */
void read_row(uvec2 base, int at, uint row, uint column, uint rows, uint columns)
{
    if (column >= columns)
        return;
    uint type = type_of(0u), count = min(rows - row, VECTOR), shift = type_shift(type);
    uvec4 words = load_vector(type, base, at, 1, count, VECTOR);
    for (uint i = 0u; i < VECTOR; i++)
        tile[tile_place(row + i, column)] = take_element(words, i, shift).x;
}

void write_row(uvec2 base, int at, uint row, uint column, uint rows, uint columns)
{
    if (row >= rows || column >= columns)
        return;
    uint type = type_of(1u), count = min(columns - column, VECTOR), shift = type_shift(type);
    uvec4 words = uvec4(0u);
    for (uint i = 0u; i < VECTOR; i++)
        append_element(words, i, shift, uvec2(tile[tile_place(row, column + i)], 0u));
    store_vector(type, base, at, 1, count, VECTOR, words);
}

void move_tile(uint number)
{
    uint rank = params.outer + 2u, rest = divide(number, params.by_tiles[1]);
    uint column = (number - rest * params.by_tiles[1].size) * TILE;
    uint line = divide(rest, params.by_tiles[0]), row = (rest - line * params.by_tiles[0].size) * TILE;
    int x = 0, y = 0;
    for (uint d = 0u; d < params.outer; d++) {
        rest = divide(line, params.by_outer[d]);
        int index = int(line - rest * params.by_outer[d].size);
        x += index * view(0).strides[params.outer - 1u - d];
        y += index * view(1).strides[params.outer - 1u - d];
        line = rest;
    }
    int across = view(0).strides[rank - 1u], down = view(1).strides[rank - 2u];
    uvec2 from = address_of(0u), to = address_of(1u);
    uint vectors = TILE / VECTOR;
    barrier(); /* the tile before has been written */
    for (uint i = gl_LocalInvocationID.x; i < TILE * vectors; i += GROUP_SIZE) {
        uint r = row + i % vectors * VECTOR, c = column + i / vectors;
        if (r < params.rows)
            read_row(from, x + int(r) + int(c) * across, r, c, params.rows, params.columns);
    }
    barrier();
    for (uint i = gl_LocalInvocationID.x; i < TILE * vectors; i += GROUP_SIZE) {
        uint r = row + i / vectors, c = column + i % vectors * VECTOR;
        write_row(to, y + int(c) + int(r) * down, r, c, params.rows, params.columns);
    }
}

void main()
{
    EACH_GROUP_UNIT(number)
        move_tile(number);
}
