// SPDX-License-Identifier: Apache-2.0
/* The items of a workgroup in order of a digit of their keys, equal ones in the order that they have. Subgroups have
 * neighbouring items and count in rows of counters; where they are small, neighbours share a row and take turns. A shader
 * defines before it includes this: ITEMS of an invocation, and KEY(j), the key of the one with number j. Then it calls, in
 * this order, begin_ranking(), rank_all(), begin_digits() and place_of_item(), and writes to exchanged[]. Needs
 * sort/radix_scan.glsl. */
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_ballot : require

#define COUNTERS 8u /* rows: subgroups that count at the same time */

shared uint counts[COUNTERS * RADIX]; /* of each row; then how many those before it have */
shared uint digit_begins[RADIX];
shared uint exchanged[ITEMS * GROUP_SIZE]; /* something of each item, in their order */

uint ranks[ITEMS]; /* among the row's items of the same digit */

/* Subgroups of `size` invocations, of which this one has number `self` and this invocation number `within`. */
struct Ranking {
    bool whole; /* else each invocation is one for itself, as where drivers leave room in them */
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

/* What the subgroup wrote to shared memory. */
void await_subgroup(Ranking r)
{
    if (r.whole) {
        subgroupMemoryBarrierShared();
        subgroupBarrier();
    }
}

/* The first `used` ones of each invocation. Subgroups take turns, but all go through each of them: barriers of subgroups
 * stand in control flow that is the same for the whole workgroup (docs/adding-a-shader.md). */
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

/* Of the workgroup's items, in order of their digits, where those of the digit begin that has the invocation's number. */
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
