// SPDX-License-Identifier: Apache-2.0
/* KERN_SORT by digits: each item of a part to its place, behind the items of lesser digits and those of its digit before it.
 * Subgroups have neighbouring items and count for themselves; where they are small, they take turns. Tensors: 0 X,
 * 1 values, 2 positions. */
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_ballot : require
#define PARAMETERS radix_params
#include "shaders/sort/sort_params.h"
#include "shaders/core/views.glsl"
#include "shaders/sort/radix.glsl"
#include "shaders/sort/radix_scan.glsl"
#include "shaders/sort/sort_write.glsl"

#define ITEMS    8u /* of an invocation */
#define COUNTERS 8u /* subgroups that count at the same time */

shared uint counts[COUNTERS * RADIX]; /* of each subgroup; then the place of its first item */

uvec2 items[ITEMS];
uint ranks[ITEMS]; /* among the subgroup's items of the same digit */

/* Subgroups may have room left: then each invocation is one for itself. */
bool whole_subgroups()
{
    return gl_NumSubgroups * gl_SubgroupSize == GROUP_SIZE && gl_SubgroupSize <= 64u;
}

/* Of the subgroup's items with the number j, which have the digit: bits of those in lower lanes, and how many. */
void rank_items(bool whole, uint row, uint used)
{
    uint lane = gl_SubgroupInvocationID;
    uvec2 below = lane < 32u ? uvec2((1u << lane) - 1u, 0u) : uvec2(~0u, (1u << lane - 32u) - 1u);
    [[unroll]] for (uint j = 0u; j < ITEMS; j++) {
        uint digit = radix_digit(items[j].x), rank = 0u, count = 1u;
        bool valid = j < used;
        if (whole) {
            uvec2 alike = subgroupBallot(valid).xy;
            [[unroll]] for (uint b = 0u; b < RADIX_BITS; b++) {
                bool bit = (digit >> b & 1u) != 0u;
                uvec2 those = subgroupBallot(bit).xy;
                alike &= bit ? those : ~those;
            }
            rank = uint(bitCount(alike.x & below.x) + bitCount(alike.y & below.y));
            count = uint(bitCount(alike.x) + bitCount(alike.y));
        }
        uint before = counts[row * RADIX + digit];
        if (whole) {
            subgroupMemoryBarrierShared();
            subgroupBarrier();
        }
        if (valid && rank == 0u)
            counts[row * RADIX + digit] = before + count;
        if (whole) {
            subgroupMemoryBarrierShared();
            subgroupBarrier();
        }
        ranks[j] = before + rank;
    }
}

void put_item(uint line, uint to, uvec2 item)
{
    if (params.last == 0u)
        Pairs(add64(scratch_at(params.to), mul64(8u, uvec2(line * params.size + to, 0u)))).v = item;
    else if (to < params.kept)
        write_result(params.axis, line, to, item.y);
}

void main()
{
    uint lane = gl_LocalInvocationID.x;
    bool whole = whole_subgroups();
    uint size = whole ? gl_SubgroupSize : 1u, self = whole ? gl_SubgroupID : lane, all = GROUP_SIZE / size;
    uint within = whole ? gl_SubgroupInvocationID : 0u, turns = all > COUNTERS ? all : 1u;
    uint rows = turns > 1u ? 1u : all, row = turns > 1u ? 0u : self;
    EACH_GROUP_UNIT(unit)
    {
        uint line = unit / params.groups, group = unit % params.groups;
        uint first = group * RADIX_ITEMS + self * ITEMS * size + within, used = 0u;
        barrier();
        for (uint r = 0u; r < rows; r++)
            counts[r * RADIX + lane] = 0u;
        [[unroll]] for (uint j = 0u; j < ITEMS; j++) {
            items[j] = uvec2(0u);
            if (first + j * size < params.size) {
                items[j] = radix_item(line, first + j * size);
                used = j + 1u;
            }
        }
        for (uint turn = 0u; turn < turns; turn++) {
            barrier();
            if (turns == 1u || turn == self)
                rank_items(whole, row, used);
        }
        /* Digits of invocations: where the first item of each subgroup goes. */
        uint place = sum_before(radix_total(line, lane).v) + radix_count(line, lane, group).v;
        for (uint r = 0u; r < rows; r++) {
            uint count = counts[r * RADIX + lane];
            counts[r * RADIX + lane] = place;
            place += count;
        }
        barrier();
        [[unroll]] for (uint j = 0u; j < ITEMS; j++)
            if (j < used)
                put_item(line, counts[row * RADIX + radix_digit(items[j].x)] + ranks[j], items[j]);
    }
}
