// SPDX-License-Identifier: Apache-2.0
/* KERN_RANDOM: Philox 4x32-10, a group of four words per invocation. Tensors: 0 state, 1 Y, 2 the state afterwards if
 * requested. */
#version 460
#extension GL_GOOGLE_include_directive : require
#define PARAMETERS random_params
#include "shaders/random/random_params.h"
#include "shaders/core/views.glsl"

uint word_stride(uint t)
{
    return uint(view(t).strides[view(t).rank - 1u]);
}

uint state_word(uint i)
{
    return Words(place_of(0u, int(i * word_stride(0u))).address).v;
}

uvec4 counter_after(uint groups)
{
    uvec4 counter = uvec4(state_word(0u), state_word(1u), state_word(2u), state_word(3u));
    uint carry = groups;
    for (uint i = 0u; i < 4u; i++)
        counter[i] = uaddCarry(counter[i], carry, carry);
    return counter;
}

uvec4 philox(uvec4 c, uint k0, uint k1)
{
    for (uint round = 0u; round < 10u; round++) {
        uint a_high, a_low, b_high, b_low;
        umulExtended(0xd2511f53u, c.x, a_high, a_low);
        umulExtended(0xcd9e8d57u, c.z, b_high, b_low);
        c = uvec4(b_high ^ c.y ^ k0, b_low, a_high ^ c.w ^ k1, a_low);
        k0 += 0x9e3779b9u;
        k1 += 0xbb67ae85u;
    }
    return c;
}

void main()
{
    EACH_UNIT(group)
    {
        uvec4 words = philox(counter_after(group), state_word(4u), state_word(5u));
        uint count = min(params.elements - 4u * group, 4u);
        for (uint j = 0u; j < count; j++)
            Words(place_of(1u, at_element(1u, 1u, 4u * group + j)).address).v = words[j];
        if (group != 0u || header.outputs < 2u)
            continue;
        uvec4 after = counter_after(header.elements);
        for (uint i = 0u; i < 6u; i++)
            Words(place_of(2u, int(i * word_stride(2u))).address).v = i < 4u ? after[i] : state_word(i);
    }
}
