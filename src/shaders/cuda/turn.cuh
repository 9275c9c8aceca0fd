// SPDX-License-Identifier: Apache-2.0
/* Order among the dispatches of a chain (struct meta_turn). */
#pragma once
#include "shaders/cuda/meta.h"

/* Not for ever: whatever happens, the device must not hang. */
#define TURN_POLLS_MAX (1u << 20) /* of about half a microsecond */

/* By all threads of a workgroup: what dispatches before have written is there then. */
static __device__ __forceinline__ void turn_await(u64 counters, const struct meta_turn &turn)
{
    if (!counters || !turn.count)
        return;
    if (threadIdx.x == 0) {
        const u32 *counter = (const u32 *)counters + turn.before;
        u32 value = 0;
        for (u32 i = 0; value < turn.count && i < TURN_POLLS_MAX; i++)
            asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(counter) : "memory");
    }
    __syncthreads();
}

static __device__ __forceinline__ void turn_pass(u64 counters, const struct meta_turn &turn)
{
    if (!counters)
        return;
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd((u32 *)counters + turn.after, 1);
    }
}
