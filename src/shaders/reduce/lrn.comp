// SPDX-License-Identifier: Apache-2.0
/* KERN_LRN: one element per invocation. Tensors: 0 X, 1 Y. */
#version 460
#extension GL_GOOGLE_include_directive : require
#define PARAMETERS lrn_params
#include "shaders/reduce/reduce_params.h"
#include "shaders/core/views.glsl"
#include "shaders/core/math_f64.glsl"

/* X's element `at` and the sum of squares over the window around coordinates `where`, clipped at the edges. */
REAL squares_around(uint where[RANK_MAX], int at)
{
    uint size[RANK_MAX], count = 1u, before = (params.local_size - 1u) / 2u;
    REAL sum = REAL(0.0);
    for (uint d = params.first; d <= params.last; d++) {
        uint here = where[d], cut = min(here, before), rest = view(0).sizes[d] - here;
        size[d] = cut + min(rest, params.local_size - before);
        at -= int(cut) * view(0).strides[d];
        count *= size[d];
    }
    for (uint i = 0u; i < count; i++) {
        uint left = i;
        int tap = at;
        for (uint d = params.last + 1u; d-- > params.first;) {
            tap += int(left % size[d]) * view(0).strides[d];
            left /= size[d];
        }
        REAL x = load_real(0u, tap);
        sum += x * x;
    }
    return sum;
}

REAL power(REAL a, REAL b)
{
#ifdef HAVE_FLOAT64
    return exp_of(b * log_of(a));
#else
    return pow_of(a, b);
#endif
}

void main()
{
    EACH_UNIT(number)
    {
        uint where[RANK_MAX], left = number;
        int x = 0;
        for (uint d = view(0).rank; d-- > 0u;) {
            where[d] = left % view(0).sizes[d];
            left /= view(0).sizes[d];
            x += int(where[d]) * view(0).strides[d];
        }
        REAL base = REAL(params.bias) + REAL(params.alpha) / REAL(params.local_size) * squares_around(where, x);
        store_real(1u, at_element(1u, 0u, number), load_real(0u, x) / power(base, REAL(params.beta)));
    }
}
