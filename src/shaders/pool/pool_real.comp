// SPDX-License-Identifier: Apache-2.0
/* KERN_POOL: average and Lp. Tensors: 0 X, 1 Y. */
#version 460
#extension GL_GOOGLE_include_directive : require
#define UNIFORM_BLOCK
#define PARAMETERS pool_params
#include "shaders/pool/pool_params.h"
#include "shaders/core/views.glsl"
#include "shaders/core/math_f64.glsl"
#include "shaders/core/lp.glsl"
#include "shaders/pool/windows.glsl"

struct Total {
    REAL sum;
};

void combine(inout Total a, Total b)
{
    a.sum += b.sum;
}

#include "shaders/reduce/lanes.glsl"

REAL add_up(Window w, uint count)
{
    Total total = Total(REAL(0.0));
    uint position;
    EACH_BLOCK(i, 0u, count)
    {
        Total block = Total(REAL(0.0));
        EACH_IN_BLOCK(k, i, count)
        {
            REAL x = load_real(0u, tap_at(w, k, position));
            block.sum += params.mode == POOL_LP ? lp_term(x, params.p) : x;
        }
        combine(total, block);
    }
    return across_lanes(total).sum;
}

void main()
{
    EACH_GROUP_UNIT(unit)
    {
        uint where[5], number = unit * slots() + slot();
        bool there = number < elements_of(1u);
        coordinates(1u, number, where);
        Window w = window_of(where);
        REAL sum = add_up(w, there ? taps_of(w) : 0u), count = REAL(1.0);
        if (!there || lane() != 0u)
            continue;
        for (uint d = 0u; d < 3u; d++)
            count *= average_count(d, w.count[d]);
        if (params.mode == POOL_LP)
            sum = lp_root(sum, params.p);
        else
            sum = count > REAL(0.0) ? sum / count : REAL(0.0);
        store_real(1u, at_coordinates(1u, where), sum);
    }
}
