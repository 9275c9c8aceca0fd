// SPDX-License-Identifier: Apache-2.0
/* KERN_SORT by digits: each item of a part to its place, behind the items of lesser digits and those of its digit before it.
 * Tensors: 0 X, 1 values, 2 positions. */
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#define PARAMETERS radix_params
#include "shaders/sort/sort_params.h"
#include "shaders/core/views.glsl"
#include "shaders/sort/radix.glsl"
#include "shaders/sort/radix_scan.glsl"
#include "shaders/sort/sort_write.glsl"

#define ITEMS 8 /* of an invocation */

uvec2 items[ITEMS];

#define KEY(j) items[j].x
#include "shaders/sort/radix_rank.glsl"

void put_item(LinePlaces places, uint line, uint to, uvec2 item)
{
    if (params.last == 0u)
        Pairs(add64(scratch_at(params.to), mul64(8u, uvec2(line * params.size + to, 0u)))).v = item;
    else if (to < params.kept)
        write_result_at(places, params.axis, to, item.y);
}

void main()
{
    uint lane = gl_LocalInvocationID.x;
    Ranking r = ranking();
    EACH_GROUP_UNIT(unit)
    {
        uint line = unit / params.groups, group = unit % params.groups;
        uint first = group * RADIX_ITEMS + first_item(r), used = 0u;
        LinePlaces places = places_of_line(params.axis, line);
        begin_ranking(r);
        [[unroll]] for (uint j = 0u; j < ITEMS; j++) {
            items[j] = uvec2(0u);
            if (first + j * r.size < params.size) {
                items[j] = radix_item(line, places.x, first + j * r.size);
                used = j + 1u;
            }
        }
        rank_all(r, params.shift, used);
        /* Digits of invocations: where the first item of each subgroup goes. */
        set_places(r, sum_before(radix_total(line, lane).v) + radix_count(line, lane, group).v);
        [[unroll]] for (uint j = 0u; j < ITEMS; j++)
            if (j < used)
                put_item(places, line, place_of_item(r, params.shift, j), items[j]);
    }
}
