// SPDX-License-Identifier: Apache-2.0
/* KERN_GEMM with a few rows or columns, "lines" here, by vectors of 16 bytes of the large matrix, along k or along its
 * columns. Each is read once, by a workgroup whose SLICES share the sum over k; several are loaded before they are
 * used. Tensors: as for gemm_any.comp, both factors of one type. */
#version 460
#extension GL_GOOGLE_include_directive : require
#define UNIFORM_BLOCK
#define PARAMETERS vec_params
#define TILE_PARAMS params.tile
#include "shaders/gemm/tile_params.h"
#include "shaders/core/views.glsl"
#include "shaders/core/vector.glsl"
#include "shaders/gemm/tile_number.glsl"
#include "shaders/gemm/tile_finish.glsl"
#include "shaders/gemm/vec_places.glsl"
#extension GL_EXT_control_flow_attributes : require

layout(constant_id = 2) const uint LINES = 1;
layout(constant_id = 3) const bool ALONG_K = false;
layout(constant_id = 4) const uint SLICES = 32; /* invocations that share a sum, a power of two */
layout(constant_id = 5) const uint UNROLL = 8;  /* vectors of an invocation whose loads are in flight at once */

#define LINES_MAX  4u
#define UNROLL_MAX 8u
#define ACROSS     (GROUP_SIZE / SLICES) /* vectors side by side, or lines of the large matrix */
#define TYPE       type_of(0u)
#define VECTOR     (16u >> type_shift(TYPE))
#define COLUMNS    (ALONG_K ? ACROSS : ACROSS * VECTOR) /* of a workgroup */
#define EACH_LINE(i) [[unroll]] for (uint i = 0u; i < LINES_MAX; i++) if (i < LINES)
#define EACH_LOAD(j) [[unroll]] for (uint j = 0u; j < UNROLL_MAX; j++) if (j < UNROLL)

#define SHARES     min(min(GROUP_SIZE / COLUMNS, SLICES), 16u) /* of the slices, each added up by an invocation for a column */

shared float parts[8u * GROUP_SIZE];
shared float shares[GROUP_SIZE];

vec4 sums[LINES_MAX][2]; /* the second one of vectors of 8 */

/* Elements 0 to 3 of a vector, or 4 to 7. */
vec4 four_of(uvec4 words, uint second)
{
    return unpack_vec4(TYPE, second != 0u ? words.zwzw : words);
}

/* Line i of the small matrix, of its element k = 0. */
struct Small {
    uvec2 base;
    int at, step, next; /* along k, from line to line */
    bool whole;         /* vectors along k start at multiples of 16 bytes */
};

bool steps_whole(int step)
{
    return (uint(step) & VECTOR - 1u) == 0u;
}

Small small_of(uint batch)
{
    Small s = Small(address_of(params.small), batch_start(params.small, batch), step_of(params.small, 1u),
                    step_of(params.small, 0u), false);
    s.whole = s.step == 1 && (LINES == 1u || steps_whole(s.next)) &&
              is_whole(TYPE, place_at(TYPE, s.base, s.at).address, 16u);
    return s;
}

uvec4 vector_at(uvec2 base, int at)
{
    return Quads(place_at(TYPE, base, at).address).v;
}

/* `count` elements at, at + stride, ..., and zeros after them: no load is in a branch, so that all are issued at once. */
uvec4 load_apart(uvec2 base, int at, int stride, uint count)
{
    uvec4 words = uvec4(0u);
    if (TYPE == TYPE_FLOAT32) {
        [[unroll]] for (uint i = 0u; i < 4u; i++) {
            float x = FloatArray(base).v[at + int(min(i, count - 1u)) * stride];
            words[i] = i < count ? floatBitsToUint(x) : 0u;
        }
        return words;
    }
    [[unroll]] for (uint i = 0u; i < 8u; i++) {
        uint x = SHORT_AT(base, at + int(min(i, count - 1u)) * stride);
        words[i >> 1] |= (i < count ? x : 0u) << 16u * (i & 1u);
    }
    return words;
}

/* ---- along the columns ---- */

