// SPDX-License-Identifier: Apache-2.0
/* KERN_ATTENTION of many queries, with blocks of scores and sums in registers. A workgroup takes QUERIES of them and,
 * with an online softmax, KEYS keys at a time in each of its GROUPS, whose sums are combined at the end. An invocation
 * has SIDE queries' scores of every LANES-th key, SCORES of them, and these queries' sums of every LANES-th four
 * columns of V; LANES neighbours share their queries. Factors are loaded to shared memory in slices, SLICE fours of
 * elements of Q and K, then SLICE * 4 keys of V with their weights; the next slice is loaded while one is multiplied.
 * Tensors: see attention.glsl. */
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#define GROUP_SIZE_ID 4
#define PARAMETERS attention_params
#include "shaders/attention/attention_params.h"
#include "shaders/core/views.glsl"
#include "shaders/core/math_f64.glsl"
#include "shaders/attention/attention.glsl"
#include "shaders/gemm/tile_number.glsl"
#include "shaders/core/vector.glsl"

layout(constant_id = 2) const uint TILE = 16u << 24 | 1u << 16 | 8u << 8 | 64u; /* LANES, GROUPS, SIDE, QUERIES */
layout(constant_id = 3) const uint SHAPE = 16u << 8 | 4u;                       /* flags, WIDTH, SCORES */
layout(constant_id = GROUP_SIZE_ID) const uint INVOCATIONS = 128;

#define QUERIES (TILE & 255u)
#define SIDE    (TILE >> 8 & 255u)
#define GROUPS  (TILE >> 16 & 255u)
#define LANES   (TILE >> 24)
#define SCORES  (SHAPE & 255u)
#define WIDTH   (SHAPE >> 8 & 255u) /* of V, in fours, a multiple of LANES */
#define FLAGS   (SHAPE >> 16)
#define KEYS    (LANES * SCORES)

#define SLICE   4u
#define LINES   (QUERIES + GROUPS * KEYS) /* of Q, and K */
#define PARTS   (4u * SLICE / LANES)      /* keys of a slice of V for each of the LANES */
#define QUADS   (SIDE / 4u)
#define COLUMNS (WIDTH / LANES)           /* fours of an invocation */
#define STRIDE  (QUERIES / 4u + 1u)       /* of a key's weights */
#define WEIGHTS (GROUPS * 4u * SLICE * WIDTH) /* start of the weights, after V's elements */
#define QK_SIZE (LINES * SLICE)
#define PV_SIZE (WEIGHTS + GROUPS * 4u * SLICE * STRIDE)
#define STAGE   (QK_SIZE > PV_SIZE ? QK_SIZE : PV_SIZE)
#define MERGED  (QUERIES * (WIDTH + 1u)) /* values that a group passes on */
#define LOADS_QK ((QK_SIZE + INVOCATIONS - 1u) / INVOCATIONS)
#define LOADS_V  ((WEIGHTS + INVOCATIONS - 1u) / INVOCATIONS)

shared vec4 slices[STAGE > MERGED ? STAGE : MERGED];
shared float exchanged[GROUPS * QUERIES * LANES];

/* Of this invocation: its group, and its index among the queries, and the keys or columns. */
uint own_group, across, along;
uint first_row;
uint keys[SIDE]; /* that exist for each of its queries */
bool any_mask;
float scaling;

/* The vectors of Q, K and V under the current head, which are read once: their start, number and size, and the strides
 * between them and within. */
struct Vectors {
    uvec2 base;
    uint type, count, size;
    int start, step, next;
};
Vectors factors[3];
vec4 qk_next[LOADS_QK], v_next[LOADS_V];
float scores[SIDE][SCORES], best[SIDE], top[SIDE], total[SIDE];
vec4 sums[SIDE][COLUMNS];

/* e^x for x up to 0, or 0 where that is tiny. */
float weight_of(float x)
{
    return x < -87.0 ? 0.0 : exp2(x * 1.44269504);
}

Vectors vectors_of(uint t, uint h)
{
    return Vectors(address_of(t), type_of(t), view(t).sizes[2], view(t).sizes[3], offset4(t, h, 0u),
                   view(t).strides[2], view(t).strides[3]);
}

/* Elements d to d + 4 of a vector, with zeros for those that do not exist; another vector instead of one that does not
 * exist. */
