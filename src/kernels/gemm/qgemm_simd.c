/* SPDX-License-Identifier: Apache-2.0 */
/* The GEMMs of qgemm.h: few rows, and many. */
#include "kernels/core/isa.h"
#include "kernels/gemm/qgemm_tile.h"

static void qgemm_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    struct qgemm q;
    qgemm_init(&q, call, KERN_ISA_TABLE(blocked_gemm_end_row_));
    qgemm_panels(&q, begin, end, qgemm_panel);
}

/* ---- many rows: parts of three panels are converted to floats in the second-level cache for all rows ---- */

#define MANY_COLUMNS (QGEMM_MANY_PANELS * KERN_QGEMM_COLUMNS)
#define MANY_PANELS  (GEMM_TILE_COLUMNS / KERN_QGEMM_COLUMNS) /* of a tile */
_Static_assert(MANY_COLUMNS % GEMM_TILE_COLUMNS == 0, "whole tiles in a unit");

/* The start of a part: a row of a group, a multiple of 8. */
struct qgemm_place {
    uint32_t group, row;
};

struct qgemm_many {
    const struct kern_call *call;
    struct qgemm_shape shape;
    struct qgemm_many_shape many;
    const void **a; /* the rows of A, in FLOAT32 */
    float *part;    /* [tiles][rows][columns of a tile] */
    float *sums;    /* [rows][columns of a unit] */
    struct blocked_gemm_end end;
    uint64_t first_row;
    uint32_t rows, panel, panels; /* of this unit */
};

/* `count` rows of one group, padded to a multiple of 8. */
DENSE_INLINE void many_expand_rows(const uint8_t *codes, bool nibbles, const vec *scales, const vec *zeros,
                                   uint32_t count, float *out)
{
    for (uint32_t k = 0; k < count; k += 8, codes += nibbles ? 64 : 128)
#pragma GCC unroll 8
        for (uint32_t i = 0; i < 8; i++, out += GEMM_TILE_COLUMNS)
            for (uint32_t v = 0; v < QGEMM_VECS; v++) {
                vec b = qgemm_decode(codes + v * VEC * 4 + (nibbles ? 0 : i / 4 * 64), nibbles ? i : i % 4, nibbles);
                vec_store(out + v * VEC, (b - zeros[v]) * scales[v]);
            }
}

/* Rows of one panel from *place on, at most those that exist and many.depth; *place is then after them. */
DENSE_INLINE uint32_t many_expand_panel(const struct qgemm_many *q, bool nibbles, uint32_t panel,
                                        struct qgemm_place *place, float *out)
{
    const struct qgemm_shape *s = &q->shape;
    const struct kern_call *call = q->call;
    uint32_t done = 0;
    while (done < q->many.depth && place->group < s->groups) {
        uint64_t group = (uint64_t)panel * s->groups + place->group, at = group * KERN_QGEMM_COLUMNS;
        uint32_t left = BASE_MIN(s->block, s->k - place->group * s->block) - place->row, count = q->many.depth - done;
        const uint8_t *codes = (const uint8_t *)call->data[1] + group * s->group_bytes +
                               (uint64_t)place->row * KERN_QGEMM_COLUMNS / (nibbles ? 2 : 1);
        vec scales[QGEMM_VECS], zeros[QGEMM_VECS];
        count = count < left ? count / 8 * 8 : left;
        if (!count)
            break;
        for (uint32_t v = 0; v < QGEMM_VECS; v++) {
            scales[v] = vec_load_of(call->op->tensors[2].type, call->data[2], (int64_t)at + v * VEC);
            zeros[v] =
                call->op->u.qgemm.has_zero ? qgemm_bytes((const uint8_t *)call->data[3] + at + v * VEC) : vec_set(0);
        }
        many_expand_rows(codes, nibbles, scales, zeros, count, out + done * GEMM_TILE_COLUMNS);
        done += count;
        *place = count < left ? (struct qgemm_place){ place->group, place->row + count }
                              : (struct qgemm_place){ place->group + 1, 0 };
    }
    return done;
}

/* The unit's panels; advances *place. Returns the rows. */
static uint32_t many_expand_part(const struct qgemm_many *q, struct qgemm_place *place)
{
    struct qgemm_place from = *place;
    uint32_t depth = 0;
    for (uint32_t i = 0; i < q->panels; i++) {
        float *out = q->part + (uint64_t)(i / MANY_PANELS) * QGEMM_MANY_PART * GEMM_TILE_COLUMNS +
                     i % MANY_PANELS * KERN_QGEMM_COLUMNS;
        *place = from;
        depth = q->shape.nibbles ? many_expand_panel(q, true, q->panel + i, place, out)
                                 : many_expand_panel(q, false, q->panel + i, place, out);
    }
    return depth;
}

