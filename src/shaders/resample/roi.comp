// SPDX-License-Identifier: Apache-2.0
/* KERN_ROI: one element of the result per invocation, sample by sample. Tensors: 0 corners, 1 images of the regions,
 * 2 X, 3 Y. */
#version 460
#extension GL_GOOGLE_include_directive : require
#define PARAMETERS roi_params
#include "shaders/resample/resample_params.h"
#include "shaders/core/views.glsl"
#include "shaders/resample/roi.glsl"

#define IMAGE 2u
#define OUT   3u

REAL pooled_value(Axis ax, Axis ay, int plane, UINT x[2], UINT y[2], REAL share)
{
    REAL sum = REAL(0), best = REAL(-INFINITY);
    for (UINT sy = y[0]; sy < y[1]; sy++) {
        Tap ty = tap_of(ay, sy);
        for (UINT sx = x[0]; sx < x[1]; sx++) {
            REAL value = value_at(IMAGE, plane, tap_of(ax, sx), ty);
            sum += value;
            best = value > best ? value : best;
        }
    }
    REAL outside = REAL(params.outside);
    if (params.mode == ROI_AVERAGE)
        return sum / (REAL(ax.per) * REAL(ay.per)) + (share < REAL(1) ? outside * (REAL(1) - share) : REAL(0));
    return params.mode == ROI_MAX && share < REAL(1) && outside > best ? outside : best;
}

void main()
{
    EACH_UNIT(number)
    {
        uint at[4], rest = number, image;
        int to = 0;
        Axis ax, ay;
        for (uint d = 4u; d-- > 0u;) {
            at[d] = rest % view(OUT).sizes[d];
            rest /= view(OUT).sizes[d];
            to += int(at[d]) * view(OUT).strides[d];
        }
        bool known = region_of(at[0], IMAGE, OUT, ax, ay, image);
        int plane = int(image) * view(IMAGE).strides[0] + int(at[1]) * view(IMAGE).strides[1];
        UINT x[2], y[2];
        samples_inside(ax, at[3], x[0], x[1]);
        samples_inside(ay, at[2], y[0], y[1]);
        REAL share = known ? share_of(ax, x[0], x[1]) * share_of(ay, y[0], y[1]) : REAL(0);
        REAL value = REAL(params.outside);
        if (share > REAL(0))
            value = pooled_value(ax, ay, plane, x, y, share);
        store_real(OUT, to, value);
    }
}