float small_at(Small s, uint i, uint k)
{
    return load_number(TYPE, s.base, s.at + int(k) * s.step + int(i) * s.next);
}

void add_row(uvec4 x, float y, uint i)
{
    sums[i][0] += four_of(x, 0u) * y;
    if (VECTOR == 8u)
        sums[i][1] += four_of(x, 1u) * y;
}

/* Of `count` columns from `column` on: rows from k on, every SLICES-th. Rows from `end` on are replaced by the last one
 * and count as zeros. */
void sum_columns(uint batch, uint column, uint count, uint k, uint end)
{
    uint large = 1u - params.small;
    Small s = small_of(batch);
    uvec2 base = address_of(large);
    int step = step_of(large, 1u), at = batch_start(large, batch) + int(column);
    bool whole = count == VECTOR && steps_whole(step) && is_whole(TYPE, place_at(TYPE, base, at).address, 16u);
    for (; whole && k < end; k += UNROLL * SLICES) {
        uvec4 x[UNROLL_MAX];
        float y[UNROLL_MAX];
        EACH_LOAD(j)
        {
            uint row = min(k + j * SLICES, end - 1u);
            x[j] = vector_at(base, at + int(row) * step);
            y[j] = small_at(s, 0u, row);
        }
        EACH_LOAD(j)
        {
            uint row = k + j * SLICES;
            uvec4 own = row < end ? x[j] : uvec4(0u);
            EACH_LINE(i)
            {
                float factor = y[j];
                if (i > 0u)
                    factor = small_at(s, i, min(row, end - 1u));
                add_row(own, row < end ? factor : 0.0, i);
            }
        }
    }
    for (; k < end; k += SLICES) {
        uvec4 x = load_apart(base, at + int(k) * step, 1, count);
        EACH_LINE(i)
            add_row(x, small_at(s, i, k), i);
    }
}

/* ---- along k ---- */

void add_vector(uvec4 x, uvec4 y, uint i)
{
    sums[i][0] += four_of(x, 0u) * four_of(y, 0u);
    if (VECTOR == 8u)
        sums[i][0] += four_of(x, 1u) * four_of(y, 1u);
}

/* Of one line of the large matrix: this slice's vectors of elements from `begin` on. Whole vectors from `full` on are
 * replaced by the last one and count as zeros. */
void sum_vectors(uint batch, uint column, uint begin, uint slice, uint end)
{
    const uint next = SLICES * VECTOR;
    uint large = 1u - params.small;
    Small s = small_of(batch);
    uvec2 base = address_of(large);
    int step = step_of(large, 0u), at = batch_start(large, batch);
    bool whole = s.whole && steps_whole(step) && is_whole(TYPE, place_at(TYPE, base, at).address, 16u);
    uint full = whole ? end - (end - begin) % VECTOR : begin;
    at += int(column) * step;
    for (uint k = begin + slice * VECTOR; k < full; k += UNROLL * next) {
        uvec4 x[UNROLL_MAX], y[UNROLL_MAX];
        EACH_LOAD(j)
        {
            int place = int(min(k + j * next, full - VECTOR));
            x[j] = vector_at(base, at + place);
            y[j] = vector_at(s.base, s.at + place);
        }
        EACH_LOAD(j)
        {
            bool counts = k + j * next < full;
            uvec4 own = counts ? x[j] : uvec4(0u);
            EACH_LINE(i)
            {
                uvec4 factors = y[j];
                if (i > 0u)
                    factors = vector_at(s.base, s.at + int(min(k + j * next, full - VECTOR)) + int(i) * s.next);
                add_vector(own, counts ? factors : uvec4(0u), i);
            }
        }
    }
    for (uint k = full + slice * VECTOR; k < end; k += next) {
        uint count = min(end - k, VECTOR);
        uvec4 x = load_apart(base, at + int(k), 1, count);
        EACH_LINE(i)
            add_vector(x, load_apart(s.base, s.at + int(k) * s.step + int(i) * s.next, s.step, count), i);
    }
}

/* ---- the results ---- */

