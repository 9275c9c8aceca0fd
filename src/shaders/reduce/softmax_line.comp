// SPDX-License-Identifier: Apache-2.0
/* KERN_SOFTMAX, plain and logarithm, of lines that are read once (held.glsl). Tensors: 0 X, 1 Y. */
#version 460
#extension GL_GOOGLE_include_directive : require
#define PARAMETERS line_params
#include "shaders/reduce/reduce_params.h"
#include "shaders/core/views.glsl"
#include "shaders/reduce/difference.glsl"

bool adding;

struct Total {
    float value;
};

/* The greatest element, where numbers win over NaN, or a sum. */
void combine(inout Total a, Total b)
{
    if (adding)
        a.value += b.value;
    else if (b.value > a.value || is_nan(a.value))
        a = b;
}

#include "shaders/reduce/held.glsl"

Total top_of(Total total, vec4 x, uint count)
{
    for (uint i = 0u; i < count; i++, x = x.yzwx)
        combine(total, Total(x.x));
    return total;
}

/* Of the elements; what is left of each but for a logarithm is its e^(x - top). */
float add_up(inout vec4 x, float top, uint count)
{
    float sum = 0.0;
    for (uint i = 0u; i < 4u; i++) {
        float y = exp_of_difference(x.x, top);
        sum += i < count ? y : 0.0;
        x = vec4(x.yzw, MODE == SOFTMAX_LOG ? x.x : y);
    }
    return sum;
}

void run_line(uint line, bool there)
{
    int x_at = at_line(0u, line), y_at = at_line(1u, line);
    Total top = Total(NAN), sum = Total(0.0);
#define TOP(k)                                                                                                         \
    if (CHUNKS > k)                                                                                                    \
        top = top_of(top, held[k], count_of(k));
#define ADD(k)                                                                                                         \
    if (CHUNKS > k)                                                                                                    \
        sum.value += add_up(held[k], top.value, count_of(k));
#define WRITE(k)                                                                                                       \
    if (CHUNKS > k && there)                                                                                           \
        store_chunk(1u, address_of(1u), y_at, k, MODE == SOFTMAX_LOG ? held[k] - top.value - sum.value                 \
                                                                     : held[k] / sum.value);
    EACH_CHUNK(LOAD_HELD);
    adding = false;
    EACH_CHUNK(TOP);
    top = across_lanes(top);
    adding = true;
    EACH_CHUNK(ADD);
    sum = across_lanes(sum);
    if (MODE == SOFTMAX_LOG)
        sum.value = log_of(sum.value);
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
