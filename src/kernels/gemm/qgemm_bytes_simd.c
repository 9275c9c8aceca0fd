/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of qgemm_bytes.h. Codes are converted to unsigned bytes: in registers for few rows of X; for more, a part
 * of two panels is converted in the first-level cache first. Without VNNI, 8-bit codes stay signed, and |code| * (sign
 * of the code * x) is added: two such products, at most 128 * 127 each, fit 16 bits. */
#include "kernels/core/isa.h"
#include "kernels/gemm/qgemm_bytes.h"
#include "kernels/gemm/qgemm_tile.h"
#include "kernels/row/row.h"

#include <math.h>

#if defined(__AVX2__)

/* Rows and panels of a tile. */
#if defined(__AVX512F__)
enum { BYTES_TILE = 8, BYTES_WIDE = 2 };
typedef __m512i raw;
#else
enum { BYTES_TILE = 4, BYTES_WIDE = 1 };
typedef __m256i raw;
#endif
enum { SIGNED_TILE = 3 }; /* rows of one that needs more registers: codes and their sizes */
enum { ACROSS = 2, TILE_BYTES = ACROSS * sizeof(vec) };
_Static_assert(BYTES_WIDE *KERN_QGEMM_COLUMNS == ACROSS * VEC, "a tile is of whole panels");

/* The conversion of codes to bytes: from 4 or 8 bits in memory order, or already bytes; SIGNED_: that stay signed. */
enum bytes_form { FORM_NIBBLES, FORM_BYTES, FORM_PART, FORM_SIGNED_BYTES, FORM_SIGNED_PART };

struct qgemm_bytes {
    const struct kern_call *call;
    struct qgemm_shape shape;
    struct qgemm_bytes_shape bytes;
    int32_t center; /* that conversion adds to codes */
    char *a;
    uint8_t *part; /* [eights of rows][halves][vectors of a tile] */
    float *sums;   /* [rows][columns of a chunk] */
    struct blocked_gemm_end end;
    uint64_t first_row;
    uint32_t rows, columns; /* of a chunk's sums */
};

/* ---- X ---- */

/* VEC integers of 8 bits; those of 4-bit codes are in the codes' order. */
DENSE_INLINE void store_bytes(uint8_t *out, vec_int number, bool nibbles)
{
#if defined(__AVX512F__)
    const __m512i order = _mm512_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15);
    const __m512i all = nibbles ? _mm512_permutexvar_epi32(order, (__m512i)number) : (__m512i)number;
    _mm_storeu_si128((__m128i *)out, _mm512_cvtepi32_epi8(all));
#else
    const __m256i order = _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7);
    const __m256i all = nibbles ? _mm256_permutevar8x32_epi32((__m256i)number, order) : (__m256i)number;
    const __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(all), _mm256_extracti128_si256(all, 1));
    _mm_storel_epi64((__m128i *)out, _mm_packs_epi16(words, words));
#endif
}

/* The sum of all numbers, or the largest. */
DENSE_INLINE int32_t reduce(vec_int all, bool greatest)
{
#if defined(__AVX512F__)
    const __m256i low = _mm512_castsi512_si256((__m512i)all), high = _mm512_extracti64x4_epi64((__m512i)all, 1);
    const __m256i eight = greatest ? _mm256_max_epi32(low, high) : _mm256_add_epi32(low, high);
#else
    const __m256i eight = (__m256i)all;
#endif
    __m128i four = _mm256_castsi256_si128(eight), other = _mm256_extracti128_si256(eight, 1);
    four = greatest ? _mm_max_epi32(four, other) : _mm_add_epi32(four, other);
    other = _mm_shuffle_epi32(four, 0x4e);
    four = greatest ? _mm_max_epi32(four, other) : _mm_add_epi32(four, other);
    other = _mm_shuffle_epi32(four, 0xb1);
    return _mm_cvtsi128_si32(greatest ? _mm_max_epi32(four, other) : _mm_add_epi32(four, other));
}

