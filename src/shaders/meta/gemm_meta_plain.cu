// SPDX-License-Identifier: Apache-2.0
/* FLOAT16 products of any strides, one result a thread. */
#include "shaders/meta/epilogue.cuh"
#include "shaders/meta/gemm_meta_params.h"

extern "C" __global__ void __launch_bounds__(128) meta_kernel(const __grid_constant__ struct gemm_meta_params p)
{
    const u32 number = blockIdx.x * 128 + threadIdx.x, m = number / p.n, n = number % p.n;
    if (m >= p.m)
        return;
    const __half *a = (const __half *)p.a + (i64)m * p.a_m, *b = (const __half *)p.b + (i64)n * p.b_n;
    float sum = 0;
    for (u32 k = 0; k < p.k; k++)
        sum += __half2float(a[(i64)k * p.a_k]) * __half2float(b[(i64)k * p.b_k]);
    const i64 at = (i64)m * p.y_m + (i64)n * p.y_n;
    ((__half *)p.y)[at] = __float2half(meta_epilogue_run(p.epilogue, p.alpha * sum, at, (i32)n));
}
