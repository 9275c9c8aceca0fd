/* SPDX-License-Identifier: Apache-2.0 */
/* The GEMM with panels of gemm.h. */
#include "kernels/core/isa.h"
#include "kernels/vec/fmath.h"
#include "kernels/gemm/blocked_gemm.h"
#include "kernels/gemm/gemm.h"
#include "kernels/gemm/ukernel.h"
#include "kernels/row/curve.h"
#include "kernels/row/epilogue_vec.h"

#define PANEL_COLUMNS GEMM_TILE_COLUMNS
#define PANEL_ROWS    GEMM_TILE_ROWS
#define PANEL_VECS    GEMM_TILE_VECS
_Static_assert(PANEL_COLUMNS == KERN_ISA_PASTE(PANEL_COLUMNS_, ISA), "a tile is as wide as a panel");

/* Tiles of rows that share the converted part: each would convert it otherwise. */
#define PANEL_WIDEN_TILES 3
#define PANEL_CACHED      (16 << 10) /* bytes of weights */

struct panel {
    const struct kern_call *call;
    struct panel_shape shape;
    struct panel_finish finish;
    bool direct;                 /* the epilogue is `finish` */
    bool plain;                  /* sums are results */
    bool cached;                 /* all weights stay in the first-level cache */
    struct blocked_gemm_end end; /* otherwise */
    uint32_t rows;               /* of this block */
    uint32_t from, to;           /* rows of it that are computed */
    uint64_t first_row;
    const void **a; /* the rows of A, in FLOAT32 */
    int64_t a_row;  /* elements between them if they are evenly spaced, otherwise 0 */
    const void **y; /* of Y */
    const void **adds[PANEL_ADDS];
    float *sums, *wide;
};

/* ---- the epilogue ---- */

#define PANEL_ALL(value)                                                                                               \
    _Pragma("GCC unroll 3") for (uint32_t c = 0; c < PANEL_COLUMNS; c += VEC)                                          \
    {                                                                                                                  \
        const vec x = vec_load(row + c);                                                                               \
        vec_store(row + c, value);                                                                                     \
    }

static void panel_activate(const struct kern_epilogue_step *step, float *row)
{
    if (kern_is_curve(step->code))
        curve_row(step, PANEL_COLUMNS, row);
    else if (step->code == KERN_MAP_SQRT)
        for (uint32_t c = 0; c < PANEL_COLUMNS; c++)
            row[c] = sqrtf(row[c]);
    else if (step->code == KERN_MAP_DIV) {
        PANEL_ALL(x / vec_set(step->p))
    } else
        KERN_EPILOGUE_STEP(step, PANEL_ALL);
}

/* A vector of results: of a row of the block, from a column on, where `left` columns are left. */
struct panel_place {
    uint32_t row, column, left;
};

/* Tensors [from, to) of the epilogue are added or multiplied. */
DENSE_INLINE vec panel_combine(DML_TENSOR_DATA_TYPE type, const struct panel *p, uint32_t from, uint32_t to,
                               const struct panel_place *at, vec value)
{
    const struct panel_finish *finish = &p->finish;
    for (uint32_t t = from; t < to; t++) {
        const void *data = p->adds[t][at->row];
        const vec other = finish->step[t] ? vec_load_some(type, data, at->column, at->left)
                                          : vec_set((float)dense_load(data, 0, type));
        if (finish->multiplies[t])
            value *= other;
        else
            value = vec_fma(other, vec_set(finish->factor[t]), value);
    }
    return value;
}

