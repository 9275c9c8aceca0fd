/* SPDX-License-Identifier: Apache-2.0 */
/* From sums to results of convolutions: eight channels of a pixel, which are a vector of Y. */
#pragma once
#include "shaders/cuda/conv_meta.cuh"

DI float4 exchange(float v0, float v1, float v2, float v3, int lane)
{
    const uint4 v = exchange(__float_as_uint(v0), __float_as_uint(v1), __float_as_uint(v2), __float_as_uint(v3), lane);
    return make_float4(__uint_as_float(v.x), __uint_as_float(v.y), __uint_as_float(v.z), __uint_as_float(v.w));
}

DI void unpack8(uint4 from, float (&v)[8])
{
    const float2 x = unpack(from.x), y = unpack(from.y), z = unpack(from.z), w = unpack(from.w);
    v[0] = x.x, v[1] = x.y, v[2] = y.x, v[3] = y.y, v[4] = z.x, v[5] = z.y, v[6] = w.x, v[7] = w.y;
}

/* Eight channels of a pixel: what is known before their sums are. */
struct unit {
    uint4 bias, residual, second;
};

/* Its operands of a step, which are a vector. */
DI uint4 load_operands(const conv_meta_params &p, u32 step, const spot &at, int channel)
{
    return *(const uint4 *)((const __half *)p.epilogue.operands[step] + (operand_of(p.epilogue.steps[step], at) + channel));
}

/* More than two such steps are seldom: a function of its own. */
static __device__ __noinline__ uint4 load_late(const conv_meta_params &p, u32 step, u32 pixel, int channel)
{
    return load_operands(p, step, spot_of(p, pixel), channel);
}

DI void finish(const conv_meta_params &p, float (&v)[8], const unit &u, u32 pixel, int y_at, int channel)
{
    float b[8];
    unpack8(u.bias, b);
#pragma unroll
    for (int i = 0; i < 8; i++)
        v[i] += b[i];
#pragma unroll 1
    for (u32 i = 0; i < p.epilogue.count; i++) {
        if (!(p.vectors >> i & 1)) {
            run_step(p, i, v, pixel, y_at, channel);
            continue;
        }
        unpack8(i + 1 == p.residual ? u.residual : i + 1 == p.second ? u.second : load_late(p, i, pixel, channel), b);
        run_operands(p, i, v, b);
    }
    *(uint4 *)((__half *)p.y + y_at) = make_uint4(pack(v[0], v[1]), pack(v[2], v[3]), pack(v[4], v[5]), pack(v[6], v[7]));
}
