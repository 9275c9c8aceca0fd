/* Reductions of integers with NEON. */
#include "kernels/reduce_int_exec.h"

void kern_reduce_int_neon_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    static const struct kern_total_isa isa = KERN_TOTAL_ISA(&kern_map_isa_neon);
    kern_reduce_int_on(call, &isa, begin, end);
}
