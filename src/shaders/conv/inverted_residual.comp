// SPDX-License-Identifier: Apache-2.0
/* KERN_INVERTED_RESIDUAL in three dispatches, one element per invocation: E, then D, both FLOAT32 in scratch memory, then
 * Y. Tensors: 0 X, 1 parameters, 2 Y. */
#version 460
#extension GL_GOOGLE_include_directive : require
#define PARAMETERS inverted_residual_params
#include "shaders/conv/conv_params.h"
#include "shaders/core/views.glsl"

#define EXPAND    0u
#define DEPTHWISE 1u

/* enum kern_bounds_kind */
#define BOUNDS_RELU  1u
#define BOUNDS_CLAMP 2u
#define BOUNDS_CLIP  3u
#define BOUNDS_CLAMP_NAN 4u

float bounded(float x, uint which)
{
    float low = params.low[which], high = params.high[which];
    switch (params.bounds[which]) {
    case BOUNDS_RELU:
        return x < 0.0 ? 0.0 : x;
    case BOUNDS_CLAMP:
        return is_nan(x) || x < low ? low : min(x, high);
    case BOUNDS_CLIP:
        return is_nan(x) || x > high ? high : max(x, low);
    case BOUNDS_CLAMP_NAN:
        return x < low ? low : x > high ? high : x;
    default:
        return x;
    }
}

float weight(int at)
{
    return float(load_real(1u, at));
}

/* `number` of [images, channels, size.x, size.y] */
ivec4 split(uint number, uint channels, ivec2 size)
{
    uint row = number / uint(size.y), plane = row / uint(size.x);
    return ivec4(plane / channels, plane % channels, row % uint(size.x), number % uint(size.y));
}

float expand(ivec4 at)
{
    ivec2 size = ivec2(params.in_sizes[0], params.in_sizes[1]);
    int depth = int(params.channels) * params.first[0] * params.first[1];
    float sum = weight(params.b1 + at.y);
    for (int i = 0; i < depth; i++) {
        int column = i % params.first[1], row = i / params.first[1] % params.first[0];
        ivec2 from = ivec2(at.z * params.first_steps[0] + row - params.first_start[0],
                           at.w * params.first_steps[1] + column - params.first_start[1]);
        if (any(greaterThanEqual(uvec2(from), uvec2(size))))
            continue;
        int channel = i / params.first[1] / params.first[0];
        sum += weight(params.w1 + at.y * depth + i) *
               float(load_real(0u, at.x * view(0).strides[0] + channel * view(0).strides[1] +
                                       from.x * view(0).strides[2] + from.y * view(0).strides[3]));
    }
    return bounded(sum, 0u);
}

float depthwise(ivec4 at)
{
    ivec2 image = ivec2(params.image[0], params.image[1]);
    int taps = params.window[0] * params.window[1], plane = (at.x * int(params.middle) + at.y) * image.x * image.y;
    float sum = weight(params.bd + at.y);
    for (int i = 0; i < taps; i++) {
        ivec2 from = ivec2(at.z * params.steps[0] + i / params.window[1] - params.pad[0],
                           at.w * params.steps[1] + i % params.window[1] - params.pad[1]);
        if (all(lessThan(uvec2(from), uvec2(image))))
            sum += weight(params.wd + at.y * taps + i) *
                   uintBitsToFloat(Words(scratch_at(4u * uint(plane + from.x * image.y + from.y))).v);
    }
    return bounded(sum, 1u);
}

float project(ivec4 at)
{
    ivec2 size = ivec2(params.out_sizes[0], params.out_sizes[1]);
    float sum = weight(params.b2 + at.y);
    for (int m = 0; m < int(params.middle); m++) {
        uint from = uint(((at.x * int(params.middle) + m) * size.x + at.z) * size.y + at.w);
        sum += weight(params.w2 + at.y * int(params.middle) + m) *
               uintBitsToFloat(Words(scratch_at(params.depthwise + 4u * from)).v);
    }
    return sum;
}

void main()
{
    ivec2 image = ivec2(params.image[0], params.image[1]), size = ivec2(params.out_sizes[0], params.out_sizes[1]);
    EACH_UNIT(number)
    {
        if (params.stage == EXPAND) {
            float e = expand(split(number, params.middle, image));
            Words(scratch_at(4u * number)).v = floatBitsToUint(e);
        } else if (params.stage == DEPTHWISE) {
            float d = depthwise(split(number, params.middle, size));
            Words(scratch_at(params.depthwise + 4u * number)).v = floatBitsToUint(d);
        } else {
            store_real(2u, at_element(2u, 2u, number), REAL(project(split(number, params.outputs, size))));
        }
    }
}
