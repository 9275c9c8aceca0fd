// SPDX-License-Identifier: Apache-2.0
/* KERN_POOL: maximum, one window per invocation. Tensors: 0 X, 1 Y, [2 indices]. And which elements are the greatest,
 * for KERN_POOL_GRAD. */
#version 460
#extension GL_GOOGLE_include_directive : require
#define PARAMETERS pool_params
#include "shaders/pool/pool_params.h"
#include "shaders/core/views.glsl"
#include "shaders/core/order.glsl"
#include "shaders/pool/windows.glsl"

#define NONE 0xffffffffu

/* The position in its channel of the first greatest element, and where it is; NONE: there are only NaNs, or nothing. */
uint greatest(Window w, out int best_at)
{
    uint count = taps_of(w), best_position = NONE;
    uvec2 best = uvec2(0u);
    bool real = type_is_real(type_of(params.x));
    best_at = 0;
    for (uint i = 0u; i < count; i++) {
        uint position;
        int at = tap_at(w, i, position);
        uvec2 order = order_of(params.x, at);
        bool better = best_position == NONE ? !real || order != uvec2(0u) : order_greater(order, best);
        if (!better)
            continue;
        best = order;
        best_position = position;
        best_at = at;
    }
    return best_position;
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

void main()
{
    EACH_UNIT(number)
    {
        uint where[5], plane = 1u;
        int best_at;
        coordinates(params.y, number, where);
        uint position = greatest(window_of(where), best_at);
        if (params.scratch != 0u) {
            Words(scratch_at(4u * number)).v = position;
            continue;
        }
        int y = at_coordinates(1u, where);
        if (position == NONE)
            store_lowest(y);
        else
            copy_element(1u, y, 0u, best_at);
        if (params.has_indices == 0u)
            continue;
        for (uint d = 2u; d < 5u; d++)
            plane *= view(0).sizes[d];
        if (params.whole_indices != 0u)
            position += position == NONE ? 0u : (where[0] * view(1).sizes[1] + where[1]) * plane;
        store_index(at_coordinates(2u, where), position == NONE ? 0u : position);
    }
}
