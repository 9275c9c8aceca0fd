// SPDX-License-Identifier: Apache-2.0
/* KERN_SORT by digits: moves each item of a part to its position, after the items of lower digits and the preceding
 * items of its digit. A workgroup sorts them first, so that adjacent invocations write to adjacent positions. Tensors:
 * 0 X, 1 values, 2 positions. */
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#define PARAMETERS radix_params
#include "shaders/sort/sort_params.h"
#include "shaders/core/views.glsl"
#include "shaders/sort/radix.glsl"
#include "shaders/sort/radix_scan.glsl"
#include "shaders/sort/sort_write.glsl"
#include "shaders/sort/sort_write_key.glsl"

#define ITEMS (RADIX_ITEMS / GROUP_SIZE) /* of an invocation */

uint keys[ITEMS], positions[ITEMS];

#define KEY(j) keys[j]
#include "shaders/sort/radix_rank.glsl"

shared uint digit_shifts[RADIX]; /* from a position in the workgroup to that in the line */

void put_item(LinePlaces places, uint line, uint to, uint key, uint position)
{
    if (params.last == 0u)
        Pairs(add64(scratch_at(params.to), mul64(8u, uvec2(line * params.size + to, 0u)))).v = uvec2(key, position);
    else if (to < params.kept)
        write_result_of_key(places, params.axis, to, key, position);
}

/* Of each invocation the item with number `self`, and those GROUP_SIZE apart, of `count` in order. */
void put_items(LinePlaces places, uint line, uint self, uint count)
{
    [[unroll]] for (uint j = 0u; j < ITEMS; j++) {
        uint i = j * GROUP_SIZE + self;
        if (i < count)
            put_item(places, line, digit_shifts[radix_digit(keys[j])] + i, keys[j], positions[j]);
    }
}

void main()
{
    uint self = gl_LocalInvocationID.x, digit = scan_self();
    Ranking r = ranking();
    EACH_GROUP_UNIT(unit)
    {
        uint line = unit / params.groups, group = unit % params.groups, all, places[ITEMS];
        uint first = group * RADIX_ITEMS + first_item(r), used = 0u;
        LinePlaces line_places = places_of_line(params.axis, line);
        begin_ranking(r);
        [[unroll]] for (uint j = 0u; j < ITEMS; j++) {
            keys[j] = positions[j] = 0u;
            if (first + j * r.size < params.size) {
                uvec2 item = radix_item(line, line_places.x, first + j * r.size);
                keys[j] = item.x;
                positions[j] = item.y;
                used = j + 1u;
            }
        }
        rank_all(r, params.shift, used);
        uint begin = begin_digits(r), of_lesser = sum_before(radix_total(line, digit).v, all);
        digit_shifts[digit] = of_lesser + radix_count(line, digit, group).v - begin;
        [[unroll]] for (uint j = 0u; j < ITEMS; j++) {
            places[j] = place_of_item(r, params.shift, j);
            if (j < used)
                exchanged[places[j]] = keys[j];
        }
        barrier();
        [[unroll]] for (uint j = 0u; j < ITEMS; j++)
            keys[j] = exchanged[j * GROUP_SIZE + self];
        barrier();
        [[unroll]] for (uint j = 0u; j < ITEMS; j++)
            if (j < used)
                exchanged[places[j]] = positions[j];
        barrier();
        [[unroll]] for (uint j = 0u; j < ITEMS; j++)
            positions[j] = exchanged[j * GROUP_SIZE + self];
        put_items(line_places, line, self, min(params.size - group * RADIX_ITEMS, RADIX_ITEMS));
    }
}
