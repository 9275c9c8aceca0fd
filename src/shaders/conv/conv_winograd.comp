// SPDX-License-Identifier: Apache-2.0
/* KERN_CONV of FLOAT32 with 3 x 3 windows of stride one, by Winograd's F(2x2, 3x3): for each square of 2 x 2 results,
 * the 4 x 4 input elements of its windows become 16 numbers per channel, and so does the window; their products, summed
 * over channels, become the results. So 16 planes of GEMMs take 16 multiplications instead of 36. A workgroup has 32
 * squares (of all images) and 64 output channels, an invocation 8 x 16 sums of one plane. Half of the invocations load
 * and transform the image, the others load windows, transformed ahead of time, while the previous channels are
 * multiplied. Tensors: as for conv_any.comp, X with contiguous channels in vectors of four; the windows are packed as
 * by conv_winograd_pack.comp. */
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#define GROUP_SIZE 256
#define PARAMETERS conv_winograd_params
#define CONV       params.conv
#include "shaders/conv/conv_params.h"
#include "shaders/core/views.glsl"
#include "shaders/conv/conv_finish.glsl"

/* Results: vectors of neighbouring channels. */
layout(constant_id = 2) const bool WIDE_Y = false;
/* Windows: tensor 1 is packed; else they are in the scratch memory. */
layout(constant_id = 3) const bool PACKED = false;

#define SQUARES  CONV_WINOGRAD_SQUARES
#define CHANNELS CONV_WINOGRAD_CHANNELS
#define CHUNK    CONV_WINOGRAD_CHUNK /* channels of the image at a time */
#define PLANES   16u
#define LOADS    8u /* vectors of an invocation at a time */
/* In vectors: channels of the image, planes, squares; followed by channels of the image, planes, output channels.
 * Vectors of squares have another order in each column of planes, so that invocations that store together use different
 * banks. */
#define TILE_W (CHUNK * PLANES * SQUARES / 4u)
#define TILES  (TILE_W + CHUNK * PLANES * CHANNELS / 4u)
/* An invocation's squares are fours, 16 apart; its channels are fours, 16 apart. */
#define ROWS    4u
#define COLUMNS 4u
#define QUADS_S 2u
#define QUADS_N 4u
/* On their way out, two squares of each invocation: planes, squares, channels. */
#define OUT_SQUARES (2u * ROWS)
#define OUT_QUADS   (CHANNELS / 4u)
#define STAGE       (PLANES * OUT_SQUARES * OUT_QUADS)

shared vec4 tiles[STAGE > TILES ? STAGE : TILES];

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Vectors { uvec4 v[]; };

#define EACH_LOAD(i) [[unroll]] for (uint i = 0u; i < LOADS; i++)

/* The invocation's number: groups of four are neighbours in their subgroup, too. If drivers leave gaps in subgroups, so
 * that they may not be, each invocation loads both of the columns that it needs. */
uint self;
bool alone;

/* The position of the next vectors of this invocation: of the image four elements, column `own` of a square (then, if
 * alone, the same of column `other`); or of windows. */
bool is_image;
uint own, other;
uvec2 base;
uint advance; /* bytes from chunk to chunk */
int at[LOADS];
uint outside; /* one bit for each of the image's */
uvec4 next[LOADS];
vec4 sums[4u * QUADS_S][QUADS_N];

/* Image, line and column of a square; all squares are numbered consecutively. */
uvec3 square_of(uint number)
{
    uint image = divide(number, params.by_squares), within = number - image * params.by_squares.size;
    uint row = divide(within, params.by_columns);
    return uvec3(image, row, within - row * params.by_columns.size);
}

/* Four neighbours have the columns of a square. Elements outside the image are loaded from somewhere else: no load is in a
 * branch. */
void begin_image(uint first)
{
    uvec3 square = square_of(min(first + self / 4u, params.squares - 1u));
    ivec2 corner = 2 * ivec2(square.yz) - ivec2(CONV.pad[1], CONV.pad[2]);
    base = address_of(0u);
    advance = 4u * CHUNK;
    outside = 0u;
    [[unroll]] for (uint i = 0u; i < LOADS; i++) {
        int x = corner.y + int(i < 4u ? own : other), y = corner.x + int(i % 4u);
        bool inside = uint(y) < uint(CONV.in_sizes[1]) && uint(x) < uint(CONV.in_sizes[2]);
        at[i] = inside ? int(square.x) * CONV.x[0] + y * CONV.x[3] + x * CONV.x[4] >> 2 : 0;
        outside |= inside ? 0u : 1u << i;
    }
}

