// SPDX-License-Identifier: Apache-2.0
/* What is run before metacommands are trusted: one product by wgmma, from shared memory, of a struct by value. */
#include "shaders/cuda/meta_test_params.h"

#include <cuda_fp16.h>

/* Core matrices of 8 lines x 16 bytes, one behind the other, those of a further 8 of K `lead` bytes away, those of
 * further 8 lines `stride`. */
static __device__ u64 descriptor(const void *shared, u32 lead, u32 stride)
{
    const u32 address = (u32)__cvta_generic_to_shared(shared);
    return (u64)((address & 0x3ffff) >> 4) | (u64)(lead >> 4) << 16 | (u64)(stride >> 4) << 32;
}

extern "C" __global__ void __launch_bounds__(128) meta_kernel(const __grid_constant__ struct meta_test_params p)
{
    __shared__ __align__(128) __half a[META_TEST_M * META_TEST_K], b[META_TEST_N * META_TEST_K];
    const u32 thread = threadIdx.x;
    float d[4] = { 0, 0, 0, 0 };
    for (u32 i = thread; i < META_TEST_M * META_TEST_K; i += 128) {
        const u32 line = i / META_TEST_K, k = i % META_TEST_K;
        a[(line / 8 * 2 + k / 8) * 64 + line % 8 * 8 + k % 8] = ((const __half *)p.a)[i];
    }
    for (u32 i = thread; i < META_TEST_N * META_TEST_K; i += 128) {
        const u32 line = i / META_TEST_K, k = i % META_TEST_K;
        b[k / 8 * 64 + line * 8 + k % 8] = ((const __half *)p.b)[i];
    }
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "l"(descriptor(a, 128, 256)), "l"(descriptor(b, 128, 256)));
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    const u32 line = thread / 32 * 16 + thread % 32 / 4, column = thread % 4 * 2;
    for (u32 i = 0; i < 4; i++)
        ((float *)p.y)[(line + i / 2 * 8) * META_TEST_N + column + i % 2] = d[i] + p.add;
}
