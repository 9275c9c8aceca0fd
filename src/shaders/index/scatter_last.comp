// SPDX-License-Identifier: Apache-2.0
/* KERN_SCATTER: the elements of last items replace those of Y, one per invocation. */
#version 460
#extension GL_GOOGLE_include_directive : require
#define PARAMETERS scatter_params
#include "shaders/index/index_params.h"
#include "shaders/core/views.glsl"
#include "shaders/index/scatter.glsl"

void main()
{
    EACH_UNIT(number)
    {
        uint item = number / params.inner, target = target_of(item);
        if (target == NO_TARGET || Words(scratch_at(4u * target)).v != item + 1u)
            continue;
        copy_element(3u, at_element(3u, 3u, target * params.inner + number % params.inner), 2u,
                     at_element(2u, 2u, number));
    }
}
