/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles of the GEMM of qgemm.h for the instruction set of the including file. Codes are converted to floats between
 * memory and the arithmetic, which is FLOAT32; a group's sums are multiplied by their scales once. */
#ifndef KERNELS_QGEMM_TILE_H
#define KERNELS_QGEMM_TILE_H

#include "kernels/gemm/blocked_gemm.h"
#include "kernels/gemm/qgemm.h"
#include "kernels/gemm/ukernel.h"
#include "kernels/row/row.h"

#define QGEMM_VECS (KERN_QGEMM_COLUMNS / VEC)

/* Rows and panels at once: enough sums to hide latencies and to share the conversion of codes and the loads of X, but
 * few enough for the registers. */
#if defined(__AVX512F__)
#define QGEMM_TILE 8
#define QGEMM_WIDE 2
#elif defined(__aarch64__)
#define QGEMM_TILE 4
#define QGEMM_WIDE 1
#else
#define QGEMM_TILE 6
#define QGEMM_WIDE 1
#endif
#define QGEMM_ACROSS (QGEMM_WIDE * QGEMM_VECS)
_Static_assert(QGEMM_CHUNK % QGEMM_WIDE == 0, "a tile's sums lie in one chunk");

struct qgemm {
    const struct kern_call *call;
    struct qgemm_shape shape;
    const void *slices; /* of x86/qgemm_vnni.c */
    float *sums;        /* [rows][columns of a chunk] */
    float *a;           /* [rows][groups * depth], zeros in between */
    struct blocked_gemm_end end;
    blocked_gemm_end_fn *end_row;
};

/* Element `at` of the words of VEC columns: of eight elements of 4 bits, or of four bytes. */
DENSE_INLINE vec qgemm_decode(const uint8_t *words, uint32_t at, bool nibbles)
{
    const uint32_t bits = nibbles ? 4 : 8, left = 32 - bits - bits * at, right = 32 - bits;
#if defined(__AVX512F__)
    typedef int32_t words16 __attribute__((vector_size(64)));
    const vec values = _mm512_setr_ps(0, 1, 2, 3, 4, 5, 6, 7, -8, -7, -6, -5, -4, -3, -2, -1);
    words16 all = (words16)_mm512_loadu_si512(words);
    if (nibbles) /* the low four bits choose */
        return _mm512_permutexvar_ps((__m512i)(all >> (int32_t)(4 * at)), values);
    return _mm512_cvtepi32_ps((__m512i)((all << left) >> right));
#elif defined(__aarch64__)
    int32x4_t all = vreinterpretq_s32_u8(vld1q_u8(words));
    return vcvtq_f32_s32((all << left) >> right);
#else
    typedef int32_t words8 __attribute__((vector_size(32)));
    words8 all = (words8)_mm256_loadu_si256((const __m256i *)words);
    return _mm256_cvtepi32_ps((__m256i)((all << left) >> right));
#endif
}

/* VEC bytes. */
DENSE_INLINE vec qgemm_bytes(const uint8_t *bytes)
{
#if defined(__AVX512F__)
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)bytes)));
#elif defined(__aarch64__)
    uint32_t four;
    memcpy(&four, bytes, sizeof(four));
    return vcvtq_f32_s32(vmovl_s16(vget_low_s16(vmovl_s8(vcreate_s8(four)))));
#else
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)bytes)));
#endif
}

/* function(nibbles, zeros, ...) with constants. */
#define QGEMM_BY_KIND(q, function, ...)                                                                                \
    ((q)->call->op->u.qgemm.has_zero                                                                                   \
         ? ((q)->shape.nibbles ? function(true, true, __VA_ARGS__) : function(false, true, __VA_ARGS__))               \
         : ((q)->shape.nibbles ? function(true, false, __VA_ARGS__) : function(false, false, __VA_ARGS__)))

/* Sums for each result: several if rows and columns are too few. */
#define QGEMM_ACCUMULATORS(rows) ((rows)*QGEMM_ACROSS > (VEC == 8 ? 7 : 8) ? 1 : (rows)*QGEMM_ACROSS > 3 ? 2 : 4)

