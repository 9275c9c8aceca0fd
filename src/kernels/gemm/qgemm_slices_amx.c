/* SPDX-License-Identifier: Apache-2.0 */
/* Many rows times quantised weights by AMX in the accuracy of FLOAT32. Codes less their zero point are BFLOAT16 numbers
 * as they are, and an element of X is the sum of three slices of 8 bits each, cut off one after the other. So all
 * products are exact, sums are those of FLOAT32, and a group's meet their scales once. Rows of very small numbers are
 * multiplied by a power of two meanwhile, since AMX takes denormal numbers for zeros. */
#include "kernels/core/isa.h"
#include "kernels/gemm/amx.h"
#include "kernels/gemm/blocked_gemm.h"
#include "kernels/gemm/qgemm_tile.h"

#include <math.h>

enum { SLICES = 3, COLUMNS = QGEMM_AMX_PANELS * KERN_QGEMM_COLUMNS, BLOCK = 2 * AMX_ROWS, PACK_HALVES = 2 };
enum { DEPTH = AMX_PACKS * PACK_HALVES, TILE = AMX_ROWS * DEPTH }; /* of a tile of A; its elements */

#define SMALL   0x1p-60f /* greatest elements of rows below are enlarged */
#define ENLARGE 0x1p64f

struct slices {
    const struct kern_call *call;
    struct qgemm_shape shape;
    struct qgemm_slices_shape to;
    uint16_t *a;           /* [tiles of rows][tiles of depth][SLICES][AMX_ROWS][DEPTH] */
    uint16_t *part;        /* [packs][COLUMNS][PACK_HALVES] */
    float *tiles;          /* [runs][BLOCK][BLOCK] */
    float *scales;         /* [runs][COLUMNS] */
    float *sums;           /* [rows][COLUMNS] */
    float *line, *factors; /* a row of X; of each row's results */
    struct blocked_gemm_end end;
    uint64_t first_row;
    uint32_t rows, panel, panels; /* of this unit */
};

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
        /* What makes a number NaN may be in the low half. */
        left = _mm512_mask_blend_ps(nan, left, _mm512_set1_ps(NAN));
        for (uint32_t s = 0; s < SLICES; s++) {
            const __m512i top = _mm512_and_si512(_mm512_castps_si512(left), high);
            _mm256_storeu_si256((__m256i *)(to + s * TILE), _mm512_cvtepi32_epi16(_mm512_srli_epi32(top, 16)));
            left = _mm512_maskz_sub_ps(finite, left, _mm512_castsi512_ps(top));
        }
    }
}

