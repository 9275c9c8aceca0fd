/* Element-wise programs with AVX2, FMA and F16C. */
#define ISA avx2
#include "kernels/isa.h"
#include "kernels/map_exec.h"

const struct kern_map_isa kern_map_isa_avx2 = MAP_ISA(exec_block, &move_isa_avx2);

KERN_ISA_RUN_WITH(map_any, kern_map_run(call, &kern_map_isa_avx2, begin, end))
