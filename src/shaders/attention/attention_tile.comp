// SPDX-License-Identifier: Apache-2.0
/* KERN_ATTENTION of many queries: a workgroup takes 64 of them and the keys 64 at a time (with an online softmax), so that
 * K and V are read once for 64 queries. An invocation has four queries' scores of four keys, and four queries' sums of
 * four columns of V, or eight; 16 neighbours share their queries. Factors come through shared memory in slices: 16
 * elements of Q and K, then 16 keys of V with their weights. */
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#define PARAMETERS attention_params
#include "shaders/attention/attention_params.h"
#include "shaders/core/views.glsl"
#include "shaders/core/math_f64.glsl"
#include "shaders/attention/attention.glsl"
#include "shaders/gemm/tile_number.glsl"

/* Vectors of 64 columns each that V has, at most. */
#ifdef WIDE
#define WIDTHS 2u
#else
#define WIDTHS 1u
#endif

#define SIDE   64u /* queries, and keys */
#define DEPTH  16u
#define SECOND (SIDE * DEPTH / 4u) /* where the second factor's slice begins */

/* For each element of a slice its queries, keys or columns by fours, permuted as in gemm/tile.glsl; then what neighbours
 * exchange. */
shared vec4 slices[SECOND + SECOND * WIDTHS];

/* Of this invocation: its place among the fours of queries and of keys or columns. */
uint across, along;
uint first_row;
uint keys[4]; /* that exist for each of its queries */
bool any_mask;
float scaling;

/* The vectors of Q, K and V under the current head, which are read once: where they begin, their number and size, and
 * the strides between them and within. */
struct Vectors {
    uvec2 base;
    uint type, count, size;
    int start, step, next;
};
Vectors factors[3];
vec4 scores[4], sums[4][WIDTHS];
vec4 top, total; /* of its queries */

/* e^x for x up to 0, or 0 where that is tiny. */
float weight_of(float x)
{
    float n = roundEven(x * 1.44269504);
    precise float r = x - n * 0.693359375;
    r = r + n * 2.12194440e-4;
    precise float y = r * r * poly_exp(r);
    y = 1.0 + (r + y);
    return x < -87.0 ? 0.0 : y * power_of_two(int(n));
}

uint slot(uint quad, uint k)
{
    return k * (SIDE / 4u) + (quad ^ (k & 7u));
}

Vectors vectors_of(uint t, uint h)
{
    return Vectors(address_of(t), type_of(t), view(t).sizes[2], view(t).sizes[3], offset4(t, h, 0u),
                   view(t).strides[2], view(t).strides[3]);
}

/* Elements d to d + DEPTH of the 64 vectors from `first` on. */
void load_slice(Vectors from, uint first, uint d, uint to)
{
    [[unroll]] for (uint i = 0u; i < SIDE * DEPTH / GROUP_SIZE; i++) {
        uint number = gl_LocalInvocationID.x + i * GROUP_SIZE, n = number / DEPTH, k = number % DEPTH;
        float x = 0.0;
        if (first + n < from.count && d + k < from.size)
            x = load_number(from.type, from.base, from.start + int(first + n) * from.step + int(d + k) * from.next);
        slices[to + slot(n >> 2, k)][n & 3u] = x;
    }
}

/* Of the 64 keys from `first` on. */
void multiply_keys(uint first)
{
    [[unroll]] for (uint i = 0u; i < 4u; i++)
        scores[i] = vec4(0.0);
    for (uint d = 0u; d < factors[1].size; d += DEPTH) {
        barrier();
        load_slice(factors[0], first_row, d, 0u);
        load_slice(factors[1], first, d, SECOND);
        barrier();
        [[unroll]] for (uint k = 0u; k < DEPTH; k++) {
            vec4 q = slices[slot(across, k)], x = slices[SECOND + slot(along, k)];
            [[unroll]] for (uint i = 0u; i < 4u; i++)
                scores[i] += q[i] * x;
        }
    }
}

/* The greatest of the 16 neighbours' values, or their sums; NaN counts in sums only. */
vec4 combine(vec4 value, bool adds)
{
    barrier();
    slices[gl_LocalInvocationID.x] = value;
    barrier();
    vec4 result = slices[across * 16u];
    for (uint n = 1u; n < 16u; n++) {
        vec4 other = slices[across * 16u + n];
        [[unroll]] for (uint i = 0u; i < 4u; i++)
            result[i] = adds ? result[i] + other[i] : other[i] > result[i] || is_nan(result[i]) ? other[i] : result[i];
    }
    return result;
}

