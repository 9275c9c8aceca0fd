/* SPDX-License-Identifier: Apache-2.0 */
/* One or two rows times quantised weights with 8-bit products: 64 at once, instead of 16 floats after converting the
 * codes. A group of X is rounded to 31-bit integers, relative to its largest element, which are four slices of 8 bits;
 * four exact sums of slices times codes make one of FLOAT32. An element loses bits only if it is less than a 64th of
 * the largest, and then less than FLOAT32 sums lose. Groups that cannot be represented (infinity, NaN, denormal
 * numbers) use the floating-point path. */
#include "kernels/gemm/qgemm_tile.h"

#define SLICES 4

/* The slices of eight rows: first those for the first half of the words' bytes, each four bytes for four rows. */
typedef int32_t row_slices[2][SLICES];

DENSE_INLINE __m512i dot(__m512i sums, __m512i codes, const int32_t *slices)
{
    /* GCC 12 copies and spills the sums around the intrinsic. */
    __asm__("vpdpbusd %2%{1to16%}, %1, %0" : "+v"(sums) : "v"(codes), "m"(*slices));
    return sums;
}

static float greatest(const float *a, uint32_t count)
{
    __m256 most = _mm256_setzero_ps();
    const __m256 sign = _mm256_set1_ps(-0.0f);
    for (uint32_t i = 0; i < count; i += 8) {
        __m256 value = _mm256_andnot_ps(sign, _mm256_loadu_ps(a + i));
        /* NaN wins: as an integer it is above all numbers. */
        most = _mm256_castsi256_ps(_mm256_max_epi32(_mm256_castps_si256(most), _mm256_castps_si256(value)));
    }
    __m128i four = _mm_max_epi32(_mm256_castsi256_si128(_mm256_castps_si256(most)),
                                 _mm256_extracti128_si256(_mm256_castps_si256(most), 1));
    four = _mm_max_epi32(four, _mm_shuffle_epi32(four, 0x4e));
    four = _mm_max_epi32(four, _mm_shuffle_epi32(four, 0xb1));
    return _mm_cvtss_f32(_mm_castsi128_ps(four));
}

static float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

/* false: the group's numbers are not all zero, and not all between 2^-97 and infinity. */
static bool make_slices(const float *a, uint32_t count, bool nibbles, row_slices *out, struct qgemm_group_slices *group)
{
    uint32_t bits;
    float most = greatest(a, count);
    memcpy(&bits, &most, sizeof(bits));
    const uint32_t exponent = bits >> 23; /* the largest number becomes one of 30 bits */
    if (bits && (exponent < 30 || exponent > 254))
        return false;
    const __m256 by = _mm256_set1_ps(bits ? float_of((283 - exponent) << 23) : 0);
    const __m256i middle = _mm256_set1_epi32((int32_t)0x80808080), ones = _mm256_set1_epi32(0x01010101);
    const __m256i order =
        nibbles ? _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7) : _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    const __m256i shuffle = _mm256_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15, 0, 4, 8, 12, 1, 5, 9,
                                             13, 2, 6, 10, 14, 3, 7, 11, 15);
    __m256i sums = _mm256_setzero_si256();
    for (uint32_t i = 0; i < count; i += 8) {
        __m256i number = _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(a + i), by));
        /* Slices from -128 to 127: those of the number plus 128 each, minus that. */
        number = _mm256_xor_si256(_mm256_add_epi32(number, middle), middle);
        number = _mm256_shuffle_epi8(_mm256_permutevar8x32_epi32(number, order), shuffle);
        _mm256_storeu_si256((__m256i *)out[i / 8], number);
        sums = _mm256_dpbusd_epi32(sums, ones, number);
    }
    __m128i all = _mm_add_epi32(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
    all = _mm_sub_epi32(_mm_setzero_si128(), all);
    _mm_storeu_si128((__m128i *)group->minus, all);
    _mm_storeu_si128((__m128i *)group->begin, _mm_slli_epi32(all, nibbles ? 3 : 7));
    group->factor = bits ? float_of((exponent - 29) << 23) : 0;
    return true;
}

static bool load_slices(struct qgemm *q)
{
    const struct qgemm_shape *s = &q->shape;
    char *slices = (char *)q->call->worker_scratch + base_align_up(s->scratch, 64);
    struct qgemm_group_slices *groups = (void *)(slices + s->rows * s->a_floats * 4);
    q->slices = slices;
    for (uint64_t g = 0; g < (uint64_t)s->rows * s->groups; g++)
        if (!make_slices(q->a + g * s->depth, s->depth, s->nibbles, (row_slices *)(slices + g * s->depth * 4),
                         &groups[g]))
            return false;
    return true;
}

