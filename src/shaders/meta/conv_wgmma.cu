// SPDX-License-Identifier: Apache-2.0
/* Convolutions of many pixels, with wgmma: tiles of 128 pixels by BN channels. X goes from memory straight into the
 * registers of two warpgroups, 16 bytes of a pixel a lane, of which four exchange words to get the order that wgmma
 * wants; W comes through a ring in shared memory, which a warp fills. Blocks take tile after tile; the next tile's first
 * elements of X are on their way while results are stored. */
#include <cuda_fp16.h>
#include "shaders/meta/conv_meta_params.h"
#include "shaders/meta/epilogue.cuh"

#define DI     static __device__ __forceinline__
#define BM     128
#define CHUNK  (BN * 16 + 32) /* bytes of eight elements of the depth; neighbouring ones begin in other banks */
#define STAGE  (4 * CHUNK)    /* a depth of 32 */
#define STAGES (45056 / STAGE)
#define BARS   (STAGES * STAGE)
#define AHEAD  3 /* stages on their way before the oldest is waited for */
#define U      (DEPTH / 32) /* of a register set */

extern __shared__ __align__(128) unsigned char shared_memory[];

DI u32 divide(u32 n, const conv_meta_divisor &by)
{
    return (__umulhi(n, by.factor) + n) >> by.shift;
}

#include "shaders/meta/conv_wgmma.cuh"

DI void barrier_init(u32 at, int n) { asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(at), "r"(n)); }
DI void barrier_arrive(u32 at) { asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(at) : "memory"); }
DI void barrier_wait(u32 at, u32 phase)
{
    asm volatile("{\n.reg .pred p;\nW: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n@p bra D;\nbra W;\nD:\n}\n" ::"r"(at),
                 "r"(phase) : "memory");
}

DI uint4 load16(const void *from, bool there)
{
    uint4 v;
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %5, 0;\nmov.b32 %0, 0;\nmov.b32 %1, 0;\nmov.b32 %2, 0;\nmov.b32 %3, 0;\n"
                 "@p ld.global.nc.L2::128B.v4.u32 {%0, %1, %2, %3}, [%4];\n}\n"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(from), "r"((int)there));
    return v;
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

DI float4 exchange(float v0, float v1, float v2, float v3, int lane)
{
    const uint4 v = exchange(__float_as_uint(v0), __float_as_uint(v1), __float_as_uint(v2), __float_as_uint(v3), lane);
    return make_float4(__uint_as_float(v.x), __uint_as_float(v.y), __uint_as_float(v.z), __uint_as_float(v.w));
}

/* Two pixels of a lane, eight apart: where their windows begin. */
struct rows {
    int at[2], top[2], left[2];
};

struct set {
    uint4 v[U][2];
};

DI void find_rows(const conv_meta_params &p, u32 first, rows &r)
{
#pragma unroll
    for (int i = 0; i < 2; i++) {
        const u32 pixel = first + 8 * i, image = divide(pixel, p.by_pixels), within = pixel - image * p.by_pixels.size;
        const u32 row = divide(within, p.by_column), column = within - row * p.by_column.size;
        r.top[i] = pixel < p.m ? (int)row * p.step_y - p.pad_y : -(1 << 29);
        r.left[i] = (int)column * p.step_x - p.pad_x;
        r.at[i] = (int)image * p.x_image + ((int)row * p.step_y - p.pad_y) * p.x_row + r.left[i] * p.x_column;
    }
}

DI void load(const conv_meta_params &p, const rows &r, u32 first, set &s)
{
#pragma unroll
    for (int u = 0; u < U; u++) {
        const u32 k = first + u * 32, tap = divide(k, p.by_channels), line = divide(tap, p.by_line);
        const int c = (int)(k - tap * p.by_channels.size), dy = (int)line * p.dilation_y;
        const int dx = (int)(tap - line * p.by_line.size) * p.dilation_x, offset = c + dy * p.x_row + dx * p.x_column;
#pragma unroll
        for (int i = 0; i < 2; i++)
            s.v[u][i] = load16((const __half *)p.x + (r.at[i] + offset),
                               k < p.k && (u32)(r.top[i] + dy) < (u32)p.in_height && (u32)(r.left[i] + dx) < (u32)p.in_width);
    }
}

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

DI float2 unpack(u32 v) { return __half22float2(*(const __half2 *)&v); }