DENSE_INLINE float greatest_of(const float *in, uint32_t count)
{
    vec_int most = { 0 };
    for (uint32_t i = 0; i < count; i += VEC) /* NaN wins: as an integer it is above all numbers */
        most = (vec_int)VEC_MM(max_epi32)((raw)most, (raw)vec_abs(vec_load(in + i)));
    const int32_t bits = reduce(most, true);
    float value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

/* One group: `in` is padded with zeros to whole vectors, and so is the destination. */
DENSE_INLINE void round_group(const float *in, uint32_t count, bool nibbles, int32_t center, bool zeros, char *to)
{
    const float most = greatest_of(in, count), inverse = 127.0f / most;
    const bool finite = most < INFINITY, usual = finite && inverse < INFINITY; /* or all are zero, or next to it */
    const vec by = vec_set(usual ? inverse : 0);
    const vec_int keep = vec_int_set(usual ? -1 : 0); /* excludes infinities and NaN */
    uint8_t *out = (uint8_t *)to + sizeof(struct qgemm_bytes_group);
    vec_int sums = { 0 };
    for (uint32_t i = 0; i < count; i += VEC) {
        const vec_int number = (vec_int)VEC_MM(cvtps_epi32)(vec_load(in + i) * by) & keep;
        sums += number;
        store_bytes(out + i, number, nibbles);
    }
    const int32_t sum = reduce(sums, false);
    struct qgemm_bytes_group group = { usual ? most / 127.0f : finite ? 0 : NAN, -sum * center };
    if (zeros) {
        const int32_t high = sum >> 7;
        group.begin = (int32_t)((uint32_t)(-(sum - high * 128) & 0xffff) | (uint32_t)-high << 16);
    }
    memcpy(to, &group, sizeof(group));
}

/* Groups that follow one another. */
DENSE_INLINE void round_groups(const float *in, uint32_t groups, uint32_t depth, bool nibbles, int32_t center,
                               bool zeros, char *to)
{
    for (uint32_t g = 0; g < groups; g++, in += depth, to += sizeof(struct qgemm_bytes_group) + depth)
        round_group(in, depth, nibbles, center, zeros, to);
}

static void round_line(const struct qgemm_bytes *q, const float *in, uint32_t groups, char *to)
{
    const bool zeros = q->call->op->u.qgemm.has_zero;
    if (q->shape.depth == 32 && q->shape.nibbles) /* the usual case, in registers */
        round_groups(in, groups, 32, true, 8, zeros, to);
    else if (q->shape.nibbles)
        round_groups(in, groups, q->shape.depth, true, 8, zeros, to);
    else
        round_groups(in, groups, q->shape.depth, false, q->center, zeros, to);
}

static void load_rows(struct qgemm_bytes *q, uint64_t block)
{
    const struct kern_call *call = q->call;
    const struct kern_view *x = &call->op->tensors[0];
    const struct qgemm_shape *s = &q->shape;
    float *line = (float *)((char *)call->worker_scratch + q->bytes.line);
    uint32_t at[KERN_RANK_MAX], last = x->rank - 1;
    const int64_t step = s->k > 1 ? x->strides[last] : 0;
    const bool direct = x->type == DML_TENSOR_DATA_TYPE_FLOAT32 && step == 1 && s->k == s->a_floats;
    const uint32_t together = direct && s->depth % VEC == 0 ? s->groups : 1;
    q->first_row = block * q->bytes.block_rows;
    q->rows = (uint32_t)BASE_MIN(s->rows - q->first_row, q->bytes.block_rows);
    memset(line, 0, base_align_up(s->depth, VEC) * sizeof(*line));
    for (uint32_t m = 0; m < q->rows; m++) {
        char *to = q->a + m * q->bytes.row;
        dense_row_at(x, q->first_row + m, at);
        const int64_t from = dense_offset(x, at, last);
        if (together > 1) {
            round_line(q, (const float *)call->data[0] + from, together, to);
            continue;
        }
        for (uint32_t g = 0; g < s->groups; g++, to += sizeof(struct qgemm_bytes_group) + s->depth) {
            const uint32_t begin = g * s->block, count = BASE_MIN(s->block, s->k - begin);
            dense_load_row(call->data[0], from + begin * step, step, x->type, count, line);
            if (count < s->block)
                memset(line + count, 0, (s->block - count) * sizeof(*line));
            round_line(q, line, 1, to);
        }
    }
}

/* ---- codes ---- */

DENSE_INLINE bool is_part(enum bytes_form form)
{
    return form == FORM_PART || form == FORM_SIGNED_PART;
}

DENSE_INLINE bool is_signed(enum bytes_form form)
{
    return form == FORM_SIGNED_BYTES || form == FORM_SIGNED_PART;
}

/* Half `half` of eight rows' words of one vector as bytes. */
DENSE_INLINE vec_int codes_of(enum bytes_form form, const uint8_t *codes, uint32_t half)
{
    vec_int words;
    if (form != FORM_NIBBLES) {
        memcpy(&words, codes + half * KERN_QGEMM_COLUMNS * 4, sizeof(words));
        return form == FORM_SIGNED_BYTES ? words : words ^ (int32_t)0x80808080;
    }
    memcpy(&words, codes, sizeof(words));
    return ((half ? (vec_int)((vec_bits)words >> 4) : words) ^ 0x08080808) & 0x0f0f0f0f;
}

/* ---- tiles ---- */

/* sums + four bytes of codes times four of X; `with_sign`: codes are |signed codes|. */
DENSE_INLINE vec_int dot(bool vnni, bool with_sign, vec_int sums, vec_int codes, vec_int signed_codes, vec_int x)
{
    (void)signed_codes;
    /* GCC 12 copies and spills the sums around the intrinsic. */
#if defined(__AVX512F__)
    __asm__("vpdpbusd %2, %1, %0" : "+v"(sums) : "v"(codes), "v"(x));
#else
    if (with_sign)
        x = (vec_int)_mm256_sign_epi8((__m256i)x, (__m256i)signed_codes);
    if (!vnni) /* sums of two products fit 16 bits */
        return sums +
               (vec_int)_mm256_madd_epi16(_mm256_maddubs_epi16((__m256i)codes, (__m256i)x), _mm256_set1_epi16(1));
    __asm__("%{vex%} vpdpbusd %2, %1, %0" : "+x"(sums) : "x"(codes), "x"(x));
#endif
    return sums;
}

/* One word everywhere. */
DENSE_INLINE vec_int word_of(const char *from)
{
    int32_t word;
    memcpy(&word, from, sizeof(word));
    return vec_int_set(word);
}

/* Rows of X with whole panels, groups `begin` to `end`. */
struct bytes_tile {
    const struct qgemm_bytes *q;
    const char *a;
    const uint8_t *codes; /* of the first panel, or of the part */
    uint64_t panel, next; /* panels from the first to the second: one or none */
    uint32_t begin, end;
    float *sums;
};

/* Initial values of a group's sums. */
DENSE_INLINE vec_int begin_sums(bool zeros, const char *group, vec_int zero)
{
    const vec_int begin = word_of(group + offsetof(struct qgemm_bytes_group, begin));
    return zeros ? (vec_int)VEC_MM(madd_epi16)((raw)begin, (raw)zero) : begin;
}

DENSE_INLINE void load_parameters(bool zeros, const struct bytes_tile *t, uint32_t g, vec *scales, vec_int *zero)
{
    const struct kern_call *call = t->q->call;
    const int32_t center = t->q->center;
#pragma GCC unroll 2
    for (uint32_t v = 0; v < ACROSS; v++) {
        const uint32_t column = v * VEC;
        uint64_t at =
            ((t->panel + column / KERN_QGEMM_COLUMNS * t->next) * t->q->shape.groups + g) * KERN_QGEMM_COLUMNS;
        at += column % KERN_QGEMM_COLUMNS;
        scales[v] = vec_load_of(call->op->tensors[2].type, call->data[2], (int64_t)at);
        if (zeros) {
            const vec_int all = (vec_int)VEC_MM(cvtps_epi32)(qgemm_bytes((const uint8_t *)call->data[3] + at)) + center;
            zero[v] = (all & 0xffff) | all << 23;
        }
    }
}

DENSE_INLINE void bytes_tile(uint32_t rows, enum bytes_form form, bool zeros, bool vnni, const struct bytes_tile *t)
{
    const struct qgemm_shape *s = &t->q->shape;
    const uint64_t record = sizeof(struct qgemm_bytes_group) + s->depth, columns = t->q->columns;
    const uint64_t panel = t->next * s->groups * s->group_bytes;
    const uint8_t *codes = t->codes;
    const char *row[BYTES_TILE];
#pragma GCC unroll 12
    for (uint32_t m = 0; m < rows; m++) {
        row[m] = t->a + m * t->q->bytes.row + t->begin * record;
        if (!t->begin)
            memset(t->sums + m * columns, 0, ACROSS * sizeof(vec));
    }
    for (uint32_t g = t->begin; g < t->end; g++) {
        vec scales[ACROSS];
        vec_int zero[ACROSS], sum[BYTES_TILE][ACROSS];
        load_parameters(zeros, t, g, scales, zero);
#pragma GCC unroll 12
        for (uint32_t m = 0; m < rows; m++)
#pragma GCC unroll 2
            for (uint32_t v = 0; v < ACROSS; v++)
                sum[m][v] = begin_sums(zeros, row[m], zero[v]);
        for (uint64_t k = 0; k < s->depth; k += 8) {
            if (!is_part(form))
                for (uint32_t w = 0; w < BYTES_WIDE; w++) {
                    __builtin_prefetch(codes + w * panel + DENSE_AHEAD);
                    if (form != FORM_NIBBLES)
                        __builtin_prefetch(codes + w * panel + DENSE_AHEAD + 64);
                }
#pragma GCC unroll 2
            for (uint32_t half = 0; half < 2; half++) {
                vec_int right[ACROSS], positive[ACROSS];
#pragma GCC unroll 2
                for (uint32_t v = 0; v < ACROSS; v++) {
                    if (is_part(form))
                        memcpy(&right[v], codes + half * TILE_BYTES + v * sizeof(vec), sizeof(vec));
                    else
                        right[v] = codes_of(
                            form, codes + v * VEC / KERN_QGEMM_COLUMNS * panel + v * VEC % KERN_QGEMM_COLUMNS * 4,
                            half);
                    positive[v] = right[v];
#if !defined(__AVX512F__)
                    if (is_signed(form))
                        positive[v] = (vec_int)_mm256_abs_epi8((__m256i)right[v]);
#endif
                }
#pragma GCC unroll 12
                for (uint32_t m = 0; m < rows; m++) {
                    const vec_int x = word_of(row[m] + sizeof(struct qgemm_bytes_group) + k + half * 4);
#pragma GCC unroll 2
                    for (uint32_t v = 0; v < ACROSS; v++)
                        sum[m][v] = dot(vnni, is_signed(form), sum[m][v], positive[v], right[v], x);
                }
            }
            codes += is_part(form) ? 2 * TILE_BYTES : form == FORM_NIBBLES ? 64 : 128;
        }
#pragma GCC unroll 12
        for (uint32_t m = 0; m < rows; m++) {
            const vec by = (vec)word_of(row[m] + offsetof(struct qgemm_bytes_group, scale));
#pragma GCC unroll 2
            for (uint32_t v = 0; v < ACROSS; v++) {
                float *to = t->sums + m * columns + v * VEC;
                const vec value = (vec)VEC_MM(cvtepi32_ps)((raw)sum[m][v]) * by;
                vec_store(to, vec_fma(value, scales[v], vec_load(to)));
            }
            row[m] += record;
        }
    }
}

/* ---- work ---- */

DENSE_INLINE void expand(enum bytes_form form, const struct bytes_tile *t)
{
    const struct qgemm_shape *s = &t->q->shape;
    const uint64_t panel = t->next * s->groups * s->group_bytes, bytes = (t->end - t->begin) * s->group_bytes;
    const uint8_t *codes = t->codes;
    const bool nibbles = form == FORM_NIBBLES;
    uint8_t *out = t->q->part;
    for (uint64_t i = 0; i < bytes; i += nibbles ? 64 : 128) {
        for (uint32_t w = 0; w < BYTES_WIDE; w++) {
            __builtin_prefetch(codes + w * panel + i + DENSE_AHEAD);
            if (!nibbles)
                __builtin_prefetch(codes + w * panel + i + DENSE_AHEAD + 64);
        }
        for (uint32_t half = 0; half < 2; half++)
            for (uint32_t v = 0; v < ACROSS; v++, out += sizeof(vec)) {
                const uint8_t *from =
                    codes + i + v * VEC / KERN_QGEMM_COLUMNS * panel + v * VEC % KERN_QGEMM_COLUMNS * 4;
                const vec_int all = codes_of(form, from, half);
                memcpy(out, &all, sizeof(all));
            }
    }
}

/* All rows of the block with these panels and groups. */
DENSE_INLINE void tile_rows(enum bytes_form form, bool zeros, bool vnni, const struct bytes_tile *panels)
{
    const struct qgemm_bytes *q = panels->q;
    const uint32_t most = is_signed(form) ? SIGNED_TILE : BYTES_TILE;
    const uint32_t tiles = (q->rows + most - 1) / most, step = (q->rows + tiles - 1) / tiles;
    for (uint32_t m = 0; m < q->rows; m += step) {
        struct bytes_tile tile = *panels;
        tile.a += m * q->bytes.row;
        tile.sums += m * q->columns;
        UKERNEL_BY_COUNT(BASE_MIN(q->rows - m, step), BYTES_TILE, bytes_tile, form, zeros, vnni, &tile)
    }
}

DENSE_INLINE void multiply_panels(enum bytes_form form, bool zeros, bool vnni, struct bytes_tile *t)
{
    const struct qgemm_shape *s = &t->q->shape;
    const uint32_t groups = t->q->bytes.groups;
    t->end = s->groups;
    if (!groups) {
        tile_rows(form, zeros, vnni, t);
        return;
    }
    for (; t->begin < s->groups; t->begin = t->end) {
        t->end = BASE_MIN(t->begin + groups, s->groups);
        expand(form, t);
        struct bytes_tile part = *t;
        part.codes = t->q->part;
        tile_rows(is_signed(form) ? FORM_SIGNED_PART : FORM_PART, zeros, vnni, &part);
        t->codes += (t->end - t->begin) * s->group_bytes;
    }
}

DENSE_INLINE void multiply_form(enum bytes_form form, bool vnni, struct bytes_tile *t)
{
    if (t->q->call->op->u.qgemm.has_zero)
        multiply_panels(form, true, vnni, t);
    else
        multiply_panels(form, false, vnni, t);
}

DENSE_INLINE void multiply_unit(bool vnni, const struct qgemm_bytes *q, uint64_t unit, float *sums)
{
    const struct qgemm_shape *s = &q->shape;
    const uint64_t first = unit * QGEMM_BYTES_PANELS, end = BASE_MIN(first + QGEMM_BYTES_PANELS, s->panels);
    for (uint64_t panel = first; panel < end; panel += BYTES_WIDE, sums += BYTES_WIDE * KERN_QGEMM_COLUMNS) {
        const uint8_t *codes = (const uint8_t *)q->call->data[1] + panel * s->groups * s->group_bytes;
        struct bytes_tile tile = { q, q->a, codes, panel, BYTES_WIDE > 1 && panel + 1 < s->panels, 0, 0, sums };
        if (s->nibbles)
            multiply_form(FORM_NIBBLES, vnni, &tile);
        else
            multiply_form(vnni ? FORM_BYTES : FORM_SIGNED_BYTES, vnni, &tile);
    }
}

static void finish(const struct qgemm_bytes *q, uint64_t unit)
{
    const struct kern_op *op = q->call->op;
    const struct kern_view *y = &op->tensors[op->input_count];
    uint32_t at[KERN_RANK_MAX], column = (uint32_t)unit * QGEMM_BYTES_COLUMNS;
    for (uint32_t m = 0; m < q->rows; m++) {
        dense_row_at(y, q->first_row + m, at);
        at[y->rank - 1] = column;
        blocked_gemm_end_floats(&q->end, at, BASE_MIN(q->shape.n - column, q->columns),
                                q->sums + (uint64_t)m * q->columns, KERN_ISA_TABLE(blocked_gemm_end_row_));
    }
}

DENSE_INLINE void run(bool vnni, const struct kern_call *call, uint64_t begin, uint64_t end)
{
    struct qgemm_bytes q = { .call = call };
    uint64_t loaded = UINT64_MAX;
    qgemm_shape_init(call->op, &q.shape);
    qgemm_bytes_shape_init(call->op, &q.shape, &q.bytes);
    q.center = q.shape.nibbles ? 8 : vnni ? 128 : 0;
    q.a = (char *)call->worker_scratch + q.bytes.a;
    q.part = (uint8_t *)call->worker_scratch + q.bytes.part;
    q.sums = (float *)((char *)call->worker_scratch + q.bytes.sums);
    blocked_gemm_end_init(call, (char *)call->worker_scratch + q.bytes.epilogue, NULL, &q.end);
    blocked_gemm_end_in_steps(&q.end);
    for (uint64_t count; begin < end; begin += count) {
        const uint64_t block = begin / q.bytes.units, unit = begin % q.bytes.units;
        count = BASE_MIN(BASE_MIN(end - begin, q.bytes.units - unit), q.bytes.chunk);
        if (block != loaded)
            load_rows(&q, block);
        loaded = block;
        q.columns = (uint32_t)count * QGEMM_BYTES_COLUMNS;
        for (uint64_t i = 0; i < count; i++)
            multiply_unit(vnni, &q, unit + i, q.sums + i * QGEMM_BYTES_COLUMNS);
        finish(&q, unit);
    }
}

#if defined(__AVX512F__)
void kern_qgemm_bytes_vnni_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    run(true, call, begin, end);
}
#else
void kern_qgemm_bytes_avx_vnni_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    run(true, call, begin, end);
}

void kern_qgemm_bytes_avx2_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    run(false, call, begin, end);
}
#endif
#endif
