#ifndef KERNELS_SCATTER_H
#define KERNELS_SCATTER_H

#include "kernels/index.h"

bool kern_scatter_any_ref_accepts(const struct kern_op *op);

#endif
