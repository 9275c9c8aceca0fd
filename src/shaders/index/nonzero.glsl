// SPDX-License-Identifier: Apache-2.0
/* Shared by both steps of KERN_NONZERO. */

shared uint sums[GROUP_SIZE];

/* The element behind the last one of the block. */
uint block_end(uint block)
{
    uint begin = block * params.block;
    return begin + min(params.block, params.elements - begin);
}

/* Signs of floating-point zeros are ignored. */
bool is_nonzero(uint number)
{
    uvec2 bits = load_bits(0u, at_element(0u, 0u, number));
    return ((bits.x & params.mask[0]) | (bits.y & params.mask[1])) != 0u;
}

/* The sum of all invocations' numbers up to this one's, for each. */
uint running_sum(uint x)
{
    uint lane = gl_LocalInvocationID.x;
    barrier();
    sums[lane] = x;
    for (uint step = 1u; step < GROUP_SIZE; step *= 2u) {
        barrier();
        uint before = lane >= step ? sums[lane - step] : 0u;
        barrier();
        sums[lane] += before;
    }
    barrier();
    return sums[lane];
}

uint total_of(uint x)
{
    running_sum(x);
    return sums[GROUP_SIZE - 1];
}
