// SPDX-License-Identifier: Apache-2.0
/* KERN_ATTENTION by wgmma: FLOAT16, or BFLOAT16, FLOAT32 sums. A warpgroup takes 64 queries, which stay in its registers
 * as do the scores of KEYS keys, their weights and the results; the softmax is online, and the next scores are made
 * while values are summed. K and V come through rings of tiles in shared memory, which all fill and read together; there is
 * no barrier but those of their slots. What bounds it for short lines is the number of instructions: per key and query 5,
 * and some 250 of a warp for a tile; for long ones the products. Defined from outside: HEAD (most elements of a line, a
 * multiple of 32), KEYS (a multiple of 16), TEAM (warpgroups), SLOTS_K and SLOTS_V (1 or 2), [BFLOAT16], and [SPLIT], a power
 * of two: SPLIT warpgroups take the same queries, and of each tile KEYS keys each (split-K, for few queries); at the end the
 * first one adds up their sums. */
#include "shaders/cuda/attention_w_params.h"
#include "shaders/cuda/attention_w.cuh"
#include "shaders/cuda/turn.cuh"

#ifndef SPLIT
#define SPLIT 1
#endif
#define THREADS     (128 * TEAM)
#define TILE_KEYS   (KEYS * SPLIT)
#define SLOT        (TILE_KEYS * HEAD * 2)
#define ROWS        (64 * TEAM / SPLIT)
#define BLOCK_BYTES (TILE_KEYS * LINE_BYTES) /* of a tile: LINE_BYTES of each key */
#define LOG2_E      1.44269504f
#define NOTHING     (-__int_as_float(0x7f800000))

extern __shared__ __align__(1024) unsigned char memory[];

using params = attention_w_params;

/* Where a block is. */
struct place {
    u32 batch, head, row; /* row: the first */
};

INLINE i32 int_at(u64 address, i64 element)
{
    return ((const i32 *)address)[element];
}

/* kernels/attention/attention.h */
INLINE u32 existing_keys(const params &p, u32 batch, u32 row)
{
    u32 total = p.keys;
    if (p.end && p.skips_masked)
        total = min(total, (u32)max(int_at(p.end, (i64)batch * p.end_stride), 0));
    if (!p.past)
        return total;
    const i32 past = int_at(p.past, (i64)batch * p.past_stride);
    const u32 before = p.unsigned_past ? (u32)past : (u32)max(past, 0);
    const u32 fresh = p.causal ? min(row + 1, p.new_keys) : p.new_keys;
    return before >= total ? total : min(before + fresh, total);
}

INLINE float float_of(unsigned short bits, bool half)
{
    float x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
    return half ? x : __int_as_float((i32)bits << 16);
}

/* What masks say of the queries `row` and `row` + 8 of a lane. */
struct masks {
    const char *mask[2];
    const i32 *keep[2];
    i32 start, end; /* keys outside are masked */
    u32 limit[2];   /* existing keys */
};

INLINE void find_masks(const params &p, const place &at, u32 row, masks &out)
{
    out.start = p.start ? int_at(p.start, (i64)at.batch * p.start_stride) : -0x7fffffff;
    out.end = p.end ? int_at(p.end, (i64)at.batch * p.end_stride) : 0x7fffffff;
#pragma unroll
    for (u32 r = 0; r < 2; r++) {
        const u32 line = min(row + 8 * r, p.queries - 1);
        out.limit[r] = existing_keys(p, at.batch, line);
        out.mask[r] = (const char *)p.mask + ((i64)at.batch * p.mask_strides[0] + (i64)at.head * p.mask_strides[1] +
                                              (i64)line * p.mask_strides[2]) *
                                                 (p.mask_type == ATTENTION_W_FLOAT32 ? 4 : 2);
        out.keep[r] = (const i32 *)p.keep + (i64)at.batch * p.keep_strides[0] + (i64)at.head * p.keep_strides[1] +
                      (i64)line * p.keep_strides[2];
    }
}

INLINE i64 mask_place(const params &p, u32 key)
{
    return (i64)(i32)key * p.mask_strides[3];
}

#define BLOCKS  (HEAD * 2 / LINE_BYTES)
#define VECTORS (LINE_BYTES / 16)   /* of a block's line */
#define LINES   (THREADS / VECTORS) /* that a block copies at once */

/* Two rings, with barriers that count those who filled a slot and those who have read it; and what a thread copies:
 * one vector in each block of lines LINES apart. Tile i of V has number i + 1: number 0 are zeros, which the first weights are, too. */
