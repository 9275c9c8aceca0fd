/* SPDX-License-Identifier: Apache-2.0 */
/* Blocked GEMM with Arm's extensions, for each of which the build compiles this file once. I8MM and BF16 multiply two
 * rows by two columns of eight bytes or four BFLOAT16 with one instruction: those are the packs. DOTPROD has VNNI's
 * packs of four bytes, and uses four of a row from one register. */
#include "kernels/core/isa.h"
#include "kernels/gemm/blocked_gemm.h"
#include "kernels/gemm/ukernel.h"

#include <arm_neon.h>

#define EACH(i, count) _Pragma("GCC unroll 8") for (uint32_t i = 0; i < (count); i++)

#if defined(__ARM_FEATURE_MATMUL_INT8) || defined(__ARM_FEATURE_BF16_VECTOR_ARITHMETIC)

#if defined(__ARM_FEATURE_MATMUL_INT8)
typedef int32x4_t tile_sums;

DENSE_INLINE tile_sums multiply_add(tile_sums sums, uint8x16_t left, uint8x16_t right)
{
    return vusmmlaq_s32(sums, left, vreinterpretq_s8_u8(right));
}
#else
typedef float32x4_t tile_sums;

DENSE_INLINE tile_sums multiply_add(tile_sums sums, uint8x16_t left, uint8x16_t right)
{
    return vbfmmlaq_f32(sums, vreinterpretq_bf16_u8(left), vreinterpretq_bf16_u8(right));
}
#endif

/* Columns in fours: two registers of packs and, for each pair of rows, two of sums. */
enum { TILE_ROWS = 6, TILE_FOURS = 4, PACK = 8, WIDTH = TILE_FOURS * 4 * PACK };

#define ADD_PACK(left, right_packs)                                                                                    \
    EACH(v, 2 * fours)                                                                                                 \
    {                                                                                                                  \
        const uint8x16_t right = vld1q_u8((right_packs) + v * 16);                                                     \
        EACH(p, pairs)                                                                                                 \
        sums[p][v] = multiply_add(sums[p][v], left[p], right);                                                         \
    }

/* Two rows of two sums each, and those of the next two columns. */
DENSE_INLINE void store_pair(const struct blocked_gemm_tile *t, uint32_t row, uint32_t column, tile_sums low,
                             tile_sums high)
{
    int32_t *to = (int32_t *)t->sums + row * t->step + column;
    const int64x2_t a = (int64x2_t)low, b = (int64x2_t)high;
    vst1q_s32(to, vreinterpretq_s32_s64(vzip1q_s64(a, b)));
    if (row + 1 < t->rows)
        vst1q_s32(to + t->step, vreinterpretq_s32_s64(vzip2q_s64(a, b)));
}

DENSE_INLINE void tile_fours(uint32_t fours, uint32_t rows, const struct blocked_gemm_tile *t)
{
    const uint32_t pairs = (rows + 1) / 2;
    const uint64_t packs = t->packs;
    const uint8_t *row[TILE_ROWS], *b = t->b; /* the last row twice if a pair lacks its second */
    uint64_t w = 0;
    tile_sums sums[TILE_ROWS / 2][2 * TILE_FOURS];
    EACH(r, 2 * pairs)
    row[r] = (const uint8_t *)t->a + BASE_MIN(r, rows - 1) * packs * PACK;
    EACH(p, pairs)
    EACH(v, 2 * fours)
    sums[p][v] = (tile_sums){ 0 };
    for (; w + 2 <= packs; w += 2, b += 2 * WIDTH) {
        uint8x16_t first[TILE_ROWS / 2], second[TILE_ROWS / 2];
        EACH(p, pairs)
        {
            const int64x2_t x = vreinterpretq_s64_u8(vld1q_u8(row[2 * p] + w * PACK));
            const int64x2_t y = vreinterpretq_s64_u8(vld1q_u8(row[2 * p + 1] + w * PACK));
            first[p] = vreinterpretq_u8_s64(vzip1q_s64(x, y));
            second[p] = vreinterpretq_u8_s64(vzip2q_s64(x, y));
        }
        ADD_PACK(first, b)
        ADD_PACK(second, b + WIDTH)
    }
    if (w < packs) {
        uint8x16_t left[TILE_ROWS / 2];
        EACH(p, pairs)
        left[p] = vcombine_u8(vld1_u8(row[2 * p] + w * PACK), vld1_u8(row[2 * p + 1] + w * PACK));
        ADD_PACK(left, b)
    }
    EACH(p, pairs)
    EACH(f, fours)
    store_pair(t, 2 * p, 4 * f, sums[p][2 * f], sums[p][2 * f + 1]);
}

DENSE_INLINE void tile_rows(uint32_t rows, const struct blocked_gemm_tile *t)
{
    UKERNEL_BY_COUNT((t->columns + 3) / 4, TILE_FOURS, tile_fours, rows, t)
}

