/* The gradient of pooling. In the shape, x is X (max) or dX (average), y is dY. */
#ifndef KERNELS_POOL_GRAD_H
#define KERNELS_POOL_GRAD_H

#include "kernels/pool/pool_fast.h"
#include "kernels/resample/scatter_add_plan.h"

bool kern_pool_grad_any_ref_accepts(const struct kern_op *op);
bool pool_grad_shape(const struct kern_op *op, struct pool_shape *out);

/* max: rows of X are contiguous, and the sums of a channel can be made in dX itself. */
void pool_grad_window(const struct kern_op *op, const struct pool_shape *s, struct window *out);
bool pool_grad_in_place(const struct kern_op *op);

#endif
