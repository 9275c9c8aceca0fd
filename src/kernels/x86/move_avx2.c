#define ISA avx2
#include "kernels/isa.h"
#include "kernels/move_exec.h"

const struct move_isa move_isa_avx2 = MOVE_ISA;

KERN_ISA_RUN_WITH(move_turn, move_turn_run(call, &move_isa_avx2, begin, end))
