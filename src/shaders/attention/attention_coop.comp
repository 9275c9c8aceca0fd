// SPDX-License-Identifier: Apache-2.0
/* KERN_ATTENTION of many queries with cooperative matrices (gemm/matrix.glsl): FLOAT16 or BFLOAT16, FLOAT32 sums. A
 * subgroup processes 16 or 32 queries, whose vectors and results stay in its matrices. K and V are loaded to shared
 * memory, some keys at a time for all subgroups; while they are multiplied the next ones are loaded. The softmax is
 * online. The layout of elements in a matrix is implementation-defined, so scores are stored to shared memory to find
 * the maximum of each query, which is loaded as a matrix of equal columns; weights take the same way to become factors.
 * Sums of weights are their product with a matrix of ones. */
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#define PARAMETERS attention_params
#define TILE_MATRIX
#include "shaders/attention/attention_params.h"
#include "shaders/core/views.glsl"
#include "shaders/core/math_f64.glsl"
#include "shaders/attention/attention.glsl"
#include "shaders/gemm/tile_number.glsl"

layout(constant_id = 2) const uint DEPTH_BLOCKS = 8; /* of Q and K, in matrices: 8 at most */
layout(constant_id = 3) const uint WIDTH_BLOCKS = 8; /* of V */
layout(constant_id = 4) const uint KEY_BLOCKS = 4;   /* keys at a time: 4 at most */
layout(constant_id = 5) const uint FLAGS = 0;        /* COOP_..., attention_params.h */

#define SIDE      16u
#define SETS      ((FLAGS & COOP_TWO_SETS) != 0u ? 2u : 1u) /* of matrices that a subgroup has, of 16 queries each */
#define MASKED    ((FLAGS & COOP_MASKED) != 0u)
#define LINES_OF  (SIDE * SETS)                 /* queries of a subgroup */
#define ROWS      (GROUP_SIZE / 32u * LINES_OF) /* and of a workgroup */
#define KEYS      (KEY_BLOCKS * SIDE)
/* Of lines, in vectors: apart by an odd number of them, eight use all banks of the shared memory. */
#define STRIDE_K  (2u * DEPTH_BLOCKS + 1u)
#define STRIDE_V  (2u * WIDTH_BLOCKS + 1u)
#define STRIDE_P  (2u * KEY_BLOCKS + 1u)
#define STRIDE_S  5u /* sums */
/* The start of V; a matrix of ones; then the part of each subgroup: 16 lines of weights or sums, and two numbers for
 * each query. */
#define TILE_V    (KEYS * STRIDE_K)
#define ONES      (TILE_V + KEYS * STRIDE_V)
#define STAGES    (ONES + 2u)
#ifdef PACK_SHARED
#define STAGE     (LINES_OF * (4u * KEY_BLOCKS + 1u))
#else
#define STAGE     (LINES_OF * (STRIDE_P > STRIDE_S ? STRIDE_P : STRIDE_S))
#endif
#ifdef MATRIX_PLAIN /* whose factors stay in shared memory */
#define STAGE_SIZE    (STAGE + 8u * SETS + SETS * 32u * DEPTH_BLOCKS)
#define STAGE_Q(s, i) (stage + STAGE + 8u * SETS + 32u * (s * DEPTH_BLOCKS + i))
#define STRIDE_Q      2u
#else
#define STAGE_SIZE    (STAGE + 8u * SETS)
#define STAGE_Q(s, i) stage
#define STRIDE_Q      3u
#endif
#define LOG2_E    1.44269504

shared uvec4 tiles[STAGES + GROUP_SIZE / 32u * STAGE_SIZE];

layout(buffer_reference, std430, buffer_reference_align = 16) buffer Vectors { uvec4 v[]; };

#include "shaders/gemm/matrix.glsl"

uint pack_two(float a, float b)
{
    bool half_type = type_of(0u) == TYPE_FLOAT16;
    return half_type ? floats_to_halves(vec2(a, b)) : float_to_bfloat(a) & 0xffffu | float_to_bfloat(b) << 16;
}

#include "shaders/attention/matrix_elements.glsl"

/* Lines of Q, K or V under the current head: their start, number and size, and the strides between them and within. */
struct Lines {
    uvec2 base;
    uint count, size;
    int start, step, next;
};

Lines lines_of(uint t, uint h)
{
    return Lines(address_of(t), view(t).sizes[2], view(t).sizes[3], offset4(t, h, 0u), view(t).strides[2],
                 view(t).strides[3]);
}

uint first_row, stage; /* of the subgroup */
uint lane;

