// SPDX-License-Identifier: Apache-2.0
/* KERN_CONV by small tiles, for convolutions whose larger tiles would not fill a device: a workgroup computes the
 * results of 32 pixels (of all images) and 32 output channels of a group. Each of its subgroups of 32 invocations has a
 * part of their sums; these are added in shared memory. The sums run over the window within each channel, or with
 * channels_first the other way round, in chunks of four vectors of 16 bytes. Windows have two dimensions at most.
 * Tensors: as for conv_any.comp. */
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#define PARAMETERS conv_parts_params
#define CONV       params.conv
#include "shaders/conv/conv_params.h"
#include "shaders/core/views.glsl"
#include "shaders/gemm/tile_number.glsl"
#include "shaders/conv/conv_finish.glsl"

/* Whether vectors of X along channels, of W along the summed elements, are either complete or absent. */
layout(constant_id = 2) const bool WIDE_X = false;
layout(constant_id = 3) const bool WIDE_W = false;
/* Results: adjacent channels are contiguous, in vectors (1), or have any stride (2); else adjacent pixels are
 * contiguous (0). */
layout(constant_id = 4) const uint Y_ORDER = 0;
/* Other workgroups have parts of the sums as well. */
layout(constant_id = 5) const uint SPLIT = 0;

#define SIDE      16u /* of a cooperative matrix */
#define TILE      32u
#define SUBGROUPS (GROUP_SIZE / 32u)
#define LINE      5u /* vectors of a line of four: eight lines use all banks */
#define SUM_LINE  9u
#define STAGE     (2u * TILE * LINE) /* of a subgroup */
#ifdef TILE_MATRIX
#define VECTOR       8u /* elements */
#define VECTOR_SHIFT 3
#else
#define VECTOR       4u
#define VECTOR_SHIFT 2
#endif
#define CHUNK (4u * VECTOR)

/* For each subgroup a chunk of X and W, lines along the summed elements; later its sums. */
shared uvec4 tiles[SUBGROUPS * STAGE];
/* Position in the window, and offsets in X and W, of each element of the subgroups' chunks. */
shared ivec4 taps[SUBGROUPS * CHUNK];

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Vectors { uvec4 v[]; };

#ifdef TILE_MATRIX
#include "shaders/gemm/matrix.glsl"
#else
#define SUBGROUP_NUMBER (gl_LocalInvocationID.x / 32u)
#endif

uint subgroup, lane;
uvec2 x_base, w_base;
uint x_type, w_type;
ivec2 in_sizes;
uint k_end; /* range of summed elements of this workgroup */
/* The lines of X and W whose vectors this invocation loads: a pixel's window, and the start of it and of the
 * channel. */
ivec3 pixels[4];
int channels[4];
uvec4 x_next[4], w_next[4];
bool x_inside[4], w_inside;

#define EACH_OF_4(i) [[unroll]] for (uint i = 0u; i < 4u; i++)

/* Line and vector of load i. Neighbouring invocations load neighbouring elements: along channels if these are vectors,
 * else pixels. */
uvec2 x_slot(uint i)
{
    return WIDE_X ? uvec2(lane / 4u + 8u * i, lane % 4u) : uvec2(lane, i);
}

uvec2 w_slot(uint i)
{
    return uvec2(lane / 4u + 8u * i, lane % 4u);
}

ivec3 window_of(uint pixel, int group)
{
    pixel = min(pixel, params.m - 1u);
    uint image = divide(pixel, params.by_pixels), within = pixel - image * params.by_pixels.size;
    uint row = divide(within, CONV.by_out[2]), column = within - row * CONV.by_out[2].size;
    int y = int(row) * CONV.steps[1] - CONV.pad[1], x = int(column) * CONV.steps[2] - CONV.pad[2];
    return ivec3(y, x, int(image) * CONV.x[0] + group * int(CONV.in_group) * CONV.x[1] + y * CONV.x[3] + x * CONV.x[4]);
}

