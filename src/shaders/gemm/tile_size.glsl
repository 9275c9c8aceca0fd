// SPDX-License-Identifier: Apache-2.0
/* Sizes of products by tiles, as shader_tile.c has them: of a tile along M, N and K, and of the square of sums that
 * each invocation has. */
#ifdef TILE_MATRIX
layout(constant_id = 2) const uint TILE_SHAPE = 4u << 8 | 4u; /* along N and M, in multiples of 32; 16 bits: WIDE_ flags */
#define TILE_M (32u * (TILE_SHAPE & 255u))
#define TILE_N (32u * (TILE_SHAPE >> 8 & 255u))
#define DEPTH  32u
#elif defined(TILE_LARGE)
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
