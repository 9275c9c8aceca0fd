// SPDX-License-Identifier: Apache-2.0
/* Elements of lines that several passes need: the first ones of each invocation stay in shared memory. */
#ifdef HAVE_FLOAT64
#define CACHED 6u
#else
#define CACHED 12u
#endif

shared REAL cached[CACHED * GROUP_SIZE];

/* Element k of the line that starts at `at`, whose current part starts at `begin`; `first`: first access. */
REAL element(int at, uint k, uint begin, bool first)
{
    uint number = (k - begin) / params.lanes, place = number * GROUP_SIZE + gl_LocalInvocationID.x;
    if (!first && number < CACHED)
        return cached[place];
    REAL x = load_real(0u, at + in_line(0u, k));
    if (number < CACHED)
        cached[place] = x;
    return x;
}
