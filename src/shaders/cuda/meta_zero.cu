/* SPDX-License-Identifier: Apache-2.0 */
/* Clears memory, by one workgroup. */
#include "shaders/cuda/norm_meta_params.h"

extern "C" __global__ void __launch_bounds__(256, 1) meta_kernel(const __grid_constant__ struct meta_zero_params p)
{
    for (u32 i = threadIdx.x; i < p.words; i += 256)
        ((u32 *)p.at)[i] = 0;
}
