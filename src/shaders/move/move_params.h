/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of move_tile.comp. Included by C and GLSL (core/block.h). */
#ifndef SHADERS_MOVE_PARAMS_H
#define SHADERS_MOVE_PARAMS_H

#define MOVE_TILE 64 /* rows of a tile; it has 128 bytes of columns */

/* The last dimension is the one along which the result's elements are neighbours, the one before it the input's.
 * by_tiles: how many tiles these two take; by_outer: the sizes of the dimensions before, the last one first. */
struct move_tile_params {
    uint rows, columns; /* the sizes of the last two dimensions */
    SHADER_STRUCT shader_divisor by_tiles[2], by_outer[SHADER_RANK_MAX - 2];
    uint outer;
};

#endif