vec4 load_quad(Vectors from, bool wide, uint row, uint d)
{
    int at = from.start + int(min(row, from.count - 1u)) * from.step;
    vec4 quad = vec4(0.0);
    if (wide) {
        at += int(min(d, from.size - 4u));
        quad = from.type == TYPE_FLOAT32
                   ? uintBitsToFloat(QuadArray(from.base).v[at >> 2])
                   : unpack_vec4(from.type, uvec4(PairArray(from.base).v[at >> 2], 0u, 0u));
        return d < from.size ? quad : vec4(0.0);
    }
    [[unroll]] for (uint e = 0u; e < 4u; e++)
        if (d + e < from.size)
            quad[e] = load_number(from.type, from.base, at + int(d + e) * from.next);
    return quad;
}

/* Fours of Q and K, from the d-th on, of the keys from `first` on. */
void fetch_qk(uint first, uint d)
{
    [[unroll]] for (uint i = 0u; i < LOADS_QK; i++) {
        uint number = min(gl_LocalInvocationID.x + i * INVOCATIONS, QK_SIZE - 1u), line = number / SLICE;
        uint at = 4u * (d + number % SLICE);
        if (line < QUERIES)
            qk_next[i] = load_quad(factors[0], (FLAGS & TILE_WIDE_Q) != 0u, first_row + line, at);
        else
            qk_next[i] = load_quad(factors[1], (FLAGS & TILE_WIDE_K) != 0u, first + line - QUERIES, at);
    }
}

/* Permuted so that eight lines that follow one another use all banks. */
uint slot(uint line, uint quad)
{
    return line * SLICE + (quad ^ (line >> 1 & 3u));
}

void keep_qk()
{
    [[unroll]] for (uint i = 0u; i < LOADS_QK; i++) {
        uint number = gl_LocalInvocationID.x + i * INVOCATIONS;
        if (QK_SIZE % INVOCATIONS == 0u || number < QK_SIZE)
            slices[slot(number / SLICE, number % SLICE)] = qk_next[i];
    }
}

/* Slice `number` of each group's keys from `first` on, of which `most` exist. */
void fetch_v(uint first, uint slice, uint most)
{
    [[unroll]] for (uint i = 0u; i < LOADS_V; i++) {
        uint number = min(gl_LocalInvocationID.x + i * INVOCATIONS, WEIGHTS - 1u), line = number / WIDTH;
        uint key = first + line / (4u * SLICE) * KEYS + slice * 4u * SLICE + line % (4u * SLICE);
        vec4 quad = load_quad(factors[2], (FLAGS & TILE_WIDE_V) != 0u, key, 4u * (number % WIDTH));
        v_next[i] = key < most ? quad : vec4(0.0);
    }
}

void keep_v()
{
    [[unroll]] for (uint i = 0u; i < LOADS_V; i++) {
        uint number = gl_LocalInvocationID.x + i * INVOCATIONS;
        if (WEIGHTS % INVOCATIONS == 0u || number < WEIGHTS)
            slices[number] = v_next[i];
    }
}

void keep_weights(uint slice)
{
    [[unroll]] for (uint p = 0u; p < PARTS; p++)
        [[unroll]] for (uint q = 0u; q < QUADS; q++) {
            vec4 weights = vec4(0.0);
            [[unroll]] for (uint j = 0u; j < SCORES; j++) /* else the scores would not be in registers */
                if (j == slice * PARTS + p)
                    weights = vec4(scores[4u * q][j], scores[4u * q + 1u][j], scores[4u * q + 2u][j], scores[4u * q + 3u][j]);
            uint key = own_group * 4u * SLICE + p * LANES + along;
            slices[WEIGHTS + key * STRIDE + across * QUADS + q] = weights;
        }
}

void multiply_keys()
{
    [[unroll]] for (uint d = 0u; d < SLICE; d++) {
        vec4 x[SCORES];
        [[unroll]] for (uint j = 0u; j < SCORES; j++)
            x[j] = slices[slot(QUERIES + own_group * KEYS + j * LANES + along, d)];
        [[unroll]] for (uint i = 0u; i < SIDE; i++) {
            vec4 q = slices[slot(SIDE * across + i, d)];
            [[unroll]] for (uint j = 0u; j < SCORES; j++)
                scores[i][j] = fma(q.w, x[j].w, fma(q.z, x[j].z, fma(q.y, x[j].y, fma(q.x, x[j].x, scores[i][j]))));
        }
    }
}

