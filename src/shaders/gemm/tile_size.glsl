// SPDX-License-Identifier: Apache-2.0
/* Sizes of products by tiles, as shader_tile.c has them: of a tile along M, N and K, and of the square of sums that
 * each invocation has. */
#ifdef TILE_LARGE
#define TILE_M 128u
#define TILE_N 128u
#define DEPTH  8u
#define SIDE   8u
#else
#ifdef TILE_WIDE
#define TILE_M 32u
#define TILE_N 128u
#else
#define TILE_M 64u
#define TILE_N 64u
#endif
#define DEPTH 16u
#define SIDE  4u
#endif
