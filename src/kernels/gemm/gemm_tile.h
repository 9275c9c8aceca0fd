/* A tile of a product: a few rows of A times a part of B, sums in registers; included once per instruction set. */
#ifndef KERNELS_GEMM_TILE_H
#define KERNELS_GEMM_TILE_H

#include "kernels/vec/vec.h"

/* As many sums as there are registers for. */
#if defined(__AVX512F__)
#define GEMM_TILE_VECS 3
#define GEMM_TILE_ROWS 8
#elif defined(__aarch64__)
#define GEMM_TILE_VECS 4
#define GEMM_TILE_ROWS 6
#else
#define GEMM_TILE_VECS 2
#define GEMM_TILE_ROWS 6
#endif
#define GEMM_TILE_COLUMNS      (GEMM_TILE_VECS * VEC)
#define GEMM_TILE_ACCUMULATORS 4

/* In longer loops for NEON, GCC moves loads to the beginning until sums have no registers left. */
enum { GEMM_TILE_UNROLL = VEC == 4 ? 1 : 4 };

/* Unrolled at once, or some sums stay in memory. */
#define GEMM_TILE_EACH_ROW         _Pragma("GCC unroll 8") for (uint32_t m = 0; m < rows; m++)
#define GEMM_TILE_EACH_VEC         _Pragma("GCC unroll 4") for (uint32_t i = 0; i < GEMM_TILE_VECS; i++)
#define GEMM_TILE_EACH_ACCUMULATOR _Pragma("GCC unroll 4") for (uint32_t acc = 0; acc < accumulators; acc++)

/* Rows of B, GEMM_TILE_COLUMNS elements each, and how what comes next is fetched: `lines` cache lines at every fourth
 * step of k. */
struct gemm_tile_part {
    const char *b;
    uint32_t depth, lines;
    const char *next;
    bool add;        /* to the sums that there are */
    uint32_t across; /* elements from one row of sums to the next */
};

/* sum[m] += a[m][k] * b */
DENSE_INLINE void gemm_tile_step(uint32_t rows, DML_TENSOR_DATA_TYPE type, const float *const *a, uint32_t k,
                                 const char *b, vec (*sum)[GEMM_TILE_VECS])
{
    vec line[GEMM_TILE_VECS];
    GEMM_TILE_EACH_VEC line[i] = vec_load_of(type, b, i * VEC);
    GEMM_TILE_EACH_ROW
    {
        vec value = vec_set(a[m][k]);
        GEMM_TILE_EACH_VEC sum[m][i] = vec_fma(value, line[i], sum[m][i]);
    }
}

/* sums[m][0 .. columns) (+)= a[m] * b for `rows` rows. Few rows have several accumulators: none waits for itself. */
DENSE_INLINE void gemm_tile(uint32_t rows, DML_TENSOR_DATA_TYPE type, const struct gemm_tile_part *part,
                            const float *const *a, uint32_t k0, float *sums, const char *next)
{
    vec sum[GEMM_TILE_ACCUMULATORS][GEMM_TILE_ROWS][GEMM_TILE_VECS];
    const float *row[GEMM_TILE_ROWS];
    const char *b = part->b;
    const uint32_t step = GEMM_TILE_COLUMNS * (type == DML_TENSOR_DATA_TYPE_FLOAT32 ? 4 : 2);
    const uint32_t accumulators = rows == 1 ? GEMM_TILE_ACCUMULATORS : rows == 2 ? GEMM_TILE_ACCUMULATORS / 2 : 1;
    uint32_t k = 0, depth = part->depth, lines = part->lines;
    GEMM_TILE_EACH_ROW
    {
        row[m] = a[m] + k0;
        GEMM_TILE_EACH_ACCUMULATOR GEMM_TILE_EACH_VEC sum[acc][m][i] = vec_set(0);
    }
    for (; k + 4 <= depth; k += 4) {
        for (uint32_t i = 0; i < lines; i++, next += 64)
            __builtin_prefetch(next, 0, 2);
#pragma GCC unroll GEMM_TILE_UNROLL
        for (uint32_t u = 0; u < 4; u += accumulators, b += accumulators * step)
            GEMM_TILE_EACH_ACCUMULATOR gemm_tile_step(rows, type, row, k + u + acc, b + acc * step, sum[acc]);
    }
    for (; k < depth; k++, b += step)
        gemm_tile_step(rows, type, row, k, b, sum[0]);
    for (uint32_t acc = 1; acc < accumulators; acc++)
        GEMM_TILE_EACH_ROW GEMM_TILE_EACH_VEC sum[0][m][i] += sum[acc][m][i];
    GEMM_TILE_EACH_ROW GEMM_TILE_EACH_VEC
    {
        float *to = sums + m * part->across + i * VEC;
        if (part->add)
            sum[0][m][i] += vec_load(to);
        vec_store(to, sum[0][m][i]);
    }
}

DENSE_INLINE void gemm_tile_rows(uint32_t rows, DML_TENSOR_DATA_TYPE type, const struct gemm_tile_part *part,
                                 const float *const *a, uint32_t k0, float *sums, const char *next)
{
    switch (rows) {
#define CASE(n)                                                                                                        \
    case n:                                                                                                            \
        gemm_tile(n, type, part, a, k0, sums, next);                                                                   \
        break;
        CASE(1)
        CASE(2)
        CASE(3)
        CASE(4)
        CASE(5)
#if GEMM_TILE_ROWS > 6
        CASE(6)
        CASE(7)
#endif
#undef CASE
    default:
        gemm_tile(GEMM_TILE_ROWS, type, part, a, k0, sums, next);
        break;
    }
}

static void gemm_tile_f32(uint32_t rows, const struct gemm_tile_part *part, const float *const *a, uint32_t k0,
                          float *sums, const char *next)
{
    gemm_tile_rows(rows, DML_TENSOR_DATA_TYPE_FLOAT32, part, a, k0, sums, next);
}

#endif
