/* SPDX-License-Identifier: Apache-2.0 */
/* Blocked GEMM: the per-row work of integers (packs from lines of bytes, and the conversion of sums), the tiles of all
 * types, and the kernels that use them. */
#include "kernels/core/isa.h"
#include "kernels/gemm/blocked_gemm.h"
#include "kernels/gemm/ukernel.h"

#if defined(__AVX512BW__) && defined(__AVX512VL__)
#include "kernels/gemm/quotient.h"
#endif
#if defined(__SSE2__)
#include <immintrin.h>
#endif

static void interleave_bytes(const uint8_t *const *lines, uint64_t count, uint8_t flip, void *packs)
{
    const uint8_t *restrict a = lines[0], *restrict b = lines[1], *restrict c = lines[2], *restrict d = lines[3];
    uint8_t *restrict out = packs;
    for (uint64_t i = 0; i < count; i++) {
        out[4 * i] = a[i] ^ flip;
        out[4 * i + 1] = b[i] ^ flip;
        out[4 * i + 2] = c[i] ^ flip;
        out[4 * i + 3] = d[i] ^ flip;
    }
}

static void interleave_eight(const uint8_t *const *lines, uint64_t count, uint8_t flip, void *packs)
{
    uint8_t *restrict out = packs;
    uint64_t i = 0;
#if defined(__aarch64__)
    for (const uint8x16_t bit = vdupq_n_u8(flip); i + 16 <= count; i += 16) {
        uint16x8x4_t low, high; /* each pair of lines, of eight elements */
        for (uint32_t j = 0; j < 4; j++) {
            const uint8x16_t a = vld1q_u8(lines[2 * j] + i) ^ bit, b = vld1q_u8(lines[2 * j + 1] + i) ^ bit;
            low.val[j] = vreinterpretq_u16_u8(vzip1q_u8(a, b));
            high.val[j] = vreinterpretq_u16_u8(vzip2q_u8(a, b));
        }
        vst4q_u16((uint16_t *)(void *)(out + 8 * i), low);
        vst4q_u16((uint16_t *)(void *)(out + 8 * i + 64), high);
    }
#endif
    for (; i < count; i++)
        for (uint32_t j = 0; j < 8; j++)
            out[8 * i + j] = lines[j][i] ^ flip;
}

static void interleave_pairs(const uint8_t *const *lines, uint64_t count, bool is_signed, void *packs)
{
    const uint8_t *restrict a = lines[0], *restrict b = lines[1];
    int16_t *restrict out = packs;
    for (uint64_t i = 0; is_signed && i < count; i++) {
        out[2 * i] = (int8_t)a[i];
        out[2 * i + 1] = (int8_t)b[i];
    }
    for (uint64_t i = 0; !is_signed && i < count; i++) {
        out[2 * i] = a[i];
        out[2 * i + 1] = b[i];
    }
}

static void interleave(uint32_t k_pack, const uint8_t *const *lines, uint64_t count, uint8_t flip, bool is_signed,
                       void *packs)
{
    if (k_pack == 8)
        interleave_eight(lines, count, flip, packs);
    else if (k_pack == 4)
        interleave_bytes(lines, count, flip, packs);
    else
        interleave_pairs(lines, count, is_signed, packs);
}

static int32_t row_of_bytes(const uint8_t *in, uint32_t count, uint8_t flip, uint8_t *out)
{
    int32_t sum = 0;
    uint32_t i = 0;
#if defined(__AVX512BW__) && defined(__AVX512VL__)
    __m512i sums = _mm512_setzero_si512(), sign_bit = _mm512_set1_epi8((char)flip);
    for (; i + 64 <= count; i += 64) {
        __m512i bytes = _mm512_xor_si512(_mm512_loadu_si512(in + i), sign_bit);
        _mm512_storeu_si512(out + i, bytes);
        sums = _mm512_add_epi64(sums, _mm512_sad_epu8(bytes, _mm512_setzero_si512()));
    }
    sum = (int32_t)_mm512_reduce_add_epi64(sums);
#endif
    for (; i < count; i++) {
        out[i] = in[i] ^ flip;
        sum += out[i];
    }
    return sum;
}

static int32_t row_of_words(const uint8_t *restrict in, uint32_t count, bool is_signed, int16_t *restrict out)
{
    int32_t sum = 0;
    for (uint32_t i = 0; is_signed && i < count; i++) {
        out[i] = (int8_t)in[i];
        sum += (int8_t)in[i];
    }
    for (uint32_t i = 0; !is_signed && i < count; i++) {
        out[i] = in[i];
        sum += in[i];
    }
    return sum;
}

DENSE_INLINE uint32_t unshifted(const int32_t *sums, uint32_t i, const struct blocked_gemm_shift *shift, uint32_t same)
{
    uint32_t sum = (uint32_t)sums[i] - (uint32_t)shift->zero * (uint32_t)shift->columns[i] + same;
    return shift->zeros ? sum - (uint32_t)shift->zeros[i] * (uint32_t)shift->row : sum;
}