void begin_windows(uint block)
{
    const uint vectors = CHUNK * PLANES * CHANNELS / 4u;
    uint lane = self - 4u * SQUARES;
    base = PACKED ? address_of(1u) : scratch_at(0u);
    base = add64(base, scaled(int(block * params.chunks * vectors + lane), 4u));
    advance = 16u * vectors;
    EACH_LOAD(i)
    at[i] = int(i * (GROUP_SIZE - 4u * SQUARES));
}

void fetch()
{
    [[unroll]] for (uint i = 0u; i < 4u; i++)
        next[i] = Vectors(base).v[at[i]];
    if (!is_image || alone)
        [[unroll]] for (uint i = 4u; i < LOADS; i++)
            next[i] = Vectors(base).v[at[i]];
    base = add64(base, uvec2(advance, 0u));
}

vec4 next_of_image(uint i)
{
    return (outside >> i & 1u) != 0u ? vec4(0.0) : uintBitsToFloat(next[i]);
}

/* Of column `own`, or of the other one, from i = 4 on. */
vec4[4] transformed(uint i)
{
    vec4 e[4] = vec4[](next_of_image(i), next_of_image(i + 1u), next_of_image(i + 2u), next_of_image(i + 3u));
    return vec4[](e[0] - e[2], e[1] + e[2], e[2] - e[1], e[1] - e[3]);
}

/* Column c of a transformed square is of two of its columns: 0 - 2, 1 + 2, 2 - 1, 1 - 3. */
void keep_image()
{
    uint square = self / 4u, to = own * (SQUARES / 4u) + (square / 4u ^ 2u * own);
    vec4 t[4] = transformed(0u), others[4];
    if (alone)
        others = transformed(4u);
    else
        [[unroll]] for (uint i = 0u; i < 4u; i++)
            others[i] = subgroupShuffle(t[i], (gl_SubgroupInvocationID & ~3u) + other);
    [[unroll]] for (uint i = 0u; i < 4u; i++)
        t[i] = own == 1u ? t[i] + others[i] : own == 3u ? others[i] - t[i] : t[i] - others[i];
    [[unroll]] for (uint k = 0u; k < CHUNK; k++)
        [[unroll]] for (uint r = 0u; r < 4u; r++)
            tiles[to + (k * PLANES + 4u * r) * (SQUARES / 4u)][square % 4u] = t[r][k];
}

void keep()
{
    if (is_image) {
        keep_image();
        return;
    }
    EACH_LOAD(i)
    tiles[TILE_W + self - 4u * SQUARES + i * (GROUP_SIZE - 4u * SQUARES)] = uintBitsToFloat(next[i]);
}

void multiply(uint plane, uvec2 corner)
{
    uint x_from = plane * (SQUARES / 4u), x_quad = corner.x ^ 2u * (plane & 3u);
    uint w_from = TILE_W + plane * (CHANNELS / 4u) + corner.y;
    [[unroll]] for (uint k = 0u; k < CHUNK; k++) {
        vec4 x[QUADS_S], w[QUADS_N];
        [[unroll]] for (uint i = 0u; i < QUADS_S; i++)
            x[i] = tiles[x_from + k * PLANES * (SQUARES / 4u) + (x_quad ^ ROWS * i)];
        [[unroll]] for (uint j = 0u; j < QUADS_N; j++)
            w[j] = tiles[w_from + k * PLANES * (CHANNELS / 4u) + COLUMNS * j];
        [[unroll]] for (uint i = 0u; i < 4u * QUADS_S; i++)
            [[unroll]] for (uint j = 0u; j < QUADS_N; j++)
                sums[i][j] = fma(vec4(x[i >> 2][i & 3u]), w[j], sums[i][j]);
    }
}

/* ---- results ---- */

/* Every other row of invocations exchanges the halves of eight quads, so that neighbours use different banks. */
uint out_at(uint square, uint quad)
{
    return square * OUT_QUADS + (quad ^ (square >> 1 & 1u) << 2);
}

#define STAGE_SUM(i, j)                                                                                                \
    tiles[plane * (OUT_SQUARES * OUT_QUADS) + out_at(corner.x * 2u + i % 2u, corner.y + COLUMNS * j)] = sums[i][j];
#define STAGE_LINE(i) STAGE_SUM(i, 0u) STAGE_SUM(i, 1u) STAGE_SUM(i, 2u) STAGE_SUM(i, 3u)

