/* A tile of a product: a few rows of A times a part of B, sums in registers; included once per instruction set. */
#ifndef KERNELS_GEMM_TILE_H
#define KERNELS_GEMM_TILE_H

#include "kernels/dense_vec.h"

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
#define GEMM_TILE_COLUMNS (GEMM_TILE_VECS * VEC)
#define GEMM_TILE_SUMS    48 /* elements from one row of sums to the next */

/* Rows of B, GEMM_TILE_COLUMNS elements each, and how what comes next is fetched: `lines` cache lines at every fourth
 * step of k. */
struct gemm_tile_part {
    const char *b;
    uint32_t depth, lines;
    const char *next;
    bool add; /* to the sums that there are */
};

DENSE_INLINE vec gemm_tile_load(const char *from, uint32_t at, DML_TENSOR_DATA_TYPE type)
{
#if defined(__AVX512F__)
    if (type == DML_TENSOR_DATA_TYPE_FLOAT16)
        return vec_load_half((const uint16_t *)from + at);
    if (type == ANYDML_TENSOR_DATA_TYPE_BFLOAT16) {
        __m256i narrow = _mm256_loadu_si256((const __m256i *)((const uint16_t *)from + at));
        return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(narrow), 16));
    }
#endif
    (void)type;
    return vec_load((const float *)from + at);
}

/* sums[m][0 .. columns) (+)= a[m] * b for `rows` rows. */
DENSE_INLINE void gemm_tile(uint32_t rows, DML_TENSOR_DATA_TYPE type, const struct gemm_tile_part *part,
                            const float *const *a, uint32_t k0, float *sums, const char *next)
{
    vec sum[GEMM_TILE_ROWS][GEMM_TILE_VECS];
    const float *row[GEMM_TILE_ROWS];
    const char *b = part->b;
    const uint32_t step = GEMM_TILE_COLUMNS * (type == DML_TENSOR_DATA_TYPE_FLOAT32 ? 4 : 2);
    uint32_t k = 0, depth = part->depth, lines = part->lines;
    for (uint32_t m = 0; m < rows; m++) {
        row[m] = a[m] + k0;
        for (uint32_t i = 0; i < GEMM_TILE_VECS; i++)
            sum[m][i] = vec_set(0);
    }
    for (; k + 4 <= depth; k += 4) {
        for (uint32_t i = 0; i < lines; i++, next += 64)
            __builtin_prefetch(next, 0, 2);
#pragma GCC unroll 4
        for (uint32_t u = 0; u < 4; u++, b += step) {
            vec line[GEMM_TILE_VECS];
            for (uint32_t i = 0; i < GEMM_TILE_VECS; i++)
                line[i] = gemm_tile_load(b, i * VEC, type);
            for (uint32_t m = 0; m < rows; m++) {
                vec value = vec_set(row[m][k + u]);
                for (uint32_t i = 0; i < GEMM_TILE_VECS; i++)
                    sum[m][i] = vec_fma(value, line[i], sum[m][i]);
            }
        }
    }
    for (; k < depth; k++, b += step)
        for (uint32_t m = 0; m < rows; m++)
            for (uint32_t i = 0; i < GEMM_TILE_VECS; i++)
                sum[m][i] = vec_fma(vec_set(row[m][k]), gemm_tile_load(b, i * VEC, type), sum[m][i]);
    for (uint32_t m = 0; m < rows; m++, sums += GEMM_TILE_SUMS)
        for (uint32_t i = 0; i < GEMM_TILE_VECS; i++) {
            if (part->add)
                sum[m][i] += vec_load(sums + i * VEC);
            vec_store(sums + i * VEC, sum[m][i]);
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
