// SPDX-License-Identifier: Apache-2.0
/* KERN_CONV forward, of small windows or few output channels, as in depthwise convolutions: one element of the result
 * per invocation, or RESULTS that are neighbours along the last dimension and share a line of X. Tensors: as for
 * conv_any.comp. */
#version 460
#extension GL_GOOGLE_include_directive : require
#define UNIFORM_BLOCK
#define PARAMETERS conv_direct_params
#define CONV       params.conv
#include "shaders/conv/conv_params.h"
#include "shaders/core/views.glsl"
#include "shaders/core/epilogue.glsl"
#include "shaders/gemm/tile_number.glsl"
#extension GL_EXT_control_flow_attributes : require

/* Sizes of the window along the last two dimensions; 0: to be read from the parameters. */
layout(constant_id = 2) const uint ROWS = 0;
layout(constant_id = 3) const uint COLUMNS = 0;
layout(constant_id = 4) const uint RESULTS = 1;
layout(constant_id = 5) const uint STEP = 1; /* between them in X */

#define LINE (STEP * (RESULTS - 1u) + COLUMNS) /* elements of X for a row of their windows */
#define EACH(i, count, most) [[unroll]] for (uint i = 0u; i < most; i++) if (i < count)

struct Result {
    uint image, channel;
    ivec3 at;
};

NUMBER sums[CONV_DIRECT_RESULTS];

/* Neighbours in memory are computed by neighbours. */
Result result_of(uint number)
{
    Result result;
    uint rest;
    if (params.channels_last != 0u) {
        rest = divide(number, CONV.by_channels);
        result.channel = number - rest * CONV.out_channels;
        number = rest;
    }
    rest = divide(number, params.by_units);
    result.at[2] = int((number - rest * params.by_units.size) * RESULTS);
    number = rest;
    for (int d = 1; d >= 0; d--) {
        rest = divide(number, CONV.by_out[d]);
        result.at[d] = int(number - rest * CONV.by_out[d].size);
        number = rest;
    }
    if (params.channels_last == 0u) {
        rest = divide(number, CONV.by_channels);
        result.channel = number - rest * CONV.out_channels;
        number = rest;
    }
    result.image = number;
    return result;
}

NUMBER zero_point(int tensor, int at)
{
#ifdef TILE_INTEGER
    if (tensor >= 0)
        return load_number(type_of(uint(tensor)), address_of(uint(tensor)), at);
#endif
    return NUMBER(0);
}

/* Of the last two dimensions of the window in one channel; x, w: of its first element, `at`: its position in X. */
NUMBER sum_plane(int x, int w, ivec2 at, NUMBER x_zero, NUMBER w_zero)
{
    int rows = ROWS != 0u ? int(ROWS) : CONV.kernel[1], columns = COLUMNS != 0u ? int(COLUMNS) : CONV.kernel[2];
    uvec2 x_base = address_of(0u), w_base = address_of(1u);
    ivec2 dilation = ivec2(CONV.dilations[1], CONV.dilations[2]), size = ivec2(CONV.in_sizes[1], CONV.in_sizes[2]);
    ivec2 x_step = ivec2(CONV.x[3], CONV.x[4]) * dilation, w_step = ivec2(CONV.w[3], CONV.w[4]);
    NUMBER sum = NUMBER(0);
    for (int i = 0; i < rows; i++) {
        bool row_inside = uint(at.x + i * dilation.x) < uint(size.x);
        for (int j = 0; j < columns; j++) {
            if (row_inside && uint(at.y + j * dilation.y) < uint(size.y))
                sum += (load_number(type_of(0u), x_base, x + i * x_step.x + j * x_step.y) - x_zero) *
                       (load_number(type_of(1u), w_base, w + i * w_step.x + j * w_step.y) - w_zero);
        }
    }
    return sum;
}

/* The same for RESULTS: `x` is of the plane's element 0, 0. All of a line is loaded, from inside the image, before it is
 * looked at. */
