/* Transposition of a square of VEC vectors. */
#ifndef KERNELS_DENSE_TRANSPOSE_H
#define KERNELS_DENSE_TRANSPOSE_H

#include "kernels/vec/dense_vec.h"

#if VEC == 4
#define INTERLEAVE(f) f, VEC + f, f + 1, VEC + f + 1
#elif VEC == 8
#define INTERLEAVE(f) f, VEC + f, f + 1, VEC + f + 1, f + 2, VEC + f + 2, f + 3, VEC + f + 3
#else
#define INTERLEAVE(f)                                                                                                  \
    f, VEC + f, f + 1, VEC + f + 1, f + 2, VEC + f + 2, f + 3, VEC + f + 3, f + 4, VEC + f + 4, f + 5, VEC + f + 5,    \
        f + 6, VEC + f + 6, f + 7, VEC + f + 7
#endif

/* Lanes a0 b0 a1 b1 ... of the lower halves, or the upper ones. */
DENSE_INLINE vec vec_interleave(vec a, vec b, bool upper)
{
    return upper ? __builtin_shufflevector(a, b, INTERLEAVE(VEC / 2)) : __builtin_shufflevector(a, b, INTERLEAVE(0));
}

DENSE_INLINE void vec_transpose(vec *rows)
{
    vec next[VEC];
#pragma GCC unroll 4
    for (uint32_t width = 1; width < VEC; width *= 2) {
#pragma GCC unroll 16
        for (uint32_t i = 0; i < VEC / 2; i++) {
            next[2 * i] = vec_interleave(rows[i], rows[i + VEC / 2], false);
            next[2 * i + 1] = vec_interleave(rows[i], rows[i + VEC / 2], true);
        }
#pragma GCC unroll 16
        for (uint32_t i = 0; i < VEC; i++)
            rows[i] = next[i];
    }
}

#endif
