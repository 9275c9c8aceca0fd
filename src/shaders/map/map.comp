// SPDX-License-Identifier: Apache-2.0
/* KERN_MAP: runs an element-wise program. Variants: HAVE_INT64 adds 64-bit integer registers, HAVE_FLOAT64 (with it)
 * double ones. Interprets programs of any length over any tensors; the number of registers is a specialization constant.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#define BLOCK_WORDS 784 /* 16 + 16 tensors of 24 + 64 instructions of 6 */
#include "shaders/map/map_params.glsl"
#include "shaders/core/math.glsl"
#include "shaders/core/number.glsl"
#include "shaders/core/pairs.glsl"

layout(constant_id = 0) const uint REGISTERS = 80;

#include "shaders/map/map_eval.glsl"

uvec2 registers[REGISTERS];

void run_instruction(uint at)
{
    uint head = block[at], sources = block[at + 1];
    uint code = head & 255u, type = head >> 8 & 255u, to_type = head >> 16 & 255u;
    uvec2 a = registers[sources & 255u];
    if (code == KERN_MAP_CONVERT) {
        registers[head >> 24] = convert(a, type, to_type);
        return;
    }
    uvec2 b = registers[sources >> 8 & 255u], c = registers[sources >> 16 & 255u];
    registers[head >> 24] = eval(code, type, a, b, c, uvec2(block[at + 2], block[at + 3]),
                                 uvec2(block[at + 4], block[at + 5]));
}

void run_element(uint number)
{
    uint index[RANK_MAX], inputs = block[2], outputs = block[3];
    unflatten(number, index);
    for (uint t = 0; t < inputs; t++) {
        uint at = tensor_at(t), compute_type;
        uvec2 x = load(locate(t, index), block[at], compute_type);
        registers[block[at + 3]] = convert(x, compute_type, block[at + 2]);
    }
    uint first = tensor_at(inputs + outputs);
    for (uint i = 0; i < block[4]; i++)
        run_instruction(first + i * INST_WORDS);
    for (uint t = inputs; t < inputs + outputs; t++) {
        uint at = tensor_at(t);
        store(locate(t, index), block[at], registers[block[at + 3]], block[at + 2]);
    }
}

void main()
{
    load_block();
    uint stride = push.groups * GROUP_SIZE;
    for (uint i = gl_GlobalInvocationID.x; i < block[0]; i += stride)
        run_element(i);
}
