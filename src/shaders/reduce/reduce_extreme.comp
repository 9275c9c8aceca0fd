// SPDX-License-Identifier: Apache-2.0
/* KERN_REDUCE: minimum, maximum and their positions, of every type. Tensors: 0 X, 1 Y: positions, of X's type, or both
 * of floating-point types except for FLOAT64. */
#version 460
#extension GL_GOOGLE_include_directive : require
#define UNIFORM_BLOCK
#define PARAMETERS line_params
#include "shaders/reduce/reduce_params.h"
#include "shaders/core/views.glsl"
#include "shaders/core/order.glsl"
#include "shaders/reduce/extreme.glsl"

void combine(inout Total a, Total b)
{
    combine_extremes(a, b, params.last != 0u);
}

#define PARTIAL_BYTES 16u
#include "shaders/reduce/lines.glsl"
#include "shaders/reduce/parts.glsl"
#include "shaders/reduce/extreme_store.glsl"

Total find(uint line, uint part)
{
    Total total = Total(uvec2(0u), NONE, 0u);
    uint end = line < params.lines ? part_begin(part + 1u) : 0u;
    int x = at_line(0u, line);
    for (uint k = part_begin(part) + lane(); k < end; k += params.lanes) {
        Total one;
        if (params.finish != 0u)
            one = partial_at(line, k).v;
        else
            one = extreme_of(x + in_line(0u, k), k, params.mode == REDUCE_MIN || params.mode == REDUCE_ARGMIN);
        combine(total, one);
    }
    return across_lanes(total);
}

void main()
{
    EACH_GROUP_UNIT(unit)
    {
        uint line = unit / params.parts * slots() + slot(), part = unit % params.parts;
        Total total = find(line, part);
        if (lane() != 0u || line >= params.lines)
            continue;
        if (params.parts > 1u)
            partial_at(line, part).v = total;
        else
            store_extreme(line, total.position);
    }
}
