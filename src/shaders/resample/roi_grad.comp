// SPDX-License-Identifier: Apache-2.0
/* KERN_ROI_GRAD: the gradient of the image, a plane per invocation, its sums in scratch memory; or, with
 * params.regions, the gradient of the corners, a region per invocation. So sums have the reference's order. Tensors: 0
 * corners, 1 images of the regions, 2 gradient of the pooled values, the others according to the parameters. */
#version 460
#extension GL_GOOGLE_include_directive : require
#define PARAMETERS roi_params
#include "shaders/resample/resample_params.h"
#include "shaders/core/views.glsl"
#include "shaders/resample/roi.glsl"

#define POOLED 2u

layout(buffer_reference, std430, buffer_reference_align = 8) buffer Sums { REAL v; };

REAL corner_sums[4];
uint plane_number;

Sums sum_at(uint pixel_number)
{
    uint pixels = view(params.sizes_image).sizes[2] * view(params.sizes_image).sizes[3];
    /* elements, not bytes, may pass 2^32 */
    return Sums(add64(scratch_at(0u), mul64(8u, uvec2(plane_number * pixels + pixel_number, 0u))));
}

/* One sample hands on `gradient`. */
void hand_on(int plane, Tap tx, Tap ty, REAL gradient)
{
    for (uint corner = 0u; corner < 4u; corner++) {
        bool right = (corner & 1u) != 0u, below = corner > 1u;
        REAL wx = right ? tx.w : REAL(1) - tx.w, wy = below ? ty.w : REAL(1) - ty.w;
        int ix = right ? tx.i1 : tx.i0, iy = below ? ty.i1 : ty.i0;
        if (params.regions == 0u) {
            Sums sum = sum_at(uint(iy) * view(params.sizes_image).sizes[3] + uint(ix));
            if (wx * wy != REAL(0))
                sum.v += gradient * wx * wy;
            continue;
        }
        REAL value = load_real(params.in_image, plane + iy * view(params.in_image).strides[2] +
                                                    ix * view(params.in_image).strides[3]);
        REAL dx = REAL(0), dy = REAL(0);
        if (tx.moves && wy != REAL(0))
            dx = (right ? value : -value) * wy * gradient * REAL(params.scale_x);
        if (ty.moves && wx != REAL(0))
            dy = (below ? value : -value) * wx * gradient * REAL(params.scale_y);
        corner_sums[0] += dx * (REAL(1) - tx.part);
        corner_sums[1] += dy * (REAL(1) - ty.part);
        corner_sums[2] += dx * tx.part;
        corner_sums[3] += dy * ty.part;
    }
}

/* The samples of one output: all of them, or the first of the largest. */
void run_output(Axis ax, Axis ay, uint ox, uint oy, int plane, REAL gradient)
{
    UINT x[2], y[2];
    Tap best_x = tap_of(ax, UINT(0)), best_y = best_x;
    REAL best = REAL(-INFINITY);
    bool average = params.mode == ROI_AVERAGE;
    samples_inside(ax, ox, x[0], x[1]);
    samples_inside(ay, oy, y[0], y[1]);
    UINT count = (x[1] - x[0]) * (y[1] - y[0]), across = x[1] - x[0];
    /* one more round propagates the maximum */
    for (UINT s = UINT(0); s <= count; s++) {
        bool last = s == count;
        if (last && (average || !(best > REAL(-INFINITY))))
            break;
        Tap tx = best_x, ty = best_y;
        if (!last) {
            tx = tap_of(ax, x[0] + s % across);
            ty = tap_of(ay, y[0] + s / across);
        }
        if (average || last) {
            hand_on(plane, tx, ty, average ? gradient / (REAL(ax.per) * REAL(ay.per)) : gradient);
            continue;
        }
        REAL value = value_at(params.in_image, plane, tx, ty);
        if (value > best) {
            best = value;
            best_x = tx;
            best_y = ty;
        }
    }
}

/* All outputs of one channel of one region; of image `wanted` only, unless the gradient of regions is computed. */
void run_region(uint region, uint channel, uint wanted)
{
    Axis ax, ay;
    uint image;
    if (!region_of(region, params.sizes_image, POOLED, ax, ay, image) || (params.regions == 0u && image != wanted))
        return;
    int plane = 0;
    if (params.in_image != ROI_ABSENT_TENSOR)
        plane = int(image) * view(params.in_image).strides[0] + int(channel) * view(params.in_image).strides[1];
    for (uint oy = 0u; oy < view(POOLED).sizes[2]; oy++)
        for (uint ox = 0u; ox < view(POOLED).sizes[3]; ox++)
            run_output(ax, ay, ox, oy, plane,
                       load_real(POOLED, int(region) * view(POOLED).strides[0] +
                                             int(channel) * view(POOLED).strides[1] +
                                             int(oy) * view(POOLED).strides[2] + int(ox) * view(POOLED).strides[3]));
}

void run_plane(uint unit)
{
    uint to = params.out_image, width = view(to).sizes[3], pixels = view(to).sizes[2] * width;
    uint channels = view(to).sizes[1], image = unit / channels, channel = unit % channels;
    plane_number = unit;
    for (uint i = 0u; i < pixels; i++)
        sum_at(i).v = REAL(0);
    for (uint region = 0u; region < view(POOLED).sizes[0]; region++)
        run_region(region, channel, image);
    int plane = int(image) * view(to).strides[0] + int(channel) * view(to).strides[1];
    for (uint i = 0u; i < pixels; i++)
        store_real(to, plane + int(i / width) * view(to).strides[2] + int(i % width) * view(to).strides[3],
                   sum_at(i).v);
}

void main()
{
    EACH_UNIT(unit)
    {
        if (params.regions == 0u) {
            run_plane(unit);
            continue;
        }
        for (uint i = 0u; i < 4u; i++)
            corner_sums[i] = REAL(0);
        for (uint channel = 0u; channel < view(POOLED).sizes[1]; channel++)
            run_region(unit, channel, 0u);
        for (uint i = 0u; i < 4u; i++)
            store_real(params.out_corners,
                       int(unit) * view(params.out_corners).strides[0] + int(i) * view(params.out_corners).strides[1],
                       corner_sums[i]);
    }
}
