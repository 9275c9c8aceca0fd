// SPDX-License-Identifier: Apache-2.0
/* KERN_RESAMPLE of two dimensions, rows and columns, whose results depend on up to two inputs along each: VECTOR
 * adjacent results per invocation, contiguous in memory. Nearest inputs are copied, of any type. If the columns of all
 * vectors use inputs in the same pattern, the pattern is constant and each input is loaded once. Tensors: 0 X, 1 Y. */
#version 460
#extension GL_GOOGLE_include_directive : require
#define PARAMETERS resample_two_params
#include "shaders/resample/resample_params.h"
#include "shaders/core/views.glsl"
#include "shaders/core/vector.glsl"

layout(constant_id = 2) const uint LAYOUT = RESAMPLE_COLUMNS;
layout(constant_id = 3) const bool NEAREST = false;
layout(constant_id = 4) const uint VECTOR = 4;
layout(constant_id = 5) const uint FACTOR = 0; /* nearest: the repetition of each column; 0: from the table */
/* Otherwise the number of inputs of a vector's columns, 0: from the table; the first input of each result, 4 bits each;
 * the weight of the next one. */
layout(constant_id = 6) const uint SPAN = 0;
layout(constant_id = 7) const uint PATTERN = 0;
layout(constant_id = 8) const uint WEIGHT_0 = 0;
layout(constant_id = 9) const uint WEIGHT_1 = 0;
layout(constant_id = 10) const uint WEIGHT_2 = 0;
layout(constant_id = 11) const uint WEIGHT_3 = 0;
layout(constant_id = 12) const uint WEIGHT_4 = 0;
layout(constant_id = 13) const uint WEIGHT_5 = 0;
layout(constant_id = 14) const uint WEIGHT_6 = 0;
layout(constant_id = 15) const uint WEIGHT_7 = 0;

/* Inputs first and first + step; the weight of the second one. */
struct Tap {
    int first, step;
    float weight;
};

Tap tap_of(uint table, uint at)
{
    uvec2 words = Pairs(add64(push.block, uvec2(table + 8u * at, 0u))).v;
    return Tap(int(words.x & 0x7fffffffu), int(words.x >> 31), uintBitsToFloat(words.y));
}

/* The input's elements of a row, and of the row below it with this weight. */
struct Rows {
    uint type;
    uvec2 base;
    int at, down;
    float weight;
};

/* The column of result `p` of a line, and the position of its channel in the input. */
uint column_of(uint p, out int from)
{
    uint column = LAYOUT == RESAMPLE_PIXELS ? divide(p, params.by_channels) : p;
    from = LAYOUT == RESAMPLE_PIXELS ? int(p - column * params.by_channels.size) * params.x_channel : 0;
    return column;
}

/* ---- nearest ---- */

#define TIMES max(FACTOR, 1u)

uvec4 repeated(Rows rows, uint first, uint count)
{
    uint shift = type_shift(rows.type), most = VECTOR / TIMES;
    uvec4 words = load_vector(rows.type, rows.base, rows.at + int(first / TIMES) * params.x_column, params.x_column,
                              (count + TIMES - 1u) / TIMES, most);
    uvec4 result = uvec4(0u);
    uvec2 bits = uvec2(0u);
    for (uint i = 0u; i < VECTOR; i++) {
        if (i % TIMES == 0u)
            bits = take_element(words, i / TIMES, shift);
        append_element(result, i, shift, bits);
    }
    return appended(result, VECTOR << shift);
}

uvec4 picked(Rows rows, uint first)
{
    uint shift = type_shift(rows.type), last = params.line - 1u;
    uvec4 result = uvec4(0u);
    for (uint i = 0u; i < VECTOR; i++) {
        int from;
        uint column = column_of(min(first + i, last), from);
        int source = FACTOR > 0u ? int(column / TIMES) : tap_of(params.columns_table, column).first;
        append_element(result, i, shift,
                       load_element(place_at(rows.type, rows.base, rows.at + from + source * params.x_column), rows.type));
    }
    return appended(result, VECTOR << shift);
}

uvec4 nearest_vector(Rows rows, uint first, uint column, uint count)
{
    if (LAYOUT == RESAMPLE_CHANNELS) {
        int at = rows.at + tap_of(params.columns_table, column).first * params.x_column + int(first);
        return load_vector(rows.type, rows.base, at, 1, count, VECTOR);
    }
    if (LAYOUT == RESAMPLE_COLUMNS && FACTOR > 0u && VECTOR % TIMES == 0u)
        return repeated(rows, first, count);
    return picked(rows, first);
}

/* ---- linear; inputs with weight 0 are not read: they may be infinite ---- */

float mixed(float a, float b, float weight)
{
    return weight == 0.0 ? a : a * (1.0 - weight) + b * weight;
}

vec4 mixed_vec4(vec4 a, vec4 b, vec4 weight)
{
    vec4 y = a * (1.0 - weight) + b * weight;
    return vec4(weight.x == 0.0 ? a.x : y.x, weight.y == 0.0 ? a.y : y.y, weight.z == 0.0 ? a.z : y.z,
                weight.w == 0.0 ? a.w : y.w);
}

