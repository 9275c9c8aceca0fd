#include "kernels/move_exec.h"

const struct move_isa move_isa_neon = MOVE_ISA;

void kern_move_turn_neon_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    move_turn_run(call, &move_isa_neon, begin, end);
}
