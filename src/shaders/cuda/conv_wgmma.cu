// SPDX-License-Identifier: Apache-2.0
/* Convolutions of many pixels, with wgmma: tiles of 128 pixels by BN channels. X goes from memory straight into the
 * registers of two warpgroups, 16 bytes of a pixel a lane, of which four exchange words to get the order that wgmma
 * wants; W comes through a ring in shared memory, which a warp fills. Blocks take tile after tile; the next tile's first
 * elements of X are on their way while results are stored. */
#include "shaders/cuda/conv_finish.cuh"
#include "shaders/cuda/turn.cuh"

#define BM     128
#define CHUNK  (BN * 16 + 32) /* bytes of eight elements of the depth; neighbouring ones begin in other banks */
#define STAGE  (4 * CHUNK)    /* a depth of 32 */
#define STAGES (45056 / STAGE)
#define BARS   (STAGES * STAGE)
#define FILLERS 128 /* threads that fill the ring, */
#define AHEAD  2 /* with so many stages on their way before the oldest is waited for */
#define U      (DEPTH / 32) /* of a register set */

extern __shared__ __align__(128) unsigned char shared_memory[];

#include "shaders/cuda/conv_wgmma.cuh"

DI void barrier_init(u32 at, int n) { asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(at), "r"(n)); }
DI void barrier_arrive(u32 at) { asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(at) : "memory"); }
DI void barrier_wait(u32 at, u32 phase)
{
    asm volatile("{\n.reg .pred p;\nW: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n@p bra D;\nbra W;\nD:\n}\n" ::"r"(at),
                 "r"(phase) : "memory");
}

struct set {
    uint4 v[U][2];
};

/* Two pixels of a lane, eight apart, from depth `first` on. */
DI void load(const conv_meta_params &p, const window (&r)[2], u32 first, set &s)
{
#pragma unroll
    for (int u = 0; u < U; u++) {
        const u32 k = first + u * 32;
        const tap t = tap_of(p, k);
#pragma unroll
        for (int i = 0; i < 2; i++)
            s.v[u][i] = load16((const __half *)p.x + (r[i].at + t.offset), k < p.k && is_inside(p, r[i], t));
    }
}

/* Of a tile: its first channel, the end of its group's, and where its group's channels begin in X. */
struct block {
    u32 n0, end;
    int x;
};

DI block block_of(const conv_meta_params &p, u32 tile, u32 tiles_n)
{
    const u32 number = tile % tiles_n;
    if (p.groups == 1)
        return { number * BN, p.n, 0 };
    const u32 of_group = tiles_n / p.groups, group = number / of_group;
    return { group * p.n + (number - group * of_group) * BN, (group + 1) * p.n, (int)group * p.x_group };
}

DI void store(const conv_meta_params &p, float (&sums)[BN / 2], u32 first, const block &to, int lane)
{
    const uint4 zero = make_uint4(0, 0, 0, 0);
#pragma unroll
    for (int i = 0; i < 2; i++) {
        const u32 pixel = first + 8 * i;
        const spot at = spot_of(p, pixel);
        const int y = result_of(p, at);
        unit u[BN / 32];
#pragma unroll
        for (int j = 0; j < BN / 32; j++) {
            const u32 channel = to.n0 + j * 32 + lane % 4 * 8;
            const bool there = pixel < p.m && channel < to.end;
            u[j].residual = there && p.residual ? load_operands(p, p.residual - 1, at, (int)channel) : zero;
            u[j].second = there && p.second ? load_operands(p, p.second - 1, at, (int)channel) : zero;
            u[j].bias = there && p.bias ? __ldg((const uint4 *)((const __half *)p.bias + channel)) : zero;
        }
#pragma unroll
        for (int j = 0; j < BN / 32; j++) {
            const u32 channel = to.n0 + j * 32 + lane % 4 * 8;
            const float *s = sums + j * 16 + i * 2;
            const float4 even = exchange(s[0], s[4], s[8], s[12], lane), odd = exchange(s[1], s[5], s[9], s[13], lane);
            float v[8] = { even.x, odd.x, even.y, odd.y, even.z, odd.z, even.w, odd.w };
            if (pixel < p.m && channel < to.end)
                finish(p, v, u[j], pixel, y + (int)channel, (int)channel);
        }
    }
}

/* Results that are no vectors: eight lanes have neighbouring pixels, as planes of channels want it. */
DI void store_each(const conv_meta_params &p, const float (&sums)[BN / 2], u32 first, const block &to, int lane)
{
#pragma unroll
    for (int n = 0; n < BN / 16; n++) {
        const u32 pixel = first + n % 2 * 8, channel = to.n0 + n / 2 * 32 + lane % 4 * 2;
        values<8> v;
#pragma unroll
        for (int j = 0; j < 8; j++)
            v.v[j] = sums[n / 2 * 16 + n % 2 * 2 + j / 2 * 4 + j % 2];
        if (pixel < p.m && channel < to.end)
            store_apart<8, 2>(p, v, pixel, channel, to.end);
    }
}

/* A stage is there, for wgmma, too; the next one. */
DI u32 publish(u32 shared, u32 stage)
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    barrier_arrive(shared + BARS + stage * 8);
    return stage + 1 == STAGES ? 0 : stage + 1;
}

