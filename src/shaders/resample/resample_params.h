/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of the shaders that resample and sample regions of interest. Included by C and GLSL (core/block.h). */
#ifndef SHADERS_RESAMPLE_PARAMS_H
#define SHADERS_RESAMPLE_PARAMS_H

#include "shaders/core/block.h"

/* struct kern_resample as tables, made on the host (kernels/resample/resample.h), since devices' divisions are not
 * exact enough for its coordinates. Byte tables[d] of the parameter block: for each output coordinate of dimension d
 * first input, number of inputs, index of its first weight; behind them the weights, FLOAT32. */
struct resample_params {
    uint copies; /* one input of weight 1 each, copied bit by bit */
    uint tables[8];
};

/* struct kern_roi, and where the tensors of its gradient are (ROI_GRAD): numbers, ROI_ABSENT for those that are absent.
 */
#define ROI_ABSENT_TENSOR 0xffffffffu
struct roi_params {
    uint mode, linear, align_corners, least, most;
    float scale_x, scale_y, in_offset, out_offset, outside;
    uint in_image, out_image, out_corners;
    uint sizes_image; /* the tensor that has the image's sizes */
    uint regions;     /* this dispatch makes the gradient of the corners, a region an invocation, and not the image's */
};

#endif
