// SPDX-License-Identifier: Apache-2.0
/* KERN_SOFTMAX, plain and logarithm. Tensors: 0 X, 1 Y. */
#version 460
#extension GL_GOOGLE_include_directive : require
#define UNIFORM_BLOCK
#define PARAMETERS line_params
#include "shaders/reduce/reduce_params.h"
#include "shaders/core/views.glsl"
#include "shaders/core/math_f64.glsl"

#define FIND_TOP 0u
#define ADD_UP   1u
#define WRITE    2u

uint pass;

struct Total {
    REAL value;
};

/* The largest element, where numbers win over NaN, or a sum. */
void combine(inout Total a, Total b)
{
    if (pass == ADD_UP)
        a.value += b.value;
    else if (b.value > a.value || is_nan(a.value))
        a = b;
}

/* The largest element of a line or a part of it, and the sum of e^(x - top). */
struct Sum {
    REAL top, sum;
};

#ifdef HAVE_FLOAT64
#define PARTIAL_BYTES 16u
#else
#define PARTIAL_BYTES 8u
#endif
#define PARTIAL Sum
#include "shaders/reduce/lines.glsl"
#include "shaders/reduce/cache.glsl"
#include "shaders/reduce/parts.glsl"
#include "shaders/reduce/difference.glsl"

Total nothing()
{
    return Total(pass == ADD_UP ? REAL(0.0) : REAL(NAN));
}

/* e^(x - top); for parts that contain only -infinity, 0: the line may have more. */
REAL term(REAL x, REAL top)
{
    if (params.partials != 0u && params.finish == 0u && is_inf(top) && top < REAL(0.0) && !is_nan(x))
        return REAL(0.0);
    return exp_of_difference(x, top);
}

/* One pass over the elements begin to end - 1 of a line. */
Total walk(uint line, uint begin, uint end, Sum s)
{
    bool logarithm = params.mode == SOFTMAX_LOG;
    Total total = nothing();
    int x = at_line(0u, line), y = at_line(1u, line);
    EACH_BLOCK(i, begin, end)
    {
        Total block = nothing();
        EACH_IN_BLOCK(k, i, end)
        {
            REAL value = element(x, k, begin, pass == FIND_TOP || params.finish != 0u);
            if (pass == ADD_UP || (pass == WRITE && !logarithm))
                value = term(value, s.top);
            if (pass == WRITE)
                store_real(1u, y + in_line(1u, k), logarithm ? value - s.top - s.sum : value / s.sum);
            else
                combine(block, Total(value));
        }
        combine(total, block);
    }
    return total;
}

/* One pass over the partial results of a line. */
Total walk_parts(uint line, REAL top)
{
    Total total = nothing();
    for (uint k = lane(); k < params.partials; k += params.lanes) {
        Sum part = partial_at(min(line, params.lines - 1u), k).v;
        combine(total, Total(pass == FIND_TOP ? part.top : part.sum * exp_of(part.top - top)));
    }
    return total;
}

void main()
{
    EACH_GROUP_UNIT(unit)
    {
        uint line = unit / params.parts * slots() + slot(), part = unit % params.parts;
        uint begin = part_begin(part), end = line < params.lines ? part_begin(part + 1u) : begin;
        Sum s = Sum(REAL(0.0), REAL(0.0));
        for (pass = FIND_TOP; pass < WRITE; pass++) {
            Total total;
            if (params.finish != 0u)
                total = walk_parts(line, s.top);
            else
                total = walk(line, begin, end, s);
            total = across_lanes(total);
            if (pass == FIND_TOP)
                s.top = total.value;
            else
                s.sum = total.value;
        }
        if (params.partials != 0u && params.finish == 0u) {
            if (lane() == 0u && line < params.lines)
                partial_at(line, part).v = s;
            continue;
        }
        if (params.mode == SOFTMAX_LOG)
            s.sum = log_of(s.sum);
        walk(line, begin, end, s);
    }
}
