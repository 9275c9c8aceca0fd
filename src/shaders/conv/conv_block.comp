// SPDX-License-Identifier: Apache-2.0
/* KERN_CONV as implicit GEMM with register blocking (block.glsl), one for each group: rows are its output channels,
 * columns the pixels of all images, and the summed elements are those of a window in all its input channels. Both
 * factors are loaded in place, one element at a time, and the next tile's while this one is multiplied: where an
 * element of a column and one of a window meet in the image follows from a table of each. For sums that are long in
 * comparison with the result: those of gradients of weights. Tensors: as for conv_any.comp. */
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#define GROUP_SIZE_ID 5
#define PARAMETERS conv_block_params
#define TILE_PARAMS params.tile
#define CONV        params.conv
#include "shaders/conv/conv_params.h"
#include "shaders/core/views.glsl"
#include "shaders/gemm/tile_number.glsl"
#include "shaders/gemm/tile_finish.glsl"
#include "shaders/core/vector.glsl"

void begin(uint batch, uint m, uint n);
void finish(uint m, uint n, NUMBER sum);

#include "shaders/gemm/block.glsl"

#define LOADS_A (TILE_M * DEPTH / INVOCATIONS)
#define LOADS_B (TILE_N * DEPTH / INVOCATIONS)

/* Positions along the spatial dimensions, whose sum is a pixel's, and the offset of the element from them and the image
 * or channel. Tables of windows are those of this tile and of the next one. */
shared ivec4 columns[TILE_N], taps[2u * DEPTH];
shared int weights[2u * DEPTH];

/* From the parameters, read once. */
uint x_type, w_type;
uvec2 x_base, w_base;
ivec3 in_sizes, x_steps;
int w_step;
/* Of the current group. */
int channel, x_start, w_start;
uint first_number; /* of its results */

/* Of this invocation: elements as they are in memory; which of them count. */
uint a_next[LOADS_A], b_next[LOADS_B];
uint a_exists, b_exists;

/* The image and position of a column. */
uint image_of(uint n, out ivec3 at)
{
    bool images_first = params.images_first != 0u;
    uint whole = images_first ? divide(n, params.by_images) : divide(n, params.by_pixels);
    uint part = n - whole * (images_first ? params.by_images.size : params.by_pixels.size);
    uint pixel = images_first ? whole : part, row = divide(pixel, CONV.by_out[2]), plane = divide(row, CONV.by_out[1]);
    at = ivec3(plane, row - plane * CONV.by_out[1].size, pixel - row * CONV.by_out[2].size);
    return images_first ? part : whole;
}

int place_in_x(ivec3 at)
{
    return at.x * x_steps.x + at.y * x_steps.y + at.z * x_steps.z;
}

void begin(uint batch, uint m, uint n)
{
    x_type = type_of(0u);
    w_type = type_of(1u);
    x_base = address_of(0u);
    w_base = address_of(1u);
    in_sizes = ivec3(CONV.in_sizes[0], CONV.in_sizes[1], CONV.in_sizes[2]);
    x_steps = ivec3(CONV.x[2], CONV.x[3], CONV.x[4]);
    w_step = CONV.w[0];
    channel = int(batch * CONV.out_group);
    first_number = batch * TILE_PARAMS.m * TILE_PARAMS.n;
    x_start = int(batch * CONV.in_group) * CONV.x[1];
    w_start = channel * w_step;
    for (uint i = gl_LocalInvocationID.x; i < TILE_N; i += INVOCATIONS) {
        ivec3 at, pad = ivec3(CONV.pad[0], CONV.pad[1], CONV.pad[2]);
        int image = int(image_of(min(n + i, size_n - 1u), at));
        at = at * ivec3(CONV.steps[0], CONV.steps[1], CONV.steps[2]) - pad;
        columns[i] = ivec4(at, image * CONV.x[0] + place_in_x(at));
    }
}

/* The tables of the tile of windows from k on, in this half of them. The sums run over the window within each channel,
 * or with channels_first the other way round. */
void prepare(uint k, uint half_of)
{
    uint i = gl_LocalInvocationID.x, c, tap;
    k += i;
    if (i < DEPTH) {
        if (params.channels_first != 0u) {
            tap = divide(k, CONV.by_in_group);
            c = k - tap * CONV.in_group;
        } else {
            c = divide(k, CONV.by_window);
            tap = k - c * CONV.by_window.size;
        }
        uint plane = divide(tap, CONV.by_plane), rest = tap - plane * CONV.by_plane.size;
        uint line = divide(rest, CONV.by_line);
        ivec3 at = ivec3(plane, line, rest - line * CONV.by_line.size);
        ivec3 dilated = at * ivec3(CONV.dilations[0], CONV.dilations[1], CONV.dilations[2]);
        if (CONV.flip != 0u)
            at = ivec3(CONV.kernel[0], CONV.kernel[1], CONV.kernel[2]) - 1 - at;
        weights[half_of + i] = int(c) * CONV.w[1] + at.x * CONV.w[2] + at.y * CONV.w[3] + at.z * CONV.w[4];
        taps[half_of + i] = ivec4(dilated, int(c) * CONV.x[1] + place_in_x(dilated));
    }
}

