// SPDX-License-Identifier: Apache-2.0
/* KERN_REDUCE: sums of FLOAT32, FLOAT16 or BFLOAT16 by vectors of 4 neighbouring elements, of one line, or with
 * params.columns of one element in each of 4 neighbouring lines. Tensors: 0 X, 1 Y. */
#version 460
#extension GL_GOOGLE_include_directive : require
#define PARAMETERS line_params
#include "shaders/reduce/reduce_params.h"
#include "shaders/core/views.glsl"
#include "shaders/core/vector.glsl"

layout(constant_id = 2) const uint MODE = REDUCE_SUM;
layout(constant_id = 3) const bool COLUMNS = false;

struct Total {
    vec4 value;
};

void combine(inout Total a, Total b)
{
    a.value += b.value;
}

/* As reduce_real.comp has them, which adds them up. */
struct Sum {
    float value, more;
};

#define PARTIAL_BYTES 8u
#define PARTIAL Sum
#include "shaders/reduce/lines.glsl"
#include "shaders/reduce/parts.glsl"

#define LINES (COLUMNS ? 4u : 1u) /* of a slot */

vec4 term(vec4 x)
{
    return MODE == REDUCE_L1 ? abs(x) : MODE == REDUCE_L2 || MODE == REDUCE_SUM_SQUARE ? x * x : x;
}

/* Step k of the line or the lines that begin at `at`; zeros from `end` on. */
vec4 load_step(uvec2 base, int at, uint line, uint k, uint end)
{
    if (k >= end)
        return vec4(0.0);
    if (COLUMNS)
        return term(load_vec4(type_of(0u), base, at + in_line(0u, k), 1, min(params.lines - line, 4u)));
    return term(load_vec4(type_of(0u), base, at + int(4u * k), 1, min(params.size - 4u * k, 4u)));
}

/* Of the part of a line; steps are elements of lines, or vectors of 4 of a line. */
vec4 add_up(uint line, uint part)
{
    uint steps = COLUMNS ? params.size : (params.size + 3u) / 4u, size = (steps + params.parts - 1u) / params.parts;
    uint end = line < params.lines ? min((part + 1u) * size, steps) : 0u;
    uvec2 base = address_of(0u);
    int at = at_line(0u, line);
    vec4 total = vec4(0.0);
    for (uint k = part * size + lane(); k < end; k += 4u * params.lanes) {
        vec4 a = load_step(base, at, line, k, end), b = load_step(base, at, line, k + params.lanes, end);
        vec4 c = load_step(base, at, line, k + 2u * params.lanes, end);
        vec4 d = load_step(base, at, line, k + 3u * params.lanes, end);
        total += (a + b) + (c + d);
    }
    return total;
}

float result(float sum)
{
    return MODE == REDUCE_AVERAGE ? sum / float(params.count) : MODE == REDUCE_L2 ? sqrt(sum) : sum;
}

void main()
{
    EACH_GROUP_UNIT(unit)
    {
        uint line = (unit / params.parts * slots() + slot()) * LINES, part = unit % params.parts;
        vec4 total = across_lanes(Total(add_up(line, part))).value;
        if (lane() != 0u)
            continue;
        if (!COLUMNS)
            total.x = (total.x + total.y) + (total.z + total.w);
        for (uint end = min(line + LINES, params.lines); line < end; line++, total = total.yzwx) {
            if (params.parts > 1u)
                partial_at(line, part).v = Sum(total.x, 0.0);
            else
                store_real(1u, at_line(1u, line), result(total.x));
        }
    }
}
