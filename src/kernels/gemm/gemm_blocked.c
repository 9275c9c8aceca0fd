/* SPDX-License-Identifier: Apache-2.0 */
/* Blocked GEMM: a unit of work is one block of rows by one block of columns of one batch. */
#include "kernels/gemm/gemm.h"
#include "kernels/gemm/blocked_gemm.h"
#include "kernels/row/row.h"

#define BLOCK_ROWS 96
#define DEEP_ROWS  128 /* with isa->deep */
/* With AMX, whose tiles need many rows for each panel: rows of A limited by the second-level cache. */
#define TILES_ROWS   256
#define TILES_BYTES  (1 << 20)
#define BLOCK_COST   16 /* of a block, in addition to its rows */
#define TILES_PANELS 4  /* that are one block if a range has them adjacent and they are packed */

struct gemm_blocks {
    uint32_t rank, m, n;
    uint32_t rows, columns;         /* of a block */
    uint64_t k, packs, panel_bytes; /* a panel of integers starts with the sums of its columns, then column_cross */
    uint64_t header, row_blocks, column_blocks, batches;
    uint64_t a, a_sums, a_cross, b, sums, floats, zeros, epilogue, bytes; /* offsets in the worker's scratch */
    bool packed, wide; /* wide: units of a row block are consecutive, and several may be one block */
};

/* The number of rows of a block that minimises the time of all threads: those of a tile or more. */
static uint32_t rows_for_threads(const struct blocked_gemm_isa *isa, const struct gemm_blocks *g, uint32_t threads)
{
    const uint64_t columns = g->batches * (((uint64_t)g->n + g->columns - 1) / g->columns);
    const uint32_t few = (g->m + g->rows - 1) / g->rows, many = (g->m + isa->rows - 1) / isa->rows;
    uint32_t best = g->rows;
    double least = 1e300;
    for (uint32_t blocks = few; blocks <= BASE_MIN(many, few + 2 * threads); blocks++) {
        const uint32_t rows = (uint32_t)base_align_up((g->m + blocks - 1) / blocks, isa->rows);
        const uint64_t units = columns * ((g->m + rows - 1) / rows);
        const double time = (double)((units + threads - 1) / threads) * (rows + BLOCK_COST);
        best = time < 0.97 * least ? rows : best;
        least = BASE_MIN(least, time);
    }
    return best;
}

/* Columns of a block: fewer if threads would be idle, but whole panels of any width. */
static uint32_t columns_for_threads(const struct gemm_blocks *g, uint32_t threads)
{
    const uint64_t others = g->batches * ((g->m + g->rows - 1) / g->rows);
    const uint64_t wanted = (threads + others - 1) / others;
    const uint64_t columns = base_align_up((g->n + wanted - 1) / wanted, BLOCKED_GEMM_COLUMNS_MAX);
    return (uint32_t)BASE_MIN(columns, g->columns);
}

/* Rows of blocks of about the same height. */
static uint32_t even_rows(uint32_t rows, uint32_t tile)
{
    const uint32_t blocks = BASE_MAX((rows + DEEP_ROWS - 1) / DEEP_ROWS, 1);
    return (uint32_t)base_align_up((rows + blocks - 1) / blocks, tile);
}

