// SPDX-License-Identifier: Apache-2.0
/* KERN_POOL_GRAD: one element of dX per invocation, which adds up what the windows give that it is in. Tensors: [X], dY
 * (params.y), dX. Maximum: pool_max.comp has left the positions of the elements chosen in scratch memory. */
#version 460
#extension GL_GOOGLE_include_directive : require
#define PARAMETERS pool_params
#include "shaders/pool/pool_params.h"
#include "shaders/core/views.glsl"
#include "shaders/pool/windows.glsl"

/* The windows that may reach coordinate `at` of spatial dimension d: [*out_first, *out_first + result). */
uint windows_along(uint d, uint at, out uint first)
{
    uint padded = at + params.pad[d], reach = (params.window[d] - 1u) * params.dilations[d], step = params.strides[d];
    uint y = params.y, end = min(padded / step + 1u, view(y).sizes[d + 2u]);
    first = padded > reach ? (padded - reach + step - 1u) / step : 0u;
    return end > first ? end - first : 0u;
}

/* What the window with coordinates `from` gives to the element `at`, whose position in its channel is `position`. */
REAL given(uint from[5], uint at[5], uint position)
{
    uint y = params.y, number = 0u;
    REAL share = load_real(y, at_coordinates(y, from));
    for (uint d = 0u; d < 5u; d++)
        number = number * view(y).sizes[d] + from[d];
    if (params.mode == POOL_MAX)
        return Words(scratch_at(4u * number)).v == position ? share : REAL(0.0);
    for (uint d = 0u; d < 3u; d++) {
        uint first, count;
        taps_along(d, from[d + 2u], first, count);
        if ((at[d + 2u] + params.pad[d] - from[d + 2u] * params.strides[d]) % params.dilations[d] != 0u)
            return REAL(0.0);
        share /= average_count(d, count);
    }
    return share;
}

void main()
{
    uint out_tensor = header.inputs;
    EACH_UNIT(number)
    {
        uint at[5], from[5], first[3], count[3], total = 1u, plane = 1u;
        coordinates(out_tensor, number, at);
        for (uint d = 0u; d < 3u; d++) {
            count[d] = windows_along(d, at[d + 2u], first[d]);
            total *= count[d];
            plane *= view(out_tensor).sizes[d + 2u];
        }
        from[0] = at[0];
        from[1] = at[1];
        REAL sum = REAL(0.0);
        for (uint i = 0u; i < total; i++) {
            uint left = i;
            for (uint d = 3u; d-- > 0u;) {
                from[d + 2u] = first[d] + left % count[d];
                left /= count[d];
            }
            sum += given(from, at, number % plane);
        }
        store_real(out_tensor, at_coordinates(out_tensor, at), sum);
    }
}