/* Four sums for each row, initialised with the correction for treating codes as unsigned. */
DENSE_INLINE void begin_sums(uint32_t rows, bool zeros, const uint8_t *zero,
                             const struct qgemm_group_slices *const *groups, __m512i (*sums)[SLICES])
{
    __m512i offset = zeros ? _mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)zero)) : _mm512_setzero_si512();
    for (uint32_t m = 0; m < rows; m++)
        for (uint32_t d = 0; d < SLICES; d++) {
            sums[m][d] = _mm512_set1_epi32(groups[m]->begin[d]);
            if (zeros)
                sums[m][d] =
                    _mm512_add_epi32(sums[m][d], _mm512_mullo_epi32(offset, _mm512_set1_epi32(groups[m]->minus[d])));
        }
}

DENSE_INLINE __m512 end_sums(const __m512i *sums)
{
    __m512 total = _mm512_cvtepi32_ps(sums[SLICES - 1]);
    for (uint32_t d = SLICES - 1; d-- > 0;)
        total = _mm512_fmadd_ps(total, _mm512_set1_ps(256), _mm512_cvtepi32_ps(sums[d]));
    return total;
}

/* Both halves of eight rows' codes, plus `center`. */
DENSE_INLINE void load_codes(const uint8_t *codes, bool nibbles, __m512i *out)
{
    __m512i words = _mm512_loadu_si512(codes);
    if (nibbles) {
        const __m512i low = _mm512_set1_epi32(0x0f0f0f0f), flip = _mm512_set1_epi32(0x08080808);
        out[0] = _mm512_ternarylogic_epi32(words, flip, low, 0x28); /* (words ^ flip) & low */
        out[1] = _mm512_ternarylogic_epi32(_mm512_srli_epi32(words, 4), flip, low, 0x28);
    } else {
        const __m512i flip = _mm512_set1_epi32((int32_t)0x80808080);
        out[0] = _mm512_xor_si512(words, flip);
        out[1] = _mm512_xor_si512(_mm512_loadu_si512(codes + 64), flip);
    }
}

DENSE_INLINE void multiply_panel(bool nibbles, bool zeros, uint32_t rows, const struct qgemm *q, uint64_t panel,
                                 float *out)
{
    const struct qgemm_shape *s = &q->shape;
    const uint8_t *codes = (const uint8_t *)q->call->data[1] + panel * s->groups * s->group_bytes;
    const char *slices = q->slices;
    const struct qgemm_group_slices *all = (const void *)(slices + s->rows * s->a_floats * 4);
    const uint64_t at = panel * s->groups * KERN_QGEMM_COLUMNS;
    __m512 total[QGEMM_FEW] = { _mm512_setzero_ps(), _mm512_setzero_ps() };
    for (uint32_t g = 0; g < s->groups; g++) {
        const struct qgemm_group_slices *groups[QGEMM_FEW] = { &all[g], &all[s->groups * (rows - 1) + g] };
        const row_slices *row[QGEMM_FEW];
        const uint64_t here = at + g * KERN_QGEMM_COLUMNS;
        __m512i sums[QGEMM_FEW][SLICES];
        for (uint32_t m = 0; m < rows; m++)
            row[m] = (const row_slices *)(slices + (m * s->a_floats + (uint64_t)g * s->depth) * 4);
        begin_sums(rows, zeros, zeros ? (const uint8_t *)q->call->data[3] + here : NULL, groups, sums);
        for (uint32_t k = 0; k < s->depth / 8; k++, codes += nibbles ? 64 : 128) {
            __m512i half_codes[2];
            __builtin_prefetch(codes + DENSE_AHEAD);
            if (!nibbles)
                __builtin_prefetch(codes + DENSE_AHEAD + 64);
            load_codes(codes, nibbles, half_codes);
            for (uint32_t m = 0; m < rows; m++)
                for (uint32_t i = 0; i < 2 * SLICES; i++)
                    sums[m][i % SLICES] =
                        dot(sums[m][i % SLICES], half_codes[i / SLICES], &row[m][k][i / SLICES][i % SLICES]);
        }
        __m512 scales = vec_load_of(q->call->op->tensors[2].type, q->call->data[2], (int64_t)here);
        for (uint32_t m = 0; m < rows; m++)
            total[m] = _mm512_fmadd_ps(end_sums(sums[m]), scales * vec_set(groups[m]->factor), total[m]);
    }
    for (uint32_t m = 0; m < rows; m++)
        vec_store(out + m * QGEMM_CHUNK * KERN_QGEMM_COLUMNS, total[m]);
}

static void panels_of_slices(const struct qgemm *q, uint64_t panel, uint32_t panels, float *out)
{
    for (uint32_t i = 0; i < panels; i++, out += KERN_QGEMM_COLUMNS)
        if (q->shape.rows == 1)
            QGEMM_BY_KIND(q, multiply_panel, 1, q, panel + i, out);
        else
            QGEMM_BY_KIND(q, multiply_panel, 2, q, panel + i, out);
}

void kern_qgemm_vnni_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    struct qgemm q;
    qgemm_init(&q, call, blocked_gemm_end_row_avx512);
    qgemm_panels(&q, begin, end, load_slices(&q) ? panels_of_slices : qgemm_panel);
}
