// SPDX-License-Identifier: Apache-2.0
/* KERN_SAMPLE: one element of the result per invocation, in the order of its points or, if channels are neighbours in X,
 * of its channels. Tensors: 0 X, 1 positions, 2 Y. The rule is that of kernels/resample/sample.h. */
#version 460
#extension GL_GOOGLE_include_directive : require
#define UNIFORM_BLOCK
#define PARAMETERS sample_params
#include "shaders/resample/resample_params.h"
#include "shaders/core/views.glsl"

REAL padded(REAL at, REAL size)
{
    if (params.padding == SAMPLE_ZEROS) {
        at = at > REAL(-2) ? at : REAL(-2);
        return at < size + REAL(1) ? at : size + REAL(1);
    }
    if (params.padding != SAMPLE_EDGE) {
        precise REAL low = params.padding == SAMPLE_MIRROR ? REAL(-0.5) : REAL(0), range = size - REAL(1) - REAL(2) * low;
        precise REAL u = abs(at - low);
        u -= floor_of(u / (REAL(2) * range)) * (REAL(2) * range);
        at = low + (u > range ? REAL(2) * range - u : u);
    }
    at = at > REAL(0) ? at : REAL(0);
    return at < size - REAL(1) ? at : size - REAL(1);
}

/* In pixels. */
REAL position(uint axis, int grid)
{
    REAL size = REAL(params.in_sizes[axis]);
    precise REAL at = load_real(1u, grid + int(2u - axis) * params.grid[4]);
    if (params.unit == SAMPLE_CENTRES)
        at = (at + REAL(1)) * REAL(0.5) * (size - REAL(1));
    if (params.unit == SAMPLE_EDGES)
        at = ((at + REAL(1)) * size - REAL(1)) * REAL(0.5);
    return padded(at, size);
}

REAL sample_at(int plane, int grid)
{
    ivec3 base = ivec3(0);
    REAL after[3] = REAL[3](REAL(0), REAL(0), REAL(0)), sum = REAL(0);
    for (uint d = params.first; d < 3u; d++) {
        REAL at = position(d, grid), whole = params.linear != 0u ? floor_of(at) : rint_of(at);
        base[d] = int(whole);
        after[d] = params.linear != 0u ? at - whole : REAL(0);
    }
    for (uint tap = 0u; tap < params.taps; tap++) {
        REAL weight = REAL(1);
        int at = plane;
        bool inside = true;
        for (uint d = 0u; d < 3u; d++) {
            uint next = tap >> 2u - d & 1u;
            int pixel = base[d] + int(next);
            weight *= next != 0u ? after[d] : REAL(1) - after[d];
            inside = inside && pixel >= 0 && pixel < int(params.in_sizes[d]);
            at += pixel * params.x[2u + d];
        }
        if (inside)
            sum += weight * load_real(0u, at);
    }
    return sum;
}

void main()
{
    EACH_UNIT(number)
    {
        uint channel = 0u, left = number;
        if (params.channels_last != 0u) {
            left = divide(number, params.by_channels);
            channel = number - left * params.by_channels.size;
        }
        uint line = divide(left, params.by_out[2]), plane = divide(line, params.by_out[1]);
        uint image = divide(plane, params.by_out[0]);
        ivec3 at = ivec3(plane - image * params.by_out[0].size, line - plane * params.by_out[1].size,
                         left - line * params.by_out[2].size);
        if (params.channels_last == 0u) {
            uint all = image;
            image = divide(all, params.by_channels);
            channel = all - image * params.by_channels.size;
        }
        int grid = int(image) * params.grid[0] + at.x * params.grid[1] + at.y * params.grid[2] + at.z * params.grid[3];
        int to = int(image) * params.y[0] + int(channel) * params.y[1] + at.x * params.y[2] + at.y * params.y[3] +
                 at.z * params.y[4];
        store_real(2u, to, sample_at(int(image) * params.x[0] + int(channel) * params.x[1], grid));
    }
}