static void blocks_init(const struct blocked_gemm_isa *isa, const struct kern_op *op, struct gemm_blocks *g)
{
    const struct kern_view *a = &op->tensors[0], *y = &op->tensors[op->input_count];
    *g = (struct gemm_blocks){ .rank = y->rank, .k = a->sizes[y->rank - 1] };
    g->m = y->sizes[g->rank - 2];
    g->n = y->sizes[g->rank - 1];
    g->batches = dense_rows(y) / g->m;
    g->columns = isa->tiles ? isa->columns : isa->integers ? 256 : 128;
    g->packs = blocked_gemm_packs(isa, g->k);
    g->rows = isa->deep ? even_rows(g->m, isa->rows) : BLOCK_ROWS;
    if (isa->tiles)
        g->rows = (uint32_t)BASE_MIN(BASE_MAX(TILES_BYTES / (g->packs * isa->pack_bytes) / isa->rows, 1) * isa->rows,
                                     TILES_ROWS);
    if (isa->tiles && op->cut)
        g->rows = BASE_MIN(g->rows, op->cut);
    else if (isa->tiles && op->threads > 1)
        g->rows = rows_for_threads(isa, g, op->threads);
    else if (!isa->tiles && op->threads > 2)
        g->columns = columns_for_threads(g, op->threads);
    g->header = isa->integers ? isa->columns * (uint64_t)isa->pack_bytes * (isa->deep ? 2 : 1) : 0;
    g->panel_bytes = g->header + g->packs * isa->columns * isa->pack_bytes;
    g->row_blocks = (g->m + g->rows - 1) / g->rows;
    g->column_blocks = ((uint64_t)g->n + g->columns - 1) / g->columns;
    g->packed = (isa->integers || isa->round) && op->packed_input == 2;
    g->wide = isa->tiles && g->packed;
    const uint32_t most = g->wide ? TILES_PANELS * g->columns : g->columns;
    const uint64_t rows = base_align_up(BASE_MIN(g->m, g->rows), isa->tiles ? isa->rows : 1);
    const uint64_t columns = base_align_up(BASE_MIN(g->n, most), isa->columns);
    g->a = dense_take(&g->bytes, rows * g->packs * isa->pack_bytes, 64);
    g->a_sums = dense_take(&g->bytes, rows * sizeof(int32_t), 64);
    g->a_cross = dense_take(&g->bytes, isa->deep ? rows * sizeof(int32_t) : 0, 64);
    g->b = dense_take(&g->bytes, g->packed ? 0 : columns / isa->columns * g->panel_bytes, 64);
    g->sums = dense_take(&g->bytes, (isa->deep ? rows : isa->rows) * columns * isa->pack_bytes, 64);
    g->floats = dense_take(&g->bytes, columns * sizeof(float), 64);
    g->zeros = dense_take(&g->bytes, 2 * columns * sizeof(int32_t), 64); /* of B, and the sums of its columns */
    g->epilogue = dense_take(&g->bytes, dense_epilogue_bytes(op), 64);
}

/* The dimensions of batches, and one more: batches with the same matrix share its panels. */
static struct kern_view packed_batches(const struct kern_view *b)
{
    struct kern_view result = *b;
    result.rank--;
    for (uint32_t d = 0; d + 2 < b->rank; d++)
        result.sizes[d] = b->strides[d] ? b->sizes[d] : 1;
    return result;
}

static uint64_t panels_of(const struct blocked_gemm_isa *isa, const struct gemm_blocks *g)
{
    return ((uint64_t)g->n + isa->columns - 1) / isa->columns;
}

uint64_t blocked_gemm_plan(const struct blocked_gemm_isa *isa, const struct kern_op *op, struct kern_work *out)
{
    const struct kern_view batches = packed_batches(&op->tensors[1]);
    struct gemm_blocks g;
    blocks_init(isa, op, &g);
    uint64_t cost = g.k * BASE_MIN(g.m, g.rows) * BASE_MIN(g.n, g.columns) / 16;
    *out = (struct kern_work){ .units = g.batches * g.row_blocks * g.column_blocks, .grain = dense_grain(cost) };
    out->worker_scratch_bytes = g.bytes;
    out->cut = g.rows;
    return dense_rows(&batches) * panels_of(isa, &g) * g.panel_bytes;
}

/* ---- B ---- */

/* One column of packs, which are `columns` apart. */
static void panel_column(const struct blocked_gemm_isa *isa, const void *packs, uint64_t count, char *out)
{
    const uint64_t step = (uint64_t)isa->columns * isa->pack_bytes;
    if (isa->pack_bytes == 4)
        for (uint64_t w = 0; w < count; w++)
            memcpy(out + w * step, (const char *)packs + w * 4, 4);
    else
        for (uint64_t w = 0; w < count; w++)
            memcpy(out + w * step, (const char *)packs + w * isa->pack_bytes, isa->pack_bytes);
}

/* Columns in sequence, k contiguous in memory. */
static void panel_deep(const struct blocked_gemm_isa *isa, const struct blocked_gemm_line *from,
                       const struct gemm_blocks *g, uint32_t count, int64_t step, char *panel)
{
    uint64_t packs[64];
    for (uint32_t c = 0; c < isa->columns; c++) {
        char *out = panel + (uint64_t)c * isa->pack_bytes;
        for (uint64_t first = 0; first < g->packs; first += 64) {
            uint64_t n = BASE_MIN(g->packs - first, 64), begin = first * isa->k_pack;
            struct blocked_gemm_line line = *from;
            line.index += c * step + (int64_t)begin;
            memset(packs, 0, n * isa->pack_bytes);
            if (c < count)
                blocked_gemm_row(isa, &line, (uint32_t)BASE_MIN(g->k - begin, n * isa->k_pack), true, packs);
            panel_column(isa, packs, n, out + first * isa->columns * isa->pack_bytes);
        }
    }
}

