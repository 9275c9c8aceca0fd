/* SPDX-License-Identifier: Apache-2.0 */
/* Lanes in groups of two or four; included once per instruction set. */
#ifndef KERNELS_VEC_GROUP_H
#define KERNELS_VEC_GROUP_H

#include "kernels/vec/vec.h"

/* In every group of `lanes` lanes (2 or 4): its lane i. Both are constants, once inlined. */
DENSE_INLINE vec vec_group(vec x, int lanes, int i)
{
#if defined(__AVX2__)
    switch (lanes == 4 ? i : 4 + i) { /* instructions have the lanes as constants */
    case 0:
        return VEC_MM(permute_ps)(x, 0x00);
    case 1:
        return VEC_MM(permute_ps)(x, 0x55);
    case 2:
        return VEC_MM(permute_ps)(x, 0xaa);
    case 3:
        return VEC_MM(permute_ps)(x, 0xff);
    case 4:
        return VEC_MM(permute_ps)(x, 0xa0);
    default:
        return VEC_MM(permute_ps)(x, 0xf5);
    }
#else
    const vec from = x;
    for (int lane = 0; lane < VEC; lane++)
        x[lane] = from[lane / lanes * lanes + i];
    return x;
#endif
}

#endif
