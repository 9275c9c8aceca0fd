// SPDX-License-Identifier: Apache-2.0
/* KERN_QGEMM with few rows, LINES at a time: codes are read once, in place. A workgroup takes a panel: four adjacent
 * invocations its rows of words, of four columns each, while the others share the sum over k. If all groups are whole,
 * several rows of words and of X are loaded before they are used. Tensors: as for qgemm_any.comp. */
#version 460
#extension GL_GOOGLE_include_directive : require
#define UNIFORM_BLOCK
#define PARAMETERS qgemm_tile_params
#define TILE_PARAMS params.tile
#define QGEMM       params.qgemm
#include "shaders/gemm/qgemm_params.h"
#include "shaders/core/views.glsl"
#include "shaders/gemm/tile_number.glsl"
#include "shaders/gemm/tile_finish.glsl"
#include "shaders/core/vector.glsl"
#extension GL_EXT_control_flow_attributes : require

layout(constant_id = 2) const uint LINES = 1;
layout(constant_id = 3) const uint NIBBLES = 0;
layout(constant_id = 4) const bool HAS_ZEROS = true;

#define SLICES (GROUP_SIZE / 4u)
#define UNROLL (LINES > 1u ? 2u : GROUP_SIZE > 256 ? 4u : 8u) /* rows of words whose loads are in flight at once */
#define ROWS   (NIBBLES != 0u ? 8u : 4u) /* of a word */
#define BITS   (NIBBLES != 0u ? 4u : 8u) /* of a code */

#define UNROLL_MAX 8u
#define EACH_ROW(j) [[unroll]] for (uint j = 0u; j < UNROLL_MAX; j++) if (j < UNROLL)

shared vec4 parts[GROUP_SIZE];
shared float shares[GROUP_SIZE]; /* of slices */

vec4 sums[LINES];
int starts[LINES]; /* of rows of X */

/* The start of row m of X or Y, in elements. */
int row_start(uint t, uint m)
{
    uint y = header.inputs;
    int start = 0;
    for (uint d = m > 0u ? view(y).rank - 1u : 0u; d-- > 0u;) {
        start += int(m % view(y).sizes[d]) * view(t).strides[d];
        m /= view(y).sizes[d];
    }
    return start;
}

/* Four words, 16 bytes * `number` after the first, which may be unaligned. */
uvec4 words_at(uvec2 base, uint number)
{
    uvec4 words = uvec4(0u);
    if ((base.x & 15u) == 0u)
        return QuadArray(base).v[number];
    for (uint i = 0u; i < 16u; i++)
        words[i >> 2] |= load_byte(add64(base, uvec2(16u * number + i, 0u))) << 8u * (i & 3u);
    return words;
}

/* Of four columns in a group. */
vec4 zeros_at(uint at)
{
    if (!HAS_ZEROS)
        return vec4(0.0);
    uvec2 address = add64(address_of(3u), uvec2(at, 0u));
    uint bytes = 0u;
    if ((address.x & 3u) == 0u)
        bytes = Words(address).v;
    else
        for (uint i = 0u; i < 4u; i++)
            bytes |= load_byte(add64(address, uvec2(i, 0u))) << 8u * i;
    return vec4(bitfieldExtract(ivec4(bytes) >> ivec4(0, 8, 16, 24), 0, 8));
}

/* Codes of four columns minus zero points, number e of those in the lower halves of words. Placed in the lowest bits of
 * a float whose highest one weighs 2^23, a code with inverted sign adds its value: no conversion instruction, which
 * devices execute at a quarter of their rate, and every number here is exact. */
vec4 codes_of(uvec4 words, uint e, vec4 zero)
{
    const uint sign_bit = 1u << BITS - 1u, shift = BITS * e;
    const float unit = 1.0 / float(1u << shift);
    uvec4 bits = (words & (1u << BITS) - 1u << shift) ^ (0x4b000000u | sign_bit << shift);
    return fma(uintBitsToFloat(bits), vec4(unit), -(8388608.0 * unit + float(sign_bit)) - zero);
}

/* Elements of X by which a word's rows are multiplied, for each line. */
vec4 low[LINES], high[LINES];

/* Adds the products of a row of words, if it is valid: without a branch, so that loads of other rows can be issued
 * before it. */