/* One row of one panel, whose last columns may not exist. */
DENSE_INLINE void panel_finish_row(DML_TENSOR_DATA_TYPE type, const struct panel *p, uint32_t row, uint32_t column,
                                   uint32_t count, const float *sums)
{
    const struct panel_finish *finish = &p->finish;
    const bool whole = count == PANEL_COLUMNS, direct = whole && type == DML_TENSOR_DATA_TYPE_FLOAT32;
    vec alpha = vec_set(p->call->op->u.gemm.alpha);
    void *const y = (void *)(uintptr_t)p->y[row];
    float values[PANEL_COLUMNS] = { 0 }, *out = direct ? (float *)y + column : values;
    if (finish->transposed)
        out = (float *)(uintptr_t)sums;
    for (uint32_t c = 0; c < count; c += VEC)
        vec_store(out + c, panel_combine(type, p, 0, finish->lead,
                                         &(struct panel_place){ row, column + c, whole ? VEC : count - c },
                                         vec_load(sums + c) * alpha));
    for (uint32_t i = 0; i < finish->code_count; i++)
        panel_activate(&finish->code[i], out);
    for (uint32_t c = 0; finish->lead < finish->count && c < count; c += VEC)
        vec_store(out + c,
                  panel_combine(type, p, finish->lead, finish->count,
                                &(struct panel_place){ row, column + c, whole ? VEC : count - c }, vec_load(out + c)));
    for (uint32_t c = 0; !direct && !finish->transposed && c < count; c += VEC)
        vec_store_some(type, y, column + c, vec_load(values + c), whole ? VEC : count - c);
}

/* Whole rows of sums that are results. */
static void panel_copy_tile(const struct panel *p, uint32_t row, uint32_t rows, uint32_t column, const float *sums)
{
    for (uint32_t m = 0; m < rows; m++)
#pragma GCC unroll 3
        for (uint32_t c = 0; c < PANEL_COLUMNS; c += VEC)
            vec_store((float *)(uintptr_t)p->y[row + m] + column + c, vec_load(sums + m * PANEL_COLUMNS + c));
}

static void panel_finish_tile(const struct panel *p, uint32_t row, uint32_t rows, uint32_t panel, const float *sums)
{
    uint32_t column = panel * PANEL_COLUMNS, count = BASE_MIN(p->shape.n - column, PANEL_COLUMNS);
    if (p->plain && count == PANEL_COLUMNS) {
        panel_copy_tile(p, row, rows, column, sums);
        return;
    }
    for (uint32_t m = 0; m < rows; m++) {
        if (count == PANEL_COLUMNS)
            VEC_BY_TYPE(p->finish.type, panel_finish_row, p, row + m, column, PANEL_COLUMNS, sums + m * PANEL_COLUMNS);
        else
            VEC_BY_TYPE(p->finish.type, panel_finish_row, p, row + m, column, count, sums + m * PANEL_COLUMNS);
    }
}

#define RUN 16 /* rows: a cache line of a column */

/* Results of transposed rows, which replaced the sums. Whole lines: those of one column after another may share a set
 * of the caches. */
static void panel_store_columns(const struct panel *p, uint32_t panel)
{
    const struct kern_op *op = p->call->op;
    const struct kern_view *y = &op->tensors[op->input_count];
    const int64_t step = y->strides[y->rank - 1];
    const uint32_t column = panel * PANEL_COLUMNS, count = BASE_MIN(p->shape.n - column, PANEL_COLUMNS);
    for (uint32_t m = p->from, run; m < p->to; m += run) {
        float *out = (float *)(uintptr_t)p->y[m] + column * step;
        const float *sums = p->sums + m * PANEL_COLUMNS;
        for (run = 1; run < BASE_MIN(p->to - m, RUN) && p->y[m + run] == (const float *)p->y[m] + run;)
            run++;
        for (uint32_t c = 0; run == RUN && c < count; c++)
#pragma GCC unroll 16
            for (uint32_t i = 0; i < RUN; i++)
                out[c * step + i] = sums[i * PANEL_COLUMNS + c];
        for (uint32_t c = 0; run < RUN && c < count; c++)
            for (uint32_t i = 0; i < run; i++)
                out[c * step + i] = sums[i * PANEL_COLUMNS + c];
    }
}

