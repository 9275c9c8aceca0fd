// SPDX-License-Identifier: Apache-2.0
/* KERN_RESAMPLE of two dimensions, rows and columns, whose results take up to two inputs along each: four neighbouring
 * results per invocation, of a row or of the channels, whichever is innermost. Tensors: 0 X, 1 Y. */
#version 460
#extension GL_GOOGLE_include_directive : require
#define PARAMETERS resample_two_params
#include "shaders/resample/resample_params.h"
#include "shaders/core/views.glsl"
#include "shaders/core/vector.glsl"

layout(constant_id = 2) const bool CHANNELS = false;

/* Inputs first and first + step; how much the second one counts. */
struct Tap {
    int first, step;
    float weight;
};

Tap tap_of(uint table, uint at)
{
    uvec2 words = Pairs(add64(push.block, uvec2(table + 8u * at, 0u))).v;
    return Tap(int(words.x & 0x7fffffffu), int(words.x >> 31), uintBitsToFloat(words.y));
}

/* What does not count is not looked at: it may be infinite. */
vec4 mixed(vec4 a, vec4 b, vec4 weight)
{
    vec4 y = a * (1.0 - weight) + b * weight;
    return vec4(weight.x == 0.0 ? a.x : y.x, weight.y == 0.0 ? a.y : y.y, weight.z == 0.0 ? a.z : y.z,
                weight.w == 0.0 ? a.w : y.w);
}

float load_float(uint type, uvec2 base, int at)
{
    if (type == TYPE_FLOAT32)
        return uintBitsToFloat(Words(place_at(type, base, at).address).v);
    uint bits = load_short(place_at(type, base, at).address);
    return type == TYPE_FLOAT16 ? half_to_float(bits) : bfloat_to_float(bits);
}

/* Four results of a row, from column `column` on; those beyond its end repeat the last. */
vec4 four_columns(uvec2 base, int at, Tap row, uint column)
{
    uint type = type_of(0u);
    int down = row.step * params.x_row;
    vec4 a = vec4(0.0), b = a, c = a, d = a, weight = a;
    at += row.first * params.x_row;
    for (uint e = 0u; e < 4u; e++) {
        Tap tap = tap_of(params.columns_table, min(column + e, params.columns - 1u));
        int from = at + tap.first * params.x_column, right = tap.step * params.x_column;
        a = vec4(a.yzw, load_float(type, base, from));
        b = vec4(b.yzw, load_float(type, base, from + right));
        c = vec4(c.yzw, load_float(type, base, from + down));
        d = vec4(d.yzw, load_float(type, base, from + down + right));
        weight = vec4(weight.yzw, tap.weight);
    }
    return mixed(mixed(a, b, weight), mixed(c, d, weight), vec4(row.weight));
}

vec4 four_channels(uvec2 base, int at, Tap row, Tap column, uint count)
{
    uint type = type_of(0u);
    int down = row.step * params.x_row, right = column.step * params.x_column;
    at += row.first * params.x_row + column.first * params.x_column;
    vec4 a = load_vec4(type, base, at, 1, count), b = load_vec4(type, base, at + right, 1, count);
    vec4 c = load_vec4(type, base, at + down, 1, count), d = load_vec4(type, base, at + down + right, 1, count);
    vec4 weight = vec4(column.weight);
    return mixed(mixed(a, b, weight), mixed(c, d, weight), vec4(row.weight));
}

void main()
{
    uvec2 from = address_of(0u), to = address_of(1u);
    EACH_UNIT(unit)
    {
        uint line = divide(unit, params.by_quads), quad = 4u * (unit - line * params.by_quads.size), column = quad;
        if (CHANNELS) {
            uint before = divide(line, params.by_columns);
            column = line - before * params.by_columns.size;
            line = before;
        }
        uint outer = divide(line, params.by_rows), row = line - outer * params.by_rows.size;
        int x = 0, y = int(row) * params.y_row + int(column) * params.y_column;
        for (uint d = 0u; d < params.outer; d++) {
            uint rest = divide(outer, params.by_outer[d]);
            int index = int(outer - rest * params.by_outer[d].size);
            x += index * params.x_outer[d];
            y += index * params.y_outer[d];
            outer = rest;
        }
        Tap down = tap_of(params.rows_table, row);
        vec4 value;
        uint count = min((CHANNELS ? params.channels : params.columns) - quad, 4u);
        if (CHANNELS) {
            value = four_channels(from, x + int(quad), down, tap_of(params.columns_table, column), count);
            y += int(quad);
        } else {
            value = four_columns(from, x, down, column);
        }
        store_vec4(type_of(1u), to, y, CHANNELS ? 1 : params.y_column, count, value);
    }
}