static void panel_numbers(const struct blocked_gemm_isa *isa, const struct blocked_gemm_line *from,
                          const struct gemm_blocks *g, uint32_t count, int64_t row, char *panel)
{
    for (uint64_t k = 0; k < g->k; k++) {
        char *out = panel + k * isa->columns * isa->pack_bytes;
        struct blocked_gemm_line line = *from;
        line.index += (int64_t)k * row;
        blocked_gemm_load(isa, &line, count, out);
        memset(out + (uint64_t)count * isa->pack_bytes, 0, (uint64_t)(isa->columns - count) * isa->pack_bytes);
    }
}

static void panel_packs(const struct blocked_gemm_isa *isa, const struct blocked_gemm_line *from,
                        const struct gemm_blocks *g, uint32_t count, int64_t row, char *panel)
{
    uint8_t buffer[BLOCKED_GEMM_PACK_MAX * BLOCKED_GEMM_COLUMNS_MAX];
    struct blocked_gemm_rows rows = { *from, row, count };
    for (uint64_t k = 0; k < g->packs * isa->k_pack; k += isa->k_pack, panel += isa->columns * isa->pack_bytes) {
        rows.line.index = from->index + (int64_t)k * row;
        if (k >= g->k)
            memset(panel, 0, isa->columns * isa->pack_bytes);
        else if (isa->round)
            blocked_gemm_halves(isa, &rows, (uint32_t)BASE_MIN(g->k - k, isa->k_pack), isa->columns, panel);
        else
            blocked_gemm_interleave(isa, &rows, (uint32_t)BASE_MIN(g->k - k, isa->k_pack), isa->columns, buffer, panel);
    }
}

/* Columns `first`.. of the matrix at element `at`. */
static void panel_fill(const struct blocked_gemm_isa *isa, const struct kern_op *op, const struct gemm_blocks *g,
                       const void *data, int64_t at, uint32_t first, char *panel)
{
    const struct kern_view *b = &op->tensors[1];
    int64_t row = b->strides[g->rank - 2], step = b->strides[g->rank - 1];
    uint32_t count = BASE_MIN(g->n - first, isa->columns);
    struct blocked_gemm_line line = { data, at + first * step, step, b->type };
    char *packs = panel + g->header;
    if (row == 1 && step != 1) {
        line.step = 1;
        panel_deep(isa, &line, g, count, step, packs);
    } else if (isa->integers || isa->round) {
        panel_packs(isa, &line, g, count, row, packs);
    } else {
        panel_numbers(isa, &line, g, count, row, packs);
    }
    if (isa->integers)
        blocked_gemm_column_sums(isa, packs, g->packs, (int32_t *)panel);
    if (isa->deep)
        isa->column_cross(packs, g->packs, (int32_t *)panel + isa->columns);
}

struct blocked_packing {
    const struct blocked_gemm_isa *isa;
    const struct kern_op *op;
    struct gemm_blocks g;
    struct kern_view batches;
    uint64_t panels; /* of a batch */
    const void *source;
    char *packed;
};

static void pack_range(void *context, size_t begin, size_t end, unsigned worker)
{
    const struct blocked_packing *p = context;
    uint32_t at[KERN_RANK_MAX];
    (void)worker;
    for (size_t i = begin; i < end; i++) {
        dense_row_at(&p->batches, i / p->panels, at);
        panel_fill(p->isa, p->op, &p->g, p->source, dense_offset(&p->op->tensors[1], at, p->g.rank - 2),
                   (uint32_t)(i % p->panels) * p->isa->columns, p->packed + i * p->g.panel_bytes);
    }
}

void blocked_gemm_pack(const struct blocked_gemm_isa *isa, const struct kern_op *op, const void *source, void *packed)
{
    struct blocked_packing p = { .isa = isa, .op = op, .source = source, .packed = packed };
    blocks_init(isa, op, &p.g);
    p.batches = packed_batches(&op->tensors[1]);
    p.panels = (p.g.n + isa->columns - 1) / isa->columns;
    base_parallel_for(dense_rows(&p.batches) * p.panels, dense_pack_grain(p.g.panel_bytes), pack_range, &p);
}

