// SPDX-License-Identifier: Apache-2.0
/* KERN_APPEND: VECTOR neighbouring elements of X per invocation. Tensors: 0 X, 1 lengths, 2 Y. */
#version 460
#extension GL_GOOGLE_include_directive : require
#define UNIFORM_BLOCK
#define PARAMETERS append_params
#include "shaders/index/index_params.h"
#include "shaders/core/views.glsl"
#include "shaders/core/vector.glsl"

layout(constant_id = 2) const uint VECTOR = 1; /* more: 16 bytes of each */

void main()
{
    EACH_UNIT(number)
    {
        uint at[4], rest = number;
        int x = 0, y = 0;
        for (uint d = 4u; d-- > 0u;) {
            const uint each = d == 3u ? VECTOR : 1u, size = view(0).sizes[d] / each;
            at[d] = rest % size * each;
            rest /= size;
            x += int(at[d]) * view(0).strides[d];
        }
        at[2] += uint(max(load_index(1u, int(at[0]) * view(1).strides[0]), 0));
        if (at[2] >= view(2).sizes[2])
            continue;
        for (uint d = 0u; d < 4u; d++)
            y += int(at[d]) * view(2).strides[d];
        if (VECTOR > 1u)
            Quads(place_of(2u, y).address).v = Quads(place_of(0u, x).address).v;
        else
            copy_element(2u, y, 0u, x);
    }
}
