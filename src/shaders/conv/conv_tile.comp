// SPDX-License-Identifier: Apache-2.0
/* KERN_CONV as implicit GEMM, one for each image and group: rows are its output channels, columns pixels, and the
 * summed elements are those of a window in all its input channels, which are loaded in place. Tensors: as for
 * conv_any.comp. */
#version 460
#extension GL_GOOGLE_include_directive : require
#define PARAMETERS conv_tile_params
#define TILE_PARAMS params.tile
#define CONV        params.conv
#include "shaders/conv/conv_params.h"
#include "shaders/core/views.glsl"
#include "shaders/gemm/tile_number.glsl"
#include "shaders/gemm/tile_size.glsl"
#include "shaders/gemm/tile_finish.glsl"

/* Positions along the spatial dimensions, whose sum is a pixel's, and the offset of the element from them and the
 * channel. */
shared ivec4 pixels[TILE_N], taps[DEPTH * FACTORS];
shared int weights[DEPTH * FACTORS];

/* From the parameters, read once: w_step = from output channel to output channel. */
uint x_type, w_type;
uvec2 x_base, w_base, y_base;
bool transposed;
ivec3 in_sizes, x_steps;
int w_step;
/* Of the current image and group. */
int channel, first_pixel, x_start, w_start, y_start;
uint first_number; /* of its results */

/* A pixel's position, and its offset in a channel of Y. */
int pixel_in_y(uint pixel, out ivec3 at)
{
    uint row = divide(pixel, CONV.by_out[2]), plane = divide(row, CONV.by_out[1]);
    at = ivec3(plane, row - plane * CONV.by_out[1].size, pixel - row * CONV.by_out[2].size);
    return at.x * CONV.y[2] + at.y * CONV.y[3] + at.z * CONV.y[4];
}

int place_in_x(ivec3 at)
{
    return at.x * x_steps.x + at.y * x_steps.y + at.z * x_steps.z;
}

void read_parameters()
{
    x_type = type_of(0u);
    w_type = type_of(1u);
    x_base = address_of(0u);
    w_base = address_of(1u);
    y_base = address_of(header.inputs);
    transposed = CONV.transposed != 0u;
    in_sizes = ivec3(CONV.in_sizes[0], CONV.in_sizes[1], CONV.in_sizes[2]);
    x_steps = ivec3(CONV.x[2], CONV.x[3], CONV.x[4]);
    w_step = CONV.w[transposed ? 1 : 0];
}

void begin(uint batch, uint m, uint n)
{
    int groups = int(CONV.out_channels / CONV.out_group), image = int(batch) / groups, group = int(batch) % groups;
    read_parameters();
    channel = group * int(CONV.out_group);
    first_pixel = int(n);
    first_number = uint(image * int(CONV.out_channels) + channel) * TILE_PARAMS.n;
    x_start = image * CONV.x[0] + group * int(CONV.in_group) * CONV.x[1];
    w_start = transposed ? group * int(CONV.in_group) * CONV.w[0] : channel * CONV.w[0];
    y_start = image * CONV.y[0] + channel * CONV.y[1];
    uint i = gl_LocalInvocationID.x;
    if (i < TILE_N) {
        ivec3 at, pad = ivec3(CONV.pad[0], CONV.pad[1], CONV.pad[2]);
        pixel_in_y(n + i, at);
        if (transposed)
            at += pad;
        else
            at = at * ivec3(CONV.steps[0], CONV.steps[1], CONV.steps[2]) - pad;
        pixels[i] = ivec4(at, place_in_x(at));
    }
}

/* The sums run over the window within each channel, or with channels_first the other way round. */
void prepare(uint k)
{
    uint i = gl_LocalInvocationID.x, c, tap;
    if (i >= DEPTH * FACTORS)
        return;
    k = k * FACTORS + i;
    if (params.channels_first != 0u) {
        tap = divide(k, CONV.by_in_group);
        c = k - tap * CONV.in_group;
    } else {
        c = divide(k, CONV.by_window);
        tap = k - c * CONV.by_window.size;
    }
    uint plane = divide(tap, CONV.by_plane), rest = tap - plane * CONV.by_plane.size, line = divide(rest, CONV.by_line);
    ivec3 at = ivec3(plane, line, rest - line * CONV.by_line.size);
    ivec3 flipped = ivec3(CONV.kernel[0], CONV.kernel[1], CONV.kernel[2]) - 1 - at;
    ivec3 dilated = at * ivec3(CONV.dilations[0], CONV.dilations[1], CONV.dilations[2]);
    at = CONV.flip != 0u ? flipped : at;
    weights[i] = int(c) * CONV.w[transposed ? 0 : 1] + at.x * CONV.w[2] + at.y * CONV.w[3] + at.z * CONV.w[4];
    dilated = transposed ? -dilated : dilated;
    taps[i] = ivec4(dilated, int(c) * CONV.x[1] + (transposed ? 0 : place_in_x(dilated)));
}

