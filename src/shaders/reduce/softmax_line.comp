// SPDX-License-Identifier: Apache-2.0
/* KERN_SOFTMAX, plain and logarithm, of lines that are read once (held.glsl). Tensors: 0 X, 1 Y. */
#version 460
#extension GL_GOOGLE_include_directive : require
#define UNIFORM_BLOCK
#define PARAMETERS line_params
#include "shaders/reduce/reduce_params.h"
#include "shaders/core/views.glsl"
#include "shaders/reduce/difference.glsl"

bool adding;

struct Total {
    float value;
};
#define SHUFFLED(total, mask) Total(subgroupShuffleXor(total.value, mask))

/* The greatest element, or a sum. */
void combine(inout Total a, Total b)
{
    if (adding)
        a.value += b.value;
    else
        a.value = b.value > a.value ? b.value : a.value;
}

#include "shaders/reduce/held.glsl"

/* What of a result is rounded to 16 bits needs no more exact powers. */
#define SHORT (type_of(1u) != TYPE_FLOAT32 && MODE != SOFTMAX_LOG)

/* Numbers win over NaN. */
float top_of(float top, vec4 x)
{
    top = x.x > top ? x.x : top;
    top = x.y > top ? x.y : top;
    top = x.z > top ? x.z : top;
    return x.w > top ? x.w : top;
}

vec4 powers(vec4 x, float top)
{
    if (SHORT)
        return vec4(short_exp_of(x.x - top), short_exp_of(x.y - top), short_exp_of(x.z - top),
                    short_exp_of(x.w - top));
    return vec4(exp_of_difference(x.x, top), exp_of_difference(x.y, top), exp_of_difference(x.z, top),
                exp_of_difference(x.w, top));
}

/* Of the elements; what is left of each but for a logarithm is its e^(x - top). */
float add_up(inout vec4 x, float top)
{
    vec4 y = powers(x, top);
    x = MODE == SOFTMAX_LOG ? x : y;
    return sum_of(y);
}

void run_line(uint line, bool there)
{
    float top = -INFINITY, sum = 0.0;
#define TOP(k)                                                                                                         \
    if (CHUNKS > k)                                                                                                    \
        top = top_of(top, held[k]);
#define ADD(k)                                                                                                         \
    if (CHUNKS > k)                                                                                                    \
        sum += add_up(held[k], top);
#define WRITE(k)                                                                                                       \
    if (CHUNKS > k)                                                                                                    \
        store_chunk(y, k, MODE == SOFTMAX_LOG ? held[k] - top - sum : held[k] * sum);
    hold_line(line, -INFINITY);
    EACH_CHUNK(TOP);
    adding = false;
    top = across_lanes(Total(top)).value;
    EACH_CHUNK(ADD);
    adding = true;
    sum = across_lanes(Total(sum)).value;
    sum = MODE == SOFTMAX_LOG ? log_of(sum) : 1.0 / sum;
    Line y = line_of(1u, line);
    if (there)
        EACH_CHUNK(WRITE);
}

void main()
{
    begin();
    EACH_GROUP_UNIT(unit)
    {
        uint line = unit * slots() + slot();
        run_line(min(line, params.lines - 1u), line < params.lines);
    }
}
