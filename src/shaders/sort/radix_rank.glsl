// SPDX-License-Identifier: Apache-2.0
/* Where a workgroup's items go by a digit of their keys, equal ones in the order that they have. Subgroups have neighbouring
 * items and count for themselves; where they are small, they take turns. A shader defines before it includes this: ITEMS
 * of an invocation, and KEY(j), the key of the one with number j. Then it calls, in this order, begin_ranking(),
 * rank_all(), set_places() and place_of_item(). */
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_ballot : require

#define COUNTERS 8u /* subgroups that count at the same time */

shared uint counts[COUNTERS * RADIX]; /* of each subgroup; then the place of its first item */

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

/* The items of the invocation's digit go to `place` and following. */
void set_places(Ranking r, uint place)
{
    for (uint i = 0u; i < r.rows; i++) {
        uint count = counts[i * RADIX + gl_LocalInvocationID.x];
        counts[i * RADIX + gl_LocalInvocationID.x] = place;
        place += count;
    }
    barrier();
}

uint place_of_item(Ranking r, uint shift, uint j)
{
    return counts[r.row * RADIX + (KEY(j) >> shift & (RADIX - 1u))] + ranks[j];
}
