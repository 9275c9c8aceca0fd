// SPDX-License-Identifier: Apache-2.0
/* Second dispatch of products by tiles: adds the sums of the parts along k. Tensors: last Y. */
#version 460
#extension GL_GOOGLE_include_directive : require
#define PARAMETERS tile_params
#define TILE_PARAMS params
#include "shaders/gemm/tile_params.h"
#include "shaders/core/views.glsl"
#include "shaders/gemm/tile_number.glsl"
#include "shaders/gemm/tile_finish.glsl"

void main()
{
    EACH_UNIT(number)
    {
        uint y = header.inputs, c = uint(max(params.c, 0));
        NUMBER sum = NUMBER(0);
        for (uint split = 0u; split < params.splits; split++)
            sum += NUMBER_OF(Words(scratch_at(4u * (split * header.elements + number))).v);
        store_result(number, at_element(y, y, number), at_element(c, y, number), sum);
    }
}