#else /* DOTPROD */

/* Columns in fours: a register of packs. */
enum { TILE_ROWS = 8, TILE_FOURS = 2, PACK = 4, LANES = 4 };

#define ADD_LANE(lane)                                                                                                 \
    EACH(v, fours)                                                                                                     \
    {                                                                                                                  \
        const uint8x16_t right = vld1q_u8(b + ((lane)*TILE_FOURS + v) * 16);                                           \
        EACH(r, rows)                                                                                                  \
        sums[r][v] = vdotq_laneq_u32(sums[r][v], right, left[r], lane);                                                \
    }

DENSE_INLINE void tile_fours(uint32_t fours, uint32_t rows, const struct blocked_gemm_tile *t)
{
    const uint64_t packs = t->packs;
    const uint8_t *a = t->a, *b = t->b;
    uint32x4_t sums[TILE_ROWS][TILE_FOURS];
    uint64_t w = 0;
    EACH(r, rows)
    EACH(v, fours)
    sums[r][v] = vdupq_n_u32(0);
    for (; w + LANES <= packs; w += LANES, b += LANES * TILE_FOURS * 16) {
        uint8x16_t left[TILE_ROWS];
        EACH(r, rows)
        left[r] = vld1q_u8(a + (r * packs + w) * PACK);
        ADD_LANE(0)
        ADD_LANE(1)
        ADD_LANE(2)
        ADD_LANE(3)
    }
    for (; w < packs; w++, b += TILE_FOURS * 16) {
        uint8x16_t left[TILE_ROWS];
        EACH(r, rows)
        {
            uint32_t pack; /* which is next to A */
            memcpy(&pack, a + (r * packs + w) * PACK, PACK);
            left[r] = vreinterpretq_u8_u32(vdupq_n_u32(pack));
        }
        ADD_LANE(0)
    }
    EACH(r, rows)
    EACH(v, fours)
    vst1q_u32((uint32_t *)t->sums + r * t->step + 4 * v, sums[r][v]);
}

DENSE_INLINE void tile_rows(uint32_t rows, const struct blocked_gemm_tile *t)
{
    UKERNEL_BY_COUNT((t->columns + 3) / 4, TILE_FOURS, tile_fours, rows, t)
}

#endif

static void tile(const struct blocked_gemm_tile *t)
{
    UKERNEL_BY_COUNT(t->rows, TILE_ROWS, tile_rows, t)
}

#if defined(__ARM_FEATURE_MATMUL_INT8)
const struct blocked_gemm_isa blocked_gemm_int_mmla = { .rows = TILE_ROWS,
                                                        .columns = 4 * TILE_FOURS,
                                                        .k_pack = 8,
                                                        .pack_bytes = PACK,
                                                        .tile = tile,
                                                        .integers = &blocked_gemm_integers_neon,
                                                        .finish = blocked_gemm_end_row_neon };
BLOCKED_ROW(gemm_int_mmla, gemm, blocked_gemm_int_mmla)
#elif defined(__ARM_FEATURE_BF16_VECTOR_ARITHMETIC)
static void round_row(const float *in, uint32_t count, uint16_t *out)
{
    uint32_t i = 0;
    for (; i + 8 <= count; i += 8) {
        const bfloat16x8_t low = vcvtq_low_bf16_f32(vld1q_f32(in + i));
        vst1q_u16(out + i, vreinterpretq_u16_bf16(vcvtq_high_bf16_f32(low, vld1q_f32(in + i + 4))));
    }
    for (; i < count; i++) {
        const bfloat16x4_t rounded = vcvt_bf16_f32(vdupq_n_f32(in[i]));
        vst1_lane_u16(out + i, vreinterpret_u16_bf16(rounded), 0);
    }
}

const struct blocked_gemm_isa blocked_gemm_bf16_mmla = { .rows = TILE_ROWS,
                                                         .columns = 4 * TILE_FOURS,
                                                         .k_pack = 4,
                                                         .pack_bytes = PACK,
                                                         .tile = tile,
                                                         .round = round_row,
                                                         .finish = blocked_gemm_end_row_neon };
BLOCKED_ROW(gemm_bf16_mmla, gemm, blocked_gemm_bf16_mmla)
#else
const struct blocked_gemm_isa blocked_gemm_int_dot = { .rows = TILE_ROWS,
                                                       .columns = 4 * TILE_FOURS,
                                                       .k_pack = 4,
                                                       .pack_bytes = PACK,
                                                       .tile = tile,
                                                       .integers = &blocked_gemm_integers_neon,
                                                       .finish = blocked_gemm_end_row_neon,
                                                       .unsigned_right = true };
BLOCKED_ROW(gemm_int_dot, gemm, blocked_gemm_int_dot)
#endif
