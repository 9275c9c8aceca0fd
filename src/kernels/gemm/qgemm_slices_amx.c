/* SPDX-License-Identifier: Apache-2.0 */
/* Many rows times quantised weights by AMX in the accuracy of FLOAT32. Codes minus their zero point are exact BFLOAT16
 * numbers, and an element of X is the sum of three slices of 8 bits each, truncated one after another. So all products
 * are exact, sums are those of FLOAT32, and a group's sums are multiplied by their scales once. Rows of very small
 * numbers are scaled by a power of two, since AMX flushes denormal numbers. */
#include "kernels/core/isa.h"
#include "kernels/gemm/amx.h"
#include "kernels/gemm/blocked_gemm.h"
#include "kernels/gemm/qgemm_tile.h"
#include "kernels/row/row.h"

#include "base/parallel.h"

#include <math.h>

enum { SLICES = 3, COLUMNS = QGEMM_SLICES_COLUMNS, BLOCK = 2 * AMX_ROWS, PACK_HALVES = 2 };
enum { DEPTH = AMX_PACKS * PACK_HALVES, TILE = AMX_ROWS * DEPTH }; /* of a tile of A; its elements */

#define SMALL   0x1p-60f /* rows with a smaller largest element are scaled */
#define ENLARGE 0x1p64f

struct slices {
    const struct kern_call *call;
    struct qgemm_shape shape;
    struct qgemm_slices_shape to;
    uint16_t *a;    /* [tiles of rows][tiles of depth][SLICES][AMX_ROWS][DEPTH] */
    float *factors; /* of each row's results */
    uint64_t first_row;
    uint32_t rows; /* of this block */
    /* of a worker */
    uint16_t *part; /* [sets of COLUMNS][packs][COLUMNS][PACK_HALVES] */
    float *tiles;   /* [runs][BLOCK][BLOCK] */
    float *scales;  /* [runs][columns] */
    float *sums;    /* [rows][columns] */
    float *line;    /* a row of X */
    struct blocked_gemm_end end;
    uint32_t from, to_row, panel, panels; /* rows and columns of a unit */
};

static void worker_init(struct slices *q, const struct slices *job, unsigned worker)
{
    *q = *job;
    char *scratch = (char *)q->call->scratch + q->to.worker + worker * q->to.worker_bytes;
    q->part = (uint16_t *)(scratch + q->to.part);
    q->tiles = (float *)(scratch + q->to.tiles);
    q->scales = (float *)(scratch + q->to.scales);
    q->sums = (float *)(scratch + q->to.sums);
    q->line = (float *)(scratch + q->to.line);
    blocked_gemm_end_init(q->call, scratch + q->to.epilogue, NULL, &q->end);
    blocked_gemm_end_in_steps(&q->end);
}

/* ---- X ---- */

static void slice_row(const struct slices *q, uint32_t m)
{
    const __m512i high = _mm512_set1_epi32((int32_t)0xffff0000);
    const __m512 large = _mm512_set1_ps(INFINITY);
    uint16_t *out = q->a + (uint64_t)(m / AMX_ROWS) * q->to.row_tile + m % AMX_ROWS * DEPTH;
    vec most = vec_set(0);
    for (uint32_t i = 0; i < q->to.depth; i += VEC)
        most = vec_max(_mm512_abs_ps(vec_load(q->line + i)), most);
    const bool small = vec_top(most) < SMALL;
    const __m512 by = _mm512_set1_ps(small ? ENLARGE : 1);
    q->factors[m] = small ? 1 / ENLARGE : 1;
    for (uint32_t i = 0; i < q->to.depth; i += 16) {
        uint16_t *to = out + (uint64_t)(i / DEPTH) * SLICES * TILE + i % DEPTH;
        __m512 left = _mm512_loadu_ps(q->line + i) * by;
        const __mmask16 finite = _mm512_cmp_ps_mask(_mm512_abs_ps(left), large, _CMP_LT_OQ);
        const __mmask16 nan = _mm512_cmp_ps_mask(left, left, _CMP_UNORD_Q);
        /* The bits that make a number NaN may be in the low half. */
        left = _mm512_mask_blend_ps(nan, left, _mm512_set1_ps(NAN));
        for (uint32_t s = 0; s < SLICES; s++) {
            const __m512i top = _mm512_and_si512(_mm512_castps_si512(left), high);
            _mm256_storeu_si256((__m256i *)(to + s * TILE), _mm512_cvtepi32_epi16(_mm512_srli_epi32(top, 16)));
            left = _mm512_maskz_sub_ps(finite, left, _mm512_castsi512_ps(top));
        }
    }
}

