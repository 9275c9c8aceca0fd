// SPDX-License-Identifier: Apache-2.0
/* KERN_GEMM with register blocking (block.glsl), for factors in vectors of four elements. Loads, which fetch the next
 * tile while this one is multiplied, use positions that are computed once, and check the end of k only if tiles do not
 * end there. With TILE_DOT (tile_dot.glsl) factors are bytes, k counts words of four, and zero points are subtracted
 * from the sums. Tensors: as for gemm_any.comp. */
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#define GROUP_SIZE_ID 5
#define PARAMETERS tile_params
#define TILE_PARAMS params
#include "shaders/gemm/tile_params.h"
#include "shaders/core/views.glsl"
#include "shaders/gemm/tile_number.glsl"
#include "shaders/gemm/tile_finish.glsl"
#include "shaders/core/vector.glsl"
#ifndef TILE_INTEGER
#include "shaders/core/epilogue_vector.glsl"
#endif

void begin(uint batch, uint m, uint n);
void finish(uint m, uint n, NUMBER sum);

uint a_type, b_type;

#include "shaders/gemm/block.glsl"

#define LOADS_A (TILE_M * DEPTH / 4u / INVOCATIONS)
#define LOADS_B (TILE_N * DEPTH / 4u / INVOCATIONS)

/* Of the current batch: start of A, B and Y, and their strides along m or k, and n or k; its first result. */
uvec2 a_base, b_base, y_base;
uint first_number;
ivec4 start;
ivec2 a_step, b_step, y_step, c_step;
uvec4 a_next[LOADS_A], b_next[LOADS_B];
int a_at[LOADS_A], b_at[LOADS_B]; /* vectors from a_base or b_base on, of the tile to be loaded next; or words */

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

/* The line and first element of load `number`, along k and across it, or the other way round. */
uvec2 element(uint number, uint size, uint along_k)
{
    uint i = gl_LocalInvocationID.x + number * INVOCATIONS;
    return along_k != 0u ? uvec2((i >> 1) % size, 4u * ((i >> 1) / size * 2u + (i & 1u)))
                         : uvec2(i % (size / 4u) * 4u, i / (size / 4u));
}

/* The number of the vector that starts with this element. Of bytes that are across k, four words of as many lines make
 * one vector, which has the number of the first word. */
int vector_at(int element, uint along_k)
{
#ifdef TILE_DOT
    return along_k != 0u ? element >> 4 : element >> 2;
#else
    return element >> 2;
#endif
}

/* Lines outside the factors are replaced by others: their results are not stored. */
void place_loads(uint m, uint n, uint k)
{
    [[unroll]] for (uint i = 0u; i < LOADS_A; i++) {
        uvec2 at = element(i, TILE_M, A_ALONG_K);
        uint line = min(m + at.x, A_ALONG_K != 0u ? size_m - 1u : size_m - 4u);
        a_at[i] = vector_at(start.x + int(line) * a_step.x + int((k + at.y) * FACTORS) * a_step.y, A_ALONG_K);
    }
    [[unroll]] for (uint i = 0u; i < LOADS_B; i++) {
        uvec2 at = element(i, TILE_N, B_ALONG_K);
        uint line = min(n + at.x, B_ALONG_K != 0u ? size_n - 1u : size_n - 4u);
        b_at[i] = vector_at(start.y + int(line) * b_step.y + int((k + at.y) * FACTORS) * b_step.x, B_ALONG_K);
    }
}

#ifdef TILE_DOT
/* Four words of the same line, or the words of four lines. */
uvec4 load_quad(uint type, uvec2 base, int at, uint along_k, int step)
{
    uint flip = type == TYPE_UINT8 ? 0x80808080u : 0u;
    if (along_k != 0u)
        return QuadArray(base).v[at] ^ flip;
    uvec4 x;
    [[unroll]] for (int e = 0; e < 4; e++)
        x[e] = WordArray(base).v[at + e * (step >> 2)] ^ flip;
    uvec4 low = uvec4(x.x & 0x00ff00ffu | (x.y & 0x00ff00ffu) << 8, x.x >> 8 & 0x00ff00ffu | x.y & 0xff00ff00u,
                      x.z & 0x00ff00ffu | (x.w & 0x00ff00ffu) << 8, x.z >> 8 & 0x00ff00ffu | x.w & 0xff00ff00u);
    return uvec4(low.x & 0xffffu | low.z << 16, low.y & 0xffffu | low.w << 16, low.x >> 16 | low.z & 0xffff0000u,
                 low.y >> 16 | low.w & 0xffff0000u);
}

ivec4 unpack_quad(uint type, uvec4 quad)
{
    return ivec4(quad);
}
#else
uvec4 load_quad(uint type, uvec2 base, int at, uint along_k, int step)
{
    if (type == TYPE_FLOAT32)
        return QuadArray(base).v[at];
    return uvec4(PairArray(base).v[at], 0u, 0u);
}

