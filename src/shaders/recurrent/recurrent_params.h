/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of the shaders of recurrent networks. Included by C and GLSL (core/block.h). */
#ifndef SHADERS_RECURRENT_PARAMS_H
#define SHADERS_RECURRENT_PARAMS_H

#include "shaders/core/block.h"

/* struct kern_recurrent; tensors by number, 0 for absent ones. Of activation i of direction d, at 3 * d + i: the
 * constants p and q of its formula. */
struct recurrent_net {
    uint couple, has_clip;
    uint reset_bias, initial_hidden, initial_memory, lengths, peepholes;
    uint sequence, last_hidden, last_memory;
    uint reverse[2];
    float p[6], q[6];
    float clip_low, clip_high;
};

/* modes (enum kern_activation_mode) and codes (enum kern_map_code) of activations, likewise. */
struct recurrent_params {
    SHADER_STRUCT recurrent_net net;
    uint cell, panels, linear_before_reset;
    uint modes[6], codes[6];
};

/* Of recurrent_step.comp. */
struct recurrent_step_params {
    SHADER_STRUCT recurrent_net net;
    uint directions;
};

#define RECURRENT_STEP_GROUP 128 /* GROUP_SIZE of recurrent_step.comp */

#endif