/* ---- one unit ---- */

struct gemm_unit {
    const struct blocked_gemm_isa *isa;
    const struct kern_call *call;
    struct gemm_blocks g;
    struct blocked_gemm_end end;
    char *scratch;
    const char *a, *panels;
    uint32_t at[KERN_RANK_MAX]; /* batch, first row and column */
    uint32_t rows, columns;
    uint64_t loaded;      /* batch and column block whose panels are in scratch */
    uint64_t loaded_rows; /* batch and row block that A is loaded for, with sums if there were zeros */
    bool zeros;           /* of B, column by column, not all 0 */
    const char *ahead;    /* packed panels of the next column block, of which this unit prefetches a part */
    uint64_t ahead_bytes;
};

static void unit_load_b(struct gemm_unit *u, uint64_t block)
{
    const struct gemm_blocks *g = &u->g;
    const struct kern_view *b = &u->call->op->tensors[1];
    uint32_t first = u->at[g->rank - 1];
    if (g->packed) {
        const struct kern_view batches = packed_batches(b);
        uint64_t batch = 0;
        for (uint32_t d = 0; d + 2 < b->rank; d++)
            batch = batch * batches.sizes[d] + (batches.sizes[d] > 1 ? u->at[d] : 0);
        uint64_t panel = batch * panels_of(u->isa, g) + first / u->isa->columns;
        u->panels = (const char *)u->call->data[1] + panel * g->panel_bytes;
    } else if (u->loaded != block) {
        char *panel = u->scratch + g->b;
        u->panels = panel;
        for (uint32_t c = 0; c < u->columns; c += u->isa->columns, panel += g->panel_bytes)
            panel_fill(u->isa, u->call->op, g, u->call->data[1], dense_offset(b, u->at, g->rank - 2), first + c, panel);
    }
    if (!u->isa->integers || u->loaded == block)
        return;
    const struct kern_gemm *gemm = &u->call->op->u.gemm;
    const uint32_t columns = (uint32_t)base_align_up(u->columns, u->isa->columns);
    int32_t *zeros = (int32_t *)(u->scratch + g->zeros), *sums = zeros + columns;
    uint32_t at[KERN_RANK_MAX];
    memcpy(at, u->at, sizeof(at));
    u->zeros = false;
    for (uint32_t c = 0; gemm->has_b_zero && c < u->columns; c++) {
        at[g->rank - 1] = first + c;
        int32_t zero = gemm_zero(u->call, true, gemm->has_a_zero ? 3 : 2, at);
        zeros[c] = zero + blocked_gemm_added(u->isa, b->type, true);
        u->zeros = u->zeros || zero;
    }
    memset(zeros + u->columns, 0, (columns - u->columns) * sizeof(*zeros)); /* epilogues read whole vectors */
    for (uint32_t c = 0; c < u->columns; c += u->isa->columns)
        memcpy(sums + c, u->panels + c / u->isa->columns * g->panel_bytes, u->isa->columns * sizeof(*sums));
}

/* The rows are already packed in memory, and their sums are not needed. */
static bool a_direct(const struct gemm_unit *u)
{
    const struct gemm_blocks *g = &u->g;
    const struct kern_view *a = &u->call->op->tensors[0], *b = &u->call->op->tensors[1];
    if (u->isa->round ? (uint32_t)a->type != ANYDML_TENSOR_DATA_TYPE_BFLOAT16
                      : !blocked_gemm_of_bytes(u->isa) || u->zeros || blocked_gemm_flip(u->isa, a->type, false) ||
                            blocked_gemm_flip(u->isa, b->type, true))
        return false;
    return g->k == g->packs * u->isa->k_pack && (!u->isa->tiles || u->rows % 16 == 0) && a->strides[g->rank - 1] == 1 &&
           (u->rows == 1 || a->strides[g->rank - 2] == (int64_t)g->k);
}

