// SPDX-License-Identifier: Apache-2.0
/* KERN_NONZERO, the second step: a block per workgroup, 256 elements at a time. Tensors: 0 X, 1 counts, 2 their sum,
 * 3 coordinates. */
#version 460
#extension GL_GOOGLE_include_directive : require
#define PARAMETERS nonzero_params
#include "shaders/index/index_params.h"
#include "shaders/core/views.glsl"
#include "shaders/core/bits.glsl"
#include "shaders/index/nonzero.glsl"

void write_coordinates(uint row, uint number)
{
    uint columns = view(3).sizes[1];
    for (uint c = columns, d = view(0).rank; c-- > 0u;) {
        d--;
        int at = int(row) * view(3).strides[0] + int(c) * view(3).strides[1];
        Words(place_of(3u, at).address).v = number % view(0).sizes[d];
        number /= view(0).sizes[d];
    }
}

void main()
{
    uint lane = gl_LocalInvocationID.x;
    EACH_GROUP_UNIT(block)
    {
        uint begin = block * params.block, end = block_end(block), row = 0u;
        for (uint i = lane; i < block; i += GROUP_SIZE)
            row += Words(place_of(1u, int(i) * view(1).strides[0]).address).v;
        row = total_of(row);
        for (uint first = begin; first < end; first += GROUP_SIZE) {
            uint number = first + lane;
            bool found = number < end && is_nonzero(number);
            uint place = row + running_sum(found ? 1u : 0u) - 1u;
            if (found)
                write_coordinates(place, number);
            row += sums[GROUP_SIZE - 1];
        }
        if (lane == 0u && end == params.elements)
            Words(place_of(2u, 0).address).v = row;
    }
}
