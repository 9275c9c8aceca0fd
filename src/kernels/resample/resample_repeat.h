#ifndef KERNELS_RESAMPLE_REPEAT_H
#define KERNELS_RESAMPLE_REPEAT_H

#include "kernels/move/move.h"

void resample_repeat_run(const struct kern_call *call, const struct move_isa *isa, uint64_t begin, uint64_t end);

#endif
