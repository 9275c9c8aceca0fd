// SPDX-License-Identifier: Apache-2.0
/* KERN_CONV of FLOAT32 with windows of 3 x 3 that move by one element, by Winograd's F(2x2, 3x3): for each square of 2 x 2
 * results what its windows cover, 4 x 4 elements, becomes 16 numbers of a channel, the window likewise; products of these,
 * summed over channels, become the results. So 16 planes of products of matrices take 16 multiplications where 36 were.
 * A workgroup has 32 squares (of all images) and 64 output channels, an invocation 8 x 16 sums of one plane. Half of the
 * invocations bring and transform the image, the others bring windows, transformed beforehand, while the channels before
 * these are multiplied. Tensors: as for conv_any.comp, X with channels side by side in vectors of four; the windows are
 * packed as conv_winograd_pack.comp does. */
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
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

layout(constant_id = 4) const uint EXP = 0u;
#define DOUBLE (EXP & 1u)
#define SQUARES  CONV_WINOGRAD_SQUARES
#define CHANNELS CONV_WINOGRAD_CHANNELS
#define CHUNK    CONV_WINOGRAD_CHUNK /* channels of the image at a time */
#define PLANES   16u
#define LOADS    8u /* vectors of an invocation at a time */
/* In vectors: channels of the image, planes, squares; behind it channels of the image, planes, output channels. */
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

shared vec4 tiles[STAGE > TILES * (1u + DOUBLE) ? STAGE : TILES * (1u + DOUBLE)];

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Vectors { uvec4 v[]; };

#define EACH_LOAD(i) [[unroll]] for (uint i = 0u; i < LOADS; i++)

/* Where the next vectors of this invocation are: of the image two lines of four elements, `line` of a transformed square;
 * or of windows. */
bool is_image;
uint line;
uvec2 base;
uint advance; /* bytes from chunk to chunk */
int at[LOADS];
uint outside; /* one bit for each */
uvec4 next[LOADS];
vec4 sums[4u * QUADS_S][QUADS_N];

/* Image, line and column of a square, all squares numbered one after the other. */
uvec3 square_of(uint number)
{
    uint image = divide(number, params.by_squares), within = number - image * params.by_squares.size;
    uint row = divide(within, params.by_columns);
    return uvec3(image, row, within - row * params.by_columns.size);
}

uint own_square()
{
    return (EXP & 4u) != 0u ? gl_LocalInvocationID.x / 4u : gl_LocalInvocationID.x % SQUARES;
}

/* Line r of a transformed square is of two of its lines: 0 - 2, 1 + 2, 2 - 1, 1 - 3. Elements outside the image are loaded
 * from somewhere else: no load is in a branch. */
void begin_image(uint first)
{
    uvec3 square = square_of(min(first + own_square(), params.squares - 1u));
    ivec2 top = 2 * ivec2(square.yz) - ivec2(CONV.pad[1], CONV.pad[2]);
    ivec2 rows = top.x + (line == 0u ? ivec2(0, 2) : line == 1u ? ivec2(1, 2) : line == 2u ? ivec2(2, 1) : ivec2(1, 3));
    base = address_of(0u);
    advance = 4u * CHUNK;
    outside = 0u;
    EACH_LOAD(i)
    {
        int y = i < 4u ? rows.x : rows.y, x = top.y + int(i & 3u);
        bool inside = uint(y) < uint(CONV.in_sizes[1]) && uint(x) < uint(CONV.in_sizes[2]);
        at[i] = inside ? int(square.x) * CONV.x[0] + y * CONV.x[3] + x * CONV.x[4] >> 2 : 0;
        outside |= inside ? 0u : 1u << i;
    }
}

void begin_windows(uint block)
{
    const uint vectors = CHUNK * PLANES * CHANNELS / 4u;
    uint lane = gl_LocalInvocationID.x - 4u * SQUARES;
    base = PACKED ? address_of(1u) : scratch_at(0u);
    base = add64(base, scaled(int(block * params.chunks * vectors + lane), 4u));
    advance = 16u * vectors;
    EACH_LOAD(i)
    at[i] = int(i * (GROUP_SIZE - 4u * SQUARES));
}

void fetch()
{
    if (!((EXP & 16u) != 0u && is_image) && !((EXP & 32u) != 0u && !is_image))
    EACH_LOAD(i)
    next[i] = Vectors(base).v[at[i]];
    base = add64(base, uvec2(advance, 0u));
}

