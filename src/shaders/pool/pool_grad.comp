// SPDX-License-Identifier: Apache-2.0
/* KERN_POOL_GRAD: an element of dX is the sum of the contributions of the windows that contain it. Tensors: [X], dY
 * (params.y), dX. Maximum: pool_max.comp has stored the positions of the selected elements in scratch memory. */
#version 460
#extension GL_GOOGLE_include_directive : require
#define PARAMETERS pool_params
#include "shaders/pool/pool_params.h"
#include "shaders/core/views.glsl"
#include "shaders/pool/windows.glsl"

struct Total {
    REAL sum;
};

void combine(inout Total a, Total b)
{
    a.sum += b.sum;
}

#include "shaders/reduce/lanes.glsl"

/* The windows that may reach coordinate `at` of spatial dimension d: [*out_first, *out_first + result). */
uint windows_along(uint d, uint at, out uint first)
{
    uint padded = at + params.pad[d], reach = (params.window[d] - 1u) * params.dilations[d], step = params.strides[d];
    uint y = params.y, end = min(padded / step + 1u, view(y).sizes[d + 2u]);
    first = padded > reach ? (padded - reach + step - 1u) / step : 0u;
    return end > first ? end - first : 0u;
}

/* The contribution of the window with coordinates `from` to the element `at`, whose position in its channel is
 * `position`. */
REAL given(uint from[5], uint at[5], uint position)
{
    uint y = params.y, number = 0u;
    REAL share = load_real(y, at_coordinates(y, from));
    for (uint d = 0u; d < 5u; d++)
        number = number * view(y).sizes[d] + from[d];
    if (params.mode == POOL_MAX)
        return Words(chosen_at(number)).v == position ? share : REAL(0.0);
    for (uint d = 0u; d < 3u; d++) {
        uint first, count;
        taps_along(d, from[d + 2u], first, count);
        if ((at[d + 2u] + params.pad[d] - from[d + 2u] * params.strides[d]) % params.dilations[d] != 0u)
            return REAL(0.0);
        share /= average_count(d, count);
    }
    return share;
}

/* The sum for element `number` of a tensor with coordinates `at`. */
REAL add_up(uint at[5], uint number, uint plane, bool there)
{
    uint from[5], first[3], count[3], total = there ? 1u : 0u;
    Total sum = Total(REAL(0.0));
    from[0] = at[0];
    from[1] = at[1];
    for (uint d = 0u; d < 3u; d++) {
        count[d] = windows_along(d, at[d + 2u], first[d]);
        total *= count[d];
    }
    EACH_BLOCK(i, 0u, total)
    {
        Total block = Total(REAL(0.0));
        EACH_IN_BLOCK(k, i, total)
        {
            uint left = k;
            for (uint d = 3u; d-- > 0u;) {
                from[d + 2u] = first[d] + left % count[d];
                left /= count[d];
            }
            block.sum += given(from, at, number % plane);
        }
        combine(sum, block);
    }
    return across_lanes(sum).sum;
}

void main()
{
    uint dx = header.inputs;
    EACH_GROUP_UNIT(unit)
    {
        uint at[5], number = unit * slots() + slot(), plane = 1u;
        bool there = number < elements_of(dx);
        coordinates(dx, number, at);
        for (uint d = 2u; d < 5u; d++)
            plane *= view(dx).sizes[d];
        REAL sum = add_up(at, number, plane, there);
        if (there && lane() == 0u)
            store_real(dx, at_coordinates(dx, at), sum);
    }
}
