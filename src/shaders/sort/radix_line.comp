// SPDX-License-Identifier: Apache-2.0
/* KERN_SORT: a line per workgroup, by digits of the keys, the lowest first. Tensors: 0 X, 1 values, 2 positions. */
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#define PARAMETERS radix_params
#include "shaders/sort/sort_params.h"
#include "shaders/core/views.glsl"
#include "shaders/sort/radix.glsl"
#include "shaders/sort/radix_scan.glsl"
#include "shaders/sort/sort_write.glsl"

#define ITEMS (RADIX_LINE / GROUP_SIZE)

uint keys[ITEMS], positions[ITEMS];

#define KEY(j) keys[j]
#include "shaders/sort/radix_rank.glsl"

shared uint exchanged[RADIX_LINE];

void sort_by(Ranking r, uint shift)
{
    uint first = first_item(r), places[ITEMS];
    begin_ranking(r);
    rank_all(r, shift, ITEMS);
    set_places(r, sum_before(digit_count(r)));
    [[unroll]] for (uint j = 0u; j < ITEMS; j++) {
        places[j] = place_of_item(r, shift, j);
        exchanged[places[j]] = keys[j];
    }
    barrier();
    [[unroll]] for (uint j = 0u; j < ITEMS; j++)
        keys[j] = exchanged[first + j * r.size];
    barrier();
    [[unroll]] for (uint j = 0u; j < ITEMS; j++)
        exchanged[places[j]] = positions[j];
    barrier();
    [[unroll]] for (uint j = 0u; j < ITEMS; j++)
        positions[j] = exchanged[first + j * r.size];
}

void main()
{
    Ranking r = ranking();
    uint first = first_item(r);
    EACH_GROUP_UNIT(line)
    {
        /* What is behind the line's end stays behind all others. */
        [[unroll]] for (uint j = 0u; j < ITEMS; j++) {
            positions[j] = first + j * r.size;
            keys[j] = 0xffffffffu;
            if (positions[j] < params.size)
                keys[j] = radix_item(line, positions[j]).x;
        }
        for (uint shift = 0u; shift < params.shift; shift += RADIX_BITS)
            sort_by(r, shift);
        [[unroll]] for (uint j = 0u; j < ITEMS; j++)
            if (first + j * r.size < params.kept)
                write_result(params.axis, line, first + j * r.size, positions[j]);
    }
}
