// SPDX-License-Identifier: Apache-2.0
/* Order among the dispatches of a chain (struct meta_turn). */
#pragma once
#include "shaders/cuda/meta.h"

/* Not for ever: whatever happens, the device must not hang. */
#define TURN_POLLS_MAX (1u << 20) /* of about half a microsecond */

static __device__ __forceinline__ void turn_poll(u64 counters, const struct meta_turn &turn)
{
    const u32 *counter = (const u32 *)counters + turn.before;
    u32 value = 0;
    for (u32 i = 0; value < turn.count && i < TURN_POLLS_MAX; i++)
        asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(counter) : "memory");
}

/* By all threads of a workgroup: what dispatches before have written is there then. */
static __device__ __forceinline__ void turn_await(u64 counters, const struct meta_turn &turn)
{
    if (!counters || !turn.count)
        return;
    if (threadIdx.x == 0)
        turn_poll(counters, turn);
    __syncthreads();
}

/* The same by all threads of a warp, for what that warp reads. */
static __device__ __forceinline__ void turn_await_warp(u64 counters, const struct meta_turn &turn)
{
    if (!counters || !turn.count)
        return;
    if (threadIdx.x % 32 == 0)
        turn_poll(counters, turn);
    __syncwarp();
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

/* By the first threads of a workgroup, if the others write nothing. */
template <int SOME> static __device__ __forceinline__ void turn_pass_some(u64 counters, const struct meta_turn &turn)
{
    if (!counters)
        return;
    asm volatile("bar.sync 1, %0;" ::"n"(SOME) : "memory");
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd((u32 *)counters + turn.after, 1);
    }
}