void keep_image(uint tile)
{
    uint square = own_square(), to = tile + line * 4u * (SQUARES / 4u) + square / 4u;
    float sign = line == 1u ? 1.0 : -1.0;
    vec4 e[4];
    if (outside != 0u)
        EACH_LOAD(i)
        next[i] = (outside >> i & 1u) != 0u ? uvec4(0u) : next[i];
    [[unroll]] for (uint c = 0u; c < 4u; c++)
        e[c] = uintBitsToFloat(next[c]) + sign * uintBitsToFloat(next[c + 4u]);
    vec4 t[4] = vec4[](e[0] - e[2], e[1] + e[2], e[2] - e[1], e[1] - e[3]);
    [[unroll]] for (uint k = 0u; k < CHUNK; k++)
        [[unroll]] for (uint c = 0u; c < 4u; c++)
            tiles[to + (k * PLANES + c) * (SQUARES / 4u)][square % 4u] = t[c][k];
}

void keep(uint tile)
{
    if (is_image) {
        keep_image(tile);
        return;
    }
    EACH_LOAD(i)
    tiles[tile + TILE_W + gl_LocalInvocationID.x - 4u * SQUARES + i * (GROUP_SIZE - 4u * SQUARES)] = uintBitsToFloat(next[i]);
}

void multiply(uint tile, uint plane, uvec2 corner)
{
    uint x_from = tile + plane * (SQUARES / 4u) + corner.x, w_from = tile + TILE_W + plane * (CHANNELS / 4u) + corner.y;
    [[unroll]] for (uint k = 0u; k < CHUNK; k++) {
        vec4 x[QUADS_S], w[QUADS_N];
        [[unroll]] for (uint i = 0u; i < QUADS_S; i++)
            x[i] = tiles[x_from + k * PLANES * (SQUARES / 4u) + ROWS * i];
        [[unroll]] for (uint j = 0u; j < QUADS_N; j++)
            w[j] = tiles[w_from + k * PLANES * (CHANNELS / 4u) + COLUMNS * j];
        [[unroll]] for (uint i = 0u; i < 4u * QUADS_S; i++)
            [[unroll]] for (uint j = 0u; j < QUADS_N; j++)
                sums[i][j] = fma(vec4(x[i >> 2][i & 3u]), w[j], sums[i][j]);
    }
}

/* ---- results ---- */

/* Every other row of invocations has its halves of eight quads the other way round: neighbours use other banks. */
uint out_at(uint square, uint quad)
{
    return square * OUT_QUADS + (quad ^ (square >> 1 & 1u) << 2);
}

void stage_sums(uint plane, uvec2 corner, uint round)
{
    [[unroll]] for (uint i = 0u; i < 4u * QUADS_S; i++)
        if (i / 2u == round)
            [[unroll]] for (uint j = 0u; j < QUADS_N; j++)
                tiles[plane * (OUT_SQUARES * OUT_QUADS) + out_at(corner.x * 2u + (i & 1u), corner.y + COLUMNS * j)] =
                    sums[i][j];
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
        value = value.yzwx; /* value[e] would not be in registers where the loop stays one */
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
    if (DOUBLE != 0u) {
        keep(0u);
        if (params.chunks > 1u)
            fetch();
        barrier();
        for (uint chunk = 0u; chunk < params.chunks; chunk++) {
            if ((EXP & 2u) != 0u && chunk + 1u < params.chunks)
                keep(TILES * (chunk + 1u & 1u));
            if ((EXP & 2u) != 0u && chunk + 2u < params.chunks)
                fetch();
            multiply(TILES * (chunk & 1u), plane, corner);
            if ((EXP & 2u) == 0u && chunk + 1u < params.chunks)
                keep(TILES * (chunk + 1u & 1u));
            if ((EXP & 2u) == 0u && chunk + 2u < params.chunks)
                fetch();
            barrier();
        }
    } else
    for (uint chunk = 0u; chunk < params.chunks; chunk++) {
        keep(0u);
        barrier();
        if (chunk + 1u < params.chunks)
            fetch();
        multiply(0u, plane, corner);
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
    line = gl_LocalInvocationID.x / SQUARES;
    is_image = line < 4u;
    if ((EXP & 4u) != 0u)
        line = gl_LocalInvocationID.x % 4u;
    EACH_GROUP_UNIT(unit)
    {
        run_unit(unit);
    }
}
