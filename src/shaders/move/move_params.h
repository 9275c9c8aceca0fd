/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of move_tile.comp. Included by C and GLSL (core/block.h). */
#ifndef SHADERS_MOVE_PARAMS_H
#define SHADERS_MOVE_PARAMS_H

#define MOVE_TILE 64 /* rows of a tile; it has 128 bytes of columns */

/* The last dimension is the one in which the result is contiguous, the one before it the input's. by_tiles: the number
 * of tiles of these two; by_outer: the sizes of the preceding dimensions, the last one first. */
struct move_tile_params {
    uint rows, columns; /* the sizes of the last two dimensions */
    SHADER_STRUCT shader_divisor by_tiles[2], by_outer[SHADER_RANK_MAX - 2];
    uint outer;
};

#endif