/* By steps, or the general epilogue. */
static void panel_finish_rows(const struct panel *p, uint32_t panel)
{
    const struct kern_op *op = p->call->op;
    const struct kern_view *y = &op->tensors[op->input_count];
    uint32_t at[KERN_RANK_MAX], column = panel * PANEL_COLUMNS, count = BASE_MIN(p->shape.n - column, PANEL_COLUMNS);
    const struct kern_gemm *gemm = &op->u.gemm;
    const bool together = op->epilogue && !p->end.in_steps;
    const bool sums_are_values = gemm->alpha == 1 && (!gemm->has_c || gemm->beta == 0);
    for (uint32_t m = p->from; m < p->to && !(together && sums_are_values); m++) {
        float *sums = p->sums + m * PANEL_COLUMNS;
        dense_row_at(y, p->first_row + m, at);
        at[y->rank - 1] = column;
        if (!p->end.in_steps)
            gemm_scale(p->call, at, count, false, sums);
        if (!together)
            blocked_gemm_end_floats(&p->end, at, count, sums, KERN_ISA_TABLE(blocked_gemm_end_row_));
    }
    if (!together)
        return;
    dense_row_at(y, p->first_row + p->from, at);
    at[y->rank - 1] = column;
    dense_finish_rows(p->call, p->end.scratch, at, p->to - p->from, count, p->sums + p->from * PANEL_COLUMNS,
                      PANEL_COLUMNS);
}

/* ---- blocks of rows, panels ---- */

static int64_t panel_spacing(const struct panel *p)
{
    const int64_t step = p->rows > 1 ? (const float *)p->a[1] - (const float *)p->a[0] : 0;
    for (uint32_t m = 2; m < p->rows; m++)
        if ((const float *)p->a[m] - (const float *)p->a[m - 1] != step)
            return 0;
    return step;
}

static void panel_load_rows(struct panel *p, uint64_t block)
{
    const struct kern_op *op = p->call->op;
    const struct kern_view *y = &op->tensors[op->input_count];
    uint32_t at[KERN_RANK_MAX];
    p->first_row = block * p->shape.block_rows;
    p->rows = (uint32_t)BASE_MIN(p->shape.rows - p->first_row, p->shape.block_rows);
    float *floats = (float *)((char *)p->call->worker_scratch + p->shape.floats);
    gemm_tile_load(p->call, p->first_row, p->rows, p->shape.k, p->a, p->shape.element == 4 ? NULL : floats,
                   p->shape.pitch);
    p->a_row = panel_spacing(p);
    if (!p->direct)
        return;
    dense_row_at(y, p->first_row, at);
    gemm_tile_pointers(y, y, p->call->data[op->input_count], at, p->rows, p->y);
    for (uint32_t t = 0; t < p->finish.count; t++) {
        const uint32_t tensor = p->finish.tensor[t];
        gemm_tile_pointers(y, &op->tensors[tensor], p->call->data[tensor], at, p->rows, p->adds[t]);
    }
}

/* The memory that the epilogue of these rows reads and writes. */
static void panel_fetch_ends(const struct panel *p, uint32_t row, uint32_t rows, uint32_t panel)
{
    const uint64_t column = (uint64_t)panel * PANEL_COLUMNS * p->shape.element;
    for (uint32_t m = row; m < row + rows; m++)
        for (uint32_t i = 0; i < PANEL_COLUMNS * p->shape.element; i += 64) {
            if (!p->finish.transposed)
                __builtin_prefetch((const char *)p->y[m] + column + i, 1, 3);
            for (uint32_t t = 0; t < p->finish.count; t++)
                __builtin_prefetch((const char *)p->adds[t][m] + (column + i) * p->finish.step[t], 0, 3);
        }
}

