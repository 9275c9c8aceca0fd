/* Element-wise programs with AVX-512. */
#pragma GCC target("prefer-vector-width=512")
#include "kernels/map_exec.h"

const struct kern_map_isa kern_map_isa_avx512 = MAP_ISA(&move_isa_avx512);

void kern_map_any_avx512_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    kern_map_run(call, &kern_map_isa_avx512, begin, end);
}
