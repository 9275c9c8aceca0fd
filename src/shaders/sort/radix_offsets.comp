// SPDX-License-Identifier: Apache-2.0
/* KERN_SORT by digits: replaces the counts of a line's digit per part by the counts of the parts before. */
#version 460
#extension GL_GOOGLE_include_directive : require
#define PARAMETERS radix_params
#include "shaders/sort/sort_params.h"
#include "shaders/core/views.glsl"
#include "shaders/sort/radix.glsl"
#include "shaders/sort/radix_scan.glsl"

void main()
{
    uint lane = scan_self();
    EACH_GROUP_UNIT(unit)
    {
        uint line = unit / RADIX, digit = unit % RADIX, total = 0u;
        for (uint first = 0u; first < params.groups; first += GROUP_SIZE) {
            uint group = first + lane, count = 0u;
            if (group < params.groups)
                count = radix_count(line, digit, group).v;
            uint all, before = total + sum_before(count, all);
            if (group < params.groups)
                radix_count(line, digit, group).v = before;
            total += all;
        }
        if (lane == 0u)
            radix_total(line, digit).v = total;
    }
}
