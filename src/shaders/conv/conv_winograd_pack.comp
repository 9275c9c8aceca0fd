// SPDX-License-Identifier: Apache-2.0
/* First dispatch of conv_winograd.comp if windows are not packed on the host: the window w of an input and an output
 * channel becomes G w G^T, 4 x 4 numbers. Packed windows are in blocks of output channels; within them by input
 * channels, the 16 numbers, and output channels, zeros after the last. Tensors: as for conv_any.comp. */
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#define PARAMETERS conv_winograd_params
#define CONV       params.conv
#include "shaders/conv/conv_params.h"
#include "shaders/core/views.glsl"

void main()
{
    EACH_UNIT(number)
    {
        uint lane = number % CONV_WINOGRAD_CHANNELS, rest = number / CONV_WINOGRAD_CHANNELS;
        uint c = rest % CONV.in_group, n = rest / CONV.in_group * CONV_WINOGRAD_CHANNELS + lane;
        int from = int(n) * CONV.w[0] + int(c) * CONV.w[1];
        float rows[4][3]; /* G w */
        for (uint x = 0u; x < 3u; x++) {
            vec3 w = vec3(0.0);
            if (n < CONV.out_group)
                for (uint y = 0u; y < 3u; y++)
                    w[y] = load_real(1u, from + int(y) * CONV.w[3] + int(x) * CONV.w[4]);
            rows[0][x] = w.x;
            rows[1][x] = 0.5 * (w.x + w.y + w.z);
            rows[2][x] = 0.5 * (w.x - w.y + w.z);
            rows[3][x] = w.z;
        }
        for (uint y = 0u; y < 4u; y++) {
            vec3 g = vec3(rows[y][0], rows[y][1], rows[y][2]);
            vec4 u = vec4(g.x, 0.5 * (g.x + g.y + g.z), 0.5 * (g.x - g.y + g.z), g.z);
            for (uint x = 0u; x < 4u; x++)
                Words(scratch_at(4u * ((rest * 16u + y * 4u + x) * CONV_WINOGRAD_CHANNELS + lane))).v =
                    floatBitsToUint(u[x]);
        }
    }
}
