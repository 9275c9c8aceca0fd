// SPDX-License-Identifier: Apache-2.0
/* KERN_ATTENTION: combines the results of attention_parts.comp for each part of the keys. A workgroup has a query;
 * params.lanes adjacent invocations have its columns, the others interleaved parts. Tensors: see attention.glsl. */
#version 460
#extension GL_GOOGLE_include_directive : require
#define UNIFORM_BLOCK
#define PARAMETERS attention_params
#include "shaders/attention/attention_params.h"
#include "shaders/core/views.glsl"
#include "shaders/core/math_f64.glsl"
#include "shaders/attention/attention.glsl"
#include "shaders/attention/attention_parts.glsl"

layout(buffer_reference, std430, buffer_reference_align = 4) readonly buffer Floats { float v[]; };

shared float factors[ATTENTION_PARTS_MAX];
shared float shares[GROUP_SIZE];

void main()
{
    const uint y = header.inputs, rows = view(y).sizes[2], heads = view(y).sizes[1], width = view(2).sizes[3];
    const uint me = gl_LocalInvocationID.x, lanes = params.lanes, column = me % lanes;
    const uvec2 states = scratch_at(0u);
    EACH_GROUP_UNIT(unit)
    {
        const uint of_head = unit / rows, row = unit - of_head * rows;
        batch = of_head / heads;
        head = of_head - batch * heads;
        const uint keys = existing_keys(rows - 1u), each = max(keys_of_part(keys), 1u), parts = (keys + each - 1u) / each;
        float top = -INFINITY, total = 0.0;
        for (uint p = 0u; p < parts; p++) {
            const float other = Floats(states).v[state_at(of_head * params.parts + p, row, rows) + width];
            top = other > top ? other : top;
        }
        if (me < parts) {
            const uint at = state_at(of_head * params.parts + me, row, rows) + width;
            factors[me] = exp_of(Floats(states).v[at] - base_of(top));
            shares[me] = factors[me] * Floats(states).v[at + 1u];
        }
        barrier();
        for (uint p = 0u; p < parts; p++)
            total += shares[p];
        barrier();
        for (uint from = 0u; from < width; from += lanes) {
            float sum = 0.0;
            for (uint p = me / lanes; p < parts && from + column < width; p += GROUP_SIZE / lanes)
                sum += factors[p] * Floats(states).v[state_at(of_head * params.parts + p, row, rows) + from + column];
            shares[me] = sum;
            barrier();
            if (me < lanes && from + column < width) {
                for (uint i = me + lanes; i < GROUP_SIZE; i += lanes)
                    sum += shares[i];
                store_real(y, offset4(y, head, row) + int(from + column) * view(y).strides[3], result_of(sum, total));
            }
            barrier();
        }
    }
}
