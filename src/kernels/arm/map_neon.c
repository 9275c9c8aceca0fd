/* Element-wise programs with NEON. */
#define ISA neon
#include "kernels/isa.h"
#include "kernels/map_exec.h"

const struct kern_map_isa kern_map_isa_neon = MAP_ISA(exec_block, &move_isa_neon);

KERN_ISA_RUN_WITH(map_any, kern_map_run(call, &kern_map_isa_neon, begin, end))
