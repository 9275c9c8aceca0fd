// SPDX-License-Identifier: Apache-2.0
/* Products of bytes by wgmma with INT32 sums. Blocks walk over tiles of TILE_M x TILE_N results; each of TILE_M / 64
 * warpgroups multiplies 64 rows of A, which it loads right into registers, one set of 64 * DEEP of K behind the other;
 * one more thread copies what igemm_pack.cu made of B through a ring of SLOTS stages of 32 of K. Lane t of four loads 16
 * bytes of a row, 64 of K a warp: its words 0 and 1 are what wgmma wants of the first 32, if B's order of K agrees.
 * Defined from outside: TILE_M, TILE_N, SLOTS, DEEP, REGISTERS. */
#include "shaders/cuda/barrier.cuh"
#include "shaders/cuda/igemm_params.h"

#define WARPS   (TILE_M / 16)
#define THREADS (TILE_M * 2 + 128)
#define SLOT    (TILE_N * 32)

extern __shared__ __align__(128) unsigned char memory[];

using params = igemm_params;

#define D8(i)                                                                                                          \
    "+r"(d[i]), "+r"(d[i + 1]), "+r"(d[i + 2]), "+r"(d[i + 3]), "+r"(d[i + 4]), "+r"(d[i + 5]), "+r"(d[i + 6]),        \
        "+r"(d[i + 7])
#define D32(i) D8(i), D8(i + 8), D8(i + 16), D8(i + 24)
#define R32                                                                                                            \
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, "   \
    "%24, %25, %26, %27, %28, %29, %30, %31"
#define R64                                                                                                            \
    R32 ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, "  \
        "%53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define R128                                                                                                           \
    R64 ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, "  \
        "%85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, %98, %99, %100, %101, %102, %103, %104, "    \
        "%105, %106, %107, %108, %109, %110, %111, %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, " \
        "%123, %124, %125, %126, %127"
#define WGMMA(n, registers, a0, a1, a2, a3, b)                                                                         \
    "wgmma.mma_async.sync.aligned.m64n" #n "k32.s32.s8.s8 {" registers "}, {%" #a0 ", %" #a1 ", %" #a2 ", %" #a3       \
    "}, %" #b ", 1;"

#if TILE_N == 256
INLINE void wgmma(u32 (&d)[128], u32 a0, u32 a1, u32 a2, u32 a3, u64 b)
{
    asm volatile(WGMMA(256, R128, 128, 129, 130, 131, 132)
                 : D32(0), D32(32), D32(64), D32(96)
                 : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "l"(b));
}
#else
INLINE void wgmma(u32 (&d)[64], u32 a0, u32 a1, u32 a2, u32 a3, u64 b)
{
    asm volatile(WGMMA(128, R64, 64, 65, 66, 67, 68)
                 : D32(0), D32(32)
                 : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "l"(b));
}
#endif

struct tile {
    u32 batch, m, n, k, end; /* from k to end */
};

INLINE u32 tile_count(const params &p)
{
    return (p.m + TILE_M - 1) / TILE_M * ((p.n + TILE_N - 1) / TILE_N) * p.batches * p.splits;
}

/* `group` rows of tiles at a time, column by column, for the second-level cache. */
INLINE tile tile_of(const params &p, u32 number)
{
    const u32 rows = (p.m + TILE_M - 1) / TILE_M, columns = (p.n + TILE_N - 1) / TILE_N;
    tile at;
    at.batch = number / (rows * columns);
    number -= at.batch * rows * columns;
    at.k = at.batch / p.batches * p.part;
    at.end = min(at.k + p.part, p.depth);
    at.batch %= p.batches;
    const u32 first = number / (p.group * columns) * p.group, height = min(p.group, rows - first);
    number -= first * columns;
    at.m = (first + number % height) * TILE_M;
    at.n = number / height * TILE_N;
    return at;
}

INLINE void copy_tiles(const params &p, u32 slots, u32 full, u32 empty)
{
    u32 slot = 0, parity = 1;
    for (u32 number = blockIdx.x; number < tile_count(p); number += gridDim.x) {
        const tile at = tile_of(p, number);
        u64 from = p.packed + (u64)(at.batch % p.b_batches) * p.columns * p.depth + (u64)at.n * p.depth + at.k * TILE_N;
        for (u32 k = at.k; k < at.end; k += 32, from += SLOT) {
            barrier_wait(empty + slot * 8, parity);
            asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(full + slot * 8), "r"(SLOT) : "memory");
            asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                             slots + slot * SLOT),
                         "l"(from), "r"(SLOT), "r"(full + slot * 8)
                         : "memory");
            if (++slot == SLOTS) {
                slot = 0;
                parity ^= 1;
            }
        }
    }
}

