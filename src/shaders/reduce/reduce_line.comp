// SPDX-License-Identifier: Apache-2.0
/* KERN_REDUCE: sums of FLOAT32, FLOAT16 or BFLOAT16 by vectors of neighbouring elements, 16 bytes of one line, or in
 * COLUMNS one element in each of 4 or 8 neighbouring lines. Several vectors are loaded before they are looked at. Tensors:
 * 0 X, 1 Y. */
#version 460
#extension GL_GOOGLE_include_directive : require
#define UNIFORM_BLOCK
#define PARAMETERS line_params
#include "shaders/reduce/reduce_params.h"
#include "shaders/core/views.glsl"
#include "shaders/core/vector.glsl"

layout(constant_id = 2) const uint MODE = REDUCE_SUM;
layout(constant_id = 3) const uint LINES_OF_COLUMNS = 0; /* adjacent lines that a slot processes; 0: one */
layout(constant_id = 4) const uint LINE_LANES = 1;

#define COLUMNS (LINES_OF_COLUMNS != 0u)
#define WIDE    (LINES_OF_COLUMNS > 4u)

struct Total {
    vec4 value, more; /* more: of the upper four lines */
};
#define SHUFFLED(total, mask) Total(subgroupShuffleXor(total.value, mask), total.more)

void combine(inout Total a, Total b)
{
    a.value += b.value;
    if (WIDE)
        a.more += b.more;
}

/* As in reduce_real.comp, which adds them up. */
struct Sum {
    float value, more;
};

#define PARTIAL_BYTES 8u
#define PARTIAL Sum
#define LANES      LINE_LANES
#define IN_COLUMNS COLUMNS
#include "shaders/reduce/lines.glsl"
#include "shaders/reduce/parts.glsl"

#define LINES  max(LINES_OF_COLUMNS, 1u) /* of a slot */
#define VECTOR (COLUMNS ? LINES_OF_COLUMNS : 16u >> type_shift(type_of(0u)))
#define UNROLL 4u

vec4 term(vec4 x)
{
    return MODE == REDUCE_L1 ? abs(x) : MODE == REDUCE_L2 || MODE == REDUCE_SUM_SQUARE ? x * x : x;
}

/* Zeros are skipped. */
Total terms_of(uvec4 words)
{
    Total terms = Total(term(unpack_vec4(type_of(0u), words)), vec4(0.0));
    vec4 upper = term(unpack_vec4(type_of(0u), words.zwzw));
    if (WIDE)
        terms.more = upper;
    else if (VECTOR > 4u)
        terms.value += upper;
    return terms;
}

Total sum_of(Total a, Total b)
{
    combine(a, b);
    return a;
}

/* The sums of a slot: steps are elements of its lines, or vectors of its only one. */
struct Steps {
    uvec2 base;
    int at, step; /* of the first step, in elements; 0: not the same from step to step */
    uint count;   /* elements of a vector, except for the last one of a line */
    bool whole;
};

Steps steps_of(uint line)
{
    uint type = type_of(0u), bytes = VECTOR << type_shift(type);
    Steps s = Steps(address_of(0u), at_line(0u, line), int(VECTOR), VECTOR, false);
    if (COLUMNS) {
        s.step = view(0).rank == params.outer + 1u ? view(0).strides[params.outer] : 0;
        s.count = line < params.lines ? min(params.lines - line, LINES) : 0u;
    }
    s.whole = s.step != 0 && s.count == VECTOR && is_whole(type, place_at(type, s.base, s.at).address, bytes) &&
              (uint(s.step) << type_shift(type) & bytes - 1u) == 0u;
    return s;
}

uvec4 load_whole(Steps s, uint k)
{
    uint type = type_of(0u);
    return load_words(place_at(type, s.base, s.at + int(k) * s.step).address, VECTOR << type_shift(type));
}

uvec4 load_step(Steps s, uint k)
{
    uint count = COLUMNS ? s.count : min(params.size - VECTOR * k, VECTOR);
    int at = s.at + (s.step != 0 ? int(k) * s.step : in_line(0u, k));
    return load_vector(type_of(0u), s.base, at, 1, count, VECTOR);
}

/* Of the part of a line. */
Total add_up(uint line, uint part)
{
    uint steps = COLUMNS ? params.size : (params.size + VECTOR - 1u) / VECTOR;
    uint size = (steps + params.parts - 1u) / params.parts;
    uint end = line < params.lines ? min((part + 1u) * size, steps) : 0u;
    /* Vectors from `full` on are not whole, or not loaded with others. */
    uint full = COLUMNS ? end : min(end, params.size / VECTOR), k = part * size + lane();
    Steps s = steps_of(min(line, params.lines - 1u));
    Total total = Total(vec4(0.0), vec4(0.0));
    /* Vectors of 8 bytes: more of them. */
    for (; COLUMNS && !WIDE && type_of(0u) != TYPE_FLOAT32 && s.whole && k + (2u * UNROLL - 1u) * LANES < full;
         k += 2u * UNROLL * LANES) {
        uvec4 a = load_whole(s, k), b = load_whole(s, k + LANES);
        uvec4 c = load_whole(s, k + 2u * LANES), d = load_whole(s, k + 3u * LANES);
        uvec4 e = load_whole(s, k + 4u * LANES), f = load_whole(s, k + 5u * LANES);
        uvec4 g = load_whole(s, k + 6u * LANES), h = load_whole(s, k + 7u * LANES);
        combine(total, sum_of(sum_of(sum_of(terms_of(a), terms_of(b)), sum_of(terms_of(c), terms_of(d))),
                              sum_of(sum_of(terms_of(e), terms_of(f)), sum_of(terms_of(g), terms_of(h)))));
    }
    for (; s.whole && k + (UNROLL - 1u) * LANES < full; k += UNROLL * LANES) {
        uvec4 a = load_whole(s, k), b = load_whole(s, k + LANES);
        uvec4 c = load_whole(s, k + 2u * LANES), d = load_whole(s, k + 3u * LANES);
        combine(total, sum_of(sum_of(terms_of(a), terms_of(b)), sum_of(terms_of(c), terms_of(d))));
    }
    for (; k < end; k += LANES)
        combine(total, terms_of(load_step(s, k)));
    return total;
}

float result(float sum)
{
    return MODE == REDUCE_AVERAGE ? sum / float(params.count) : MODE == REDUCE_L2 ? sqrt(sum) : sum;
}

void main()
{
    EACH_GROUP_UNIT(unit)
    {
        uint line = (unit / params.parts * slots() + slot()) * LINES, part = unit % params.parts;
        Total found = across_lanes(add_up(line, part));
        vec4 total = found.value;
        if (!COLUMNS)
            total.x = (total.x + total.y) + (total.z + total.w);
        uint upper = line + 4u, end = lane() == 0u ? min(line + LINES, params.lines) : 0u;
        for (; line < end; line++, total = total.yzwx) {
            if (WIDE && line == upper)
                total = found.more;
            if (params.parts > 1u)
                partial_at(line, part).v = Sum(total.x, 0.0);
            else
                store_real(1u, at_line(1u, line), result(total.x));
        }
    }
}
