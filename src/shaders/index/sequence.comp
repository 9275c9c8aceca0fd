// SPDX-License-Identifier: Apache-2.0
/* KERN_SEQUENCE: start + k * delta. Tensor 0: Y. */
#version 460
#extension GL_GOOGLE_include_directive : require
#define PARAMETERS sequence_params
#include "shaders/index/index_params.h"
#include "shaders/core/views.glsl"

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
            float value = uintBitsToFloat(start.x) + float(number) * uintBitsToFloat(delta.x);
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
