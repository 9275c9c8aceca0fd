/* SPDX-License-Identifier: Apache-2.0 */
/* Order and operands of wgmma. */
#ifndef META_WGMMA_GROUP_CUH
#define META_WGMMA_GROUP_CUH

#include "shaders/cuda/meta.h"

static __device__ __forceinline__ u32 shared_address(const void *p)
{
    return (u32)__cvta_generic_to_shared(p);
}
static __device__ __forceinline__ void wgmma_fence()
{
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
static __device__ __forceinline__ void wgmma_commit()
{
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
template <int N> static __device__ __forceinline__ void wgmma_wait()
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory");
}
static __device__ __forceinline__ void fence_async()
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
/* Shared memory as wgmma reads it: along_k and along_n are bytes from one core matrix to the next. */
static __device__ __forceinline__ u64 descriptor(u32 address, u32 along_k, u32 along_n)
{
    return (u64)(address >> 4) | (u64)(along_k >> 4) << 16 | (u64)(along_n >> 4) << 32;
}

#endif