/* Elements d to d + 8 of a line; zeros outside. */
uvec4 fetch(Lines from, bool wide, uint line, uint d)
{
    uvec4 v = uvec4(0u);
    int at = from.start + int(line) * from.step + int(d) * from.next;
    if (wide) {
        if (line < from.count && d < from.size)
            v = Vectors(from.base).v[at >> 3];
        return v;
    }
    [[unroll]] for (uint e = 0u; e < 8u; e++)
        if (line < from.count && d + e < from.size)
            v[e >> 1] |= SHORT_AT(from.base, at + int(e) * from.next) << 16u * (e & 1u);
    return v;
}

/* Vector `number` of this invocation of a tile whose lines have 2 * blocks vectors: its line, and its position in
 * it. */
uvec2 slot(uint number, uint blocks)
{
    uint i = gl_LocalInvocationID.x + number * GROUP_SIZE;
    return uvec2(i / (2u * blocks), i % (2u * blocks));
}

/* The dot products of 16 queries and the keys from `first` on are on the stage. Those of keys that do not exist become
 * -infinity; with MASKED the others become scores. */
void mask_stage(uint set, uint first)
{
    const uint row = min(first_row + SIDE * set + lane / 2u, view(0).sizes[2] - 1u), keys = existing_keys(row);
    const uint at = stage + lane / 2u * STRIDE_S + lane % 2u * 2u;
    first += lane % 2u * 8u;
    [[unroll]] for (uint i = 0u; i < 2u; i++) {
        vec4 x = uintBitsToFloat(tiles[at + i]);
        [[unroll]] for (uint j = 0u; j < 4u; j++) {
            uint key = first + 4u * i + j;
            if (MASKED)
                x[j] = score(x[j], row, min(key, view(1).sizes[2] - 1u));
            x[j] = key < keys ? x[j] : -INFINITY;
        }
        tiles[at + i] = floatBitsToUint(x);
    }
}

/* The largest of a line of 16 sums on the stage. */
float greatest_of_line(uint row)
{
    vec4 v = uintBitsToFloat(tiles[stage + row * STRIDE_S]);
    [[unroll]] for (uint i = 1u; i < 4u; i++)
        v = max(v, uintBitsToFloat(tiles[stage + row * STRIDE_S + i]));
    return max(max(v.x, v.y), max(v.z, v.w));
}

/* A number on the stage for each query, as a matrix with equal columns. */
void store_number(uint which, uint row, float x)
{
    tiles[stage + STAGE + 4u * SETS * which + row / 4u][row % 4u] = floatBitsToUint(x);
}

#define LOAD_NUMBERS(which, set) LOAD_SUM(stage + STAGE + 4u * (SETS * which + set), 1u, 0u)

#ifdef PACK_SHARED
/* Converts sums on the stage, in lines of KEYS, to factors. */
#define STRIDE_W (4u * KEY_BLOCKS + 1u)
void pack_stage()
{
    const uint count = SETS * KEY_BLOCKS; /* vectors of a line's part */
    uint row = lane / (2u / SETS), part = lane % (2u / SETS) * count;
    uvec4 v[count];
    [[unroll]] for (uint i = 0u; i < count; i++) {
        uint at = stage + row * STRIDE_W + 2u * (part + i);
        vec4 low = uintBitsToFloat(tiles[at]), high = uintBitsToFloat(tiles[at + 1u]);
        v[i] = uvec4(pack_two(low.x, low.y), pack_two(low.z, low.w), pack_two(high.x, high.y), pack_two(high.z, high.w));
    }
    subgroup_barrier();
    [[unroll]] for (uint i = 0u; i < count; i++)
        tiles[stage + row * STRIDE_P + part + i] = v[i];
}
#endif

/* Eight results of 16 columns from `first` on are in two vectors on the stage. */
void store_columns(uint set, uint first, float sum)
{
    const uint y = header.inputs, row = first_row + SIDE * set + lane / 2u, column = first + lane % 2u * 8u;
    const uint at = stage + lane / 2u * STRIDE_S + lane % 2u * 2u;
    const bool defined = sum > 0.0 || is_nan(sum) || params.undefined != 0u;
    if (row >= view(y).sizes[2] || column >= view(y).sizes[3])
        return;
    vec4 low = uintBitsToFloat(tiles[at]), high = uintBitsToFloat(tiles[at + 1u]);
    low = defined ? low / sum : vec4(0.0);
    high = defined ? high / sum : vec4(0.0);
    int to = offset4(y, head, row) + int(column) * view(y).strides[3];
    if ((FLAGS & COOP_WIDE_Y) != 0u) {
        Vectors(address_of(y)).v[to >> 3] = uvec4(pack_two(low.x, low.y), pack_two(low.z, low.w),
                                                  pack_two(high.x, high.y), pack_two(high.z, high.w));
        return;
    }
    [[unroll]] for (uint e = 0u; e < 8u; e++)
        if (column + e < view(y).sizes[3])
            store_real(y, to + int(e) * view(y).strides[3], e < 4u ? low[e & 3u] : high[e & 3u]);
}

