// SPDX-License-Identifier: Apache-2.0
/* KERN_CONV of large images with cooperative matrices, for windows that move by one element: a workgroup computes the
 * results of a rectangle of an image's pixels and some output channels of a group. What the windows of all its pixels
 * cover lies in shared memory, some channels at a time; every matrix of 16 neighbouring pixels that is loaded from there
 * serves all lines of the window. A subgroup of 32 has ROWS lines of 16 pixels, and COLUMNS times 16 channels. Weights
 * come from the scratch memory, where a first dispatch, with PACK, put them as matrices, and are shared by way of the
 * first-level cache. While matrices are multiplied the image's next channels come from memory. Tensors: as for
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

/* Whether vectors of X along channels are there whole or not at all. */
layout(constant_id = 2) const bool WIDE_X = false;
/* Results: neighbouring channels lie side by side, in vectors (1), or in any way (2); else neighbouring pixels (0). */
layout(constant_id = 3) const uint Y_ORDER = 0;
/* 4 bits each: lines and columns of the window; ROWS and COLUMNS; subgroups along x, y and channels; channels at a time in
 * multiples of 16. */
layout(constant_id = 4) const uint SHAPE = 1u << 28 | 1u << 24 | 2u << 20 | 2u << 16 | 2u << 12 | 2u << 8 | 3u << 4 | 3u;

#define SIDE     16u
#define KERNEL_H (SHAPE & 15u)
#define KERNEL_W (SHAPE >> 4 & 15u)
#define ROWS     (SHAPE >> 8 & 15u)
#define COLUMNS  (SHAPE >> 12 & 15u)
#define GROUPS_X (SHAPE >> 16 & 15u)
#define GROUPS_Y (SHAPE >> 20 & 15u)
#define GROUPS_N (SHAPE >> 24 & 15u)
#define CHUNK    (SIDE * (SHAPE >> 28))
#define TILE_H   (GROUPS_Y * ROWS)
#define TILE_W   (GROUPS_X * SIDE)
#define TILE_N   (GROUPS_N * COLUMNS * SIDE)
#define COVER_H  (TILE_H + KERNEL_H - 1u) /* of the image */
#define COVER_W  (TILE_W + KERNEL_W - 1u)
#define VECTORS  (CHUNK / 8u)             /* of a pixel */
#define LINE     (VECTORS + 1u)           /* eight lines use all banks */
#define LOADS_X  ((COVER_H * COVER_W * VECTORS + GROUP_SIZE - 1u) / GROUP_SIZE)
#define TILES    (COVER_H * COVER_W * LINE)
#define SUM_LINE (4u * COLUMNS + 1u)
#define STAGE    (SIDE * SUM_LINE) /* of a subgroup: sums of a line of its pixels on their way */
#define STAGES   (GROUP_SIZE / 32u * STAGE)

#ifdef PACK
/* A matrix of each subgroup, in lines of output channels. */
shared uvec4 tiles[GROUP_SIZE / 32u * SIDE * 3u];
#elif defined(MATRIX_PLAIN)
shared uvec4 tiles[(TILES > STAGES ? TILES : STAGES) + GROUP_SIZE];
#else
/* Lines are pixels; later sums. */
shared uvec4 tiles[TILES > STAGES ? TILES : STAGES];
#endif

layout(buffer_reference, std430, buffer_reference_align = 16) buffer Vectors { uvec4 v[]; };

#include "shaders/gemm/matrix.glsl"
#include "shaders/gemm/matrix_packed.glsl"

uint subgroup, lane;

/* Packed weights are matrices of 16 channels of the image and 16 output channels of a group: by groups, these, positions
 * in the window and those. */
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
        PACK_MATRIX(Vectors(packed_base).v[number * 32u + lane], at)
    barrier();
}
#else
uvec2 x_base;
uint x_type;
/* Of the tile: the image position that the first window begins at, and its place in X. */
ivec2 corner;
int x_start;

