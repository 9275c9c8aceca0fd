// SPDX-License-Identifier: Apache-2.0
/* Walking lines and adding up over them. A shader defines, before it includes this: struct Total, what an invocation
 * finds in its elements of a line, and void combine(inout Total a, Total b), which adds b to a. */

shared Total totals[GROUP_SIZE];

uint slots() /* lines at once */
{
    return GROUP_SIZE / params.lanes;
}

uint slot()
{
    return params.columns != 0u ? gl_LocalInvocationID.x % slots() : gl_LocalInvocationID.x / params.lanes;
}

uint lane()
{
    return params.columns != 0u ? gl_LocalInvocationID.x / slots() : gl_LocalInvocationID.x % params.lanes;
}

/* Where in tensor t row-major position `number` of dimensions first to end - 1 begins; X's sizes count. */
int at_dimensions(uint t, uint first, uint end, uint number)
{
    int at = 0;
    for (uint d = end; d > first + 1u; d--) {
        uint size = view(0).sizes[d - 1u];
        at += int(number % size) * view(t).strides[d - 1u];
        number /= size;
    }
    return end > first ? at + int(number) * view(t).strides[first] : at;
}

int at_line(uint t, uint line)
{
    return at_dimensions(t, 0u, params.outer, line);
}

/* Element k of a line, as a distance from the first. */
int in_line(uint t, uint k)
{
    return at_dimensions(t, params.outer, view(0).rank, k);
}

/* What all lanes of a line found together; every invocation of the workgroup has to call it. */
Total across_lanes(Total own)
{
    uint self = gl_LocalInvocationID.x, step = params.columns != 0u ? slots() : 1u;
    barrier(); /* the totals before have been read */
    totals[self] = own;
    for (uint s = params.lanes >> 1; s > 0u; s >>= 1) {
        barrier();
        if (lane() < s) {
            combine(own, totals[self + s * step]);
            totals[self] = own;
        }
    }
    barrier();
    return totals[self - lane() * step];
}

/* A long sum is one of sums of BLOCK elements: that is more exact. */
#define BLOCK 16u

/* For k, the elements of [begin, end) that are this lane's, in blocks: `i` is the number of the first of a block. */
#define EACH_BLOCK(i, begin, end) for (uint i = begin + lane(); i < end; i += BLOCK * params.lanes)
#define EACH_IN_BLOCK(k, i, end)                                                                                       \
    for (uint k = i, k##_left = BLOCK; k##_left > 0u && k < end; k += params.lanes, k##_left--)
