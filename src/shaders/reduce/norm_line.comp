// SPDX-License-Identifier: Apache-2.0
/* KERN_NORM of lines that are read once (held.glsl). Tensors: 0 X, then [scale], [bias], [those of the epilogue], Y. */
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
#include "shaders/core/epilogue.glsl"
#include "shaders/core/epilogue_vector.glsl"

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
layout(constant_id = 9) const uint RESULT = 1;

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

/* Chunk j of the line, which starts at y_at from Y's first element. */
void end_chunk(uint line, int y_at, uint j, inout vec4 low, inout vec4 high)
{
    uint first = first_of(j), number = line * line_size + first, count = count_of(j);
    int at = y_at + int(first) * results.stride;
    if (FULL && results.stride == 1) {
        if (WIDE)
            epilogue_vector(number, at, low, high);
        else
            epilogue_four(number, at, low);
        return;
    }
    for (uint e = 0u; e < 4u; e++) {
        int to = at + int(e) * results.stride;
        if (e < count)
            low[e] = epilogue(low[e], number + e, to);
        if (WIDE && e + 4u < count)
            high[e] = epilogue(high[e], number + e + 4u, to + 4 * results.stride);
    }
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
#define END(j)                                                                                                         \
    if (CHUNKS > j) {                                                                                                  \
        vec4 low = held[AT(j, 0u) % 16u], high = held[AT(j, 1u) % 16u];                                                \
        end_chunk(line, y_at, j, low, high);                                                                           \
        held[AT(j, 0u) % 16u] = low;                                                                                   \
        if (WIDE)                                                                                                      \
            held[AT(j, 1u) % 16u] = high;                                                                              \
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
        if (HAS_EPILOGUE) {
            int y_at = params.outer == 1u ? int(line) * results.pitch : at_line(results.tensor, line);
            EACH_CHUNK(END);
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
    if (HAS_EPILOGUE)
        read_operands();
    scales = biases = x;
    if (HAS_SCALE)
        scales = lines_of(1u);
    if (HAS_BIAS)
        biases = lines_of(BIAS);
    EACH_HELD_LINE(x, 0.0)
}
