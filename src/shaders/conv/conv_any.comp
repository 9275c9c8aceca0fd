// SPDX-License-Identifier: Apache-2.0
/* KERN_CONV of any kind: one element of the result per invocation. Tensors: 0 X, 1 W, then those of the parameters,
 * last Y. */
#version 460
#extension GL_GOOGLE_include_directive : require
#define PARAMETERS conv_params
#include "shaders/conv/conv_params.h"
#include "shaders/core/views.glsl"

layout(constant_id = 2) const uint INTEGER = 0;

/* The input position along dimension d that tap k contributes to output position `to`; -1 = none. */
int tap(uint d, int to, int k)
{
    int at;
    if (params.transposed == 0u) {
        at = to * params.steps[d] + k * params.dilations[d] - params.pad[d];
    } else {
        at = to + params.pad[d] - k * params.dilations[d];
        if (at < 0 || at % params.steps[d] != 0)
            return -1;
        at /= params.steps[d];
    }
    return at < params.in_sizes[d] ? at : -1;
}

int weight_at(uint d, int k)
{
    return (params.flip != 0u ? params.kernel[d] - 1 - k : k) * params.w[d + 2u];
}

/* The sum over the taps of one input channel, and of one position along the outer two dimensions of the window. */
void add_line(int x, int w, int to, int x_zero, int w_zero, inout REAL sum, inout int whole)
{
    for (int k = 0; k < params.kernel[2]; k++) {
        int from = tap(2u, to, k);
        if (from < 0)
            continue;
        int at = x + from * params.x[4], weight = w + weight_at(2u, k);
        if (INTEGER != 0u)
            whole += (int(load_int(0u, at)) - x_zero) * (int(load_int(1u, weight)) - w_zero);
        else
            sum += load_real(0u, at) * load_real(1u, weight);
    }
}

void main()
{
    uint y = header.inputs;
    EACH_UNIT(number)
    {
        int at[3];
        uint rest = number;
        for (uint d = 3u; d-- > 0u;) {
            at[d] = int(rest % uint(params.out_sizes[d]));
            rest /= uint(params.out_sizes[d]);
        }
        uint channel = rest % params.out_channels, image = rest / params.out_channels;
        uint group = channel / params.out_group, within = channel % params.out_group;
        int x_zero = 0, w_zero = 0, whole = 0;
        if (INTEGER != 0u && params.x_zero >= 0)
            x_zero = int(load_int(uint(params.x_zero), 0));
        if (INTEGER != 0u && params.w_zero >= 0)
            w_zero = int(load_int(uint(params.w_zero), int(channel) * params.zero_step));
        REAL sum = REAL(0);
        for (uint c = 0u; c < params.in_group; c++) {
            REAL part = REAL(0); /* summed separately, which keeps rounding errors small */
            int from = int(group * params.in_group + c), x = int(image) * params.x[0] + from * params.x[1];
            int w = params.transposed != 0u ? from * params.w[0] + int(within) * params.w[1]
                                            : int(channel) * params.w[0] + int(c) * params.w[1];
            for (int k = 0; k < params.kernel[0] * params.kernel[1]; k++) {
                int k0 = k / params.kernel[1], k1 = k % params.kernel[1];
                int from0 = tap(0u, at[0], k0), from1 = tap(1u, at[1], k1);
                if (from0 >= 0 && from1 >= 0)
                    add_line(x + from0 * params.x[2] + from1 * params.x[3], w + weight_at(0u, k0) + weight_at(1u, k1),
                             at[2], x_zero, w_zero, part, whole);
            }
            sum += part;
        }
        int to = int(image) * params.y[0] + int(channel) * params.y[1];
        for (uint d = 0u; d < 3u; d++)
            to += at[d] * params.y[d + 2u];
        if (INTEGER != 0u) {
            if (params.bias >= 0)
                whole += int(load_int(uint(params.bias), int(channel) * params.bias_step));
            store_int(y, to, INT(whole));
        } else {
            if (params.bias >= 0)
                sum += load_real(uint(params.bias), int(channel) * params.bias_step);
            store_real(y, to, sum);
        }
    }
}