struct ring {
    u32 slots; /* shared memory: of K, then of V */
    u32 full, empty;
    u32 line, limit; /* of K and V: the thread's first one; how many there are */
    u32 to;          /* its place in a slot */
    const char *k, *v; /* its first vector of line 0 */
};

#define SLOTS        (SLOTS_K + SLOTS_V)
#define SLOT_OF_K(n) ((n) % SLOTS_K)
#define SLOT_OF_V(n) (SLOTS_K + (n) % SLOTS_V)
#define PARITY_K(n)  ((n) / SLOTS_K % 2)
#define PARITY_V(n)  ((n) / SLOTS_V % 2)
#define SLOT_AT(n)   (ring.slots + (n) * SLOT)

INLINE u32 thread_column()
{
    return threadIdx.x % VECTORS;
}

/* Zeros behind the last key and behind a line's elements. */
INLINE void copy_tile(const ring &ring, u32 slot, const char *from, i32 stride, u32 elements, u32 tile)
{
    const u32 line = ring.line + tile * TILE_KEYS;
#pragma unroll
    for (u32 i = 0; i < (TILE_KEYS + LINES - 1) / LINES; i++)
        if (TILE_KEYS % LINES == 0 || ring.line + i * LINES < TILE_KEYS) {
            const char *const at = from + (i64)(i32)(line + i * LINES) * (2 * stride);
#pragma unroll
            for (u32 b = 0; b < BLOCKS; b++)
                copy_vector(SLOT_AT(slot) + ring.to + b * BLOCK_BYTES + i * LINES * LINE_BYTES, at + b * LINE_BYTES,
                            (b * VECTORS + thread_column()) * 8 < elements && line + i * LINES < ring.limit);
        }
    barrier_arrive_copied(ring.full + slot * 8);
}

/* Once all have read what was in the slot. */
INLINE void fetch_k(const params &p, const ring &ring, u32 tile)
{
    const u32 slot = SLOT_OF_K(tile);
    if (tile >= SLOTS_K)
        barrier_wait(ring.empty + slot * 8, PARITY_K(tile - SLOTS_K));
    copy_tile(ring, slot, ring.k, p.k_strides[2], p.depth, tile);
}

INLINE void fetch_v(const params &p, const ring &ring, u32 tile)
{
    const u32 number = tile + 1, slot = SLOT_OF_V(number);
    if (number >= SLOTS_V)
        barrier_wait(ring.empty + slot * 8, PARITY_V(number - SLOTS_V));
    copy_tile(ring, slot, ring.v, p.v_strides[2], p.width, tile);
}

INLINE void await(u32 barrier, u32 parity)
{
    barrier_wait(barrier, parity);
    proxy_fence();
}

INLINE void release(u32 barrier)
{
    if (threadIdx.x % 32 == 0)
        barrier_arrive(barrier);
}

/* Of the rows r and r + 8 of a warp, r = lane / 4. `greatest` is what weights are relative to: the greatest score so
 * far, or a little less. */
struct state {
    float greatest[2], sum[2], factor[2];
    bool grown; /* some row's in this warp: sums so far are to be multiplied by the factor */
};

#define SLACK 8.0f /* weights are below 2^SLACK */

INLINE float greatest_of_row(const float (&s)[KEYS / 2], u32 r)
{
    float even = s[2 * r], odd = s[2 * r + 1];
#pragma unroll
    for (u32 i = 4; i < KEYS / 2; i += 4) {
        even = fmaxf(even, s[i + 2 * r]);
        odd = fmaxf(odd, s[i + 2 * r + 1]);
    }
    even = fmaxf(even, odd);
    even = fmaxf(even, __shfl_xor_sync(~0u, even, 1));
    return fmaxf(even, __shfl_xor_sync(~0u, even, 2));
}

/* Scores of a tile become weights. Elements 4 j + e of a lane: of row e / 2, key 8 j + lane % 4 * 2 + e % 2. */
INLINE void softmax(const params &p, float (&s)[KEYS / 2], float to_log2, state &state)
{
    float base[2], sums[4] = { 0, 0, 0, 0 };
    bool grown = false;
#pragma unroll
    for (u32 r = 0; r < 2; r++) {
        const float most = greatest_of_row(s, r), before = state.greatest[r];
        if ((most - before) * to_log2 > SLACK) {
            state.greatest[r] = most;
            grown = true;
        }
        base[r] = state.greatest[r] == NOTHING ? 0 : state.greatest[r];
        state.factor[r] = exp2_fast((before - base[r]) * to_log2);
        base[r] = p.scores ? base[r] : base[r] * to_log2;
    }
    state.grown = __any_sync(~0u, grown);
    if (p.scores) { /* which may be too great for the factor */
#pragma unroll
        for (u32 i = 0; i < KEYS / 2; i++)
            s[i] -= base[i / 2 % 2];
        base[0] = base[1] = 0;
    }
#pragma unroll
    for (u32 i = 0; i < KEYS / 2; i++) {
        s[i] = exp2_fast(fmaf(s[i], to_log2, -base[i / 2 % 2]));
        sums[i % 4] += s[i];
    }
#pragma unroll
    for (u32 r = 0; r < 2; r++)
        state.sum[r] = fmaf(state.sum[r], state.factor[r], sums[2 * r] + sums[2 * r + 1]);
}