/* The position of load `number` along m or n, and along k. Eight elements along k are those of neighbours, if these
 * are neighbours in memory: stores to 32 of them use all banks. */
uvec2 element(uint number, uint size, uint along_k)
{
    uint i = gl_LocalInvocationID.x + number * INVOCATIONS;
    return along_k != 0u ? uvec2((i >> 3) % size, (i & 7u) + (i >> 3) / size * 8u) : uvec2(i % size, i / size);
}

uint load_bits(uint type, uvec2 base, int at)
{
    if (type == TYPE_FLOAT32)
        return WordArray(base).v[at];
    return SHORT_AT(base, at);
}

float number_of(uint type, uint bits)
{
    return type == TYPE_FLOAT32 ? uintBitsToFloat(bits)
                                : type == TYPE_FLOAT16 ? half_to_float(bits) : bfloat_to_float(bits);
}

/* Those that do not count are elements 0, so that no load is in a branch. Lines outside the filters are replaced by
 * others: their results are not stored. */
void fetch(uint m, uint k, uint end, uint half_of)
{
    a_exists = b_exists = 0u;
    [[unroll]] for (uint i = 0u; i < LOADS_A; i++) {
        uvec2 at = element(i, TILE_M, A_ALONG_K);
        bool exists = WHOLE || k + at.y < end;
        int place = w_start + int(min(m + at.x, size_m - 1u)) * w_step + weights[half_of + at.y];
        a_next[i] = load_bits(w_type, w_base, exists ? place : 0);
        a_exists |= uint(exists) << i;
    }
    [[unroll]] for (uint i = 0u; i < LOADS_B; i++) {
        uvec2 at = element(i, TILE_N, B_ALONG_K);
        ivec4 place = columns[at.x] + taps[half_of + at.y];
        bool exists = (WHOLE || k + at.y < end) && all(lessThan(uvec3(place.xyz), uvec3(in_sizes)));
        b_next[i] = load_bits(x_type, x_base, exists ? x_start + place.w : 0);
        b_exists |= uint(exists) << i;
    }
}

void keep()
{
    [[unroll]] for (uint i = 0u; i < LOADS_A; i++) {
        uvec2 at = element(i, TILE_M, A_ALONG_K);
        tiles[at.y * STRIDE_A + (at.x >> 2)][at.x & 3u] =
            WHOLE || (a_exists >> i & 1u) != 0u ? number_of(w_type, a_next[i]) : 0.0;
    }
    [[unroll]] for (uint i = 0u; i < LOADS_B; i++) {
        uvec2 at = element(i, TILE_N, B_ALONG_K);
        tiles[TILE_B + at.y * STRIDE_B + (at.x >> 2)][at.x & 3u] =
            (b_exists >> i & 1u) != 0u ? number_of(x_type, b_next[i]) : 0.0;
    }
}

void sum_products(uint m, uint first, uint end)
{
    uint half_of = 0u;
    clear_sums();
    prepare(first, 0u);
    barrier();
    fetch(m, first, end, 0u);
    prepare(first + DEPTH, DEPTH);
    for (uint k = first; k < end; k += DEPTH) {
        keep();
        barrier();
        if (k + DEPTH < end)
            fetch(m, k + DEPTH, end, DEPTH - half_of);
        prepare(k + 2u * DEPTH, half_of);
        multiply();
        barrier();
        half_of = DEPTH - half_of;
    }
}

/* ---- results ---- */

void finish(uint m, uint n, NUMBER sum)
{
    ivec3 at;
    int image = int(image_of(n, at)), of_channel = channel + int(m);
    int y_at = image * CONV.y[0] + of_channel * CONV.y[1] + at.x * CONV.y[2] + at.y * CONV.y[3] + at.z * CONV.y[4];
    store_result(first_number + m * TILE_PARAMS.n + n, y_at, of_channel * CONV.bias_step, sum);
}

void store_four(uint m, uint n, uint part, NUMBER4 value)
{
    if (in_parts && size_n % 4u == 0u) {
        QuadArray(sums_base).v[((part * size_m + m) * size_n + n) / 4u] = floatBitsToUint(value);
        return;
    }
    for (uint e = 0u; e < 4u && n + e < size_n; e++) {
        store_sum(m, n + e, part, value.x);
        value = value.yzwx; /* value[e] would not be in registers if the loop were not unrolled */
    }
}

void run_tile(uint m, uint n, uint first, uint end, uint part)
{
    find_corner();
    sum_products(m, first, end);
    store_sums(m, n, part);
}
