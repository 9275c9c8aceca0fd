/* Transposition of a square of VEC vectors. */
#ifndef KERNELS_DENSE_TURN_H
#define KERNELS_DENSE_TURN_H

#include "kernels/dense_vec.h"

typedef int32_t vec_lanes __attribute__((vector_size(VEC * sizeof(int32_t))));

/* Lanes a0 b0 a1 b1 ... of the lower halves, or the upper ones. */
DENSE_INLINE vec vec_weave(vec a, vec b, bool upper)
{
    vec_lanes lanes;
    for (int32_t i = 0; i < VEC; i++)
        lanes[i] = i / 2 + (i % 2) * VEC + (upper ? VEC / 2 : 0);
    return __builtin_shuffle(a, b, lanes);
}

DENSE_INLINE void vec_turn(vec *rows)
{
    vec next[VEC];
#pragma GCC unroll 4
    for (uint32_t width = 1; width < VEC; width *= 2) {
#pragma GCC unroll 16
        for (uint32_t i = 0; i < VEC / 2; i++) {
            next[2 * i] = vec_weave(rows[i], rows[i + VEC / 2], false);
            next[2 * i + 1] = vec_weave(rows[i], rows[i + VEC / 2], true);
        }
#pragma GCC unroll 16
        for (uint32_t i = 0; i < VEC; i++)
            rows[i] = next[i];
    }
}

#endif
