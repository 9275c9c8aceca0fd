/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels of matrix products share. */
#ifndef META_GEMM_CUH
#define META_GEMM_CUH

#include "shaders/cuda/gemm_meta_params.h"
#include "shaders/cuda/epilogue.cuh"
#include "shaders/cuda/wgmma_group.cuh"
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#define DEVICE static __device__ __forceinline__

typedef unsigned short element; /* FLOAT16 or BFLOAT16 */

DEVICE u32 pack2(float x, float y, bool bfloat16)
{
    const __nv_bfloat162 b = __floats2bfloat162_rn(x, y);
    const __half2 h = __floats2half2_rn(x, y);
    return bfloat16 ? *(const u32 *)&b : *(const u32 *)&h;
}
DEVICE float2 unpack(u32 pair, bool bfloat16)
{
    if (bfloat16)
        return make_float2(__uint_as_float(pair << 16), __uint_as_float(pair & 0xffff0000u));
    return __half22float2(*(const __half2 *)&pair);
}

DEVICE uint4 load_stream(const void *p)
{
    uint4 v;
    asm volatile("ld.global.nc.L1::no_allocate.L2::128B.v4.u32 {%0,%1,%2,%3},[%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(p));
    return v;
}
DEVICE uint4 load16(const void *p)
{
    uint4 v;
    asm volatile("ld.global.nc.L2::128B.v4.u32 {%0,%1,%2,%3},[%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(p));
    return v;
}
/* For what other warps of the workgroup read, too. */
DEVICE uint4 load_cached(const void *p)
{
    uint4 v;
    asm volatile("ld.global.nc.v4.u32 {%0,%1,%2,%3},[%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(p));
    return v;
}
/* Not as __ldg(), which compilers move before what one waits for. */
DEVICE uint2 load8(const void *p)
{
    uint2 v;
    asm volatile("ld.global.nc.v2.u32 {%0,%1},[%2];" : "=r"(v.x), "=r"(v.y) : "l"(p));
    return v;
}
/* Word i of lane j of four becomes word j of lane i. */
DEVICE uint4 transpose_quad(uint4 v, int lane)
{
    bool odd = lane & 1;
    u32 x = __shfl_xor_sync(~0u, odd ? v.x : v.y, 1), z = __shfl_xor_sync(~0u, odd ? v.z : v.w, 1);
    if (odd) {
        v.x = x;
        v.z = z;
    } else {
        v.y = x;
        v.w = z;
    }
    odd = lane & 2;
    x = __shfl_xor_sync(~0u, odd ? v.x : v.z, 2);
    z = __shfl_xor_sync(~0u, odd ? v.y : v.w, 2);
    if (odd) {
        v.x = x;
        v.y = z;
    } else {
        v.z = x;
        v.w = z;
    }
    return v;
}
/* Tile `id` of a batch: workgroups next to one another take `group` rows of tiles together. */
DEVICE void tile_of(const struct gemm_meta_params &p, u32 id, u32 *tile_m, u32 *tile_n)
{
    const u32 per = p.group * p.tiles_n, g = id / per, first = g * p.group, rows = min(p.group, p.tiles_m - first);
    const u32 rest = id - g * per;
    *tile_m = first + rest % rows;
    *tile_n = rest / rows;
}
DEVICE i64 batch_offset(const i32 (&strides)[2], u32 batch, u32 size)
{
    return (i64)strides[0] * (batch / size) + (i64)strides[1] * (batch % size);
}
#endif
