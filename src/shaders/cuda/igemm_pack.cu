// SPDX-License-Identifier: Apache-2.0
/* igemm_params.h. A block takes IGEMM_CHUNK of K and IGEMM_COLUMNS columns; each warp of four a quarter of each 64 of K,
 * a core matrix's half of each 16; a lane 4 columns. */
#include "shaders/cuda/igemm_params.h"

#define INLINE static __device__ __forceinline__

using params = igemm_pack_params;

/* Elements of four columns from n on, zeros outside. */
INLINE u32 four_columns(const params &p, const char *b, u32 k, u32 n)
{
    const char *at = b + (i64)k * p.stride_k + (i64)n * p.stride_n;
    u32 word = p.flip;
    if (k < p.k && n + 4 <= p.n && p.stride_n == 1 && (p.stride_k | (i64)b) % 4 == 0)
        word = *(const u32 *)at;
    else
        for (u32 i = 0; i < 4; i++)
            if (k < p.k && n + i < p.n)
                word = word & ~(255u << 8 * i) | (u32)(unsigned char)at[(i64)i * p.stride_n] << 8 * i;
    return word ^ p.flip;
}

/* Elements of four k from k on. */
INLINE u32 four_deep(const params &p, const char *b, u32 k, u32 n)
{
    const char *at = b + (i64)k * p.stride_k + (i64)n * p.stride_n;
    u32 word = p.flip;
    if (n < p.n && k + 4 <= p.k && (p.stride_n | (i64)b) % 4 == 0)
        word = *(const u32 *)at;
    else
        for (u32 i = 0; i < 4; i++)
            if (n < p.n && k + i < p.k)
                word = word & ~(255u << 8 * i) | (u32)(unsigned char)at[(i64)i * p.stride_k] << 8 * i;
    return word ^ p.flip;
}

/* words[i] byte j -> words[j] byte i */
INLINE void transpose(u32 (&w)[4])
{
    const u32 a = __byte_perm(w[0], w[1], 0x5140), b = __byte_perm(w[2], w[3], 0x5140);
    const u32 c = __byte_perm(w[0], w[1], 0x7362), d = __byte_perm(w[2], w[3], 0x7362);
    w[0] = __byte_perm(a, b, 0x5410);
    w[1] = __byte_perm(a, b, 0x7632);
    w[2] = __byte_perm(c, d, 0x5410);
    w[3] = __byte_perm(c, d, 0x7632);
}

extern "C" __global__ void __launch_bounds__(128) meta_kernel(const __grid_constant__ params p)
{
    __shared__ i32 partial[4][IGEMM_COLUMNS];
    const u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32, n = blockIdx.x * IGEMM_COLUMNS + lane * 4;
    const u32 batch = blockIdx.z;
    const char *b = (const char *)p.b + (i64)(batch / p.batches1) * p.batch_stride[0] + (i64)(batch % p.batches1) * p.batch_stride[1];
    char *const packed = (char *)p.packed + (u64)batch * p.columns * p.depth + (u64)(n / p.tile * p.tile) * p.depth;
    i32 sums[4] = { 0, 0, 0, 0 };
    for (u32 k0 = blockIdx.y * IGEMM_CHUNK; k0 < min((blockIdx.y + 1) * IGEMM_CHUNK, p.depth) && n < p.columns; k0 += 64) {
        u32 out[4][4]; /* column, t */
#pragma unroll
        for (u32 t = 0; t < 4; t++) {
            const u32 k = k0 + 16 * t + 4 * warp;
            u32 w[4];
            if (p.stride_k == 1) {
#pragma unroll
                for (u32 i = 0; i < 4; i++)
                    w[i] = four_deep(p, b, k, n + i);
            } else {
#pragma unroll
                for (u32 i = 0; i < 4; i++)
                    w[i] = four_columns(p, b, k + i, n);
                transpose(w);
            }
#pragma unroll
            for (u32 i = 0; i < 4; i++) {
                out[i][t] = w[i];
                sums[i] = __dp4a((i32)w[i], 0x01010101, sums[i]);
            }
        }
        char *const to = packed + (u64)(k0 / 32 + warp / 2) * p.tile * 32 + n % p.tile / 8 * 256 + warp % 2 * 128 + n % 8 * 16;
#pragma unroll
        for (u32 i = 0; i < 4; i++)
            *(uint4 *)(to + 16 * i) = make_uint4(out[i][0], out[i][1], out[i][2], out[i][3]);
    }
#pragma unroll
    for (u32 i = 0; i < 4; i++)
        partial[warp][lane * 4 + i] = sums[i];
    __syncthreads();
    const u32 column = blockIdx.x * IGEMM_COLUMNS + threadIdx.x;
    if (column < p.columns)
        ((i32 *)p.sums)[((u64)blockIdx.y * p.batches + batch) * p.columns + column] =
            partial[0][threadIdx.x] + partial[1][threadIdx.x] + partial[2][threadIdx.x] + partial[3][threadIdx.x];
}
