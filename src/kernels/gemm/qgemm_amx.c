/* SPDX-License-Identifier: Apache-2.0 */
/* Many rows times quantised weights by AMX, if half precision is allowed (struct qgemm_amx_shape). */
#include "kernels/core/isa.h"
#include "kernels/gemm/amx.h"
#include "kernels/gemm/blocked_gemm.h"
#include "kernels/gemm/qgemm_tile.h"
#include "kernels/row/row.h"

enum { COLUMNS = QGEMM_AMX_PANELS * KERN_QGEMM_COLUMNS, BLOCK_ROWS = 2 * AMX_ROWS, PACK_HALVES = 2 };

struct qgemm_amx {
    const struct kern_call *call;
    struct qgemm_shape shape;
    struct qgemm_amx_shape amx;
    uint16_t *a, *part; /* [rows][step]; [packs][COLUMNS][PACK_HALVES] */
    float *sums;        /* [rows][COLUMNS] */
    struct blocked_gemm_end end;
    uint64_t first_row;
    uint32_t rows, panel, panels; /* of this unit */
};

/* ---- X ---- */

static void round_row(const float *in, uint32_t count, uint16_t *out)
{
    for (uint32_t i = 0; i < count; i += 16)
        _mm256_storeu_si256((__m256i *)(out + i), (__m256i)_mm512_cvtneps_pbh(_mm512_loadu_ps(in + i)));
}

static void load_rows(struct qgemm_amx *q, uint64_t block)
{
    const struct kern_view *x = &q->call->op->tensors[0];
    const struct qgemm_shape *s = &q->shape;
    float *line = (float *)((char *)q->call->worker_scratch + q->amx.line);
    uint32_t at[KERN_RANK_MAX], last = x->rank - 1;
    const int64_t step = s->k > 1 ? x->strides[last] : 0;
    const uint32_t together = s->depth == s->block ? s->groups : 1; /* no zeros between groups */
    q->first_row = block * q->amx.block_rows;
    q->rows = (uint32_t)BASE_MIN(s->rows - q->first_row, q->amx.block_rows);
    memset(line, 0, q->amx.depth * sizeof(*line));
    for (uint32_t m = 0; m < q->rows; m++) {
        dense_row_at(x, q->first_row + m, at);
        const int64_t from = dense_offset(x, at, last);
        for (uint32_t g = 0; g < s->groups; g += together) {
            const uint32_t begin = g * s->block, count = BASE_MIN(together * s->block, s->k - begin);
            dense_load_row(q->call->data[0], from + begin * step, step, x->type, count, line + (uint64_t)g * s->depth);
        }
        round_row(line, q->amx.depth, q->a + (uint64_t)m * q->amx.step);
    }
}

/* ---- weights ---- */

/* Eight rows of one panel and group: four packs. */
DENSE_INLINE void expand_eight(const uint8_t *codes, bool nibbles, vec scale, vec zero, uint16_t *out)
{
    const __m512i order = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6,
                                           21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
#pragma GCC unroll 4
    for (uint32_t i = 0; i < 8; i += PACK_HALVES, out += COLUMNS * PACK_HALVES) {
        const uint8_t *words = codes + (nibbles ? 0 : i / 4 * 64);
        const vec low = (qgemm_decode(words, nibbles ? i : i % 4, nibbles) - zero) * scale;
        const vec high = (qgemm_decode(words, nibbles ? i + 1 : i % 4 + 1, nibbles) - zero) * scale;
        _mm512_storeu_si512(out, _mm512_permutexvar_epi16(order, (__m512i)_mm512_cvtne2ps_pbh(high, low)));
    }
}

DENSE_INLINE void expand_panel(const struct qgemm_amx *q, bool nibbles, uint64_t panel, uint32_t begin, uint32_t end,
                               uint16_t *out)
{
    const struct qgemm_shape *s = &q->shape;
    const struct kern_call *call = q->call;
    const uint32_t bytes = nibbles ? 64 : 128; /* of eight rows */
    for (uint32_t row = begin; row < end;) {
        const uint64_t group = panel * s->groups + row / s->depth, at = group * KERN_QGEMM_COLUMNS;
        const uint32_t in_group = row % s->depth, count = BASE_MIN(s->depth - in_group, end - row);
        const uint8_t *codes = (const uint8_t *)call->data[1] + group * s->group_bytes + in_group / 8 * bytes;
        const vec scale = vec_load_of(call->op->tensors[2].type, call->data[2], (int64_t)at);
        const vec zero = call->op->u.qgemm.has_zero ? qgemm_bytes((const uint8_t *)call->data[3] + at) : vec_set(0);
        for (uint32_t k = 0; k < count; k += 8, codes += bytes, out += 4 * COLUMNS * PACK_HALVES) {
            __builtin_prefetch(codes + DENSE_AHEAD);
            if (!nibbles)
                __builtin_prefetch(codes + DENSE_AHEAD + 64);
            expand_eight(codes, nibbles, scale, zero, out);
        }
        row += count;
    }
}

