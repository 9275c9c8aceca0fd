#ifndef KERNELS_GATHER_H
#define KERNELS_GATHER_H

#include "kernels/index.h"

bool kern_gather_any_ref_accepts(const struct kern_op *op);

#endif
