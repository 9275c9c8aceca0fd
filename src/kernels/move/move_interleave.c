/* SPDX-License-Identifier: Apache-2.0 */
/* Moves that interleave few rows into one, or deinterleave one into few: blocks of pixels, images of few channels. */
#include "kernels/move/move.h"

enum {
    LINE = 64,
    ROW_MIN = 16,                 /* shorter rows are not worth it */
    PIECE_BYTES = 8192,           /* of the output on its way past the caches */
    NON_TEMPORAL_ROW_BYTES = 512, /* shorter runs do not gain from non-temporal stores */
};

/* interleaves: out[j * ways + i] = in[j + i * stride]; else out[j + i * stride] = in[j * ways + i] */
struct interleave_plan {
    /* Views: the one with all elements in one row, the other; the units of the rows are its last dimension. */
    struct kern_iterator outer;
    bool interleaves, non_temporal;
    uint32_t ways;
    int64_t stride;
    uint64_t length, unit; /* elements of a row, of its part in a unit: a piece has one of each row */
};

/* Data to be stored non-temporally. */
struct piece {
    _Alignas(LINE) char data[PIECE_BYTES];
    char *out;
    uint64_t used;
};

/* Of view 0, with all elements in one row, and of view 1 with few rows: the dimension of the rows' elements. */
static bool find_rows(const struct kern_iterator *iterator, uint32_t *along)
{
    const uint32_t few = iterator->rank - 1;
    for (uint32_t d = 0; d < few; d++) {
        *along = d;
        if (iterator->strides[1][d] == 1 && iterator->strides[0][d] == (int64_t)iterator->sizes[few] &&
            iterator->sizes[d] >= ROW_MIN)
            return MOVE_WAYS(iterator->sizes[few]) && iterator->strides[0][few] == 1;
    }
    return false;
}

static void outer_init(struct interleave_plan *plan, const struct kern_iterator *iterator, uint32_t along)
{
    struct kern_iterator *outer = &plan->outer;
    const uint32_t few = iterator->rank - 1;
    *outer = (struct kern_iterator){ .views = 2, .count = 1 };
    for (uint32_t d = 0; d <= few; d++) {
        if (d == along)
            continue;
        const bool units = d == few;
        const uint32_t at = outer->rank++;
        outer->sizes[at] = units ? (plan->length + plan->unit - 1) / plan->unit : iterator->sizes[d];
        for (uint32_t v = 0; v < 2; v++)
            outer->strides[v][at] = units ? (int64_t)plan->unit * iterator->strides[v][along] : iterator->strides[v][d];
        outer->count *= outer->sizes[at];
    }
}

/* Contiguous bytes of the output: a row, or consecutive rows. */
static uint64_t run_bytes(const struct interleave_plan *plan, uint32_t bytes)
{
    const uint64_t row = plan->length * (plan->interleaves ? plan->ways : 1);
    const uint32_t last = plan->outer.rank - 1;
    const bool follow = plan->interleaves && last > 0 && plan->outer.strides[0][last - 1] == (int64_t)row;
    return row * bytes * (follow ? plan->outer.sizes[last - 1] : 1);
}

/* The iterator walks in the memory order of the view with all elements in one row. */
static bool plan_init(struct interleave_plan *plan, const struct kern_op *op)
{
    const uint32_t interleave[] = { 1, 0 }, deinterleave[] = { 0, 1 }, bytes = kern_type_bytes(op->tensors[0].type);
    struct kern_iterator iterator;
    uint32_t along = 0;
    kern_iterator_init(&iterator, op, interleave, 2, UINT32_MAX, 0);
    plan->interleaves = find_rows(&iterator, &along);
    if (!plan->interleaves)
        kern_iterator_init(&iterator, op, deinterleave, 2, UINT32_MAX, 0);
    if (!plan->interleaves && !find_rows(&iterator, &along))
        return false;
    plan->ways = (uint32_t)iterator.sizes[iterator.rank - 1];
    plan->stride = iterator.strides[1][iterator.rank - 1];
    plan->length = iterator.sizes[along];
    plan->unit = BASE_MIN(plan->length, PIECE_BYTES / bytes / plan->ways / LINE * LINE);
    outer_init(plan, &iterator, along);
    plan->non_temporal = kern_streams(&op->tensors[1]) && run_bytes(plan, bytes) >= NON_TEMPORAL_ROW_BYTES;
    return true;
}