/* The vectors' products become scores; those of keys from `key` on that do not exist, -infinity. */
INLINE void mask_tile(const params &p, const place &at, u32 row, u32 key, float (&s)[KEYS / 2])
{
    masks masks;
    asm volatile("" : "+r"(row)); /* or all of it would be in registers all the time */
    find_masks(p, at, row, masks);
    key += threadIdx.x % 4 * 2;
#define EACH_SCORE(i)                                                                                                  \
    _Pragma("unroll") for (u32 i = 0; i < KEYS / 2; i++)
#define ROW(i) (i / 2 % 2)
#define KEY(i) (key + i / 4 * 8 + i % 2)
    if (p.scores) {
        const u32 last = p.keys - 1;
        EACH_SCORE(i)
        s[i] *= p.scale;
        if (p.mask_pairs) {
            const bool half = p.mask_type == ATTENTION_W_FLOAT16;
#pragma unroll
            for (u32 i = 0; i < KEYS / 2; i += 2) {
                const u32 two = *(const u32 *)(masks.mask[ROW(i)] + 2 * min(KEY(i), last - 1));
                s[i] += float_of((unsigned short)two, half);
                s[i + 1] += float_of((unsigned short)(two >> 16), half);
            }
        } else if (p.mask_type == ATTENTION_W_FLOAT32) {
            EACH_SCORE(i)
            s[i] += p.mask ? ((const float *)masks.mask[ROW(i)])[mask_place(p, min(KEY(i), last))] : 0;
        } else if (p.mask) {
            unsigned short bits[KEYS / 2]; /* all are loaded at once */
            EACH_SCORE(i)
            bits[i] = ((const unsigned short *)masks.mask[ROW(i)])[mask_place(p, min(KEY(i), last))];
            EACH_SCORE(i)
            s[i] += float_of(bits[i], p.mask_type == ATTENTION_W_FLOAT16);
        }
        if (p.keep)
            EACH_SCORE(i)
            s[i] += masks.keep[ROW(i)][(i64)min(KEY(i), last) * p.keep_strides[3]] == 0 || (i32)KEY(i) < masks.start ||
                            (i32)KEY(i) >= masks.end
                        ? p.filter
                        : 0;
        else
            EACH_SCORE(i)
            s[i] += (i32)KEY(i) < masks.start || (i32)KEY(i) >= masks.end ? p.filter : 0;
    }
    EACH_SCORE(i)
    s[i] = KEY(i) >= masks.limit[ROW(i)] ? NOTHING : s[i];
}

/* The lanes of four exchange elements so that each stores 16 bytes. */
INLINE void store(const params &p, const place &at, u32 row, const state &state, const float (&o)[HEAD / 2])
{
    const u32 t = threadIdx.x % 4;
#pragma unroll
    for (u32 r = 0; r < 2; r++) {
        float sum = state.sum[r];
        sum += __shfl_xor_sync(~0u, sum, 1);
        sum += __shfl_xor_sync(~0u, sum, 2);
        const float factor = sum == 0 ? (p.undefined ? __int_as_float(0x7fc00000) : 0) : 1 / sum;
        unsigned short *const line = (unsigned short *)p.y + (i64)at.batch * p.y_strides[0] +
                                     (i64)at.head * p.y_strides[1] + (i64)(row + 8 * r) * p.y_strides[2];
#pragma unroll
        for (u32 j = 0; j < HEAD / 32; j++) {
            u32 two[4], x, y;
#pragma unroll
            for (u32 i = 0; i < 4; i++)
                two[i] = pack_two(o[(4 * j + i) * 4 + 2 * r] * factor, o[(4 * j + i) * 4 + 2 * r + 1] * factor);
            x = __shfl_xor_sync(~0u, t & 1 ? two[0] : two[1], 1);
            y = __shfl_xor_sync(~0u, t & 1 ? two[2] : two[3], 1);
            if (t & 1) {
                two[0] = x;
                two[2] = y;
            } else {
                two[1] = x;
                two[3] = y;
            }
            x = __shfl_xor_sync(~0u, t & 2 ? two[0] : two[2], 2);
            y = __shfl_xor_sync(~0u, t & 2 ? two[1] : two[3], 2);
            if (t & 2) {
                two[0] = x;
                two[1] = y;
            } else {
                two[2] = x;
                two[3] = y;
            }
            if (row + 8 * r < p.queries && j * 32 + t * 8 < p.width)
                *(uint4 *)(line + j * 32 + t * 8) = make_uint4(two[0], two[1], two[2], two[3]);
        }
    }
}