/* Scores become weights; what was summed before is scaled to the new maximum. */
void weigh(uint first)
{
    vec4 best = vec4(-INFINITY), sum = vec4(0.0), base, rescale;
    [[unroll]] for (uint i = 0u; i < 4u; i++) {
        [[unroll]] for (uint j = 0u; j < 4u; j++) {
            uint key = first + 4u * along + j;
            if (key < keys[i])
                scores[i][j] = any_mask ? score(scores[i][j], first_row + 4u * across + i, key) : scores[i][j] * scaling;
            else
                scores[i][j] = -INFINITY;
            best[i] = scores[i][j] > best[i] ? scores[i][j] : best[i];
        }
    }
    best = combine(best, false);
    [[unroll]] for (uint i = 0u; i < 4u; i++) {
        best[i] = best[i] > top[i] ? best[i] : top[i];
        base[i] = best[i] == -INFINITY ? 0.0 : best[i];
        rescale[i] = weight_of(top[i] - base[i]);
        [[unroll]] for (uint j = 0u; j < 4u; j++) {
            bool exists = first + 4u * along + j < keys[i];
            scores[i][j] = exists ? weight_of(scores[i][j] - base[i]) : 0.0;
            sum[i] += scores[i][j];
        }
        [[unroll]] for (uint w = 0u; w < WIDTHS; w++)
            sums[i][w] *= rescale[i];
    }
    top = best;
    total = total * rescale + combine(sum, true);
}

/* Slice j of the weights has every fourth key from j on, one of each invocation. */
void multiply_values(uint first, uint count)
{
    const Vectors from = factors[2];
    [[unroll]] for (uint j = 0u; j < 4u; j++) {
        barrier();
        slices[slot(across, along)] = vec4(scores[0][j], scores[1][j], scores[2][j], scores[3][j]);
        [[unroll]] for (uint i = 0u; i < 4u * WIDTHS; i++) {
            uint number = gl_LocalInvocationID.x + i * GROUP_SIZE, n = 4u * (number / (SIDE * WIDTHS)) + j;
            uint column = number % (SIDE * WIDTHS);
            float x = 0.0;
            if (n < count && column < from.size)
                x = load_number(from.type, from.base, from.start + int(first + n) * from.step + int(column) * from.next);
            slices[SECOND + number / 4u][column & 3u] = x;
        }
        barrier();
        [[unroll]] for (uint k = 0u; k < DEPTH; k++) {
            vec4 weight = slices[slot(across, k)];
            [[unroll]] for (uint w = 0u; w < WIDTHS; w++) {
                vec4 x = slices[SECOND + k * 16u * WIDTHS + 16u * w + along];
                [[unroll]] for (uint i = 0u; i < 4u; i++)
                    sums[i][w] += weight[i] * x;
            }
        }
    }
}

void store_rows(uint y)
{
    const uint rows = view(y).sizes[2], width = view(y).sizes[3];
    [[unroll]] for (uint i = 0u; i < 4u; i++) {
        const uint row = first_row + 4u * across + i;
        const bool defined = total[i] > 0.0 || is_nan(total[i]) || params.undefined != 0u;
        const int at = row < rows ? offset4(y, head, row) : 0;
        [[unroll]] for (uint c = 0u; c < 4u * WIDTHS; c++) { /* else the sums would not be in registers */
            uint column = 64u * (c >> 2) + 4u * along + (c & 3u);
            if (row < rows && column < width)
                store_real(y, at + int(column) * view(y).strides[3], defined ? sums[i][c >> 2][c & 3u] / total[i] : 0.0);
        }
    }
}

void run_tile(uint y)
{
    const uint last = min(first_row + SIDE, view(y).sizes[2]) - 1u, most = existing_keys(last);
    [[unroll]] for (uint i = 0u; i < 4u; i++) {
        keys[i] = existing_keys(min(first_row + 4u * across + i, last));
        [[unroll]] for (uint w = 0u; w < WIDTHS; w++)
            sums[i][w] = vec4(0.0);
    }
    factors[0] = vectors_of(0u, head);
    factors[1] = vectors_of(1u, group_of_head());
    factors[2] = vectors_of(2u, group_of_head());
    top = vec4(-INFINITY);
    total = vec4(0.0);
    for (uint first = 0u; first < most; first += SIDE) {
        uint count = min(most - first, SIDE);
        multiply_keys(first);
        weigh(first);
        multiply_values(first, count);
    }
    store_rows(y);
}

void main()
{
    const uint y = header.inputs, tiles = (view(y).sizes[2] + SIDE - 1u) / SIDE;
    across = gl_LocalInvocationID.x / 16u;
    along = gl_LocalInvocationID.x % 16u;
    scaling = params.scale;
    any_mask = (MASK | KEEP | END | START) != 0u;
    EACH_GROUP_UNIT(unit)
    {
        first_row = unit % tiles * SIDE;
        head = unit / tiles % view(y).sizes[1];
        batch = unit / tiles / view(y).sizes[1];
        run_tile(y);
    }
}
