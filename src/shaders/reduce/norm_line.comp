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

/* (x - mean - more) * factor, times the scale, plus the bias. */
void write(uint line, uint k, vec4 x, float mean, float more, float factor)
{
    vec4 y = (x - mean - more) * factor;
    for (uint t = 1u; t < header.inputs; t++) {
        vec4 other = load_chunk(t, address_of(t), at_line(t, line), k);
        y = t == 1u && (MODE & NORM_SCALE) != 0u ? y * other : y + other;
    }
    store_chunk(header.inputs, address_of(header.inputs), at_line(header.inputs, line), k, y);
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