/* Summed element k: position in the window, offset in X and in W. */
ivec4 tap_of(uint k)
{
    uint c, tap;
    if (params.channels_first != 0u) {
        tap = divide(k, CONV.by_in_group);
        c = k - tap * CONV.in_group;
    } else {
        c = divide(k, CONV.by_plane);
        tap = k - c * CONV.by_plane.size;
    }
    uint line = divide(tap, CONV.by_line);
    ivec2 at = ivec2(line, tap - line * CONV.by_line.size), moved = at * ivec2(CONV.dilations[1], CONV.dilations[2]);
    if (k >= k_end) /* outside of every image */
        return ivec4(1 << 30, 1 << 30, 0, 0);
    return ivec4(moved, int(c) * CONV.x[1] + moved.x * CONV.x[3] + moved.y * CONV.x[4],
                 int(c) * CONV.w[1] + at.x * CONV.w[3] + at.y * CONV.w[4]);
}

void prepare(uint chunk)
{
    if (!WIDE_X || !WIDE_W)
        for (uint i = lane; i < CHUNK; i += 32u)
            taps[subgroup * CHUNK + i] = tap_of(chunk * CHUNK + i);
}

bool is_inside(ivec3 pixel, ivec4 tap)
{
    return uint(pixel.x + tap.x) < uint(in_sizes.x) && uint(pixel.y + tap.y) < uint(in_sizes.y);
}

/* Elements outside the image are replaced by valid loads, and become zeros when they are stored: no load is in a
 * branch, so that all of them are issued at once. */
uvec4 gather_x(ivec3 pixel, uint first)
{
    uvec4 v = uvec4(0u);
    FACTOR x[VECTOR];
    bool inside[VECTOR];
    [[unroll]] for (uint e = 0u; e < VECTOR; e++) {
        ivec4 tap = taps[first + e];
        inside[e] = is_inside(pixel, tap);
        x[e] = load_number(x_type, x_base, inside[e] ? pixel.z + tap.z : 0);
    }
#ifdef TILE_MATRIX
    [[unroll]] for (uint e = 0u; e < VECTOR; e++)
        v[e >> 1] |= (inside[e] ? x[e] : 0u) << 16u * (e & 1u);
#else
    [[unroll]] for (uint e = 0u; e < VECTOR; e++)
        v[e] = inside[e] ? BITS_OF(x[e]) : 0u;
#endif
    return v;
}

uvec4 gather_w(int from, uint first)
{
    uvec4 v = uvec4(0u);
    FACTOR w[VECTOR];
    [[unroll]] for (uint e = 0u; e < VECTOR; e++)
        w[e] = load_number(w_type, w_base, from + taps[first + e].w);
#ifdef TILE_MATRIX
    [[unroll]] for (uint e = 0u; e < VECTOR; e++)
        v[e >> 1] |= (taps[first + e].x < 1 << 30 ? w[e] : 0u) << 16u * (e & 1u);
#else
    [[unroll]] for (uint e = 0u; e < VECTOR; e++)
        v[e] = taps[first + e].x < 1 << 30 ? BITS_OF(w[e]) : 0u;
#endif
    return v;
}

void fetch(uint chunk)
{
    uint k = chunk * CHUNK + VECTOR * (lane % 4u), first = subgroup * CHUNK;
    ivec4 tap = ivec4(0);
    if (WIDE_X)
        tap = tap_of(k);
    w_inside = k < k_end;
    EACH_OF_4(i)
    {
        if (WIDE_X) {
            x_inside[i] = is_inside(pixels[i], tap);
            x_next[i] = Vectors(x_base).v[(x_inside[i] ? pixels[i].z + tap.z : 0) >> VECTOR_SHIFT];
        } else {
            x_next[i] = gather_x(pixels[0], first + VECTOR * i);
        }
        if (WIDE_W)
            w_next[i] = Vectors(w_base).v[(w_inside ? channels[i] + int(k) : 0) >> VECTOR_SHIFT];
        else
            w_next[i] = gather_w(channels[i], first + VECTOR * (lane % 4u));
    }
}

