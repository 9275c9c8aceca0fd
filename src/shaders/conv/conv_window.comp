// SPDX-License-Identifier: Apache-2.0
/* KERN_CONV of large images with cooperative matrices, for windows with stride one: a workgroup computes the results of
 * a rectangle of an image's pixels and some output channels of a group. The area covered by the windows of all its
 * pixels is in shared memory, some channels at a time; every matrix of 16 adjacent pixels that is loaded from there
 * serves all lines of the window. A subgroup of 32 has ROWS lines of 16 pixels, and COLUMNS times 16 channels. Weights
 * are read from the scratch memory, where a first dispatch, with PACK, stored them as matrices, and are shared through
 * the first-level cache. While matrices are multiplied the image's next channels are loaded. Tensors: as for
 * conv_any.comp. */
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#define PARAMETERS conv_window_params
#define CONV       params.conv
#include "shaders/conv/conv_params.h"
#include "shaders/core/views.glsl"
#include "shaders/gemm/tile_number.glsl"
#include "shaders/conv/conv_finish.glsl"

/* Whether vectors of X along channels are either complete or absent. */
layout(constant_id = 2) const bool WIDE_X = false;
/* Results: adjacent channels are contiguous, in vectors (1), or have any stride (2); else adjacent pixels are
 * contiguous (0). */
layout(constant_id = 3) const uint Y_ORDER = 0;
/* 4 bits each: lines and columns of the window; ROWS and COLUMNS, at most 8 and 2; subgroups along x, y and channels. */
layout(constant_id = 4) const uint SHAPE = 1u << 24 | 2u << 20 | 2u << 16 | 2u << 12 | 2u << 8 | 3u << 4 | 3u;

#define SIDE     16u
#define KERNEL_H (SHAPE & 15u)
#define KERNEL_W (SHAPE >> 4 & 15u)
#define ROWS     (SHAPE >> 8 & 15u)
#define COLUMNS  (SHAPE >> 12 & 15u)
#define GROUPS_X (SHAPE >> 16 & 15u)
#define GROUPS_Y (SHAPE >> 20 & 15u)
#define GROUPS_N (SHAPE >> 24 & 15u)
#define TOGETHER    (KERNEL_H % 3u == 0u ? 3u : KERNEL_H % 2u == 0u ? 2u : 1u) /* of the window, processed together */
#define TILE_H   (GROUPS_Y * ROWS)
#define TILE_W   (GROUPS_X * SIDE)
#define TILE_N   (GROUPS_N * COLUMNS * SIDE)
#define COVER_H  (TILE_H + KERNEL_H - 1u) /* of the image */
#define COVER_W  (TILE_W + KERNEL_W - 1u)
#define LINE     3u                       /* vectors of a pixel's 16 channels, and one: eight of them use all banks */
#define LOADS    (COVER_H * COVER_W * 2u) /* of a workgroup, of vectors; an invocation has 12 at most */
#define TILES    (COVER_H * COVER_W * LINE)
#define SUM_LINE (4u * COLUMNS + 1u)
#define STAGE    (SIDE * SUM_LINE) /* of a subgroup: sums of a line of its pixels on their way */
#define STAGES   (GROUP_SIZE / 32u * STAGE)

#ifdef PACK
/* A matrix of each subgroup, in lines of output channels. */
shared uvec4 tiles[GROUP_SIZE / 32u * SIDE * 3u];
#elif defined(MATRIX_PLAIN)
shared uvec4 tiles[(TILES > STAGES ? TILES : STAGES) + 6u * GROUP_SIZE];
#else
/* Lines are pixels; later sums. */
shared uvec4 tiles[TILES > STAGES ? TILES : STAGES];
#endif

layout(buffer_reference, std430, buffer_reference_align = 16) buffer Vectors { uvec4 v[]; };

#include "shaders/gemm/matrix.glsl"
#include "shaders/gemm/matrix_packed.glsl"

uint subgroup, lane;

/* Packed weights are matrices of 16 channels of the image and 16 output channels of a group, ordered by groups, the
 * latter, positions in the window and the former. */
