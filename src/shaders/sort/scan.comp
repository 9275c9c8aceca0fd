// SPDX-License-Identifier: Apache-2.0
/* KERN_SCAN: a line per invocation, one element after another. */
#version 460
#extension GL_GOOGLE_include_directive : require
#define PARAMETERS scan_params
#include "shaders/sort/scan_params.h"
#include "shaders/core/views.glsl"
#include "shaders/sort/line.glsl"
#include "shaders/sort/scan.glsl"

void main()
{
    uint y = header.inputs;
    bool total = params.total != 0u, exclusive = params.exclusive != 0u && !total;
    EACH_UNIT(line)
    {
        int from = at_line(0u, params.axis, line), to = at_line(y, params.axis, line);
        NUMBER sum = first_of(line);
        for (uint i = 0u; i < params.size; i++) {
            NUMBER next = joined(sum, number_at(0u, from));
            if (!total || i + 1u == params.size)
                put_number(y, to, exclusive ? sum : next);
            sum = next;
            from += view(0).strides[params.axis];
            to += total ? 0 : view(y).strides[params.axis];
        }
    }
}
