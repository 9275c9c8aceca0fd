// SPDX-License-Identifier: Apache-2.0
/* KERN_SOFTMAX, plain and logarithm. Tensors: 0 X, 1 Y. */
#version 460
#extension GL_GOOGLE_include_directive : require
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

/* The greatest element, where numbers win over NaN, or a sum. */
void combine(inout Total a, Total b)
{
    if (pass == ADD_UP)
        a.value += b.value;
    else if (b.value > a.value || is_nan(a.value))
        a = b;
}

#include "shaders/reduce/lines.glsl"
#include "shaders/reduce/cache.glsl"

/* One pass over a line. */
Total walk(int x, int y, uint end, REAL top, REAL sum)
{
    bool logarithm = params.mode == SOFTMAX_LOG;
    Total total = Total(pass == ADD_UP ? REAL(0.0) : REAL(NAN));
    EACH_BLOCK(i, 0u, end)
    {
        Total block = Total(pass == ADD_UP ? REAL(0.0) : REAL(NAN));
        EACH_IN_BLOCK(k, i, end)
        {
            REAL value = element(x, k, pass == FIND_TOP);
            if (pass != FIND_TOP)
                value -= top;
            if (pass == ADD_UP || (pass == WRITE && !logarithm))
                value = exp_of(value);
            if (pass == WRITE)
                store_real(1u, y + in_line(1u, k), logarithm ? value - sum : value / sum);
            else
                combine(block, Total(value));
        }
        combine(total, block);
    }
    return total;
}

void main()
{
    EACH_GROUP_UNIT(unit)
    {
        uint line = unit * slots() + slot(), end = line < params.lines ? params.size : 0u;
        int x = at_line(0u, line), y = at_line(1u, line);
        REAL top = REAL(0.0), sum = REAL(0.0);
        for (pass = FIND_TOP; pass <= WRITE; pass++) {
            Total total = walk(x, y, end, top, sum);
            if (pass == WRITE)
                break;
            total = across_lanes(total);
            if (pass == FIND_TOP)
                top = total.value;
            else
                sum = params.mode == SOFTMAX_LOG ? log_of(total.value) : total.value;
        }
    }
}