/* Rows from `first` on with the panels from `panel` on; a single one is duplicated. */
struct qgemm_tile {
    const struct qgemm *q;
    uint64_t panel;
    uint32_t panels, first;
    float *out;
};

/* One group of the panels of a tile. */
struct qgemm_group {
    const float *a;
    const uint8_t *codes; /* of the first panel */
    uint64_t next, ahead; /* bytes from there to the next one's, and to the prefetched ones */
    vec scales[QGEMM_ACROSS], zeros[QGEMM_ACROSS];
};

/* out (+)= scales * the product of one group. */
DENSE_INLINE void qgemm_group(uint32_t rows, bool nibbles, bool zeros, const struct qgemm *q,
                              const struct qgemm_group *group, bool add, float *out)
{
    const uint32_t accumulators = QGEMM_ACCUMULATORS(rows);
    vec sum[QGEMM_TILE][QGEMM_ACROSS][4];
    const uint8_t *codes = group->codes;
    const float *row[QGEMM_TILE];
    for (uint32_t m = 0; m < rows; m++) {
        row[m] = group->a + m * q->shape.a_floats;
        for (uint32_t i = 0; i < QGEMM_ACROSS * accumulators; i++)
            sum[m][i / accumulators][i % accumulators] = vec_set(0);
    }
    for (uint32_t k = 0; k < q->shape.depth; k += 8) {
        for (uint32_t w = 0; w < QGEMM_WIDE; w++) {
            __builtin_prefetch(codes + w * group->next + group->ahead);
            if (!nibbles)
                __builtin_prefetch(codes + w * group->next + group->ahead + 64);
        }
#pragma GCC unroll 8
        for (uint32_t i = 0; i < 8; i++) {
            vec b[QGEMM_ACROSS];
            for (uint32_t v = 0; v < QGEMM_ACROSS; v++) {
                const uint8_t *words = codes + v / QGEMM_VECS * group->next + v % QGEMM_VECS * VEC * 4;
                b[v] = qgemm_decode(words + (nibbles ? 0 : i / 4 * 64), nibbles ? i : i % 4, nibbles);
                if (zeros)
                    b[v] -= group->zeros[v];
            }
            for (uint32_t m = 0; m < rows; m++) {
                vec value = vec_set(row[m][k + i]);
                for (uint32_t v = 0; v < QGEMM_ACROSS; v++)
                    sum[m][v][i % accumulators] = vec_fma(value, b[v], sum[m][v][i % accumulators]);
            }
        }
        codes += nibbles ? 64 : 128;
    }
    for (uint32_t m = 0; m < rows; m++)
        for (uint32_t v = 0; v < QGEMM_ACROSS; v++) {
            float *to = out + (uint64_t)m * QGEMM_CHUNK * KERN_QGEMM_COLUMNS + v * VEC;
            for (uint32_t i = 1; i < accumulators; i++)
                sum[m][v][0] += sum[m][v][i];
            vec_store(to, vec_fma(sum[m][v][0], group->scales[v], add ? vec_load(to) : vec_set(0)));
        }
}

DENSE_INLINE void qgemm_tile(uint32_t rows, bool nibbles, bool zeros, const struct qgemm_tile *t)
{
    const struct qgemm_shape *s = &t->q->shape;
    const struct kern_call *call = t->q->call;
    const uint64_t bytes = s->groups * s->group_bytes, other = t->panels > 1;
    struct qgemm_group group = { t->q->a + t->first * s->a_floats, (const uint8_t *)call->data[1] + t->panel * bytes,
                                 other * bytes };
    for (uint32_t g = 0; g < s->groups; g++, group.a += s->depth, group.codes += s->group_bytes) {
        /* At the end of the panels the next ones are prefetched, not the second of these. */
        group.ahead = DENSE_AHEAD;
        if (g * s->group_bytes + DENSE_AHEAD >= bytes)
            group.ahead += (QGEMM_WIDE - 1) * bytes;
        for (uint32_t v = 0; v < QGEMM_ACROSS; v++) {
            uint64_t at = ((t->panel + v / QGEMM_VECS * other) * s->groups + g) * KERN_QGEMM_COLUMNS;
            at += v % QGEMM_VECS * VEC;
            group.scales[v] = vec_load_of(call->op->tensors[2].type, call->data[2], (int64_t)at);
            group.zeros[v] = zeros ? qgemm_bytes((const uint8_t *)call->data[3] + at) : vec_set(0);
        }
        qgemm_group(rows, nibbles, zeros, t->q, &group, g > 0, t->out);
    }
}

