/* SPDX-License-Identifier: Apache-2.0 */
/* Results of matrix products from the sums that gemm_large.cu has of parts of K: a thread has eight of a row and eight more
 * APART columns on, and adds the parts in their order. */
#include "shaders/cuda/gemm_finish_wide.cuh"

#define THREADS 128
#define LANES   (GEMM_PART_COLUMNS / 16) /* of each GEMM_PART_COLUMNS columns */

DEVICE void add_vector(const float *from, float (&v)[WIDE])
{
    const float4 a = __ldg((const float4 *)from), b = __ldg((const float4 *)from + 1);
    v[0] += a.x, v[1] += a.y, v[2] += a.z, v[3] += a.w, v[4] += b.x, v[5] += b.y, v[6] += b.z, v[7] += b.w;
}

extern "C" __global__ void __launch_bounds__(THREADS) meta_kernel(const __grid_constant__ struct gemm_meta_params p)
{
    const u32 of_row = p.part_line / GEMM_PART_COLUMNS * LANES, number = blockIdx.x * THREADS + threadIdx.x;
    const u32 line = number / of_row, within = number - line * of_row, batch = line / p.m, outer = batch / p.batch_size;
    const i32 column = (i32)(within / LANES * GEMM_PART_COLUMNS + within % LANES * WIDE);
    if (batch >= p.batches)
        return;
    const struct wide_place at = { outer, batch - outer * p.batch_size, (i32)(line - batch * p.m), column, (i32)p.n - column };
    uint4 early[GEMM_EARLY][WIDES];
#pragma unroll
    for (int i = 0; i < GEMM_EARLY; i++)
        load_early_wides(early_operand(p, i, at), at.row, 0, at.count, early[i]);
    const float *from = (const float *)p.parts + (u64)line * p.part_line + column;
    const u64 apart = (u64)p.batches * p.m * p.part_line;
    struct wides v = {};
#pragma unroll 4
    for (u32 i = 0; i < p.splits; i++, from += apart)
#pragma unroll
        for (int part = 0; part < WIDES; part++)
            add_vector(from + part * APART, v.part[part].v);
    scale_all(v, p.alpha);
    if (p.flags & GEMM_QUICK) {
        add_early(p, v, early);
        finish_quick(p, v);
    } else {
        finish_any(p, v, early, at);
    }
    store_wides(p, v, at);
}
