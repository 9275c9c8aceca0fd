// SPDX-License-Identifier: Apache-2.0
/* Elements of lines that several passes need: the first ones of each invocation stay in shared memory. */
#ifdef HAVE_FLOAT64
#define CACHED 6u
#else
#define CACHED 12u
#endif

shared REAL cached[CACHED * GROUP_SIZE];

uint cache_slot(uint k)
{
    return k / params.lanes * GROUP_SIZE + gl_LocalInvocationID.x;
}

bool is_cached(uint k)
{
    return k / params.lanes < CACHED;
}

/* Element k of the line that begins at `at`; `first`: nobody has asked for it before. */
REAL element(int at, uint k, bool first)
{
    if (!first && is_cached(k))
        return cached[cache_slot(k)];
    REAL x = load_real(0u, at + in_line(0u, k));
    if (is_cached(k))
        cached[cache_slot(k)] = x;
    return x;
}
