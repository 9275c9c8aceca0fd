// SPDX-License-Identifier: Apache-2.0
/* KERN_NONZERO, the first step: a block per workgroup. Tensors: 0 X, 1 counts. */
#version 460
#extension GL_GOOGLE_include_directive : require
#define PARAMETERS nonzero_params
#include "shaders/index/index_params.h"
#include "shaders/core/views.glsl"
#include "shaders/core/bits.glsl"
#include "shaders/index/nonzero.glsl"

void main()
{
    uint lane = gl_LocalInvocationID.x;
    EACH_GROUP_UNIT(block)
    {
        uint end = block_end(block), count = 0u;
        for (uint i = block * params.block + lane; i < end; i += GROUP_SIZE)
            count += is_nonzero(i) ? 1u : 0u;
        count = total_of(count);
        if (lane == 0u)
            Words(place_of(1u, int(block) * view(1).strides[0]).address).v = count;
    }
}
