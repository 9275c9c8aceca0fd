/* SPDX-License-Identifier: Apache-2.0 */
/* Clears memory, by one workgroup: vectors of 16 bytes. */
#include "shaders/cuda/norm_meta_params.h"

extern "C" __global__ void __launch_bounds__(256, 1) meta_kernel(const __grid_constant__ struct meta_zero_params p)
{
    for (u32 i = threadIdx.x; i < p.vectors; i += 256)
        ((uint4 *)p.at)[i] = make_uint4(0, 0, 0, 0);
}
