// SPDX-License-Identifier: Apache-2.0
/* KERN_REDUCE: minimum, maximum and their positions, of lines of contiguous FLOAT32, FLOAT16 or BFLOAT16 elements, by
 * vectors of 16 bytes. Several are loaded before they are used. Tensors: 0 X, 1 Y. */
#version 460
#extension GL_GOOGLE_include_directive : require
#define UNIFORM_BLOCK
#define PARAMETERS line_params
#include "shaders/reduce/reduce_params.h"
#include "shaders/core/views.glsl"
#include "shaders/core/vector.glsl"
#include "shaders/core/order.glsl"
#include "shaders/reduce/extreme.glsl"

layout(constant_id = 2) const bool LEAST = false;
layout(constant_id = 3) const bool LAST = false;
layout(constant_id = 4) const uint LINE_LANES = 1;
layout(constant_id = 5) const bool NAN_WINS = false;

void combine(inout Total a, Total b)
{
    combine_extremes(a, b, LAST);
}

#define SHUFFLED(total, mask)                                                                                          \
    Total(subgroupShuffleXor(total.order, mask), subgroupShuffleXor(total.position, mask), 0u)
#define PARTIAL_BYTES 16u
#define LANES      LINE_LANES
#define IN_COLUMNS false
#include "shaders/reduce/lines.glsl"
#include "shaders/reduce/parts.glsl"
#include "shaders/reduce/extreme_store.glsl"

#define VECTOR (16u >> type_shift(type_of(0u)))
#define UNROLL 4u

/* Of the elements at equal places in the vectors: the best one, with its sign inverted if the least is wanted, and its
 * vector. What is no greater than -infinity is not seen, nor is NaN unless it wins. */
vec4 best[2];
uvec4 vectors[2];

bool is_number(float x)
{
    return order_of_float(floatBitsToUint(x)) != 0u;
}

bool takes(float x, float top)
{
    return is_number(top) && (!is_number(x) || (LAST ? x >= top : x > top));
}

void look_at(uint half_vector, vec4 x, uint k)
{
    x = LEAST ? -x : x;
    vec4 top = best[half_vector];
    bvec4 better = LAST ? greaterThanEqual(x, top) : greaterThan(x, top);
    if (NAN_WINS)
        better = bvec4(takes(x.x, top.x), takes(x.y, top.y), takes(x.z, top.z), takes(x.w, top.w));
    best[half_vector] = vec4(better.x ? x.x : top.x, better.y ? x.y : top.y, better.z ? x.z : top.z,
                             better.w ? x.w : top.w);
    uvec4 old = vectors[half_vector];
    vectors[half_vector] = uvec4(better.x ? k : old.x, better.y ? k : old.y, better.z ? k : old.z, better.w ? k : old.w);
}

void look_at_vector(uvec4 words, uint k)
{
    uint type = type_of(0u);
    look_at(0u, unpack_vec4(type, words), k);
    if (VECTOR == 8u)
        look_at(1u, unpack_vec4(type, words.zwzw), k);
}

void add_best(inout Total total, float value, uint vector, uint place)
{
    uint order = order_of_float(floatBitsToUint(LEAST ? -value : value));
    uvec2 among = is_number(value) ? (LEAST ? ~uvec2(0u, order) : uvec2(0u, order)) : order_of_nan();
    combine(total, Total(among, vector == NONE ? NONE : vector * VECTOR + place, 0u));
}

uvec4 load_whole(uvec2 from, uint k)
{
    return Quads(add64(from, scaled(int(k), 4u))).v; /* lines may have 4 GiB and more */
}

/* Vectors k, k + LANES, ... before `end`. */
Total find_vectors(uvec2 from, uint k, uint end)
{
    Total total = Total(uvec2(0u), NONE, 0u);
    for (uint h = 0u; h < 2u; h++) {
        best[h] = vec4(-INFINITY);
        vectors[h] = uvec4(NONE);
    }
    for (; k + (UNROLL - 1u) * LANES < end; k += UNROLL * LANES) {
        uvec4 a = load_whole(from, k), b = load_whole(from, k + LANES);
        uvec4 c = load_whole(from, k + 2u * LANES), d = load_whole(from, k + 3u * LANES);
        look_at_vector(a, k);
        look_at_vector(b, k + LANES);
        look_at_vector(c, k + 2u * LANES);
        look_at_vector(d, k + 3u * LANES);
    }
    for (; k < end; k += LANES)
        look_at_vector(load_whole(from, k), k);
    for (uint h = 0u; h < VECTOR / 4u; h++)
        for (uint e = 0u; e < 4u; e++)
            add_best(total, best[h][e], vectors[h][e], 4u * h + e);
    return total;
}

/* Of elements [begin, end) of the line, one at a time. */
void find_elements(inout Total total, int x, uint begin, uint end)
{
    for (uint k = begin + lane(); k < end; k += LANES)
        combine(total, extreme_of(x + int(k), k, LEAST));
}

Total find(uint line, uint part)
{
    uint steps = (params.size + VECTOR - 1u) / VECTOR, size = (steps + params.parts - 1u) / params.parts;
    uint begin = min(part * size, steps), end = line < params.lines ? min(begin + size, steps) : begin;
    int x = at_line(0u, min(line, params.lines - 1u));
    uvec2 from = place_of(0u, x).address;
    bool whole = (from.x & 15u) == 0u;
    uint full = min(end, params.size / VECTOR);
    Total total = Total(uvec2(0u), NONE, 0u);
    if (whole)
        total = find_vectors(from, begin + lane(), full);
    /* No element above -infinity: repeat for all. */
    if (total.position == NONE)
        find_elements(total, x, begin * VECTOR, min(end * VECTOR, params.size));
    else if (end > full)
        find_elements(total, x, full * VECTOR, params.size);
    return across_lanes(total);
}

void main()
{
    EACH_GROUP_UNIT(unit)
    {
        uint line = unit / params.parts * slots() + slot(), part = unit % params.parts;
        Total total = find(line, part);
        if (lane() == 0u && line < params.lines) {
            if (params.parts > 1u)
                partial_at(line, part).v = total;
            else
                store_extreme(line, total.position);
        }
    }
}
