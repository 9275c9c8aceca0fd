// SPDX-License-Identifier: Apache-2.0
/* KERN_SCAN of long lines: a part of a line per workgroup, several neighbouring vectors of 16 bytes for each invocation at
 * a time. Of lines of several parts a dispatch before leaves the sums of parts in scratch memory. */
#version 460
#extension GL_GOOGLE_include_directive : require
#define PARAMETERS scan_params
#include "shaders/sort/scan_params.h"
#include "shaders/core/views.glsl"
#include "shaders/core/vector.glsl"
#include "shaders/sort/line.glsl"
#include "shaders/sort/scan.glsl"
#extension GL_EXT_control_flow_attributes : require

shared NUMBER sums[GROUP_SIZE];

/* The combination of all invocations' numbers up to this one, for each. */
void join_all(NUMBER x)
{
    uint lane = gl_LocalInvocationID.x;
    barrier();
    sums[lane] = x;
    for (uint reach = 1u; reach < GROUP_SIZE; reach *= 2u) {
        barrier();
        NUMBER before = lane >= reach ? sums[lane - reach] : neutral();
        barrier();
        x = joined(before, x);
        sums[lane] = x;
    }
    barrier();
}

/* The same for products of floats, which may leave the range and return, depending on the order: one invocation
 * continues from `carry`. */
void join_in_order(NUMBER carry, NUMBER x)
{
    barrier();
    sums[gl_LocalInvocationID.x] = x;
    barrier();
    for (uint i = 0u; gl_LocalInvocationID.x == 0u && i < GROUP_SIZE; i++) {
        carry = joined(carry, sums[i]);
        sums[i] = carry;
    }
    barrier();
}

/* Sums of parts, counted over all lines. */
void put_sum(uint part, NUMBER sum)
{
    Pairs(scratch_at(16u * part)).v = sum.xy;
    Words(scratch_at(16u * part + 8u)).v = sum.z;
}

NUMBER get_sum(uint part)
{
    return uvec3(Pairs(scratch_at(16u * part)).v, Words(scratch_at(16u * part + 8u)).v);
}

/* Combines the sums of the parts [first, end). */
NUMBER sum_of_parts(uint first, uint end)
{
    NUMBER sum = neutral();
    for (uint i = first + gl_LocalInvocationID.x; i < end; i += GROUP_SIZE)
        sum = joined(sum, get_sum(i));
    join_all(sum);
    return sums[GROUP_SIZE - 1];
}

/* A line's elements in a tensor. */
struct Elements {
    uint type;
    uvec2 base;
    int at, stride;
};

Elements elements_of(uint t, uint line)
{
    return Elements(type_of(t), address_of(t), at_line(t, params.axis, line), view(t).strides[params.axis]);
}

#define VECTOR   (16u >> type_shift(type_of(0u)))
#define HELD_MAX 4u
#define HELD     (VECTOR > 4u ? 2u : HELD_MAX) /* vectors of an invocation */

/* Elements of the vector that starts at i. */
uint count_at(uint i, uint end)
{
    return i < end ? min(end - i, VECTOR) : 0u;
}

uvec4 load_part(Elements x, uint i, uint end)
{
    return load_vector(x.type, x.base, x.at + int(i) * x.stride, x.stride, count_at(i, end), VECTOR);
}

NUMBER take_number(uint type, inout uvec4 words, uint j)
{
    uint compute_type;
    uvec2 x = from_bits(take_element(words, j, type_shift(type)), type, compute_type);
    return number_of(x, compute_type);
}

/* The combination of `count` elements. */
NUMBER vector_sum(uint type, uvec4 words, uint count)
{
    NUMBER sum = neutral();
    for (uint j = 0u; j < VECTOR; j++) {
        NUMBER next = joined(sum, take_number(type, words, j));
        sum = j < count ? next : sum;
    }
    return sum;
}

