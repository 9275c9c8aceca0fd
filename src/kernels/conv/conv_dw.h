/* Depthwise convolution on rows that are contiguous in memory (nchw), where oneDNN has no fast kernel. */
#ifndef KERNELS_CONV_DW_H
#define KERNELS_CONV_DW_H

#include "kernels/conv/conv.h"
#include "kernels/core/window_plan.h"

DENSE_INLINE void conv_dw_window(const struct kern_op *op, const struct conv_shape *s, struct window *w)
{
    *w = (struct window){ .x_row = s->x[3], .type = op->tensors[0].type };
    for (int d = 0; d < 2; d++) {
        w->in[d] = s->in[d + 1];
        w->out[d] = s->out[d + 1];
        w->kernel[d] = s->kernel[d + 1];
        w->stride[d] = s->stride[d + 1];
        w->dilation[d] = s->dilation[d + 1];
        w->pad[d] = s->pad[d + 1];
    }
    window_plan_init(w);
}

/* The op is a depthwise convolution that these rows compute faster than oneDNN. */
bool conv_dw_suits(const struct kern_op *op);

#endif
