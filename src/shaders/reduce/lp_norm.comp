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

#include "shaders/reduce/lines.glsl"
#include "shaders/reduce/cache.glsl"

/* The length of the line, at least epsilon, also when it is NaN. */
REAL measure(int x, uint end)
{
    Total total = Total(REAL(0.0));
    EACH_BLOCK(i, 0u, end)
    {
        Total block = Total(REAL(0.0));
        EACH_IN_BLOCK(k, i, end)
            block.sum += lp_term(element(x, k, true), params.mode);
        combine(total, block);
    }
    REAL size = lp_root(across_lanes(total).sum, params.mode);
    return size > REAL(params.epsilon) ? size : REAL(params.epsilon);
}

void main()
{
    EACH_GROUP_UNIT(unit)
    {
        uint line = unit * slots() + slot(), end = line < params.lines ? params.size : 0u;
        int x = at_line(0u, line), y = at_line(1u, line);
        REAL size = measure(x, end);
        for (uint k = lane(); k < end; k += params.lanes)
            store_real(1u, y + in_line(1u, k), element(x, k, false) / size);
    }
}
