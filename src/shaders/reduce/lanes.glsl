// SPDX-License-Identifier: Apache-2.0
/* Several invocations of a workgroup, its lanes, process one line of elements, as many lines at once as fit:
 * params.lanes, params.columns (reduce_params.h), unless the shader has them as constants, LANES and IN_COLUMNS. Before
 * including this, it defines: struct Total, the partial result of an invocation, and void combine(inout Total a, Total
 * b), which adds b to a; with SUBGROUPS, also SHUFFLED(total, mask), that of the subgroup's invocation whose number
 * differs in the bits of the mask. */
#ifndef LANES
#define LANES      params.lanes
#define IN_COLUMNS (params.columns != 0u)
#endif

shared Total totals[GROUP_SIZE];

#ifdef SUBGROUPS
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require

/* Not if drivers leave gaps in subgroups. */
bool by_subgroups()
{
    return !IN_COLUMNS && gl_NumSubgroups * gl_SubgroupSize == GROUP_SIZE;
}

/* The invocation's number; a line's lanes are in one subgroup, or in several whole ones. */
uint self()
{
    return by_subgroups() ? gl_SubgroupID * gl_SubgroupSize + gl_SubgroupInvocationID : gl_LocalInvocationID.x;
}

Total across_subgroups(Total own)
{
    uint within = min(LANES, gl_SubgroupSize);
    for (uint mask = 1u; mask < within; mask <<= 1)
        combine(own, SHUFFLED(own, mask));
    if (LANES <= gl_SubgroupSize)
        return own;
    uint count = LANES / gl_SubgroupSize, first = gl_SubgroupID / count * count;
    barrier(); /* the totals before have been read */
    if (gl_SubgroupInvocationID == 0u)
        totals[gl_SubgroupID] = own;
    barrier();
    own = totals[first];
    for (uint i = 1u; i < count; i++)
        combine(own, totals[first + i]);
    return own;
}
#else
uint self()
{
    return gl_LocalInvocationID.x;
}
#endif

uint slots() /* lines at once */
{
    return GROUP_SIZE / LANES;
}

uint slot()
{
    return IN_COLUMNS ? self() % slots() : self() / LANES;
}

uint lane()
{
    return IN_COLUMNS ? self() / slots() : self() % LANES;
}

/* The combined result of all lanes of a line; every invocation of the workgroup must call it. */
Total across_lanes(Total own)
{
#ifdef SUBGROUPS
    if (by_subgroups())
        return across_subgroups(own);
#endif
    uint step = IN_COLUMNS ? slots() : 1u;
    barrier(); /* the totals before have been read */
    totals[self()] = own;
    for (uint s = LANES >> 1; s > 0u; s >>= 1) {
        barrier();
        if (lane() < s) {
            combine(own, totals[self() + s * step]);
            totals[self()] = own;
        }
    }
    barrier();
    return totals[self() - lane() * step];
}

/* A long sum is one of sums of BLOCK elements: that is more exact. */
#define BLOCK 16u

/* For k, the elements of [begin, end) that are this lane's, in blocks: `i` is the number of the first of a block. */
#define EACH_BLOCK(i, begin, end) for (uint i = begin + lane(); i < end; i += BLOCK * LANES)
#define EACH_IN_BLOCK(k, i, end)                                                                                       \
    for (uint k = i, k##_left = BLOCK; k##_left > 0u && k < end; k += LANES, k##_left--)