bool is_inside(ivec2 at)
{
    return uint(at.x) < uint(CONV.in_sizes[2]) && uint(at.y) < uint(CONV.in_sizes[1]);
}

/* Eight channels from c on of the pixel. */
uvec4 fetch_x(uint pixel, uint c)
{
    ivec2 at = corner + ivec2(pixel % COVER_W, pixel / COVER_W);
    int from = x_start + at.y * CONV.x[3] + at.x * CONV.x[4] + int(c) * CONV.x[1];
    uvec4 v = uvec4(0u);
    bool inside = is_inside(at);
    if (WIDE_X) {
        if (inside && c < CONV.in_group)
            v = Vectors(x_base).v[from >> 3];
        return v;
    }
    [[unroll]] for (uint e = 0u; e < 8u; e++)
        if (inside && c + e < CONV.in_group)
            v[e >> 1] |= load_number(x_type, x_base, from + int(e) * CONV.x[1]) << 16u * (e & 1u);
    return v;
}

#define EACH_LOAD_OF_X(i, at)                                                                                          \
    [[unroll]] for (uint i = 0u, at = gl_LocalInvocationID.x; i < LOADS_X; i++, at += GROUP_SIZE)                      \
        if (at < COVER_H * COVER_W * VECTORS)
#define FETCH_IMAGE(c)                                                                                                 \
    EACH_LOAD_OF_X(i, at)                                                                                              \
        x_next[i] = fetch_x(at / VECTORS, (c) + 8u * (at % VECTORS));
#define KEEP_IMAGE                                                                                                     \
    EACH_LOAD_OF_X(i, at)                                                                                              \
        tiles[at / VECTORS * LINE + at % VECTORS] = x_next[i];

/* One column of the window, 16 channels: lines of pixels from `x_at` on, packed weights from `w_at` on. */
#define MULTIPLY_COLUMN(x_at, w_at)                                                                                    \
    {                                                                                                                  \
        MatrixA a[ROWS + KERNEL_H - 1u];                                                                               \
        [[unroll]] for (uint i = 0u; i < ROWS + KERNEL_H - 1u; i++)                                                    \
            a[i] = LOAD_A((x_at) + i * COVER_W * LINE, 0u, LINE);                                                      \
        [[unroll]] for (uint dy = 0u; dy < KERNEL_H; dy++)                                                             \
            [[unroll]] for (uint j = 0u; j < COLUMNS; j++) {                                                           \
                uvec4 w = Vectors(packed_base).v[(w_at) + dy * KERNEL_W * MATRICES_C * 32u + j * w_column];            \
                MatrixB b;                                                                                             \
                UNPACK_MATRIX(b, w, PLAIN_AT)                                                                          \
                [[unroll]] for (uint i = 0u; i < ROWS; i++)                                                            \
                    sums[i * COLUMNS + j] = multiply_add(a[i + dy], b, sums[i * COLUMNS + j]);                         \
            }                                                                                                          \
    }
#define PLAIN_AT (TILES > STAGES ? TILES : STAGES)

vec4 staged(uint at)
{
    return uintBitsToFloat(tiles[at]);
}

/* What does not depend on the pixel of eight channels that lie side by side. */
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

