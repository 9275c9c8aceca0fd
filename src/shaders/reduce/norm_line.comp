// SPDX-License-Identifier: Apache-2.0
/* KERN_NORM of lines that are read once (held.glsl). Tensors: 0 X, then [scale], [bias], Y. */
#version 460
#extension GL_GOOGLE_include_directive : require
#define PARAMETERS line_params
#include "shaders/reduce/reduce_params.h"
#include "shaders/core/views.glsl"

struct Total {
    float sum, squares;
};

void combine(inout Total a, Total b)
{
    a.sum += b.sum;
    a.squares += b.squares;
}

#include "shaders/reduce/held.glsl"

/* Of the elements' differences from `mean`. */
void add_up(inout Total total, vec4 x, float mean, uint count)
{
    Total block = Total(0.0, 0.0);
    for (uint i = 0u; i < 4u; i++, x = x.yzwx) {
        float difference = i < count ? x.x - mean : 0.0;
        combine(block, Total(difference, difference * difference));
    }
    combine(total, block);
}

/* Tensors by constants: so their types are, too. */
#define HAS_SCALE (MODE & NORM_SCALE) != 0u
#define HAS_BIAS  (MODE & NORM_BIAS) != 0u
#define BIAS      (HAS_SCALE ? 2u : 1u)
#define RESULT    (1u + (MODE / NORM_SCALE & 1u) + (MODE / NORM_BIAS & 1u))

/* (x - mean - more) * factor, times the scale, plus the bias. */
void write(uint line, uint k, vec4 x, float mean, float more, float factor)
{
    vec4 y = (x - mean - more) * factor;
    if (HAS_SCALE)
        y *= load_chunk(1u, address_of(1u), at_line(1u, line), k);
    if (HAS_BIAS)
        y += load_chunk(BIAS, address_of(BIAS), at_line(BIAS, line), k);
    store_chunk(RESULT, address_of(RESULT), at_line(RESULT, line), k, y);
}

void run_line(uint line, bool there)
{
    int x_at = at_line(0u, line);
    float mean = 0.0, more = 0.0, factor = 1.0, count = float(params.size);
    Total total = Total(0.0, 0.0);
#define ADD(k)                                                                                                         \
    if (CHUNKS > k)                                                                                                    \
        add_up(total, held[k], mean, count_of(k));
#define WRITE(k)                                                                                                       \
    if (CHUNKS > k && there)                                                                                           \
        write(line, k, held[k], mean, more, factor);
    EACH_CHUNK(LOAD_HELD);
    if ((MODE & NORM_MEAN) != 0u) {
        EACH_CHUNK(ADD);
        mean = across_lanes(total).sum / count;
        total = Total(0.0, 0.0);
    }
    EACH_CHUNK(ADD);
    total = across_lanes(total);
    if ((MODE & NORM_MEAN) != 0u) {
        more = is_inf(mean) ? 0.0 : total.sum / count; /* what one number cannot hold of the mean */
        total.squares -= more * more * count;
        total.squares = total.squares < 0.0 ? 0.0 : total.squares;
    }
    if ((MODE & NORM_VARIANCE) != 0u)
        factor /= sqrt(total.squares / count + params.epsilon);
    EACH_CHUNK(WRITE);
}

void main()
{
    EACH_GROUP_UNIT(unit)
    {
        uint line = unit * slots() + slot();
        run_line(min(line, params.lines - 1u), line < params.lines);
    }
}
