// SPDX-License-Identifier: Apache-2.0
/* KERN_POOL, maximum or average, in NCHW: four adjacent results per invocation, which share the common part of their
 * windows. Tensors: 0 X, 1 Y. */
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#define PARAMETERS pool_plane_params
#include "shaders/pool/pool_params.h"
#include "shaders/core/views.glsl"
#include "shaders/core/vector.glsl"

/* The window's size, its step along a row. */
layout(constant_id = 2) const uint ROWS = 3;
layout(constant_id = 3) const uint COLUMNS = 3;
layout(constant_id = 4) const uint STEP = 1;
layout(constant_id = 5) const bool AVERAGE = false;

#define SPAN     (3u * STEP + COLUMNS) /* elements of a row that four windows cover */
#define SPAN_MAX 16

float values[SPAN_MAX];

float load_float(uint type, uvec2 base, int at)
{
    if (type == TYPE_FLOAT32)
        return uintBitsToFloat(Words(place_at(type, base, at).address).v);
    uint bits = load_short(place_at(type, base, at).address);
    return type == TYPE_FLOAT16 ? half_to_float(bits) : bfloat_to_float(bits);
}

/* SPAN elements from column x of the row on; neutral elements outside. */
void load_row(uvec2 base, int row, int x)
{
    uint type = type_of(0u);
    [[unroll]] for (uint i = 0u; i < SPAN; i++) {
        int column = x + int(i);
        bool inside = uint(column) < uint(params.in_sizes[1]);
        float value = load_float(type, base, row + clamp(column, 0, params.in_sizes[1] - 1));
        values[i] = inside ? value : AVERAGE ? 0.0 : -INFINITY;
    }
}

/* The columns of a window starting at x that are inside the row. */
int inside_count(int x, int window, int size)
{
    return max(min(x + window, size) - max(x, 0), 0);
}

vec4 pool_windows(int y, int x, int at)
{
    uvec2 base = address_of(0u);
    vec4 total = vec4(AVERAGE ? 0.0 : -INFINITY);
    [[unroll]] for (uint i = 0u; i < ROWS; i++) {
        int row = y + int(i);
        if (uint(row) >= uint(params.in_sizes[0]))
            continue;
        load_row(base, at + row * params.x_row, x);
        [[unroll]] for (uint j = 0u; j < COLUMNS; j++)
            [[unroll]] for (uint e = 0u; e < 4u; e++) { /* NaNs are larger than no element */
                float value = values[e * STEP + j];
                total[e] = AVERAGE ? total[e] + value : value > total[e] ? value : total[e];
            }
    }
    if (!AVERAGE)
        return total;
    for (uint e = 0u; e < 4u; e++) {
        int count = int(ROWS * COLUMNS);
        if (params.include_padding == 0u)
            count = inside_count(y, int(ROWS), params.in_sizes[0]) *
                    inside_count(x + int(e * STEP), int(COLUMNS), params.in_sizes[1]);
        total[e] = count > 0 ? total[e] / float(count) : 0.0;
    }
    return total;
}

void main()
{
    EACH_UNIT(unit)
    {
        uint line = divide(unit, params.by_quads), column = 4u * (unit - line * params.by_quads.size);
        uint plane = divide(line, params.by_rows), row = line - plane * params.by_rows.size;
        uint image = divide(plane, params.by_channels), channel = plane - image * params.by_channels.size;
        int from = int(image) * params.x[0] + int(channel) * params.x[1];
        int to = int(image) * params.y[0] + int(channel) * params.y[1] + int(row) * params.y_row + int(column);
        vec4 result = pool_windows(int(row) * params.down - params.pad[0], int(column * STEP) - params.pad[1], from);
        store_vec4(type_of(1u), address_of(1u), to, 1, min(params.columns - column, 4u), result);
    }
}
