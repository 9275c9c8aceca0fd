// SPDX-License-Identifier: Apache-2.0
/* Order among the dispatches of a chain (struct meta_turn). */
#pragma once
#include "shaders/meta/meta.h"

/* Not for ever: whatever happens, the device must not hang. */
#define TURN_POLLS_MAX (1u << 22)
#define TURN_POLLS     4   /* on their way at a time, which take about TURN_POLLS * TURN_APART */
#define TURN_APART     256 /* cycles */

static __device__ __forceinline__ u32 turn_poll(const u32 *counter)
{
    u32 value;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(counter) : "memory");
    return value;
}

static __device__ __forceinline__ void turn_poll_until(const u32 *counter, u32 count)
{
    u32 values[TURN_POLLS];
#pragma unroll
    for (u32 i = 0; i < TURN_POLLS; i++) {
        const u32 begin = clock();
        values[i] = turn_poll(counter);
        while (i + 1 < TURN_POLLS && (u32)clock() - begin < TURN_APART)
            ;
    }
    for (u32 polls = 0; polls < TURN_POLLS_MAX; polls += TURN_POLLS)
#pragma unroll
        for (u32 i = 0; i < TURN_POLLS; i++) {
            if (values[i] >= count)
                return;
            values[i] = turn_poll(counter);
        }
}

/* By all threads of a workgroup: what dispatches before have written is there then. */
static __device__ __forceinline__ void turn_await(u64 counters, const struct meta_turn &turn)
{
    if (!counters || !turn.count)
        return;
    if (threadIdx.x == 0) {
        turn_poll_until((const u32 *)counters + turn.before, turn.count);
        asm volatile("fence.acq_rel.gpu;" ::: "memory");
    }
    __syncthreads();
}

static __device__ __forceinline__ void turn_pass(u64 counters, const struct meta_turn &turn)
{
    if (!counters)
        return;
    __syncthreads();
    if (threadIdx.x == 0)
        asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"((u32 *)counters + turn.after) : "memory");
}