/* The warps that fill the ring. */
DI void produce(const conv_meta_params &p, u32 shared, u32 tiles_n, int thread)
{
    const u32 steps = (p.k + 2 * DEPTH - 1) / (2 * DEPTH) * 2 * U, chunk = thread % 4, row = thread / 4;
    const u32 to = shared + chunk * CHUNK + row * 16;
    u32 stage = 0, phase = 1, late = 0, count = 0;
    for (u32 tile = blockIdx.x; tile < p.tiles; tile += gridDim.x) {
        const block from_block = block_of(p, tile, tiles_n);
        const u32 channel = from_block.n0 + row;
        const __half *w = (const __half *)p.w + (size_t)channel * p.w_out + chunk * 8;
        for (u32 step = 0; step < steps; step++, w += 32) {
            const bool there = step * 32 + chunk * 8 < p.k;
            barrier_wait(shared + BARS + (STAGES + stage) * 8, phase);
#pragma unroll
            for (u32 j = 0; j < BN / 32; j++) {
                const bool in = there && channel + j * 32 < from_block.end;
                const __half *from = in ? w + (int)(j * 32) * p.w_out : (const __half *)p.w;
                copy16(to + stage * STAGE + j * 512, from, in);
            }
            asm volatile("cp.async.commit_group;" ::: "memory");
            if (++stage == STAGES)
                stage = 0, phase ^= 1;
            if (++count > AHEAD) {
                asm volatile("cp.async.wait_group %0;" ::"n"(AHEAD) : "memory");
                late = publish(shared, late);
            }
        }
    }
    asm volatile("cp.async.wait_all;" ::: "memory");
    while (late != stage)
        late = publish(shared, late);
}

struct ring {
    u32 shared, stage, phase;
    u32 used; /* the stage that the wgmma before the last one read */
};

DI void release(ring &r, int lane)
{
    if (lane == 0)
        barrier_arrive(r.shared + BARS + (STAGES + r.used) * 8);
}

/* A set at depth k; the other one is loaded, for depth k + DEPTH. There is no branch, and all wgmma end before the next
 * set's registers change, or the compiler would wait for each of them: depths are filled up with zeros. */
DI void multiply(const conv_meta_params &p, const window (&rows)[2], float (&sums)[BN / 2], set &s, set &next, u32 k,
                 ring &r, int lane)
{
#pragma unroll
    for (int u = 0; u < U; u++)
#pragma unroll
        for (int i = 0; i < 2; i++)
            s.v[u][i] = exchange(s.v[u][i].x, s.v[u][i].y, s.v[u][i].z, s.v[u][i].w, lane);
    load(p, rows, k + DEPTH + lane % 4 * 8, next);
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
    for (int u = 0; u < U; u++) {
        const u32 from = r.shared + r.stage * STAGE;
        const u64 d = (u64)(from >> 4) | (u64)(CHUNK >> 4) << 16 | (u64)8 << 32;
        const u32 low[4] = { s.v[u][0].x, s.v[u][1].x, s.v[u][0].y, s.v[u][1].y };
        const u32 high[4] = { s.v[u][0].z, s.v[u][1].z, s.v[u][0].w, s.v[u][1].w };
        barrier_wait(r.shared + BARS + r.stage * 8, r.phase);
        wgmma(sums, low, d, k + u > 0);
        wgmma(sums, high, d + (2 * CHUNK >> 4), 1);
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        if (u) {
            asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
            release(r, lane);
        }
        r.used = r.stage;
        if (++r.stage == STAGES)
            r.stage = 0, r.phase ^= 1;
    }
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    release(r, lane);
}

DI void begin(const conv_meta_params &p, u32 pixel, const block &from, u32 k, window (&r)[2], set &s)
{
#pragma unroll
    for (int i = 0; i < 2; i++) {
        r[i] = window_of(p, pixel + 8 * i);
        r[i].at += from.x;
    }
    load(p, r, k, s);
}

DI void consume(const conv_meta_params &p, u32 shared, u32 tiles_n, int warp, int lane)
{
    const u32 row = warp * 16 + lane / 4, column = lane % 4 * 8;
    u32 tile = blockIdx.x;
    ring ring = { shared, 0, 0, 0 };
    float sums[BN / 2];
    set s0, s1;
    window r[2];
    if (tile >= p.tiles)
        return;
    block next = block_of(p, tile, tiles_n);
    turn_await_warp(p.counters, p.turn); /* no dispatch of the chain writes W */
    begin(p, tile / tiles_n * BM + row, next, column, r, s0);
    for (;;) {
        const u32 m0 = tile / tiles_n * BM;
        const block here = next;
        for (u32 k = 0; k < p.k; k += 2 * DEPTH) {
            multiply(p, r, sums, s0, s1, k, ring, lane);
            multiply(p, r, sums, s1, s0, k + DEPTH, ring, lane);
        }
        tile += gridDim.x;
        if (tile < p.tiles) {
            next = block_of(p, tile, tiles_n);
            begin(p, tile / tiles_n * BM + row, next, column, r, s0);
        }
        if (p.wide_y)
            store(p, sums, m0 + row, here, lane);
        else
            store_each(p, sums, m0 + row, here, lane);
        if (tile >= p.tiles)
            break;
    }
    turn_pass_some<256>(p.counters, p.turn);
}

extern "C" __global__ void __launch_bounds__(384, 1) meta_kernel(const __grid_constant__ conv_meta_params p)
{
    const u32 shared = (u32)__cvta_generic_to_shared(shared_memory), tiles_n = (p.n + BN - 1) / BN * p.groups;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; i++) {
            barrier_init(shared + BARS + i * 8, FILLERS);
            barrier_init(shared + BARS + (STAGES + i) * 8, 8);
        }
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    }
    __syncthreads();
    if (warp >= 8) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        produce(p, shared, tiles_n, threadIdx.x - 256);
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
        consume(p, shared, tiles_n, warp, lane);
    }
}