INLINE void load_queries(const params &p, const place &at, u32 row, u32 (&q)[HEAD / 16][4])
{
    const unsigned short *const base =
        (const unsigned short *)p.q + (i64)at.batch * p.q_strides[0] + (i64)at.head * p.q_strides[1];
#pragma unroll
    for (u32 i = 0; i < HEAD / 4; i++) {
        const u32 line = row + i % 2 * 8, element = i / 4 * 16 + i / 2 % 2 * 8 + threadIdx.x % 4 * 2;
        q[i / 4][i % 4] = line < p.queries && element < p.depth
                              ? *(const u32 *)(base + (i64)line * p.q_strides[2] + element)
                              : 0;
    }
}

INLINE void scores(u32 tile, const u32 (&q)[HEAD / 16][4], float (&s)[KEYS / 2])
{
    const u32 first = descriptor_of(tile, 16);
    wgmma_fence();
#pragma unroll
    for (u32 i = 0; i < HEAD / 16; i++)
        wgmma<0>(s, q[i], first + (i * 32 / LINE_BYTES * BLOCK_BYTES + i * 32 % LINE_BYTES) / 16, i != 0);
    wgmma_commit();
}

INLINE void values(u32 tile, const u32 (&w)[KEYS / 16][4], float (&o)[HEAD / 2])
{
    const u32 first = descriptor_of(tile, BLOCK_BYTES);
    wgmma_fence();
#pragma unroll
    for (u32 i = 0; i < KEYS / 16; i++)
        wgmma<1>(o, w[i], first + i * LINE_BYTES, 1); /* 16 keys, in units of 16 bytes */
    wgmma_commit();
}

INLINE void pack_weights(const float (&s)[KEYS / 2], u32 (&w)[KEYS / 16][4])
{
#pragma unroll
    for (u32 i = 0; i < KEYS / 4; i++)
        w[i / 4][i % 4] = pack_two(s[2 * i], s[2 * i + 1]);
}

INLINE void init_barriers(const ring &ring)
{
    if (threadIdx.x == 0) {
        for (u32 i = 0; i < SLOTS; i++) {
            barrier_init(ring.full + i * 8, THREADS);
            barrier_init(ring.empty + i * 8, 4 * TEAM);
        }
        proxy_fence();
    }
    __syncthreads();
}

#if SPLIT > 1
#define NUMBERS (HEAD / 2 + 4) /* of a lane */

/* Adds the sums of those that take other keys of the same queries. All read and write in the memory of the rings. */
INLINE void add_parts(u32 part, float to_log2, state &state, float (&o)[HEAD / 2])
{
    float *const all = (float *)memory + threadIdx.x / (128 * SPLIT) * (SPLIT / 2 * NUMBERS * 128) + threadIdx.x % 128;
#pragma unroll
    for (u32 half = SPLIT / 2; half; half /= 2) {
        __syncthreads();
        float *const numbers = all + part % half * (NUMBERS * 128);
        if (part >= half && part < 2 * half) {
#pragma unroll
            for (u32 i = 0; i < HEAD / 2; i++)
                numbers[i * 128] = o[i];
#pragma unroll
            for (u32 r = 0; r < 2; r++) {
                numbers[(HEAD / 2 + r) * 128] = state.greatest[r];
                numbers[(HEAD / 2 + 2 + r) * 128] = state.sum[r];
            }
        }
        __syncthreads();
        if (part >= half)
            continue;
        float own[2], other[2];
#pragma unroll
        for (u32 r = 0; r < 2; r++) {
            const float theirs = numbers[(HEAD / 2 + r) * 128], most = fmaxf(state.greatest[r], theirs);
            const float base = most == NOTHING ? 0 : most;
            own[r] = exp2_fast((state.greatest[r] - base) * to_log2);
            other[r] = exp2_fast((theirs - base) * to_log2);
            state.greatest[r] = most;
            state.sum[r] = state.sum[r] * own[r] + numbers[(HEAD / 2 + 2 + r) * 128] * other[r];
        }
#pragma unroll
        for (u32 i = 0; i < HEAD / 2; i++)
            o[i] = o[i] * own[i / 2 % 2] + numbers[i * 128] * other[i / 2 % 2];
    }
}
#endif

