/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of the shaders that sort. Included by C and GLSL (core/block.h). */
#ifndef SHADERS_SORT_PARAMS_H
#define SHADERS_SORT_PARAMS_H

#include "shaders/core/block.h"

/* Elements that a workgroup sorts in shared memory. */
#define SORT_CHUNK 1024

/* Bits of elements, lower word first: all, a number's sign, the magnitude above which a floating-point one is NaN, and
 * those inverted in keys. */
struct sort_keys {
    uint is_float, mask[2], sign[2], infinity[2], flip[2];
};

/* The number of sorted elements of a line, and the location of the results. */
struct sort_params {
    uint axis, lines, size, kept; /* the first `kept` in order are needed */
    uint segment;                 /* a power of two: this many elements of a line are sorted together */
    uint parts;                   /* segments of a line */
    SHADER_STRUCT sort_keys keys;
};

/* Of lines of `size`, the first `kept` of which are needed: digits of RADIX_BITS of keys and of positions, and the
 * power of two that holds those that are kept. */
struct sort_select_params {
    uint axis, size, kept, segment, key_digits, position_digits;
    SHADER_STRUCT sort_keys keys;
};

/* Lines whose keys have this many digits. */
struct sort_group_params {
    uint axis, size, kept, digits;
    SHADER_STRUCT sort_keys keys;
};

/* Elements of a workgroup that counts or places digits. */
#define RADIX_ITEMS 4096u
#define RADIX_BITS  8u
#define RADIX       256u

/* A pass over a digit of the keys, the lowest first, of lines that are split into `groups` parts of RADIX_ITEMS. In
 * scratch memory, at bytes from, to: items, key and position, of all lines; at counts: for each line, digit and part
 * the number of items, later that of the preceding parts; at totals: for each line and digit. */
struct radix_params {
    uint axis, lines, size, kept, groups;
    uint shift, first, last; /* the digit's; whether the pass is the first or the last one */
    uint from, to, counts, totals;
    SHADER_STRUCT sort_keys keys;
};

/* Items in scratch memory, from item `from` on: the lines in sequence, each of `runs` sorted runs of `stored` items,
 * the first ones of `covered` elements (the last run: of the rest of `size`). Pairs of runs become one of next_stored
 * items from item `to` on. */
struct sort_merge_params {
    uint from, to, runs, stored, next_stored, covered, size, axis;
};

#endif
