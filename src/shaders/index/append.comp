// SPDX-License-Identifier: Apache-2.0
/* KERN_APPEND: one element of X per invocation. Tensors: 0 X, 1 lengths, 2 Y. */
#version 460
#extension GL_GOOGLE_include_directive : require
#define PARAMETERS append_params
#include "shaders/index/index_params.h"
#include "shaders/core/views.glsl"

void main()
{
    EACH_UNIT(number)
    {
        uint at[4], rest = number;
        int x = 0, y = 0;
        for (uint d = 4u; d-- > 0u;) {
            at[d] = rest % view(0).sizes[d];
            rest /= view(0).sizes[d];
            x += int(at[d]) * view(0).strides[d];
        }
        at[2] += uint(max(load_index(1u, int(at[0]) * view(1).strides[0]), 0));
        if (at[2] >= view(2).sizes[2])
            continue;
        for (uint d = 0u; d < 4u; d++)
            y += int(at[d]) * view(2).strides[d];
        copy_element(2u, y, 0u, x);
    }
}
