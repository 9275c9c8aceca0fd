// SPDX-License-Identifier: Apache-2.0
/* Sorts the items of a workgroup by a digit of their keys, stably. Subgroups have adjacent items and count in rows of
 * counters; if subgroups are small, neighbours share a row and take turns. Before including this, a shader defines:
 * ITEMS of an invocation, and KEY(j), the key of the one with number j. Then it calls, in this order, begin_ranking(),
 * rank_all(), begin_digits() and place_of_item(), and writes to exchanged[]. Needs sort/radix_scan.glsl. */
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_ballot : require

#define COUNTERS 8u /* rows: subgroups that count at the same time */

shared uint counts[COUNTERS * RADIX]; /* of each row; then the counts of the preceding ones */
shared uint digit_begins[RADIX];
shared uint exchanged[ITEMS * GROUP_SIZE]; /* a value of each item, in their order */

uint ranks[ITEMS]; /* among the row's items of the same digit */

/* Subgroups of `size` invocations, of which this one has number `self` and this invocation number `within`. */
struct Ranking {
    bool whole; /* otherwise each invocation is a subgroup, as when drivers leave gaps in subgroups */
    uint size, self, within, turns, rows, row;
};

Ranking ranking()
{
    Ranking r;
    r.whole = gl_NumSubgroups * gl_SubgroupSize == GROUP_SIZE && gl_SubgroupSize <= 64u;
    r.size = r.whole ? gl_SubgroupSize : 1u;
    r.self = r.whole ? gl_SubgroupID : gl_LocalInvocationID.x;
    r.within = r.whole ? gl_SubgroupInvocationID : 0u;
    uint all = GROUP_SIZE / r.size;
    r.rows = min(all, COUNTERS);
    r.turns = all / r.rows;
    r.row = r.self / r.turns;
    return r;
}

/* Of the invocation's first item; the others are r.size apart. */
uint first_item(Ranking r)
{
    return r.self * ITEMS * r.size + r.within;
}

void begin_ranking(Ranking r)
{
    barrier();
    for (uint i = 0u; i < r.rows; i++)
        counts[i * RADIX + gl_LocalInvocationID.x] = 0u;
}

uint digit_of_item(uint shift, uint j)
{
    return KEY(j) >> shift & (RADIX - 1u);
}

/* The subgroup's items with number j that have the digit of this one: bits of their lanes. */
uvec2 alike(uint shift, uint j, bool valid)
{
    uint digit = digit_of_item(shift, j);
    uvec2 lanes = subgroupBallot(valid).xy;
    for (uint b = 0u; b < RADIX_BITS; b++) {
        bool bit = (digit >> b & 1u) != 0u;
        uvec2 those = subgroupBallot(bit).xy;
        lanes &= bit ? those : ~those;
    }
    return lanes;
}

/* The subgroup's writes to shared memory. */
void await_subgroup(Ranking r)
{
    if (r.whole) {
        subgroupMemoryBarrierShared();
        subgroupBarrier();
    }
}

/* The first `used` ones of each invocation. Subgroups take turns, but all execute each turn: subgroup barriers are in
 * control flow that is uniform for the whole workgroup (docs/adding-a-shader.md). */
void rank_all(Ranking r, uint shift, uint used)
{
    uint lane = gl_SubgroupInvocationID, sizes[ITEMS];
    uvec2 below = lane < 32u ? uvec2((1u << lane) - 1u, 0u) : uvec2(~0u, (1u << lane - 32u) - 1u);
    [[unroll]] for (uint j = 0u; j < ITEMS; j++) {
        ranks[j] = 0u;
        sizes[j] = 1u;
        if (r.whole) {
            uvec2 lanes = alike(shift, j, j < used);
            ranks[j] = uint(bitCount(lanes.x & below.x) + bitCount(lanes.y & below.y));
            sizes[j] = uint(bitCount(lanes.x) + bitCount(lanes.y));
        }
    }
    for (uint turn = 0u; turn < r.turns; turn++) {
        bool own = r.self % r.turns == turn;
        barrier();
        [[unroll]] for (uint j = 0u; j < ITEMS; j++) {
            uint at = r.row * RADIX + digit_of_item(shift, j), before = 0u;
            if (own)
                before = counts[at];
            await_subgroup(r);
            if (own && j < used && ranks[j] == 0u)
                counts[at] = before + sizes[j];
            await_subgroup(r);
            ranks[j] += before;
        }
    }
    barrier();
}

/* The start, among the workgroup's items in order of their digits, of the items with the invocation's digit. */
uint begin_digits(Ranking r)
{
    uint digit = scan_self(), count = 0u, all;
    for (uint i = 0u; i < r.rows; i++) {
        uint of_row = counts[i * RADIX + digit];
        counts[i * RADIX + digit] = count;
        count += of_row;
    }
    uint begin = sum_before(count, all);
    digit_begins[digit] = begin;
    barrier();
    return begin;
}

/* In that order. */
uint place_of_item(Ranking r, uint shift, uint j)
{
    uint digit = digit_of_item(shift, j);
    return digit_begins[digit] + counts[r.row * RADIX + digit] + ranks[j];
}
