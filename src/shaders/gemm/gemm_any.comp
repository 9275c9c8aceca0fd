// SPDX-License-Identifier: Apache-2.0
/* KERN_GEMM of any types: one element of the result per invocation. Tensors: 0 A, 1 B, then those of the parameters,
 * last Y. */
#version 460
#extension GL_GOOGLE_include_directive : require
#define PARAMETERS gemm_params
#include "shaders/gemm/gemm_params.h"
#include "shaders/core/views.glsl"

layout(constant_id = 2) const uint INTEGER = 0;

#define CHUNK 32u /* terms that are summed separately, which keeps rounding errors of long sums small */

REAL real_product(int a, int b, int a_step, int b_step, uint depth)
{
    REAL sum = REAL(0);
    for (uint first = 0u; first < depth; first += CHUNK) {
        REAL part = REAL(0);
        for (uint k = first; k < min(first + CHUNK, depth); k++)
            part += load_real(0u, a + int(k) * a_step) * load_real(1u, b + int(k) * b_step);
        sum += part;
    }
    return sum;
}

int zero_point(int tensor, uint y, uint number)
{
    return tensor < 0 ? 0 : int(load_int(uint(tensor), at_element(uint(tensor), y, number)));
}

void main()
{
    uint y = header.inputs, rank = view(y).rank, depth = view(0).sizes[rank - 1u];
    int a_step = view(0).strides[rank - 1u], b_step = view(1).strides[rank - 2u];
    EACH_UNIT(number)
    {
        int a = 0, b = 0, to = 0;
        uint rest = number;
        for (uint d = rank; d-- > 0u;) {
            int at = int(rest % view(y).sizes[d]);
            rest /= view(y).sizes[d];
            to += at * view(y).strides[d];
            if (d != rank - 1u)
                a += at * view(0).strides[d];
            if (d != rank - 2u)
                b += at * view(1).strides[d];
        }
        if (INTEGER != 0u) {
            int a_zero = zero_point(params.a_zero, y, number), b_zero = zero_point(params.b_zero, y, number), sum = 0;
            for (uint k = 0u; k < depth; k++)
                sum += (int(load_int(0u, a + int(k) * a_step)) - a_zero) *
                       (int(load_int(1u, b + int(k) * b_step)) - b_zero);
            store_int(y, to, INT(sum));
            continue;
        }
        REAL value = REAL(params.alpha) * real_product(a, b, a_step, b_step, depth);
        if (params.c >= 0)
            value += REAL(params.beta) * load_real(uint(params.c), at_element(uint(params.c), y, number));
        store_real(y, to, value);
    }
}
