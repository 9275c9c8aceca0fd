// SPDX-License-Identifier: Apache-2.0
/* Second dispatch of tiled GEMM: adds the split-K sums. Tensors: last Y. */
#version 460
#extension GL_GOOGLE_include_directive : require
#define UNIFORM_BLOCK
#define PARAMETERS tile_params
#define TILE_PARAMS params
#include "shaders/gemm/tile_params.h"
#include "shaders/core/views.glsl"
#include "shaders/gemm/tile_number.glsl"
#include "shaders/gemm/tile_finish.glsl"

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Sums { NUMBER4 v; };

void store(uint number, uint next, NUMBER sum)
{
    uint y = header.inputs, c = uint(max(params.c, 0)), row = number - next, last = view(y).rank - 1u;
    store_result(number, at_element(y, y, row) + int(next) * view(y).strides[last],
                 at_element(c, y, row) + int(next) * view(c).strides[last], sum);
}

/* An invocation has four elements of a row if rows are multiples of that, or one. */
void main()
{
    uint all = params.m * params.n * params.batches, splits = params.splits;
    uvec2 base = scratch_at(0u);
    read_finish();
    EACH_UNIT(unit)
    {
        if (all == header.elements) {
            NUMBER sum = NUMBER(0);
            for (uint split = 0u; split < splits; split++)
                sum += NUMBER_OF(Words(add64(base, uvec2(4u * (split * all + unit), 0u))).v);
            store(unit, 0u, sum);
            continue;
        }
        NUMBER4 sum = NUMBER4(0);
        for (uint split = 0u; split < splits; split++)
            sum += Sums(add64(base, uvec2(4u * (split * all + 4u * unit), 0u))).v;
        for (uint i = 0u; i < 4u; i++)
            store(4u * unit + i, i, sum[i]);
    }
}
