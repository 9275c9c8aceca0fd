/* SPDX-License-Identifier: Apache-2.0 */
/* Results of matrix products from the sums that gemm_large.cu has of parts of K: a thread has eight of a row and eight more
 * APART columns on. */
#include "shaders/cuda/gemm_finish_wide.cuh"

#define THREADS 128

extern "C" __global__ void __launch_bounds__(THREADS) meta_kernel(const __grid_constant__ struct gemm_meta_params p)
{
    const u32 of_row = p.part_line / (WIDES * WIDE), number = blockIdx.x * THREADS + threadIdx.x;
    const u32 line = number / of_row, batch = line / p.m, outer = batch / p.batch_size;
    const i32 column = part_column(number - line * of_row);
    if (batch < p.batches)
        finish_parts(p, { outer, batch - outer * p.batch_size, (i32)(line - batch * p.m), column, (i32)p.n - column });
}
