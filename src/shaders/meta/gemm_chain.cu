/* SPDX-License-Identifier: Apache-2.0 */
/* A chain: products that follow one another, of few rows and constant factors, with normalisations before them.
 *
 * Workgroups take pieces of work in order, the tiles of a step before those of the next, and wait until all tiles of the
 * step before with the same rows are done. So a workgroup waits only for such as have begun, and it does not matter how many
 * of them a device runs at once. A piece's part of B is on its way, into registers, before it waits, and comes by the
 * second-level cache, where it is asked for a step ahead. Where the depth is split, the last piece of a tile to come
 * adds up what all of them have. */
#include "shaders/meta/gemm_chain.cuh"

DEVICE void multiply(float (&d)[4], const u32 (&a)[4], u32 b0, u32 b1)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                 "{%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/* With the units that are in shared memory; and B of the next piece takes the place of what was used. */
template <int FIRST>
DEVICE void multiply_units(float (&sums)[MT][NT][4], uint4 (&b)[DEEP][NT], u32 units, const struct factor &next)
{
    const u32 own = threadIdx.x / 32 % WK, lane = threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < PHASE / WK && FIRST / WK + i < DEEP; i++) {
        const u32 unit = own + WK * i;
        if (FIRST + unit < units) {
            uint4 a[MT * 2];
#pragma unroll
            for (int r = 0; r < MT * 2; r++)
                a[r] = room->a[unit * (BM * 4) + r * 32 + (lane ^ unit % 2 * 4)];
#pragma unroll
            for (int h = 0; h < 2; h++)
#pragma unroll
                for (int j = 0; j < NT; j++) {
                    const uint4 w = b[FIRST / WK + i][j];
#pragma unroll
                    for (int m = 0; m < MT; m++) {
                        const uint4 v = a[2 * m], x = a[2 * m + 1];
                        const u32 f[4] = { h ? v.z : v.x, h ? x.z : x.x, h ? v.w : v.y, h ? x.w : x.y };
                        multiply(sums[m][j], f, h ? w.z : w.x, h ? w.w : w.y);
                    }
                }
        }
        if (next.b)
            load_unit(next, FIRST / WK + i, b[FIRST / WK + i]);
    }
}

/* The warp's rows: what fits goes to shared memory, and the rest stays in `rest`. */
DEVICE void load_rows(const struct gemm_chain_step &s, const struct piece &at, u32 units, uint4 (&rest)[ROWS])
{
    const u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32, vectors = units * 4, row0 = at.m * BM + warp * ROWS;
    const element *a = (const element *)s.product.a + at.split * s.units * 32;
    if (!s.gamma) {
#pragma unroll
        for (int r = 0; r < ROWS; r++)
#pragma unroll
            for (int i = 0; i < VECTORS; i++) {
                const u32 vector = i * 32 + lane;
                const element *from = a + min(row0 + r, s.product.m - 1) * (i64)s.product.a_m + vector * 8;
                if (vector < vectors && i < HELD)
                    copy16(&room->a[place_of(warp * ROWS + r, vector)], from);
                else if (vector < vectors)
                    rest[r] = load_new(from);
            }
        return;
    }
    uint4 rows[ROWS][VECTORS];
#pragma unroll
    for (int r = 0; r < ROWS; r++)
#pragma unroll
        for (int i = 0; i < VECTORS; i++)
            rows[r][i] = load_new(a + min(row0 + r, s.product.m - 1) * (i64)s.product.a_m +
                                  min(i * 32 + lane, vectors - 1) * 8);
    normalize(s.epsilon, rows, vectors);
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
#pragma unroll
        for (int i = 0; i < VECTORS; i++) {
            const u32 vector = i * 32 + lane;
            if (at.n == 0 && row0 + r < s.product.m && vector < vectors)
                *(uint4 *)((element *)s.normal + (row0 + r) * (i64)s.normal_m + vector * 8) = rows[r][i];
            if (i < HELD)
                room->a[place_of(warp * ROWS + r, vector)] = rows[r][i];
            else
                rest[r] = rows[r][i];
        }
    }
}

