/* Depthwise convolution with the channels of a pixel together (nhwc): vectors of channels, a few pixels of a row at a
 * time. Weights are packed to [taps][channels], with room for a whole vector behind the last. */
#ifndef KERNELS_CONV_DW_LAST_H
#define KERNELS_CONV_DW_LAST_H

#include "kernels/conv/conv.h"

struct conv_dw_last {
    struct conv_shape s;
    int64_t taps, pitch; /* pitch: floats of one tap's weights */
    bool post;           /* results end in another program than bounds, run over each row */
    struct kern_bounds bounds;
    int64_t weights, bias; /* places in the worker's scratch, in floats; weights: when they are not packed once */
    int64_t epilogue, floats;
};

/* false: not such a convolution. */
bool conv_dw_last_init(const struct kern_op *op, struct conv_dw_last *out);
void conv_dw_last_pack(const struct conv_dw_last *d, const float *source, float *packed);

#endif