/* Values that are the same for all columns. */
static uint32_t unshift_same(const struct blocked_gemm_shift *shift)
{
    return (uint32_t)shift->plus - (shift->zeros ? 0 : (uint32_t)shift->zero_all * (uint32_t)shift->row);
}

static void unshift(const int32_t *sums, uint32_t count, const struct blocked_gemm_shift *shift, int32_t *out)
{
    const struct blocked_gemm_shift by = *shift; /* a copy that `out` cannot overlap */
    uint32_t same = unshift_same(&by);
    for (uint32_t i = 0; i < count; i++)
        out[i] = (int32_t)unshifted(sums, i, &by, same);
}

#if defined(__AVX512BW__) && defined(__AVX512VL__)
/* Sixteen; NaN becomes `low`. */
DENSE_INLINE __m128i requantized(__m512i sums, __m512 scale, const struct quotient *by, __m512i zero, __m512i low,
                                 __m512i high)
{
    __m512 value = _mm512_mul_ps(_mm512_cvtepi32_ps(sums), scale);
    __m512i number = _mm512_add_epi32(_mm512_cvtps_epi32(quotient(by, value)), zero);
    return _mm512_cvtepi32_epi8(_mm512_min_epi32(_mm512_max_epi32(number, low), high));
}

/* GCC 12 compiles the loop below to chains of comparisons and masks. */
DENSE_INLINE void requantize_all(const int32_t *restrict sums, uint32_t count, const struct blocked_gemm_shift *shift,
                                 const struct blocked_gemm_requantize *how, uint8_t *restrict out, bool divides)
{
    const struct quotient divisor = quotient_by(divides ? how->divisor : 1);
    const int32_t *restrict columns = shift->columns, *restrict zeros = shift->zeros;
    const float *restrict scale = how->scale;
    __m512i a_zero = _mm512_set1_epi32(shift->zero), same = _mm512_set1_epi32((int32_t)unshift_same(shift));
    __m512i row = _mm512_set1_epi32(shift->row), zero = _mm512_set1_epi32((int32_t)how->zero);
    __m512i low = _mm512_set1_epi32((int32_t)how->low), high = _mm512_set1_epi32((int32_t)how->high);
    __m512 by = _mm512_set1_ps(*scale);
    for (uint32_t i = 0; i < count; i += 16) {
        __mmask16 mask = count - i < 16 ? (__mmask16)((1u << (count - i)) - 1) : 0xffff;
        __m512i sum = _mm512_maskz_loadu_epi32(mask, sums + i);
        __m512i column = _mm512_maskz_loadu_epi32(mask, columns + i);
        sum = _mm512_add_epi32(_mm512_sub_epi32(sum, _mm512_mullo_epi32(a_zero, column)), same);
        if (zeros)
            sum = _mm512_sub_epi32(sum, _mm512_mullo_epi32(_mm512_maskz_loadu_epi32(mask, zeros + i), row));
        if (how->scale_step)
            by = _mm512_maskz_loadu_ps(mask, scale + i);
        __m128i bytes = requantized(sum, by, &divisor, zero, low, high);
        if (count - i >= 16)
            _mm_storeu_si128((__m128i *)(out + i), bytes);
        else
            _mm_mask_storeu_epi8(out + i, mask, bytes);
    }
}
#else
/* NaN becomes `low`. Numbers beyond 1024 are clamped anyway, so that adding 1.5 * 2^23 rounds to the nearest even. */
DENSE_INLINE uint8_t requantized(int32_t sum, float scale, const struct blocked_gemm_requantize *how, bool divides)
{
    float value = (float)sum * scale;
    value = divides ? value / how->divisor : value;
    value = value > -1024 ? value : -1024;
    value = value < 1024 ? value : 1024;
    value = value + 0x1.8p23f - 0x1.8p23f + how->zero;
    value = value > how->low ? value : how->low;
    value = value < how->high ? value : how->high;
    return (uint8_t)(int32_t)value;
}

