// SPDX-License-Identifier: Apache-2.0
/* KERN_NORM of lines that are read once (held.glsl). Tensors: 0 X, then [scale], [bias], Y. */
#version 460
#extension GL_GOOGLE_include_directive : require
#define UNIFORM_BLOCK
#define PARAMETERS line_params
#include "shaders/reduce/reduce_params.h"
#include "shaders/core/views.glsl"

struct Total {
    float sum, squares;
};
#define SHUFFLED(total, mask) Total(subgroupShuffleXor(total.sum, mask), subgroupShuffleXor(total.squares, mask))

void combine(inout Total a, Total b)
{
    a.sum += b.sum;
    a.squares += b.squares;
}

#include "shaders/reduce/held.glsl"

/* Of the elements' differences from `mean`. */
void add_up(inout Total total, vec4 x, float mean, uint count)
{
    vec4 difference = filled(x - mean, count, 0.0);
    combine(total, Total(sum_of(difference), sum_of(difference * difference)));
}

/* Tensors by constants: so their types are constants, too. */
#define HAS_SCALE (MODE & NORM_SCALE) != 0u
#define HAS_BIAS  (MODE & NORM_BIAS) != 0u
#define BIAS      (HAS_SCALE ? 2u : 1u)
#define RESULT    (1u + (MODE / NORM_SCALE & 1u) + (MODE / NORM_BIAS & 1u))

Lines scales, biases, results;

/* Times the scale, plus the bias. */
vec4 finish(vec4 x, uvec4 scale, uvec4 bias, uint e)
{
    if (HAS_SCALE)
        x *= unpack_part(scales.type, scale, e);
    if (HAS_BIAS)
        x += unpack_part(biases.type, bias, e);
    return x;
}

void run_line(uint line)
{
    float mean = 0.0, more = 0.0, factor = 1.0, count = float(line_size);
    Total total = Total(0.0, 0.0);
#define ADD(k)                                                                                                         \
    if (HELD > k)                                                                                                      \
        add_up(total, held[k], mean, held_count(k));
#define SUM(k)                                                                                                         \
    if (HELD > k)                                                                                                      \
        total.sum += sum_of(held[k]);
#define NORMALISE(k)                                                                                                   \
    if (HELD > k)                                                                                                      \
        held[k] = (held[k] - mean) * factor - rest;
#define FINISH(j)                                                                                                      \
    if (CHUNKS > j) {                                                                                                  \
        uvec4 by = HAS_SCALE ? load_chunk(scale, j) : uvec4(0u), plus = HAS_BIAS ? load_chunk(bias, j) : uvec4(0u);    \
        held[AT(j, 0u) % 16u] = finish(held[AT(j, 0u) % 16u], by, plus, 0u);                                           \
        if (WIDE)                                                                                                      \
            held[AT(j, 1u) % 16u] = finish(held[AT(j, 1u) % 16u], by, plus, 1u);                                       \
    }
    if ((MODE & NORM_MEAN) != 0u) {
        EACH_HELD(SUM);
        mean = across_lanes(total).sum / count;
        total = Total(0.0, 0.0);
    }
    EACH_HELD(ADD);
    total = across_lanes(total);
    if ((MODE & NORM_MEAN) != 0u) {
        more = is_inf(mean) ? 0.0 : total.sum / count; /* the rounding error of the mean */
        total.squares -= more * more * count;
        total.squares = total.squares < 0.0 ? 0.0 : total.squares;
    }
    if ((MODE & NORM_VARIANCE) != 0u)
        factor /= sqrt(total.squares / count + params.epsilon);
    float rest = more * factor;
    EACH_HELD(NORMALISE);
    if (line < params.lines) {
        if (HAS_SCALE || HAS_BIAS) {
            Line scale = line_at(scales, line), bias = line_at(biases, line);
            EACH_CHUNK(FINISH);
        }
        Line y = line_at(results, line);
        STORE_LINE(y);
    }
}

void main()
{
    own_lane = lane();
    line_size = params.size;
    Lines x = lines_of(0u);
    results = lines_of(RESULT);
    scales = biases = x;
    if (HAS_SCALE)
        scales = lines_of(1u);
    if (HAS_BIAS)
        biases = lines_of(BIAS);
    EACH_HELD_LINE(x, 0.0)
}