static void load_rows(struct slices *q, uint64_t block)
{
    const struct kern_view *x = &q->call->op->tensors[0];
    const struct qgemm_shape *s = &q->shape;
    uint32_t at[KERN_RANK_MAX], last = x->rank - 1;
    const int64_t step = s->k > 1 ? x->strides[last] : 0;
    const uint32_t together = q->to.group == s->block ? s->groups : 1; /* no zeros between groups */
    q->first_row = block * q->to.block_rows;
    q->rows = (uint32_t)BASE_MIN(s->rows - q->first_row, q->to.block_rows);
    memset(q->line, 0, q->to.depth * sizeof(*q->line));
    for (uint32_t m = 0; m < q->rows; m++) {
        dense_row_at(x, q->first_row + m, at);
        const int64_t from = dense_offset(x, at, last);
        for (uint32_t g = 0; g < s->groups; g += together) {
            const uint32_t begin = g * s->block, count = BASE_MIN(together * s->block, s->k - begin);
            dense_load_row(q->call->data[0], from + begin * step, step, x->type, count,
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

/* Rows of a group from `from` on, as many as the run has; zeros behind the group's last. */
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

/* The unit's panels from row k0 on, as padded, `runs` runs of `run` rows. */
static void expand_part(const struct slices *q, uint32_t k0, uint32_t runs, uint32_t run)
{
    const struct kern_view *scales = &q->call->op->tensors[2];
    for (uint32_t r = 0; r < runs; r++) {
        const uint32_t group = (k0 + r * run) / q->to.group, from = (k0 + r * run) % q->to.group;
        for (uint32_t i = 0; i < q->panels; i++) {
            const uint64_t at = ((uint64_t)(q->panel + i) * q->shape.groups + group) * KERN_QGEMM_COLUMNS;
            uint16_t *out = q->part + (uint64_t)r * run * COLUMNS + i * KERN_QGEMM_COLUMNS * PACK_HALVES;
            vec_store(q->scales + r * COLUMNS + i * KERN_QGEMM_COLUMNS,
                      vec_load_of(scales->type, q->call->data[2], (int64_t)at));
            if (q->shape.nibbles)
                expand_run(q, true, q->panel + i, group, from, run, out);
            else
                expand_run(q, false, q->panel + i, group, from, run, out);
        }
    }
}

/* ---- work ---- */

/* A run of up to 32 rows of X and 32 columns: each tile of codes meets the slices from the least on. */
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
                           uint32_t runs, bool add)
{
    for (uint32_t r = 0; r < rows; r++) {
        float *sums = q->sums + (uint64_t)(m + r) * COLUMNS + column;
        const float *tile = q->tiles + r * BLOCK, *scale = q->scales + column;
        vec total[2];
        for (uint32_t v = 0; v < vecs; v++)
            total[v] = add ? vec_load(sums + v * VEC) : vec_set(0);
        for (uint32_t i = 0; i < runs; i++, tile += BLOCK * BLOCK, scale += COLUMNS)
            for (uint32_t v = 0; v < vecs; v++)
                total[v] = vec_fma(vec_load(tile + v * VEC), vec_load(scale + v * VEC), total[v]);
        for (uint32_t v = 0; v < vecs; v++)
            vec_store(sums + v * VEC, total[v]);
    }
}

/* Rows of codes that are in `part`: so many runs of one group each. */
struct part {
    uint32_t k0, runs, run;
};

DENSE_INLINE void multiply_block(uint32_t row_tiles, uint32_t column_tiles, const struct slices *q, uint32_t m,
                                 uint32_t column, struct part p)
{
    const uint16_t *a = q->a + m / AMX_ROWS * q->to.row_tile + (uint64_t)(p.k0 / DEPTH) * SLICES * TILE;
    const uint16_t *b = q->part + column * PACK_HALVES;
    /* The intrinsics do not tell the compiler that they read and write memory. */
    __asm__ volatile("" : : : "memory");
    for (uint32_t i = 0, k = 0; i < p.runs; i++, k += p.run)
        multiply_run(row_tiles, column_tiles, q, a + (uint64_t)(k / DEPTH) * SLICES * TILE, b + (uint64_t)k * COLUMNS,
                     p.run, q->tiles + i * BLOCK * BLOCK);
    __asm__ volatile("" : : : "memory");
    add_runs(column_tiles, q, m, BASE_MIN(q->rows - m, row_tiles * AMX_ROWS), column, p.runs, p.k0 > 0);
}

static void multiply(const struct slices *q)
{
    const uint32_t columns = q->panels * KERN_QGEMM_COLUMNS;
    for (uint32_t k0 = 0, count; k0 < q->to.depth; k0 += count) {
        /* Whole groups, or a part of one. */
        const uint32_t left = q->to.group - k0 % q->to.group, run = BASE_MIN(left, QGEMM_SLICES_DEPTH);
        const uint32_t runs = run < q->to.group ? 1 : BASE_MIN(q->to.depth - k0, QGEMM_SLICES_DEPTH) / run;
        const struct part p = { k0, runs, run };
        count = runs * run;
        expand_part(q, k0, runs, run);
        for (uint32_t m = 0; m < q->rows; m += BLOCK)
            for (uint32_t c = 0; c < columns; c += BLOCK) {
                const bool tall = q->rows - m > AMX_ROWS, wide = columns - c > AMX_ROWS;
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
}

static void finish(const struct slices *q)
{
    const struct kern_op *op = q->call->op;
    const struct kern_view *y = &op->tensors[op->input_count];
    uint32_t at[KERN_RANK_MAX], column = q->panel * KERN_QGEMM_COLUMNS;
    const uint32_t count = BASE_MIN(q->shape.n - column, q->panels * KERN_QGEMM_COLUMNS);
    for (uint32_t m = 0; m < q->rows; m++) {
        float *sums = q->sums + (uint64_t)m * COLUMNS;
        for (uint32_t c = 0; c < COLUMNS && q->factors[m] != 1; c++)
            sums[c] *= q->factors[m];
        dense_row_at(y, q->first_row + m, at);
        at[y->rank - 1] = column;
        blocked_gemm_end_floats(&q->end, at, count, sums, blocked_gemm_end_row_avx512);
    }
}

static void init(struct slices *q, const struct kern_call *call)
{
    char *scratch = call->worker_scratch;
    *q = (struct slices){ .call = call };
    qgemm_shape_init(call->op, &q->shape);
    qgemm_slices_shape_init(call->op, &q->shape, &q->to);
    q->a = (uint16_t *)(scratch + q->to.a);
    q->part = (uint16_t *)(scratch + q->to.part);
    q->tiles = (float *)(scratch + q->to.tiles);
    q->scales = (float *)(scratch + q->to.scales);
    q->sums = (float *)(scratch + q->to.sums);
    q->line = (float *)(scratch + q->to.line);
    q->factors = (float *)(scratch + q->to.factors);
    blocked_gemm_end_init(call, scratch + q->to.epilogue, NULL, &q->end);
    blocked_gemm_end_in_steps(&q->end);
}

void kern_qgemm_slices_amx_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    struct slices q;
    uint64_t loaded = UINT64_MAX;
    init(&q, call);
    amx_begin();
    for (uint64_t unit = begin; unit < end; unit++) {
        const uint64_t block = unit / q.to.units;
        if (block != loaded)
            load_rows(&q, block);
        loaded = block;
        q.panel = (uint32_t)(unit % q.to.units) * QGEMM_AMX_PANELS;
        q.panels = BASE_MIN(q.shape.panels - q.panel, QGEMM_AMX_PANELS);
        multiply(&q);
        finish(&q);
    }
    amx_end();
}
