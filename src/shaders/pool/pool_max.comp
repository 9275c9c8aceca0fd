// SPDX-License-Identifier: Apache-2.0
/* KERN_POOL: maximum. Tensors: 0 X, 1 Y, [2 indices]. Also stores the positions of the largest elements for
 * KERN_POOL_GRAD. */
#version 460
#extension GL_GOOGLE_include_directive : require
#define UNIFORM_BLOCK
#define PARAMETERS pool_params
#include "shaders/pool/pool_params.h"
#include "shaders/core/views.glsl"
#include "shaders/core/order.glsl"
#include "shaders/pool/windows.glsl"

#define NONE 0xffffffffu

struct Total {
    uvec2 order; /* of the largest element */
    uint tap;    /* the first maximum, or NONE: only NaNs, or no element */
};

void combine(inout Total a, Total b)
{
    bool first = a.order == b.order && b.tap < a.tap;
    if (b.tap != NONE && (a.tap == NONE || order_greater(b.order, a.order) || first))
        a = b;
}

#include "shaders/reduce/lanes.glsl"

Total greatest(Window w, uint count)
{
    Total total = Total(uvec2(0u), NONE);
    bool real = type_is_real(type_of(params.x));
    for (uint i = lane(); i < count; i += params.lanes) {
        uint position;
        uvec2 order = order_of(params.x, tap_at(w, i, position));
        combine(total, Total(order, real && order == uvec2(0u) ? NONE : i));
    }
    return across_lanes(total);
}

void store_lowest(int at)
{
    uint type = type_of(1u);
    Place place = place_of(1u, at);
    if (type_shift(type) == 3u)
        Pairs(place.address).v =
            uvec2(0u, type == TYPE_FLOAT64 ? 0xfff00000u : type == TYPE_INT64 ? 0x80000000u : 0u);
    else
        store(place, type, uvec2(floatBitsToUint(-INFINITY), 0u), TYPE_FLOAT32);
}

void store_index(int at, uint index)
{
    Place place = place_of(2u, at);
    if (type_shift(type_of(2u)) == 3u)
        Pairs(place.address).v = uvec2(index, 0u);
    else
        Words(place.address).v = index;
}

/* tap: at best_at, number `position` in its channel; or NONE */
void store_all(uint where[5], uint tap, int best_at, uint position)
{
    int y = at_coordinates(1u, where);
    uint plane = 1u;
    if (tap == NONE)
        store_lowest(y);
    else
        copy_element(1u, y, 0u, best_at);
    if (params.has_indices == 0u)
        return;
    for (uint d = 2u; d < 5u; d++)
        plane *= view(0).sizes[d];
    if (params.whole_indices != 0u)
        position += (where[0] * view(1).sizes[1] + where[1]) * plane;
    store_index(at_coordinates(2u, where), tap == NONE ? 0u : position);
}

void main()
{
    EACH_GROUP_UNIT(unit)
    {
        uint where[5], number = unit * slots() + slot(), position, y = params.y;
        bool there = number < elements_of(y);
        coordinates(y, number, where);
        Window w = window_of(where);
        uint tap = greatest(w, there ? taps_of(w) : 0u).tap;
        if (!there || lane() != 0u)
            continue;
        int best_at = tap_at(w, tap == NONE ? 0u : tap, position);
        if (params.scratch != 0u)
            Words(chosen_at(number)).v = tap == NONE ? NONE : position;
        else
            store_all(where, tap, best_at, position);
    }
}
