/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of a PACKED_AS row of one instruction set but for run, and for accepts where rows share it: what stands
 * for plan, pack_plan and pack are calls, which see the parameters of these functions. */
#ifndef KERNELS_PACKED_ROW_H
#define KERNELS_PACKED_ROW_H

#include "kernels/core/kernel.h"

#define KERN_PACKED_ROW(name, isa, PLAN, PACK_PLAN, PACK)                                                              \
    void kern_##name##_##isa##_plan(const struct kern_op *op, const void *state, uint32_t threads,                     \
                                    struct kern_work *out)                                                             \
    {                                                                                                                  \
        PLAN;                                                                                                          \
    }                                                                                                                  \
    bool kern_##name##_##isa##_pack_plan(const struct kern_op *op, const void *state, uint32_t *out_input,             \
                                         uint64_t *out_bytes)                                                          \
    {                                                                                                                  \
        return PACK_PLAN;                                                                                              \
    }                                                                                                                  \
    void kern_##name##_##isa##_pack(const struct kern_op *op, const void *state, const void *source, void *packed)     \
    {                                                                                                                  \
        PACK;                                                                                                          \
    }

#endif