/* The part's weights as FLOAT32, which many tiles multiply. */
DENSE_INLINE void panel_widen(DML_TENSOR_DATA_TYPE type, const struct panel *p, struct gemm_tile_part *part)
{
    for (uint32_t i = 0; i < part->depth * PANEL_COLUMNS; i += PANEL_COLUMNS)
#pragma GCC unroll 3
        for (uint32_t v = 0; v < PANEL_COLUMNS; v += VEC)
            vec_store(p->wide + i + v, vec_load_of(type, part->b, i + v));
    part->b = (const char *)p->wide;
}

static void panel_part_rows(const struct panel *p, const struct gemm_tile_part *part, DML_TENSOR_DATA_TYPE type,
                            uint32_t k0, uint32_t panel)
{
    const char *next = part->next;
    bool finish = k0 + part->depth == p->shape.k && p->direct;
    for (uint32_t m = p->from; m < p->to; m += PANEL_ROWS) {
        uint32_t rows = BASE_MIN(p->to - m, PANEL_ROWS);
        float *sums = finish && !part->add && !p->finish.transposed
                          ? p->sums
                          : p->sums + m * PANEL_COLUMNS; /* these sums are not needed any more */
        if (finish)
            panel_fetch_ends(p, m, rows, panel);
        VEC_BY_TYPE(type, gemm_tile_rows, rows, part, p->a + m, k0, sums, next);
        next += part->depth / 4 * 64 * part->lines;
        if (finish)
            panel_finish_tile(p, m, rows, panel, sums);
    }
}

#if VEC == 8

/* ---- evenly spaced rows: one pointer for all of a tile's, and the epilogue in registers ---- */

struct panel_tile {
    const struct panel *p;
    const struct gemm_tile_part *part;
    const float *a;
    const char *next;
    uint32_t next_step;
    uint32_t row, column;
    float *sums;
    bool ends; /* in registers, to Y */
};

/* Results of activations are in the first-level cache meanwhile. */
static void panel_tile_activate(const struct panel *p, uint32_t row, uint32_t rows, uint32_t column, float *sums)
{
    const struct panel_finish *finish = &p->finish;
    for (uint32_t i = 0; i < finish->code_count; i++)
        for (uint32_t m = 0; m < rows; m++)
            panel_activate(&finish->code[i], sums + m * PANEL_COLUMNS);
    for (uint32_t m = 0; m < rows; m++)
        for (uint32_t c = 0; c < PANEL_COLUMNS; c += VEC)
            vec_store((float *)(uintptr_t)p->y[row + m] + column + c,
                      panel_combine(DML_TENSOR_DATA_TYPE_FLOAT32, p, finish->lead, finish->count,
                                    &(struct panel_place){ row + m, column + c, VEC },
                                    vec_load(sums + m * PANEL_COLUMNS + c)));
}

DENSE_INLINE void panel_tile_end(uint32_t rows, const struct panel_tile *tile, vec (*sum)[UKERNEL_VECS])
{
    const struct ukernel *t = &(struct ukernel){ .rows = rows, .vecs = PANEL_VECS };
    const struct panel *p = tile->p;
    const struct panel_finish *finish = &p->finish;
    const float alpha = p->call->op->u.gemm.alpha;
    if (alpha != 1)
        UKERNEL_EACH_ROW UKERNEL_EACH_VEC sum[m][v] *= vec_set(alpha);
    for (uint32_t i = 0; i < finish->lead; i++)
        UKERNEL_EACH_ROW UKERNEL_EACH_VEC sum[m][v] =
            panel_combine(DML_TENSOR_DATA_TYPE_FLOAT32, p, i, i + 1,
                          &(struct panel_place){ tile->row + m, tile->column + v * VEC, VEC }, sum[m][v]);
    const bool relu = finish->code_count == 1 && finish->code[0].code == KERN_MAP_RELU && finish->lead == finish->count;
    if (relu)
        UKERNEL_EACH_ROW UKERNEL_EACH_VEC sum[m][v] = vec_max(vec_set(0), sum[m][v]); /* NaN stays */
    if (relu || !finish->code_count) {
        UKERNEL_EACH_ROW UKERNEL_EACH_VEC vec_store((float *)(uintptr_t)p->y[tile->row + m] + tile->column + v * VEC,
                                                    sum[m][v]);
        return;
    }
    UKERNEL_EACH_ROW UKERNEL_EACH_VEC vec_store(tile->sums + m * PANEL_COLUMNS + v * VEC, sum[m][v]);
    panel_tile_activate(p, tile->row, rows, tile->column, tile->sums);
}

