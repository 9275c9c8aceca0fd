// SPDX-License-Identifier: Apache-2.0
/* KERN_SOFTMAX, hard: 1 at the first largest element of a line, else 0. Tensors: 0 X, 1 Y. */
#version 460
#extension GL_GOOGLE_include_directive : require
#define PARAMETERS line_params
#include "shaders/reduce/reduce_params.h"
#include "shaders/core/views.glsl"
#include "shaders/core/order.glsl"
#include "shaders/reduce/extreme.glsl"

void combine(inout Total a, Total b)
{
    combine_extremes(a, b, false);
}

#define PARTIAL_BYTES 16u
#include "shaders/reduce/lines.glsl"
#include "shaders/reduce/parts.glsl"

void store_bool(int at, bool value)
{
    Place place = place_of(1u, at);
    if (type_of(1u) == TYPE_FLOAT64)
        Pairs(place.address).v = uvec2(0u, value ? 0x3ff00000u : 0u);
    else
        store(place, type_of(1u), uvec2(floatBitsToUint(value ? 1.0 : 0.0), 0u), TYPE_FLOAT32);
}

Total find(uint line, uint begin, uint end)
{
    Total total = Total(uvec2(0u), NONE, 0u);
    int x = at_line(0u, line);
    for (uint k = begin + lane(); k < end; k += params.lanes)
        combine(total, extreme_of(x + in_line(0u, k), k, false));
    return total;
}

Total find_in_parts(uint line)
{
    Total total = Total(uvec2(0u), NONE, 0u);
    for (uint k = lane(); k < params.partials; k += params.lanes)
        combine(total, partial_at(min(line, params.lines - 1u), k).v);
    return total;
}

void main()
{
    EACH_GROUP_UNIT(unit)
    {
        uint line = unit / params.parts * slots() + slot(), part = unit % params.parts;
        uint begin = part_begin(part), end = line < params.lines ? part_begin(part + 1u) : begin;
        int y = at_line(1u, line);
        Total total;
        if (params.finish != 0u)
            total = find_in_parts(line);
        else
            total = find(line, begin, end);
        total = across_lanes(total);
        if (params.partials != 0u && params.finish == 0u) {
            if (lane() == 0u && line < params.lines)
                partial_at(line, part).v = total;
            continue;
        }
        for (uint k = begin + lane(); k < end; k += params.lanes)
            store_bool(y + in_line(1u, k), k == total.position);
    }
}
