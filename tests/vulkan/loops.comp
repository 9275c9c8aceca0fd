#version 460
// SPDX-License-Identifier: Apache-2.0
// Two loops that end at different times in different invocations' loop over elements (loops.c): one finds addresses in
// a table by numbers that it reads, the other advances an address. The block: elements, numbers, numbers[].
#extension GL_GOOGLE_include_directive : require
#define WORD_STORAGE
#include "shaders/core/memory.glsl"

uint parameter(uint i)
{
    return Words(add64(asked(push.block), uvec2(4u * i, 0u))).v;
}

void main()
{
    uint numbers = parameter(1u);
    for (uint i = gl_GlobalInvocationID.x; i < parameter(0u); i += push.groups * GROUP_SIZE) {
        uint sum = i;
        for (uint k = 0u; k < numbers; k++)
            sum += Words(base_address(parameter(2u + k))).v;
        uvec2 from = base_address(1u);
        for (uint k = 0u; k < parameter(1u); k++, from = add64(from, uvec2(4u, 0u)))
            sum += Words(from).v;
        Words(add64(base_address(0u), uvec2(4u * i, 0u))).v = sum;
    }
}