static void slice_rows(void *context, size_t begin, size_t end, unsigned worker)
{
    struct slices own, *q = &own;
    worker_init(q, context, worker);
    const struct kern_view *x = &q->call->op->tensors[0];
    const struct qgemm_shape *s = &q->shape;
    uint32_t at[KERN_RANK_MAX], last = x->rank - 1;
    const int64_t step = s->k > 1 ? x->strides[last] : 0;
    const uint32_t together = q->to.group == s->block ? s->groups : 1; /* no zeros between groups */
    memset(q->line, 0, q->to.depth * sizeof(*q->line));
    for (uint32_t m = (uint32_t)begin; m < end; m++) {
        dense_row_at(x, q->first_row + m, at);
        const int64_t from = dense_offset(x, at, last);
        for (uint32_t g = 0; g < s->groups; g += together) {
            const uint32_t first = g * s->block, count = BASE_MIN(together * s->block, s->k - first);
            dense_load_row(q->call->data[0], from + first * step, step, x->type, count,
                           q->line + (uint64_t)g * q->to.group);
        }
        slice_row(q, m);
    }
}

/* ---- weights ---- */

/* Eight rows of one panel and group: four packs. */
DENSE_INLINE void expand_eight(const uint8_t *codes, bool nibbles, vec zero, uint16_t *out)
{
#pragma GCC unroll 4
    for (uint32_t i = 0; i < 8; i += PACK_HALVES, out += COLUMNS * PACK_HALVES) {
        const uint8_t *words = codes + (nibbles ? 0 : i / 4 * 64);
        const __m512i low = (__m512i)(qgemm_decode(words, nibbles ? i : i % 4, nibbles) - zero);
        const __m512i high = (__m512i)(qgemm_decode(words, nibbles ? i + 1 : i % 4 + 1, nibbles) - zero);
        _mm512_storeu_si512(out, _mm512_or_si512(_mm512_srli_epi32(low, 16), high)); /* their low halves are zeros */
    }
}

/* Rows of a group from `from` on, those of the run; padded with zeros after the group's last. */
DENSE_INLINE void expand_run(const struct slices *q, bool nibbles, uint32_t panel, uint32_t group, uint32_t from,
                             uint32_t count, uint16_t *out)
{
    const struct qgemm_shape *s = &q->shape;
    const struct kern_call *call = q->call;
    const uint32_t bytes = nibbles ? 64 : 128, there = from < s->depth ? BASE_MIN(count, s->depth - from) : 0;
    const uint64_t at = (uint64_t)panel * s->groups + group;
    const uint8_t *codes = (const uint8_t *)call->data[1] + at * s->group_bytes + from / 8 * bytes;
    const vec zero =
        call->op->u.qgemm.has_zero ? qgemm_bytes((const uint8_t *)call->data[3] + at * KERN_QGEMM_COLUMNS) : vec_set(0);
    for (uint32_t k = 0; k < there; k += 8, codes += bytes, out += 4 * COLUMNS * PACK_HALVES) {
        __builtin_prefetch(codes + DENSE_AHEAD);
        if (!nibbles)
            __builtin_prefetch(codes + DENSE_AHEAD + 64);
        expand_eight(codes, nibbles, zero, out);
    }
    for (uint32_t k = there; k < count; k += PACK_HALVES, out += COLUMNS * PACK_HALVES)
        _mm512_storeu_si512(out, _mm512_setzero_si512());
}

/* Rows of codes in `part`: a number of runs, each of one group. */
struct part {
    uint32_t k0, runs, run;
};

