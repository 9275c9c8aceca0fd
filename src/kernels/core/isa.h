/* SPDX-License-Identifier: Apache-2.0 */
/* Names of a row's functions by instruction set: the build compiles the including file once for each, with ISA defined
 * (portable, avx2, avx512, neon) and its flags. */
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

/* The run function of SIMD(..., name, ...), or of KERNEL(..., name, ...) when portable, for this ISA: calls `function`,
 * with what else it takes between the call and the range. */
#define KERN_ISA_RUN(name, function) KERN_ISA_RUN_WITH(name, function(call, begin, end))
#define KERN_ISA_RUN_WITH(name, statement)                                                                             \
    void KERN_ISA_PASTE(kern_##name, KERN_ISA_PASTE(KERN_ISA_RUN_, ISA))(const struct kern_call *call, uint64_t begin, \
                                                                         uint64_t end)                                 \
    {                                                                                                                  \
        statement;                                                                                                     \
    }

#endif