#if defined(__AVX2__)
/* Whole vectors; returns their number of elements. GCC 12 compiles the loop below to chains of comparisons. */
DENSE_INLINE uint32_t requantize_vectors(const int32_t *restrict sums, uint32_t count,
                                         const struct blocked_gemm_shift *shift,
                                         const struct blocked_gemm_requantize *how, uint8_t *restrict out, bool divides)
{
    const int32_t *restrict columns = shift->columns, *restrict zeros = shift->zeros;
    const __m256i a_zero = _mm256_set1_epi32(shift->zero), same = _mm256_set1_epi32((int32_t)unshift_same(shift));
    const __m256i row = _mm256_set1_epi32(shift->row), zero = _mm256_set1_epi32((int32_t)how->zero);
    const __m256i low = _mm256_set1_epi32((int32_t)how->low), high = _mm256_set1_epi32((int32_t)how->high);
    const __m256 least = _mm256_set1_ps(-1024), most = _mm256_set1_ps(1024), divisor = _mm256_set1_ps(how->divisor);
    __m256 scale = _mm256_set1_ps(*how->scale);
    uint32_t i = 0;
    for (; i + 8 <= count; i += 8) {
        __m256i sum = _mm256_add_epi32(_mm256_loadu_si256((const __m256i *)(sums + i)), same);
        if (shift->zero)
            sum = _mm256_sub_epi32(sum, _mm256_mullo_epi32(a_zero, _mm256_loadu_si256((const __m256i *)(columns + i))));
        if (zeros)
            sum = _mm256_sub_epi32(sum, _mm256_mullo_epi32(_mm256_loadu_si256((const __m256i *)(zeros + i)), row));
        if (how->scale_step)
            scale = _mm256_loadu_ps(how->scale + i);
        __m256 value = _mm256_mul_ps(_mm256_cvtepi32_ps(sum), scale);
        if (divides)
            value = _mm256_div_ps(value, divisor);
        value = _mm256_min_ps(_mm256_max_ps(value, least), most); /* in this order NaN becomes the least */
        __m256i number = _mm256_add_epi32(_mm256_cvtps_epi32(value), zero);
        number = _mm256_and_si256(_mm256_min_epi32(_mm256_max_epi32(number, low), high), _mm256_set1_epi32(0xff));
        const __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(number), _mm256_extracti128_si256(number, 1));
        _mm_storel_epi64((__m128i *)(out + i), _mm_packus_epi16(words, words));
    }
    return i;
}
#endif

DENSE_INLINE void requantize_all(const int32_t *restrict sums, uint32_t count, const struct blocked_gemm_shift *shift,
                                 const struct blocked_gemm_requantize *how, uint8_t *restrict out, bool divides)
{
    const struct blocked_gemm_shift by = *shift;
    const struct blocked_gemm_requantize to = *how;
    uint32_t same = unshift_same(&by), i = 0;
#if defined(__AVX2__)
    i = requantize_vectors(sums, count, &by, &to, out, divides);
#endif
    for (; i < count; i++)
        out[i] = requantized((int32_t)unshifted(sums, i, &by, same), to.scale[to.scale_step ? i : 0], &to, divides);
}
#endif

static void requantize(const int32_t *sums, uint32_t count, const struct blocked_gemm_shift *shift,
                       const struct blocked_gemm_requantize *how, uint8_t *out)
{
    if (how->divisor == 1)
        requantize_all(sums, count, shift, how, out, false);
    else
        requantize_all(sums, count, shift, how, out, true);
}

const struct blocked_gemm_integers KERN_ISA_PASTE(blocked_gemm_integers_, ISA) = { interleave, unshift, requantize,
                                                                                   row_of_bytes, row_of_words };

/* ---- tiles other than the GEMM micro-kernel's, which is FLOAT32 only ---- */

#if defined(__AVX512F__)
enum { TILE_VECS = 4, TILE_ROWS = 6, K_PACK = 4 };
#elif defined(__AVX2__)
enum { TILE_VECS = 2, TILE_ROWS = 6, K_PACK = 2 };
#elif defined(__aarch64__) /* twice the registers */
enum { TILE_VECS = 4, TILE_ROWS = 6, K_PACK = 2 };
#else
enum { TILE_VECS = 2, TILE_ROWS = 4, K_PACK = 2 };
#endif

enum { BYTES = sizeof(vec) };

typedef double doubles __attribute__((vector_size(BYTES)));

DENSE_INLINE doubles tile_add_f64(doubles sums, doubles a, doubles b)
{
#if defined(ISA_PORTABLE) /* the CPU may lack fused operations */
    return sums + a * b;
#elif defined(__AVX512F__)
    return _mm512_fmadd_pd(a, b, sums);
#elif defined(__AVX2__)
    return _mm256_fmadd_pd(a, b, sums);
#else
    return vfmaq_f64(sums, a, b);
#endif
}

DENSE_INLINE vec tile_add_f32(vec sums, vec a, vec b)
{
    return vec_fma(a, b, sums);
}