DENSE_INLINE void qgemm_rows(bool nibbles, bool zeros, const struct qgemm *q, uint64_t panel, uint32_t panels,
                             float *out)
{
    const uint32_t tiles = (q->shape.rows + QGEMM_TILE - 1) / QGEMM_TILE, step = (q->shape.rows + tiles - 1) / tiles;
    for (uint32_t m = 0; m < q->shape.rows; m += step) {
        const struct qgemm_tile t = { q, panel, panels, m, out + (uint64_t)m * QGEMM_CHUNK * KERN_QGEMM_COLUMNS };
        UKERNEL_BY_COUNT(BASE_MIN(q->shape.rows - m, step), QGEMM_TILE, qgemm_tile, nibbles, zeros, &t)
    }
}

/* All rows with `panels` panels, at most QGEMM_WIDE. */
static inline void qgemm_panel(const struct qgemm *q, uint64_t panel, uint32_t panels, float *out)
{
    QGEMM_BY_KIND(q, qgemm_rows, q, panel, panels, out);
}

static inline void qgemm_load(const struct qgemm *q)
{
    const struct kern_view *x = &q->call->op->tensors[0];
    const struct qgemm_shape *s = &q->shape;
    uint32_t at[KERN_RANK_MAX], last = x->rank - 1;
    int64_t step = s->k > 1 ? x->strides[last] : 0;
    for (uint32_t m = 0; m < s->rows; m++) {
        dense_row_at(x, m, at);
        int64_t from = dense_offset(x, at, last);
        for (uint32_t g = 0; g < s->groups; g++) {
            float *to = q->a + m * s->a_floats + (uint64_t)g * s->depth;
            uint32_t count = BASE_MIN(s->block, s->k - g * s->block);
            dense_load_row(q->call->data[0], from + (int64_t)g * s->block * step, step, x->type, count, to);
            memset(to + count, 0, (s->depth - count) * sizeof(*to));
        }
    }
}

typedef void qgemm_panel_fn(const struct qgemm *q, uint64_t panel, uint32_t panels, float *out);

static inline void qgemm_panels(const struct qgemm *q, uint64_t begin, uint64_t end, qgemm_panel_fn *multiply)
{
    const struct kern_call *call = q->call;
    const struct kern_view *y = &call->op->tensors[call->op->input_count];
    uint32_t at[KERN_RANK_MAX], last = y->rank - 1;
    for (uint64_t count; begin < end; begin += count) {
        uint32_t first = (uint32_t)begin * KERN_QGEMM_COLUMNS;
        count = BASE_MIN(end - begin, QGEMM_CHUNK);
        for (uint64_t i = 0; i < count; i += QGEMM_WIDE)
            multiply(q, begin + i, (uint32_t)BASE_MIN(count - i, QGEMM_WIDE), q->sums + i * KERN_QGEMM_COLUMNS);
        for (uint32_t m = 0; m < q->shape.rows; m++) {
            dense_row_at(y, m, at);
            at[last] = first;
            blocked_gemm_end_floats(&q->end, at, BASE_MIN(q->shape.n - first, (uint32_t)count * KERN_QGEMM_COLUMNS),
                                    q->sums + (uint64_t)m * QGEMM_CHUNK * KERN_QGEMM_COLUMNS, q->end_row);
        }
    }
}

static inline void qgemm_init(struct qgemm *q, const struct kern_call *call, blocked_gemm_end_fn *end_row)
{
    *q = (struct qgemm){ .call = call, .end_row = end_row };
    qgemm_shape_init(call->op, &q->shape);
    q->sums = call->worker_scratch;
    q->a = (float *)((char *)call->worker_scratch + q->shape.a);
    blocked_gemm_end_init(call, (char *)call->worker_scratch + q->shape.epilogue, NULL, &q->end);
    blocked_gemm_end_in_steps(&q->end);
    qgemm_load(q);
}

#endif