/* 64 * DEEP of K of two rows. */
using operand = uint4[DEEP][2];

struct rows {
    const char *a[2]; /* of the lane, at its 16 bytes of K 0; rows outside are the last one */
};

INLINE rows rows_of(const params &p, const tile &at)
{
    const u32 lane = threadIdx.x % 32, first = at.m + threadIdx.x / 32 * 16 + lane / 4;
    const char *a = (const char *)p.a + (i64)(at.batch / p.batches1) * p.a_batch[0] + (i64)(at.batch % p.batches1) * p.a_batch[1];
    rows out;
#pragma unroll
    for (u32 r = 0; r < 2; r++)
        out.a[r] = a + (i64)min(first + 8 * r, p.m - 1) * p.a_row + lane % 4 * 16;
    return out;
}

INLINE void load(const params &p, const rows &rows, u32 k, operand &out)
{
#pragma unroll
    for (u32 i = 0; i < DEEP; i++)
#pragma unroll
        for (u32 r = 0; r < 2; r++) {
            const u32 at = k + i * 64;
            out[i][r] = make_uint4(p.a_flip, p.a_flip, p.a_flip, p.a_flip);
            if (at + threadIdx.x % 4 * 16 < p.k)
                asm volatile("ld.global.nc.L1::no_allocate.L2::128B.v4.u32 {%0, %1, %2, %3}, [%4];"
                             : "=r"(out[i][r].x), "=r"(out[i][r].y), "=r"(out[i][r].z), "=r"(out[i][r].w)
                             : "l"(rows.a[r] + at));
        }
}

/* Where in the ring. */
struct cursor {
    u32 slots, full, empty, slot, parity, last; /* last: the slot before, which wgmma may still read; or SLOTS */
};

INLINE void release_last(cursor &c)
{
    if (c.last < SLOTS && threadIdx.x % 32 == 0)
        barrier_arrive(c.empty + c.last * 8);
}

INLINE void multiply(const params &p, cursor &c, operand &a, i32 (&row_sums)[2], u32 (&d)[TILE_N / 2])
{
#pragma unroll
    for (u32 i = 0; i < DEEP; i++) {
#pragma unroll
        for (u32 r = 0; r < 2; r++) {
            a[i][r].x ^= p.a_flip;
            a[i][r].y ^= p.a_flip;
            a[i][r].z ^= p.a_flip;
            a[i][r].w ^= p.a_flip;
            if (p.b_flip | (u32)(p.b_zero != 0)) {
                row_sums[r] = __dp4a((i32)a[i][r].x, 0x01010101, row_sums[r]);
                row_sums[r] = __dp4a((i32)a[i][r].y, 0x01010101, row_sums[r]);
                row_sums[r] = __dp4a((i32)a[i][r].z, 0x01010101, row_sums[r]);
                row_sums[r] = __dp4a((i32)a[i][r].w, 0x01010101, row_sums[r]);
            }
        }
    }
#pragma unroll
    for (u32 i = 0; i < 2 * DEEP; i++) {
        const uint4 low = a[i / 2][0], high = a[i / 2][1];
        barrier_wait(c.full + c.slot * 8, c.parity);
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        const u64 b = (u64)(((c.slots + c.slot * SLOT) & 0x3ffff) >> 4) | (u64)(128 >> 4) << 16 | (u64)(256 >> 4) << 32;
        if (i % 2)
            wgmma(d, low.z, high.z, low.w, high.w, b);
        else
            wgmma(d, low.x, high.x, low.y, high.y, b);
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
        release_last(c);
        c.last = c.slot;
        if (++c.slot == SLOTS) {
            c.slot = 0;
            c.parity ^= 1;
        }
    }
}

INLINE i32 zero_at(u64 zeros, i32 stride, u32 index, u32 flip)
{
    if (!zeros)
        return flip ? -128 : 0;
    const signed char byte = ((const signed char *)zeros)[(i64)index * stride];
    return flip ? (i32)(unsigned char)byte - 128 : byte;
}

/* Of a tile's columns, in shared memory: sums of B, and its zero points. */
struct columns {
    i32 sums[TILE_N], zeros[TILE_N];
};

INLINE void sync_consumers()
{
    asm volatile("bar.sync 1, %0;" ::"n"(TILE_M * 2) : "memory");
}

