// SPDX-License-Identifier: Apache-2.0
/* KERN_ATTENTION of few queries and many keys (flash decoding): a workgroup has all queries of a head, and one of
 * `parts` equal parts of their keys, whose number is known at run time. LANES invocations share a key's scores, then
 * VECTORS of them have the columns of V, 16 bytes each, and the others interleaved keys. K and V are read directly from
 * memory, each element once for all queries, V while scores are computed. With one part the results are stored, with
 * several attention_join.comp combines the partial results: for each query the sums of W columns, then the maximum
 * score and the sum of the weights. Tensors: see attention.glsl. */
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#define UNIFORM_BLOCK
#define PARAMETERS attention_params
#include "shaders/attention/attention_params.h"
#include "shaders/core/views.glsl"
#include "shaders/core/math_f64.glsl"
#include "shaders/attention/attention.glsl"
#include "shaders/attention/attention_parts.glsl"
#include "shaders/core/vector.glsl"

layout(constant_id = 2) const uint SHAPE = 16u << 16 | 16u << 8 | 1u; /* VECTORS, DEPTH, ROWS */
layout(constant_id = 3) const uint FLAGS = 2u << 8;                   /* HALVES, PARTS_... */

#define ROWS    (SHAPE & 255u)
#define DEPTH   (SHAPE >> 8 & 255u) /* vectors of a query or a key */
#define VECTORS (SHAPE >> 16)       /* of a line of V, rounded up to a power of two, 4 at least */

#define LANES   (GROUP_SIZE / ATTENTION_PARTS_KEYS)
#define GROUPS  (GROUP_SIZE / VECTORS)
#define LOADS_K ((DEPTH + LANES - 1u) / LANES)
#define LOADS_V (ATTENTION_PARTS_KEYS / GROUPS)
#define QUADS   (ATTENTION_PARTS_KEYS / 4u) /* of a query's scores */
#define HALVES  (FLAGS >> 8) /* fours of a vector */
#define EACH_HALF(h) [[unroll]] for (uint h = 0u; h < HALVES; h++)
#define EACH_ROW(r)  [[unroll]] for (uint r = 0u; r < ROWS; r++)

shared vec4 queries[ROWS * DEPTH * HALVES];
shared float products[ROWS * GROUP_SIZE];
shared vec4 scores[ROWS * QUADS];
shared vec4 sums_of[GROUP_SIZE * HALVES];
shared uint limits[ROWS]; /* existing keys */

vec4 sums[ROWS][HALVES];
uvec4 values[LOADS_V]; /* of V */
float top[ROWS], total[ROWS];

uint vector_of(uint t)
{
    return 16u >> type_shift(type_of(t));
}

vec4 four_of(uvec4 words, uint second)
{
    return unpack_vec4(type_of(0u), second != 0u ? words.zwzw : words);
}

/* Vector v of a line that starts at element `start`; elements after the line's end are 0. */
uvec4 vector_at(uint t, uint wide, int start, uint v)
{
    const uint most = vector_of(t), first = v * most, size = view(t).sizes[3];
    if ((FLAGS & wide) != 0u)
        return first < size ? Quads(place_of(t, start + int(first)).address).v : uvec4(0u);
    const int step = view(t).strides[3];
    return load_vector(type_of(t), address_of(t), start + int(first) * step, step, size - min(first, size), most);
}

void load_queries()
{
    for (uint i = gl_LocalInvocationID.x; i < ROWS * DEPTH; i += GROUP_SIZE) {
        const uvec4 words = vector_at(0u, PARTS_WIDE_Q, offset4(0u, head, i / DEPTH), i % DEPTH);
        EACH_HALF(h)
            queries[HALVES * i + h] = four_of(words, h);
    }
    if (gl_LocalInvocationID.x < ROWS)
        limits[gl_LocalInvocationID.x] = existing_keys(gl_LocalInvocationID.x);
}

/* Of the key of these LANES with all queries: this one's share. */
void multiply_key(uint key, uint lane)
{
    const int start = offset4(1u, group_of_head(), key);
    uvec4 x[LOADS_K];
    float product[ROWS];
    [[unroll]] for (uint i = 0u; i < LOADS_K; i++)
        x[i] = vector_at(1u, PARTS_WIDE_K, start, i * LANES + lane);
    EACH_ROW(r)
        product[r] = 0.0;
    [[unroll]] for (uint i = 0u; i < LOADS_K; i++) {
        const uint v = min(i * LANES + lane, DEPTH - 1u);
        EACH_HALF(h)
        {
            const vec4 four = four_of(x[i], h);
            EACH_ROW(r)
            {
                const float part = dot(queries[HALVES * (r * DEPTH + v) + h], four);
                product[r] += i * LANES + lane < DEPTH ? part : 0.0;
            }
        }
    }
    EACH_ROW(r)
        products[r * GROUP_SIZE + gl_LocalInvocationID.x] = product[r];
}

