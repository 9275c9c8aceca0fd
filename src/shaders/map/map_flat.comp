// SPDX-License-Identifier: Apache-2.0
/* KERN_MAP: short programs over much data. Everything that the code depends on is a specialization constant, so that
 * nothing is interpreted and registers of the program are registers of the device. An invocation processes a few
 * adjacent elements, loads all tensors before it computes, and with FLOAT16 computes two at a time: those of a word are
 * converted together. Variants as in map_eval.glsl. */
#version 460
#extension GL_GOOGLE_include_directive : require
#define UNIFORM_BLOCK
#define PARAMETERS map_flat_params
#include "shaders/core/block.h"
#include "shaders/map/map_flat_params.h"
#include "shaders/core/views.glsl"
#include "shaders/core/vector.glsl"
#include "shaders/core/pairs.glsl"
#include "shaders/map/map_eval.glsl"
#include "shaders/map/map_short.glsl"

/* Inputs, outputs, instructions, elements of a vector, outer dimensions: 4 bits each; whether two elements at a time; from
 * bit 24 on, of each output: whether 16 is to be added to its register. */
layout(constant_id = 2) const uint SHAPE = 0;
layout(constant_id = 3) const uint ACCESS = 0; /* MAP_FLAT_... of each tensor, 2 bits */
layout(constant_id = 4) const uint LOADS = 0;  /* register type of each input, 4 bits */
layout(constant_id = 5) const uint STORES = 0; /* of each output, 8 bits: register, its type */
/* Of each instruction: code, 8 bits; type, to_type, registers a, b, c: 4 bits each; whether 16 bits are enough; whether
 * 16 is to be added to a, b, c. */
layout(constant_id = 6) const uint INST_0 = 0;
layout(constant_id = 7) const uint INST_1 = 0;
layout(constant_id = 8) const uint INST_2 = 0;
layout(constant_id = 9) const uint INST_3 = 0;
layout(constant_id = 10) const uint INST_4 = 0;
layout(constant_id = 11) const uint INST_5 = 0;
layout(constant_id = 12) const uint INST_6 = 0;
layout(constant_id = 13) const uint INST_7 = 0;
layout(constant_id = 14) const uint INST_8 = 0;
layout(constant_id = 15) const uint INST_9 = 0;

#define INPUTS  (SHAPE & 15u)
#define OUTPUTS (SHAPE >> 4 & 15u)
#define COUNT   (SHAPE >> 8 & 15u)
#define VECTOR  (SHAPE >> 12 & 15u)
#define OUTER   (SHAPE >> 16 & 15u)
#define TWO     ((SHAPE >> 20 & 1u) != 0u)
#define AT_ONCE (TWO ? 2u : 1u)

#define EACH_INPUT(X)  X(0u) X(1u) X(2u) X(3u) X(4u) X(5u) X(6u) X(7u)
#define EACH_OUTPUT(X) X(0u) X(1u) X(2u) X(3u)
#define EACH_INST(X)   X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9)

uvec2 bases[12];
uvec4 immediates[MAP_FLAT_INST_MAX];

uint access(uint t)
{
    return ACCESS >> 2u * t & 3u;
}

/* The start of the line in tensor t. */
int at_line(uint t, uint line)
{
    int at = 0;
    for (uint d = 0u; d < OUTER; d++) {
        uint rest = divide(line, params.by_outer[d]);
        at += int(line - rest * params.by_outer[d].size) * view(t).strides[OUTER - 1u - d];
        line = rest;
    }
    return at;
}

uvec4 load_input(uint t, uint line, uint first, uint count)
{
    int at = at_line(t, line);
    uint type = type_of(t);
    if (access(t) == MAP_FLAT_ONCE)
        return uvec4(load_element(place_at(type, bases[t], at), type), 0u, 0u);
    int stride = access(t) == MAP_FLAT_DENSE ? 1 : view(t).strides[OUTER];
    return load_vector(type, bases[t], at + int(first) * stride, stride, count, VECTOR);
}

void store_output(uint t, uint line, uint first, uint count, uvec4 words)
{
    uint type = type_of(t);
    int stride = access(t) == MAP_FLAT_DENSE ? 1 : view(t).strides[OUTER];
    words = appended(words, VECTOR << type_shift(type));
    store_vector(type, bases[t], at_line(t, line) + int(first) * stride, stride, count, VECTOR, words);
}

/* The type to which from_bits() converts an element. */
uint computed_in(uint type)
{
    if (type == TYPE_FLOAT16 || type == TYPE_BFLOAT16)
        return TYPE_FLOAT32;
    if (type_shift(type) > 1u)
        return type;
    return type_is_signed(type) ? TYPE_INT32 : TYPE_UINT32;
}

