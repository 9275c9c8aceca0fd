/* SPDX-License-Identifier: Apache-2.0 */
/* Blocked GEMM by AMX, and of BFLOAT16 also by VDPBF16PS: tiles on VNNI's packs, and the conversion of floats to
 * BFLOAT16. */
#include "kernels/core/isa.h"
#include "kernels/gemm/amx.h"
#include "kernels/gemm/blocked_gemm.h"
#include "kernels/gemm/ukernel.h"

enum { TILE_VECS = 4, TILE_ROWS = 6, AMX_TILE_ROWS = 2 * AMX_ROWS };

/* ---- tiles ---- */

/* Few or remaining rows are faster without AMX. */
DENSE_INLINE void tile_amx(enum amx_kind kind, const struct blocked_gemm_tile *t)
{
    static const int64_t taps[] = { 0 };
    const struct amx_block block = { .a = t->a,
                                     .a_step = (int64_t)t->packs * 4,
                                     .taps = taps,
                                     .tap_count = 1,
                                     .run = (int64_t)t->packs * 4,
                                     .b = t->b,
                                     .b_step = AMX_COLUMNS * 4,
                                     .sums = t->sums,
                                     .sums_step = t->step * 4 };
    amx_multiply(kind, &block, t->rows, t->columns);
}

static void tile_bytes(const struct blocked_gemm_tile *t)
{
    if (t->rows <= TILE_ROWS)
        blocked_gemm_vnni.tile(t);
    else
        tile_amx(AMX_U8S8, t);
}

DENSE_INLINE __m512 dot_halves(__m512 sums, __m512i a, __m512i b)
{
    /* GCC 12 copies and spills the sums around the intrinsic. */
    __asm__("vdpbf16ps %2, %1, %0" : "+v"(sums) : "v"(a), "v"(b));
    return sums;
}

#define EACH_ROW _Pragma("GCC unroll 6") for (uint32_t r = 0; r < rows; r++)
#define EACH_VEC _Pragma("GCC unroll 4") for (uint32_t v = 0; v < vectors; v++)

DENSE_INLINE void tile_halves_vectors(uint32_t vectors, uint32_t rows, const struct blocked_gemm_tile *t)
{
    const char *a = t->a, *b = t->b;
    const uint64_t packs = t->packs;
    __m512 sums[TILE_ROWS][TILE_VECS];
    EACH_ROW
    EACH_VEC
    sums[r][v] = _mm512_setzero_ps();
    for (uint64_t w = 0; w < packs; w++, b += TILE_VECS * 64) {
        __m512i right[TILE_VECS];
        EACH_VEC
        right[v] = _mm512_loadu_si512(b + v * 64);
        EACH_ROW
        {
            int32_t pack; /* which is next to A */
            memcpy(&pack, a + (r * packs + w) * sizeof(pack), sizeof(pack));
            const __m512i left = _mm512_set1_epi32(pack);
            EACH_VEC
            sums[r][v] = dot_halves(sums[r][v], left, right[v]);
        }
    }
    EACH_ROW
    EACH_VEC
    _mm512_storeu_ps((float *)t->sums + r * t->step + v * 16, sums[r][v]);
}

DENSE_INLINE void tile_halves_rows(uint32_t rows, const struct blocked_gemm_tile *t)
{
    UKERNEL_BY_COUNT((t->columns + 15) / 16, TILE_VECS, tile_halves_vectors, rows, t)
}

static void tile_halves(const struct blocked_gemm_tile *t)
{
    UKERNEL_BY_COUNT(t->rows, TILE_ROWS, tile_halves_rows, t)
}

static void tile_halves_amx(const struct blocked_gemm_tile *t)
{
    if (t->rows <= TILE_ROWS)
        tile_halves(t);
    else
        tile_amx(AMX_BF16, t);
}

/* ---- BFLOAT16 kernels ---- */

static void round_row(const float *in, uint32_t count, uint16_t *out)
{
    uint32_t i = 0;
    for (; i + 32 <= count; i += 32) {
        const __m512 low = _mm512_loadu_ps(in + i), high = _mm512_loadu_ps(in + i + 16);
        _mm512_storeu_si512(out + i, (__m512i)_mm512_cvtne2ps_pbh(high, low));
    }
    for (; i < count; i += 16) {
        const __mmask16 mask = count - i < 16 ? (__mmask16)((1u << (count - i)) - 1) : 0xffff;
        const __m256i rounded = (__m256i)_mm512_cvtneps_pbh(_mm512_maskz_loadu_ps(mask, in + i));
        _mm256_mask_storeu_epi16(out + i, mask, rounded);
    }
}

/* ---- kernels ---- */

static const struct blocked_gemm_isa int_amx = { .rows = AMX_TILE_ROWS,
                                                 .columns = AMX_COLUMNS,
                                                 .k_pack = 4,
                                                 .pack_bytes = 4,
                                                 .tile = tile_bytes,
                                                 .integers = &blocked_gemm_integers_avx512,
                                                 .finish = blocked_gemm_end_row_avx512,
                                                 .tiles = true };
static const struct blocked_gemm_isa bf16_amx = { .rows = AMX_TILE_ROWS,
                                                  .columns = AMX_COLUMNS,
                                                  .k_pack = 2,
                                                  .pack_bytes = 4,
                                                  .tile = tile_halves_amx,
                                                  .round = round_row,
                                                  .finish = blocked_gemm_end_row_avx512,
                                                  .tiles = true };
static const struct blocked_gemm_isa bf16_avx512 = { .rows = TILE_ROWS,
                                                     .columns = AMX_COLUMNS,
                                                     .k_pack = 2,
                                                     .pack_bytes = 4,
                                                     .tile = tile_halves,
                                                     .round = round_row,
                                                     .finish = blocked_gemm_end_row_avx512 };

#define ROW(name, isa, begin_tiles, end_tiles)                                                                         \
    KERN_PACKED_ROW(name, const struct blocked_gemm_isa *, plan = &isa, blocked_gemm_plan(plan, op, out),              \
                    blocked_gemm_pack(plan, op, source, packed))                                                       \
    void kern_##name##_run(const struct kern_call *call, uint64_t begin, uint64_t end)                                 \
    {                                                                                                                  \
        begin_tiles;                                                                                                   \
        blocked_gemm_run(&isa, call, begin, end);                                                                      \
        end_tiles;                                                                                                     \
    }
ROW(gemm_int_amx, int_amx, amx_begin(), amx_end())
ROW(gemm_bf16_amx, bf16_amx, amx_begin(), amx_end())
ROW(gemm_bf16_avx512, bf16_avx512, (void)0, (void)0)
