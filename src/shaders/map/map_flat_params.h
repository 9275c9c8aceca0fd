/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of map_flat.comp. Included by C and GLSL (core/block.h). */
#ifndef SHADERS_MAP_FLAT_PARAMS_H
#define SHADERS_MAP_FLAT_PARAMS_H

#define MAP_FLAT_INPUTS_MAX  8
#define MAP_FLAT_OUTPUTS_MAX 4
#define MAP_FLAT_INST_MAX    10
#define MAP_FLAT_OUTER_MAX   (SHADER_RANK_MAX - 1)

/* The layout of a tensor's elements along a line. */
#define MAP_FLAT_ONCE    0 /* one element, which is repeated */
#define MAP_FLAT_DENSE   1 /* neighbours */
#define MAP_FLAT_STRIDED 2

/* The last dimension is a line of `line` elements, split into vectors for invocations; by_vectors: their number in a
 * line. by_outer: the sizes of the other dimensions, the last one first. */
struct map_flat_params {
    uint line;
    SHADER_STRUCT shader_divisor by_vectors, by_outer[MAP_FLAT_OUTER_MAX];
    uint immediates[4 * MAP_FLAT_INST_MAX]; /* of each instruction p, q: two words each */
};

#endif