uvec2 packed_base;
#define MATRICES_C ((CONV.in_group + SIDE - 1u) / SIDE)
#define MATRICES_N ((CONV.out_group + TILE_N - 1u) / TILE_N * (TILE_N / SIDE))
#define PACKED_AT(n, tap, c) (((n) * KERNEL_H * KERNEL_W + (tap)) * MATRICES_C + (c)) * 32u

#ifdef PACK
/* Eight channels from c on of output channel n's weights. */
uvec4 fetch_w(uint group, uint n, uint tap, uint c)
{
    uint type = type_of(1u);
    uvec2 base = address_of(1u);
    int from = int(group * CONV.out_group + n) * CONV.w[0] + int(tap / KERNEL_W) * CONV.w[3] +
               int(tap % KERNEL_W) * CONV.w[4] + int(c) * CONV.w[1];
    uvec4 v = uvec4(0u);
    for (uint e = 0u; e < 8u; e++)
        if (n < CONV.out_group && c + e < CONV.in_group)
            v[e >> 1] |= load_number(type, base, from + int(e) * CONV.w[1]) << 16u * (e & 1u);
    return v;
}

/* Each subgroup packs a matrix. */
void run_unit(uint unit)
{
    uint number = unit * (GROUP_SIZE / 32u) + subgroup, all = MATRICES_N * KERNEL_H * KERNEL_W * MATRICES_C;
    uint group = number / all, within = number % all, c = within % MATRICES_C, rest = within / MATRICES_C;
    uint n = rest / (KERNEL_H * KERNEL_W), tap = rest % (KERNEL_H * KERNEL_W), at = subgroup * SIDE * 3u;
    if (group < params.by_groups.size)
        tiles[at + lane / 2u * 3u + lane % 2u] = fetch_w(group, n * SIDE + lane / 2u, tap, c * SIDE + lane % 2u * 8u);
    barrier();
    if (group < params.by_groups.size)
        PACK_B(Vectors(packed_base).v[number * 32u + lane], at, 3u)
    barrier();
}
#else
uvec2 x_base;
uint x_type;
/* Of the tile: the image position at which the first window starts, and its offset in X. */
ivec2 corner;
int x_start;

/* From the parameters, read once. */
uvec2 x_sizes;
ivec3 x_steps; /* to the next line, pixel and channel */
uint in_group, matrices_c;

void read_image()
{
    x_type = type_of(0u);
    x_base = address_of(0u);
    x_sizes = uvec2(CONV.in_sizes[2], CONV.in_sizes[1]);
    x_steps = ivec3(CONV.x[3], CONV.x[4], CONV.x[1]);
    in_group = CONV.in_group;
    matrices_c = MATRICES_C;
}

bool is_inside(ivec2 at)
{
    return all(lessThan(uvec2(at), x_sizes));
}

/* Eight channels from c on of the pixel. */
uvec4 fetch_x(uint pixel, uint c)
{
    ivec2 at = corner + ivec2(pixel % COVER_W, pixel / COVER_W);
    int from = x_start + at.y * x_steps.x + at.x * x_steps.y + int(c) * x_steps.z;
    uvec4 v = uvec4(0u);
    bool inside = is_inside(at);
    if (WIDE_X) {
        if (inside && c < in_group)
            v = Vectors(x_base).v[from >> 3];
        return v;
    }
    [[unroll]] for (uint e = 0u; e < 8u; e++)
        if (inside && c + e < in_group)
            v[e >> 1] |= load_number(x_type, x_base, from + int(e) * x_steps.z) << 16u * (e & 1u);
    return v;
}

