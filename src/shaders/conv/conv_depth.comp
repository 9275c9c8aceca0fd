// SPDX-License-Identifier: Apache-2.0
/* KERN_CONV of single channels (depthwise) in NHWC (X, W and Y): four channels of a pixel per invocation, or with SPLIT
 * of one row of its window. Elements outside the image are replaced by valid loads and count as zero: no load is in a
 * branch, so that all of them are issued at once. Tensors: as for conv_any.comp, X and W of one type. */
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
layout(constant_id = 4) const bool SPLIT = false;

#define PER_GROUP (GROUP_SIZE / ROWS) /* results of a workgroup, if SPLIT */

shared vec4 parts[GROUP_SIZE]; /* [row][result] */

vec4 load_four(uint type, uvec2 base, int at)
{
    if (type == TYPE_FLOAT32)
        return unpack_vec4(type, QuadArray(base).v[at >> 2]);
    return unpack_vec4(type, uvec4(PairArray(base).v[at >> 2], 0u, 0u));
}

/* The window of an invocation's result. */
struct Window {
    ivec2 at;         /* its first row and column in the image */
    int x_at, channel; /* the start of the image's channel in X */
};

Window window_of(uint m, uint channel)
{
    uint image = divide(m, params.by_pixels), within = m - image * params.by_pixels.size;
    uint row = divide(within, CONV.by_out[2]), column = within - row * CONV.by_out[2].size;
    ivec2 at = ivec2(row, column) * ivec2(CONV.steps[1], CONV.steps[2]) - ivec2(CONV.pad[1], CONV.pad[2]);
    return Window(at, int(image) * CONV.x[0] + int(channel), int(channel));
}

vec4 sum_row(Window window, uint i)
{
    uint type = type_of(0u);
    uvec2 x_base = address_of(0u), w_base = address_of(1u);
    int y = window.at.x + int(i) * CONV.dilations[1];
    vec4 sum = vec4(0.0);
    [[unroll]] for (uint j = 0u; j < COLUMNS; j++) {
        int x = window.at.y + int(j) * CONV.dilations[2];
        bool inside = uint(y) < uint(CONV.in_sizes[1]) && uint(x) < uint(CONV.in_sizes[2]);
        vec4 value = load_four(type, x_base, inside ? window.x_at + y * CONV.x[3] + x * CONV.x[4] : window.channel);
        vec4 weight = load_four(type, w_base, window.channel + int(i) * CONV.w[3] + int(j) * CONV.w[4]);
        sum += inside ? value * weight : vec4(0.0);
    }
    return sum;
}

vec4 sum_window(uint m, uint channel)
{
    Window window = window_of(m, channel);
    vec4 sum = vec4(0.0);
    [[unroll]] for (uint i = 0u; i < ROWS; i++)
        sum += sum_row(window, i);
    return sum;
}

void store_four(Four four, vec4 sum)
{
    store_vec4(type_of(header.inputs), address_of(header.inputs), four.y_at, 1, 4u, finish_four(four, sum));
}

/* PER_GROUP results of a workgroup: each row of their windows by an invocation. */
void sum_split()
{
    uint self = gl_LocalInvocationID.x, row = self / PER_GROUP, results = params.m * params.by_tiles_n.size;
    EACH_GROUP_UNIT(group)
    {
        /* Those without a row or a result repeat the last one's: no load is in a branch. */
        uint own = group * PER_GROUP + self % PER_GROUP, unit = min(own, results - 1u);
        uint m = divide(unit, params.by_tiles_n), channel = 4u * (unit - m * params.by_tiles_n.size);
        Four four = prepare_four(m, channel);
        parts[self] = sum_row(window_of(m, channel), min(row, ROWS - 1u));
        barrier();
        if (row == 0u && own < results) {
            vec4 sum = parts[self];
            [[unroll]] for (uint i = 1u; i < ROWS; i++)
                sum += parts[i * PER_GROUP + self];
            store_four(four, sum);
        }
        barrier();
    }
}

void main()
{
    if (SPLIT) {
        sum_split();
        return;
    }
    EACH_UNIT(unit)
    {
        uint m = divide(unit, params.by_tiles_n), channel = 4u * (unit - m * params.by_tiles_n.size);
        Four four = prepare_four(m, channel);
        store_four(four, sum_window(m, channel));
    }
}
