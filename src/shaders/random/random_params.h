/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of the shader of random words. Included by C and GLSL (core/block.h). */
#ifndef SHADERS_RANDOM_PARAMS_H
#define SHADERS_RANDOM_PARAMS_H

struct random_params {
    uint elements; /* of Y */
};

#endif