/* Rows `begin` to `end` of the unit's panels; zeros where the last tile has fewer. */
static void expand_part(const struct qgemm_amx *q, uint32_t begin, uint32_t end)
{
    const uint32_t all = (uint32_t)q->shape.a_floats, there = BASE_MIN(end, all);
    for (uint32_t i = 0; i < q->panels; i++) {
        uint16_t *out = q->part + i * KERN_QGEMM_COLUMNS * PACK_HALVES;
        if (q->shape.nibbles)
            expand_panel(q, true, q->panel + i, begin, there, out);
        else
            expand_panel(q, false, q->panel + i, begin, there, out);
    }
    if (there < end)
        memset(q->part + (uint64_t)(there - begin) * COLUMNS, 0, (uint64_t)(end - there) * COLUMNS * sizeof(*q->part));
}

/* ---- work ---- */

static void multiply(const struct qgemm_amx *q)
{
    static const int64_t taps[] = { 0 };
    const uint32_t depth = q->amx.depth;
    for (uint32_t k0 = 0; k0 < depth; k0 += QGEMM_AMX_DEPTH) {
        const uint32_t end = BASE_MIN(k0 + QGEMM_AMX_DEPTH, depth);
        expand_part(q, k0, end);
        for (uint32_t m = 0; m < q->rows; m += BLOCK_ROWS) {
            const struct amx_block block = { .a = (const char *)(q->a + (uint64_t)m * q->amx.step + k0),
                                             .a_step = q->amx.step * (int64_t)sizeof(uint16_t),
                                             .taps = taps,
                                             .tap_count = 1,
                                             .run = (end - k0) * (int64_t)sizeof(uint16_t),
                                             .b = (const char *)q->part,
                                             .b_step = COLUMNS * PACK_HALVES * sizeof(uint16_t),
                                             .add = k0 > 0,
                                             .sums = (char *)(q->sums + (uint64_t)m * COLUMNS),
                                             .sums_step = COLUMNS * sizeof(float) };
            amx_multiply(AMX_BF16, &block, BASE_MIN(q->rows - m, BLOCK_ROWS), q->panels * KERN_QGEMM_COLUMNS);
        }
    }
}

static void finish(const struct qgemm_amx *q)
{
    const struct kern_op *op = q->call->op;
    const struct kern_view *y = &op->tensors[op->input_count];
    uint32_t at[KERN_RANK_MAX], column = q->panel * KERN_QGEMM_COLUMNS;
    const uint32_t count = BASE_MIN(q->shape.n - column, q->panels * KERN_QGEMM_COLUMNS);
    for (uint32_t m = 0; m < q->rows; m++) {
        dense_row_at(y, q->first_row + m, at);
        at[y->rank - 1] = column;
        blocked_gemm_end_floats(&q->end, at, count, q->sums + (uint64_t)m * COLUMNS, blocked_gemm_end_row_avx512);
    }
}

void kern_qgemm_amx_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    struct qgemm_amx q = { .call = call };
    uint64_t loaded = UINT64_MAX;
    qgemm_shape_init(call->op, &q.shape);
    qgemm_amx_shape_init(call->op, &q.shape, &q.amx);
    q.a = (uint16_t *)((char *)call->worker_scratch + q.amx.a);
    q.part = (uint16_t *)((char *)call->worker_scratch + q.amx.part);
    q.sums = (float *)((char *)call->worker_scratch + q.amx.sums);
    blocked_gemm_end_init(call, (char *)call->worker_scratch + q.amx.epilogue, NULL, &q.end);
    blocked_gemm_end_in_steps(&q.end);
    amx_begin();
    for (uint64_t unit = begin; unit < end; unit++) {
        const uint64_t block = unit / q.amx.units;
        if (block != loaded)
            load_rows(&q, block);
        loaded = block;
        q.panel = (uint32_t)(unit % q.amx.units) * QGEMM_AMX_PANELS;
        q.panels = BASE_MIN(q.shape.panels - q.panel, QGEMM_AMX_PANELS);
        multiply(&q);
        finish(&q);
    }
    amx_end();
}
