// SPDX-License-Identifier: Apache-2.0
/* KERN_POOL_GRAD with indices: an element of dX is the sum of dY over the windows that contain it and whose index it is.
 * An invocation computes one, in the order of dX in memory. Tensors: 0 dY, 1 indices, 2 dX. */
#version 460
#extension GL_GOOGLE_include_directive : require
#define UNIFORM_BLOCK
#define PARAMETERS pool_index_params
#include "shaders/pool/pool_params.h"
#include "shaders/core/views.glsl"

/* Windows along each dimension: the first one that reaches the element, and how many do. */
uvec3 first_windows, window_counts;

void find_windows(uvec3 padded)
{
    for (uint d = 0u; d < 3u; d++) {
        uint reach = params.reach[d], step = params.by_step[d].size;
        uint first = padded[d] > reach ? divide(padded[d] - reach + step - 1u, params.by_step[d]) : 0u;
        uint end = min(divide(padded[d], params.by_step[d]) + 1u, params.out_sizes[d]);
        first_windows[d] = first;
        window_counts[d] = end > first ? end - first : 0u;
    }
}

bool has_index(int at, uint position)
{
    uvec2 address = place_of(1u, at).address;
    if (type_shift(type_of(1u)) == 3u)
        return Pairs(address).v == uvec2(position, 0u);
    return Words(address).v == position;
}

/* Whether the element at this distance from the window's first one is one of its elements: between them others are
 * not. */
bool is_tap(uvec3 distance)
{
    for (uint d = 0u; d < 3u; d++)
        if (divide(distance[d], params.by_dilation[d]) * params.by_dilation[d].size != distance[d])
            return false;
    return true;
}

REAL add_up(uvec3 padded, uint position, int dy_at, int index_at)
{
    REAL sum = REAL(0.0);
    find_windows(padded);
    uint total = window_counts.x * window_counts.y * window_counts.z;
    uvec3 window = uvec3(0u);
    for (uint i = 0u; i < total; i++) {
        ivec3 at = ivec3(first_windows + window);
        int index = index_at + at.x * params.index[2] + at.y * params.index[3] + at.z * params.index[4];
        uvec3 steps = uvec3(params.by_step[0].size, params.by_step[1].size, params.by_step[2].size);
        if (has_index(index, position) && is_tap(padded - uvec3(at) * steps))
            sum += load_real(0u, dy_at + at.x * params.dy[2] + at.y * params.dy[3] + at.z * params.dy[4]);
        window.z++;
        if (window.z == window_counts.z) {
            window.z = 0u;
            window.y++;
        }
        if (window.y == window_counts.y) {
            window.y = 0u;
            window.x++;
        }
    }
    return sum;
}

void main()
{
    EACH_UNIT(number)
    {
        uint channel = 0u, left = number;
        if (params.channels_last != 0u) {
            left = divide(number, params.by_channels);
            channel = number - left * params.by_channels.size;
        }
        uint line = divide(left, params.by_in[2]), plane = divide(line, params.by_in[1]);
        uint image = divide(plane, params.by_in[0]);
        uvec3 at = uvec3(plane - image * params.by_in[0].size, line - plane * params.by_in[1].size,
                         left - line * params.by_in[2].size);
        if (params.channels_last == 0u) {
            uint all = image;
            image = divide(all, params.by_channels);
            channel = all - image * params.by_channels.size;
        }
        uint position = (at.x * params.by_in[1].size + at.y) * params.by_in[2].size + at.z;
        uvec3 padded = at + uvec3(params.pad[0], params.pad[1], params.pad[2]);
        ivec2 outer = ivec2(image, channel);
        REAL sum = add_up(padded, position, outer.x * params.dy[0] + outer.y * params.dy[1],
                          outer.x * params.index[0] + outer.y * params.index[1]);
        ivec3 to = ivec3(at) * ivec3(params.dx[2], params.dx[3], params.dx[4]);
        store_real(2u, outer.x * params.dx[0] + outer.y * params.dx[1] + to.x + to.y + to.z, sum);
    }
}
