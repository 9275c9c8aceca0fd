/* Element-wise programs with NEON. */
#include "kernels/map_exec.h"

const struct kern_map_isa kern_map_isa_neon = MAP_ISA(&move_isa_neon);

void kern_map_any_neon_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    kern_map_run(call, &kern_map_isa_neon, begin, end);
}
