/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of the shaders of attention. Included by C and GLSL (core/block.h). */
#ifndef SHADERS_ATTENTION_PARAMS_H
#define SHADERS_ATTENTION_PARAMS_H

#include "shaders/core/block.h"

/* struct kern_attention; mask to past: numbers of the tensors, 0 for absent ones. */
struct attention_params {
    float scale, filter_by;
    uint new_keys, causal, undefined;
    uint skips_masked; /* keys from `end` on have no weight and are not read */
    uint mask, keep, end, start, past;
    uint parts; /* of the keys, of attention_parts.comp */
    uint lanes; /* neighbouring invocations that share a key: a power of two from the width of V on, 256 at most */
};

/* Of attention_coop.comp: tensors whose elements are contiguous in groups of eight; subgroups of 32 queries; whether
 * scores need more than a positive factor. */
#define COOP_WIDE_Q   1u
#define COOP_WIDE_K   2u
#define COOP_WIDE_V   4u
#define COOP_WIDE_Y   8u
#define COOP_TWO_SETS 16u
#define COOP_MASKED   32u

/* Of attention_tile.comp: tensors whose elements are contiguous in groups of four. */
#define TILE_WIDE_Q 1u
#define TILE_WIDE_K 2u
#define TILE_WIDE_V 4u
#define TILE_WIDE_Y 8u

/* Of attention_parts.comp: keys of a block, and the maximum number of parts; tensors whose elements are contiguous in
 * 16 bytes; whether some queries see more keys than others. */
#define ATTENTION_PARTS_KEYS 64u
#define ATTENTION_PARTS_MAX  128u
#define PARTS_WIDE_Q         1u
#define PARTS_WIDE_K         2u
#define PARTS_WIDE_V         4u
#define PARTS_CAUSAL         8u

#define INPUTS_CONSTANT 6 /* of these numbers, 4 bits each from mask on */
#define INPUTS_KNOWN    0x80000000u

#endif
