// SPDX-License-Identifier: Apache-2.0
/* KERN_FOLD, unfold in at most two dimensions, elements of two or four bytes: four neighbouring positions of a row of
 * the columns per invocation. Tensors: 0 image, 1 columns. */
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#define UNIFORM_BLOCK
#define PARAMETERS unfold_params
#include "shaders/resample/fold_params.h"
#include "shaders/core/views.glsl"
#include "shaders/core/vector.glsl"

layout(constant_id = 2) const bool SHORT = false; /* elements of two bytes */
layout(constant_id = 3) const bool WIDE = false;  /* four positions are one aligned vector */

uvec2 address_at(uint t, int at)
{
    return add64(address_of(t), scaled(at, SHORT ? 1u : 2u));
}

/* Its bits; 0: outside the image. */
uint load_pixel(ivec2 at, int from)
{
    if (any(greaterThanEqual(uvec2(at), uvec2(params.in_sizes[0], params.in_sizes[1]))))
        return 0u;
    from += at.x * params.x[2] + at.y * params.x[3];
    return SHORT ? load_short(address_at(0u, from)) : Words(address_at(0u, from)).v;
}

void store_one(int to, uint value)
{
    if (SHORT)
        store_short(address_at(1u, to), value);
    else
        Words(address_at(1u, to)).v = value;
}

void store_vector(int to, uvec4 value)
{
    uvec2 base = address_of(1u);
    if (SHORT)
        PairArray(base).v[to >> 2] = uvec2(value.x | value.y << 16, value.z | value.w << 16);
    else
        QuadArray(base).v[to >> 2] = value;
}

void main()
{
    EACH_UNIT(unit)
    {
        uint line = divide(unit, params.by_vectors), first = 4u * (unit - line * params.by_vectors.size);
        uint image = divide(line, params.by_rows), row = line - image * params.by_rows.size;
        uint channel = divide(row, params.by_taps), tap = row - channel * params.by_taps.size;
        uint above = divide(tap, params.by_window), place = divide(first, params.by_columns);
        uint column = first - place * params.by_columns.size;
        ivec2 at = ivec2(above, tap - above * params.by_window.size) * ivec2(params.dilations[0], params.dilations[1]);
        at -= ivec2(params.pad[0], params.pad[1]);
        int from = int(image) * params.x[0] + int(channel) * params.x[1];
        int to = int(image) * params.y[0] + int(row) * params.y[1] + int(first) * params.y[2];
        uvec4 value = uvec4(0u);
        [[unroll]] for (uint e = 0u; e < 4u; e++) {
            if (first + e < params.positions)
                value[e] = load_pixel(at + ivec2(place, column) * ivec2(params.steps[0], params.steps[1]), from);
            if (!WIDE && first + e < params.positions)
                store_one(to + int(e) * params.y[2], value[e]);
            if (++column == params.by_columns.size) {
                column = 0u;
                place++;
            }
        }
        if (WIDE)
            store_vector(to, value);
    }
}
