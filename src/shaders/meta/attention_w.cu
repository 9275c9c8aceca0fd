// SPDX-License-Identifier: Apache-2.0
/* KERN_ATTENTION by wgmma: FLOAT16, or BFLOAT16, FLOAT32 sums. A warpgroup takes 64 queries, which stay in its registers
 * as do the scores of KEYS keys, their weights and the results; the softmax is online, and the next scores are made
 * while values are summed. K and V come through rings of tiles in shared memory, which a team of TEAM warpgroups
 * fills and reads together, so that there is no barrier for all. SPLIT teams share the keys of the same queries, tile by
 * tile in turn. Defined from outside: HEAD (most elements of a line), KEYS, SLOTS, TEAM, SPLIT, [BFLOAT16]. */
#include "shaders/meta/attention_w_params.h"
#include "shaders/meta/attention_w.cuh"

#define THREADS     (128 * TEAM * SPLIT)
#define SLOT        (KEYS * HEAD * 2)
#define ROWS        (64 * TEAM)
#define BLOCK_BYTES (KEYS * 128) /* of a tile: 64 elements of each key */
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

INLINE float mask_element(const params &p, const char *mask, u32 key)
{
    const i64 at = (i64)key * p.mask_strides[3];
    if (p.mask_type == ATTENTION_W_FLOAT32)
        return ((const float *)mask)[at];
    const unsigned short bits = ((const unsigned short *)mask)[at];
    float x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
    return p.mask_type == ATTENTION_W_FLOAT16 ? x : __int_as_float((i32)bits << 16);
}

/* A team's ring. Its tiles follow one another as they are read: K i and V i - 1 in turn, V - 1 being zeros. */
struct ring {
    u32 slots, barriers; /* shared memory: full and then empty ones */
    const unsigned short *k, *v;
    u32 first, step, limit; /* keys: of tile 0, from tile to tile, and how many there are */
    u32 count;              /* tiles of K */
    u32 thread;
};

INLINE void fetch(const params &p, const ring &ring, u32 number)
{
    const bool value = number % 2;
    const u32 tile = number / 2 - value, slot = number % SLOTS, key = ring.first + tile * ring.step;
    const u32 to = ring.slots + slot * SLOT, limit = number == 1 ? 0 : ring.limit;
    const unsigned short *from = value ? ring.v : ring.k;
    const i32 stride = value ? p.v_strides[2] : p.k_strides[2];
    const u32 size = value ? p.width : p.depth;
    if (number == 1 ? !ring.count : tile >= ring.count)
        return;
    if (number >= SLOTS)
        barrier_wait(ring.barriers + (SLOTS + slot) * 8, (number / SLOTS - 1) & 1);
#pragma unroll
    for (u32 i = 0; i < (KEYS * HEAD / 8 + 128 * TEAM - 1) / (128 * TEAM); i++) {
        const u32 vector = ring.thread + i * 128 * TEAM, line = vector / (HEAD / 8), column = vector % (HEAD / 8);
        if (KEYS * HEAD / 8 % (128 * TEAM) && vector >= KEYS * HEAD / 8)
            break;
        const bool there = key + line < limit && column * 8 < size;
        copy_vector(to + column / 8 * BLOCK_BYTES + line * 128 + ((column ^ line) % 8) * 16,
                    there ? from + (i64)(key + line) * stride + column * 8 : from, there);
    }
    barrier_arrive_copied(ring.barriers + slot * 8);
}

INLINE void await_tile(const ring &ring, u32 number)
{
    barrier_wait(ring.barriers + number % SLOTS * 8, number / SLOTS & 1);
#ifdef FENCE
    proxy_fence();
#endif
}

INLINE void release_tile(const ring &ring, u32 number)
{
    if (threadIdx.x % 32 == 0)
        barrier_arrive(ring.barriers + (SLOTS + number % SLOTS) * 8);
}

/* Of the rows r and r + 8 of a warp, r = lane / 4. */
struct state {
    float greatest[2], sum[2], factor[2];
};

