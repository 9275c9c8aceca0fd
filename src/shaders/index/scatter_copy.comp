// SPDX-License-Identifier: Apache-2.0
/* KERN_SCATTER, first step: Y = X, an element per invocation. No target has a last update yet. */
#version 460
#extension GL_GOOGLE_include_directive : require
#define PARAMETERS scatter_params
#include "shaders/index/index_params.h"
#include "shaders/core/views.glsl"

void main()
{
    EACH_UNIT(number)
    {
        copy_element(3u, at_element(3u, 3u, number), 0u, at_element(0u, 3u, number));
        if (number < params.targets)
            Words(scratch_at(4u * number)).v = 0u;
    }
}
