// SPDX-License-Identifier: Apache-2.0
/* KERN_SCAN of long lines: a part of a line per workgroup, GROUP_SIZE elements at a time. Of lines of several parts a
 * dispatch before leaves the sums of parts in scratch memory. */
#version 460
#extension GL_GOOGLE_include_directive : require
#define PARAMETERS scan_params
#include "shaders/sort/scan_params.h"
#include "shaders/core/views.glsl"
#include "shaders/sort/line.glsl"
#include "shaders/sort/scan.glsl"

shared NUMBER sums[GROUP_SIZE];

/* All invocations' numbers up to this one's joined, for each. */
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

/* The same for products of floats, which may leave the range and come back, depending on the order: one invocation goes
 * from `carry` on. */
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

/* Joins the sums of the parts [first, end). */
NUMBER sum_of_parts(uint first, uint end)
{
    NUMBER sum = neutral();
    for (uint i = first + gl_LocalInvocationID.x; i < end; i += GROUP_SIZE)
        sum = joined(sum, get_sum(i));
    join_all(sum);
    return sums[GROUP_SIZE - 1];
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
        int from = at_line(0u, params.axis, line), to = at_line(y, params.axis, line);
        NUMBER carry = neutral();
        if (params.sum_parts == 0u) {
            carry = first_of(line);
            if (parts > 1u)
                carry = joined(carry, sum_of_parts(line * parts, unit));
        }
        for (uint at = begin; at < end; at += GROUP_SIZE) {
            uint i = at + lane;
            NUMBER x = neutral(), before = neutral();
            if (i < end)
                x = number_at(0u, from + int(i) * view(0).strides[params.axis]);
            if (in_order) {
                join_in_order(carry, x);
            } else {
                join_all(x);
                before = carry;
            }
            uint of = lane - params.exclusive;
            NUMBER sum = of < GROUP_SIZE ? joined(before, sums[of]) : carry;
            if (!silent && i < end)
                put_number(y, to + int(i) * view(y).strides[params.axis], sum);
            carry = joined(before, sums[GROUP_SIZE - 1]);
        }
        if (lane == 0u && params.sum_parts != 0u)
            put_sum(unit, carry);
        else if (lane == 0u && params.total != 0u && part == parts - 1u)
            put_number(y, to, carry);
    }
}
