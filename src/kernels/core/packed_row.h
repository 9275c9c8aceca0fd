/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of a PACKED_AS row but for run, and for accepts where rows share it. INIT, PLAN and PACK are calls,
 * which see the parameters of these functions and `plan`, of this TYPE: INIT fills it; PLAN fills *out and returns the
 * bytes that packing writes. */
#ifndef KERNELS_PACKED_ROW_H
#define KERNELS_PACKED_ROW_H

#include "kernels/core/kernel.h"

#define KERN_PACKED_ROW(name, TYPE, INIT, PLAN, PACK)                                                                  \
    void kern_##name##_plan(const struct kern_op *op, const void *state, uint32_t threads, struct kern_work *out)      \
    {                                                                                                                  \
        TYPE plan;                                                                                                     \
        INIT;                                                                                                          \
        PLAN;                                                                                                          \
    }                                                                                                                  \
    bool kern_##name##_pack_plan(const struct kern_op *op, const void *state, uint32_t *out_input,                     \
                                 uint64_t *out_bytes)                                                                  \
    {                                                                                                                  \
        TYPE plan;                                                                                                     \
        struct kern_work work, *out = &work;                                                                           \
        INIT;                                                                                                          \
        *out_input = 1;                                                                                                \
        *out_bytes = op->packed_input == 2 ? (PLAN) : 0;                                                               \
        return op->packed_input == 2;                                                                                  \
    }                                                                                                                  \
    void kern_##name##_pack(const struct kern_op *op, const void *state, const void *source, void *packed)             \
    {                                                                                                                  \
        TYPE plan;                                                                                                     \
        INIT;                                                                                                          \
        PACK;                                                                                                          \
    }

/* Whether the family's plan can be made for the op. */
#define KERN_PLAN_ACCEPTS(name, TYPE, INIT)                                                                            \
    bool kern_##name##_accepts(const struct kern_op *op)                                                               \
    {                                                                                                                  \
        TYPE plan;                                                                                                     \
        return INIT;                                                                                                   \
    }

/* ROW(isa) for each instruction set with vectors. */
#if defined(__x86_64__)
#define KERN_EACH_ISA(ROW) ROW(avx512) ROW(avx2)
#elif defined(__aarch64__)
#define KERN_EACH_ISA(ROW) ROW(neon)
#else
#define KERN_EACH_ISA(ROW)
#endif

#endif
