/* SPDX-License-Identifier: Apache-2.0 */
/* Integer tiles for AVX2 without VNNI. vpmaddubsw saturates, and vpmaddwd of 16-bit numbers needs a multiplication for
 * every two products. Two neighbouring packs, of k = 0, 1 and k = 2, 3, are multiplied with half of that:
 *   a0 b0 + a1 b1 + a2 b2 + a3 b3 = (a0 + b2)(a2 + b0) + (a1 + b3)(a3 + b1) - (a0 a2 + a1 a3) - (b0 b2 + b1 b3).
 * The last two are known from the rows and the columns alone: when they are packed, these sums are kept (`cross`).
 * Sums of two bytes fit 16 bits; the others wrap alike on both sides. */
#include "kernels/core/isa.h"
#include "kernels/gemm/blocked_gemm.h"
#include "kernels/gemm/ukernel.h"

#if defined(__AVX2__) && !defined(__AVX512F__)
#include <immintrin.h>

enum { TILE_VECS = 2, TILE_ROWS = 4, LANES = 8, COLUMNS = TILE_VECS * LANES, DEEP = 384 };

#define EACH_ROW _Pragma("GCC unroll 4") for (uint32_t r = 0; r < rows; r++)
#define EACH_VEC _Pragma("GCC unroll 2") for (uint32_t v = 0; v < vecs; v++)

DENSE_INLINE __m256i pack_of(const uint32_t *a)
{
    return _mm256_set1_epi32((int)*a);
}

DENSE_INLINE __m256i vector_of(const void *data, uint64_t index)
{
    return _mm256_loadu_si256((const __m256i *)data + index);
}

/* GCC 12 copies and spills the sums around the intrinsic. */
DENSE_INLINE void add_to(__m256i *sum, __m256i product)
{
    __asm__("vpaddd %1, %0, %0" : "+x"(*sum) : "x"(product));
}

/* Sums begin with what is known of rows and columns; an odd last pack is multiplied alone. */
DENSE_INLINE void tile_crossed(uint32_t vecs, uint32_t rows, const struct blocked_gemm_tile *t)
{
    const uint32_t *a = t->a;
    const __m256i *b = t->b;
    const uint64_t packs = t->packs, row = t->row_packs;
    __m256i sums[TILE_ROWS][TILE_VECS];
    EACH_ROW
    EACH_VEC
    sums[r][v] = t->add ? vector_of((const int32_t *)t->sums + r * t->step, v)
                        : _mm256_sub_epi32(_mm256_set1_epi32(-t->row_cross[r]), vector_of(t->column_cross, v));
    for (uint64_t w = 0; w + 2 <= packs; w += 2, b += 2 * TILE_VECS) {
        __m256i first[TILE_VECS], second[TILE_VECS];
        EACH_VEC
        {
            first[v] = vector_of(b, v);
            second[v] = vector_of(b, TILE_VECS + v);
            __asm__("" : "+x"(first[v]), "+x"(second[v])); /* not loaded again for each row */
        }
        EACH_ROW
        {
            const __m256i left = pack_of(a + r * row + w), right = pack_of(a + r * row + w + 1);
            EACH_VEC
            add_to(&sums[r][v],
                   _mm256_madd_epi16(_mm256_add_epi16(left, second[v]), _mm256_add_epi16(right, first[v])));
        }
    }
    if (packs % 2)
        EACH_ROW
    EACH_VEC
    sums[r][v] = _mm256_add_epi32(sums[r][v], _mm256_madd_epi16(pack_of(a + r * row + packs - 1), vector_of(b, v)));
    EACH_ROW
    EACH_VEC
    _mm256_storeu_si256((__m256i *)((int32_t *)t->sums + r * t->step) + v, sums[r][v]);
}

/* Few rows: loads limit. */
DENSE_INLINE void tile_direct(uint32_t vecs, uint32_t rows, const struct blocked_gemm_tile *t)
{
    const uint32_t *a = t->a;
    const __m256i *b = t->b;
    __m256i sums[TILE_ROWS][TILE_VECS];
    EACH_ROW
    EACH_VEC
    sums[r][v] = t->add ? vector_of((const int32_t *)t->sums + r * t->step, v) : _mm256_setzero_si256();
    for (uint64_t w = 0; w < t->packs; w++, b += TILE_VECS)
        EACH_ROW
        {
            const __m256i left = pack_of(a + r * t->row_packs + w);
            EACH_VEC
            sums[r][v] = _mm256_add_epi32(sums[r][v], _mm256_madd_epi16(left, vector_of(b, v)));
        }
    EACH_ROW
    EACH_VEC
    _mm256_storeu_si256((__m256i *)((int32_t *)t->sums + r * t->step) + v, sums[r][v]);
}

DENSE_INLINE void tile_rows(uint32_t rows, const struct blocked_gemm_tile *t)
{
    enum { CROSSED_MIN = 3 };
    if (rows < CROSSED_MIN && t->columns > LANES)
        tile_direct(2, rows, t);
    else if (rows < CROSSED_MIN)
        tile_direct(1, rows, t);
    else if (t->columns > LANES)
        tile_crossed(2, rows, t);
    else
        tile_crossed(1, rows, t);
}

static void tile(const struct blocked_gemm_tile *t)
{
    UKERNEL_BY_COUNT(t->rows, TILE_ROWS, tile_rows, t)
}

static int32_t row_cross(const void *row, uint64_t packs)
{
    const int16_t *a = row;
    const __m256i even = _mm256_set1_epi64x(UINT32_MAX);
    __m256i sums = _mm256_setzero_si256();
    uint32_t sum = 0;
    uint64_t w = 0;
    for (; w + LANES <= packs; w += LANES, a += 2 * LANES) {
        const __m256i eight = vector_of(a, 0);
        sums = _mm256_add_epi32(sums, _mm256_madd_epi16(_mm256_and_si256(eight, even), _mm256_srli_epi64(eight, 32)));
    }
    for (; w + 2 <= packs; w += 2, a += 4)
        sum += (uint32_t)(a[0] * a[2] + a[1] * a[3]);
    for (uint32_t i = 0; i < LANES; i += 2) {
        uint32_t lanes[LANES];
        _mm256_storeu_si256((__m256i *)lanes, sums);
        sum += lanes[i];
    }
    return (int32_t)sum;
}

static void column_cross(const void *panel, uint64_t packs, int32_t *out)
{
    __m256i sums[TILE_VECS] = { _mm256_setzero_si256(), _mm256_setzero_si256() };
    const __m256i *b = panel;
    for (uint64_t w = 0; w + 2 <= packs; w += 2, b += 2 * TILE_VECS)
        for (uint32_t v = 0; v < TILE_VECS; v++)
            sums[v] = _mm256_add_epi32(sums[v], _mm256_madd_epi16(vector_of(b, v), vector_of(b, TILE_VECS + v)));
    for (uint32_t v = 0; v < TILE_VECS; v++)
        _mm256_storeu_si256((__m256i *)out + v, sums[v]);
}

const struct blocked_gemm_isa blocked_gemm_int_avx2 = { .rows = TILE_ROWS,
                                                        .columns = COLUMNS,
                                                        .k_pack = 2,
                                                        .pack_bytes = 4,
                                                        .tile = tile,
                                                        .integers = &blocked_gemm_integers_avx2,
                                                        .finish = blocked_gemm_end_row_avx2,
                                                        .row_cross = row_cross,
                                                        .column_cross = column_cross,
                                                        .deep = DEEP };
BLOCKED_ROW(gemm_int_avx2, gemm, blocked_gemm_int_avx2)
#endif