DI void add8(float (&v)[8], uint4 b)
{
    const float2 x = unpack(b.x), y = unpack(b.y), z = unpack(b.z), w = unpack(b.w);
    v[0] += x.x, v[1] += x.y, v[2] += y.x, v[3] += y.y, v[4] += z.x, v[5] += z.y, v[6] += w.x, v[7] += w.y;
}

/* Eight channels of a pixel. */
DI void finish(const conv_meta_params &p, float (&v)[8], uint4 bias, uint4 residual, int y_at, int channel)
{
    add8(v, bias);
#pragma unroll 1
    for (u32 i = 0; i < p.epilogue.count; i++) {
        const meta_step &s = p.epilogue.steps[i];
        if (i + 1 == p.residual) {
            add8(v, residual);
        } else if (s.code == META_RELU) {
#pragma unroll
            for (int e = 0; e < 8; e++)
                v[e] = v[e] < 0 ? 0.0f : v[e];
        } else {
#pragma unroll
            for (int e = 0; e < 8; e++)
                v[e] = step_run(p.epilogue, i, v[e], y_at + e, channel + e);
        }
    }
    *(uint4 *)((__half *)p.y + y_at) = make_uint4(pack(v[0], v[1]), pack(v[2], v[3]), pack(v[4], v[5]), pack(v[6], v[7]));
}

DI void store(const conv_meta_params &p, float (&sums)[BN / 2], u32 first, u32 n0, int lane)
{
    const uint4 zero = make_uint4(0, 0, 0, 0);
#pragma unroll
    for (int i = 0; i < 2; i++) {
        const u32 pixel = first + 8 * i, image = divide(pixel, p.by_pixels), within = pixel - image * p.by_pixels.size;
        const u32 row = divide(within, p.by_column), column = within - row * p.by_column.size;
        const int at = (int)image * p.y_image + (int)row * p.y_row + (int)column * p.y_column;
        uint4 residual[BN / 32], bias[BN / 32];
#pragma unroll
        for (int j = 0; j < BN / 32; j++) {
            const u32 channel = n0 + j * 32 + lane % 4 * 8;
            const bool there = pixel < p.m && channel < p.n;
            residual[j] = there && p.residual ? *(const uint4 *)((const __half *)p.epilogue.operands[p.residual - 1] + at + (int)channel) : zero;
            bias[j] = there && p.bias ? __ldg((const uint4 *)((const __half *)p.bias + channel)) : zero;
        }
#pragma unroll
        for (int j = 0; j < BN / 32; j++) {
            const u32 channel = n0 + j * 32 + lane % 4 * 8;
            const float *s = sums + j * 16 + i * 2;
            const float4 even = exchange(s[0], s[4], s[8], s[12], lane), odd = exchange(s[1], s[5], s[9], s[13], lane);
            float v[8] = { even.x, odd.x, even.y, odd.y, even.z, odd.z, even.w, odd.w };
            if (pixel < p.m && channel < p.n)
                finish(p, v, bias[j], residual[j], at + (int)channel, (int)channel);
        }
    }
}

/* The warp that fills the ring. */
DI void produce(const conv_meta_params &p, u32 shared, u32 tiles_n, int lane)
{
    const u32 steps = (p.k + 31) / 32;
    u32 stage = 0, phase = 1, late = 0, count = 0;
    for (u32 tile = blockIdx.x; tile < p.tiles; tile += gridDim.x) {
        const u32 n0 = tile % tiles_n * BN;
        const __half *w = (const __half *)p.w + (size_t)(n0 + lane / 4) * p.w_out + lane % 4 * 8;
        const u32 to = shared + lane % 4 * CHUNK + lane / 4 * 16;
        for (u32 step = 0; step < steps; step++, w += 32) {
            const bool there = step * 32 + lane % 4 * 8 < p.k;
            barrier_wait(shared + BARS + (STAGES + stage) * 8, phase);
#pragma unroll
            for (int j = 0; j < BN / 8; j++) {
                const bool in = there && n0 + lane / 4 + j * 8 < p.n;
                const __half *from = in ? w + j * 8 * p.w_out : (const __half *)p.w;
                asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(to + stage * STAGE + j * 128), "l"(from), "r"(in ? 16 : 0)
                             : "memory");
            }
            asm volatile("cp.async.commit_group;" ::: "memory");
            if (++stage == STAGES)
                stage = 0, phase ^= 1;
            if (++count > AHEAD) {
                asm volatile("cp.async.wait_group %0;" ::"n"(AHEAD) : "memory");
                asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
                barrier_arrive(shared + BARS + late * 8);
                late = late + 1 == STAGES ? 0 : late + 1;
            }
        }
    }
    asm volatile("cp.async.wait_group 0;" ::: "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    for (; late != stage; late = late + 1 == STAGES ? 0 : late + 1)
        barrier_arrive(shared + BARS + late * 8);
}

