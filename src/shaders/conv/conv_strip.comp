// SPDX-License-Identifier: Apache-2.0
/* KERN_CONV of single channels (depthwise) as conv_depth.comp, of many pixels: RESULTS neighbouring pixels of a line
 * per invocation, which load and convert each element of X that several of their windows share only once, and 16 bytes
 * of channels. Windows are COLUMNS wide and move by one column. Adjacent invocations have adjacent channels and then
 * lines, so that shared elements are in the first-level cache. */
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#define UNIFORM_BLOCK
#define PARAMETERS conv_parts_params
#define CONV       params.conv
#include "shaders/conv/conv_params.h"
#include "shaders/core/views.glsl"
#include "shaders/conv/conv_finish.glsl"

#define RESULTS CONV_STRIP_RESULTS
#define LOADS   (RESULTS - 1 + COLUMNS)

/* Of the window. */
layout(constant_id = 2) const uint ROWS = 3;

/* Eight channels, of FLOAT32 four. */
struct Channels {
    vec4 low, high;
};

uint vector_of(uint type)
{
    return type == TYPE_FLOAT32 ? 4u : 8u;
}

Channels unpack_channels(uint type, uvec4 words)
{
    return Channels(unpack_vec4(type, words), type == TYPE_FLOAT32 ? vec4(0.0) : unpack_vec4(type, words.zwxy));
}

uvec4 load_channels(uint type, uvec2 base, int at)
{
    return QuadArray(base).v[at >> (type == TYPE_FLOAT32 ? 2 : 3)];
}

/* One line of the windows; x_at: of its first element, `left` elements from the start of the line. */
void add_line(uint type, uvec2 x_base, int x_at, int left, bool there, uvec2 w_base, int w_at, inout Channels sums[RESULTS])
{
    Channels x[LOADS];
    [[unroll]] for (int i = 0; i < LOADS; i++) {
        bool inside = there && uint(left + i) < uint(CONV.in_sizes[2]);
        uvec4 words = load_channels(type, x_base, inside ? x_at + i * CONV.x[4] : 0);
        x[i] = unpack_channels(type, inside ? words : uvec4(0u));
    }
    [[unroll]] for (int j = 0; j < COLUMNS; j++) {
        Channels w = unpack_channels(type, load_channels(type, w_base, w_at + j * CONV.w[4]));
        [[unroll]] for (int i = 0; i < RESULTS; i++) {
            sums[i].low += x[i + j].low * w.low;
            if (type != TYPE_FLOAT32)
                sums[i].high += x[i + j].high * w.high;
        }
    }
}

vec4 bias_of_four(uint channel)
{
    vec4 bias = vec4(0.0);
    if (HAS_BIAS)
        for (uint e = 0u; e < 4u; e++)
            bias[e] = bias_of(channel + e);
    return bias;
}

Four four_of(int y_at, uint number, vec4 bias)
{
    Four four;
    four.y_at = y_at;
    four.bias = bias;
    [[unroll]] for (uint i = 0u; i < 8u; i++)
        if ((STEP_TENSORS >> i & 1u) != 0u)
            four.operands[i] = operands_of(uint(step_of(i).tensor), step_of(i).place, number, y_at);
    return four;
}

/* number: of the first channel in the image of channel 0. */
void store_channels(uint type, int y_at, uint number, Channels bias, Channels sums)
{
    Four low = four_of(y_at, number, bias.low);
    if (type == TYPE_FLOAT32) {
        store_vec4(type_of(header.inputs), address_of(header.inputs), y_at, 1, 4u, finish_four(low, sums.low));
        return;
    }
    store_eight(low, four_of(y_at + 4, number + 4u * params.by_pixels.size, bias.high), sums.low, sums.high);
}

void main()
{
    uint type = type_of(0u);
    EACH_UNIT(unit)
    {
        uint row = divide(unit, params.by_tiles_n), vector = unit - row * params.by_tiles_n.size;
        uint strip = divide(row, CONV.by_out[1]), image = divide(strip, params.by_tiles_m);
        row -= strip * CONV.by_out[1].size;
        uint column = (strip - image * params.by_tiles_m.size) * RESULTS, part = divide(image, params.by_splits);
        image -= part * params.by_splits.size;
        uint channel = (part * params.by_tiles_n.size + vector) * vector_of(type);
        int top = int(row) * CONV.steps[1] - CONV.pad[1], left = int(column) - CONV.pad[2];
        int x_at = int(image) * CONV.x[0] + int(channel) + left * CONV.x[4];
        uvec2 x_base = address_of(0u), w_base = address_of(1u);
        Channels sums[RESULTS];
        [[unroll]] for (int i = 0; i < RESULTS; i++)
            sums[i] = Channels(vec4(0.0), vec4(0.0));
        [[unroll]] for (uint i = 0u; i < ROWS; i++) {
            int y = top + int(i) * CONV.dilations[1];
            add_line(type, x_base, x_at + y * CONV.x[3], left, uint(y) < uint(CONV.in_sizes[1]), w_base,
                     int(channel) + int(i) * CONV.w[3], sums);
        }
        Channels bias = Channels(bias_of_four(channel), vec4(0.0));
        if (type != TYPE_FLOAT32)
            bias.high = bias_of_four(channel + 4u);
        uint within = row * CONV.by_out[2].size + column;
        uint number = (image * CONV.out_channels + channel) * params.by_pixels.size + within;
        int y_at = int(image) * CONV.y[0] + int(row) * CONV.y[3] + int(column) * CONV.y[4] + int(channel);
        [[unroll]] for (int i = 0; i < RESULTS; i++)
            if (column + uint(i) < CONV.by_out[2].size)
                store_channels(type, y_at + i * CONV.y[4], number + uint(i), bias, sums[i]);
    }
}
