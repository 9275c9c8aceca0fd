// SPDX-License-Identifier: Apache-2.0
/* KERN_SORT by digits: how many items of a part have each digit. */
#version 460
#extension GL_GOOGLE_include_directive : require
#define PARAMETERS radix_params
#include "shaders/sort/sort_params.h"
#include "shaders/core/views.glsl"
#include "shaders/sort/radix.glsl"

shared uint digits[RADIX];

void main()
{
    uint lane = gl_LocalInvocationID.x;
    EACH_GROUP_UNIT(unit)
    {
        uint line = unit / params.groups, group = unit % params.groups;
        int x = at_line(0u, params.axis, line);
        barrier();
        digits[lane] = 0u;
        barrier();
        for (uint j = 0u; j < RADIX_ITEMS; j += GROUP_SIZE) {
            uint i = group * RADIX_ITEMS + j + lane;
            if (i < params.size)
                atomicAdd(digits[radix_digit(radix_item(line, x, i).x)], 1u);
        }
        barrier();
        radix_count(line, lane, group).v = digits[lane];
    }
}
