// SPDX-License-Identifier: Apache-2.0
/* KERN_GEMM by tiles. Tensors: as for gemm_any.comp. */
#version 460
#extension GL_GOOGLE_include_directive : require
#define UNIFORM_BLOCK
#define PARAMETERS tile_params
#define TILE_PARAMS params
#include "shaders/gemm/tile_params.h"
#include "shaders/core/views.glsl"
#include "shaders/gemm/tile_number.glsl"
#include "shaders/gemm/tile_size.glsl"
#include "shaders/gemm/tile_finish.glsl"

uint a_type, b_type;
/* Of the current batch: start of A, B, Y and C, and their strides along m or k, and n or k; its first result. */
uvec2 a_base, b_base, y_base;
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
    y_base = address_of(y);
    a_step = steps(0u);
    b_step = steps(1u);
    y_step = steps(y);
    c_step = steps(c);
    start = ivec4(0);
    for (uint d = params.batches == 1u ? 0u : view(y).rank - 2u; d-- > 0u;) {
        int at = int(batch % view(y).sizes[d]);
        batch /= view(y).sizes[d];
        start += at * ivec4(view(0).strides[d], view(1).strides[d], view(y).strides[d], view(c).strides[d]);
    }
}

void prepare(uint k)
{
}

#ifdef TILE_INTEGER
/* Of a factor; A's are along the second-to-last dimension, B's along the last. */
int zero_point(int tensor, uint from_last, uint i)
{
    uint t = uint(max(tensor, 0));
    int at = int(i) * view(t).strides[view(t).rank - from_last];
    return tensor < 0 ? 0 : load_number(type_of(t), address_of(t), at);
}
#endif

int place_a(uint m, uint k)
{
    return start.x + int(m) * a_step.x + int(k) * a_step.y;
}

int place_b(uint n, uint k)
{
    return start.y + int(k) * b_step.x + int(n) * b_step.y;
}

#ifdef TILE_DOT
/* Four factors along k, fewer if fewer exist. */
int load_word(uint type, uvec2 base, int at, int next, uint k)
{
    uint count = min(params.k - FACTORS * k, FACTORS), word = 0u;
    uvec2 address = add64(base, scaled(at, 0u));
    if (count == FACTORS && next == 1 && (address.x & 3u) == 0u)
        return int(Words(address).v ^ (type == TYPE_UINT8 ? 0x80808080u : 0u));
    for (uint i = 0u; i < count; i++)
        word |= uint(load_number(type, base, at + int(i) * next) + bias_of(type) & 0xff) << 8u * i;
    return int(word);
}

int load_a(uint m, uint k, uint row)
{
    return load_word(a_type, a_base, place_a(m, FACTORS * k), a_step.y, k);
}

int load_b(uint n, uint k, uint row)
{
    return load_word(b_type, b_base, place_b(n, FACTORS * k), b_step.x, k);
}

int zero_of_a(uint m)
{
    return zero_point(params.a_zero, 2u, m) + bias_of(a_type);
}

int zero_of_b(uint n)
{
    return zero_point(params.b_zero, 1u, n) + bias_of(b_type);
}
#else
FACTOR load_a(uint m, uint k, uint row)
{
    FACTOR a = load_number(a_type, a_base, place_a(m, k));
#ifdef TILE_INTEGER
    a -= zero_point(params.a_zero, 2u, m);
#endif
    return a;
}

FACTOR load_b(uint n, uint k, uint row)
{
    FACTOR b = load_number(b_type, b_base, place_b(n, k));
#ifdef TILE_INTEGER
    b -= zero_point(params.b_zero, 1u, n);
#endif
    return b;
}
#endif

void place_result(uint m, uint n, out uint number, out int y_at, out int c_at)
{
    number = first_number + m * params.n + n;
    y_at = start.z + int(m) * y_step.x + int(n) * y_step.y;
    c_at = start.w + int(m) * c_step.x + int(n) * c_step.y;
}

void finish(uint m, uint n, NUMBER sum)
{
    uint number;
    int y_at, c_at;
    place_result(m, n, number, y_at, c_at);
    store_result(number, y_at, c_at, sum);
}

#ifdef TILE_MATRIX
#define vector_a(m, k) Vectors(a_base).v[place_a(m, k) >> 3]
#define vector_b(n, k) Vectors(b_base).v[place_b(n, k) >> 3]
#define PLACE_A(m, k)  (place_a(m, k) >> 3)
#define PLACE_B(n, k)  (place_b(n, k) >> 3)
#define MOVE_A         a_step.y
#define MOVE_B         b_step.x
#define c_next         c_step.y
#include "shaders/gemm/tile_matrix.glsl"
#else
#include "shaders/gemm/tile.glsl"
#endif