/* All matrices and vectors of an invocation are separate variables, as in tile_matrix.glsl. */
#define EACH_LOAD(X)   X(0u) X(1u) X(2u) X(3u) X(4u) X(5u) X(6u) X(7u) X(8u) X(9u) X(10u) X(11u)
#define EACH_ROW(X)    X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
#define EACH_WEIGHT(X) X(0, 0) X(0, 1) X(1, 0) X(1, 1) X(2, 0) X(2, 1)
#define DECLARE_SUM(i)                                                                                                 \
    MatrixSum sum##i##0, sum##i##1;                                                                                    \
    if (i < ROWS) {                                                                                                    \
        sum##i##0 = zero_matrix();                                                                                     \
        if (1u < COLUMNS)                                                                                              \
            sum##i##1 = zero_matrix();                                                                                 \
    }
#define LOAD_AT(i) (gl_LocalInvocationID.x + GROUP_SIZE * i)
#define FETCH(i)                                                                                                       \
    if (GROUP_SIZE * i < LOADS && LOAD_AT(i) < LOADS)                                                                  \
        x_next[i] = fetch_x(LOAD_AT(i) / 2u, next + 8u * (LOAD_AT(i) % 2u));
#define KEEP(i)                                                                                                        \
    if (GROUP_SIZE * i < LOADS && LOAD_AT(i) < LOADS)                                                                  \
        tiles[LOAD_AT(i) / 2u * LINE + LOAD_AT(i) % 2u] = x_next[i];
