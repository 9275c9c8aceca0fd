// SPDX-License-Identifier: Apache-2.0
/* Convolutions of bytes with mma.sync, as conv_mma.cu: operands go from memory into fragments, 16 bytes a lane, and WK warps
 * of a block each sum a part of the depth. Bytes without a sign lose 128 on the way, as their zero point does; what zero
 * points make of the sums, x and w that are added up besides, is taken off in the end. */
#include "shaders/cuda/conv_meta.cuh"

#define THREADS  (32 * WM * WK)
#define BM       (WM * MT * 16)
#define BN       (NT * 8)
#define NUMBER   int
#include "shaders/cuda/parts.cuh"

#define VECTOR   16           /* elements of a load */
#define ROUND    (4 * VECTOR)  /* of the depth, of a warp */

extern __shared__ int4 shared_memory[];

DI void multiply(int (&d)[4], u32 a0, u32 a1, u32 a2, u32 a3, u32 b0, u32 b1)
{
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};\n"
        : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
        : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}

/* What takes 128 from each of four bytes that have no sign; X's zero point four times, as it is and with its sign. */
struct flips {
    u32 x, w, outside;
    int x_zero;
};

struct fragments {
    uint4 a[MT * 2], b[NT];
};

DI u32 byte_of(u64 address, int at)
{
    return address ? ((const unsigned char *)address)[at] : 0;
}

DI int with_sign(u32 byte, u32 flip)
{
    return (int)(signed char)((byte ^ flip) & 255);
}

DI uint4 load16_or(const void *from, bool there, u32 otherwise)
{
    uint4 v;
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %5, 0;\nmov.b32 %0, %6;\nmov.b32 %1, %6;\nmov.b32 %2, %6;\nmov.b32 %3, %6;\n"
                 "@p ld.global.nc.L2::128B.v4.u32 {%0, %1, %2, %3}, [%4];\n}\n"
                 : "=&r"(v.x), "=&r"(v.y), "=&r"(v.z), "=&r"(v.w)
                 : "l"(from), "r"((int)there), "r"(otherwise));
    return v;
}

/* Depth k to k + 15 of this lane. Behind the depth's end and beside the image there is X's zero point, so that W does not
 * matter. */
DI void load(const conv_meta_params &p, const flips &f, const window (&r)[MT * 2], const signed char *w, u32 in, u32 k,
             fragments &to)
{
    const tap t = tap_of(p, k);
#pragma unroll
    for (int j = 0; j < NT; j++)
        to.b[j] = load16(w + (int)k + j * 8 * p.w_out, k < p.k && in >> j & 1);
#pragma unroll
    for (int i = 0; i < MT * 2; i++)
        to.a[i] = load16_or((const signed char *)p.x + (r[i].at + t.offset), k < p.k && is_inside(p, r[i], t), f.outside);
}

DI uint4 flipped(uint4 v, u32 flip)
{
    return make_uint4(v.x ^ flip, v.y ^ flip, v.z ^ flip, v.w ^ flip);
}

DI void flip_all(const flips &f, fragments &v)
{
#pragma unroll
    for (int i = 0; i < MT * 2; i++)
        v.a[i] = flipped(v.a[i], f.x);
#pragma unroll
    for (int j = 0; j < NT; j++)
        v.b[j] = flipped(v.b[j], f.w);
}

DI void multiply_all(int (&sums)[MT][NT][4], const fragments &f)
{
#pragma unroll
    for (int j = 0; j < NT; j++)
#pragma unroll
        for (int i = 0; i < MT; i++)
            multiply(sums[i][j], f.a[2 * i].x, f.a[2 * i + 1].x, f.a[2 * i].y, f.a[2 * i + 1].y, f.b[j].x, f.b[j].y);
#pragma unroll
    for (int j = 0; j < NT; j++)
#pragma unroll
        for (int i = 0; i < MT; i++)
            multiply(sums[i][j], f.a[2 * i].z, f.a[2 * i + 1].z, f.a[2 * i].w, f.a[2 * i + 1].w, f.b[j].z, f.b[j].w);
}

DI int add_bytes(uint4 v, int sum)
{
    sum = __dp4a((int)v.x, 0x01010101, sum);
    sum = __dp4a((int)v.y, 0x01010101, sum);
    sum = __dp4a((int)v.z, 0x01010101, sum);
    return __dp4a((int)v.w, 0x01010101, sum);
}