struct ring {
    u32 shared, stage, phase;
    int used; /* the stage that the last wgmma reads, -1: none */
};

DI void release(ring &r, int lane)
{
    if (r.used >= 0 && lane == 0)
        barrier_arrive(r.shared + BARS + (STAGES + (u32)r.used) * 8);
}

DI void multiply(float (&sums)[BN / 2], set &s, u32 k, u32 end, bool first, ring &r, int lane)
{
#pragma unroll
    for (int u = 0; u < U; u++) {
        if (k + u * 32 >= end)
            break;
        const uint4 a = exchange(s.v[u][0].x, s.v[u][0].y, s.v[u][0].z, s.v[u][0].w, lane);
        const uint4 b = exchange(s.v[u][1].x, s.v[u][1].y, s.v[u][1].z, s.v[u][1].w, lane);
        const u32 from = r.shared + r.stage * STAGE;
        const u64 d = (u64)(from >> 4) | (u64)(CHUNK >> 4) << 16 | (u64)8 << 32;
        s.v[u][0] = a, s.v[u][1] = b;
        barrier_wait(r.shared + BARS + r.stage * 8, r.phase);
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        const u32 low[4] = { s.v[u][0].x, s.v[u][1].x, s.v[u][0].y, s.v[u][1].y };
        const u32 high[4] = { s.v[u][0].z, s.v[u][1].z, s.v[u][0].w, s.v[u][1].w };
        wgmma(sums, low, d, !(first && u == 0));
        wgmma(sums, high, d + (2 * CHUNK >> 4), 1);
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
        release(r, lane);
        r.used = (int)r.stage;
        if (++r.stage == STAGES)
            r.stage = 0, r.phase ^= 1;
    }
}

DI void consume(const conv_meta_params &p, u32 shared, u32 tiles_n, int warp, int lane)
{
    const u32 row = warp * 16 + lane / 4, column = lane % 4 * 8;
    u32 tile = blockIdx.x;
    ring ring = { shared, 0, 0, -1 };
    float sums[BN / 2];
    set s0, s1;
    rows r;
    if (tile >= p.tiles)
        return;
    find_rows(p, tile / tiles_n * BM + row, r);
    load(p, r, column, s0);
    for (;;) {
        const u32 m0 = tile / tiles_n * BM, n0 = tile % tiles_n * BN;
        for (u32 k = 0; k < p.k; k += 2 * DEPTH) {
            load(p, r, k + DEPTH + column, s1);
            multiply(sums, s0, k, p.k, k == 0, ring, lane);
            asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
            if (k + 2 * DEPTH < p.k)
                load(p, r, k + 2 * DEPTH + column, s0);
            multiply(sums, s1, k + DEPTH, p.k, false, ring, lane);
            asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
        }
        release(ring, lane);
        ring.used = -1;
        tile += gridDim.x;
        if (tile < p.tiles) {
            find_rows(p, tile / tiles_n * BM + row, r);
            load(p, r, column, s0);
        }
        store(p, sums, m0 + row, n0, lane);
        if (tile >= p.tiles)
            break;
    }
}

extern "C" __global__ void __launch_bounds__(384, 1) meta_kernel(const __grid_constant__ conv_meta_params p)
{
    const u32 shared = (u32)__cvta_generic_to_shared(shared_memory), tiles_n = (p.n + BN - 1) / BN;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; i++) {
            barrier_init(shared + BARS + i * 8, 32);
            barrier_init(shared + BARS + (STAGES + i) * 8, 8);
        }
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    }
    __syncthreads();
    if (warp >= 8) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (warp == 8)
            produce(p, shared, tiles_n, lane);
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
        consume(p, shared, tiles_n, warp, lane);
    }
}