/* Scores of a tile become weights. Elements 4 j + e of a lane: of row e / 2, key 8 j + lane % 4 * 2 + e % 2. */
INLINE void softmax(const params &p, float (&s)[KEYS / 2], float to_log2, state &state)
{
    float most[2] = { NOTHING, NOTHING };
#pragma unroll
    for (u32 i = 0; i < KEYS / 2; i++)
        most[i / 2 % 2] = fmaxf(most[i / 2 % 2], s[i]);
#pragma unroll
    for (u32 r = 0; r < 2; r++) {
        most[r] = fmaxf(most[r], __shfl_xor_sync(~0u, most[r], 1));
        most[r] = fmaxf(most[r], __shfl_xor_sync(~0u, most[r], 2));
        most[r] = fmaxf(most[r], state.greatest[r]);
        const float base = most[r] == NOTHING ? 0 : most[r];
        state.factor[r] = exp2_fast((state.greatest[r] - base) * to_log2);
        state.greatest[r] = most[r];
        state.sum[r] *= state.factor[r];
        most[r] = p.scores ? base : base * to_log2;
    }
    if (p.scores) { /* which may be too great for the factor */
#pragma unroll
        for (u32 i = 0; i < KEYS / 2; i++)
            s[i] -= most[i / 2 % 2];
        most[0] = most[1] = 0;
    }
#pragma unroll
    for (u32 i = 0; i < KEYS / 2; i++) {
        s[i] = exp2_fast(fmaf(s[i], to_log2, -most[i / 2 % 2]));
        state.sum[i / 2 % 2] += s[i];
    }
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
        if (p.mask)
            EACH_SCORE(i)
            s[i] += mask_element(p, masks.mask[ROW(i)], min(KEY(i), last));
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

/* Results of several teams through shared memory: to the first. */
INLINE void combine(u32 team, state &state, float to_log2, float (&o)[HEAD / 2])
{
    float *const shared = (float *)memory + threadIdx.x % (128 * TEAM);
    for (u32 other = 1; other < SPLIT; other++) {
        __syncthreads();
        if (team == other) {
#pragma unroll
            for (u32 i = 0; i < HEAD / 2; i++)
                shared[i * 128 * TEAM] = o[i];
#pragma unroll
            for (u32 r = 0; r < 2; r++) {
                shared[(HEAD / 2 + r) * 128 * TEAM] = state.greatest[r];
                shared[(HEAD / 2 + 2 + r) * 128 * TEAM] = state.sum[r];
            }
        }
        __syncthreads();
        if (team)
            continue;
        float mine[2], theirs[2];
#pragma unroll
        for (u32 r = 0; r < 2; r++) {
            const float greatest = shared[(HEAD / 2 + r) * 128 * TEAM], most = fmaxf(greatest, state.greatest[r]);
            const float base = most == NOTHING ? 0 : most;
            mine[r] = exp2_fast((state.greatest[r] - base) * to_log2);
            theirs[r] = exp2_fast((greatest - base) * to_log2);
            state.greatest[r] = most;
            state.sum[r] = state.sum[r] * mine[r] + shared[(HEAD / 2 + 2 + r) * 128 * TEAM] * theirs[r];
        }
#pragma unroll
        for (u32 i = 0; i < HEAD / 2; i++)
            o[i] = o[i] * mine[i / 2 % 2] + shared[i * 128 * TEAM] * theirs[i / 2 % 2];
    }
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

INLINE void scores(const ring &ring, u32 number, const u32 (&q)[HEAD / 16][4], float (&s)[KEYS / 2])
{
    const u32 tile = ring.slots + number % SLOTS * SLOT;
    await_tile(ring, number);
    wgmma_fence();
#pragma unroll
    for (u32 i = 0; i < HEAD / 16; i++)
        wgmma<0>(s, q[i], tile_descriptor(tile + i / 4 * BLOCK_BYTES + i % 4 * 32, 16), i != 0);
    wgmma_commit();
}

INLINE void values(const ring &ring, u32 number, const u32 (&w)[KEYS / 16][4], float (&o)[HEAD / 2])
{
    const u32 tile = ring.slots + number % SLOTS * SLOT;
    await_tile(ring, number);
    wgmma_fence();
#pragma unroll
    for (u32 i = 0; i < KEYS / 16; i++)
        wgmma<1>(o, w[i], tile_descriptor(tile + i * 2048, BLOCK_BYTES), 1);
    wgmma_commit();
}

INLINE void pack_weights(const float (&s)[KEYS / 2], u32 (&w)[KEYS / 16][4])
{
#pragma unroll
    for (u32 i = 0; i < KEYS / 4; i++)
        w[i / 4][i % 4] = pack_two(s[2 * i], s[2 * i + 1]);
}

extern "C" __global__ void __launch_bounds__(THREADS, 1) meta_kernel(const __grid_constant__ params p)
{
    const u32 team = threadIdx.x / (128 * TEAM), lane = threadIdx.x % 32, warp = threadIdx.x / 32 % (4 * TEAM);
    place at;
    at.row = blockIdx.x % p.tiles * ROWS;
    at.head = blockIdx.x / p.tiles % p.heads;
    at.batch = blockIdx.x / p.tiles / p.heads;
    const u32 base = shared_address(memory), row = at.row + warp * 16 + lane / 4;
    ring ring;
    ring.slots = base + team * SLOTS * SLOT;
    ring.barriers = base + SPLIT * SLOTS * SLOT + team * SLOTS * 16;
    ring.k = (const unsigned short *)p.k + (i64)at.batch * p.k_strides[0] + (i64)(at.head / p.share) * p.k_strides[1];
    ring.v = (const unsigned short *)p.v + (i64)at.batch * p.v_strides[0] + (i64)(at.head / p.share) * p.v_strides[1];
    ring.first = team * KEYS;
    ring.step = SPLIT * KEYS;
    ring.limit = existing_keys(p, at.batch, min(at.row + ROWS, p.queries) - 1);
    ring.count = ring.limit > ring.first ? (ring.limit - ring.first + ring.step - 1) / ring.step : 0;
    ring.thread = threadIdx.x % (128 * TEAM);
    if (ring.thread == 0) {
        for (u32 i = 0; i < SLOTS; i++) {
            barrier_init(ring.barriers + i * 8, 128 * TEAM);
            barrier_init(ring.barriers + (SLOTS + i) * 8, 4 * TEAM);
        }
        proxy_fence();
    }
    __syncthreads();
    for (u32 i = 0; i < SLOTS; i++)
        fetch(p, ring, i);
    u32 q[HEAD / 16][4], w[KEYS / 16][4];
    load_queries(p, at, row, q);
    const u32 all = existing_keys(p, at.batch, min(at.row, p.queries - 1)); /* that every row has */
    const float to_log2 = p.scores ? LOG2_E : p.scale * LOG2_E;
    float s[KEYS / 2], o[HEAD / 2];
    state state = { { NOTHING, NOTHING }, { 0, 0 }, { 1, 1 } };
#pragma unroll
    for (u32 i = 0; i < HEAD / 2; i++)
        o[i] = 0;
#pragma unroll
    for (u32 i = 0; i < KEYS / 4; i++)
        w[i / 4][i % 4] = 0;
    for (u32 i = 0; i < ring.count; i++) {
        const u32 key = ring.first + i * ring.step;
        scores(ring, 2 * i, q, s);
        values(ring, 2 * i + 1, w, o);
        if (2 * i >= LAG)
            fetch(p, ring, 2 * i - LAG + SLOTS);
        wgmma_wait<1>();
        release_tile(ring, 2 * i);
        if (p.scores || key + KEYS > all)
            mask_tile(p, at, row, key, s);
        softmax(p, s, to_log2, state);
        wgmma_wait<0>();
        release_tile(ring, 2 * i + 1);
        if (2 * i + 1 >= LAG)
            fetch(p, ring, 2 * i + 1 - LAG + SLOTS);
#pragma unroll
        for (u32 j = 0; j < HEAD / 2; j++)
            o[j] *= state.factor[j / 2 % 2];
        pack_weights(s, w);
    }
    if (ring.count) {
        values(ring, 2 * ring.count + 1, w, o);
        wgmma_wait<0>();
    }
    if (SPLIT > 1)
        combine(team, state, to_log2, o);
    if (team == 0)
        store(p, at, row, state, o);
}
