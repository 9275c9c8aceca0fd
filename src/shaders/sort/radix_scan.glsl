// SPDX-License-Identifier: Apache-2.0
/* Prefix sums across a workgroup, by subgroups if a shader uses them. */
#if defined(SUBGROUPS)
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#endif

shared uint running[GROUP_SIZE];

#if defined(SUBGROUPS)
/* Not if drivers leave gaps in subgroups. */
bool scans_by_subgroups()
{
    return gl_NumSubgroups * gl_SubgroupSize == GROUP_SIZE;
}

/* The invocation's number. */
uint scan_self()
{
    return scans_by_subgroups() ? gl_SubgroupID * gl_SubgroupSize + gl_SubgroupInvocationID : gl_LocalInvocationID.x;
}
#else
uint scan_self()
{
    return gl_LocalInvocationID.x;
}
#endif

/* Of the invocations before this one, and of all. */
uint sum_before(uint x, out uint all)
{
    uint sum = x;
    all = 0u;
    barrier(); /* the sums before have been read */
#if defined(SUBGROUPS)
    if (scans_by_subgroups()) {
        uint lane = gl_SubgroupInvocationID, before = 0u;
        for (uint reach = 1u; reach < gl_SubgroupSize; reach *= 2u) {
            uint more = subgroupShuffle(sum, max(lane, reach) - reach);
            sum += lane >= reach ? more : 0u;
        }
        if (lane == gl_SubgroupSize - 1u)
            running[gl_SubgroupID] = sum;
        barrier();
        for (uint i = 0u; i < gl_NumSubgroups; i++) {
            uint other = running[i];
            before += i < gl_SubgroupID ? other : 0u;
            all += other;
        }
        return before + sum - x;
    }
#endif
    uint self = gl_LocalInvocationID.x;
    running[self] = x;
    for (uint reach = 1u; reach < GROUP_SIZE; reach *= 2u) {
        barrier();
        uint more = self >= reach ? running[self - reach] : 0u;
        barrier();
        sum += more;
        running[self] = sum;
    }
    barrier();
    all = running[GROUP_SIZE - 1];
    return sum - x;
}