extern "C" __global__ void __launch_bounds__(THREADS, 1) meta_kernel(const __grid_constant__ params p)
{
    turn_await(p.counters, p.turn);
    place at;
    at.row = blockIdx.x % p.tiles * ROWS;
    at.head = blockIdx.x / p.tiles % p.heads;
    at.batch = blockIdx.x / p.tiles / p.heads;
    const u32 base = shared_address(memory), part = threadIdx.x / 128 % SPLIT;
    const u32 row = at.row + threadIdx.x / (128 * SPLIT) * 64 + threadIdx.x / 32 % 4 * 16 + threadIdx.x % 32 / 4;
    const u32 limit = existing_keys(p, at.batch, min(at.row + ROWS, p.queries) - 1);
    const u32 all = existing_keys(p, at.batch, min(at.row, p.queries - 1)); /* that every row has */
    const u32 count = (limit + TILE_KEYS - 1) / TILE_KEYS, own = part * (KEYS * LINE_BYTES); /* of a tile */
    const i64 group = at.head / p.share;
    ring ring;
    ring.slots = base;
    ring.full = base + SLOTS * SLOT;
    ring.empty = ring.full + SLOTS * 8;
    ring.line = threadIdx.x / VECTORS;
    ring.limit = limit;
    ring.to = ring.line * LINE_BYTES + (thread_column() ^ ring.line * LINE_BYTES / 128) % VECTORS * 16;
    ring.k = (const char *)p.k + 2 * ((i64)at.batch * p.k_strides[0] + group * p.k_strides[1] + thread_column() * 8);
    ring.v = (const char *)p.v + 2 * ((i64)at.batch * p.v_strides[0] + group * p.v_strides[1] + thread_column() * 8);
    init_barriers(ring);
    float s[KEYS / 2], o[HEAD / 2];
    u32 q[HEAD / 16][4], w[KEYS / 16][4];
    state state = { { NOTHING, NOTHING }, { 0, 0 }, { 1, 1 }, false };
    const float to_log2 = p.scores ? LOG2_E : p.scale * LOG2_E;
    if (count) {
        fetch_k(p, ring, 0);
        copy_tile(ring, SLOT_OF_V(0), ring.v, 0, 0, 0);
        if (SLOTS_V > 1)
            fetch_v(p, ring, 0);
        if (SLOTS_K > 1 && count > 1)
            fetch_k(p, ring, 1);
    }
    load_queries(p, at, row, q);
#pragma unroll
    for (u32 i = 0; i < HEAD / 2; i++)
        o[i] = 0;
#pragma unroll
    for (u32 i = 0; i < KEYS / 4; i++)
        w[i / 4][i % 4] = 0;
    for (u32 i = 0; i < count; i++) {
        const u32 k = SLOT_OF_K(i), v = SLOT_OF_V(i);
        await(ring.full + k * 8, PARITY_K(i));
        scores(SLOT_AT(k) + own, q, s);
        await(ring.full + v * 8, PARITY_V(i));
        values(SLOT_AT(v) + own, w, o);
        if (SLOTS_K > 1 && i && i + 1 < count)
            fetch_k(p, ring, i + 1);
        if (SLOTS_V > 1 && i)
            fetch_v(p, ring, i);
        wgmma_wait<1>();
        release(ring.empty + k * 8);
        if (SLOTS_K == 1 && i + 1 < count)
            fetch_k(p, ring, i + 1);
        if (p.scores || (i + 1) * TILE_KEYS > all)
            mask_tile(p, at, row, i * TILE_KEYS + part * KEYS, s);
        softmax(p, s, to_log2, state);
        wgmma_wait<0>();
        release(ring.empty + v * 8);
        if (SLOTS_V == 1)
            fetch_v(p, ring, i);
        if (state.grown)
#pragma unroll
            for (u32 j = 0; j < HEAD / 2; j++)
                o[j] *= state.factor[j / 2 % 2];
        pack_weights(s, w);
    }
    if (count) {
        await(ring.full + SLOT_OF_V(count) * 8, PARITY_V(count));
        values(SLOT_AT(SLOT_OF_V(count)) + own, w, o);
        wgmma_wait<0>();
    }
#if SPLIT > 1
    add_parts(part, to_log2, state, o);
    if (part == 0)
#endif
        store(p, at, row, state, o);
    turn_pass(p.counters, p.turn);
}