DENSE_INLINE void panel_tile_rows(uint32_t rows, const struct panel_tile *tile)
{
    vec sum[UKERNEL_ROWS][UKERNEL_VECS];
    const struct ukernel *t = &(struct ukernel){ .rows = rows,
                                                 .vecs = PANEL_VECS,
                                                 .splits = 1,
                                                 .group = 1,
                                                 .b_type = DML_TENSOR_DATA_TYPE_FLOAT32,
                                                 .depth = tile->part->depth,
                                                 .a = tile->a,
                                                 .a_row = tile->p->a_row,
                                                 .a_step = 1,
                                                 .b = tile->part->b,
                                                 .b_row = PANEL_COLUMNS,
                                                 .next = tile->next,
                                                 .next_lines = 1,
                                                 .next_step = tile->next_step };
    UKERNEL_EACH_ROW UKERNEL_EACH_VEC sum[m][v] =
        tile->part->add ? vec_load(tile->sums + m * PANEL_COLUMNS + v * VEC) : vec_set(0);
    ukernel_multiply(t, sum);
    if (tile->ends)
        panel_tile_end(rows, tile, sum);
    else
        UKERNEL_EACH_ROW UKERNEL_EACH_VEC vec_store(tile->sums + m * PANEL_COLUMNS + v * VEC, sum[m][v]);
}

/* As panel_part_rows, in tiles of about the same height. */
static void panel_part_even(const struct panel *p, const struct gemm_tile_part *part, uint32_t k0, uint32_t panel)
{
    const uint32_t all = p->to - p->from, tiles = (all + PANEL_ROWS - 1) / PANEL_ROWS, column = panel * PANEL_COLUMNS;
    const bool last = k0 + part->depth == p->shape.k && p->direct;
    const bool whole = p->shape.n - column >= PANEL_COLUMNS && p->finish.type == DML_TENSOR_DATA_TYPE_FLOAT32;
    struct panel_tile tile = { .p = p, .part = part, .column = column };
    tile.next_step = part->lines ? (64 + tiles - 1) / tiles : 0;
    tile.ends = last && whole && !p->finish.transposed;
    for (uint32_t i = 0; i < tiles; i++) {
        const uint32_t from = p->from + all * i / tiles, rows = p->from + all * (i + 1) / tiles - from;
        tile.row = from;
        tile.a = (const float *)p->a[from] + k0;
        tile.next = part->next + (uint64_t)i * part->depth * tile.next_step;
        tile.sums = p->sums + from * PANEL_COLUMNS;
        if (last)
            panel_fetch_ends(p, from, rows, panel);
        UKERNEL_BY_COUNT(rows, PANEL_ROWS, panel_tile_rows, &tile)
        if (last && !tile.ends)
            panel_finish_tile(p, from, rows, panel, tile.sums);
    }
}

/* A single tile, which streams the matrix, is faster the other way. */
static bool panel_is_even(const struct panel *p, DML_TENSOR_DATA_TYPE type)
{
    return p->a_row && p->to - p->from > PANEL_ROWS && type == DML_TENSOR_DATA_TYPE_FLOAT32;
}

#else

static bool panel_is_even(const struct panel *p, DML_TENSOR_DATA_TYPE type)
{
    return false;
}

static void panel_part_even(const struct panel *p, const struct gemm_tile_part *part, uint32_t k0, uint32_t panel)
{
}

#endif