void add_products(uvec4 words, vec4 zero, vec4 scale, bool counts)
{
    vec4 part[LINES];
    [[unroll]] for (uint i = 0u; i < LINES; i++)
        part[i] = vec4(0.0);
    [[unroll]] for (uint e = 0u; e < 4u; e++) {
        vec4 codes = codes_of(e < ROWS / 2u ? words : words >> 16, e & ROWS / 2u - 1u, zero);
        [[unroll]] for (uint i = 0u; i < LINES; i++)
            part[i] += codes * low[i][e];
        if (NIBBLES != 0u) {
            codes = codes_of(words >> 16, e, zero);
            [[unroll]] for (uint i = 0u; i < LINES; i++)
                part[i] += codes * high[i][e];
        }
    }
    [[unroll]] for (uint i = 0u; i < LINES; i++)
        sums[i] += counts ? scale * part[i] : vec4(0.0);
}

/* A row of words of four columns, with its scales and zero points. */
struct Row {
    uvec4 words;
    vec4 scale, zero;
    uint k, count; /* the first element of X, and how many there are */
};

Row row_at(uint panel, uint quad, uint row)
{
    uint group = divide(row, params.by_words), within = (row - group * params.words) * ROWS;
    uint at = (panel * QGEMM.groups + group) * 16u + 4u * quad, exist = min(QGEMM.block, QGEMM.k - group * QGEMM.block);
    Row r;
    r.words = words_at(address_of(1u), (panel * QGEMM.groups * params.words + row) * 4u + quad);
    r.scale = load_vec4(type_of(2u), address_of(2u), int(at), 1, 4u);
    r.zero = zeros_at(at);
    r.k = group * QGEMM.block + within;
    r.count = exist > within ? exist - within : 0u;
    return r;
}

void add_row(Row r, int step)
{
    [[unroll]] for (uint i = 0u; i < LINES; i++) {
        vec4 x[2] = { vec4(0.0), vec4(0.0) };
        [[unroll]] for (uint j = 0u; j < ROWS / 4u; j++)
            if (r.count > 4u * j)
                x[j] = load_vec4(type_of(0u), address_of(0u), starts[i] + int(r.k + 4u * j) * step, step,
                                 min(r.count - 4u * j, 4u));
        low[i] = x[0];
        high[i] = x[1];
    }
    add_products(r.words, r.zero, r.scale, true);
}

/* Every SLICES-th row of words, from `from` to `end`. */
void sum_slice(uint panel, uint quad, uint from, uint end, int step)
{
    for (uint row = from; row < end; row += SLICES)
        add_row(row_at(panel, quad, row), step);
}

/* ---- if all loads are of whole vectors ---- */

/* Positions of all operands. */
struct Places {
    uvec2 x, words, scales, zeros;
};

/* `low` and `high` as in memory. */
struct Vector {
    uvec4 low, high;
};

uint x_bytes()
{
    return ROWS << type_shift(type_of(0u));
}

bool is_fast(Places at, int step)
{
    uint x = min(x_bytes(), 16u) - 1u, low = at.x.x;
    bool whole = step == 1 && QGEMM.block * QGEMM.groups == QGEMM.k && params.words * ROWS == QGEMM.block;
    [[unroll]] for (uint i = 0u; i < LINES; i++)
        low |= at.x.x + uint(starts[i] << type_shift(type_of(0u)));
    return whole && (low & x) == 0u && (at.words.x & 15u) == 0u && (at.zeros.x & 3u) == 0u &&
           (at.scales.x & (4u << type_shift(type_of(2u))) - 1u) == 0u;
}

Vector vector_at(Places at, uint line, uint row)
{
    uint shift = type_shift(type_of(0u)), bytes = x_bytes();
    uvec2 address = add64(at.x, scaled(starts[line] + int(row * ROWS), shift));
    Vector x = Vector(load_words(address, min(bytes, 16u)), uvec4(0u));
    if (bytes > 16u)
        x.high = load_words(add64(address, uvec2(16u, 0u)), 16u);
    else
        x.high = x.low.zwzw;
    return x;
}