/* Sums of the lane's lines of X and W. */
struct line_sums {
    int x[MT * 2], w[NT];
};

DI void add_lines(const fragments &f, line_sums &to)
{
#pragma unroll
    for (int i = 0; i < MT * 2; i++)
        to.x[i] = add_bytes(f.a[i], to.x[i]);
#pragma unroll
    for (int j = 0; j < NT; j++)
        to.w[j] = add_bytes(f.b[j], to.w[j]);
}

DI int sum_of_four(int v)
{
    v += __shfl_xor_sync(~0u, v, 1);
    return v + __shfl_xor_sync(~0u, v, 2);
}

/* (x - zero) * (w - zero) in place of x * w, of so many elements of the depth. */
DI void take_zeros_off(const conv_meta_params &p, const flips &f, line_sums &lines, u32 n0, int depth, int lane,
                       int (&sums)[MT][NT][4])
{
#pragma unroll
    for (int i = 0; i < MT * 2; i++)
        lines.x[i] = sum_of_four(lines.x[i]);
#pragma unroll
    for (int j = 0; j < NT; j++) {
        lines.w[j] = sum_of_four(lines.w[j]);
#pragma unroll
        for (int e = 0; e < 2; e++) {
            const u32 channel = n0 + j * 8 + lane % 4 * 2 + e;
            const int w_sum = __shfl_sync(~0u, lines.w[j], (lane % 4 * 2 + e) * 4);
            const u32 zero = byte_of(p.epilogue.operands[CONV_INT_W_ZERO], channel < p.n ? (int)channel * p.r_channel : 0);
            const int w_zero = with_sign(zero, f.w);
#pragma unroll
            for (int i = 0; i < MT * 2; i++)
                sums[i / 2][j][i % 2 * 2 + e] -= f.x_zero * w_sum + w_zero * (lines.x[i] - depth * f.x_zero);
        }
    }
}

/* ---- results ---- */

DI float operand_of(const conv_meta_params &p, const meta_step &s, u64 base, int channel)
{
    const int at = s.place == META_PLACE_CHANNEL ? channel * s.stride : 0;
    if (!s.type)
        return s.p;
    if (s.type == META_UINT8)
        return (float)((const unsigned char *)base)[at];
    if (s.type == META_INT8)
        return (float)((const signed char *)base)[at];
    return meta_load(base, s.type, at);
}

/* What epilogues other than quantisation make of a sum: its bits. */
static __device__ __noinline__ u32 finish_any(const conv_meta_params &p, int sum, int channel)
{
    float value = (float)sum;
    for (u32 i = 0; i < p.epilogue.count; i++) {
        const meta_step &s = p.epilogue.steps[i];
        value = meta_step_run(s.code, value, operand_of(p, s, p.epilogue.operands[i], channel), s.p, s.q);
    }
    return (u32)__float2int_rn(value) & 255;
}

/* Of the four channels whose results this thread stores. */
struct channels {
    int bias[4];
    float scale[4], zero;
};

DI void load_channels(const conv_meta_params &p, int channel, channels &to)
{
    const bool quantizes = p.flags & CONV_INT_QUANTIZES;
    to.zero = quantizes ? operand_of(p, p.epilogue.steps[2], p.epilogue.operands[2], 0) : 0.0f;
#pragma unroll
    for (int e = 0; e < 4; e++) {
        const int there = channel + e < (int)p.n ? channel + e : 0;
        to.bias[e] = p.bias ? ((const int *)p.bias)[there * p.bias_step] : 0;
        to.scale[e] = quantizes ? operand_of(p, p.epilogue.steps[0], p.epilogue.operands[0], there) : 0.0f;
    }
}

DI u32 finish(const conv_meta_params &p, const channels &c, int sum, int channel, int e)
{
    sum += c.bias[e];
    if (!(p.flags & CONV_INT_BYTES))
        return (u32)sum;
    if (!(p.flags & CONV_INT_QUANTIZES))
        return finish_any(p, sum, channel + e);
    const float value = __fadd_rn(rintf(__fmul_rn((float)sum, c.scale[e])), c.zero);
    return (u32)__float2int_rn(fminf(fmaxf(value, p.epilogue.steps[3].p), p.epilogue.steps[3].q)) & 255;
}

