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

/* Tensors by constants: so their types are, too. */
#define HAS_SCALE (MODE & NORM_SCALE) != 0u
#define HAS_BIAS  (MODE & NORM_BIAS) != 0u
#define BIAS      (HAS_SCALE ? 2u : 1u)
#define RESULT    (1u + (MODE / NORM_SCALE & 1u) + (MODE / NORM_BIAS & 1u))

void run_line(uint line, bool there)
{
    float mean = 0.0, more = 0.0, factor = 1.0, count = float(line_size);
    Total total = Total(0.0, 0.0);
#define ADD(k)                                                                                                         \
    if (CHUNKS > k)                                                                                                    \
        add_up(total, held[k], mean, count_of(k));
    /* (x - mean - more) * factor, times the scale, plus the bias */
#define SCALE_CHUNK(k)                                                                                                 \
    if (CHUNKS > k)                                                                                                    \
        held[k] = (held[k] - mean - more) * factor;
#define LOAD_OTHER(k)                                                                                                  \
    if (CHUNKS > k)                                                                                                    \
        raw[k] = load_chunk(other, k);
#define MULTIPLY(k)                                                                                                    \
    if (CHUNKS > k)                                                                                                    \
        held[k] *= unpack_vec4(other.type, raw[k]);
#define ADD_OTHER(k)                                                                                                   \
    if (CHUNKS > k)                                                                                                    \
        held[k] += unpack_vec4(other.type, raw[k]);
#define WRITE(k)                                                                                                       \
    if (CHUNKS > k)                                                                                                    \
        store_chunk(y, k, held[k]);
    hold_line(line, 0.0);
    if ((MODE & NORM_MEAN) != 0u) {
        EACH_CHUNK(ADD);
        mean = across_lanes(total).sum / count;
        total = Total(0.0, 0.0);
    }
    EACH_CHUNK(ADD);
    total = across_lanes(total);
    if ((MODE & NORM_MEAN) != 0u) {
        more = is_inf(mean) ? 0.0 : total.sum / count; /* what one number cannot hold of the mean */
        total.squares -= more * more * count;
        total.squares = total.squares < 0.0 ? 0.0 : total.squares;
    }
    if ((MODE & NORM_VARIANCE) != 0u)
        factor /= sqrt(total.squares / count + params.epsilon);
    EACH_CHUNK(SCALE_CHUNK);
    if (HAS_SCALE) {
        Line other = line_of(1u, line);
        EACH_CHUNK(LOAD_OTHER);
        EACH_CHUNK(MULTIPLY);
    }
    if (HAS_BIAS) {
        Line other = line_of(BIAS, line);
        EACH_CHUNK(LOAD_OTHER);
        EACH_CHUNK(ADD_OTHER);
    }
    Line y = line_of(RESULT, line);
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
