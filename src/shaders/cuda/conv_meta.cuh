// SPDX-License-Identifier: Apache-2.0
/* What kernels of convolutions share. */
#pragma once
#include "shaders/cuda/conv_meta_params.h"
#include "shaders/cuda/epilogue.cuh"

#define DI static __device__ __forceinline__

DI u32 divide(u32 n, const conv_meta_divisor &by)
{
    return (__umulhi(n, by.factor) + n) >> by.shift;
}

/* Zeros where there is nothing. */
DI uint4 load16(const void *from, bool there)
{
    uint4 v;
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %5, 0;\nmov.b32 %0, 0;\nmov.b32 %1, 0;\nmov.b32 %2, 0;\nmov.b32 %3, 0;\n"
                 "@p ld.global.nc.L2::128B.v4.u32 {%0, %1, %2, %3}, [%4];\n}\n"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(from), "r"((int)there));
    return v;
}

DI void copy16(u32 to, const void *from, bool there)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(there ? 16 : 0) : "memory");
}

DI float2 unpack(u32 v)
{
    return __half22float2(*(const __half2 *)&v);
}

DI u32 pack(float low, float high)
{
    const __half2 v = __floats2half2_rn(low, high);
    return *(const u32 *)&v;
}

/* Lane t of four gets number t of each of them. */
DI uint4 exchange(u32 v0, u32 v1, u32 v2, u32 v3, int lane)
{
    const bool odd = lane & 1, high = lane & 2;
    u32 a = __shfl_xor_sync(~0u, odd ? v0 : v1, 1), b = __shfl_xor_sync(~0u, odd ? v2 : v3, 1);
    v0 = odd ? a : v0, v1 = odd ? v1 : a, v2 = odd ? b : v2, v3 = odd ? v3 : b;
    a = __shfl_xor_sync(~0u, high ? v0 : v2, 2), b = __shfl_xor_sync(~0u, high ? v1 : v3, 2);
    return make_uint4(high ? a : v0, high ? b : v1, high ? v2 : a, high ? v3 : b);
}

/* Steps of the epilogue beyond additions and bounds are seldom: a function of its own. */
static __device__ __noinline__ float step_run(const meta_epilogue &e, u32 i, float value, int y_at, int channel)
{
    const meta_step &s = e.steps[i];
    float b = s.p;
    if (s.type)
        b = meta_load(e.operands[i], s.type,
                      s.place == META_PLACE_RESULT    ? y_at
                      : s.place == META_PLACE_CHANNEL ? channel * s.stride
                                                      : 0);
    return meta_step_run(s.code, value, b, s.p, s.q);
}

/* Step i of the epilogue on N neighbouring channels: bounds are not in a function. */
template <int N> DI void run_step(const meta_epilogue &e, u32 i, float (&v)[N], int y_at, int channel)
{
    const meta_step &s = e.steps[i];
    const float p = s.p, q = s.q;
    if (s.code == META_RELU) {
#pragma unroll
        for (int j = 0; j < N; j++)
            v[j] = v[j] < 0 ? 0.0f : v[j];
    } else if (s.code == META_CLAMP) {
#pragma unroll
        for (int j = 0; j < N; j++)
            v[j] = fminf(fmaxf(v[j], p), q);
    } else if (s.code == META_MIN && !s.type) {
#pragma unroll
        for (int j = 0; j < N; j++)
            v[j] = fminf(v[j], p);
    } else if (s.code == META_MAX && !s.type) {
#pragma unroll
        for (int j = 0; j < N; j++)
            v[j] = fmaxf(v[j], p);
    } else {
#pragma unroll
        for (int j = 0; j < N; j++)
            v[j] = step_run(e, i, v[j], y_at + j, channel + j);
    }
}

/* A pixel of all images: where its window begins in X, and whether it is there at all. */
struct window {
    int at, top, left;
};

DI window window_of(const conv_meta_params &p, u32 pixel)
{
    const u32 image = divide(pixel, p.by_pixels), within = pixel - image * p.by_pixels.size;
    const u32 row = divide(within, p.by_column), column = within - row * p.by_column.size;
    const int top = (int)row * p.step_y - p.pad_y, left = (int)column * p.step_x - p.pad_x;
    return { (int)image * p.x_image + top * p.x_row + left * p.x_column, pixel < p.m ? top : -(1 << 29), left };
}

/* Where it is in Y. */
DI int result_of(const conv_meta_params &p, u32 pixel)
{
    const u32 image = divide(pixel, p.by_pixels), within = pixel - image * p.by_pixels.size;
    const u32 row = divide(within, p.by_column), column = within - row * p.by_column.size;
    return (int)image * p.y_image + (int)row * p.y_row + (int)column * p.y_column;
}

/* Element k of what is summed: how far from the window's beginning. */
struct tap {
    int offset, dy, dx;
};

DI tap tap_of(const conv_meta_params &p, u32 k)
{
    const u32 number = divide(k, p.by_channels), line = divide(number, p.by_line);
    const int c = (int)(k - number * p.by_channels.size), dy = (int)line * p.dilation_y;
    const int dx = (int)(number - line * p.by_line.size) * p.dilation_x;
    return { c * p.x_channel + dy * p.x_row + dx * p.x_column, dy, dx };
}

DI bool is_inside(const conv_meta_params &p, const window &w, const tap &t)
{
    return (u32)(w.top + t.dy) < (u32)p.in_height && (u32)(w.left + t.dx) < (u32)p.in_width;
}