/* A line of 16 pixels, whose sums are staged at `from`, from result (y, x) of the image on. */
void store_vectors(uint from, uint image, ivec2 at, uint channel, uint n, inout Four low, inout Four high)
{
    [[unroll]] for (uint step = 0u; step < COLUMNS; step++) {
        uint pixel = (32u * step + lane) / (2u * COLUMNS), eight = (32u * step + lane) % (2u * COLUMNS);
        int x = at.y + int(pixel);
        if (x >= CONV.out_sizes[2] || n + 8u * eight >= CONV.out_group)
            continue;
        uint first = channel + 8u * eight, place = uint(at.x * CONV.out_sizes[2] + x);
        uint number = (image * CONV.out_channels + first) * params.by_pixels.size + place;
        int y_at = int(image) * CONV.y[0] + at.x * CONV.y[3] + x * CONV.y[4] + int(first);
        if (step == 0u || 32u % (2u * COLUMNS) != 0u) {
            low = prepare_channels(first);
            high = prepare_channels(first + 4u);
        }
        place_four(low, number, y_at);
        place_four(high, number + 4u * params.by_pixels.size, y_at + 4);
        uint sums_at = from + pixel * SUM_LINE + 2u * eight;
        store_eight(low, high, staged(sums_at), staged(sums_at + 1u));
    }
}

void store_ones(uint from, uint image, ivec2 at, uint channel, uint n)
{
    for (uint e = lane; e < SIDE * SIDE * COLUMNS; e += 32u) {
        uint pixel = Y_ORDER == 0u ? e % SIDE : e / (SIDE * COLUMNS);
        uint c = Y_ORDER == 0u ? e / SIDE : e % (SIDE * COLUMNS);
        int x = at.y + int(pixel);
        if (x < CONV.out_sizes[2] && n + c < CONV.out_group)
            store_one(image * params.by_pixels.size + uint(at.x * CONV.out_sizes[2] + x), channel + c,
                      staged(from + pixel * SUM_LINE + c / 4u)[c % 4u]);
    }
}

/* A line of 16 pixels from (y, x) of the image and channel n of the group on. */
void store_line(uint image, uint group, ivec2 at, uint n, inout Four low, inout Four high)
{
    uint from = subgroup * STAGE, channel = group * CONV.out_group + n;
    if (at.x >= CONV.out_sizes[1])
        return;
    if (Y_ORDER == 1u)
        store_vectors(from, image, at, channel, n, low, high);
    else
        store_ones(from, image, at, channel, n);
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
    uint w_column = KERNEL_H * KERNEL_W * MATRICES_C * 32u; /* from 16 channels to the next ones */
    uint w_start = PACKED_AT(group * MATRICES_N + n / SIDE, 0u, 0u) + lane;
    uvec4 x_next[LOADS_X];
    MatrixSum sums[ROWS * COLUMNS];
    [[unroll]] for (uint i = 0u; i < ROWS * COLUMNS; i++)
        sums[i] = zero_matrix();
    FETCH_IMAGE(0u)
    for (uint c = 0u; c < CONV.in_group; c += CHUNK) {
        barrier();
        KEEP_IMAGE
        barrier();
        if (c + CHUNK < CONV.in_group)
            FETCH_IMAGE(c + CHUNK)
        [[dont_unroll]] for (uint dx = 0u; dx < KERNEL_W; dx++)
            [[unroll]] for (uint k = 0u; k < CHUNK / SIDE; k++)
                if (k == 0u || c + k * SIDE < CONV.in_group)
                    MULTIPLY_COLUMN((row * COVER_W + column + dx) * LINE + 2u * k,
                                    w_start + (dx * MATRICES_C + c / SIDE + k) * 32u)
    }
    Four low, high;
    [[unroll]] for (uint i = 0u; i < ROWS; i++) {
        barrier();
        [[unroll]] for (uint j = 0u; j < COLUMNS; j++)
            STORE_SUM(subgroup * STAGE + 4u * j, sums[i * COLUMNS + j], SUM_LINE);
        barrier();
        store_line(image, group, at + ivec2(row + i, column), n, low, high);
    }
    barrier();
}

#endif

void main()
{
    subgroup = SUBGROUP_NUMBER;
    lane = gl_LocalInvocationID.x % 32u;
    packed_base = scratch_at(0u);
#ifndef PACK
    x_type = type_of(0u);
    x_base = address_of(0u);
#endif
    EACH_GROUP_UNIT(unit)
    {
        run_unit(unit);
    }
}