static void panel_multiply(const struct panel *p, uint32_t panel)
{
    const uint64_t row = PANEL_COLUMNS * p->shape.element;
    const char *b = (const char *)p->call->data[1] + panel * row * p->shape.k;
    uint32_t tiles = (p->to - p->from + PANEL_ROWS - 1) / PANEL_ROWS;
    uint32_t parts = (p->shape.k + PANEL_DEPTH - 1) / PANEL_DEPTH;
    uint32_t depth = (uint32_t)base_align_up((p->shape.k + parts - 1) / parts, 4);
    struct gemm_tile_part part = { .across = PANEL_COLUMNS,
                                   .lines = (uint32_t)((4 * row + 64 * tiles - 1) / (64 * tiles)) };
    /* A single tile streams: the hardware prefetcher detects it. */
    if (p->cached || (tiles < 2 && p->shape.element == 4))
        part.lines = 0;
    for (uint32_t k0 = 0; k0 < p->shape.k; k0 += depth) {
        part.depth = BASE_MIN(p->shape.k - k0, depth);
        part.add = k0 > 0;
        part.b = b + k0 * row;
        /* A single tile does not reread its inputs. */
        part.next = part.b + (tiles < 2 ? DENSE_AHEAD : part.depth * row);
        const DML_TENSOR_DATA_TYPE type = p->call->op->tensors[1].type;
        const bool widens = p->shape.element == 2 && tiles >= PANEL_WIDEN_TILES;
        if (widens)
            VEC_BY_TYPE(type, panel_widen, p, &part);
        const DML_TENSOR_DATA_TYPE factors = widens ? DML_TENSOR_DATA_TYPE_FLOAT32 : type;
        if (panel_is_even(p, factors))
            panel_part_even(p, &part, k0, panel);
        else
            panel_part_rows(p, &part, factors, k0, panel);
    }
    if (!p->direct)
        panel_finish_rows(p, panel);
    else if (p->finish.transposed)
        panel_store_columns(p, panel);
}

static void panel_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    struct panel p = { .call = call };
    uint64_t loaded = UINT64_MAX;
    panel_shape_init(call->op, PANEL_COLUMNS, &p.shape);
    p.direct = panel_finish_init(call->op, &p.finish);
    p.plain = !p.finish.transposed && !p.finish.count && !p.finish.code_count &&
              p.finish.type == DML_TENSOR_DATA_TYPE_FLOAT32 && call->op->u.gemm.alpha == 1;
    p.cached = (uint64_t)p.shape.panels * PANEL_COLUMNS * p.shape.k * p.shape.element <= PANEL_CACHED;
    p.sums = (float *)((char *)call->worker_scratch + p.shape.sums);
    if (!p.direct) {
        blocked_gemm_end_init(call, (char *)call->worker_scratch + p.shape.epilogue, NULL, &p.end);
        blocked_gemm_end_in_steps(&p.end);
    }
    p.wide = (float *)((char *)call->worker_scratch + p.shape.wide);
    p.a = call->worker_scratch;
    p.y = p.a + p.shape.block_rows;
    for (uint32_t t = 0; t < PANEL_ADDS; t++)
        p.adds[t] = p.a + (2 + t) * p.shape.block_rows;
    while (begin < end) {
        const uint64_t panel = begin / p.shape.parts, stop = BASE_MIN(end, (panel + 1) * p.shape.parts);
        const uint64_t block = panel / p.shape.panels, first = panel * p.shape.parts;
        if (block != loaded)
            panel_load_rows(&p, block);
        loaded = block;
        p.from = (uint32_t)BASE_MIN((begin - first) * p.shape.part_rows, p.rows);
        p.to = (uint32_t)BASE_MIN((stop - first) * p.shape.part_rows, p.rows);
        if (p.from < p.to)
            panel_multiply(&p, (uint32_t)(panel % p.shape.panels));
        begin = stop;
    }
}

KERN_ISA_RUN(gemm_panel, panel_run)
