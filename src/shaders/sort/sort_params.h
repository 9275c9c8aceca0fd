/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of the shaders that sort. Included by C and GLSL (core/block.h). */
#ifndef SHADERS_SORT_PARAMS_H
#define SHADERS_SORT_PARAMS_H

/* Elements that a workgroup sorts in shared memory. */
#define SORT_CHUNK 1024

/* How many of a line are sorted, and where the results go. Bits of elements, lower word first: all, a number's sign,
 * the magnitude above which a floating-point one is NaN, and those inverted in keys. */
struct sort_params {
    uint axis, lines, size, kept; /* the first `kept` in order are wanted */
    uint segment;                 /* a power of two: so many elements of a line are sorted together */
    uint parts;                   /* segments of a line */
    uint is_float, mask[2], sign[2], infinity[2], flip[2];
};

/* Items in scratch memory, from item `from` on: the lines one after the other, each of `runs` sorted runs of `stored`
 * items, the first ones of `covered` elements (the last run: of the rest of `size`). Pairs of runs become one of
 * next_stored items from item `to` on. */
struct sort_merge_params {
    uint from, to, runs, stored, next_stored, covered, size, axis;
};

#endif
