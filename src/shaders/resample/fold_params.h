/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of windows as columns. Included by C and GLSL (core/block.h). */
#ifndef SHADERS_FOLD_PARAMS_H
#define SHADERS_FOLD_PARAMS_H

#define FOLD_MAX 6

/* struct kern_fold; taps: elements of a window. */
struct fold_params {
    uint unfold, spatial, taps;
    int window[FOLD_MAX], steps[FOLD_MAX], dilations[FOLD_MAX], pad[FOLD_MAX], positions[FOLD_MAX];
};

#endif
