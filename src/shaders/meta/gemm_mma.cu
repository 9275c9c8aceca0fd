/* SPDX-License-Identifier: Apache-2.0 */
/* Small products, with mma.sync: both operands go from memory straight into fragments, and are on their way before anything
 * waits. Tiles of 16 * MT * WM x 8 * NT; WK warps of a workgroup each sum a part of the depth.
 *
 * The elements along K may come in any order that A and B agree on: of 32, lane t of a row has 8t to 8t + 7, which A loads
 * as 16 bytes, as does B where its neighbours are along K. Where they are along N, a lane loads NT columns of each of these
 * eight rows and pairs the elements of neighbouring rows; column j of lane g is then column g * NT + j. */
#include "shaders/meta/gemm_meta.cuh"

#define THREADS  (32 * WM * WK)
#define BM       (WM * MT * 16)
#define BN       (NT * 8)
#define LINE     (BN + 8) /* of sums in shared memory: no bank conflicts */
#define PART     (BM * LINE)
#define KEPT     (WK > PARTS ? PARTS : WK) /* parts of the depth that fit shared memory */
#define UNITS    (BM * BN / 4)             /* four results side by side */
#define UNITS_IN ((UNITS + THREADS - 1) / THREADS) /* of a thread */

extern __shared__ float4 shared_memory[];

#define MULTIPLY(type)                                                                                                 \
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." type "." type ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "    \
                 "{%8, %9}, {%0, %1, %2, %3};"                                                                         \
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                                                      \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1))

template <bool BFLOAT16> DEVICE void multiply(float (&d)[4], const u32 (&a)[4], u32 b0, u32 b1)
{
    if (BFLOAT16)
        MULTIPLY("bf16");
    else
        MULTIPLY("f16");
}

/* A: 16 bytes of each of a lane's rows. B: 16 bytes of each of NT columns, or NT columns of each of eight rows. */
struct fragments {
    uint4 a[MT * 2];
#ifdef B_K_MAJOR
    uint4 b[NT];
#else
    u32 b[8][NT / 2];
#endif
};

/* Of a lane: element 0 along K of its rows and columns. Behind the last one it is that one again, for results that nobody
 * stores. */
struct lines {
    const element *a[MT * 2];
#ifdef B_K_MAJOR
    const element *b[NT];
#else
    const element *b;
#endif
};

DEVICE void load_a(const struct lines &from, i32 k, struct fragments &out)
{
#pragma unroll
    for (int i = 0; i < MT * 2; i++)
        out.a[i] = load16(from.a[i] + k);
}

#ifdef B_K_MAJOR
DEVICE void load_b(const struct gemm_meta_params &p, const struct lines &from, i32 k, struct fragments &out)
{
#pragma unroll
    for (int j = 0; j < NT; j++)
        out.b[j] = load16(from.b[j] + k);
}
DEVICE void pair_of(const struct fragments &f, int h, int j, u32 &b0, u32 &b1)
{
    b0 = h ? f.b[j].z : f.b[j].x;
    b1 = h ? f.b[j].w : f.b[j].y;
}
DEVICE void clear_b(struct fragments &f)
{
#pragma unroll
    for (int j = 0; j < NT; j++)
        f.b[j] = make_uint4(0, 0, 0, 0);
}
#else
DEVICE void load_b(const struct gemm_meta_params &p, const struct lines &from, i32 k, struct fragments &out)
{
    const element *at = from.b + k * (i64)p.b_k;
#pragma unroll
    for (int r = 0; r < 8; r++, at += p.b_k) {
#if NT == 8
        const uint4 v = load16(at);
        out.b[r][0] = v.x;
        out.b[r][1] = v.y;
        out.b[r][2] = v.z;
        out.b[r][3] = v.w;
#elif NT == 4
        const uint2 v = __ldg((const uint2 *)at);
        out.b[r][0] = v.x;
        out.b[r][1] = v.y;
#else
        out.b[r][0] = __ldg((const u32 *)at);
#endif
    }
}
DEVICE void pair_of(const struct fragments &f, int h, int j, u32 &b0, u32 &b1)
{
    const u32 select = j % 2 ? 0x7632 : 0x5410;
    b0 = __byte_perm(f.b[4 * h][j / 2], f.b[4 * h + 1][j / 2], select);
    b1 = __byte_perm(f.b[4 * h + 2][j / 2], f.b[4 * h + 3][j / 2], select);
}
DEVICE void clear_b(struct fragments &f)
{
#pragma unroll
    for (int r = 0; r < 8; r++)
#pragma unroll
        for (int j = 0; j < NT / 2; j++)
            f.b[r][j] = 0;
}
#endif

