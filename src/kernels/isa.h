/* Names of a row's functions by instruction set. */
#ifndef KERNELS_ISA_H
#define KERNELS_ISA_H

#include "kernels/kern.h"

#define KERN_ISA_PASTE_(name, isa) kern_##name##_##isa##_run
#define KERN_ISA_PASTE(name, isa)  KERN_ISA_PASTE_(name, isa)

/* The block functions of element-wise programs for this ISA. */
#define KERN_ISA_MAP_(isa) kern_map_isa_##isa
#define KERN_ISA_MAPS(isa) KERN_ISA_MAP_(isa)
#define KERN_ISA_MAP       KERN_ISA_MAPS(ISA)

/* The run function of SIMD(..., name, ...) for this ISA. */
#define KERN_ISA_RUN(name, function)                                                                                   \
    void KERN_ISA_PASTE(name, ISA)(const struct kern_call *call, uint64_t begin, uint64_t end)                         \
    {                                                                                                                  \
        function(call, begin, end);                                                                                    \
    }

#endif
