#define ISA neon
#include "kernels/isa.h"
#include "kernels/move_exec.h"
#include "kernels/resample_repeat.h"

const struct move_isa move_isa_neon = MOVE_ISA;

KERN_ISA_RUN_WITH(move_turn, move_turn_run(call, &move_isa_neon, begin, end))
KERN_ISA_RUN_WITH(move_weave, move_weave_run(call, &move_isa_neon, begin, end))
KERN_ISA_RUN_WITH(resample_repeat, resample_repeat_run(call, &move_isa_neon, begin, end))
