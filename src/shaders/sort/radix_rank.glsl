// SPDX-License-Identifier: Apache-2.0
/* The items of a workgroup in order of a digit of their keys, equal ones in the order that they have. Subgroups have
 * neighbouring items and count for themselves; where they are small, they take turns. A shader defines before it includes
 * this: ITEMS of an invocation, and KEY(j), the key of the one with number j. Then it calls, in this order,
 * begin_ranking(), rank_all(), begin_digits() and place_of_item(), and writes to exchanged[]. Needs
 * sort/radix_scan.glsl. */
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_ballot : require

#define COUNTERS 8u /* subgroups that count at the same time */

shared uint counts[COUNTERS * RADIX]; /* of each subgroup; then how many those before it have */
shared uint digit_begins[RADIX];
shared uint exchanged[ITEMS * GROUP_SIZE]; /* something of each item, in their order */

uint ranks[ITEMS]; /* among the subgroup's items of the same digit */

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
    r.turns = all > COUNTERS ? all : 1u;
    r.rows = r.turns > 1u ? 1u : all;
    r.row = r.turns > 1u ? 0u : r.self;
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

/* Of the subgroup's items with the same number, which have the digit: bits of those in lower lanes, and how many. */
void rank_items(Ranking r, uint shift, uint used)
{
    uint lane = gl_SubgroupInvocationID;
    uvec2 below = lane < 32u ? uvec2((1u << lane) - 1u, 0u) : uvec2(~0u, (1u << lane - 32u) - 1u);
    [[unroll]] for (uint j = 0u; j < ITEMS; j++) {
        uint digit = KEY(j) >> shift & (RADIX - 1u), rank = 0u, count = 1u, at = r.row * RADIX + digit;
        bool valid = j < used;
        if (r.whole) {
            uvec2 alike = subgroupBallot(valid).xy;
            for (uint b = 0u; b < RADIX_BITS; b++) {
                bool bit = (digit >> b & 1u) != 0u;
                uvec2 those = subgroupBallot(bit).xy;
                alike &= bit ? those : ~those;
            }
            rank = uint(bitCount(alike.x & below.x) + bitCount(alike.y & below.y));
            count = uint(bitCount(alike.x) + bitCount(alike.y));
        }
        uint before = counts[at];
        if (r.whole) {
            subgroupMemoryBarrierShared();
            subgroupBarrier();
        }
        if (valid && rank == 0u)
            counts[at] = before + count;
        if (r.whole) {
            subgroupMemoryBarrierShared();
            subgroupBarrier();
        }
        ranks[j] = before + rank;
    }
}

/* The first `used` ones of each invocation. */
void rank_all(Ranking r, uint shift, uint used)
{
    for (uint turn = 0u; turn < r.turns; turn++) {
        barrier();
        if (r.turns == 1u || turn == r.self)
            rank_items(r, shift, used);
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
    uint digit = KEY(j) >> shift & RADIX - 1u;
    return digit_begins[digit] + counts[r.row * RADIX + digit] + ranks[j];
}
