/* SPDX-License-Identifier: Apache-2.0 */
/* Names of a kernel's functions by instruction set: the build compiles the including file once for each, with ISA
 * defined (portable, avx2, avx512, neon) and its compiler flags. */
#ifndef KERNELS_ISA_H
#define KERNELS_ISA_H

#include "kernels/core/kernel.h"

#define KERN_ISA_RUN_portable _run
#define KERN_ISA_RUN_avx2     _avx2_run
#define KERN_ISA_RUN_avx512   _avx512_run
#define KERN_ISA_RUN_neon     _neon_run

#define KERN_ISA_PASTE_(a, b) a##b
#define KERN_ISA_PASTE(a, b)  KERN_ISA_PASTE_(a, b)

/* The table of loops for this ISA, e.g. KERN_ISA_TABLE(kern_map_isa_) is kern_map_isa_avx2. */
#define KERN_ISA_TABLE(name) KERN_ISA_PASTE(name, ISA)

/* The run function of SIMD(..., name, ...), or of KERNEL(..., name, ...) if portable, for this ISA: calls `function`,
 * with additional arguments between the call and the range. */
#define KERN_ISA_RUN(name, function) KERN_ISA_RUN_WITH(name, function(call, begin, end))
#define KERN_ISA_RUN_WITH(name, statement)                                                                             \
    void KERN_ISA_PASTE(kern_##name, KERN_ISA_PASTE(KERN_ISA_RUN_, ISA))(const struct kern_call *call, uint64_t begin, \
                                                                         uint64_t end)                                 \
    {                                                                                                                  \
        statement;                                                                                                     \
    }

/* ---- kernels that pack, and those of all instruction sets in one file ---- */

/* The functions of a PACKED_AS kernel except for run, and for accepts if kernels share it. INIT, PLAN and PACK are
 * calls that use the parameters of these functions and `plan`, of this TYPE: INIT fills it; PLAN fills *out and returns
 * the bytes that packing writes. */
#define KERN_PACKED_ROW(name, TYPE, INIT, PLAN, PACK)                                                                  \
    void kern_##name##_plan(const struct kern_op *op, uint32_t threads, struct kern_work *out)                         \
    {                                                                                                                  \
        TYPE plan;                                                                                                     \
        INIT;                                                                                                          \
        PLAN;                                                                                                          \
    }                                                                                                                  \
    bool kern_##name##_pack_plan(const struct kern_op *op, uint32_t *out_input, uint64_t *out_bytes)                   \
    {                                                                                                                  \
        TYPE plan;                                                                                                     \
        struct kern_work work, *out = &work;                                                                           \
        INIT;                                                                                                          \
        *out_input = 1;                                                                                                \
        *out_bytes = op->packed_input == 2 ? (PLAN) : 0;                                                               \
        return op->packed_input == 2;                                                                                  \
    }                                                                                                                  \
    void kern_##name##_pack(const struct kern_op *op, const void *source, void *packed)                                \
    {                                                                                                                  \
        TYPE plan;                                                                                                     \
        INIT;                                                                                                          \
        PACK;                                                                                                          \
    }

/* Whether the family's plan supports the op. */
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
