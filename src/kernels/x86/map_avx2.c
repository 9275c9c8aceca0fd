/* Element-wise programs with AVX2, FMA and F16C. */
#include "kernels/map_exec.h"

const struct kern_map_isa kern_map_isa_avx2 = MAP_ISA(&move_isa_avx2);

void kern_map_any_avx2_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    kern_map_run(call, &kern_map_isa_avx2, begin, end);
}