static void unit_load_a(struct gemm_unit *u)
{
    const struct gemm_blocks *g = &u->g;
    const struct kern_view *a = &u->call->op->tensors[0];
    int32_t *sums = (int32_t *)(u->scratch + g->a_sums), *cross = (int32_t *)(u->scratch + g->a_cross);
    uint32_t at[KERN_RANK_MAX];
    memcpy(at, u->at, sizeof(at));
    if (a_direct(u)) {
        u->a = (const char *)u->call->data[0] + dense_offset(a, at, g->rank - 1) * kern_type_bytes(a->type);
        memset(sums, 0, u->rows * sizeof(*sums));
        return;
    }
    u->a = u->scratch + g->a;
    for (uint32_t r = 0; r < u->rows; r++) {
        at[g->rank - 2] = u->at[g->rank - 2] + r;
        struct blocked_gemm_line line = { u->call->data[0], dense_offset(a, at, g->rank - 1), a->strides[g->rank - 1],
                                          a->type };
        char *packs = u->scratch + g->a + r * g->packs * u->isa->pack_bytes;
        sums[r] = blocked_gemm_row(u->isa, &line, (uint32_t)g->k, false, packs);
        if (u->isa->deep)
            cross[r] = u->isa->row_cross(packs, g->packs);
    }
}

static void unit_finish(const struct gemm_unit *u, uint32_t row, void *sums)
{
    const struct gemm_blocks *g = &u->g;
    const struct kern_op *op = u->call->op;
    uint32_t at[KERN_RANK_MAX];
    memcpy(at, u->at, sizeof(at));
    at[g->rank - 2] += row;
    struct blocked_gemm_shift shift = { .plus = 0 };
    if (u->isa->integers) {
        const int32_t *zeros = (const int32_t *)(u->scratch + g->zeros);
        shift.columns = zeros + base_align_up(u->columns, u->isa->columns);
        shift.zeros = u->zeros ? zeros : NULL;
        shift.zero =
            gemm_zero(u->call, op->u.gemm.has_a_zero, 2, at) + blocked_gemm_added(u->isa, op->tensors[0].type, false);
        shift.zero_all = blocked_gemm_added(u->isa, op->tensors[1].type, true);
        shift.row = (int32_t)(((uint32_t *)(u->scratch + g->a_sums))[row] - (uint32_t)g->k * (uint32_t)shift.zero);
    } else if (!u->end.in_steps) {
        gemm_scale(u->call, at, u->columns, blocked_gemm_sum_bytes(u->isa) == sizeof(double), sums);
    }
    blocked_gemm_finish(u->isa, &u->end, at, u->columns, sums, &shift);
}

/* Lines of Y to which an AMX tile is stored: prefetched meanwhile. */
static void unit_fetch(const struct gemm_unit *u, uint32_t row, uint32_t rows, uint32_t column)
{
    const struct kern_op *op = u->call->op;
    const struct kern_view *y = &op->tensors[op->input_count];
    const int64_t bytes = kern_type_bytes(y->type), step = y->strides[u->g.rank - 2] * bytes;
    uint32_t at[KERN_RANK_MAX];
    memcpy(at, u->at, sizeof(at));
    at[u->g.rank - 2] += row;
    at[u->g.rank - 1] += column;
    const char *to = (const char *)u->call->data[op->input_count] + dense_offset(y, at, y->rank) * bytes;
    const int64_t length = BASE_MIN(u->columns - column, u->isa->columns) * bytes;
    for (uint32_t r = 0; r < rows; r++, to += step)
        for (int64_t i = 0; i < length; i += 64)
            __builtin_prefetch(to + i, 1);
}

/* The units of a column block are consecutive, and each prefetches as much of the next one: panels are too long for the
 * second-level cache, and too scattered over rows of A for the hardware prefetcher. */
static void unit_look_ahead(struct gemm_unit *u, uint64_t column, uint64_t row, uint64_t left)
{
    const struct gemm_blocks *g = &u->g;
    u->ahead_bytes = 0;
    if (!g->packed || u->isa->tiles || u->isa->deep || column + 1 >= g->column_blocks || left <= g->row_blocks - row)
        return;
    const uint64_t panels = g->columns / u->isa->columns, rest = panels_of(u->isa, g) - (column + 1) * panels;
    const uint64_t bytes = BASE_MIN(panels, rest) * g->panel_bytes, begin = bytes * row / g->row_blocks;
    u->ahead = u->panels + panels * g->panel_bytes + begin;
    u->ahead_bytes = bytes * (row + 1) / g->row_blocks - begin;
}

static void unit_prefetch(const struct gemm_unit *u, uint64_t tile, uint64_t tiles)
{
    for (uint64_t i = u->ahead_bytes * tile / tiles; i < u->ahead_bytes * (tile + 1) / tiles; i += 64)
        __builtin_prefetch(u->ahead + i, 0, 2);
}