DEVICE void multiply_all(float (&sums)[MT][NT][4], uint4 (&b)[DEEP][NT], u32 units, const uint4 (&rest)[ROWS],
                         const struct factor &next)
{
    const u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < MT * NT * 4; i++)
        ((float *)sums)[i] = 0;
    multiply_units<0>(sums, b, units, next);
    __syncthreads();
#pragma unroll
    for (int r = 0; r < ROWS; r++)
        room->a[place_of(warp * ROWS + r, lane)] = rest[r];
    __syncthreads();
    multiply_units<PHASE>(sums, b, units, next);
    __syncthreads();
}

DEVICE void find_unit(const struct gemm_meta_params &p, const struct piece &at, u32 number, struct unit &u)
{
    u.row = at.m * BM + number / (BN / 4);
    u.column = at.n * BN + number % (BN / 4) * 4;
    u.count = u.row >= (i32)p.m || u.column >= (i32)p.n ? 0 : min(4, (i32)p.n - u.column);
    u.y_at = u.row * (i64)p.y_m + u.column * (i64)p.y_n;
    u.c_at = 0;
}

/* The epilogue's operands, on their way to shared memory. */
DEVICE void copy_early(const struct gemm_chain_step &s, const struct piece &at)
{
#pragma unroll
    for (int i = 0; i < GEMM_EARLY; i++) {
        if (!s.product.early[i])
            continue;
        const struct meta_step &step = s.product.epilogue.steps[s.product.early[i] - 1];
        const element *from = (const element *)s.product.epilogue.operands[s.product.early[i] - 1];
        for (u32 number = threadIdx.x; number < RESULTS; number += THREADS) {
            struct unit u;
            find_unit(s.product, at, number, u);
            if (u.count > 0)
                copy8(&room->early[i][number], from + (step.place == META_PLACE_RESULT ? u.y_at : u.column));
        }
    }
}

DEVICE float4 add(float4 a, float4 b)
{
    return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}

DEVICE float4 sum_of_parts(u32 number)
{
    const float *from = (const float *)room->a + number / (BN / 4) * LINE + number % (BN / 4) * 4;
    float4 sum = *(const float4 *)from;
#pragma unroll
    for (int k = 1; k < KEPT; k++)
        sum = add(sum, *(const float4 *)(from + k * PART));
    return sum;
}

DEVICE float4 *partials_of(const struct gemm_chain_step &s, const struct piece &at)
{
    return (float4 *)s.partials + (size_t)(s.first_partial + (at.n * s.product.tiles_m + at.m) * s.splits) * RESULTS;
}

/* This piece's sums go to memory; true: it is the tile's last one. */
DEVICE bool store_partials(const struct gemm_chain_step &s, const struct piece &at, u32 *last)
{
    float4 *to = partials_of(s, at) + at.split * RESULTS;
    for (u32 number = threadIdx.x; number < RESULTS; number += THREADS)
        __stcg(&to[number], sum_of_parts(number));
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        *last = atomicAdd((u32 *)s.counters + s.split_counter + at.n * s.product.tiles_m + at.m, 1) == s.splits - 1;
        __threadfence();
    }
    __syncthreads();
    return *last;
}

DEVICE float4 sum_of_partials(const struct gemm_chain_step &s, const struct piece &at, u32 number)
{
    const float4 *from = partials_of(s, at) + number;
    float4 sum = __ldcg(from);
#pragma unroll 3
    for (u32 k = 1; k < s.splits; k++)
        sum = add(sum, __ldcg(from + k * RESULTS));
    return sum;
}

