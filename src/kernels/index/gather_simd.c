/* SPDX-License-Identifier: Apache-2.0 */
/* Gather for the instruction set of the including file. */
#include "kernels/core/isa.h"
#include "kernels/core/copy_body.h"
#include "kernels/index/index.h"

/* One by one: instructions that gather were slower wherever they were measured. */
#define GATHER_FOUR_INSIDE(i) (at[i] < limit && at[i + 1] < limit && at[i + 2] < limit && at[i + 3] < limit)
#define GATHER_PICK(element, index)                                                                                    \
    {                                                                                                                  \
        const index *at = (const index *)b->indices + b->first;                                                        \
        const index limit = (index)index_plain_limit(&plan->lookup);                                                   \
        const element *from = (const element *)b->from;                                                                \
        element *to = (element *)b->to;                                                                                \
        if (y_row == 1 && x_row == 0 && stride == 1 && step == 1)                                                      \
            for (; i + 4 <= count && GATHER_FOUR_INSIDE(i); i += 4) {                                                  \
                to[i] = from[at[i]];                                                                                   \
                to[i + 1] = from[at[i + 1]];                                                                           \
                to[i + 2] = from[at[i + 2]];                                                                           \
                to[i + 3] = from[at[i + 3]];                                                                           \
            }                                                                                                          \
        for (; i < count && at[(int64_t)i * stride] < limit; i++)                                                      \
            to[(int64_t)i * y_row] = from[(int64_t)at[(int64_t)i * stride] * step + (int64_t)i * x_row];               \
        return i;                                                                                                      \
    }

/* Single elements up to the first index that needs checking; returns their number. */
static uint32_t gather_pick_direct(const struct gather_plan *plan, const struct index_block *b)
{
    const int64_t step = plan->lookup.strides[0], y_row = b->to_row, x_row = b->from_row, stride = b->stride;
    const uint32_t count = b->count;
    uint32_t i = 0;
    INDEX_BY_SIZES(plan->bytes, kern_type_bytes(plan->lookup.type), GATHER_PICK)
}

/* Long runs at random positions: the next ones are prefetched while one is copied. */
static void gather_copy_long(const struct gather_plan *plan, const struct index_block *b, const int64_t *offsets)
{
    enum { AHEAD = 4, LINE = 64, LINES = 8 };
    const uint32_t bytes = plan->bytes;
    const uint64_t run_bytes = plan->run * bytes, ahead_bytes = BASE_MIN(run_bytes, (uint64_t)LINES * LINE);
    const int64_t to_row = b->to_row, from_row = b->from_row;
    const bool non_temporal = plan->non_temporal;
    const char *x = b->from;
    char *to = b->to;
    for (uint32_t i = 0, count = b->count; i < count; i++, to += to_row * bytes) {
        const char *from = x + (offsets[i] + (int64_t)i * from_row) * bytes;
        if (i + AHEAD < count) {
            const char *next = x + (offsets[i + AHEAD] + (int64_t)(i + AHEAD) * from_row) * bytes;
            for (uint64_t at = 0; at < ahead_bytes; at += LINE)
                __builtin_prefetch(next + at);
        }
        if (non_temporal)
            kern_stream(to, from, run_bytes);
        else
            memcpy(to, from, run_bytes);
    }
}

static void gather_copy_block(const struct gather_plan *plan, const struct index_block *b, const int64_t *offsets)
{
    if (plan->run > 1 && (plan->y_step != 1 || plan->x_step != 1)) {
        for (uint32_t i = 0; i < b->count; i++)
            copy_row(plan->bytes, b->to + (int64_t)i * b->to_row * plan->bytes, plan->y_step,
                     b->from + (offsets[i] + (int64_t)i * b->from_row) * plan->bytes, plan->x_step, plan->run);
        return;
    }
    if (!index_copy_runs(b, offsets, false, plan->run * plan->bytes, plan->bytes))
        gather_copy_long(plan, b, offsets);
}

static void gather_copy_pieces(const struct kern_call *call, const struct gather_plan *plan, uint64_t begin,
                               uint64_t end)
{
    const struct kern_iterator *iterator = &plan->iterator;
    for (uint64_t unit = begin; unit < end; unit++) {
        uint64_t lookup = unit / plan->pieces, piece = unit % plan->pieces;
        uint64_t from = plan->run * piece / plan->pieces, to = plan->run * (piece + 1) / plan->pieces;
        const struct index_block one = { .indices = call->data[1],
                                         .first = kern_iterator_offset(iterator, 2, lookup),
                                         .count = 1 };
        int64_t offset = 0;
        index_rows(&plan->lookup, &one, &offset, NULL);
        offset += kern_iterator_offset(iterator, 1, lookup) + (int64_t)from * plan->x_step;
        int64_t y_offset = kern_iterator_offset(iterator, 0, lookup) + (int64_t)from * plan->y_step;
        copy_row(plan->bytes, (char *)call->data[2] + y_offset * plan->bytes, plan->y_step,
                 (const char *)call->data[0] + offset * plan->bytes, plan->x_step, to - from);
    }
}

/* The next n lookups, all in one row of the iterator. */
static void gather_block(const struct kern_call *call, const struct gather_plan *plan, const struct kern_cursor *cursor,
                         uint32_t n)
{
    const struct kern_iterator *iterator = &plan->iterator;
    const uint32_t last = iterator->rank - 1;
    const struct index_block block = { .to = (char *)call->data[2] + cursor->offset[0] * plan->bytes,
                                       .from = (const char *)call->data[0] + cursor->offset[1] * plan->bytes,
                                       .to_row = iterator->strides[0][last],
                                       .from_row = iterator->strides[1][last],
                                       .indices = call->data[1],
                                       .first = cursor->offset[2],
                                       .stride = iterator->strides[2][last],
                                       .count = n };
    const uint32_t done = plan->run == 1 ? gather_pick_direct(plan, &block) : 0;
    int64_t offsets[INDEX_BLOCK];
    if (done == n)
        return;
    const struct index_block rest = index_block_rest(&block, plan->bytes, done);
    index_rows(&plan->lookup, &rest, offsets, NULL);
    gather_copy_block(plan, &rest, offsets);
}

static void gather_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    struct gather_plan plan;
    struct kern_cursor cursor;
    gather_plan_init(&plan, call->op);
    if (plan.pieces > 1) {
        gather_copy_pieces(call, &plan, begin, end);
        return;
    }
    kern_cursor_seek(&plan.iterator, begin, &cursor);
    for (uint64_t n; begin < end; begin += n, kern_cursor_skip(&plan.iterator, &cursor, n)) {
        n = BASE_MIN(BASE_MIN(kern_cursor_row_left(&plan.iterator, &cursor), end - begin), INDEX_BLOCK);
        gather_block(call, &plan, &cursor, (uint32_t)n);
    }
    if (plan.non_temporal)
        kern_stream_end();
}

KERN_ISA_RUN(gather_any, gather_run)