/* UNROLL rows of words; those from `end` on are ignored. */
void add_rows(Places at, uint panel, uint quad, uint first, uint end)
{
    uvec4 words[UNROLL_MAX], scales[UNROLL_MAX];
    uint zeros[UNROLL_MAX];
    Vector x[UNROLL_MAX];
    EACH_ROW(j)
    {
        uint row = min(first + j * SLICES, end - 1u), group = divide(row, params.by_words);
        uint of_group = (panel * QGEMM.groups + group) * 16u + 4u * quad, shift = type_shift(type_of(2u));
        words[j] = QuadArray(at.words).v[(panel * QGEMM.groups * params.words + row) * 4u + quad];
        scales[j] = load_words(add64(at.scales, scaled(int(of_group), shift)), 4u << shift);
        zeros[j] = 0u;
        if (HAS_ZEROS)
            zeros[j] = WordArray(at.zeros).v[of_group >> 2];
        x[j] = vector_at(at, 0u, row);
    }
    EACH_ROW(j)
    {
        uint row = first + j * SLICES;
        vec4 zero = vec4(bitfieldExtract(ivec4(zeros[j]) >> ivec4(0, 8, 16, 24), 0, 8));
        [[unroll]] for (uint i = 0u; i < LINES; i++) {
            Vector own = x[j];
            if (i > 0u)
                own = vector_at(at, i, min(row, end - 1u));
            low[i] = unpack_vec4(type_of(0u), own.low);
            high[i] = unpack_vec4(type_of(0u), own.high);
        }
        add_products(words[j], zero, unpack_vec4(type_of(2u), scales[j]), row < end);
    }
}

/* ---- ---- */

void sum_panel(uint panel, uint quad, uint m, uint from, uint end)
{
    int step = view(0).strides[view(0).rank - 1u];
    Places at = Places(address_of(0u), address_of(1u), address_of(2u), uvec2(0u));
    if (HAS_ZEROS)
        at.zeros = address_of(3u);
    [[unroll]] for (uint i = 0u; i < LINES; i++) {
        starts[i] = row_start(0u, min(m + i, TILE_PARAMS.m - 1u));
        sums[i] = vec4(0);
    }
    if (is_fast(at, step))
        for (uint row = from; row < end; row += UNROLL * SLICES)
            add_rows(at, panel, quad, row, end);
    else
        sum_slice(panel, quad, from, end, step);
}

void store_line(uint m, uint n, uint split, float sum)
{
    uint y = header.inputs, number = m * TILE_PARAMS.n + n;
    if (TILE_PARAMS.splits == 1u)
        store_result(number, row_start(y, m) + int(n) * view(y).strides[view(y).rank - 1u], 0, sum);
    else
        Words(scratch_at(4u * (split * TILE_PARAMS.m * TILE_PARAMS.n + number))).v = BITS_OF(sum);
}

/* All slices' sums, of one of 16 columns for each of the first 16 invocations. */
float sum_of_slices(vec4 own)
{
    const uint share = SLICES / (GROUP_SIZE / 16u);
    uint i = gl_LocalInvocationID.x;
    float sum = 0.0;
    parts[i] = own;
    barrier();
    [[unroll]] for (uint k = 0u; k < share; k++)
        sum += parts[4u * (share * (i >> 4) + k) + (i >> 2 & 3u)][i & 3u];
    shares[i] = sum;
    barrier();
    sum = 0.0;
    [[unroll]] for (uint k = 0u; k < GROUP_SIZE / 16u; k++)
        sum += shares[16u * k + (i & 15u)];
    return sum;
}

void main()
{
    read_finish();
    uint i = gl_LocalInvocationID.x, rows = QGEMM.groups * params.words, share = params.split_words;
    EACH_GROUP_UNIT(unit)
    {
        uint panel = unit, m = 0u, split = 0u;
        if (unit >= TILE_PARAMS.tiles_n) { /* division is slow */
            uint rest = unit / TILE_PARAMS.tiles_n;
            panel = unit - rest * TILE_PARAMS.tiles_n;
            split = rest / TILE_PARAMS.tiles_m;
            m = (rest - split * TILE_PARAMS.tiles_m) * LINES;
        }
        sum_panel(panel, i & 3u, m, split * share + (i >> 2), min((split + 1u) * share, rows));
        [[unroll]] for (uint j = 0u; j < LINES; j++) {
            float sum = sum_of_slices(sums[j]);
            uint n = panel * 16u + i;
            if (i < 16u && m + j < TILE_PARAMS.m && n < TILE_PARAMS.n)
                store_line(m + j, n, split, sum);
        }
    }
}
