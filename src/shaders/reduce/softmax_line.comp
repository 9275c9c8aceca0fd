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

/* The largest element, or a sum. */
void combine(inout Total a, Total b)
{
    if (adding)
        a.value += b.value;
    else
        a.value = b.value > a.value ? b.value : a.value;
}

#include "shaders/reduce/held.glsl"

/* Results that are rounded to 16 bits need no more accurate powers. */
#define SHORT (type_of(1u) != TYPE_FLOAT32)

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

/* Of the elements; unless the logarithm is requested, each is replaced by its e^(x - top). */
float add_up(inout vec4 x, float top)
{
    vec4 y = powers(x, top);
    x = MODE == SOFTMAX_LOG ? x : y;
    return sum_of(y);
}

Lines results;

void run_line(uint line)
{
    float top = -INFINITY, sum = 0.0;
#define TOP(k)                                                                                                         \
    if (HELD > k)                                                                                                      \
        top = top_of(top, held[k]);
#define ADD(k)                                                                                                         \
    if (HELD > k)                                                                                                      \
        sum += add_up(held[k], top);
#define FINISH(k)                                                                                                      \
    if (HELD > k)                                                                                                      \
        held[k] = MODE == SOFTMAX_LOG ? held[k] - top - sum : held[k] * sum;
    EACH_HELD(TOP);
    adding = false;
    top = across_lanes(Total(top)).value;
    EACH_HELD(ADD);
    adding = true;
    sum = across_lanes(Total(sum)).value;
    sum = MODE == SOFTMAX_LOG ? log_of(sum) : 1.0 / sum;
    EACH_HELD(FINISH);
    if (line < params.lines) {
        Line y = line_at(results, line);
        STORE_LINE(y);
    }
}

void main()
{
    own_lane = lane();
    line_size = params.size;
    Lines x = lines_of(0u);
    results = lines_of(1u);
    EACH_HELD_LINE(x, -INFINITY)
}
