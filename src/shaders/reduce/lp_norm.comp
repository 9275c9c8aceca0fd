// SPDX-License-Identifier: Apache-2.0
/* KERN_LP_NORM. Tensors: 0 X, 1 Y. */
#version 460
#extension GL_GOOGLE_include_directive : require
#define PARAMETERS line_params
#include "shaders/reduce/reduce_params.h"
#include "shaders/core/views.glsl"
#include "shaders/core/math_f64.glsl"
#include "shaders/core/lp.glsl"

struct Total {
    REAL sum;
};

void combine(inout Total a, Total b)
{
    a.sum += b.sum;
}

#ifdef HAVE_FLOAT64
#define PARTIAL_BYTES 8u
#else
#define PARTIAL_BYTES 4u
#endif
#include "shaders/reduce/lines.glsl"
#include "shaders/reduce/cache.glsl"
#include "shaders/reduce/parts.glsl"

Total add_up(int x, uint begin, uint end)
{
    Total total = Total(REAL(0.0));
    EACH_BLOCK(i, begin, end)
    {
        Total block = Total(REAL(0.0));
        EACH_IN_BLOCK(k, i, end)
            block.sum += lp_term(element(x, k, begin, true), params.mode & ~LP_NORM_NAN);
        combine(total, block);
    }
    return total;
}

Total add_up_parts(uint line)
{
    Total total = Total(REAL(0.0));
    for (uint k = lane(); k < params.partials; k += params.lanes)
        combine(total, partial_at(min(line, params.lines - 1u), k).v);
    return total;
}

void main()
{
    EACH_GROUP_UNIT(unit)
    {
        uint line = unit / params.parts * slots() + slot(), part = unit % params.parts;
        uint begin = part_begin(part), end = line < params.lines ? part_begin(part + 1u) : begin;
        int x = at_line(0u, line), y = at_line(1u, line);
        Total total;
        if (params.finish != 0u)
            total = add_up_parts(line);
        else
            total = add_up(x, begin, end);
        total = across_lanes(total);
        if (params.partials != 0u && params.finish == 0u) {
            if (lane() == 0u && line < params.lines)
                partial_at(line, part).v = total;
            continue;
        }
        /* at least epsilon, without LP_NORM_NAN also when it is NaN */
        REAL size = lp_root(total.sum, params.mode & ~LP_NORM_NAN), least = REAL(params.epsilon);
        size = size > least ? size : (params.mode & LP_NORM_NAN) != 0u && !(size <= least) ? size : least;
        for (uint k = begin + lane(); k < end; k += params.lanes)
            store_real(1u, y + in_line(1u, k), element(x, k, begin, params.finish != 0u) / size);
    }
}
