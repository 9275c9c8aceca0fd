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

/* Rows and columns, the last two dimensions, of which a result takes one or two neighbouring inputs: bytes rows_table
 * and columns_table of the parameter block have for each coordinate two words, the first input, with bit 31 whether
 * there is a second one, and how much that counts. by_outer: the sizes of the dimensions before, the last one first. */
struct resample_two_params {
    uint rows_table, columns_table, columns, channels, outer;
    int x_row, x_column, y_row, y_column, x_outer[6], y_outer[6];
    SHADER_STRUCT shader_divisor by_quads, by_columns, by_rows, by_outer[6]; /* quads: of channels, or of columns */
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