/* From parts of sums in shared memory to results. */
DEVICE void finish_piece(const struct gemm_chain_step &s, const struct piece &at, u32 *last)
{
    if (s.splits > 1 && !store_partials(s, at, last))
        return;
#pragma unroll 1
    for (u32 number = threadIdx.x; number < RESULTS; number += THREADS) {
        struct unit u;
        find_unit(s.product, at, number, u);
#pragma unroll
        for (int i = 0; i < GEMM_EARLY; i++)
            u.early[i] = room->early[i][number];
        finish(s.product, u, s.splits > 1 ? sum_of_partials(s, at, number) : sum_of_parts(number));
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd((u32 *)s.counters + s.done + at.m * GEMM_CHAIN_LINE, 1);
    }
}

/* Not for ever: whatever happens, the device must not hang. */
DEVICE void wait_for(const u32 *counter, u32 count)
{
    for (u32 i = 0; load_acquire(counter) < count && i < WAITS_MAX; i++)
        ;
}

/* Scale and bias of the normalisation, and when these rows of the step before are done, A: in shared memory then. Thread
 * 0 gets the number of the next piece. */
DEVICE u32 begin_piece(const struct gemm_chain_step &s, const struct piece &at, u32 units, uint4 (&rest)[ROWS])
{
    u32 *counters = (u32 *)s.counters, next = 0;
    if (s.gamma && threadIdx.x < s.product.k / 8) {
        copy16(&room->norm[0][threadIdx.x], (const uint4 *)s.gamma + threadIdx.x);
        copy16(&room->norm[1][threadIdx.x], (const uint4 *)s.beta + threadIdx.x);
    }
    if (threadIdx.x == 0) {
        wait_for(&counters[s.before + at.m * GEMM_CHAIN_LINE], s.per_rows);
        next = atomicAdd(counters, 1);
    }
    wait_copies();
    __syncthreads();
    load_rows(s, at, units, rest);
    if (s.gamma)
        __syncthreads(); /* the operands take the place of scale and bias */
    copy_early(s, at);
    wait_copies();
    return next;
}

extern "C" __global__ void __launch_bounds__(THREADS, 1) meta_kernel(const __grid_constant__ struct gemm_chain_params p)
{
    __shared__ struct gemm_chain_step steps[2]; /* this piece's, and the next one's */
    __shared__ u32 number, last;
    const u32 warp = threadIdx.x / 32, words = sizeof(steps[0]) / sizeof(u32);
    uint4 b[DEEP][NT], rest[ROWS];
    float sums[MT][NT][4];
    if (threadIdx.x == 0)
        number = atomicAdd((u32 *)p.steps[0].counters, 1);
    __syncthreads();
    if (number >= p.steps[0].pieces)
        return;
    struct piece at = find_piece(p, number);
    struct factor factor = find_factor(p.steps[at.step], at);
#pragma unroll
    for (int i = 0; i < DEEP; i++)
        load_unit(factor, i, b[i]);
    prefetch_factor(p, at, at.step + 1);
    if (threadIdx.x < words)
        ((u32 *)&steps[0])[threadIdx.x] = ((const u32 *)&p.steps[at.step])[threadIdx.x];
    __syncthreads();
    for (u32 turn = 0;; turn ^= 1) {
        const struct gemm_chain_step &s = steps[turn];
        const u32 units = min(s.units, s.product.k / 32 - at.split * s.units);
        prefetch_factor(p, at, at.step + 2);
        const u32 taken = begin_piece(s, at, units, rest);
        if (threadIdx.x == 0)
            number = taken;
        __syncthreads();
        const bool more = number < p.steps[0].pieces;
        const struct piece next = find_piece(p, number);
        factor = find_factor(p.steps[next.step], next);
        if (!more)
            factor.b = NULL;
        const u32 word = threadIdx.x < words ? ((const u32 *)&p.steps[next.step])[threadIdx.x] : 0;
        multiply_all(sums, b, units, rest, factor);
        if (threadIdx.x < words)
            ((u32 *)&steps[turn ^ 1])[threadIdx.x] = word;
        gather_parts((float *)room->a + warp / WK * NT * 8, sums, warp % WK, 0, threadIdx.x % 32);
        finish_piece(s, at, &last);
        if (!more)
            break;
        at = next;
        __syncthreads();
    }
}
