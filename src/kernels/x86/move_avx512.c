#define ISA avx512
#include "kernels/isa.h"
#include "kernels/move_exec.h"

const struct move_isa move_isa_avx512 = MOVE_ISA;

KERN_ISA_RUN_WITH(move_turn, move_turn_run(call, &move_isa_avx512, begin, end))
