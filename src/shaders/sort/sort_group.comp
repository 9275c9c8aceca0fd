// SPDX-License-Identifier: Apache-2.0
/* KERN_SORT by digits of lines that a workgroup sorts in shared memory, one line each: ITEMS elements in each invocation's
 * registers. Tensors: 0 X, 1 values, 2 positions. */
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#define PARAMETERS sort_group_params
#include "shaders/sort/sort_params.h"
#include "shaders/core/views.glsl"
#include "shaders/core/bits.glsl"
#include "shaders/sort/line.glsl"
#include "shaders/sort/sort_keys.glsl"
#include "shaders/sort/radix_scan.glsl"
#include "shaders/sort/sort_write.glsl"

layout(constant_id = 2) const bool SHORT_KEYS = false; /* of 16 bits at most: positions are above them */

uint keys[ITEMS], positions[ITEMS];

#define KEY(j) keys[j]
#include "shaders/sort/radix_rank.glsl"

/* All in order of a digit; exchanged[] has positions in that order, of SHORT_KEYS above the keys. */
void sort_digit(Ranking r, uint first, uint shift)
{
    uint places[ITEMS];
    begin_ranking(r);
    rank_all(r, shift, ITEMS);
    begin_digits(r);
    [[unroll]] for (uint j = 0u; j < ITEMS; j++) {
        places[j] = place_of_item(r, shift, j);
        exchanged[places[j]] = keys[j];
    }
    barrier();
    [[unroll]] for (uint j = 0u; j < ITEMS; j++)
        keys[j] = exchanged[first + j * r.size];
    if (SHORT_KEYS)
        return;
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
        LinePlaces places = places_of_line(params.axis, line);
        int stride = view(0).strides[params.axis];
        [[unroll]] for (uint j = 0u; j < ITEMS; j++) {
            uint i = first + j * r.size;
            keys[j] = SHORT_KEYS ? 0xffffu : 0xffffffffu; /* after all others, since they are sorted last */
            if (i < params.size)
                keys[j] = key_of(load_bits(0u, places.x + int(i) * stride)).x;
            keys[j] |= SHORT_KEYS ? i << 16 : 0u;
            positions[j] = i;
        }
        for (uint digit = 0u; digit < params.digits; digit++)
            sort_digit(r, first, RADIX_BITS * digit);
        for (uint k = gl_LocalInvocationID.x; k < params.kept; k += GROUP_SIZE)
            write_result_at(places, params.axis, k, SHORT_KEYS ? exchanged[k] >> 16 : exchanged[k]);
    }
}