void keep()
{
    uint x_tile = subgroup * STAGE, w_tile = x_tile + TILE * LINE;
    EACH_OF_4(i)
    {
        uvec2 x = x_slot(i), w = w_slot(i);
        tiles[x_tile + x.x * LINE + x.y] = !WIDE_X || x_inside[i] ? x_next[i] : uvec4(0u);
        tiles[w_tile + w.x * LINE + w.y] = !WIDE_W || w_inside ? w_next[i] : uvec4(0u);
    }
}

#ifdef TILE_MATRIX
MatrixSum sum00, sum01, sum10, sum11;

void clear_sums()
{
    sum00 = zero_matrix();
    sum01 = zero_matrix();
    sum10 = zero_matrix();
    sum11 = zero_matrix();
}

void multiply()
{
    uint x_tile = subgroup * STAGE, w_tile = x_tile + TILE * LINE;
    [[unroll]] for (uint k = 0u; k < 4u; k += 2u) {
        MatrixA a0 = LOAD_A(x_tile + k, 0u, LINE), a1 = LOAD_A(x_tile + SIDE * LINE + k, 0u, LINE);
        MatrixB b0 = LOAD_B(w_tile + k, 1u, LINE), b1 = LOAD_B(w_tile + SIDE * LINE + k, 1u, LINE);
        sum00 = multiply_add(a0, b0, sum00);
        sum01 = multiply_add(a0, b1, sum01);
        sum10 = multiply_add(a1, b0, sum10);
        sum11 = multiply_add(a1, b1, sum11);
    }
}

void stage_sums()
{
    uint to = subgroup * STAGE;
    STORE_SUM(to, sum00, SUM_LINE);
    STORE_SUM(to + 4u, sum01, SUM_LINE);
    STORE_SUM(to + SIDE * SUM_LINE, sum10, SUM_LINE);
    STORE_SUM(to + SIDE * SUM_LINE + 4u, sum11, SUM_LINE);
}
#else
/* Of pixels row + 4 * i and channels column + 8 * j. */
vec4 sums[8];

void clear_sums()
{
    [[unroll]] for (uint i = 0u; i < 8u; i++)
        sums[i] = vec4(0.0);
}

void multiply()
{
    uint x_tile = subgroup * STAGE + lane / 8u * LINE, w_tile = subgroup * STAGE + (TILE + lane % 8u) * LINE;
    [[unroll]] for (uint k = 0u; k < 4u; k++) {
        vec4 w[4];
        EACH_OF_4(j)
            w[j] = uintBitsToFloat(tiles[w_tile + 8u * j * LINE + k]);
        [[unroll]] for (uint i = 0u; i < 8u; i++) {
            vec4 x = uintBitsToFloat(tiles[x_tile + 4u * i * LINE + k]);
            EACH_OF_4(e)
                sums[i] += x[e] * vec4(w[0][e], w[1][e], w[2][e], w[3][e]);
        }
    }
}

void stage_sums()
{
    uint row = lane / 8u, column = lane % 8u;
    [[unroll]] for (uint i = 0u; i < 8u; i++)
        EACH_OF_4(j)
        {
            uint to = subgroup * STAGE + (row + 4u * i) * SUM_LINE + 2u * j + column / 4u;
            tiles[to][column % 4u] = floatBitsToUint(sums[i][j]);
        }
}
#endif

/* Four sums of the tile, all parts of them. */
vec4 sum_of(uint row, uint quad)
{
    vec4 sum = vec4(0.0);
    [[unroll]] for (uint p = 0u; p < SUBGROUPS; p++)
        sum += uintBitsToFloat(tiles[p * STAGE + row * SUM_LINE + quad]);
    return sum;
}