void sum_lines(int x, int w, ivec2 at, NUMBER x_zero, NUMBER w_zero)
{
    uvec2 x_base = address_of(0u), w_base = address_of(1u);
    ivec2 x_step = ivec2(CONV.x[3], CONV.x[4]), size = ivec2(CONV.in_sizes[1], CONV.in_sizes[2]);
    ivec2 w_step = ivec2(CONV.w[3], CONV.w[4]);
    int dilation = CONV.dilations[1];
    for (uint i = 0u; i < ROWS; i++) {
        NUMBER line[CONV_DIRECT_LINE];
        int row = at.x + int(i) * dilation, row_at = x + clamp(row, 0, size.x - 1) * x_step.x;
        EACH(p, LINE, CONV_DIRECT_LINE)
            line[p] = load_number(type_of(0u), x_base, row_at + clamp(at.y + int(p), 0, size.y - 1) * x_step.y);
        EACH(p, LINE, CONV_DIRECT_LINE)
        {
            bool inside = uint(row) < uint(size.x) && uint(at.y + int(p)) < uint(size.y);
            line[p] = inside ? line[p] - x_zero : NUMBER(0);
        }
        EACH(j, COLUMNS, CONV_DIRECT_LINE)
        {
            NUMBER weight = load_number(type_of(1u), w_base, w + int(i) * w_step.x + int(j) * w_step.y) - w_zero;
            EACH(r, RESULTS, CONV_DIRECT_RESULTS)
                if (r * STEP + j < CONV_DIRECT_LINE)
                    sums[r] += line[r * STEP + j] * weight;
        }
    }
}

/* Row-major. */
uint number_of(Result result)
{
    uint number = result.image * CONV.out_channels + result.channel;
    for (uint d = 0u; d < 3u; d++)
        number = number * CONV.by_out[d].size + uint(result.at[d]);
    return number;
}

void store_sum(Result result, NUMBER sum)
{
    int to = int(result.image) * CONV.y[0] + int(result.channel) * CONV.y[1];
    to += result.at.x * CONV.y[2] + result.at.y * CONV.y[3] + result.at.z * CONV.y[4];
#ifdef TILE_INTEGER
    if (CONV.bias >= 0)
        sum += load_int(uint(CONV.bias), int(result.channel) * CONV.bias_step);
    if (HAS_EPILOGUE)
        store_real(header.inputs, to, epilogue(float(sum), number_of(result), to));
    else
        store_int(header.inputs, to, sum);
#else
    if (CONV.bias >= 0)
        sum += load_real(uint(CONV.bias), int(result.channel) * CONV.bias_step);
    store_real(header.inputs, to, epilogue(sum, number_of(result), to));
#endif
}

/* A window starts at `at` in X. */
void sum_windows(Result result, ivec3 at)
{
    int group = int(result.channel / CONV.out_group);
    int x = int(result.image) * CONV.x[0] + group * int(CONV.in_group) * CONV.x[1], w = int(result.channel) * CONV.w[0];
    NUMBER x_zero = zero_point(CONV.x_zero, 0), w_zero = zero_point(CONV.w_zero, int(result.channel) * CONV.zero_step);
    [[unroll]] for (uint r = 0u; r < CONV_DIRECT_RESULTS; r++)
        sums[r] = NUMBER(0);
    for (int c = 0; c < int(CONV.in_group); c++)
        for (int i = 0; i < CONV.kernel[0]; i++) {
            int plane = at.x + i * CONV.dilations[0], x_at = x + c * CONV.x[1] + plane * CONV.x[2];
            int w_at = w + c * CONV.w[1] + i * CONV.w[2];
            if (uint(plane) >= uint(CONV.in_sizes[0]))
                continue;
            if (RESULTS > 1u)
                sum_lines(x_at, w_at, at.yz, x_zero, w_zero);
            else
                sums[0] += sum_plane(x_at + at.y * CONV.x[3] + at.z * CONV.x[4], w_at, at.yz, x_zero, w_zero);
        }
}

void main()
{
    EACH_UNIT(number)
    {
        Result result = result_of(number);
        ivec3 at = result.at * ivec3(CONV.steps[0], CONV.steps[1], CONV.steps[2]);
        sum_windows(result, at - ivec3(CONV.pad[0], CONV.pad[1], CONV.pad[2]));
        EACH(r, RESULTS, CONV_DIRECT_RESULTS)
        {
            if (result.at.z < CONV.out_sizes[2])
                store_sum(result, sums[r]);
            result.at.z++;
        }
    }
}