/* Unrolled: in a loop over lines a driver would keep all sums in memory. */
void stage_sums(uint plane, uvec2 corner, uint round)
{
    if (round == 0u) {
        STAGE_LINE(0u)
        STAGE_LINE(1u)
    } else if (round == 1u) {
        STAGE_LINE(2u)
        STAGE_LINE(3u)
    } else if (round == 2u) {
        STAGE_LINE(4u)
        STAGE_LINE(5u)
    } else {
        STAGE_LINE(6u)
        STAGE_LINE(7u)
    }
}

void store_four(uint m, uint channel, vec4 bias, vec4 value)
{
    if (WIDE_Y) {
        Four four = prepare_four_with(m, channel, bias);
        uint type = type_of(header.inputs);
        uvec4 words = pack_vec4(type, finish_four(four, value));
        uvec2 to = place_at(type, address_of(header.inputs), four.y_at).address;
        if (type == TYPE_FLOAT32)
            Quads(to).v = words;
        else
            Pairs(to).v = words.xy;
        return;
    }
    for (uint e = 0u; e < 4u && channel + e < CONV.out_channels; e++) {
        store_one(m, channel + e, value.x);
        value = value.yzwx; /* value[e] would not be in registers if the loop were not unrolled */
    }
}

/* Two results of a line of a square, four channels of each: line 0 is of lines 0 + 1 + 2 of the planes, line 1 of
 * 1 - 2 - 3, and columns likewise. */
void store_round(uint round, uint first, uint channel, vec4 bias)
{
    uint t = gl_LocalInvocationID.x / OUT_QUADS % OUT_SQUARES, side = gl_LocalInvocationID.x / (OUT_QUADS * OUT_SQUARES);
    uint number = first + 4u * (t / 2u + ROWS * (round / 2u)) + 2u * (round % 2u) + t % 2u;
    const uint of_plane = OUT_SQUARES * OUT_QUADS;
    uint from = side * 4u * of_plane + out_at(t, gl_LocalInvocationID.x % OUT_QUADS);
    float sign = side == 0u ? 1.0 : -1.0;
    vec4 z[4];
    [[unroll]] for (uint c = 0u; c < 4u; c++)
        z[c] = tiles[from + c * of_plane] +
               sign * (tiles[from + (c + 4u) * of_plane] + tiles[from + (c + 8u) * of_plane]);
    uvec3 square = square_of(number);
    uint row = 2u * square.y + side, column = 2u * square.z, width = uint(CONV.out_sizes[2]);
    uint m = square.x * params.by_pixels.size + row * width + column;
    if (number >= params.squares || row >= uint(CONV.out_sizes[1]) || channel >= CONV.out_channels)
        return;
    store_four(m, channel, bias, z[0] + z[1] + z[2]);
    if (column + 1u < width)
        store_four(m + 1u, channel, bias, z[1] - z[2] - z[3]);
}

void run_unit(uint unit)
{
    uint i = gl_LocalInvocationID.x, plane = i / (ROWS * COLUMNS), at_tile = divide(unit, params.by_tiles_n);
    uint block = unit - at_tile * params.by_tiles_n.size, first = at_tile * SQUARES;
    uint channel = block * CHANNELS + i % OUT_QUADS * 4u;
    uvec2 corner = uvec2(i / COLUMNS % ROWS, i % COLUMNS);
    if (is_image)
        begin_image(first);
    else
        begin_windows(block);
    [[unroll]] for (uint s = 0u; s < 4u * QUADS_S; s++)
        [[unroll]] for (uint j = 0u; j < QUADS_N; j++)
            sums[s][j] = vec4(0.0);
    fetch();
    for (uint chunk = 0u; chunk < params.chunks; chunk++) {
        keep();
        barrier();
        if (chunk + 1u < params.chunks)
            fetch();
        multiply(plane, corner);
        barrier();
    }
    vec4 bias = vec4(0.0);
    if (WIDE_Y && channel < CONV.out_channels)
        bias = biases_of(channel);
    for (uint round = 0u; round < 2u * QUADS_S; round++) {
        stage_sums(plane, corner, round);
        barrier();
        store_round(round, first, channel, bias);
        barrier();
    }
}

void main()
{
    alone = gl_NumSubgroups * gl_SubgroupSize != GROUP_SIZE || gl_SubgroupSize < 4u;
    self = alone ? gl_LocalInvocationID.x : gl_SubgroupID * gl_SubgroupSize + gl_SubgroupInvocationID;
    own = self % 4u;
    other = own < 2u ? 2u : 1u;
    is_image = self < 4u * SQUARES;
    EACH_GROUP_UNIT(unit)
    {
        run_unit(unit);
    }
}