#define unpack_quad(type, quad) unpack_vec4(type, quad)
#endif

/* Elements k to k + DEPTH, with zeros from `end` on. */
void fetch(uint k, uint end)
{
    [[unroll]] for (uint i = 0u; i < LOADS_A; i++) {
        a_next[i] = uvec4(0u);
        if (WHOLE || k + element(i, TILE_M, A_ALONG_K).y < end)
            a_next[i] = load_quad(a_type, a_base, a_at[i], A_ALONG_K, a_step.y);
        a_at[i] += vector_at(int(DEPTH * FACTORS) * a_step.y, A_ALONG_K);
    }
    [[unroll]] for (uint i = 0u; i < LOADS_B; i++) {
        b_next[i] = uvec4(0u);
        if (WHOLE || k + element(i, TILE_N, B_ALONG_K).y < end)
            b_next[i] = load_quad(b_type, b_base, b_at[i], B_ALONG_K, b_step.x);
        b_at[i] += vector_at(int(DEPTH * FACTORS) * b_step.x, B_ALONG_K);
    }
}

void keep_quad(uint to, uint stride, uint along_k, uvec2 at, NUMBER4 value)
{
    if (along_k == 0u) {
        tiles[to + at.y * stride + (at.x >> 2)] = value;
        return;
    }
    [[unroll]] for (uint e = 0u; e < 4u; e++)
        tiles[to + (at.y + e) * stride + (at.x >> 2)][at.x & 3u] = value[e];
}

void keep()
{
    [[unroll]] for (uint i = 0u; i < LOADS_A; i++)
        keep_quad(0u, STRIDE_A, A_ALONG_K, element(i, TILE_M, A_ALONG_K), unpack_quad(a_type, a_next[i]));
    [[unroll]] for (uint i = 0u; i < LOADS_B; i++)
        keep_quad(TILE_B, STRIDE_B, B_ALONG_K, element(i, TILE_N, B_ALONG_K), unpack_quad(b_type, b_next[i]));
}

void sum_products(uint m, uint n, uint first, uint end)
{
    clear_sums();
    place_loads(m, n, first);
    fetch(first, end);
    for (uint k = first; k < end; k += DEPTH) {
        keep();
        barrier();
        if (k + DEPTH < end)
            fetch(k + DEPTH, end);
        multiply();
        barrier();
    }
}

/* ---- results ---- */

void finish(uint m, uint n, NUMBER sum)
{
    int y_at = start.z + int(m) * y_step.x + int(n) * y_step.y;
    store_result(first_number + m * params.n + n, y_at, start.w + int(m) * c_step.x + int(n) * c_step.y, sum);
}

/* Four adjacent results. */
#ifdef TILE_INTEGER
void finish_four(uint m, uint n, ivec4 value)
{
    QuadArray(y_base).v[start.z + int(m) * y_step.x + int(n) >> 2] = uvec4(value);
}
#else
void finish_four(uint m, uint n, vec4 value)
{
    int y_at = start.z + int(m) * y_step.x + int(n), c_at = start.w + int(m) * c_step.x + int(n) * c_step.y;
    [[unroll]] for (uint e = 0u; e < 4u; e++)
        value[e] = scaled_sum(c_at + int(e) * c_step.y, value[e]);
    epilogue_four(first_number + m * params.n + n, y_at, value);
    uint type = type_of(header.inputs);
    uvec4 words = pack_vec4(type, value);
    if (type == TYPE_FLOAT32)
        QuadArray(y_base).v[y_at >> 2] = words;
    else
        PairArray(y_base).v[y_at >> 2] = words.xy;
}
#endif

void store_four(uint m, uint n, uint part, NUMBER4 value)
{
    if (in_parts && size_n % 4u == 0u) {
        QuadArray(sums_base).v[((part * size_m + m) * size_n + n) / 4u] =
            uvec4(BITS_OF(value.x), BITS_OF(value.y), BITS_OF(value.z), BITS_OF(value.w));
        return;
    }
    if (WIDE_Y && !in_parts) {
        finish_four(m, n, value);
        return;
    }
    for (uint e = 0u; e < 4u && n + e < size_n; e++) {
        store_sum(m, n + e, part, value.x);
        value = value.yzwx; /* value[e] would not be in registers if the loop were not unrolled */
    }
}

void run_tile(uint m, uint n, uint first, uint end, uint part)
{
    find_corner();
#ifdef TILE_DOT
    begin_factors();
    sum_products(m, n, first / FACTORS, end / FACTORS);
    take_zeros_off(m, n, end - first);
#else
    read_operands();
    sum_products(m, n, first, end);
#endif
    store_sums(m, n, part);
}