float one_sum_of(uint row, uint column)
{
    float sum = 0.0;
    [[unroll]] for (uint p = 0u; p < SUBGROUPS; p++)
        sum += uintBitsToFloat(tiles[p * STAGE + row * SUM_LINE + column / 4u][column % 4u]);
    return sum;
}

/* Of this invocation: eight channels of a pixel. */
Four low, high;

void prepare_eight(uint m, uint n, uint first_channel)
{
    uint i = gl_LocalInvocationID.x, row = min(m + i / 4u, params.m - 1u), column = min(n + i % 4u * 8u, params.n - 8u);
    low = prepare_four(row, first_channel + column);
    high = prepare_four(row, first_channel + column + 4u);
}

void store_eights(uint m, uint n)
{
    uint row = gl_LocalInvocationID.x / 4u, column = gl_LocalInvocationID.x % 4u * 8u;
    if (m + row < params.m && n + column < params.n)
        store_eight(low, high, sum_of(row, column / 4u), sum_of(row, column / 4u + 1u));
}

void store_ones(uint m, uint n, uint first_channel, uint split, bool pixels_first)
{
    for (uint e = gl_LocalInvocationID.x; e < TILE * TILE; e += GROUP_SIZE) {
        uint row = pixels_first ? e % TILE : e / TILE, column = pixels_first ? e / TILE : e % TILE;
        float sum = one_sum_of(row, column);
        if (m + row >= params.m || n + column >= params.n)
            continue;
        if (SPLIT != 0u)
            store_part_of(split, m + row, first_channel + n + column, sum);
        else
            store_one(m + row, first_channel + n + column, sum);
    }
}

void begin(uint m, uint n, uint group)
{
    x_type = type_of(0u);
    w_type = type_of(1u);
    x_base = address_of(0u);
    w_base = address_of(1u);
    in_sizes = ivec2(CONV.in_sizes[1], CONV.in_sizes[2]);
    EACH_OF_4(i)
    {
        uint channel = min(n + w_slot(i).x, params.n - 1u);
        pixels[i] = window_of(m + x_slot(i).x, int(group));
        channels[i] = int(group * params.n + channel) * CONV.w[0];
    }
}

/* Chunks first to end; this subgroup takes every SUBGROUPS-th. */
void sum_chunks(uint first, uint end)
{
    clear_sums();
    prepare(first + subgroup);
    barrier();
    fetch(first + subgroup);
    for (uint chunk = first; chunk < end; chunk += SUBGROUPS) {
        uint next = chunk + SUBGROUPS + subgroup;
        barrier();
        keep();
        prepare(next);
        barrier();
        if (chunk + SUBGROUPS < end)
            fetch(next);
        multiply();
    }
    barrier();
}

void run_unit(uint unit)
{
    uint columns = divide(unit, params.by_tiles_m), m = (unit - columns * params.by_tiles_m.size) * TILE;
    uint rest = divide(columns, params.by_tiles_n), n = (columns - rest * params.by_tiles_n.size) * TILE;
    uint group = divide(rest, params.by_splits), split = rest - group * params.by_splits.size;
    uint first = split * params.chunks, end = min(first + params.chunks, params.all_chunks);
    uint first_channel = group * params.n, order = SPLIT != 0u ? 2u : Y_ORDER;
    k_end = min(end * CHUNK, params.k);
    begin(m, n, group);
    if (order == 1u)
        prepare_eight(m, n, first_channel);
    sum_chunks(first, end);
    stage_sums();
    barrier();
    if (order == 1u)
        store_eights(m, n);
    else
        store_ones(m, n, first_channel, split, order == 0u);
    barrier();
}

void main()
{
    subgroup = SUBGROUP_NUMBER;
    lane = gl_LocalInvocationID.x % 32u;
    EACH_GROUP_UNIT(unit)
    {
        run_unit(unit);
    }
}