/* Scores of the block's keys from `first` on: -infinity for those that do not exist. */
void finish_scores(uint first, uint end)
{
    for (uint i = gl_LocalInvocationID.x; i < ROWS * ATTENTION_PARTS_KEYS; i += GROUP_SIZE) {
        const uint r = i / ATTENTION_PARTS_KEYS, number = i % ATTENTION_PARTS_KEYS, key = first + number;
        float sum = 0.0;
        [[unroll]] for (uint lane = 0u; lane < LANES; lane++)
            sum += products[r * GROUP_SIZE + number * LANES + lane];
        scores[i >> 2][i & 3u] = key < min(end, limits[r]) ? score(sum, r, key) : -INFINITY;
    }
}

float greater(float a, float b) /* NaN is ignored */
{
    return b > a ? b : a;
}

/* Sums so far relative to the new largest scores. */
void rescale(uint r)
{
    float best = top[r];
    [[unroll]] for (uint i = 0u; i < QUADS; i++) {
        const vec4 four = scores[r * QUADS + i];
        best = greater(greater(greater(greater(best, four.x), four.y), four.z), four.w);
    }
    const float factor = exp_of(top[r] - base_of(best));
    top[r] = best;
    total[r] *= factor;
    EACH_HALF(h)
        sums[r][h] *= factor;
}

/* The weight of a value for a query that does not see it, 0 times infinity, is ignored. */
void add_values(uint first, uint group)
{
    [[unroll]] for (uint i = 0u; i < LOADS_V; i++) {
        const uint number = i * GROUPS + group;
        EACH_ROW(r)
        {
            const float weight = scores[r * QUADS + (number >> 2)][number & 3u];
            const bool sees = (FLAGS & PARTS_CAUSAL) == 0u || first + number < limits[r];
            EACH_HALF(h)
                sums[r][h] += weight * (sees ? four_of(values[i], h) : vec4(0.0));
        }
    }
}

/* Keys first to end, at most ATTENTION_PARTS_KEYS of them. Instead of keys that do not exist, the last one is read
 * again. */
void run_block(uint first, uint end)
{
    const uint me = gl_LocalInvocationID.x, group = me / VECTORS, column = me % VECTORS;
    [[unroll]] for (uint i = 0u; i < LOADS_V; i++) {
        const uint key = first + i * GROUPS + group;
        const uvec4 x = vector_at(2u, PARTS_WIDE_V, offset4(2u, group_of_head(), min(key, end - 1u)), column);
        values[i] = key < end ? x : uvec4(0u);
    }
    multiply_key(min(first + me / LANES, end - 1u), me % LANES);
    barrier();
    finish_scores(first, end);
    barrier();
    EACH_ROW(r)
        rescale(r);
    barrier();
    for (uint i = me; i < ROWS * ATTENTION_PARTS_KEYS; i += GROUP_SIZE) {
        float best = top[0];
        [[unroll]] for (uint r = 1u; r < ROWS; r++)
            best = i / ATTENTION_PARTS_KEYS == r ? top[r] : best;
        scores[i >> 2][i & 3u] = exp_of(scores[i >> 2][i & 3u] - base_of(best));
    }
    barrier();
    EACH_ROW(r)
        [[unroll]] for (uint i = 0u; i < QUADS; i++)
            total[r] += dot(scores[r * QUADS + i], vec4(1.0));
    add_values(first, group);
    barrier();
}

/* The sums over all groups for query r, whose columns are distributed among the invocations. */
void store_query(uint unit, uint r)
{
    const uint me = gl_LocalInvocationID.x, each = vector_of(2u), width = view(2).sizes[3], y = header.inputs;
    EACH_HALF(h)
        sums_of[HALVES * me + h] = sums[r][h];
    barrier();
    for (uint column = me; column < width; column += GROUP_SIZE) {
        float sum = 0.0;
        for (uint group = 0u; group < GROUPS; group++)
            sum += sums_of[HALVES * (group * VECTORS + column / each) + (column % each >> 2)][column & 3u];
        if (params.parts > 1u)
            Words(scratch_at(4u * (state_at(unit, r, ROWS) + column))).v = floatBitsToUint(sum);
        else
            store_real(y, offset4(y, head, r) + int(column) * view(y).strides[3], result_of(sum, total[r]));
    }
    if (params.parts > 1u && me == 0u) {
        Words(scratch_at(4u * (state_at(unit, r, ROWS) + width))).v = floatBitsToUint(top[r]);
        Words(scratch_at(4u * (state_at(unit, r, ROWS) + width + 1u))).v = floatBitsToUint(total[r]);
    }
    barrier();
}

void main()
{
    const uint heads = view(header.inputs).sizes[1];
    EACH_GROUP_UNIT(unit)
    {
        const uint of_head = unit / params.parts, part = unit - of_head * params.parts;
        batch = of_head / heads;
        head = of_head - batch * heads;
        const uint keys = existing_keys(ROWS - 1u), each = keys_of_part(keys), first = part * each;
        const uint end = min(first + each, keys);
        if (first >= end && (part > 0u || params.parts > 1u))
            continue;
        load_queries();
        EACH_ROW(r)
        {
            EACH_HALF(h)
                sums[r][h] = vec4(0.0);
            top[r] = -INFINITY;
            total[r] = 0.0;
        }
        barrier();
        for (uint key = first; key < end; key += ATTENTION_PARTS_KEYS)
            run_block(key, min(end, key + ATTENTION_PARTS_KEYS));
        EACH_ROW(r)
            store_query(unit, r);
    }
}
