/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of windows as columns. Included by C and GLSL (core/block.h). */
#ifndef SHADERS_FOLD_PARAMS_H
#define SHADERS_FOLD_PARAMS_H

#include "shaders/core/block.h"

#define FOLD_MAX 6

/* struct kern_fold; taps: elements of a window. */
struct fold_params {
    uint unfold, spatial, taps;
    int window[FOLD_MAX], steps[FOLD_MAX], dilations[FOLD_MAX], pad[FOLD_MAX], positions[FOLD_MAX];
};

/* Of unfold.comp, two dimensions: strides of images, channels, rows and pixels, and of images, rows and positions. */
struct unfold_params {
    int in_sizes[2], steps[2], dilations[2], pad[2], x[4], y[3];
    /* vectors of a row of the columns, rows, taps of a channel, taps of a line, positions of a line */
    SHADER_STRUCT shader_divisor by_vectors, by_rows, by_taps, by_window, by_columns;
    uint positions;
};

#endif
