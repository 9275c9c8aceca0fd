// SPDX-License-Identifier: Apache-2.0
/* KERN_SCATTER: the number of each target's last item, from 1, an item per invocation. */
#version 460
#extension GL_GOOGLE_include_directive : require
#define PARAMETERS scatter_params
#include "shaders/index/index_params.h"
#include "shaders/core/views.glsl"
#include "shaders/index/scatter.glsl"

void main()
{
    EACH_UNIT(item)
    {
        uint target = target_of(item);
        if (target == NO_TARGET)
            continue;
        atomicMax(Words(scratch_at(4u * target)).v, item + 1u);
    }
}