static void expand_part(const struct slices *q, struct part p)
{
    const struct kern_view *scales = &q->call->op->tensors[2];
    for (uint32_t i = 0; i < q->panels; i++) {
        uint16_t *out = q->part + (uint64_t)(i / QGEMM_AMX_PANELS) * QGEMM_SLICES_DEPTH * COLUMNS +
                        i % QGEMM_AMX_PANELS * KERN_QGEMM_COLUMNS * PACK_HALVES;
        for (uint32_t r = 0; r < p.runs; r++, out += p.run * COLUMNS) {
            const uint32_t k = p.k0 + r * p.run, group = k / q->to.group, from = k % q->to.group;
            const uint64_t at = ((uint64_t)(q->panel + i) * q->shape.groups + group) * KERN_QGEMM_COLUMNS;
            vec_store(q->scales + r * q->to.columns + i * KERN_QGEMM_COLUMNS,
                      vec_load_of(scales->type, q->call->data[2], (int64_t)at));
            if (q->shape.nibbles)
                expand_run(q, true, q->panel + i, group, from, p.run, out);
            else
                expand_run(q, false, q->panel + i, group, from, p.run, out);
        }
    }
}

/* ---- work ---- */

/* A run of up to 32 rows of X and 32 columns: each tile of codes is multiplied with the slices from the smallest on. */
DENSE_INLINE void multiply_run(uint32_t row_tiles, uint32_t column_tiles, const struct slices *q, const uint16_t *a,
                               const uint16_t *b, uint32_t run, float *out)
{
    const int64_t a_step = DEPTH * sizeof(*a), b_step = COLUMNS * PACK_HALVES * sizeof(*b);
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    for (uint32_t k = 0; k < run; k += DEPTH, a += SLICES * TILE, b += DEPTH * COLUMNS) {
        _tile_loadd(6, b, b_step);
        if (column_tiles > 1)
            _tile_loadd(7, b + AMX_ROWS * PACK_HALVES, b_step);
#pragma GCC unroll 3
        for (uint32_t s = SLICES; s-- > 0;) {
            _tile_loadd(4, a + s * TILE, a_step);
            _tile_dpbf16ps(0, 4, 6);
            if (column_tiles > 1)
                _tile_dpbf16ps(1, 4, 7);
            if (row_tiles > 1) {
                _tile_loadd(5, a + s * TILE + q->to.row_tile, a_step);
                _tile_dpbf16ps(2, 5, 6);
            }
            if (row_tiles > 1 && column_tiles > 1)
                _tile_dpbf16ps(3, 5, 7);
        }
    }
    _tile_stored(0, out, BLOCK * sizeof(*out));
    if (column_tiles > 1)
        _tile_stored(1, out + AMX_ROWS, BLOCK * sizeof(*out));
    if (row_tiles > 1)
        _tile_stored(2, out + AMX_ROWS * BLOCK, BLOCK * sizeof(*out));
    if (row_tiles > 1 && column_tiles > 1)
        _tile_stored(3, out + AMX_ROWS * BLOCK + AMX_ROWS, BLOCK * sizeof(*out));
}

/* sums (+)= tiles * scales */
DENSE_INLINE void add_runs(uint32_t vecs, const struct slices *q, uint32_t m, uint32_t rows, uint32_t column,
                           struct part p)
{
    for (uint32_t r = 0; r < rows; r++) {
        float *sums = q->sums + (uint64_t)(m - q->from + r) * q->to.columns + column;
        const float *tile = q->tiles + r * BLOCK, *scale = q->scales + column;
        vec total[2];
        for (uint32_t v = 0; v < vecs; v++)
            total[v] = p.k0 ? vec_load(sums + v * VEC) : vec_set(0);
        for (uint32_t i = 0; i < p.runs; i++, tile += BLOCK * BLOCK, scale += q->to.columns)
            for (uint32_t v = 0; v < vecs; v++)
                total[v] = vec_fma(vec_load(tile + v * VEC), vec_load(scale + v * VEC), total[v]);
        for (uint32_t v = 0; v < vecs; v++)
            vec_store(sums + v * VEC, total[v]);
    }
}

DENSE_INLINE void multiply_block(uint32_t row_tiles, uint32_t column_tiles, const struct slices *q, uint32_t m,
                                 uint32_t column, struct part p)
{
    const uint16_t *a = q->a + m / AMX_ROWS * q->to.row_tile + (uint64_t)(p.k0 / DEPTH) * SLICES * TILE;
    const uint16_t *b =
        q->part + (uint64_t)(column / COLUMNS) * QGEMM_SLICES_DEPTH * COLUMNS + column % COLUMNS * PACK_HALVES;
    /* The intrinsics do not tell the compiler that they read and write memory. */
    __asm__ volatile("" : : : "memory");
    for (uint32_t i = 0, k = 0; i < p.runs; i++, k += p.run)
        multiply_run(row_tiles, column_tiles, q, a + (uint64_t)(k / DEPTH) * SLICES * TILE, b + (uint64_t)k * COLUMNS,
                     p.run, q->tiles + i * BLOCK * BLOCK);
    __asm__ volatile("" : : : "memory");
    add_runs(column_tiles, q, m, BASE_MIN(q->to_row - m, row_tiles * AMX_ROWS), column, p);
}