float load_float(Rows rows, int at)
{
    if (rows.type == TYPE_FLOAT32)
        return uintBitsToFloat(Words(place_at(rows.type, rows.base, at).address).v);
    uint bits = load_short(place_at(rows.type, rows.base, at).address);
    return rows.type == TYPE_FLOAT16 ? half_to_float(bits) : bfloat_to_float(bits);
}

/* Column `at` of both rows. */
float load_column(Rows rows, int at)
{
    return mixed(load_float(rows, rows.at + at), load_float(rows, rows.at + rows.down + at), rows.weight);
}

/* Four results of a line from `first` on; those beyond its end repeat the last. */
vec4 four_columns(Rows rows, uint first)
{
    vec4 a = vec4(0.0), b = a, weight = a;
    for (uint e = 0u; e < 4u; e++) {
        int from;
        Tap tap = tap_of(params.columns_table, column_of(min(first + e, params.line - 1u), from));
        from += tap.first * params.x_column;
        a = vec4(a.yzw, load_column(rows, from));
        b = vec4(b.yzw, load_column(rows, from + tap.step * params.x_column));
        weight = vec4(weight.yzw, tap.weight);
    }
    return mixed_vec4(a, b, weight);
}

vec4 four_channels(Rows rows, Tap column, uint first, uint count)
{
    uint type = rows.type;
    int at = rows.at + column.first * params.x_column + int(first), right = column.step * params.x_column;
    uvec4 a = load_vector(type, rows.base, at, 1, count, 4u);
    uvec4 b = load_vector(type, rows.base, at + right, 1, count, 4u);
    uvec4 c = load_vector(type, rows.base, at + rows.down, 1, count, 4u);
    uvec4 d = load_vector(type, rows.base, at + rows.down + right, 1, count, 4u);
    vec4 weight = vec4(column.weight);
    return mixed_vec4(mixed_vec4(unpack_vec4(type, a), unpack_vec4(type, b), weight),
                      mixed_vec4(unpack_vec4(type, c), unpack_vec4(type, d), weight), vec4(rows.weight));
}

#define SPAN_MAX  RESAMPLE_SPAN_MAX
#define INPUT(e)  (PATTERN >> 4u * e & 15u)
#define EACH_RESULT(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
#define EACH_SPAN(X)   EACH_RESULT(X) X(8) X(9)

/* All of a vector from the inputs that it spans. */
void span_results(Rows rows, uint vector, out vec4 low, out vec4 high)
{
    int begin = int(vector) * params.span_step + params.span_begin;
    float m[SPAN_MAX], r[8];
#define LOAD(k)                                                                                                        \
    if (SPAN > k)                                                                                                      \
        m[k] = load_column(rows, clamp(begin + k, 0, params.x_last) * params.x_column);
#define RESULT(e)                                                                                                      \
    r[e] = 0.0;                                                                                                        \
    if (VECTOR > e)                                                                                                    \
        r[e] = mixed(m[min(INPUT(e), SPAN_MAX - 1u)], m[min(INPUT(e) + 1u, SPAN_MAX - 1u)],                            \
                     uintBitsToFloat(WEIGHT_##e));
    EACH_SPAN(LOAD)
    EACH_RESULT(RESULT)
    low = vec4(r[0], r[1], r[2], r[3]);
    high = vec4(r[4], r[5], r[6], r[7]);
}

uvec4 linear_vector(Rows rows, uint first, uint column, uint count)
{
    uint type = type_of(1u);
    vec4 low, high = vec4(0.0);
    if (LAYOUT == RESAMPLE_CHANNELS) {
        Tap tap = tap_of(params.columns_table, column);
        low = four_channels(rows, tap, first, min(count, 4u));
        if (VECTOR > 4u)
            high = four_channels(rows, tap, first + 4u, max(count, 4u) - 4u);
    } else if (SPAN > 0u) {
        span_results(rows, first / VECTOR, low, high);
    } else {
        low = four_columns(rows, first);
        if (VECTOR > 4u)
            high = four_columns(rows, first + 4u);
    }
    uvec4 words = pack_vec4(type, low);
    if (VECTOR > 4u)
        words.zw = pack_vec4(type, high).xy;
    return words;
}

void main()
{
    uvec2 from = address_of(0u), to = address_of(1u);
    EACH_UNIT(unit)
    {
        uint line = divide(unit, params.by_vectors), first = VECTOR * (unit - line * params.by_vectors.size), column = 0u;
        if (LAYOUT == RESAMPLE_CHANNELS) {
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
        Rows rows = Rows(type_of(0u), from, x + down.first * params.x_row, down.step * params.x_row, down.weight);
        uint count = min(params.line - first, VECTOR);
        uvec4 words;
        if (NEAREST)
            words = nearest_vector(rows, first, column, count);
        else
            words = linear_vector(rows, first, column, count);
        int stride = LAYOUT == RESAMPLE_COLUMNS ? params.y_column : 1;
        store_vector(type_of(1u), to, y + int(first) * stride, stride, count, VECTOR, words);
    }
}
