// SPDX-License-Identifier: Apache-2.0
/* Tile sizes of GEMM, as in shader_tile.c: of a tile along M, N and K, and of the square of sums of each invocation. */
#ifdef TILE_MATRIX
/* 8 bits each: tile along M and N in multiples of 32; WIDE_ flags, and from bit 19 the subgroups along M and N as powers
 * of two (tile_matrix.glsl); depth in multiples of 32. */
layout(constant_id = 2) const uint TILE_SHAPE = 1u << 24 | 1u << 21 | 1u << 19 | 4u << 8 | 4u;
#define TILE_M (32u * (TILE_SHAPE & 255u))
#define TILE_N (32u * (TILE_SHAPE >> 8 & 255u))
#define DEPTH  (32u * (TILE_SHAPE >> 24))
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
