// SPDX-License-Identifier: Apache-2.0
/* KERN_SOFTMAX, hard: 1 at the first greatest element of a line, else 0. Tensors: 0 X, 1 Y. */
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

#include "shaders/reduce/lines.glsl"

void store_bool(int at, bool value)
{
    Place place = place_of(1u, at);
    if (type_of(1u) == TYPE_FLOAT64)
        Pairs(place.address).v = uvec2(0u, value ? 0x3ff00000u : 0u);
    else
        store(place, type_of(1u), uvec2(floatBitsToUint(value ? 1.0 : 0.0), 0u), TYPE_FLOAT32);
}

void main()
{
    EACH_GROUP_UNIT(unit)
    {
        uint line = unit * slots() + slot(), end = line < params.lines ? params.size : 0u;
        int x = at_line(0u, line), y = at_line(1u, line);
        Total total = Total(uvec2(0u), NONE, 0u);
        for (uint k = lane(); k < end; k += params.lanes)
            combine(total, extreme_of(x + in_line(0u, k), k, false));
        total = across_lanes(total);
        for (uint k = lane(); k < end; k += params.lanes)
            store_bool(y + in_line(1u, k), k == total.position);
    }
}