/* 32 elements along K; a lane that has none of them, since K ends before, loads others and clears them when they come. */
DEVICE void load(const struct gemm_meta_params &p, const struct lines &from, i32 k, struct fragments &out)
{
    k = min(k, (i32)p.k - 8);
    load_a(from, k, out);
    load_b(p, from, k, out);
}

DEVICE void clear(struct fragments &f)
{
#pragma unroll
    for (int i = 0; i < MT * 2; i++)
        f.a[i] = make_uint4(0, 0, 0, 0);
    clear_b(f);
}

template <bool BFLOAT16> DEVICE void multiply_all(float (&sums)[MT][NT][4], const struct fragments &f)
{
#pragma unroll
    for (int h = 0; h < 2; h++)
#pragma unroll
        for (int j = 0; j < NT; j++) {
            u32 b0, b1;
            pair_of(f, h, j, b0, b1);
#pragma unroll
            for (int i = 0; i < MT; i++) {
                const uint4 v = f.a[2 * i], w = f.a[2 * i + 1];
                const u32 a[4] = { h ? v.z : v.x, h ? w.z : w.x, h ? v.w : v.y, h ? w.w : w.y };
                multiply<BFLOAT16>(sums[i][j], a, b0, b1);
            }
        }
}

/* Where a lane's sums [i][j][2 * half + e] lie in a part. */
DEVICE int place_of(int row, int lane, int i, int j, int half, int e)
{
    const int column = lane % 4 * 2 + e;
#ifdef B_K_MAJOR
    return (row + i * 16 + lane / 4 + 8 * half) * LINE + j * 8 + column;
#else
    return (row + i * 16 + lane / 4 + 8 * half) * LINE + column * NT + j;
#endif
}

DEVICE void store_sums(float *part, const float (&sums)[MT][NT][4], int row, int lane)
{
#pragma unroll
    for (int i = 0; i < MT; i++)
#pragma unroll
        for (int j = 0; j < NT; j++)
#pragma unroll
            for (int e = 0; e < 4; e++)
                part[place_of(row, lane, i, j, e / 2, e % 2)] = sums[i][j][e];
}

DEVICE void add_sums(const float *part, float (&sums)[MT][NT][4], int row, int lane)
{
#pragma unroll
    for (int i = 0; i < MT; i++)
#pragma unroll
        for (int j = 0; j < NT; j++)
#pragma unroll
            for (int e = 0; e < 4; e++)
                sums[i][j][e] += part[place_of(row, lane, i, j, e / 2, e % 2)];
}

/* All parts of the workgroup's sums are in the first KEPT ones then. */
DEVICE void gather_parts(float *parts, float (&sums)[MT][NT][4], int warp_k, int row, int lane)
{
#pragma unroll
    for (int have = WK; have > KEPT;) { /* warps from `keep` on hand over what they have */
        const int most = have / 2 < KEPT ? have / 2 : KEPT, keep = have - most > KEPT ? have - most : KEPT;
        if (warp_k >= keep && warp_k < have)
            store_sums(parts + (warp_k - keep) * PART, sums, row, lane);
        __syncthreads();
        if (warp_k < have - keep)
            add_sums(parts + warp_k * PART, sums, row, lane);
        __syncthreads();
        have = keep;
    }
    if (warp_k < KEPT)
        store_sums(parts + warp_k * PART, sums, row, lane);
    __syncthreads();
}

/* Four results side by side, along M or N: where, and what their epilogue reads, loaded before their sums are there. */
struct unit {
    i32 row, column, count; /* count <= 0: they are outside */
    i64 y_at, c_at;
    uint2 early[GEMM_EARLY];
};

DEVICE void prepare(const struct gemm_meta_params &p, i32 m0, i32 n0, u32 batch, int number, struct unit &u)
{
    const bool along_m = p.flags & GEMM_Y_ALONG_M;
    const i32 row = along_m ? number % (BM / 4) * 4 : number / (BN / 4);
    const i32 column = along_m ? number / (BM / 4) : number % (BN / 4) * 4;
    u.row = m0 + row;
    u.column = n0 + column;
    u.count = u.row >= (i32)p.m || u.column >= (i32)p.n ? 0 : min(4, along_m ? (i32)p.m - u.row : (i32)p.n - u.column);
    if (UNITS % THREADS && number >= UNITS)
        u.count = 0;
    u.y_at = batch_offset(p.y_batch, batch, p.batch_size) + u.row * (i64)p.y_m + u.column * (i64)p.y_n;
    u.c_at = batch_offset(p.c_batch, batch, p.batch_size) + u.row * (i64)p.c_m + u.column * (i64)p.c_n;
#pragma unroll
    for (int i = 0; i < GEMM_EARLY; i++) {
        u.early[i] = make_uint2(0, 0);
        if (p.early[i] && u.count > 0) {
            const struct meta_step &step = p.epilogue.steps[p.early[i] - 1];
            const i64 at = step.place == META_PLACE_RESULT ? u.y_at : p.flags & GEMM_TRANSPOSED ? u.row : u.column;
            u.early[i] = __ldg((const uint2 *)((const element *)p.epilogue.operands[p.early[i] - 1] + at));
        }
    }
}

