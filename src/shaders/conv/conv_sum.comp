// SPDX-License-Identifier: Apache-2.0
/* Second dispatch of convolutions by small tiles (conv_parts.comp): adds the partial sums that the first one left in
 * the scratch memory. Tensors: as for conv_any.comp. */
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#define UNIFORM_BLOCK
#define PARAMETERS conv_parts_params
#define CONV       params.conv
#include "shaders/conv/conv_params.h"
#include "shaders/core/views.glsl"
#include "shaders/conv/conv_finish.glsl"

/* Adjacent channels are contiguous in Y, in vectors. */
layout(constant_id = 2) const bool WIDE_Y = false;

vec4 sum_of(uint at, uint step)
{
    vec4 sum = vec4(0.0);
    uvec2 from = scratch_at(16u * at);
    for (uint split = 0u; split < params.splits; split++, from = add64(from, uvec2(step, 0u)))
        sum += uintBitsToFloat(Quads(from).v);
    return sum;
}

float one_sum_of(uint m, uint channel)
{
    float sum = 0.0;
    for (uint split = 0u; split < params.splits; split++)
        sum += uintBitsToFloat(Words(part_at(split, m, channel)).v);
    return sum;
}

void main()
{
    uint step = 4u * params.m * CONV.out_channels;
    EACH_UNIT(number)
    {
        uint first = WIDE_Y ? 8u * number : number, m = divide(first, CONV.by_channels);
        uint channel = first - m * CONV.out_channels;
        if (WIDE_Y)
            store_eight(prepare_four(m, channel), prepare_four(m, channel + 4u), sum_of(2u * number, step),
                        sum_of(2u * number + 1u, step));
        else
            store_one(m, channel, one_sum_of(m, channel));
    }
}
