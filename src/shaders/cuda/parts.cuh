/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of a tile of BM x BN in shared memory, in fragments of m16n8: WK warps, or groups of them, have each summed a part of
 * the depth. Who includes it says BM, BN, MT, NT, WK and PARTS, the parts that fit, and NUMBER, of what kind sums are, if not float. With SUMS_APART neighbours in a fragment
 * are NT columns apart. */
#ifndef META_PARTS_CUH
#define META_PARTS_CUH

#include "shaders/cuda/meta.h"

#define LINE (BN + 8) /* no bank conflicts */
#define PART (BM * LINE)
#define KEPT (WK > PARTS ? PARTS : WK)
#ifndef NUMBER
#define NUMBER float
#endif

struct __align__(8) pair {
    NUMBER x, y;
};

/* Where a lane's sums [i][j][2 * half] and the one behind it lie in a part. */
static __device__ __forceinline__ int place_of_sum(int row, int lane, int i, int j, int half)
{
    const int column = lane % 4 * 2;
#ifdef SUMS_APART
    return (row + i * 16 + lane / 4 + 8 * half) * LINE + column * NT + j;
#else
    return (row + i * 16 + lane / 4 + 8 * half) * LINE + j * 8 + column;
#endif
}

static __device__ __forceinline__ void store_sums(NUMBER *part, const NUMBER (&sums)[MT][NT][4], int row, int lane)
{
#pragma unroll
    for (int n = 0; n < MT * NT * 2; n++) {
        const int i = n / 2 / NT, j = n / 2 % NT, half = n % 2;
        NUMBER *to = part + place_of_sum(row, lane, i, j, half);
#ifdef SUMS_APART
        to[0] = sums[i][j][2 * half];
        to[NT] = sums[i][j][2 * half + 1];
#else
        *(pair *)to = pair{ sums[i][j][2 * half], sums[i][j][2 * half + 1] };
#endif
    }
}

static __device__ __forceinline__ void add_sums(const NUMBER *part, NUMBER (&sums)[MT][NT][4], int row, int lane)
{
#pragma unroll
    for (int n = 0; n < MT * NT * 2; n++) {
        const int i = n / 2 / NT, j = n / 2 % NT, half = n % 2;
        const NUMBER *from = part + place_of_sum(row, lane, i, j, half);
#ifdef SUMS_APART
        const pair v = { from[0], from[NT] };
#else
        const pair v = *(const pair *)from;
#endif
        sums[i][j][2 * half] += v.x;
        sums[i][j][2 * half + 1] += v.y;
    }
}

/* All parts of the workgroup's sums are in the first KEPT ones then. Threads of number WK or above have none. */
static __device__ __forceinline__ void gather_parts(NUMBER *parts, NUMBER (&sums)[MT][NT][4], int number, int row, int lane)
{
#pragma unroll
    for (int have = WK; have > KEPT;) { /* those from `keep` on hand over what they have */
        const int most = have / 2 < KEPT ? have / 2 : KEPT, keep = have - most > KEPT ? have - most : KEPT;
        if (number >= keep && number < have)
            store_sums(parts + (number - keep) * PART, sums, row, lane);
        __syncthreads();
        if (number < have - keep)
            add_sums(parts + number * PART, sums, row, lane);
        __syncthreads();
        have = keep;
    }
    if (number < KEPT)
        store_sums(parts + number * PART, sums, row, lane);
    __syncthreads();
}
#endif
