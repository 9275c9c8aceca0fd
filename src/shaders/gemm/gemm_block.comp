// SPDX-License-Identifier: Apache-2.0
/* KERN_GEMM with register blocking, for factors in vectors of four elements: a workgroup computes TILE_M x TILE_N
 * results, an invocation SIDE_M x SIDE_N of them; GROUPS of invocations share the results and sum a part of each tile
 * along k. Loads, which fetch the next tile while this one is multiplied, use positions that are computed once, and
 * check the end of k only if tiles do not end there. With TILE_DOT (tile_dot.glsl) factors are bytes, k counts words of
 * four, and zero points are subtracted from the sums. Tensors: as for gemm_any.comp. */
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

layout(constant_id = 2) const uint TILE = 64u << 16 | 64u;                        /* along n, and m */
layout(constant_id = 3) const uint SHAPE = 4u << 24 | 4u << 16 | 1u << 8 | 16u;   /* SIDE_N, SIDE_M, GROUPS, DEPTH */
layout(constant_id = 4) const uint FLAGS = GEMM_BLOCK_A_ALONG_K;
layout(constant_id = GROUP_SIZE_ID) const uint INVOCATIONS = 256;

#define TILE_M    (TILE & 0xffffu)
#define TILE_N    (TILE >> 16)
#define DEPTH     (SHAPE & 255u)
#define GROUPS    (SHAPE >> 8 & 255u)
#define SIDE_M    (SHAPE >> 16 & 255u)
#define SIDE_N    (SHAPE >> 24)
#define A_ALONG_K (FLAGS & GEMM_BLOCK_A_ALONG_K)
#define B_ALONG_K (FLAGS >> 1 & 1u)
#define WHOLE     ((FLAGS & GEMM_BLOCK_WHOLE) != 0u)
#define WIDE_Y    ((FLAGS & GEMM_BLOCK_WIDE_Y) != 0u)

#define ROWS     (TILE_M / SIDE_M) /* of invocations */
#define COLUMNS  (TILE_N / SIDE_N)
#define OF_GROUP (ROWS * COLUMNS)
#define QUADS_M  (SIDE_M / 4u)
#define QUADS_N  (SIDE_N / 4u)
#define LOADS_A  (TILE_M * DEPTH / 4u / INVOCATIONS)
#define LOADS_B  (TILE_N * DEPTH / 4u / INVOCATIONS)

/* For each k of a tile its elements in groups of four. For a factor whose vectors are along k, four stores write the
 * elements of one to four lines, whose distance is one vector more than their length: neighbours use different
 * banks. */
#define STRIDE_A (TILE_M / 4u + A_ALONG_K)
#define STRIDE_B (TILE_N / 4u + B_ALONG_K)
#define TILE_B   (DEPTH * STRIDE_A) /* start of the tile of B */
#define STAGE    (DEPTH * (STRIDE_A + STRIDE_B))
#define LINE     (INVOCATIONS * QUADS_N) /* staged sums: a line of each invocation, for ROUND lines at a time */
#define ROUND    (STAGE >= 4u * LINE ? 4u : STAGE >= 2u * LINE ? 2u : 1u)
shared NUMBER4 tiles[STAGE > LINE ? STAGE : LINE];


void begin(uint batch, uint m, uint n);
void finish(uint m, uint n, NUMBER sum);

#include "shaders/gemm/tile_run.glsl"

uint a_type, b_type;
/* Of the current batch: start of A, B and Y, and their strides along m or k, and n or k; its first result. */
uvec2 a_base, b_base, y_base;
uint first_number;
ivec4 start;
ivec2 a_step, b_step, y_step, c_step;
/* Of this invocation: its group, and its index among the rows and columns of it. */
uint own_group;
uvec2 corner;

NUMBER4 sums[SIDE_M][QUADS_N];
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

/* Rows and columns of an invocation are interleaved groups of four. 32 consecutive invocations are 4 rows of 8,
 * neighbours being two of a column: what eight of them load has no bank conflicts. */
void find_corner()
{
    uint i = gl_LocalInvocationID.x % OF_GROUP, block = i >> 5, lane = i & 31u;
    own_group = gl_LocalInvocationID.x / OF_GROUP;
    corner = uvec2((lane & 1u | lane >> 4 << 1) + 4u * (block % (ROWS / 4u)),
                   (lane >> 1 & 7u) + 8u * (block / (ROWS / 4u)));
}

#ifdef TILE_DOT
#include "shaders/gemm/block_dot.glsl"
#else
#define MULTIPLY_ADD(a, b, sum) fma(vec4(a), b, sum)
#define ADD_FACTORS(a, b)
#endif

void multiply()
{
    uint first = own_group * (DEPTH / GROUPS), a_from = first * STRIDE_A + corner.x;
    uint b_from = TILE_B + first * STRIDE_B + corner.y;
    [[unroll]] for (uint k = 0u; k < DEPTH / GROUPS; k++) {
        NUMBER4 a[QUADS_M], b[QUADS_N];
        [[unroll]] for (uint i = 0u; i < QUADS_M; i++)
            a[i] = tiles[a_from + k * STRIDE_A + ROWS * i];
        [[unroll]] for (uint j = 0u; j < QUADS_N; j++)
            b[j] = tiles[b_from + k * STRIDE_B + COLUMNS * j];
        [[unroll]] for (uint i = 0u; i < SIDE_M; i++)
            [[unroll]] for (uint j = 0u; j < QUADS_N; j++)
                sums[i][j] = MULTIPLY_ADD(a[i >> 2][i & 3u], b[j], sums[i][j]);
        ADD_FACTORS(a, b)
    }
}

void sum_products(uint m, uint n, uint first, uint end)
{
    [[unroll]] for (uint i = 0u; i < SIDE_M; i++)
        [[unroll]] for (uint j = 0u; j < QUADS_N; j++)
            sums[i][j] = NUMBER4(0);
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

/* Lines of each invocation to shared memory, ROUND of them: [group][line][row][quad]. */
void stage_lines(uint round)
{
    uint to = own_group * ROUND * OF_GROUP * QUADS_N + corner.x * (TILE_N / 4u) + corner.y;
    [[unroll]] for (uint i = 0u; i < SIDE_M; i++)
        if (i / ROUND == round)
            [[unroll]] for (uint j = 0u; j < QUADS_N; j++)
                tiles[to + i % ROUND * OF_GROUP * QUADS_N + COLUMNS * j] = sums[i][j];
}

/* Some lines of each invocation at a time, so that the storing code exists once. */
void store_sums(uint m, uint n, uint part)
{
    const uint line_size = OF_GROUP * QUADS_N;
    for (uint round = 0u; round < SIDE_M / ROUND; round++) {
        stage_lines(round);
        barrier();
        for (uint i = gl_LocalInvocationID.x; i < ROUND * line_size; i += INVOCATIONS) {
            uint line = i / line_size + ROUND * round, at = i % line_size;
            uint row = 4u * (at / (TILE_N / 4u) + ROWS * (line >> 2)) + (line & 3u), column = at % (TILE_N / 4u) * 4u;
            NUMBER4 sum = tiles[i];
            for (uint j = 1u; j < GROUPS; j++)
                sum += tiles[i + j * ROUND * line_size];
            if (m + row < size_m && n + column < size_n)
                store_four(m + row, n + column, part, sum);
        }
        barrier();
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
