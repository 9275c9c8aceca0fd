// SPDX-License-Identifier: Apache-2.0
/* KERN_QGEMM: one element of the result per invocation. Tensors: 0 X, 1 codes, 2 scales, [3 zeros], Y. */
#version 460
#extension GL_GOOGLE_include_directive : require
#define PARAMETERS qgemm_params
#include "shaders/gemm/qgemm_params.h"
#include "shaders/core/views.glsl"

#define COLUMNS 16u /* of a panel */

void main()
{
    uint y = header.inputs, last = view(y).rank - 1u;
    int step = view(0).strides[last];
    EACH_UNIT(number)
    {
        uint n = number % view(y).sizes[last], panel = n / COLUMNS, column = n % COLUMNS, rest = number;
        int x = 0, to = 0;
        for (uint d = last + 1u; d-- > 0u;) {
            int at = int(rest % view(y).sizes[d]);
            rest /= view(y).sizes[d];
            to += at * view(y).strides[d];
            x += d == last ? 0 : at * view(0).strides[d];
        }
        REAL sum = REAL(0);
        for (uint g = 0u; g < params.groups; g++) {
            uint group = panel * params.groups + g, at = group * COLUMNS + column, first = g * params.block;
            uint rows = min(params.block, params.k - first), code = group * params.depth * COLUMNS + column * params.word;
            REAL scale = load_real(2u, int(at));
            int zero = params.zeros < 0 ? 0 : int(load_int(3u, int(at)));
            REAL part = REAL(0);
            for (uint row = 0u; row < rows; row++) {
                uint within = row % params.word;
                int q = int(load_int(1u, int(code + (row - within) * COLUMNS + within))) - zero;
                part += load_real(0u, x + int(first + row) * step) * (REAL(q) * scale);
            }
            sum += part;
        }
        store_real(y, to, sum);
    }
}
