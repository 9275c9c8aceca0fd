// SPDX-License-Identifier: Apache-2.0
/* KERN_POOL: average and Lp, one window per invocation. Tensors: 0 X, 1 Y. */
#version 460
#extension GL_GOOGLE_include_directive : require
#define PARAMETERS pool_params
#include "shaders/pool/pool_params.h"
#include "shaders/core/views.glsl"
#include "shaders/core/math_f64.glsl"
#include "shaders/core/lp.glsl"
#include "shaders/pool/windows.glsl"

#define BLOCK 16u

/* Long sums are sums of sums: that is more exact. */
REAL add_up(Window w)
{
    uint count = taps_of(w), position;
    REAL sum = REAL(0.0);
    for (uint i = 0u; i < count;) {
        REAL block = REAL(0.0);
        for (uint end = min(i + BLOCK, count); i < end; i++) {
            REAL x = load_real(0u, tap_at(w, i, position));
            block += params.mode == POOL_LP ? lp_term(x, params.p) : x;
        }
        sum += block;
    }
    return sum;
}

void main()
{
    EACH_UNIT(number)
    {
        uint where[5];
        coordinates(1u, number, where);
        Window w = window_of(where);
        REAL sum = add_up(w), count = REAL(1.0);
        for (uint d = 0u; d < 3u; d++)
            count *= average_count(d, w.count[d]);
        if (params.mode == POOL_LP)
            sum = lp_root(sum, params.p);
        else
            sum = count > REAL(0.0) ? sum / count : REAL(0.0);
        store_real(1u, at_coordinates(1u, where), sum);
    }
}
