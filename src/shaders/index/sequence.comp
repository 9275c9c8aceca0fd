// SPDX-License-Identifier: Apache-2.0
/* KERN_SEQUENCE: start + k * delta. Tensor 0: Y. */
#version 460
#extension GL_GOOGLE_include_directive : require
#define PARAMETERS sequence_params
#include "shaders/index/index_params.h"
#include "shaders/core/views.glsl"
#include "shaders/core/pairs.glsl"

#ifndef HAVE_FLOAT64
/* start and delta are pairs of floats (their sums); where terms cancel, the second ones matter. */
float element(uint number)
{
    vec2 start = vec2(uintBitsToFloat(params.start[0]), uintBitsToFloat(params.start[1]));
    vec2 delta = vec2(uintBitsToFloat(params.delta[0]), uintBitsToFloat(params.delta[1]));
    float errors[4], high = float(number & 0xffff0000u), low = float(number & 0xffffu);
    float products = exact_sum(exact_product(high, delta.x, errors[0]), exact_product(low, delta.x, errors[1]), errors[2]);
    float sum = exact_sum(products, start.x, errors[3]);
    if (is_nan(sum) || is_inf(sum))
        return sum;
    precise float rest = errors[0] + errors[1] + errors[2] + errors[3] + start.y + float(number) * delta.y;
    return sum + rest;
}
#endif

void main()
{
    EACH_UNIT(number)
    {
        int at = at_element(0u, 0u, number);
        uvec2 start = uvec2(params.start[0], params.start[1]), delta = uvec2(params.delta[0], params.delta[1]);
        if (type_is_real(type_of(0u))) {
#ifdef HAVE_FLOAT64
            precise double step = double(number) * packDouble2x32(delta);
            precise double value = packDouble2x32(start) + step;
#else
            float value = element(number);
#endif
            store_real(0u, at, value);
            continue;
        }
#ifdef HAVE_INT64
        store_int(0u, at, int64_t(as_uint64(start) + uint64_t(number) * as_uint64(delta)));
#else
        store_int(0u, at, int(start.x + number * delta.x));
#endif
    }
}