#ifdef TILE_INTEGER
int zero_point(int tensor, int at)
{
    return tensor < 0 ? 0 : load_number(type_of(uint(tensor)), address_of(uint(tensor)), at);
}
#endif

#ifndef TILE_DOT
FACTOR load_a(uint m, uint k, uint row)
{
    FACTOR w = load_number(w_type, w_base, w_start + int(m) * w_step + weights[row]);
#ifdef TILE_INTEGER
    w -= zero_point(CONV.w_zero, (channel + int(m)) * CONV.zero_step);
#endif
    return w;
}
#endif

/* The offset of the element of the window that pixel n reads at `row`; false: outside the image, where elements are
 * zero. */
bool find_b(uint n, uint row, out int place)
{
    ivec4 pixel = pixels[int(n) - first_pixel], tap = taps[row];
    ivec3 at = pixel.xyz + tap.xyz;
    int from = pixel.w + tap.w;
    if (transposed) {
        ivec3 steps = ivec3(CONV.steps[0], CONV.steps[1], CONV.steps[2]), whole = at / steps;
        at = ivec3(whole.x * steps.x == at.x ? whole.x : -1, whole.y * steps.y == at.y ? whole.y : -1,
                   whole.z * steps.z == at.z ? whole.z : -1);
        from = tap.w + place_in_x(whole);
    }
    place = x_start + from;
    return all(lessThan(uvec3(at), uvec3(in_sizes)));
}

#ifdef TILE_DOT
int zero_of_a(uint m)
{
    return zero_point(CONV.w_zero, (channel + int(m)) * CONV.zero_step) + bias_of(w_type);
}

int zero_of_b(uint n)
{
    return zero_point(CONV.x_zero, 0) + bias_of(x_type);
}

/* Four factors, fewer if fewer exist. */
int load_a(uint m, uint k, uint row)
{
    uint count = min(TILE_PARAMS.k - FACTORS * k, FACTORS), word = 0u;
    for (uint i = 0u; i < count; i++) {
        int at = w_start + int(m) * w_step + weights[FACTORS * row + i];
        word |= uint(load_number(w_type, w_base, at) + bias_of(w_type) & 0xff) << 8u * i;
    }
    return int(word);
}

/* Outside the image: the values that count as zero. */
int load_b(uint n, uint k, uint row)
{
    uint count = min(TILE_PARAMS.k - FACTORS * k, FACTORS), word = 0u;
    for (uint i = 0u; i < count; i++) {
        int place, x = zero_of_b(n);
        if (find_b(n, FACTORS * row + i, place))
            x = load_number(x_type, x_base, place) + bias_of(x_type);
        word |= uint(x & 0xff) << 8u * i;
    }
    return int(word);
}
#else
FACTOR load_b(uint n, uint k, uint row)
{
    int place;
    if (!find_b(n, row, place))
        return FACTOR(0);
    FACTOR x = load_number(x_type, x_base, place);
#ifdef TILE_INTEGER
    x -= zero_point(CONV.x_zero, 0);
#endif
    return x;
}
#endif

void place_result(uint m, uint n, out uint number, out int y_at, out int c_at)
{
    ivec3 at;
    number = first_number + m * TILE_PARAMS.n + n;
    y_at = y_start + int(m) * CONV.y[1] + pixel_in_y(n, at);
    c_at = (channel + int(m)) * CONV.bias_step;
}

void finish(uint m, uint n, NUMBER sum)
{
    uint number;
    int y_at, c_at;
    place_result(m, n, number, y_at, c_at);
    store_result(number, y_at, c_at, sum);
}

#ifdef TILE_MATRIX
#define vector_a(m, k) Vectors(w_base).v[(w_start + int(m) * w_step + weights[(k) % DEPTH]) >> 3]
uvec4 vector_b(uint n, uint k);
#define c_next         0
#include "shaders/gemm/tile_matrix.glsl"

uvec4 vector_b(uint n, uint k)
{
    int place;
    return find_b(n, k % DEPTH, place) ? Vectors(x_base).v[place >> 3] : uvec4(0u);
}
#else
#include "shaders/gemm/tile.glsl"
#endif
