// SPDX-License-Identifier: Apache-2.0
/* Sums of numbers across a workgroup. */
shared uint running[GROUP_SIZE];

/* Of the invocations before this one; running[GROUP_SIZE - 1] is all. */
uint sum_before(uint x)
{
    uint lane = gl_LocalInvocationID.x, sum = x;
    barrier();
    running[lane] = x;
    for (uint reach = 1u; reach < GROUP_SIZE; reach *= 2u) {
        barrier();
        uint more = lane >= reach ? running[lane - reach] : 0u;
        barrier();
        sum += more;
        running[lane] = sum;
    }
    barrier();
    return sum - x;
}