/* Matrices and vectors are separate variables, of which pipelines use as many as they need (gemm/tile_matrix.glsl). */
#define EACH_KEYS(X)       X(0) X(1) X(2) X(3)
#define EACH_OF_SET(X, s)  X(s, 0) X(s, 1) X(s, 2) X(s, 3)
#define EACH_SCORE(X)      EACH_OF_SET(X, 0) EACH_OF_SET(X, 1)
#define EACH_BLOCK(X)      X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
#define BLOCKS_OF_SET(X, s) X(s, 0) X(s, 1) X(s, 2) X(s, 3) X(s, 4) X(s, 5) X(s, 6) X(s, 7)
#define EACH_SUM(X)        BLOCKS_OF_SET(X, 0) BLOCKS_OF_SET(X, 1)

#define LOADS_K (KEYS * 2u * DEPTH_BLOCKS) /* vectors of a tile */
#define LOADS_V (KEYS * 2u * WIDTH_BLOCKS)

#define DECLARE_SCORE(s, j) MatrixSum score##s##j;
#define DECLARE_SUM(s, i)                                                                                              \
    MatrixA q##s##i;                                                                                                   \
    MatrixSum sum##s##i;
#define DECLARE_NEXT(i) uvec4 k_next##i, v_next##i;
#define FETCH_Q(s, i)                                                                                                  \
    if (s < SETS && i < DEPTH_BLOCKS)                                                                                  \
        k_next##i = fetch(q, (FLAGS & COOP_WIDE_Q) != 0u, first_row + SIDE * s + lane / 2u, SIDE * i + 8u * (lane % 2u));
#define LOAD_Q(s, i)                                                                                                   \
    if (s < SETS && i < DEPTH_BLOCKS) {                                                                                \
        tiles[STAGE_Q(s, i) + lane / 2u * STRIDE_Q + lane % 2u] = k_next##i;                                           \
        subgroup_barrier();                                                                                            \
        q##s##i = LOAD_A(STAGE_Q(s, i), ROW_MAJOR, STRIDE_Q);                                                          \
        subgroup_barrier();                                                                                            \
    }
#define CLEAR_SUM(s, i)                                                                                                \
    if (s < SETS && i < WIDTH_BLOCKS)                                                                                  \
        sum##s##i = zero_matrix();
#define FETCH(i)                                                                                                       \
    if (i * GROUP_SIZE < LOADS_K) {                                                                                    \
        uvec2 at = slot(i, DEPTH_BLOCKS);                                                                              \
        k_next##i = fetch(k, (FLAGS & COOP_WIDE_K) != 0u, next + at.x, 8u * at.y);                                     \
    }                                                                                                                  \
    if (i * GROUP_SIZE < LOADS_V) {                                                                                    \
        uvec2 at = slot(i, WIDTH_BLOCKS);                                                                              \
        v_next##i = fetch(v, (FLAGS & COOP_WIDE_V) != 0u, next + at.x, 8u * at.y);                                     \
    }
#define STORE_NEXT(i)                                                                                                  \
    if (i * GROUP_SIZE < LOADS_K) {                                                                                    \
        uvec2 at = slot(i, DEPTH_BLOCKS);                                                                              \
        if (at.x < KEYS)                                                                                               \
            tiles[at.x * STRIDE_K + at.y] = k_next##i;                                                                 \
    }                                                                                                                  \
    if (i * GROUP_SIZE < LOADS_V) {                                                                                    \
        uvec2 at = slot(i, WIDTH_BLOCKS);                                                                              \
        if (at.x < KEYS)                                                                                               \
            tiles[TILE_V + at.x * STRIDE_V + at.y] = v_next##i;                                                        \
    }
#define CLEAR_SCORE(s, j)                                                                                              \
    if (s < SETS && j < KEY_BLOCKS)                                                                                    \
        score##s##j = zero_matrix();
#define MULTIPLY_K(i, j)                                                                                               \
    if (j < KEY_BLOCKS) {                                                                                              \
        MatrixB keys = LOAD_B(SIDE * j * STRIDE_K + 2u * i, 1u, STRIDE_K);                                             \
        score0##j = multiply_add(q0##i, keys, score0##j);                                                              \
        if (SETS > 1u)                                                                                                 \
            score1##j = multiply_add(q1##i, keys, score1##j);                                                          \
    }