/* A macro, since GCC 12 copies sums at each step that have another type than they are added in: up to twice slower. */
#define TILE(name, table, number, vector, k_pack, integers, ends)                                                      \
    DENSE_INLINE void tile_vectors_##name(uint32_t vectors, uint32_t rows, const struct blocked_gemm_tile *t)          \
    {                                                                                                                  \
        const number *a = t->a;                                                                                        \
        const char *b = t->b;                                                                                          \
        const uint64_t packs = t->packs;                                                                               \
        vector total[TILE_ROWS][TILE_VECS], right[TILE_VECS];                                                          \
        for (uint32_t r = 0; r < rows; r++)                                                                            \
            for (uint32_t v = 0; v < vectors; v++)                                                                     \
                total[r][v] = (vector){ 0 };                                                                           \
        for (uint64_t w = 0; w < packs; w++) {                                                                         \
            for (uint32_t v = 0; v < vectors; v++) {                                                                   \
                vector loaded; /* not right[v] itself, whose address would keep it in memory */                        \
                memcpy(&loaded, b + (w * TILE_VECS + v) * BYTES, BYTES);                                               \
                right[v] = loaded;                                                                                     \
            }                                                                                                          \
            for (uint32_t r = 0; r < rows; r++) {                                                                      \
                vector left = a[r * packs + w] - (vector){ 0 };                                                        \
                for (uint32_t v = 0; v < vectors; v++)                                                                 \
                    total[r][v] = tile_add_##name(total[r][v], left, right[v]);                                        \
            }                                                                                                          \
        }                                                                                                              \
        for (uint32_t r = 0; r < rows; r++)                                                                            \
            for (uint32_t v = 0; v < vectors; v++)                                                                     \
                memcpy((number *)t->sums + r * t->step + v * (BYTES / sizeof(number)), &total[r][v], BYTES);           \
    }                                                                                                                  \
    DENSE_INLINE void tile_rows_##name(uint32_t rows, const struct blocked_gemm_tile *t)                               \
    {                                                                                                                  \
        UKERNEL_BY_COUNT((t->columns * sizeof(number) + BYTES - 1) / BYTES, TILE_VECS, tile_vectors_##name, rows, t)   \
    }                                                                                                                  \
    static void tile_##name(const struct blocked_gemm_tile *t)                                                         \
    {                                                                                                                  \
        UKERNEL_BY_COUNT(t->rows, TILE_ROWS, tile_rows_##name, t)                                                      \
    }                                                                                                                  \
    const struct blocked_gemm_isa table = {                                                                            \
        TILE_ROWS, TILE_VECS * BYTES / sizeof(number), k_pack, sizeof(number), tile_##name, integers, NULL, ends       \
    };
TILE(f32, KERN_ISA_TABLE(blocked_gemm_f32_), float, vec, 1, NULL, NULL)
TILE(f64, KERN_ISA_TABLE(blocked_gemm_f64_), double, doubles, 1, NULL, NULL)

/* ---- kernels ---- */

KERN_ISA_RUN_WITH(gemm_float, blocked_gemm_run(blocked_gemm_isa_for(call->op, &KERN_ISA_TABLE(blocked_gemm_f32_),
                                                                    &KERN_ISA_TABLE(blocked_gemm_f64_)),
                                               call, begin, end))

/* The portable ones have NEON in them; those of AVX2: blocked_gemm_pairs_simd.c. */
#if defined(ISA_PORTABLE) || defined(__AVX512F__)
typedef uint32_t words __attribute__((vector_size(BYTES)));

/* sums + a * b; packs of integers as pairs of 16-bit numbers or, with AVX-512, as bytes. */
DENSE_INLINE words tile_add_integers(words sums, words a, words b)
{
#if defined(__AVX512F__)
    /* GCC 12 copies and spills the sums around the intrinsic: three times slower. */
    __asm__("vpdpbusd %2, %1, %0" : "+v"(sums) : "v"(a), "v"(b));
    return sums;
#elif defined(__SSE2__)
    return sums + (words)_mm_madd_epi16((__m128i)a, (__m128i)b);
#elif defined(__aarch64__)
    int16x8_t x = (int16x8_t)a, y = (int16x8_t)b;
    int32x4_t low = vmull_s16(vget_low_s16(x), vget_low_s16(y));
    return sums + (words)vpaddq_s32(low, vmull_high_s16(x, y));
#else
    typedef int16_t pairs __attribute__((vector_size(BYTES)));
    pairs x = (pairs)a, y = (pairs)b;
    for (uint32_t i = 0; i < BYTES / sizeof(uint32_t); i++)
        sums[i] += (uint32_t)(x[2 * i] * y[2 * i]) + (uint32_t)(x[2 * i + 1] * y[2 * i + 1]);
    return sums;
#endif
}

#if defined(__AVX512F__)
#define INTEGERS blocked_gemm_vnni
BLOCKED_ROW(gemm_int_vnni, gemm, INTEGERS)
#else
#define INTEGERS blocked_gemm_int_portable
BLOCKED_ROW(gemm_int, gemm, INTEGERS)
#endif
TILE(integers, INTEGERS, uint32_t, words, K_PACK, &KERN_ISA_TABLE(blocked_gemm_integers_),
     KERN_ISA_TABLE(blocked_gemm_end_row_))
#endif