/* Results of `count` elements from i on, preceded by `sum`; returns the sum after them. */
NUMBER put_vector(Elements y, uint type, uvec4 words, NUMBER sum, uint i, uint count)
{
    uint shift = type_shift(y.type), most = VECTOR;
    bool alike = shift == type_shift(type);
    uvec4 results = uvec4(0u);
    for (uint j = 0u; j < VECTOR; j++) {
        NUMBER next = joined(sum, take_number(type, words, j)), result = params.exclusive != 0u ? sum : next;
        bool real = is_real();
        uvec2 x = result.xy;
        if (real)
            x = real_of(result);
        uvec2 bits = to_bits(x, real ? REAL_TYPE : WHOLE_TYPE, y.type);
        if (alike)
            append_element(results, j, shift, bits);
        else if (j < count)
            store_element(place_at(y.type, y.base, y.at + int(i + j) * y.stride), y.type, bits);
        sum = next;
    }
    if (alike)
        store_vector(y.type, y.base, y.at + int(i) * y.stride, y.stride, count, most, appended(results, 16u));
    return sum;
}

/* Elements [begin, end) of the line, continuing from `carry`; returns the sum after them. */
NUMBER scan_part(Elements x, Elements y, uint begin, uint end, NUMBER carry, bool silent)
{
    uint lane = gl_LocalInvocationID.x, share = HELD * VECTOR;
    NUMBER own = neutral();
    for (uint at = begin; at < end; at += GROUP_SIZE * share) {
        uint i = at + lane * share;
        uvec4 words[HELD_MAX];
        NUMBER sum = neutral();
        [[unroll]] for (uint j = 0u; j < HELD_MAX; j++)
            if (j < HELD)
                words[j] = load_part(x, i + j * VECTOR, end);
        [[unroll]] for (uint j = 0u; j < HELD_MAX; j++)
            if (j < HELD)
                sum = joined(sum, vector_sum(x.type, words[j], count_at(i + j * VECTOR, end)));
        if (silent) {
            own = joined(own, sum);
            continue;
        }
        join_all(sum);
        sum = lane > 0u ? joined(carry, sums[max(lane, 1u) - 1u]) : carry;
        [[unroll]] for (uint j = 0u; j < HELD_MAX; j++)
            if (j < HELD && i + j * VECTOR < end)
                sum = put_vector(y, x.type, words[j], sum, i + j * VECTOR, count_at(i + j * VECTOR, end));
        carry = joined(carry, sums[GROUP_SIZE - 1]);
    }
    if (!silent)
        return carry;
    join_all(own);
    return joined(carry, sums[GROUP_SIZE - 1]);
}

/* Products of floats, likewise, one element after another. */
NUMBER scan_in_order(Elements x, Elements y, uint begin, uint end, NUMBER carry, bool silent)
{
    uint lane = gl_LocalInvocationID.x;
    for (uint at = begin; at < end; at += GROUP_SIZE) {
        uint i = at + lane, of = lane - params.exclusive;
        NUMBER number = neutral();
        if (i < end)
            number = number_at(0u, x.at + int(i) * x.stride);
        join_in_order(carry, number);
        if (!silent && i < end)
            put_number(header.inputs, y.at + int(i) * y.stride, of < GROUP_SIZE ? sums[of] : carry);
        carry = sums[GROUP_SIZE - 1];
    }
    return carry;
}

void main()
{
    uint y = header.inputs, lane = gl_LocalInvocationID.x;
    bool in_order = is_real() && params.product != 0u;
    bool silent = params.sum_parts != 0u || params.total != 0u;
    EACH_GROUP_UNIT(unit)
    {
        uint parts = params.parts, line = unit / parts, part = unit % parts, begin = part * params.in_part;
        uint end = min(begin + params.in_part, params.size);
        Elements from = elements_of(0u, line), to = elements_of(y, line);
        NUMBER carry = neutral();
        if (params.sum_parts == 0u) {
            carry = first_of(line);
            if (parts > 1u)
                carry = joined(carry, sum_of_parts(line * parts, unit));
        }
        if (in_order)
            carry = scan_in_order(from, to, begin, end, carry, silent);
        else
            carry = scan_part(from, to, begin, end, carry, silent);
        if (lane == 0u && params.sum_parts != 0u)
            put_sum(unit, carry);
        else if (lane == 0u && params.total != 0u && part == parts - 1u)
            put_number(y, to.at, carry);
    }
}
