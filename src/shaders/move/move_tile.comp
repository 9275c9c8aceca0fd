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

#define WIDTH  type_shift(type_of(0u)) /* log2 of an element's bytes, 1 or 2 */
#define VECTOR (16u >> WIDTH)          /* elements of 16 bytes */
#define ROWS   MOVE_TILE
#define GROUPS 8u /* of 16 bytes in a row of a tile */

/* Rows in the result's order, of words: an element or two adjacent ones. */
shared uvec4 tile[ROWS * GROUPS];

/* In an order without bank conflicts of simultaneous reads or writes. */
uint tile_place(uint row, uint group)
{
    return row * GROUPS + (group ^ row / VECTOR % GROUPS);
}

/* The position of a tile in the tensors: its first row and column, the elements of both at which the two dimensions
 * start. */
struct Tile {
    uint row, column;
    int x, y;
};

uvec4 read_row(Tile t, uvec2 base, uint row, uint column, int across)
{
    if (row >= params.rows || column >= params.columns)
        return uvec4(0u);
    return load_vector(type_of(0u), base, t.x + int(row) + int(column) * across, 1, min(params.rows - row, VECTOR),
                       VECTOR);
}

/* Word `word` of rows row, row + 1, ...: the columns a, or a and b. */
void put_rows(uint row, uint word, uvec4 a, uvec4 b)
{
    for (uint i = 0u; i < VECTOR; i++) {
        uint value = a.x;
        if (WIDTH == 1u)
            value = i % 2u == 0u ? a.x & 0xffffu | b.x << 16 : a.x >> 16 | b.x & 0xffff0000u;
        tile[tile_place(row + i, word / 4u)][word % 4u] = value;
        if (WIDTH == 2u || i % 2u != 0u) {
            a = a.yzwx;
            b = b.yzwx;
        }
    }
}

/* Each invocation loads two vectors, whose columns are adjacent if they share words. */
void read_tile(Tile t)
{
    uint lane = gl_LocalInvocationID.x, pairs = WIDTH == 1u ? 2u : 1u;
    uint row = lane % 8u * VECTOR, word = lane / 8u, more_row = WIDTH == 1u ? row : row + 8u * VECTOR;
    uint column = t.column + word * pairs;
    int across = view(0).strides[params.outer + 1u];
    uvec2 from = address_of(0u);
    uvec4 a = read_row(t, from, t.row + row, column, across);
    uvec4 b = read_row(t, from, t.row + more_row, column + pairs - 1u, across);
    if (WIDTH == 1u) {
        put_rows(row, word, a, b);
        return;
    }
    put_rows(row, word, a, a);
    put_rows(more_row, word, b, b);
}

void write_tile(Tile t)
{
    uint type = type_of(1u), lane = gl_LocalInvocationID.x;
    int down = view(1).strides[params.outer];
    uvec2 to = address_of(1u);
    for (uint i = lane; i < ROWS * GROUPS; i += GROUP_SIZE) {
        uint row = t.row + i / GROUPS, column = t.column + i % GROUPS * VECTOR;
        if (row < params.rows && column < params.columns)
            store_vector(type, to, t.y + int(column) + int(row) * down, 1, min(params.columns - column, VECTOR), VECTOR,
                         tile[tile_place(i / GROUPS, i % GROUPS)]);
    }
}

Tile tile_at(uint number)
{
    uint rest = divide(number, params.by_tiles[1]), column = number - rest * params.by_tiles[1].size;
    uint line = divide(rest, params.by_tiles[0]), row = rest - line * params.by_tiles[0].size;
    Tile t = Tile(row * ROWS, column * GROUPS * VECTOR, 0, 0);
    for (uint d = 0u; d < params.outer; d++) {
        rest = divide(line, params.by_outer[d]);
        int index = int(line - rest * params.by_outer[d].size);
        t.x += index * view(0).strides[params.outer - 1u - d];
        t.y += index * view(1).strides[params.outer - 1u - d];
        line = rest;
    }
    return t;
}

void main()
{
    EACH_GROUP_UNIT(number)
    {
        Tile t = tile_at(number);
        barrier(); /* the tile before has been written */
        read_tile(t);
        barrier();
        write_tile(t);
    }
}
