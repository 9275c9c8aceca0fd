// SPDX-License-Identifier: Apache-2.0
/* KERN_GEMM with a few rows or columns, "lines" here: each element of the large matrix is read once, by the invocations
 * of a workgroup, `across` of which take one line of that matrix each while the others share the sum over k. Tensors:
 * as for gemm_any.comp. */
#version 460
#extension GL_GOOGLE_include_directive : require
#define PARAMETERS vec_params
#define TILE_PARAMS params.tile
#include "shaders/gemm/tile_params.h"
#include "shaders/core/views.glsl"
#include "shaders/gemm/tile_number.glsl"
#include "shaders/gemm/tile_finish.glsl"
#include "shaders/gemm/vec.glsl"
#extension GL_EXT_control_flow_attributes : require

#define LINES  4u
#define UNROLL 4u /* loads at a time */

shared NUMBER parts[LINES][GROUP_SIZE];

NUMBER sums[LINES];

NUMBER zero_point(uint t, uint i)
{
#ifdef TILE_INTEGER
    int zero = t == 0u ? TILE_PARAMS.a_zero : TILE_PARAMS.b_zero;
    if (zero >= 0)
        return load_number(type_of(uint(zero)), address_of(uint(zero)),
                           int(i) * view(zero).strides[view(t).rank - 2u + t]);
#endif
    return NUMBER(0);
}

/* Of the line `column` of the large matrix with all lines of the small one, over every `slices`-th k. */
void sum_slice(uint batch, uint column, uint k, uint end)
{
    uint large = 1u - params.small, lines = min(params.lines, LINES);
    uvec2 large_base = address_of(large), small_base = address_of(params.small);
    int large_step = step_of(large, 1u), small_step = step_of(params.small, 1u), next = step_of(params.small, 0u);
    int from = batch_start(large, batch) + int(column) * step_of(large, 0u), start = batch_start(params.small, batch);
    NUMBER large_zero = zero_point(large, column), zeros[LINES];
    [[unroll]] for (uint i = 0u; i < LINES; i++) {
        sums[i] = NUMBER(0);
        zeros[i] = i < lines ? zero_point(params.small, i) : NUMBER(0);
    }
    for (; k < end; k += UNROLL * params.slices) {
        NUMBER x[UNROLL];
        [[unroll]] for (uint j = 0u; j < UNROLL; j++) {
            uint at = k + j * params.slices;
            x[j] = at < end ? load_number(type_of(large), large_base, from + int(at) * large_step) - large_zero
                            : NUMBER(0);
        }
        [[unroll]] for (uint j = 0u; j < UNROLL; j++) {
            uint at = k + j * params.slices;
            [[unroll]] for (uint i = 0u; i < LINES; i++)
                if (i < lines && at < end)
                    sums[i] += x[j] * (load_number(type_of(params.small), small_base,
                                                   start + int(at) * small_step + int(i) * next) - zeros[i]);
        }
    }
}

void main()
{
    read_finish();
    uint across = GROUP_SIZE / params.slices, i = gl_LocalInvocationID.x, columns = params.columns;
    uint blocks = (columns + across - 1u) / across;
    uint slice = params.along_k != 0u ? i % params.slices : i / across;
    uint line = params.along_k != 0u ? i / params.slices : i % across;
    EACH_GROUP_UNIT(unit)
    {
        uint column = unit % blocks * across + line, part = unit / blocks;
        uint batch = part % TILE_PARAMS.batches, split = part / TILE_PARAMS.batches;
        uint first = split * TILE_PARAMS.depth, end = min(first + TILE_PARAMS.depth, TILE_PARAMS.k);
        if (column < columns)
            sum_slice(batch, column, first + slice, end);
        [[unroll]] for (uint j = 0u; j < LINES; j++)
            parts[j][slice * across + line] = sums[j];
        barrier();
        if (i < across * params.lines && unit % blocks * across + i % across < columns) {
            NUMBER sum = NUMBER(0);
            for (uint j = 0u; j < params.slices; j++)
                sum += parts[i / across][j * across + i % across];
            store_line(batch, split, i / across, unit % blocks * across + i % across, sum);
        }
        barrier();
    }
}
