/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of the shaders that resample and sample regions of interest. Included by C and GLSL (core/block.h). */
#ifndef SHADERS_RESAMPLE_PARAMS_H
#define SHADERS_RESAMPLE_PARAMS_H

#include "shaders/core/block.h"

/* struct kern_resample as tables, computed on the host (kernels/resample/resample.h), since devices' divisions are not
 * exact enough for its coordinates. Byte tables[d] of the parameter block: for each output coordinate of dimension d
 * first input, number of inputs, index of its first weight; followed by the weights, FLOAT32. */
struct resample_params {
    uint copies; /* one input of weight 1 each, copied bit by bit */
    uint tables[8];
};

/* Which dimension of a result is contiguous: columns; channels, in both tensors; or columns with their channels. */
#define RESAMPLE_COLUMNS  0
#define RESAMPLE_CHANNELS 1
#define RESAMPLE_PIXELS   2
#define RESAMPLE_SPAN_MAX 10 /* inputs of a vector's columns */

/* Rows and columns, the last two dimensions, in which a result depends on one or two adjacent inputs: bytes rows_table
 * and columns_table of the parameter block have two words for each coordinate, the first input, with bit 31 set if
 * there is a second one, and its weight. line: contiguous results; vector k of a line spans inputs from k * span_step +
 * span_begin on. by_outer: the sizes of the preceding dimensions, the last one first. */
struct resample_two_params {
    uint rows_table, columns_table, line, outer;
    int x_row, x_column, x_channel, x_last, y_row, y_column, span_begin, span_step, x_outer[6], y_outer[6];
    SHADER_STRUCT shader_divisor by_vectors, by_columns, by_channels, by_rows, by_outer[6];
};

/* struct kern_roi, and the tensors of its gradient (ROI_GRAD): numbers, ROI_ABSENT for absent ones.
 */
#define ROI_ABSENT_TENSOR 0xffffffffu
struct roi_params {
    uint mode, linear, align_corners, least, most;
    float scale_x, scale_y, in_offset, out_offset, outside;
    uint in_image, out_image, out_corners;
    uint sizes_image; /* the tensor that has the image's sizes */
    uint regions; /* this dispatch computes the gradient of the corners, a region per invocation, instead of the image's
                   */
};

/* struct kern_sample: enum kern_sample_padding and kern_sample_unit. Strides of images, channels and space; of grid
 * also those of coordinates. first: of three axes, the first that positions have. */
#define SAMPLE_ZEROS   0
#define SAMPLE_EDGE    1
#define SAMPLE_MIRROR  3
#define SAMPLE_EDGES   0
#define SAMPLE_CENTRES 1
struct sample_params {
    int x[5], grid[5], y[5];
    uint in_sizes[3], first, taps, linear, padding, unit, channels_last;
    SHADER_STRUCT shader_divisor by_out[3], by_channels;
};

#endif