#define PLAIN_AT (TILES > STAGES ? TILES : STAGES)
/* Weights of line dy of those processed together, and of 16 output channels. */
#define LOAD_WEIGHT(dy, j)                                                                                             \
    MatrixB b##dy##j;                                                                                                  \
    if (dy < TOGETHER && j < COLUMNS) {                                                                                   \
        uvec4 w = Vectors(packed_base).v[w_at + dy * KERNEL_W * matrices_c * 32u + j * w_column];                      \
        UNPACK_B(b##dy##j, w, PLAIN_AT + (2u * dy + j) * GROUP_SIZE)                                              \
    }
/* A line of pixels, with all lines of the window that it is in, of results' lines i. */
#define MULTIPLY(dy, i)                                                                                                \
    if (dy < TOGETHER && i < ROWS) {                                                                                      \
        sum##i##0 = multiply_add(a, b##dy##0, sum##i##0);                                                              \
        if (1u < COLUMNS)                                                                                              \
            sum##i##1 = multiply_add(a, b##dy##1, sum##i##1);                                                          \
    }
#define MULTIPLY_LINE(r, results)                                                                                      \
    if (r < ROWS + TOGETHER - 1u) {                                                                                       \
        MatrixA a = LOAD_A(x_at + r * COVER_W * LINE, 0u, LINE);                                                       \
        results                                                                                                        \
    }
#define MULTIPLY_ALL                                                                                                   \
    MULTIPLY_LINE(0u, MULTIPLY(0, 0))                                                                                  \
    MULTIPLY_LINE(1u, MULTIPLY(0, 1) MULTIPLY(1, 0))                                                                   \
    MULTIPLY_LINE(2u, MULTIPLY(0, 2) MULTIPLY(1, 1) MULTIPLY(2, 0))                                                    \
    MULTIPLY_LINE(3u, MULTIPLY(0, 3) MULTIPLY(1, 2) MULTIPLY(2, 1))                                                    \
    MULTIPLY_LINE(4u, MULTIPLY(0, 4) MULTIPLY(1, 3) MULTIPLY(2, 2))                                                    \
    MULTIPLY_LINE(5u, MULTIPLY(0, 5) MULTIPLY(1, 4) MULTIPLY(2, 3))                                                    \
    MULTIPLY_LINE(6u, MULTIPLY(0, 6) MULTIPLY(1, 5) MULTIPLY(2, 4))                                                    \
    MULTIPLY_LINE(7u, MULTIPLY(0, 7) MULTIPLY(1, 6) MULTIPLY(2, 5))                                                    \
    MULTIPLY_LINE(8u, MULTIPLY(1, 7) MULTIPLY(2, 6))                                                                   \
    MULTIPLY_LINE(9u, MULTIPLY(2, 7))
#define STORE_LINE(i)                                                                                                  \
    if (i < ROWS) {                                                                                                    \
        barrier();                                                                                                     \
        STORE_SUM(stage, sum##i##0, SUM_LINE);                                                                         \
        if (1u < COLUMNS)                                                                                              \
            STORE_SUM(stage + 4u, sum##i##1, SUM_LINE);                                                                \
        barrier();                                                                                                     \
        store_line(image, group, at + ivec2(row + i, column), n, i == 0, low, high);                                   \
    }

vec4 staged(uint at)
{
    return uintBitsToFloat(tiles[at]);
}

/* The part of eight adjacent channels that does not depend on the pixel. */
Four prepare_channels(uint channel)
{
    Four four;
    four.bias = vec4(0.0);
    if (HAS_BIAS)
        for (uint e = 0u; e < 4u; e++)
            four.bias[e] = load_real(uint(CONV.bias), int(channel + e) * CONV.bias_step);
    return four;
}

void place_four(inout Four four, uint number, int y_at)
{
    Steps steps = Steps(add64(push.block, uvec2(header.steps, 0u)));
    four.y_at = y_at;
    [[unroll]] for (uint i = 0u; i < 8u; i++)
        if ((STEP_TENSORS >> i & 1u) != 0u)
            four.operands[i] = operands_of(uint(steps.v[i].tensor), steps.v[i].place, number, y_at);
}

/* Data for the positions of results, read once for a tile. */
uvec2 y_base;
ivec2 y_sizes;
ivec3 y_steps; /* to the next image, line and pixel */
uint channels_end, pixels_of_image;

void read_results()
{
    y_base = address_of(header.inputs);
    y_sizes = ivec2(CONV.out_sizes[1], CONV.out_sizes[2]);
    y_steps = ivec3(CONV.y[0], CONV.y[3], CONV.y[4]);
    channels_end = CONV.out_group;
    pixels_of_image = params.by_pixels.size;
}

/* As store_eight(). */
void store_at(Four low, Four high, vec4 low_sums, vec4 high_sums)
{
    uint type = type_of(header.inputs);
    uvec4 a = pack_vec4(type, finish_four(low, low_sums)), b = pack_vec4(type, finish_four(high, high_sums));
    uvec2 to = add64(y_base, scaled(low.y_at, type_shift(type)));
    if (type == TYPE_FLOAT32) {
        Quads(to).v = a;
        Quads(add64(to, uvec2(16u, 0u))).v = b;
    } else {
        Quads(to).v = uvec4(a.xy, b.xy);
    }
}

/* A line of 16 pixels, whose sums are staged at `from`, from result (y, x) of the image on. `begins`: it is the tile's
 * first one; an invocation has the same eight channels in all lines. */
void store_vectors(uint from, uint image, ivec2 at, uint group, uint n, bool begins, inout Four low, inout Four high)
{
    [[unroll]] for (uint step = 0u; step < COLUMNS; step++) {
        uint pixel = (32u * step + lane) / (2u * COLUMNS), c = n + (32u * step + lane) % (2u * COLUMNS) * 8u;
        uint first = group * channels_end + c;
        int x = at.y + int(pixel);
        if (begins && step == 0u && c < channels_end) {
            low = prepare_channels(first);
            high = prepare_channels(first + 4u);
        }
        if (x >= y_sizes.y || c >= channels_end)
            continue;
        int y_at = int(image) * y_steps.x + at.x * y_steps.y + x * y_steps.z + int(first);
        low.y_at = y_at;
        if (STEP_TENSORS != 0u) {
            uint number = (image * CONV.out_channels + first) * pixels_of_image + uint(at.x * y_sizes.y + x);
            place_four(low, number, y_at);
            place_four(high, number + 4u * pixels_of_image, y_at + 4);
        }
        uint sums_at = from + pixel * SUM_LINE + (c - n) / 4u;
        store_at(low, high, staged(sums_at), staged(sums_at + 1u));
    }
}

void store_ones(uint from, uint image, ivec2 at, uint channel, uint n)
{
    uint type = type_of(header.inputs), columns = min(channels_end - n, SIDE * COLUMNS), by_image = CONV.out_channels;
    int by_channel = CONV.y[1];
    for (uint e = lane; e < SIDE * columns; e += 32u) {
        uint pixel = Y_ORDER == 0u ? e % SIDE : e / columns, c = Y_ORDER == 0u ? e / SIDE : e % columns;
        int x = at.y + int(pixel), y_at = int(image) * y_steps.x + at.x * y_steps.y + x * y_steps.z;
        if (x >= y_sizes.y)
            continue;
        y_at += int(channel + c) * by_channel;
        uint number = (image * by_image + channel + c) * pixels_of_image + uint(at.x * y_sizes.y + x);
        float sum = staged(from + pixel * SUM_LINE + c / 4u)[c % 4u];
        if (HAS_BIAS)
            sum += bias_of(channel + c);
        store(place_at(type, y_base, y_at), type, uvec2(floatBitsToUint(epilogue(sum, number, y_at)), 0u), TYPE_FLOAT32);
    }
}

/* A line of 16 pixels from (y, x) of the image and channel n of the group on. */
void store_line(uint image, uint group, ivec2 at, uint n, bool begins, inout Four low, inout Four high)
{
    uint from = subgroup * STAGE;
    if (at.x >= y_sizes.x || n >= channels_end)
        return;
    if (Y_ORDER == 1u)
        store_vectors(from, image, at, group, n, begins, low, high);
    else
        store_ones(from, image, at, group * channels_end + n, n);
}

void run_unit(uint unit)
{
    uint line = divide(unit, params.by_tiles_x), tile_x = unit - line * params.by_tiles_x.size;
    uint rest = divide(line, params.by_tiles_y), tile_y = line - rest * params.by_tiles_y.size;
    uint part = divide(rest, params.by_tiles_n), tile_n = rest - part * params.by_tiles_n.size;
    uint image = divide(part, params.by_groups), group = part - image * params.by_groups.size;
    uint row = subgroup / GROUPS_X % GROUPS_Y * ROWS, column = subgroup % GROUPS_X * SIDE;
    uint n = tile_n * TILE_N + subgroup / (GROUPS_X * GROUPS_Y) * COLUMNS * SIDE;
    ivec2 at = ivec2(tile_y * TILE_H, tile_x * TILE_W);
    corner = at.yx - ivec2(CONV.pad[2], CONV.pad[1]);
    x_start = int(image) * CONV.x[0] + int(group * CONV.in_group) * CONV.x[1];
    uint w_column = KERNEL_H * KERNEL_W * matrices_c * 32u; /* from 16 channels to the next ones */
    uint w_start = PACKED_AT(group * MATRICES_N + n / SIDE, 0u, 0u) + lane;
    uint stage = subgroup * STAGE, next = 0u;
    uvec4 x_next[12];
    EACH_ROW(DECLARE_SUM)
    EACH_LOAD(FETCH)
    for (uint c = 0u; c < matrices_c; c++) {
        barrier();
        EACH_LOAD(KEEP)
        barrier();
        next += SIDE;
        if (next < in_group) {
            EACH_LOAD(FETCH)
        }
        [[dont_unroll]] for (uint tap = 0u; tap < KERNEL_H / TOGETHER * KERNEL_W; tap++) {
            uint dy = tap / KERNEL_W * TOGETHER, dx = tap % KERNEL_W;
            uint x_at = ((row + dy) * COVER_W + column + dx) * LINE;
            uint w_at = w_start + ((dy * KERNEL_W + dx) * matrices_c + c) * 32u;
            EACH_WEIGHT(LOAD_WEIGHT)
            MULTIPLY_ALL
        }
    }
    Four low, high;
    read_results();
    EACH_ROW(STORE_LINE)
    barrier();
}
#endif

void main()
{
    subgroup = SUBGROUP_NUMBER;
    lane = gl_LocalInvocationID.x % 32u;
    packed_base = scratch_at(0u);
#ifndef PACK
    read_image();
#endif
    EACH_GROUP_UNIT(unit)
    {
        run_unit(unit);
    }
}