bool kern_move_interleave_accepts(const struct kern_op *op)
{
    struct interleave_plan plan;
    return kern_move_any_accepts(op) && kern_type_bytes(op->tensors[0].type) && plan_init(&plan, op);
}

void kern_move_interleave_plan(const struct kern_op *op, uint32_t threads, struct kern_work *out)
{
    struct interleave_plan plan;
    plan_init(&plan, op);
    *out = (struct kern_work){ .units = plan.outer.count, .grain = BASE_MAX(1, 65536 / plan.unit / plan.ways) };
}

static void run_cached(const struct interleave_plan *plan, const struct move_isa *isa, uint32_t bytes, char *out,
                       const char *in, uint64_t count)
{
    if (plan->interleaves)
        isa->interleave[bytes](out, in, plan->stride, count, plan->ways);
    else
        isa->deinterleave[bytes](out, in, plan->stride, count, plan->ways);
}

static void flush(struct piece *piece)
{
    kern_stream(piece->out, piece->data, piece->used);
    piece->used = 0;
}

/* Via the first-level cache, where short consecutive rows are collected. */
static void run_non_temporal(const struct interleave_plan *plan, const struct move_isa *isa, uint32_t bytes,
                             struct piece *piece, char *out, const char *in, uint64_t count)
{
    if (!plan->interleaves) {
        isa->deinterleave[bytes](piece->data, in, (int64_t)plan->unit, count, plan->ways);
        for (uint32_t i = 0; i < plan->ways; i++)
            kern_stream(out + i * plan->stride * bytes, piece->data + i * plan->unit * bytes, count * bytes);
        return;
    }
    const uint64_t interleaved = count * plan->ways * bytes;
    if (piece->used && (out != piece->out + piece->used || piece->used + interleaved > PIECE_BYTES))
        flush(piece);
    if (!piece->used)
        piece->out = out;
    isa->interleave[bytes](piece->data + piece->used, in, plan->stride, count, plan->ways);
    piece->used += interleaved;
}

/* Prefetches rows of the next unit, where the hardware prefetcher does not work. */
static void prefetch_ahead(const struct interleave_plan *plan, uint32_t bytes, const char *in)
{
    const uint64_t rows = plan->interleaves ? plan->ways : 1, length = plan->unit * bytes * plan->ways / rows;
    for (uint64_t i = 0; i < rows && (i == 0 || plan->stride); i++)
        for (uint64_t b = 0; b < length; b += LINE)
            __builtin_prefetch(in + (int64_t)i * plan->stride * bytes + b);
}

void move_interleave_run(const struct kern_call *call, const struct move_isa *isa, uint64_t begin, uint64_t end)
{
    const uint32_t bytes = kern_type_bytes(call->op->tensors[0].type);
    struct interleave_plan plan;
    struct kern_cursor cursor;
    struct piece piece;
    piece.used = 0;
    plan_init(&plan, call->op);
    const uint32_t last = plan.outer.rank - 1, in_view = plan.interleaves;
    kern_cursor_seek(&plan.outer, begin, &cursor);
    for (; begin < end; begin++) {
        const uint64_t at = cursor.index[last], count = BASE_MIN(plan.unit, plan.length - at * plan.unit);
        char *out = (char *)call->data[1] + cursor.offset[1 - in_view] * bytes;
        const char *in = (const char *)call->data[0] + cursor.offset[in_view] * bytes;
        if (at + 1 < plan.outer.sizes[last])
            kern_cursor_skip(&plan.outer, &cursor, 1);
        else
            kern_cursor_next_row(&plan.outer, &cursor);
        if (plan.non_temporal && begin + 1 < end)
            prefetch_ahead(&plan, bytes, (const char *)call->data[0] + cursor.offset[in_view] * bytes);
        if (plan.non_temporal)
            run_non_temporal(&plan, isa, bytes, &piece, out, in, count);
        else
            run_cached(&plan, isa, bytes, out, in, count);
    }
    if (piece.used)
        flush(&piece);
    if (plan.non_temporal)
        kern_stream_end();
}
