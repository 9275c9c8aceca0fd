// SPDX-License-Identifier: Apache-2.0
/* op->epilogue as steps (shader_epilogue.c): value = code(value) or code(value, operand), in FLOAT32. Specialization
 * constants 6 and 7 are the codes of up to eight steps, 8 bits each, the first one in the lowest, so that the pipeline
 * interprets nothing; 0 terminates them; with STEP_SHORT 16 bits of the value are sufficient. The steps' operands are
 * in the parameter block. Needs core/views.glsl. */
#include "shaders/mapops.glsl"
#include "shaders/core/pairs.glsl"
#include "shaders/map/map_math.glsl"
#include "shaders/map/map_float.glsl"
#include "shaders/map/map_short.glsl"

layout(constant_id = 6) const uint STEPS_LOW = 0;
layout(constant_id = 7) const uint STEPS_HIGH = 0;
#define HAS_EPILOGUE (STEPS_LOW != 0u)

#ifdef UNIFORM_BLOCK
shader_step step_of(uint i)
{
    uvec4 words = block_vectors.v[header.steps + i];
    return shader_step(uintBitsToFloat(words.x), uintBitsToFloat(words.y), int(words.z), words.w);
}
#else
layout(buffer_reference, std430, buffer_reference_align = 4) readonly buffer Steps { shader_step v[]; };

shader_step step_of(uint i)
{
    return Steps(add64(push.block, uvec2(16u * header.steps, 0u))).v[i];
}
#endif

/* Of SWISH, which may be cubic (kernels/core/epilogue.h); q = 0 for finite values of any size. */
float swish_factor(float a, float p, float q)
{
    return p + q * min(a * a, 3e38);
}

float step_result(uint code, float a, float b, float p, float q)
{
    if ((code & STEP_SHORT) != 0u)
        return eval_short(code - STEP_SHORT, a, code - STEP_SHORT == KERN_MAP_SWISH ? swish_factor(a, p, q) : p);
    switch (code) {
    MAP_EXPRS
    case KERN_MAP_MULADD:
        return fma(a, p, q);
    case KERN_MAP_SQRT:
        return a < 0 ? nan_like(a) : sqrt(a);
    case KERN_MAP_RINT:
        return roundEven(a);
    case KERN_MAP_ELU:
        return a < 0 ? p * expm1_of(a) : a;
    case KERN_MAP_SIGMOID:
        return sigmoid(a);
    case KERN_MAP_SOFTPLUS:
        return softplus(p * a) / p;
    case KERN_MAP_TANH:
        return tanh_of(a);
    case KERN_MAP_GELU:
        return a / 2 * erfc_of(-a * 0.707106781);
    case KERN_MAP_SWISH:
        return a * sigmoid(a * swish_factor(a, p, q));
    default:
        return a;
    }
}

float run_step(uint i, uint code, float value, uint number, int y_at)
{
    shader_step s = step_of(i);
    float b = s.p;
    int tensor = s.tensor;
    if (tensor >= 0) {
        uint place = s.place;
        int at = place == STEP_AT_RESULT ? y_at : 0;
        if (place == STEP_BY_NUMBER)
            at = at_element(uint(tensor), header.inputs, number);
        if (place == STEP_ALONG_LAST) {
            uint last = view(tensor).rank - 1u;
            at = int(number % view(header.inputs).sizes[last]) * view(tensor).strides[last];
        }
        b = load_real(uint(tensor), at);
    }
    return step_result(code, value, b, s.p, s.q);
}

/* For element `number`, row-major, of the result, which is stored at y_at. */
float epilogue(float value, uint number, int y_at)
{
    if (STEPS_LOW != 0u)
        value = run_step(0u, STEPS_LOW & 255u, value, number, y_at);
    if (STEPS_LOW >> 8 != 0u)
        value = run_step(1u, STEPS_LOW >> 8 & 255u, value, number, y_at);
    if (STEPS_LOW >> 16 != 0u)
        value = run_step(2u, STEPS_LOW >> 16 & 255u, value, number, y_at);
    if (STEPS_LOW >> 24 != 0u)
        value = run_step(3u, STEPS_LOW >> 24, value, number, y_at);
    if (STEPS_HIGH != 0u)
        value = run_step(4u, STEPS_HIGH & 255u, value, number, y_at);
    if (STEPS_HIGH >> 8 != 0u)
        value = run_step(5u, STEPS_HIGH >> 8 & 255u, value, number, y_at);
    if (STEPS_HIGH >> 16 != 0u)
        value = run_step(6u, STEPS_HIGH >> 16 & 255u, value, number, y_at);
    if (STEPS_HIGH >> 24 != 0u)
        value = run_step(7u, STEPS_HIGH >> 24, value, number, y_at);
    return value;
}
