/* SPDX-License-Identifier: Apache-2.0 */
/* Packs B for gemm_large.cu: a thread takes 8 x 8 elements. Of 32 columns, 8t + 2j + e is column 2t + e of matrix j. */
#include "shaders/cuda/gemm_meta.cuh"

extern "C" __global__ void __launch_bounds__(256) meta_kernel(const __grid_constant__ struct gemm_meta_params p)
{
    const u32 steps = (p.k + GEMM_PACKED_K - 1) / GEMM_PACKED_K * (GEMM_PACKED_K / 16), n8 = threadIdx.x % 32;
    const u32 matrix = threadIdx.x / 32, tile = blockIdx.x % p.tiles_n, k32 = blockIdx.x / p.tiles_n * 2 + matrix / 4;
    const u32 h = matrix / 2 % 2, c = matrix % 2, n0 = tile * GEMM_PACKED_N + n8 * 8, k0 = k32 * 32 + 4 * h + 2 * c;
    const element *b = (const element *)p.b + batch_offset(p.b_batch, blockIdx.z, p.batch_size);
    uint4 *to = (uint4 *)((char *)p.y + blockIdx.z * (i64)p.packed_batch * 16 +
                          ((i64)tile * steps + blockIdx.x / p.tiles_n * 4) * GEMM_PACKED_BYTES);
    __shared__ uint4 matrices[256][9]; /* with room between them against bank conflicts */
    uint4 line[8]; /* of 8 columns each */
    u32 pairs[8][4];
    if (!(p.flags & GEMM_B_VECTORS)) {
#pragma unroll
        for (int n = 0; n < 8; n++)
#pragma unroll
            for (int t = 0; t < 4; t++) {
                const element *e = b + (k0 + 8 * t) * (i64)p.b_k + (n0 + n) * (i64)p.b_n;
                const u32 low = n0 + n < p.n && k0 + 8 * t < p.k ? *e : 0;
                const u32 high = n0 + n < p.n && k0 + 8 * t + 1 < p.k ? e[p.b_k] : 0;
                pairs[n][t] = low | high << 16;
            }
    } else if (p.flags & GEMM_B_ALONG_K) {
#pragma unroll
        for (int n = 0; n < 8; n++)
#pragma unroll
            for (int t = 0; t < 4; t++) /* pairs do not cross the end, a multiple of 8 */
                pairs[n][t] = n0 + n < p.n && k0 + 8 * t < p.k
                                  ? *(const u32 *)(b + (n0 + n) * (i64)p.b_n + k0 + 8 * t)
                                  : 0;
    } else {
#pragma unroll
        for (int i = 0; i < 8; i++)
            line[i] = n0 < p.n && k0 + i / 2 * 8 + i % 2 < p.k
                          ? __ldg((const uint4 *)(b + (k0 + i / 2 * 8 + i % 2) * (i64)p.b_k + n0))
                          : make_uint4(0, 0, 0, 0);
#pragma unroll
        for (int n = 0; n < 8; n++)
#pragma unroll
            for (int t = 0; t < 4; t++) {
                const uint4 v = line[2 * t], w = line[2 * t + 1];
                const u32 low = n < 4 ? n < 2 ? v.x : v.y : n < 6 ? v.z : v.w, high = n < 4 ? n < 2 ? w.x : w.y : n < 6 ? w.z : w.w;
                pairs[n][t] = __byte_perm(low, high, n % 2 ? 0x7632 : 0x5410);
            }
    }
#pragma unroll
    for (int n = 0; n < 8; n++)
        matrices[(matrix / 2 * 32 + n8 / 4 * 4 + n / 2) * 2 + c][n8 % 4 * 2 + n % 2] =
            make_uint4(pairs[n][0], pairs[n][1], pairs[n][2], pairs[n][3]);
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 8; i++) {
        const int at = i * 256 + threadIdx.x;
        to[at] = matrices[at / 8][at % 8];
    }
}
