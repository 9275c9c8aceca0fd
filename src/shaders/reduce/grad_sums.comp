// SPDX-License-Identifier: Apache-2.0
/* KERN_GRAD_SUMS. Tensors: 0 X, 1 G, 2 C; 3, 4, 5 the sums of G, G * (X - C), X - C. */
#version 460
#extension GL_GOOGLE_include_directive : require
#define PARAMETERS line_params
#include "shaders/reduce/reduce_params.h"
#include "shaders/core/views.glsl"

struct Total {
    REAL sums[3];
};

void combine(inout Total a, Total b)
{
    for (uint s = 0u; s < 3u; s++)
        a.sums[s] += b.sums[s];
}

#ifdef HAVE_FLOAT64
#define TOTAL_BYTES 24u
#else
#define TOTAL_BYTES 12u
#endif
#include "shaders/reduce/lines.glsl"
#include "shaders/reduce/parts.glsl"

const Total nothing = Total(REAL[3](REAL(0.0), REAL(0.0), REAL(0.0)));

Total total_of(int at[3], uint k)
{
    REAL value[3];
    for (uint t = 0u; t < 3u; t++)
        value[t] = load_real(t, at[t] + in_line(t, k));
    REAL difference = value[0] - value[2];
    return Total(REAL[3](value[1], value[1] * difference, difference));
}

Total add_up(uint line, uint part)
{
    Total total = nothing;
    uint end = line < params.lines ? part_begin(part + 1u) : 0u;
    int at[3];
    for (uint t = 0u; t < 3u; t++)
        at[t] = at_line(t, line);
    EACH_BLOCK(i, part_begin(part), end)
    {
        Total block = nothing;
        EACH_IN_BLOCK(k, i, end)
        {
            Total one;
            if (params.finish != 0u)
                one = partial_at(line, k).v;
            else
                one = total_of(at, k);
            combine(block, one);
        }
        combine(total, block);
    }
    return across_lanes(total);
}

void main()
{
    EACH_GROUP_UNIT(unit)
    {
        uint line = unit / params.parts * slots() + slot(), part = unit % params.parts;
        Total total = add_up(line, part);
        if (lane() != 0u || line >= params.lines)
            continue;
        if (params.parts > 1u) {
            partial_at(line, part).v = total;
            continue;
        }
        for (uint s = 0u; s < 3u; s++)
            store_real(3u + s, at_line(3u + s, line), total.sums[s]);
    }
}