static void unit_multiply_deep(const struct gemm_unit *u)
{
    const struct gemm_blocks *g = &u->g;
    const uint32_t step = (uint32_t)base_align_up(u->columns, u->isa->columns);
    int32_t *sums = (int32_t *)(u->scratch + g->sums);
    blocked_gemm_multiply(u->isa,
                          &(struct blocked_gemm_tile){ u->a, u->panels + g->header, sums, g->packs, u->rows, u->columns,
                                                       step, (const int32_t *)(u->scratch + g->a_cross),
                                                       (const int32_t *)u->panels + u->isa->columns },
                          g->panel_bytes, g->panel_bytes);
    for (uint32_t r = 0; r < u->rows; r++)
        unit_finish(u, r, sums + (uint64_t)r * step);
}

static void unit_multiply(const struct gemm_unit *u)
{
    const struct gemm_blocks *g = &u->g;
    const struct blocked_gemm_isa *isa = u->isa;
    const uint64_t tiles =
        (uint64_t)((u->rows + isa->rows - 1) / isa->rows) * ((u->columns + isa->columns - 1) / isa->columns);
    uint64_t tile = 0;
    uint32_t step = (uint32_t)base_align_up(u->columns, isa->columns);
    const uint32_t sum_bytes = blocked_gemm_sum_bytes(isa);
    char *sums = u->scratch + g->sums;
    for (uint32_t row = 0; row < u->rows; row += isa->rows) {
        uint32_t count = BASE_MIN(u->rows - row, isa->rows);
        for (uint32_t c = 0; c < u->columns; c += isa->columns) {
            if (isa->tiles)
                unit_fetch(u, row, count, c);
            else
                unit_prefetch(u, tile++, tiles);
            isa->tile(&(struct blocked_gemm_tile){
                u->a + row * g->packs * isa->pack_bytes, u->panels + c / isa->columns * g->panel_bytes + g->header,
                sums + (uint64_t)c * sum_bytes, g->packs, count, BASE_MIN(u->columns - c, isa->columns), step });
        }
        for (uint32_t r = 0; r < count; r++)
            unit_finish(u, row + r, sums + (uint64_t)r * step * sum_bytes);
    }
}

void blocked_gemm_run(const struct blocked_gemm_isa *isa, const struct kern_call *call, uint64_t begin, uint64_t end)
{
    const struct kern_view *y = &call->op->tensors[call->op->input_count];
    struct gemm_unit u = { .isa = isa, .call = call, .scratch = call->worker_scratch, .loaded = UINT64_MAX };
    u.loaded_rows = UINT64_MAX;
    blocks_init(isa, call->op, &u.g);
    blocked_gemm_end_init(call, u.scratch + u.g.epilogue, u.scratch + u.g.floats, &u.end);
    if (isa->finish)
        blocked_gemm_end_in_steps(&u.end);
    for (uint64_t unit = begin, count = 1; unit < end; unit += count) {
        uint64_t column = unit / u.g.row_blocks % u.g.column_blocks, row = unit % u.g.row_blocks;
        uint64_t batch = unit / u.g.row_blocks / u.g.column_blocks;
        if (u.g.wide) {
            column = unit % u.g.column_blocks;
            row = unit / u.g.column_blocks % u.g.row_blocks;
            count = BASE_MIN(BASE_MIN(end - unit, TILES_PANELS), u.g.column_blocks - column);
            u.loaded = UINT64_MAX;
        }
        const uint64_t block = batch * u.g.column_blocks + column, rows = batch * u.g.row_blocks + row;
        dense_row_at(y, batch * u.g.m + row * u.g.rows, u.at);
        u.at[u.g.rank - 1] = (uint32_t)column * u.g.columns;
        u.rows = (uint32_t)BASE_MIN(u.g.m - row * u.g.rows, u.g.rows);
        u.columns = (uint32_t)BASE_MIN(u.g.n - column * u.g.columns, count * u.g.columns);
        const bool zeros = u.zeros;
        unit_load_b(&u, block);
        u.loaded = block;
        if (u.loaded_rows != rows || u.zeros != zeros)
            unit_load_a(&u);
        u.loaded_rows = rows;
        unit_look_ahead(&u, column, row, end - unit);
        if (isa->deep)
            unit_multiply_deep(&u);
        else
            unit_multiply(&u);
    }
}
