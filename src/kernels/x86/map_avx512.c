/* Element-wise programs with AVX-512. */
#pragma GCC target("prefer-vector-width=512")
#define ISA avx512
#include "kernels/isa.h"
#include "kernels/map_exec.h"

const struct kern_map_isa kern_map_isa_avx512 = MAP_ISA(exec_block, &move_isa_avx512);

KERN_ISA_RUN_WITH(map_any, kern_map_run(call, &kern_map_isa_avx512, begin, end))