void multiply_values()
{
    [[unroll]] for (uint k = 0u; k < 4u * SLICE; k++) {
        uint key = own_group * 4u * SLICE + k;
        vec4 weights[QUADS];
        [[unroll]] for (uint q = 0u; q < QUADS; q++)
            weights[q] = slices[WEIGHTS + key * STRIDE + across * QUADS + q];
        [[unroll]] for (uint c = 0u; c < COLUMNS; c++) {
            vec4 x = slices[key * WIDTH + c * LANES + along];
            [[unroll]] for (uint i = 0u; i < SIDE; i++)
                sums[i][c] = fma(vec4(weights[i >> 2][i & 3u]), x, sums[i][c]);
        }
    }
}

uint exchange(uint i, uint lane)
{
    return (own_group * QUERIES + SIDE * across + i) * LANES + lane;
}

/* The maximum score of each query over its neighbours; NaN is ignored. */
void find_best()
{
    [[unroll]] for (uint i = 0u; i < SIDE; i++)
        exchanged[exchange(i, along)] = best[i];
    barrier();
    [[unroll]] for (uint i = 0u; i < SIDE; i++)
        for (uint lane = 0u; lane < LANES; lane++) {
            float other = exchanged[exchange(i, lane)];
            best[i] = other > best[i] ? other : best[i];
        }
}

/* Converts scores to weights; previous sums are scaled to the new maximum. */
void weigh(uint first)
{
    [[unroll]] for (uint i = 0u; i < SIDE; i++) {
        best[i] = -INFINITY;
        [[unroll]] for (uint j = 0u; j < SCORES; j++) {
            uint key = first + own_group * KEYS + j * LANES + along;
            if (key < keys[i])
                scores[i][j] = any_mask ? score(scores[i][j], first_row + SIDE * across + i, key) : scores[i][j] * scaling;
            else
                scores[i][j] = -INFINITY;
            best[i] = scores[i][j] > best[i] ? scores[i][j] : best[i];
        }
    }
    find_best();
    [[unroll]] for (uint i = 0u; i < SIDE; i++) {
        best[i] = best[i] > top[i] ? best[i] : top[i];
        float base = best[i] == -INFINITY ? 0.0 : best[i], rescale = weight_of(top[i] - base);
        top[i] = best[i];
        total[i] *= rescale;
        [[unroll]] for (uint j = 0u; j < SCORES; j++) {
            bool exists = first + own_group * KEYS + j * LANES + along < keys[i];
            scores[i][j] = exists ? weight_of(scores[i][j] - base) : 0.0;
            total[i] += scores[i][j];
        }
        [[unroll]] for (uint c = 0u; c < COLUMNS; c++)
            sums[i][c] *= rescale;
    }
}

/* Of all keys up to `most`. */
void sum_values(uint most)
{
    const uint depth = (factors[1].size + 4u * SLICE - 1u) / (4u * SLICE), slices_v = SCORES / PARTS;
    fetch_qk(0u, 0u);
    for (uint first = 0u; first < most; first += GROUPS * KEYS) {
        [[unroll]] for (uint i = 0u; i < SIDE; i++)
            [[unroll]] for (uint j = 0u; j < SCORES; j++)
                scores[i][j] = 0.0;
        for (uint d = 1u; d <= depth; d++) {
            barrier();
            keep_qk();
            barrier();
            if (d < depth)
                fetch_qk(first, d * SLICE);
            else
                fetch_v(first, 0u, most);
            multiply_keys();
        }
        weigh(first);
        for (uint slice = 1u; slice <= slices_v; slice++) {
            barrier();
            keep_v();
            keep_weights(slice - 1u);
            barrier();
            if (slice < slices_v)
                fetch_v(first, slice, most);
            else
                fetch_qk(first + GROUPS * KEYS, 0u);
            multiply_values();
        }
    }
}

/* ---- results ---- */

