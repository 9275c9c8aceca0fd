// SPDX-License-Identifier: Apache-2.0
/* KERN_GEMM by tiles. Tensors: as for gemm_any.comp. */
#version 460
#extension GL_GOOGLE_include_directive : require
#define PARAMETERS tile_params
#define TILE_PARAMS params
#include "shaders/gemm/tile_params.h"
#include "shaders/core/views.glsl"
#include "shaders/gemm/tile_number.glsl"
#include "shaders/gemm/tile_size.glsl"
#include "shaders/gemm/tile_finish.glsl"

uint a_type, b_type;
/* Of the current batch: where A, B, Y and C begin, and their strides along m or k, and n or k; its first result. */
uvec2 a_base, b_base;
uint first_number;
ivec4 start;
ivec2 a_step, b_step, y_step, c_step;

ivec2 steps(uint t)
{
    uint rank = view(t).rank;
    return ivec2(view(t).strides[rank - 2u], view(t).strides[rank - 1u]);
}

void begin(uint batch, uint m, uint n)
{
    uint y = header.inputs, c = uint(max(params.c, 0));
    first_number = batch * params.m * params.n;
    a_type = type_of(0u);
    b_type = type_of(1u);
    a_base = address_of(0u);
    b_base = address_of(1u);
    a_step = steps(0u);
    b_step = steps(1u);
    y_step = steps(y);
    c_step = steps(c);
    start = ivec4(0);
    for (uint d = view(y).rank - 2u; d-- > 0u;) {
        int at = int(batch % view(y).sizes[d]);
        batch /= view(y).sizes[d];
        start += at * ivec4(view(0).strides[d], view(1).strides[d], view(y).strides[d], view(c).strides[d]);
    }
}

void prepare(uint k)
{
}

/* Of a factor; those of A are along the last dimension but one, those of B along the last. */
NUMBER zero_point(int tensor, uint from_last, uint i)
{
#ifdef TILE_INTEGER
    if (tensor >= 0) {
        uint t = uint(tensor);
        return load_number(type_of(t), address_of(t), int(i) * view(t).strides[view(t).rank - from_last]);
    }
#endif
    return NUMBER(0);
}

NUMBER load_a(uint m, uint k, uint row)
{
    NUMBER a = load_number(a_type, a_base, start.x + int(m) * a_step.x + int(k) * a_step.y);
    return a - zero_point(params.a_zero, 2u, m);
}

NUMBER load_b(uint n, uint k, uint row)
{
    NUMBER b = load_number(b_type, b_base, start.y + int(k) * b_step.x + int(n) * b_step.y);
    return b - zero_point(params.b_zero, 1u, n);
}

void finish(uint m, uint n, NUMBER sum)
{
    store_result(first_number + m * params.n + n, start.z + int(m) * y_step.x + int(n) * y_step.y,
                 start.w + int(m) * c_step.x + int(n) * c_step.y, sum);
}

#include "shaders/gemm/tile.glsl"