/* The codes of the next part are prefetched meanwhile: for each tile of rows a share of each panel's. */
static void many_fetch(const struct qgemm_many *q, const struct qgemm_place *next, uint64_t from, uint64_t bytes)
{
    const struct qgemm_shape *s = &q->shape;
    for (uint32_t i = 0; i < q->panels; i++) {
        const uint8_t *codes = (const uint8_t *)q->call->data[1] +
                               ((uint64_t)(q->panel + i) * s->groups + next->group) * s->group_bytes +
                               (uint64_t)next->row * KERN_QGEMM_COLUMNS / (s->nibbles ? 2 : 1);
        for (uint64_t at = from; at < from + bytes; at += 64)
            __builtin_prefetch(codes + at, 0, 2);
    }
}

static void many_multiply(const struct qgemm_many *q)
{
    const uint32_t tiles = (q->rows + GEMM_TILE_ROWS - 1) / GEMM_TILE_ROWS, step = (q->rows + tiles - 1) / tiles;
    const uint64_t bytes = (uint64_t)q->many.depth * KERN_QGEMM_COLUMNS / (q->shape.nibbles ? 2 : 1);
    const uint64_t share = base_align_up((bytes + tiles - 1) / tiles, 64);
    struct qgemm_place place = { 0 };
    for (uint32_t k0 = 0, depth; k0 < q->shape.k; k0 += depth) {
        struct gemm_tile_part part = { .add = k0 > 0, .across = MANY_COLUMNS };
        uint64_t fetched = 0;
        part.depth = depth = many_expand_part(q, &place);
        for (uint32_t m = 0; m < q->rows; m += step) {
            many_fetch(q, &place, fetched, share);
            fetched += share;
            for (uint32_t t = 0; t * MANY_PANELS < q->panels; t++) {
                part.b = (const char *)(q->part + (uint64_t)t * QGEMM_MANY_PART * GEMM_TILE_COLUMNS);
                gemm_tile_rows(DML_TENSOR_DATA_TYPE_FLOAT32, BASE_MIN(q->rows - m, step), &part, q->a + m, k0,
                               q->sums + m * MANY_COLUMNS + t * GEMM_TILE_COLUMNS, NULL);
            }
        }
    }
}

static void many_load_rows(struct qgemm_many *q, uint64_t block)
{
    float *floats = (float *)((char *)q->call->worker_scratch + q->many.a);
    q->first_row = block * q->many.block_rows;
    q->rows = (uint32_t)BASE_MIN(q->shape.rows - q->first_row, q->many.block_rows);
    gemm_tile_load(q->call, q->first_row, q->rows, q->shape.k, q->a, q->many.direct ? NULL : floats, q->shape.k);
}

static void many_finish(const struct qgemm_many *q)
{
    const struct kern_view *y = &q->call->op->tensors[q->call->op->input_count];
    uint32_t at[KERN_RANK_MAX], column = q->panel * KERN_QGEMM_COLUMNS;
    uint32_t count = BASE_MIN(q->shape.n - column, q->panels * KERN_QGEMM_COLUMNS);
    for (uint32_t m = 0; m < q->rows; m++) {
        dense_row_at(y, q->first_row + m, at);
        at[y->rank - 1] = column;
        blocked_gemm_end_floats(&q->end, at, count, q->sums + m * MANY_COLUMNS, KERN_ISA_TABLE(blocked_gemm_end_row_));
    }
}

static void qgemm_many_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    struct qgemm_many q = { .call = call };
    uint64_t loaded = UINT64_MAX;
    qgemm_shape_init(call->op, &q.shape);
    qgemm_many_shape_init(call->op, &q.shape, &q.many);
    q.a = call->worker_scratch;
    q.part = (float *)((char *)call->worker_scratch + q.many.part);
    q.sums = (float *)((char *)call->worker_scratch + q.many.sums);
    memset(q.part, 0, (uint64_t)QGEMM_MANY_PART * MANY_COLUMNS * sizeof(*q.part)); /* panels that the last unit lacks */
    blocked_gemm_end_init(call, (char *)call->worker_scratch + q.many.epilogue, NULL, &q.end);
    blocked_gemm_end_in_steps(&q.end);
    for (uint64_t unit = begin; unit < end; unit++) {
        uint64_t block = unit / q.many.units;
        if (block != loaded)
            many_load_rows(&q, block);
        loaded = block;
        q.panel = (uint32_t)(unit % q.many.units) * QGEMM_MANY_PANELS;
        q.panels = BASE_MIN(q.shape.panels - q.panel, QGEMM_MANY_PANELS);
        many_multiply(&q);
        many_finish(&q);
    }
}

KERN_ISA_RUN(qgemm_float, qgemm_run)
KERN_ISA_RUN(qgemm_many, qgemm_many_run)