INLINE void find_columns(const params &p, const tile &at, columns &out)
{
    const u32 batch = at.batch % p.b_batches;
    for (u32 i = threadIdx.x; i < TILE_N; i += TILE_M * 2) {
        i32 sum = 0;
        if (p.a_zero || p.a_flip)
            for (u32 j = at.k / IGEMM_CHUNK; j * IGEMM_CHUNK < at.end; j++)
                sum += ((const i32 *)p.sums)[((u64)j * p.b_batches + batch) * p.columns + at.n + i];
        out.sums[i] = sum;
        out.zeros[i] = zero_at(p.b_zero, p.b_zero_stride, min(at.n + i, p.n - 1), p.b_flip);
    }
}

INLINE void store(const params &p, const tile &at, columns &columns, const i32 (&row_sums)[2], const u32 (&d)[TILE_N / 2])
{
    const u32 lane = threadIdx.x % 32, first = at.m + threadIdx.x / 32 * 16 + lane / 4, count = p.n - at.n;
    i32 *const y = (i32 *)p.y + (i64)(at.batch / p.batches1) * p.y_batch[0] +
                   (i64)(at.batch % p.batches1) * p.y_batch[1] + at.k / p.part * p.y_split + at.n;
    const bool pairs = ((p.y_row | p.y_batch[0] | p.y_batch[1] | p.y_split | (i64)p.y >> 2) & 1) == 0;
    i32 zero[2], sums[2];
    sync_consumers();
    find_columns(p, at, columns);
    sync_consumers();
#pragma unroll
    for (u32 r = 0; r < 2; r++) {
        sums[r] = row_sums[r];
        sums[r] += __shfl_xor_sync(~0u, sums[r], 1);
        sums[r] += __shfl_xor_sync(~0u, sums[r], 2);
        zero[r] = zero_at(p.a_zero, p.a_zero_stride, min(first + 8 * r, p.m - 1), p.a_flip);
        sums[r] -= (i32)((min(at.end, p.k) - min(at.k, p.k)) * (u32)zero[r]);
    }
#pragma unroll
    for (u32 j = 0; j < TILE_N / 8; j++) {
        const u32 n = j * 8 + lane % 4 * 2;
        const int2 column = *(const int2 *)&columns.sums[n], b = *(const int2 *)&columns.zeros[n];
#pragma unroll
        for (u32 r = 0; r < 2; r++) {
            i32 *const to = y + (i64)(first + 8 * r) * p.y_row + n;
            const i32 low = (i32)d[4 * j + 2 * r] - zero[r] * column.x - sums[r] * b.x;
            const i32 high = (i32)d[4 * j + 2 * r + 1] - zero[r] * column.y - sums[r] * b.y;
            if (first + 8 * r < p.m) {
                if (n + 1 < count && pairs)
                    *(int2 *)to = make_int2(low, high);
                else {
                    if (n < count)
                        to[0] = low;
                    if (n + 1 < count)
                        to[1] = high;
                }
            }
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 1) meta_kernel(const __grid_constant__ params p)
{
    const u32 slots = (u32)__cvta_generic_to_shared(memory), full = slots + SLOTS * SLOT, empty = full + SLOTS * 8;
    if (threadIdx.x == 0) {
        for (u32 i = 0; i < SLOTS; i++) {
            barrier_init(full + i * 8, 1);
            barrier_init(empty + i * 8, WARPS);
        }
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    }
    __syncthreads();
    if (threadIdx.x >= TILE_M * 2) {
#ifdef REGISTERS
        asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
#endif
        if (threadIdx.x == TILE_M * 2)
            copy_tiles(p, slots, full, empty);
        return;
    }
#ifdef REGISTERS
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(REGISTERS));
#endif
    columns &columns = *(struct columns *)(memory + SLOTS * SLOT + SLOTS * 16);
    cursor cursor = { slots, full, empty, 0, 0, SLOTS };
    operand even, odd;
    u32 number = blockIdx.x, d[TILE_N / 2];
    const u32 step = 64 * DEEP;
    if (number >= tile_count(p))
        return;
    tile at = tile_of(p, number);
    rows rows = rows_of(p, at);
    load(p, rows, at.k, even);
    for (;;) {
        i32 sums[2] = { 0, 0 };
#pragma unroll
        for (u32 i = 0; i < TILE_N / 2; i++)
            d[i] = 0;
        for (u32 k = at.k; k < at.end; k += 2 * step) {
            load(p, rows, k + step, odd);
            multiply(p, cursor, even, sums, d);
            load(p, rows, k + 2 * step, even);
            multiply(p, cursor, odd, sums, d);
        }
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
        release_last(cursor);
        cursor.last = SLOTS;
        const tile done = at;
        number += gridDim.x;
        if (number < tile_count(p)) {
            at = tile_of(p, number);
            rows = rows_of(p, at);
            load(p, rows, at.k, even);
        }
        store(p, done, columns, sums, d);
        if (number >= tile_count(p))
            return;
    }
}
