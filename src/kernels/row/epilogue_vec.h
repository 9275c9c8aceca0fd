/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of an epilogue (epilogue.h) on vectors; included once per instruction set. */
#ifndef KERNELS_EPILOGUE_VEC_H
#define KERNELS_EPILOGUE_VEC_H

#include "kernels/core/epilogue.h"
#include "kernels/vec/vec.h"

/* A step without a tensor: EACH(formula) sets every value x of the caller's tile to the formula. A macro, because the
 * switch must be outside of the caller's loop over registers. */
#define KERN_EPILOGUE_CASE(name, EACH, formula)                                                                        \
    case KERN_MAP_##name:                                                                                              \
        EACH(formula)                                                                                                  \
        break;
#define KERN_EPILOGUE_STEP(step, EACH)                                                                                 \
    do {                                                                                                               \
        const vec p = vec_set((step)->p), q = vec_set((step)->q), zero = vec_set(0), one = vec_set(1);                 \
        switch ((step)->code) {                                                                                        \
            KERN_EPILOGUE_CASE(RELU, EACH, vec_max(zero, x)) /* NaN stays */                                           \
            KERN_EPILOGUE_CASE(LEAKY_RELU, EACH, vec_max(zero, x) - p * vec_max(zero, -x))                             \
            KERN_EPILOGUE_CASE(CLAMP, EACH, vec_min(vec_max(x, p), q))                                                 \
            KERN_EPILOGUE_CASE(CLAMP_NAN, EACH, vec_min(q, vec_max(p, x))) /* as RELU */                               \
            KERN_EPILOGUE_CASE(MULADD, EACH, vec_fma(x, p, q))                                                         \
            KERN_EPILOGUE_CASE(HARD_SIGMOID, EACH, vec_min(one, vec_max(zero, vec_fma(x, p, q)))) /* as RELU */        \
            KERN_EPILOGUE_CASE(HARD_SWISH, EACH, x *vec_max(vec_min(vec_fma(x, p, q), one), zero))                     \
            KERN_EPILOGUE_CASE(MUL, EACH, (x * p))                                                                     \
            KERN_EPILOGUE_CASE(MIN, EACH, vec_min(x, p))                                                               \
            KERN_EPILOGUE_CASE(MAX, EACH, vec_max(x, p))                                                               \
            KERN_EPILOGUE_CASE(MIN_NAN, EACH, vec_min(p, x))                                                           \
            KERN_EPILOGUE_CASE(MAX_NAN, EACH, vec_max(p, x))                                                           \
        default:                                                                                                       \
            EACH(x + p) /* ADD */                                                                                      \
        }                                                                                                              \
    } while (0)

/* The input of kern_epilogue_bounds. */
DENSE_INLINE vec kern_bounds_vec(enum kern_bounds_kind kind, vec low, vec high, vec value)
{
    switch (kind) {
    case KERN_BOUNDS_NONE:
        break;
    case KERN_BOUNDS_RELU:
        return vec_max(vec_set(0), value);
    case KERN_BOUNDS_CLAMP:
        return vec_min(vec_max(value, low), high);
    case KERN_BOUNDS_CLIP:
        return vec_max(vec_min(value, high), low);
    case KERN_BOUNDS_CLAMP_NAN:
        return vec_min(high, vec_max(low, value));
    }
    return value;
}

#endif
