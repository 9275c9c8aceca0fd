// SPDX-License-Identifier: Apache-2.0
/* KERN_CONV of single channels (depthwise) in NHWC (X, W and Y): four channels of a pixel per invocation. Elements
 * outside the image are replaced by valid loads and count as zero: no load is in a branch, so that all of them are
 * issued at once. Tensors: as for conv_any.comp, X and W of one type. */
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#define UNIFORM_BLOCK
#define PARAMETERS conv_parts_params
#define CONV       params.conv
#include "shaders/conv/conv_params.h"
#include "shaders/core/views.glsl"
#include "shaders/conv/conv_finish.glsl"

/* The window's size. */
layout(constant_id = 2) const uint ROWS = 3;
layout(constant_id = 3) const uint COLUMNS = 3;

vec4 load_four(uint type, uvec2 base, int at)
{
    if (type == TYPE_FLOAT32)
        return unpack_vec4(type, QuadArray(base).v[at >> 2]);
    return unpack_vec4(type, uvec4(PairArray(base).v[at >> 2], 0u, 0u));
}

vec4 sum_window(uint m, uint channel)
{
    uint image = divide(m, params.by_pixels), within = m - image * params.by_pixels.size;
    uint row = divide(within, CONV.by_out[2]), column = within - row * CONV.by_out[2].size, type = type_of(0u);
    ivec2 at = ivec2(row, column) * ivec2(CONV.steps[1], CONV.steps[2]) - ivec2(CONV.pad[1], CONV.pad[2]);
    ivec2 dilation = ivec2(CONV.dilations[1], CONV.dilations[2]), size = ivec2(CONV.in_sizes[1], CONV.in_sizes[2]);
    int x_at = int(image) * CONV.x[0] + int(channel);
    uvec2 x_base = address_of(0u), w_base = address_of(1u);
    vec4 sum = vec4(0.0);
    [[unroll]] for (uint i = 0u; i < ROWS; i++) {
        int y = at.x + int(i) * dilation.x;
        [[unroll]] for (uint j = 0u; j < COLUMNS; j++) {
            int x = at.y + int(j) * dilation.y;
            bool inside = uint(y) < uint(size.x) && uint(x) < uint(size.y);
            vec4 value = load_four(type, x_base, inside ? x_at + y * CONV.x[3] + x * CONV.x[4] : int(channel));
            vec4 weight = load_four(type, w_base, int(channel) + int(i) * CONV.w[3] + int(j) * CONV.w[4]);
            sum += inside ? value * weight : vec4(0.0);
        }
    }
    return sum;
}

void main()
{
    EACH_UNIT(unit)
    {
        uint m = divide(unit, params.by_tiles_n), channel = 4u * (unit - m * params.by_tiles_n.size);
        Four four = prepare_four(m, channel);
        vec4 result = finish_four(four, sum_window(m, channel));
        store_vec4(type_of(header.inputs), address_of(header.inputs), four.y_at, 1, 4u, result);
    }
}