DI void store(const conv_meta_params &p, const channels &c, u32 pixel, u32 channel, const int *parts)
{
    u32 v[4];
    const i64 y = (i64)result_of(p, pixel) + (int)channel * p.y_channel;
    int4 sum = make_int4(0, 0, 0, 0);
#pragma unroll
    for (int i = 0; i < KEPT; i++) {
        const int4 part = *(const int4 *)(parts + i * PART);
        sum.x += part.x, sum.y += part.y, sum.z += part.z, sum.w += part.w;
    }
    const int each[4] = { sum.x, sum.y, sum.z, sum.w };
#pragma unroll
    for (int e = 0; e < 4; e++)
        v[e] = channel + e < p.n ? finish(p, c, each[e], (int)channel, e) : 0;
    if (p.wide_y) {
        if (p.flags & CONV_INT_BYTES)
            *(u32 *)((unsigned char *)p.y + y) = v[0] | v[1] << 8 | v[2] << 16 | v[3] << 24;
        else
            *(uint4 *)((u32 *)p.y + y) = make_uint4(v[0], v[1], v[2], v[3]);
        return;
    }
#pragma unroll
    for (int e = 0; e < 4; e++) {
        if (channel + e >= p.n)
            continue;
        if (p.flags & CONV_INT_BYTES)
            ((unsigned char *)p.y)[y + e * p.y_channel] = (unsigned char)v[e];
        else
            ((u32 *)p.y)[y + e * p.y_channel] = v[e];
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 1) meta_kernel(const __grid_constant__ conv_meta_params p)
{
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, warp_k = warp % WK, row0 = warp / WK * MT * 16;
    const u32 tile_n = blockIdx.x / p.tiles_m, m0 = (blockIdx.x - tile_n * p.tiles_m) * BM, n0 = tile_n * BN;
    int *parts = (int *)shared_memory, sums[MT][NT][4];
    line_sums lines;
#pragma unroll
    for (int i = 0; i < MT * NT * 4; i++)
        ((int *)sums)[i] = 0;
#pragma unroll
    for (int i = 0; i < MT * 2 + NT; i++)
        ((int *)&lines)[i] = 0;
    flips f;
    f.x = p.flags & CONV_INT_X_UNSIGNED ? 0x80808080u : 0;
    f.w = p.flags & CONV_INT_W_UNSIGNED ? 0x80808080u : 0;
    f.outside = byte_of(p.epilogue.operands[CONV_INT_X_ZERO], 0) * 0x01010101u;
    f.x_zero = with_sign(f.outside, f.x);
    const int rounds = ((int)(p.k + ROUND - 1) / ROUND - warp_k + WK - 1) / WK;
    u32 k = warp_k * ROUND + lane % 4 * VECTOR, in = 0;
    const signed char *w = (const signed char *)p.w + (i64)(n0 + lane / 4) * p.w_out;
    window r[MT * 2];
    fragments from[STAGES];
#pragma unroll
    for (int j = 0; j < NT; j++)
        in |= (n0 + j * 8 + lane / 4 < p.n ? 1u : 0u) << j;
#pragma unroll
    for (int i = 0; i < MT * 2; i++)
        r[i] = window_of(p, m0 + row0 + lane / 4 + 8 * i);
#pragma unroll
    for (int s = 0; s < STAGES; s++, k += ROUND * WK)
        load(p, f, r, w, in, k, from[s]);
    const int column = threadIdx.x % (BN / 4) * 4; /* that it stores */
    const u32 channel = n0 + column;
    channels own;
    load_channels(p, (int)channel, own);
    for (int round = 0; round < rounds;) {
#pragma unroll
        for (int s = 0; s < STAGES; s++) {
            if (round >= rounds)
                break;
            flip_all(f, from[s]);
            multiply_all(sums, from[s]);
            add_lines(from[s], lines);
            if (round + STAGES < rounds)
                load(p, f, r, w, in, k, from[s]);
            k += ROUND * WK;
            round++;
        }
    }
    take_zeros_off(p, f, lines, n0, rounds > 0 ? rounds * ROUND : 0, lane, sums);
    gather_parts(parts, sums, warp_k, row0, lane);
    if (channel >= p.n)
        return;
#pragma unroll 2
    for (int row = threadIdx.x / (BN / 4); row < BM; row += THREADS / (BN / 4))
        if (m0 + row < p.m)
            store(p, own, m0 + row, channel, parts + row * LINE + column);
}