template <u32 CODE> DEVICE float4 apply(float4 v, float4 b, float p, float q)
{
    return make_float4(meta_step_run(CODE, v.x, b.x, p, q), meta_step_run(CODE, v.y, b.y, p, q),
                       meta_step_run(CODE, v.z, b.z, p, q), meta_step_run(CODE, v.w, b.w, p, q));
}

/* meta_step_run of four: one choice, and no copy for each of them. */
static __device__ __noinline__ float4 apply_code(u32 code, float4 v, float4 b, float p, float q)
{
    switch (code) {
#define APPLY(name)                                                                                                    \
    case META_##name:                                                                                                  \
        return apply<META_##name>(v, b, p, q);
        APPLY(SUB)
        APPLY(MUL)
        APPLY(DIV)
        APPLY(MIN)
        APPLY(MAX)
        APPLY(CLAMP)
        APPLY(ABS)
        APPLY(NEG)
        APPLY(RECIP)
        APPLY(LEAKY_RELU)
        APPLY(HARD_SIGMOID)
        APPLY(HARD_SWISH)
        APPLY(MULADD)
        APPLY(SQRT)
        APPLY(RINT)
        APPLY(SIGMOID)
        APPLY(SWISH)
    default:
        return make_float4(meta_curve(code, v.x, p), meta_curve(code, v.y, p), meta_curve(code, v.z, p),
                           meta_curve(code, v.w, p));
    }
}

/* Four elements `step` apart, numbers of any type. */
static __device__ __noinline__ float4 load4(u64 base, u32 type, i64 at, i64 step, i32 count)
{
    return make_float4(meta_load(base, type, at), count > 1 ? meta_load(base, type, at + step) : 0,
                       count > 2 ? meta_load(base, type, at + 2 * step) : 0,
                       count > 3 ? meta_load(base, type, at + 3 * step) : 0);
}

DEVICE float4 unpack4(const struct gemm_meta_params &p, uint2 v)
{
    const float2 a = unpack(v.x, p.flags & GEMM_BFLOAT16), b = unpack(v.y, p.flags & GEMM_BFLOAT16);
    return make_float4(a.x, a.y, b.x, b.y);
}

DEVICE float4 operand_of(const struct gemm_meta_params &p, u32 i, const struct unit &u)
{
    const struct meta_step &step = p.epilogue.steps[i];
    const bool along_m = p.flags & GEMM_Y_ALONG_M, transposed = p.flags & GEMM_TRANSPOSED;
    if (!step.type)
        return make_float4(step.p, step.p, step.p, step.p);
    if (i + 1 == p.early[0])
        return unpack4(p, u.early[0]);
    if (i + 1 == p.early[1])
        return unpack4(p, u.early[1]);
    if (step.place == META_PLACE_RESULT)
        return load4(p.epilogue.operands[i], step.type, u.y_at, along_m ? p.y_m : p.y_n, u.count);
    if (step.place == META_PLACE_CHANNEL)
        return load4(p.epilogue.operands[i], step.type, (transposed ? u.row : u.column) * (i64)step.stride,
                     along_m == transposed ? step.stride : 0, u.count);
    return load4(p.epilogue.operands[i], step.type, 0, 0, u.count);
}

static __device__ __noinline__ void store_each(const struct gemm_meta_params &p, float4 v, i64 y_at, i32 count)
{
    const i32 step = p.flags & GEMM_Y_ALONG_M ? p.y_m : p.y_n;
    for (i32 i = 0; i < count; i++, y_at += step) {
        const float x = i < 2 ? i < 1 ? v.x : v.y : i < 3 ? v.z : v.w;
        if (p.y_type == META_FLOAT32)
            ((float *)p.y)[y_at] = x;
        else
            ((element *)p.y)[y_at] = (element)pack2(x, 0, p.flags & GEMM_BFLOAT16);
    }
}

