/* Depthwise convolution on rows that are contiguous in memory (nchw), where oneDNN has no fast kernel. */
#ifndef KERNELS_CONV_DW_H
#define KERNELS_CONV_DW_H

#include "kernels/conv.h"

/* Input rows are kept in worker scratch, padded with zeros and split by phase: element i of phase p is the padded row's
 * element i * stride + p, so that every tap of every output is a contiguous run. */
struct conv_dw_plan {
    uint32_t width;  /* of the output, rounded up to whole vectors */
    uint32_t phase;  /* floats of one phase of one row */
    uint32_t line;   /* floats of a padded row */
    uint32_t slots;  /* rows kept */
    uint32_t taps;
    uint64_t floats; /* of all rows and buffers */
};

void conv_dw_plan_init(const struct conv_shape *s, struct conv_dw_plan *out);

#endif
