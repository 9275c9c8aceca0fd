/* SPDX-License-Identifier: Apache-2.0 */
/* Normalisation of rows of FLOAT16 in a chain, with a scale, with or without mean and bias. A warp has a row in registers, or
 * with LONG a workgroup. */
#include "shaders/cuda/norm_meta_params.h"
#include "shaders/cuda/gemm_meta.cuh"
#include "shaders/cuda/turn.cuh"

#ifdef LONG
#define THREADS NORM_META_THREADS
#define LANES   THREADS /* of a row */
#define SIZE    NORM_META_LONGEST
#else
#define THREADS (NORM_META_ROWS * 32)
#define LANES   32
#define SIZE    NORM_META_SIZE
#endif
#define VECTORS (SIZE / 8 / LANES) /* of 8 elements, of a lane */
#define LANE    (threadIdx.x % LANES)

DEVICE float sum_of_lanes(float v)
{
#pragma unroll
    for (int i = 16; i; i /= 2)
        v += __shfl_xor_sync(~0u, v, i);
#ifdef LONG
    __shared__ float sums[LANES / 32];
    __syncthreads();
    if (threadIdx.x % 32 == 0)
        sums[threadIdx.x / 32] = v;
    __syncthreads();
    v = 0;
#pragma unroll
    for (int i = 0; i < LANES / 32; i++)
        v += sums[i];
#endif
    return v;
}

DEVICE void widen(const uint4 &v, float (&out)[8])
{
    const u32 words[4] = { v.x, v.y, v.z, v.w };
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const float2 pair = unpack(words[i], false);
        out[2 * i] = pair.x;
        out[2 * i + 1] = pair.y;
    }
}

/* Vectors behind the end are the last one. */
DEVICE void load_row(const void *from, u32 vectors, uint4 (&out)[VECTORS])
{
#pragma unroll
    for (int i = 0; i < VECTORS; i++)
        out[i] = load16((const uint4 *)from + min(i * LANES + LANE, vectors - 1));
}

/* As reduce/norm_line.comp. */
DEVICE void find_mean(const uint4 (&row)[VECTORS], u32 vectors, float *out_mean, float *out_rest, float *out_squares)
{
    const float count = (float)(vectors * 8);
    float x[8], sum = 0, rest = 0, squares = 0;
#pragma unroll
    for (int i = 0; i < VECTORS; i++) {
        widen(row[i], x);
        if (i * LANES + LANE < vectors)
#pragma unroll
            for (int e = 0; e < 8; e++)
                sum += x[e];
    }
    const float mean = sum_of_lanes(sum) / count;
#pragma unroll
    for (int i = 0; i < VECTORS; i++) {
        widen(row[i], x);
        if (i * LANES + LANE < vectors)
#pragma unroll
            for (int e = 0; e < 8; e++) {
                rest += x[e] - mean;
                squares += (x[e] - mean) * (x[e] - mean);
            }
    }
    *out_mean = mean;
    *out_rest = isinf(mean) ? 0 : sum_of_lanes(rest) / count; /* what one number cannot hold of the mean */
    squares = sum_of_lanes(squares) - *out_rest * *out_rest * count;
    *out_squares = (squares < 0 ? 0 : squares) / count;
}

/* About 0. */
DEVICE float find_squares(const uint4 (&row)[VECTORS], u32 vectors)
{
    float x[8], squares = 0;
#pragma unroll
    for (int i = 0; i < VECTORS; i++) {
        widen(row[i], x);
        if (i * LANES + LANE < vectors)
#pragma unroll
            for (int e = 0; e < 8; e++)
                squares += x[e] * x[e];
    }
    return sum_of_lanes(squares) / (float)(vectors * 8);
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
    meta_kernel(const __grid_constant__ struct norm_meta_params p)
{
    const u32 number = blockIdx.x * (THREADS / LANES) + threadIdx.x / LANES, vectors = p.size / 8;
    uint4 row[VECTORS], scale[VECTORS], bias[VECTORS];
    float x[8], by[8], plus[8], mean = 0, rest = 0, squares;
    load_row((const void *)p.scale, vectors, scale);
    if (p.bias)
        load_row((const void *)p.bias, vectors, bias);
    else
#pragma unroll
        for (int i = 0; i < VECTORS; i++)
            bias[i] = make_uint4(0, 0, 0, 0);
    turn_await(p.counters, p.turn);
    load_row((const element *)p.x + min(number, p.rows - 1) * (i64)p.x_row, vectors, row);
    if (p.use_mean)
        find_mean(row, vectors, &mean, &rest, &squares);
    else
        squares = find_squares(row, vectors);
    const float factor = 1 / sqrtf(squares + p.epsilon);
#pragma unroll
    for (int i = 0; i < VECTORS; i++) {
        const u32 vector = i * LANES + LANE;
        widen(row[i], x);
        widen(scale[i], by);
        widen(bias[i], plus);
#pragma unroll
        for (int e = 0; e < 8; e++)
            x[e] = ((x[e] - mean) * factor - rest * factor) * by[e] + plus[e];
        if (number < p.rows && vector < vectors)
            *((uint4 *)((element *)p.y + number * (i64)p.y_row) + vector) =
                make_uint4(pack2(x[0], x[1], false), pack2(x[2], x[3], false), pack2(x[4], x[5], false),
                           pack2(x[6], x[7], false));
    }
    turn_pass(p.counters, p.turn);
}