static void multiply_part(const struct slices *q, struct part p)
{
    const uint32_t columns = q->panels * KERN_QGEMM_COLUMNS;
    for (uint32_t m = q->from; m < q->to_row; m += BLOCK)
        for (uint32_t c = 0; c < columns; c += BLOCK) {
            const bool tall = q->to_row - m > AMX_ROWS, wide = columns - c > AMX_ROWS;
            if (tall && wide)
                multiply_block(2, 2, q, m, c, p);
            else if (tall)
                multiply_block(2, 1, q, m, c, p);
            else if (wide)
                multiply_block(1, 2, q, m, c, p);
            else
                multiply_block(1, 1, q, m, c, p);
        }
}

static void multiply(const struct slices *q)
{
    struct part p = { 0 };
    for (; p.k0 < q->to.depth; p.k0 += p.runs * p.run) {
        /* Whole groups, or a part of one. */
        p.run = BASE_MIN(q->to.group - p.k0 % q->to.group, QGEMM_SLICES_DEPTH);
        p.runs = p.run < q->to.group ? 1 : BASE_MIN(q->to.depth - p.k0, QGEMM_SLICES_DEPTH) / p.run;
        expand_part(q, p);
        multiply_part(q, p);
    }
}

static void finish(const struct slices *q)
{
    const struct kern_op *op = q->call->op;
    const struct kern_view *y = &op->tensors[op->input_count];
    uint32_t at[KERN_RANK_MAX], column = q->panel * KERN_QGEMM_COLUMNS;
    const uint32_t count = BASE_MIN(q->shape.n - column, q->panels * KERN_QGEMM_COLUMNS);
    for (uint32_t m = q->from; m < q->to_row; m++) {
        float *sums = q->sums + (uint64_t)(m - q->from) * q->to.columns;
        for (uint32_t c = 0; c < count && q->factors[m] != 1; c++)
            sums[c] *= q->factors[m];
        dense_row_at(y, q->first_row + m, at);
        at[y->rank - 1] = column;
        blocked_gemm_end_floats(&q->end, at, count, sums, blocked_gemm_end_row_avx512);
    }
}

static void multiply_units(void *context, size_t begin, size_t end, unsigned worker)
{
    struct slices q;
    worker_init(&q, context, worker);
    amx_begin();
    for (size_t unit = begin; unit < end; unit++) {
        q.from = (uint32_t)(unit % q.to.parts) * q.to.part_rows;
        q.to_row = BASE_MIN(q.from + q.to.part_rows, q.rows);
        q.panel = (uint32_t)(unit / q.to.parts) * q.to.wide * QGEMM_AMX_PANELS;
        q.panels = BASE_MIN(q.shape.panels - q.panel, q.to.wide * QGEMM_AMX_PANELS);
        if (q.from >= q.to_row) /* the last block has fewer rows */
            continue;
        multiply(&q);
        finish(&q);
    }
    amx_end();
}

void kern_qgemm_slices_amx_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    const uint32_t threads = BASE_MAX(call->op->threads, 1);
    struct slices q = { .call = call };
    qgemm_shape_init(call->op, &q.shape);
    qgemm_slices_shape_init(call->op, &q.shape, threads, &q.to);
    q.a = (uint16_t *)((char *)call->scratch + q.to.a);
    q.factors = (float *)((char *)call->scratch + q.to.factors);
    const uint64_t cost = (uint64_t)q.shape.k * q.to.part_rows * q.to.wide * QGEMM_AMX_PANELS;
    for (uint32_t block = 0; block < q.to.blocks; block++) {
        q.first_row = (uint64_t)block * q.to.block_rows;
        q.rows = (uint32_t)BASE_MIN(q.shape.rows - q.first_row, q.to.block_rows);
        base_parallel_ranges(q.rows, dense_grain(q.shape.k), threads, slice_rows, &q);
        base_parallel_blocks((size_t)q.to.units * q.to.parts, dense_grain(cost), threads, KERN_CALLS, multiply_units,
                             &q);
    }
}