DEVICE void finish(const struct gemm_meta_params &p, const struct unit &u, float4 v)
{
    const bool along_m = p.flags & GEMM_Y_ALONG_M, bfloat16 = p.flags & GEMM_BFLOAT16;
    if (u.count <= 0)
        return;
    v = make_float4(v.x * p.alpha, v.y * p.alpha, v.z * p.alpha, v.w * p.alpha);
    if (p.c) {
        const float4 c = load4(p.c, p.c_type, u.c_at, along_m ? p.c_m : p.c_n, u.count);
        v = make_float4(v.x + p.beta * c.x, v.y + p.beta * c.y, v.z + p.beta * c.z, v.w + p.beta * c.w);
    }
#pragma unroll 1
    for (u32 i = 0; i < p.epilogue.count; i++) {
        const struct meta_step &step = p.epilogue.steps[i];
        const float4 b = operand_of(p, i, u);
        if (step.code == META_ADD)
            v = apply<META_ADD>(v, b, 0, 0);
        else if (step.code == META_RELU)
            v = apply<META_RELU>(v, b, 0, 0);
        else
            v = apply_code(step.code, v, b, step.p, step.q);
    }
    if (p.flags & GEMM_Y_VECTORS)
        *(uint2 *)((element *)p.y + u.y_at) = make_uint2(pack2(v.x, v.y, bfloat16), pack2(v.z, v.w, bfloat16));
    else
        store_each(p, v, u.y_at, u.count);
}

DEVICE float4 sum_of(const struct gemm_meta_params &p, const float *parts, const struct unit &u, i32 m0, i32 n0)
{
    const int next = p.flags & GEMM_Y_ALONG_M ? LINE : 1;
    const float *from = parts + (u.row - m0) * LINE + u.column - n0;
    float4 sum = make_float4(0, 0, 0, 0);
#pragma unroll
    for (int i = 0; i < KEPT; i++, from += PART)
        sum = make_float4(sum.x + from[0], sum.y + from[next], sum.z + from[2 * next], sum.w + from[3 * next]);
    return sum;
}

DEVICE void find_lines(const struct gemm_meta_params &p, i32 row, i32 n0, u32 batch, int lane, struct lines &out)
{
    const element *a = (const element *)p.a + batch_offset(p.a_batch, batch, p.batch_size);
#pragma unroll
    for (int i = 0; i < MT * 2; i++)
        out.a[i] = a + min(row + 8 * i, (i32)p.m - 1) * (i64)p.a_m;
    const element *b = (const element *)p.b + batch_offset(p.b_batch, batch, p.batch_size);
#ifdef B_K_MAJOR
#pragma unroll
    for (int j = 0; j < NT; j++)
        out.b[j] = b + min(n0 + j * 8 + lane / 4, (i32)p.n - 1) * (i64)p.b_n;
#else
    out.b = b + min(n0 + lane / 4 * NT, (i32)p.n - NT);
#endif
}

extern "C" __global__ void __launch_bounds__(THREADS, 1) meta_kernel(const __grid_constant__ struct gemm_meta_params p)
{
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, warp_k = warp % WK, row0 = warp / WK * MT * 16;
    const u32 batch = blockIdx.z, tile_n = blockIdx.x / p.tiles_m, tile_m = blockIdx.x - tile_n * p.tiles_m;
    const i32 m0 = tile_m * BM, n0 = tile_n * BN, rounds = ((i32)(p.k + 31) / 32 - warp_k + WK - 1) / WK;
    float *parts = (float *)shared_memory, sums[MT][NT][4];
    struct unit units[UNITS_IN];
    struct lines lines;
    struct fragments f[STAGES];
    i32 k = warp_k * 32 + lane % 4 * 8;
    find_lines(p, m0 + row0 + lane / 4, n0, batch, lane, lines);
#pragma unroll
    for (int s = 0; s < STAGES; s++)
        load(p, lines, k + s * 32 * WK, f[s]);
#pragma unroll
    for (int i = 0; i < MT * NT * 4; i++)
        ((float *)sums)[i] = 0;
#pragma unroll
    for (int i = 0; i < UNITS_IN; i++)
        prepare(p, m0, n0, batch, threadIdx.x + i * THREADS, units[i]);
    for (i32 round = 0; round < rounds;) {
#pragma unroll
        for (int s = 0; s < STAGES; s++) {
            if (round >= rounds)
                break;
            if (k + 8 > (i32)p.k)
                clear(f[s]);
            if (p.flags & GEMM_BFLOAT16)
                multiply_all<true>(sums, f[s]);
            else
                multiply_all<false>(sums, f[s]);
            if (round + STAGES < rounds)
                load(p, lines, k + STAGES * 32 * WK, f[s]);
            k += 32 * WK;
            round++;
        }
    }
    gather_parts(parts, sums, warp_k, row0, lane);
#pragma unroll
    for (int i = 0; i < UNITS_IN; i++)
        if (units[i].count > 0)
            finish(p, units[i], sum_of(p, parts, units[i], m0, n0));
}