uint number_of(uint batch, uint i, uint column)
{
    uint m = params.small == 0u ? i : column, n = params.small == 0u ? column : i;
    return (batch * TILE_PARAMS.m + m) * TILE_PARAMS.n + n;
}

uint addends[LINES_MAX]; /* of C, as in memory */

/* Those of an invocation's results; before its sums, whose loads they overlap. */
void load_addends(uint batch, uint column)
{
    if (result_c < 0)
        return;
    uint c = uint(result_c);
    uvec2 base = address_of(c);
    EACH_LINE(i)
    {
        int at = at_result(c, number_of(batch, i, column));
        if (type_of(c) == TYPE_FLOAT32)
            addends[i] = floatBitsToUint(FloatArray(base).v[at]);
        else
            addends[i] = SHORT_AT(base, at);
    }
}

void store_line(uint batch, uint split, uint i, uint column, float sum)
{
    uint number = number_of(batch, i, column), y = header.inputs;
    if (TILE_PARAMS.splits > 1u) {
        Words(scratch_at(4u * (split * TILE_PARAMS.batches * TILE_PARAMS.m * TILE_PARAMS.n + number))).v = BITS_OF(sum);
        return;
    }
    int y_at = at_result(y, number);
    sum *= result_alpha;
    if (result_c >= 0)
        sum += result_beta * unpack_vec4(type_of(uint(result_c)), uvec4(addends[i])).x;
    store_real(y, y_at, epilogue(sum, number, y_at));
}

/* ---- the sums of all slices ---- */

/* parts[slice][column] */
void keep(uint slice, uint place, uint i)
{
    if (ALONG_K) {
        parts[slice * COLUMNS + place] = (sums[i][0].x + sums[i][0].y) + (sums[i][0].z + sums[i][0].w);
        return;
    }
    for (uint j = 0u; j < 4u; j++) {
        parts[slice * COLUMNS + place * VECTOR + j] = sums[i][0][j];
        if (VECTOR == 8u)
            parts[slice * COLUMNS + place * VECTOR + 4u + j] = sums[i][1][j];
    }
}

void main()
{
    read_finish();
    uint self = gl_LocalInvocationID.x, columns = params.columns, blocks = (columns + COLUMNS - 1u) / COLUMNS;
    uint slice = ALONG_K ? self % SLICES : self / ACROSS, place = ALONG_K ? self / SLICES : self % ACROSS;
    EACH_GROUP_UNIT(unit)
    {
        uint first = unit * COLUMNS, batch = 0u, split = 0u;
        if (unit >= blocks) { /* division is slow */
            uint part = unit / blocks;
            first = (unit - part * blocks) * COLUMNS;
            split = part / TILE_PARAMS.batches;
            batch = part - split * TILE_PARAMS.batches;
        }
        uint begin = split * TILE_PARAMS.depth, end = min(begin + TILE_PARAMS.depth, TILE_PARAMS.k);
        uint column = first + place * (ALONG_K ? 1u : VECTOR);
        [[unroll]] for (uint i = 0u; i < LINES_MAX; i++)
            sums[i][0] = sums[i][1] = vec4(0.0);
        load_addends(batch, first + min(self, columns - 1u - first));
        if (column < columns && ALONG_K)
            sum_vectors(batch, column, begin, slice, end);
        else if (column < columns)
            sum_columns(batch, column, min(columns - column, VECTOR), begin + slice, end);
        EACH_LINE(i)
        {
            keep(slice, place, i);
            barrier();
            if (self < SHARES * COLUMNS) {
                float sum = 0.0;
                [[unroll]] for (uint j = 0u; j < SLICES / SHARES; j++)
                    sum += parts[(self / COLUMNS * (SLICES / SHARES) + j) * COLUMNS + self % COLUMNS];
                shares[self] = sum;
            }
            barrier();
            if (self < COLUMNS && first + self < columns) {
                float sum = 0.0;
                [[unroll]] for (uint j = 0u; j < SHARES; j++)
                    sum += shares[j * COLUMNS + self];
                store_line(batch, split, i, first + self, sum);
            }
        }
    }
}
