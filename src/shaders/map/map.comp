// SPDX-License-Identifier: Apache-2.0
/* KERN_MAP: runs an element-wise program. Variants: HAVE_INT64 adds 64-bit integer registers, HAVE_FLOAT64 (with it)
 * double ones. Specialisation constants: the number of registers; then, of programs of at most KNOWN_MAX instructions,
 * their number and each one's first word, so that nothing is interpreted when the pipeline runs; longer ones are. */
#version 460
#extension GL_GOOGLE_include_directive : require
#define BLOCK_WORDS 784 /* 16 + 16 tensors of 24 + 64 instructions of 6 */
#include "shaders/map/map_params.glsl"
#include "shaders/mapops.glsl"
#include "shaders/core/math.glsl"
#include "shaders/core/number.glsl"
#include "shaders/core/pairs.glsl"

layout(constant_id = 0) const uint REGISTERS = 80;
layout(constant_id = 1) const uint KNOWN = 255; /* 255: the program is interpreted */
layout(constant_id = 2) const uint KNOWN_0 = 0;
layout(constant_id = 3) const uint KNOWN_1 = 0;
layout(constant_id = 4) const uint KNOWN_2 = 0;
layout(constant_id = 5) const uint KNOWN_3 = 0;
#define KNOWN_MAX 4

#define REAL float
#include "shaders/map/map_math.glsl"
#include "shaders/map/map_float.glsl"
#undef REAL

#define S             int
#define U             uint
#define BITS          32
#define ONES          0xffffffffu
#define COUNT_BITS(x) bitCount(x)
#include "shaders/map/map_int.glsl"
#undef S
#undef U
#undef BITS
#undef ONES
#undef COUNT_BITS

#ifdef HAVE_INT64
int count_bits(uint64_t x)
{
    uvec2 halves = unpackUint2x32(x);
    return bitCount(halves.x) + bitCount(halves.y);
}

#define S             int64_t
#define U             uint64_t
#define BITS          64
#define ONES          (~0ul)
#define COUNT_BITS(x) count_bits(x)
#include "shaders/map/map_int.glsl"
#undef S
#undef U
#undef BITS
#undef ONES
#undef COUNT_BITS
#endif

#ifdef HAVE_FLOAT64
#define REAL double
#include "shaders/map/map_math_f64.glsl"
#include "shaders/map/map_float.glsl"
#undef REAL
#endif

uvec2 registers[REGISTERS];

uvec2 eval(uint code, uint type, uvec2 a, uvec2 b, uvec2 c, uvec2 p, uvec2 q)
{
    switch (type) {
    case TYPE_FLOAT32:
        return uvec2(floatBitsToUint(eval_real(code, uintBitsToFloat(a.x), uintBitsToFloat(b.x), uintBitsToFloat(c.x),
                                               uintBitsToFloat(p.x), uintBitsToFloat(q.x))),
                     0u);
#ifdef HAVE_INT64
    case TYPE_INT64:
    case TYPE_UINT64:
        return from_uint64(eval_int(code, type == TYPE_INT64, as_uint64(a), as_uint64(b), as_uint64(c), as_uint64(p),
                                    as_uint64(q)));
#endif
#ifdef HAVE_FLOAT64
    case TYPE_FLOAT64:
        return unpackDouble2x32(eval_real(code, packDouble2x32(a), packDouble2x32(b), packDouble2x32(c),
                                          packDouble2x32(p), packDouble2x32(q)));
#endif
    default:
        return uvec2(eval_int(code, type == TYPE_INT32, a.x, b.x, c.x, p.x, q.x), 0u);
    }
}

void run_instruction(uint head, uint at)
{
    uint sources = block[at + 1];
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
    if (KNOWN <= KNOWN_MAX) {
        if (KNOWN > 0)
            run_instruction(KNOWN_0, first);
        if (KNOWN > 1)
            run_instruction(KNOWN_1, first + INST_WORDS);
        if (KNOWN > 2)
            run_instruction(KNOWN_2, first + 2 * INST_WORDS);
        if (KNOWN > 3)
            run_instruction(KNOWN_3, first + 3 * INST_WORDS);
    } else {
        for (uint i = 0; i < block[4]; i++)
            run_instruction(block[first + i * INST_WORDS], first + i * INST_WORDS);
    }
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