#define MULTIPLY_Q(i)                                                                                                  \
    if (i < DEPTH_BLOCKS) {                                                                                            \
        MULTIPLY_K(i, 0) MULTIPLY_K(i, 1) MULTIPLY_K(i, 2) MULTIPLY_K(i, 3)                                            \
    }
#define MASK_SCORE(s, j)                                                                                               \
    if (s < SETS && j < KEY_BLOCKS) {                                                                                  \
        STORE_SUM(stage, score##s##j, STRIDE_S);                                                                       \
        subgroup_barrier();                                                                                            \
        mask_stage(s, first + SIDE * j);                                                                               \
        subgroup_barrier();                                                                                            \
        score##s##j = LOAD_SUM(stage, ROW_MAJOR, STRIDE_S);                                                            \
        subgroup_barrier();                                                                                            \
    }
#define GREATER(s, j, e) SET_ELEMENT(best, e, max(element(best, e), element(score##s##j, e)));
#define FIND_BEST(s, j)                                                                                                \
    if (j > 0 && j < KEY_BLOCKS) {                                                                                     \
        EACH_ELEMENT(GREATER, s, j)                                                                                    \
    }
#define STAGE_BEST(s)                                                                                                  \
    if (s < SETS) {                                                                                                    \
        MatrixSum best = score##s##0;                                                                                  \
        EACH_OF_SET(FIND_BEST, s)                                                                                      \
        STORE_SUM(stage + s * SIDE * STRIDE_S, best, STRIDE_S);                                                        \
    }
#define POWER(s, j, e)                                                                                                 \
    SET_ELEMENT(score##s##j, e, exp2(fma(element(score##s##j, e), power_scale, element(base, e))));
#define FIND_POWERS(s, j)                                                                                              \
    if (j < KEY_BLOCKS) {                                                                                              \
        EACH_ELEMENT(POWER, s, j)                                                                                      \
    }
#define WEIGHT(s, j, e)                                                                                                \
    SET_ELEMENT(score##s##j, e, exp2((element(score##s##j, e) - element(base, e)) * LOG2_E));
#define FIND_WEIGHTS(s, j)                                                                                             \
    if (j < KEY_BLOCKS) {                                                                                              \
        EACH_ELEMENT(WEIGHT, s, j)                                                                                     \
    }
#ifdef PACK_SHARED
#define STAGE_WEIGHTS(s, j)                                                                                            \
    if (j < KEY_BLOCKS)                                                                                                \
        STORE_SUM(stage + s * SIDE * STRIDE_W + 4u * j, score##s##j, STRIDE_W);
#else
#define STAGE_WEIGHTS(s, j)                                                                                            \
    if (j < KEY_BLOCKS)                                                                                                \
        STORE_FACTORS(stage + s * SIDE * STRIDE_P + 2u * j, score##s##j, STRIDE_P);
#endif
#define RESCALE(s, i)                                                                                                  \
    if (i < WIDTH_BLOCKS)                                                                                              \
        sum##s##i = multiply_elements(sum##s##i, factor);
#define WEIGH(s)                                                                                                       \
    if (s < SETS) {                                                                                                    \
        MatrixSum base = LOAD_NUMBERS(0u, s), factor = LOAD_NUMBERS(1u, s);                                            \
        if (MASKED) {                                                                                                  \
            EACH_OF_SET(FIND_WEIGHTS, s)                                                                               \
        } else {                                                                                                       \
            EACH_OF_SET(FIND_POWERS, s)                                                                                \
        }                                                                                                              \
        EACH_OF_SET(STAGE_WEIGHTS, s)                                                                                  \
        BLOCKS_OF_SET(RESCALE, s)                                                                                      \
        total##s = multiply_elements(total##s, factor);                                                                \
    }
#define MULTIPLY_V(i)                                                                                                  \
    if (i < WIDTH_BLOCKS) {                                                                                            \
        MatrixB values = LOAD_B(TILE_V + SIDE * J * STRIDE_V + 2u * i, ROW_MAJOR, STRIDE_V);                           \
        sum0##i = multiply_add(weights0, values, sum0##i);                                                             \
        if (SETS > 1u)                                                                                                 \
            sum1##i = multiply_add(weights1, values, sum1##i);                                                         \
    }
#define MULTIPLY_WEIGHTS(j)                                                                                            \
    if (j < KEY_BLOCKS) {                                                                                              \
        const uint J = j;                                                                                              \
        MatrixA weights0 = LOAD_A(stage + 2u * j, ROW_MAJOR, STRIDE_P), weights1;                                      \
        if (SETS > 1u) {                                                                                               \
            weights1 = LOAD_A(stage + SIDE * STRIDE_P + 2u * j, ROW_MAJOR, STRIDE_P);                                  \
            total1 = multiply_add(weights1, ones, total1);                                                             \
        }                                                                                                              \
        EACH_BLOCK(MULTIPLY_V)                                                                                         \
        total0 = multiply_add(weights0, ones, total0);                                                                 \
    }
#define STORE_BLOCK(s, i)                                                                                              \
    if (i < WIDTH_BLOCKS) {                                                                                            \
        subgroup_barrier();                                                                                            \
        STORE_SUM(stage, sum##s##i, STRIDE_S);                                                                         \
        subgroup_barrier();                                                                                            \
        store_columns(s, SIDE * i, all);                                                                               \
    }
#define STORE_SET(s)                                                                                                   \
    if (s < SETS) {                                                                                                    \
        subgroup_barrier();                                                                                            \
        STORE_SUM(stage, total##s, STRIDE_S);                                                                          \
        subgroup_barrier();                                                                                            \
        float all = uintBitsToFloat(tiles[stage + lane / 2u * STRIDE_S].x);                                            \
        BLOCKS_OF_SET(STORE_BLOCK, s)                                                                                  \
    }

/* Processes the keys from 0 to `most`, the first `least` of which exist for all queries. */
void run_tile(uint least, uint most)
{
    const Lines q = lines_of(0u, head);
    Lines k = lines_of(1u, group_of_head()), v = lines_of(2u, group_of_head());
    k.count = v.count = most;
    const float power_scale = params.scale * LOG2_E;
    const uint row = lane % LINES_OF;
    float top = -INFINITY; /* of this query */
    EACH_SCORE(DECLARE_SCORE)
    EACH_SUM(DECLARE_SUM)
    EACH_BLOCK(DECLARE_NEXT)
    BLOCKS_OF_SET(FETCH_Q, 0)
    BLOCKS_OF_SET(LOAD_Q, 0)
    BLOCKS_OF_SET(FETCH_Q, 1)
    BLOCKS_OF_SET(LOAD_Q, 1)
    EACH_SUM(CLEAR_SUM)
    MatrixB ones = LOAD_B(ONES, ROW_MAJOR, 0u);
    MatrixSum total0 = zero_matrix(), total1 = zero_matrix();
    uint next = 0u;
    EACH_BLOCK(FETCH)
    for (uint first = 0u; first < most; first += KEYS) {
        barrier();
        EACH_BLOCK(STORE_NEXT)
        barrier();
        next += KEYS;
        if (next < most) {
            EACH_BLOCK(FETCH)
        }
        EACH_SCORE(CLEAR_SCORE)
        EACH_BLOCK(MULTIPLY_Q)
        if (MASKED || first + KEYS > least) {
            EACH_SCORE(MASK_SCORE)
        }
        STAGE_BEST(0)
        STAGE_BEST(1)
        subgroup_barrier();
        float now = greatest_of_line(row);
        now = max(MASKED ? now : now * params.scale, top);
        const float from = now == -INFINITY ? 0.0 : now;
        if (lane < LINES_OF) {
            store_number(0u, row, MASKED ? from : from * -LOG2_E);
            store_number(1u, row, exp2((top - from) * LOG2_E));
        }
        top = now;
        subgroup_barrier();
        WEIGH(0)
        WEIGH(1)
        subgroup_barrier();
#ifdef PACK_SHARED
        pack_stage();
        subgroup_barrier();
#endif
        EACH_KEYS(MULTIPLY_WEIGHTS)
    }
    STORE_SET(0)
    STORE_SET(1)
    barrier();
}

void main()
{
    const uint y = header.inputs, rows = view(y).sizes[2], tiles_of_head = (rows + ROWS - 1u) / ROWS;
    const uint subgroup = SUBGROUP_NUMBER;
    lane = gl_LocalInvocationID.x % 32u;
    stage = STAGES + subgroup * STAGE_SIZE;
    if (gl_LocalInvocationID.x < 2u)
        tiles[ONES + gl_LocalInvocationID.x] = uvec4(pack_two(1.0, 1.0));
    barrier();
    EACH_GROUP_UNIT(unit)
    {
        uint first = unit % tiles_of_head * ROWS;
        first_row = first + LINES_OF * subgroup;
        head = unit / tiles_of_head % view(y).sizes[1];
        batch = unit / tiles_of_head / view(y).sizes[1];
        uint most = existing_keys(min(first + ROWS, rows) - 1u);
        run_tile(existing_keys(first), most);
    }
}