void add_totals()
{
    [[unroll]] for (uint i = 0u; i < SIDE; i++)
        exchanged[exchange(i, along)] = total[i];
    barrier();
    [[unroll]] for (uint i = 0u; i < SIDE; i++) {
        total[i] = 0.0;
        for (uint lane = 0u; lane < LANES; lane++)
            total[i] += exchanged[exchange(i, lane)];
    }
}

void hand_over()
{
    [[unroll]] for (uint i = 0u; i < SIDE; i++) {
        uint row = SIDE * across + i;
        [[unroll]] for (uint c = 0u; c < COLUMNS; c++)
            slices[row * WIDTH + c * LANES + along] = sums[i][c];
        if (along == 0u)
            slices[QUERIES * WIDTH + row] = vec4(top[i], total[i], 0.0, 0.0);
    }
}

void take_over()
{
    [[unroll]] for (uint i = 0u; i < SIDE; i++) {
        uint row = SIDE * across + i;
        vec2 other = slices[QUERIES * WIDTH + row].xy;
        float best = other.x > top[i] ? other.x : top[i], base = best == -INFINITY ? 0.0 : best;
        float own = weight_of(top[i] - base), others = weight_of(other.x - base);
        top[i] = best;
        total[i] = total[i] * own + other.y * others;
        [[unroll]] for (uint c = 0u; c < COLUMNS; c++)
            sums[i][c] = sums[i][c] * own + slices[row * WIDTH + c * LANES + along] * others;
    }
}

/* The sums of all groups, in group 0. */
void merge()
{
    for (uint other = 1u; other < GROUPS; other++) {
        barrier();
        if (own_group == other)
            hand_over();
        barrier();
        if (own_group == 0u)
            take_over();
    }
}

void store_quad(uint y, int row_at, uint column, vec4 value)
{
    if ((FLAGS & TILE_WIDE_Y) != 0u) {
        if (column < view(y).sizes[3])
            store_vec4(type_of(y), address_of(y), row_at + int(column), 1, 4u, value);
        return;
    }
    [[unroll]] for (uint e = 0u; e < 4u; e++)
        if (column + e < view(y).sizes[3])
            store_real(y, row_at + int(column + e) * view(y).strides[3], value[e]);
}

/* Via shared memory, so that the storing code exists once: drivers need seconds to compile many copies. */
void store_rows(uint y)
{
    const uint rows = view(y).sizes[2];
    if (own_group == 0u)
        hand_over();
    barrier();
    for (uint i = gl_LocalInvocationID.x; i < QUERIES * WIDTH; i += INVOCATIONS) {
        const uint line = i / WIDTH, row = first_row + line;
        const float total = slices[QUERIES * WIDTH + line].y;
        const bool defined = total > 0.0 || is_nan(total) || params.undefined != 0u;
        if (row < rows)
            store_quad(y, offset4(y, head, row), 4u * (i % WIDTH), defined ? slices[i] / total : vec4(0.0));
    }
}

void run_tile(uint y)
{
    const uint last = min(first_row + QUERIES, view(y).sizes[2]) - 1u;
    [[unroll]] for (uint i = 0u; i < SIDE; i++) {
        keys[i] = existing_keys(min(first_row + SIDE * across + i, last));
        top[i] = -INFINITY;
        total[i] = 0.0;
        [[unroll]] for (uint c = 0u; c < COLUMNS; c++)
            sums[i][c] = vec4(0.0);
    }
    factors[0] = vectors_of(0u, head);
    factors[1] = vectors_of(1u, group_of_head());
    factors[2] = vectors_of(2u, group_of_head());
    sum_values(existing_keys(last));
    barrier();
    add_totals();
    merge();
    barrier();
    store_rows(y);
    barrier();
}

void main()
{
    const uint y = header.inputs, tiles = (view(y).sizes[2] + QUERIES - 1u) / QUERIES;
    const uint of_group = gl_LocalInvocationID.x % (QUERIES / SIDE * LANES);
    own_group = gl_LocalInvocationID.x / (QUERIES / SIDE * LANES);
    across = of_group / LANES;
    along = of_group % LANES;
    scaling = params.scale;
    any_mask = (MASK | KEEP | END | START) != 0u;
    EACH_GROUP_UNIT(unit)
    {
        first_row = unit % tiles * QUERIES;
        head = unit / tiles % view(y).sizes[1];
        batch = unit / tiles / view(y).sizes[1];
        run_tile(y);
    }
}
