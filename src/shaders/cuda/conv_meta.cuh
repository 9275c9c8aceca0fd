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

/* A pixel of all images. */
struct spot {
    int image, row, column;
};

DI spot spot_of(const conv_meta_params &p, u32 pixel)
{
    const u32 image = divide(pixel, p.by_pixels), within = pixel - image * p.by_pixels.size;
    const u32 row = divide(within, p.by_column);
    return { (int)image, (int)row, (int)(within - row * p.by_column.size) };
}

/* Where it is in Y. */
DI int result_of(const conv_meta_params &p, const spot &at)
{
    return at.image * p.y_image + at.row * p.y_row + at.column * p.y_column;
}

DI int result_of(const conv_meta_params &p, u32 pixel)
{
    return result_of(p, spot_of(p, pixel));
}

/* Where it is in the operand of a step. */
DI int operand_of(const meta_step &s, const spot &at)
{
    return at.image * s.strides[0] + at.row * s.strides[2] + at.column * s.strides[3];
}

/* Its window: where that begins in X, and whether it is there at all. */
struct window {
    int at, top, left;
};

DI window window_of(const conv_meta_params &p, u32 pixel)
{
    const spot at = spot_of(p, pixel);
    const int top = at.row * p.step_y - p.pad_y, left = at.column * p.step_x - p.pad_x;
    return { at.image * p.x_image + top * p.x_row + left * p.x_column, pixel < p.m ? top : -(1 << 29), left };
}

static __device__ __noinline__ float code_run(u32 code, float a, float b, float p, float q)
{
    return meta_step_run(code, a, b, p, q);
}

/* Steps of the epilogue beyond additions and bounds are seldom: a function of its own. */
static __device__ __noinline__ float step_run(const conv_meta_params &p, u32 i, float value, u32 pixel, int y_at, int channel)
{
    const meta_step &s = p.epilogue.steps[i];
    float b = s.p;
    if (s.type) {
        int at = s.place == META_PLACE_RESULT ? y_at : channel * s.strides[1];
        if (s.place == META_PLACE_STRIDED)
            at += operand_of(s, spot_of(p, pixel));
        b = meta_load(p.epilogue.operands[i], s.type, at);
    }
    return meta_step_run(s.code, value, b, s.p, s.q);
}

/* A step without a tensor on four results, which become FLOAT16. */
static __device__ __noinline__ float4 curve_run(u32 code, float4 v, float p, float q)
{
    if (code == META_SWISH)
        return make_float4(meta_swish(v.x, p, q), meta_swish(v.y, p, q), meta_swish(v.z, p, q), meta_swish(v.w, p, q));
    if (code == META_MULADD)
        return make_float4(fmaf(v.x, p, q), fmaf(v.y, p, q), fmaf(v.z, p, q), fmaf(v.w, p, q));
    if (code == META_GELU)
        return make_float4(short_gelu(v.x), short_gelu(v.y), short_gelu(v.z), short_gelu(v.w));
    return make_float4(code_run(code, v.x, p, p, q), code_run(code, v.y, p, p, q), code_run(code, v.z, p, p, q),
                       code_run(code, v.w, p, p, q));
}

/* Step i of the epilogue on N neighbouring channels: bounds are not in a function. */
template <int N> DI void run_step(const conv_meta_params &p, u32 i, float (&v)[N], u32 pixel, int y_at, int channel)
{
    const meta_step &s = p.epilogue.steps[i];
    const float low = s.p, high = s.q;
    if (s.code == META_RELU) {
#pragma unroll
        for (int j = 0; j < N; j++)
            v[j] = v[j] < 0 ? 0.0f : v[j];
    } else if (s.code == META_CLAMP) {
#pragma unroll
        for (int j = 0; j < N; j++)
            v[j] = fminf(fmaxf(v[j], low), high);
    } else if (s.code == META_MIN && !s.type) {
#pragma unroll
        for (int j = 0; j < N; j++)
            v[j] = fminf(v[j], low);
    } else if (s.code == META_MAX && !s.type) {
#pragma unroll
        for (int j = 0; j < N; j++)
            v[j] = fmaxf(v[j], low);
    } else if (!s.type) {
#pragma unroll
        for (int j = 0; j < N; j += 4) {
            const float4 out = curve_run(s.code, make_float4(v[j], v[j + 1], v[j + 2], v[j + 3]), low, high);
            v[j] = out.x, v[j + 1] = out.y, v[j + 2] = out.z, v[j + 3] = out.w;
        }
    } else {
#pragma unroll
        for (int j = 0; j < N; j++)
            v[j] = step_run(p, i, v[j], pixel, y_at + j, channel + j);
    }
}

/* The same with operands that are there already. */
template <int N> DI void run_operands(const conv_meta_params &p, u32 i, float (&v)[N], const float (&b)[N])
{
    const meta_step &s = p.epilogue.steps[i];
    if (s.code == META_ADD) {
#pragma unroll
        for (int j = 0; j < N; j++)
            v[j] += b[j];
    } else {
#pragma unroll
        for (int j = 0; j < N; j++)
            v[j] = code_run(s.code, v[j], b[j], s.p, s.q);
    }
}

template <int N> struct values {
    float v[N];
};

/* From sums to results of N channels of a pixel, one by one: groups of STEP channels each, eight apart. Those from `end` on
 * are not there. */
template <int N, int STEP>
static __device__ __noinline__ void store_apart(const conv_meta_params &p, values<N> sums, u32 pixel, u32 first, u32 end)
{
    const spot at = spot_of(p, pixel);
    const auto channel = [first](int j) { return first + j / STEP * 8 + j % STEP; };
    float v[N], b[N];
#pragma unroll
    for (int j = 0; j < N; j++)
        v[j] = sums.v[j] + (p.bias && channel(j) < end ? __half2float(((const __half *)p.bias)[(int)channel(j) * p.bias_step]) : 0.0f);
#pragma unroll 1
    for (u32 i = 0; i < p.epilogue.count; i++) {
        const meta_step &s = p.epilogue.steps[i];
        const int from = operand_of(s, at);
        if (!s.type) {
            run_step(p, i, v, 0, 0, 0);
            continue;
        }
#pragma unroll
        for (int j = 0; j < N; j++) {
            const int operand = from + (int)channel(j) * s.strides[1];
            b[j] = channel(j) >= end          ? 0.0f
                   : s.type == META_FLOAT16 ? __half2float(((const __half *)p.epilogue.operands[i])[operand])
                                            : meta_load(p.epilogue.operands[i], s.type, operand);
        }
        run_operands(p, i, v, b);
    }
    const int y = result_of(p, at);
#pragma unroll
    for (int j = 0; j < N; j++)
        if (channel(j) < end)
            ((unsigned short *)p.y)[y + (int)channel(j) * p.y_channel] = (unsigned short)pack(v[j], 0.0f);
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