/* Element i of an input in its register, and with TWO the next one. Loops avoid duplicated code. */
uvec4 take_input(uint t, inout uvec4 words, uint i)
{
    uint type = type_of(t);
    bool pair = TWO && type == TYPE_FLOAT16 && access(t) != MAP_FLAT_ONCE;
    vec2 halves = vec2(0.0);
    uvec4 taken = uvec4(0u);
    if (pair) {
        halves = halves_to_floats(words.x);
        words = words.yzwx;
    }
    for (uint j = 0u; j < AT_ONCE; j++) {
        uint compute_type; /* computed_in(type), which unlike this is a constant */
        uvec2 bits = pair ? uvec2(floatBitsToUint(halves.x), 0u) : words.xy;
        halves = halves.yx;
        if (!pair && access(t) != MAP_FLAT_ONCE)
            bits = take_element(words, i + j, type_shift(type));
        if (!pair)
            bits = from_bits(bits, type, compute_type);
        taken = uvec4(taken.zw, convert(bits, computed_in(type), LOADS >> 4u * t & 15u));
    }
    return TWO ? taken : taken.zwxy;
}

uvec2 run_instruction(uint word, uvec2 a, uvec2 b, uvec2 c, uvec4 immediate)
{
    uint code = word & 255u, type = word >> 8 & 15u;
    if (code == KERN_MAP_CONVERT)
        return convert(a, type, word >> 12 & 15u);
    if ((word >> 28 & 1u) != 0u)
        return uvec2(floatBitsToUint(eval_short(code, uintBitsToFloat(a.x), uintBitsToFloat(immediate.x))), 0u);
    return eval(code, type, a, b, c, immediate.xy, immediate.zw);
}

uvec4 run_both(uint word, uvec4 a, uvec4 b, uvec4 c, uvec4 immediate)
{
    uvec4 y = uvec4(0u);
    for (uint j = 0u; j < AT_ONCE; j++) {
        y = uvec4(y.zw, run_instruction(word, a.xy, b.xy, c.xy, immediate));
        a = a.zwxy;
        b = b.zwxy;
        c = c.zwxy;
    }
    return TWO ? y : y.zwxy;
}

void append_output(uint k, inout uvec4 words, uint i, uvec4 values)
{
    uint type = type_of(INPUTS + k), from = STORES >> (8u * k + 4u) & 15u;
    if (TWO && type == TYPE_FLOAT16) {
        vec2 x = vec2(register_to_odd_float(values.xy, from), register_to_odd_float(values.zw, from));
        words = uvec4(words.yzw, floats_to_halves(x));
        return;
    }
    for (uint j = 0u; j < AT_ONCE; j++) {
        append_element(words, i + j, type_shift(type), to_bits(values.xy, from, type));
        values = values.zwxy;
    }
}

void run_vector(uint number)
{
    uint line = OUTER == 0u ? 0u : divide(number, params.by_vectors);
    uint first = (number - line * params.by_vectors.size) * VECTOR, count = min(params.line - first, VECTOR);
    uvec4 read[8], written[4], registers[8 + MAP_FLAT_INST_MAX];
#define LOAD(t)                                                                                                        \
    if (INPUTS > t)                                                                                                    \
        read[t] = load_input(t, line, first, count);
#define TAKE(t)                                                                                                        \
    if (INPUTS > t)                                                                                                    \
        registers[t] = take_input(t, read[t], i);
#define SOURCE(word, s) (word >> 16 + 4 * s & 15u | (word >> 29 + s & 1u) << 4)
#define RUN(k)                                                                                                         \
    if (COUNT > k)                                                                                                     \
        registers[INPUTS + k] = run_both(INST_##k, registers[SOURCE(INST_##k, 0)], registers[SOURCE(INST_##k, 1)],     \
                                         registers[SOURCE(INST_##k, 2)], immediates[k]);
#define APPEND(k)                                                                                                      \
    if (OUTPUTS > k)                                                                                                   \
        append_output(k, written[k], i, registers[(STORES >> 8u * k & 15u) | (SHAPE >> 24u + k & 1u) << 4]);
#define STORE(k)                                                                                                       \
    if (OUTPUTS > k)                                                                                                   \
        store_output(INPUTS + k, line, first, count, written[k]);
    EACH_INPUT(LOAD)
    for (uint i = 0u; i < VECTOR; i += AT_ONCE) {
        EACH_INPUT(TAKE)
        EACH_INST(RUN)
        EACH_OUTPUT(APPEND)
    }
    EACH_OUTPUT(STORE)
}

void main()
{
#define BASE(t)                                                                                                        \
    if (INPUTS + OUTPUTS > t)                                                                                          \
        bases[t] = address_of(t);
#define IMMEDIATE(k)                                                                                                   \
    if (COUNT > k)                                                                                                     \
        immediates[k] = uvec4(params.immediates[4 * k], params.immediates[4 * k + 1], params.immediates[4 * k + 2],    \
                              params.immediates[4 * k + 3]);
    EACH_INPUT(BASE)
    BASE(8u)
    BASE(9u)
    BASE(10u)
    BASE(11u)
    EACH_INST(IMMEDIATE)
    EACH_UNIT(number)
        run_vector(number);
}
