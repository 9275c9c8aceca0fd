/* SPDX-License-Identifier: Apache-2.0 */
/* Scatter for the instruction set of the including file. */
#include "kernels/core/isa.h"
#include "kernels/core/copy_body.h"
#include "kernels/index/index.h"

#include <stdlib.h>

/* The part of Y owned by a range of units: `count` free elements of one row, at places [begin, end). Offsets are to
 * place 0. */
struct scatter_part {
    const struct scatter_plan *plan;
    const struct kern_call *call;
    int64_t offset[SCATTER_FREE_VIEWS];
    uint64_t count;
    uint64_t begin, end;
};

/* ---- Y = X ---- */

/* X repeats one element. */
static bool scatter_part_constant(const struct scatter_part *part)
{
    const struct kern_iterator *free = &part->plan->free, *places = &part->plan->places;
    return (free->count == 1 || free->strides[SCATTER_FREE_X][0] == 0) &&
           (places->count == 1 || places->strides[1][0] == 0);
}

/* The part is one run of memory in Y, and in X too, or X broadcasts one element. */
static bool scatter_part_packed(const struct scatter_part *part)
{
    const struct scatter_plan *plan = part->plan;
    const struct kern_iterator *free = &plan->free, *places = &plan->places;
    const int64_t row = (int64_t)plan->row, depth = (int64_t)places->count;
    const int64_t *y_free = free->strides[SCATTER_FREE_Y], *x_free = free->strides[SCATTER_FREE_X];
    const int64_t *y_place = places->strides[0], *x_place = places->strides[1];
    if (free->rank != 1 || places->rank != 1)
        return false;
    bool free_inside = part->count == plan->row && (row == 1 || y_free[0] == 1) && y_place[0] == row;
    bool places_inside = part->end - part->begin == places->count && y_place[0] == 1 && y_free[0] == depth;
    bool same = (row == 1 || x_free[0] == y_free[0]) && (depth == 1 || x_place[0] == y_place[0]);
    return (free_inside || places_inside) && (same || scatter_part_constant(part));
}

/* One row of places, starting at the cursor, for all free elements. */
static void scatter_copy_places(const struct scatter_part *part, const struct kern_cursor *cursor, uint64_t places)
{
    const struct scatter_plan *plan = part->plan;
    const uint32_t bytes = plan->bytes, free = plan->free.rank - 1, last = plan->places.rank - 1;
    const int64_t y_free = plan->free.strides[SCATTER_FREE_Y][free], x_free = plan->free.strides[SCATTER_FREE_X][free];
    const int64_t y_place = plan->places.strides[0][last], x_place = plan->places.strides[1][last];
    char *y = (char *)part->call->data[3] + (part->offset[SCATTER_FREE_Y] + cursor->offset[0]) * bytes;
    const char *x = (const char *)part->call->data[0] + (part->offset[SCATTER_FREE_X] + cursor->offset[1]) * bytes;
    if (part->count == 1 || llabs(y_place) < llabs(y_free))
        for (uint64_t f = 0; f < part->count; f++)
            copy_row(bytes, y + (int64_t)f * y_free * bytes, y_place, x + (int64_t)f * x_free * bytes, x_place, places);
    else
        for (uint64_t p = 0; p < places; p++)
            copy_row(bytes, y + (int64_t)p * y_place * bytes, y_free, x + (int64_t)p * x_place * bytes, x_free,
                     part->count);
}

static void scatter_copy_part(const struct scatter_part *part)
{
    const struct scatter_plan *plan = part->plan;
    const struct kern_iterator *places = &plan->places;
    struct kern_cursor cursor;
    kern_cursor_seek(places, part->begin, &cursor);
    if (scatter_part_packed(part)) {
        copy_row(plan->bytes,
                 (char *)part->call->data[3] + (part->offset[SCATTER_FREE_Y] + cursor.offset[0]) * plan->bytes, 1,
                 (const char *)part->call->data[0] + (part->offset[SCATTER_FREE_X] + cursor.offset[1]) * plan->bytes,
                 scatter_part_constant(part) ? 0 : 1, (part->end - part->begin) * part->count);
        return;
    }
    for (uint64_t place = part->begin, n; place < part->end; place += n, kern_cursor_next_row(places, &cursor)) {
        n = BASE_MIN(kern_cursor_row_left(places, &cursor), part->end - place);
        scatter_copy_places(part, &cursor, n);
    }
}

/* ---- updates ---- */

/* Each index is read once: the compiler must assume that storing an element changes the next one. */
#define SCATTER_WHILE_INSIDE(type, place, stride, u_stride)                                                            \
    for (; i < count; i++) {                                                                                           \
        const int64_t to = (int64_t)at[(int64_t)i * (stride)];                                                         \
        if ((uint64_t)to - low >= span)                                                                                \
            return i;                                                                                                  \
        y[place] = u[(int64_t)i * (u_stride)];                                                                         \
    }                                                                                                                  \
    return i;

#define SCATTER_DIRECT(type, index)                                                                                    \
    {                                                                                                                  \
        const index *at = (const index *)b->indices + b->first;                                                        \
        const type *u = (const type *)b->from;                                                                         \
        type *y = (type *)b->to;                                                                                       \
        if (stride == 1 && u_stride == 1 && y_stride == 0 && step == 1) {                                              \
            SCATTER_WHILE_INSIDE(type, to, 1, 1)                                                                       \
        }                                                                                                              \
        SCATTER_WHILE_INSIDE(type, to *step + (int64_t)i * y_stride, stride, u_stride)                                 \
    }

/* Single elements up to the first index that needs checking; returns their number. */
static uint32_t scatter_put_direct(const struct scatter_part *part, const struct index_block *b)
{
    const struct scatter_plan *plan = part->plan;
    const int64_t step = plan->lookup.strides[0], y_stride = b->to_row, u_stride = b->from_row, stride = b->stride;
    const uint64_t limit = BASE_MIN(part->end, index_plain_limit(&plan->lookup));
    const uint64_t low = part->begin, span = limit - low;
    const uint32_t count = b->count;
    uint32_t i = 0;
    if (limit <= part->begin)
        return 0;
    INDEX_BY_SIZES(plan->bytes, kern_type_bytes(plan->lookup.type), SCATTER_DIRECT)
}

/* Update i of a block, `count` elements long, is applied to y + offsets[i] + i * y_pick, for the i in `hits` only, in
 * their order. Strides in elements. */
struct scatter_updates {
    void *y;
    const void *u;
    int64_t y_pick, u_pick, y_step, u_step;
    uint64_t count;
    const int64_t *offsets;
    uint32_t hit_count;
    uint32_t hits[INDEX_BLOCK];
};

/* In 32 bits and more, so that small integers are not promoted to signed ones that overflow. */
#define SCATTER_ADD(W, a, b)        ((W)(a) + (W)(b))
#define SCATTER_MULTIPLY(W, a, b)   ((W)(a) * (W)(b))
#define SCATTER_MIN(W, a, b)        ((b) < (a) ? (b) : (a))
#define SCATTER_MAX(W, a, b)        ((b) > (a) ? (b) : (a))
#define SCATTER_MIN_NUMBER(W, a, b) ((a) != (a) ? (b) : SCATTER_MIN(W, a, b))
#define SCATTER_MAX_NUMBER(W, a, b) ((a) != (a) ? (b) : SCATTER_MAX(W, a, b))
#define SCATTER_SAME(value)         (value)

/* Rows of updates exceed the first-level cache: the positions of the next ones are prefetched. */
enum { SCATTER_AHEAD = 6 };

DENSE_INLINE void scatter_fetch(const struct scatter_updates *s, const char *y, uint32_t h, uint32_t bytes)
{
    const uint32_t next = s->hits[BASE_MIN(h + SCATTER_AHEAD, s->hit_count - 1)];
    const char *at = y + (s->offsets[next] + (int64_t)next * s->y_pick) * (int64_t)bytes;
    for (uint64_t b = 0; b < BASE_MIN(s->count * bytes, 512); b += 64)
        __builtin_prefetch(at + b, 1);
}

#define SCATTER_COMBINE(T, U, W, LOAD, COMBINE)                                                                        \
    {                                                                                                                  \
        const uint64_t count = s->count;                                                                               \
        const int64_t y_step = s->y_step, u_step = s->u_step;                                                          \
        for (uint32_t h = 0; count == 1 && h < s->hit_count; h++) {                                                    \
            const int64_t i = s->hits[h];                                                                              \
            T *to = (T *)s->y + s->offsets[i] + i * s->y_pick;                                                         \
            const T held = *to, incoming = LOAD(((const U *)s->u)[i * s->u_pick]);                                     \
            *to = (T)COMBINE(W, held, incoming);                                                                       \
        }                                                                                                              \
        for (uint32_t h = 0; count > 1 && h < s->hit_count; h++) {                                                     \
            const int64_t i = s->hits[h];                                                                              \
            T *to = (T *)s->y + s->offsets[i] + i * s->y_pick;                                                         \
            const U *from = (const U *)s->u + i * s->u_pick;                                                           \
            scatter_fetch(s, s->y, h, sizeof(T));                                                                      \
            if (y_step == 1 && u_step == 1) {                                                                          \
                _Pragma("GCC ivdep") for (uint64_t f = 0; f < count; f++)                                              \
                {                                                                                                      \
                    const T held = to[f], incoming = LOAD(from[f]);                                                    \
                    to[f] = (T)COMBINE(W, held, incoming);                                                             \
                }                                                                                                      \
            } else {                                                                                                   \
                for (int64_t f = 0; f < (int64_t)count; f++) {                                                         \
                    const T held = to[f * y_step], incoming = LOAD(from[f * u_step]);                                  \
                    to[f * y_step] = (T)COMBINE(W, held, incoming);                                                    \
                    COPY_ONE_BY_ONE;                                                                                   \
                }                                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
    }

/* By type of Y and the updates; sums and products have the same bits for either sign. */
#define SCATTER_CASE(constant, T, U, W, LOAD, MINIMUM, MAXIMUM)                                                        \
    case constant:                                                                                                     \
        if (reduction == KERN_SCATTER_ADD)                                                                             \
            SCATTER_COMBINE(T, U, W, LOAD, SCATTER_ADD)                                                                \
        else if (reduction == KERN_SCATTER_MULTIPLY)                                                                   \
            SCATTER_COMBINE(T, U, W, LOAD, SCATTER_MULTIPLY)                                                           \
        else if (reduction == KERN_SCATTER_MIN)                                                                        \
            SCATTER_COMBINE(T, U, W, LOAD, MINIMUM)                                                                    \
        else                                                                                                           \
            SCATTER_COMBINE(T, U, W, LOAD, MAXIMUM)                                                                    \
        break;
#define SCATTER_FLOATS(update, T, U, LOAD) SCATTER_CASE(update, T, U, T, LOAD, SCATTER_MIN_NUMBER, SCATTER_MAX_NUMBER)
#define SCATTER_INTEGERS(type, T, W)       SCATTER_CASE(type, T, T, W, SCATTER_SAME, SCATTER_MIN, SCATTER_MAX)

/* Like base_half_to_float, without branches, so that loops over it are vectorised. */
DENSE_INLINE float scatter_half(uint16_t half)
{
    const uint32_t magnitude = half & 0x7fff, sign = (uint32_t)(half & 0x8000) << 16;
    const uint32_t bits = base_float_to_bits(base_bits_to_float(magnitude << 13) * 0x1p112f);
    return base_bits_to_float((magnitude >= 0x7c00 ? bits | 0x7f800000 : bits) | sign);
}

static void scatter_combine_hits(const struct scatter_updates *s, enum kern_scatter_reduction reduction,
                                 DML_TENSOR_DATA_TYPE update)
{
    switch ((uint32_t)update) {
        SCATTER_FLOATS(DML_TENSOR_DATA_TYPE_FLOAT64, double, double, SCATTER_SAME)
        SCATTER_FLOATS(DML_TENSOR_DATA_TYPE_FLOAT32, float, float, SCATTER_SAME)
        SCATTER_FLOATS(DML_TENSOR_DATA_TYPE_FLOAT16, float, uint16_t, scatter_half)
        SCATTER_FLOATS(ANYDML_TENSOR_DATA_TYPE_BFLOAT16, float, uint16_t, base_bfloat_to_float)
        SCATTER_INTEGERS(DML_TENSOR_DATA_TYPE_INT8, int8_t, uint32_t)
        SCATTER_INTEGERS(DML_TENSOR_DATA_TYPE_INT16, int16_t, uint32_t)
        SCATTER_INTEGERS(DML_TENSOR_DATA_TYPE_INT32, int32_t, uint32_t)
        SCATTER_INTEGERS(DML_TENSOR_DATA_TYPE_INT64, int64_t, uint64_t)
        SCATTER_INTEGERS(DML_TENSOR_DATA_TYPE_UINT8, uint8_t, uint32_t)
        SCATTER_INTEGERS(DML_TENSOR_DATA_TYPE_UINT16, uint16_t, uint32_t)
        SCATTER_INTEGERS(DML_TENSOR_DATA_TYPE_UINT32, uint32_t, uint32_t)
        SCATTER_INTEGERS(DML_TENSOR_DATA_TYPE_UINT64, uint64_t, uint64_t)
    }
}

/* The updates whose offsets are not INDEX_OUT, listed without a branch, which would often be mispredicted. */
static void scatter_combine(const struct kern_op *op, struct scatter_updates *s, uint32_t picks)
{
    s->hit_count = 0;
    for (uint32_t i = 0; i < picks; i++) {
        s->hits[s->hit_count] = i;
        s->hit_count += s->offsets[i] != INDEX_OUT;
    }
    scatter_combine_hits(s, op->u.scatter.reduction, op->tensors[2].type);
}

/* All indices are equal: a list of rows that was broadcast to elements. */
static bool scatter_one_index(DML_TENSOR_DATA_TYPE type, const struct index_block *b)
{
    const uint32_t bytes = kern_type_bytes(type);
    const char *at = (const char *)b->indices + b->first * bytes;
    return b->stride == 0 || (b->stride == 1 && memcmp(at, at + bytes, (size_t)(b->count - 1) * bytes) == 0);
}

static void scatter_combine_block(const struct scatter_part *part, struct index_block b)
{
    const struct scatter_plan *plan = part->plan;
    int64_t offsets[INDEX_BLOCK];
    struct scatter_updates updates = { .y = b.to, .u = b.from, .offsets = offsets, .count = 1 };
    if (plan->along_free && b.count > 1 && scatter_one_index(plan->lookup.type, &b)) {
        updates.y_step = b.to_row;
        updates.u_step = b.from_row;
        updates.count = b.count;
        b.count = 1;
    } else {
        updates.y_pick = b.to_row;
        updates.u_pick = b.from_row;
    }
    index_checked(&plan->lookup, &b, part->begin, part->end, offsets);
    scatter_combine(part->call->op, &updates, b.count);
}

/* Single elements. */
static void scatter_put_block(const struct scatter_part *part, const struct index_block *b)
{
    const struct scatter_plan *plan = part->plan;
    int64_t offsets[INDEX_BLOCK];
    if (plan->combine) {
        scatter_combine_block(part, *b);
        return;
    }
    const uint32_t done = scatter_put_direct(part, b);
    if (done == b->count)
        return;
    const struct index_block rest = index_block_rest(b, plan->bytes, done);
    index_checked(&plan->lookup, &rest, part->begin, part->end, offsets);
    index_copy_runs(&rest, offsets, true, plan->bytes, plan->bytes);
}

static void scatter_put_rows(const struct scatter_part *part, const struct index_block *b)
{
    const struct scatter_plan *plan = part->plan;
    const uint32_t bytes = plan->bytes, last = plan->free.rank - 1;
    const int64_t y_step = plan->free.strides[SCATTER_FREE_Y][last];
    const int64_t u_step = plan->free.strides[SCATTER_FREE_UPDATES][last];
    const uint64_t row_bytes = y_step == 1 && u_step == 1 ? part->count * bytes : 0;
    int64_t offsets[INDEX_BLOCK];
    index_checked(&plan->lookup, b, part->begin, part->end, offsets);
    if (plan->combine) {
        struct scatter_updates updates = { .y = b->to,
                                           .u = b->from,
                                           .u_pick = b->from_row,
                                           .y_step = y_step,
                                           .u_step = u_step,
                                           .count = part->count,
                                           .offsets = offsets };
        scatter_combine(part->call->op, &updates, b->count);
    } else if (!index_copy_runs(b, offsets, true, row_bytes, bytes)) {
        for (uint32_t i = 0; i < b->count; i++)
            if (offsets[i] != INDEX_OUT)
                copy_row(bytes, b->to + offsets[i] * bytes, y_step, b->from + (int64_t)i * b->from_row * bytes, u_step,
                         part->count);
    }
}

/* The part's block whose updates and indices start there, in addition to the part's own offsets. */
static struct index_block scatter_block_at(const struct scatter_part *part, int64_t update, int64_t index)
{
    const struct scatter_plan *plan = part->plan;
    const struct kern_call *call = part->call;
    update += part->offset[SCATTER_FREE_UPDATES];
    return (struct index_block){ .to = (char *)call->data[3] + part->offset[SCATTER_FREE_Y] * plan->bytes,
                                 .from = (const char *)call->data[2] + update * plan->update_bytes,
                                 .indices = call->data[1],
                                 .first = part->offset[SCATTER_FREE_INDICES] + index };
}

static void scatter_update_along_free(const struct scatter_part *part)
{
    const struct kern_iterator *picks = &part->plan->picks, *free = &part->plan->free;
    const uint32_t last = free->rank - 1;
    for (uint64_t pick = 0; pick < picks->count; pick++) {
        struct index_block block = scatter_block_at(part, (int64_t)pick * picks->strides[SCATTER_PICK_UPDATES][0],
                                                    (int64_t)pick * picks->strides[SCATTER_PICK_INDICES][0]);
        block.to_row = free->strides[SCATTER_FREE_Y][last];
        block.from_row = free->strides[SCATTER_FREE_UPDATES][last];
        block.stride = free->strides[SCATTER_FREE_INDICES][last];
        block.count = (uint32_t)part->count;
        scatter_put_block(part, &block);
    }
}

/* The next n picks, all in one row of the iterator. */
static void scatter_update_picks(const struct scatter_part *part, const struct kern_cursor *cursor, uint32_t n)
{
    const struct kern_iterator *picks = &part->plan->picks;
    struct index_block block =
        scatter_block_at(part, cursor->offset[SCATTER_PICK_UPDATES], cursor->offset[SCATTER_PICK_INDICES]);
    block.from_row = picks->strides[SCATTER_PICK_UPDATES][picks->rank - 1];
    block.stride = picks->strides[SCATTER_PICK_INDICES][picks->rank - 1];
    block.count = n;
    if (part->count == 1)
        scatter_put_block(part, &block);
    else
        scatter_put_rows(part, &block);
}

static void scatter_update_along_picks(const struct scatter_part *part)
{
    const struct kern_iterator *picks = &part->plan->picks;
    struct kern_cursor cursor;
    kern_cursor_seek(picks, 0, &cursor);
    for (uint64_t done = 0, n; done < picks->count; done += n, kern_cursor_skip(picks, &cursor, n)) {
        n = BASE_MIN(kern_cursor_row_left(picks, &cursor), INDEX_BLOCK);
        scatter_update_picks(part, &cursor, (uint32_t)n);
    }
}

static void scatter_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    struct scatter_plan plan;
    scatter_plan_init(&plan, call->op);
    while (begin < end) {
        uint64_t place = begin % plan.places.count, block = begin / plan.places.count;
        uint64_t n = BASE_MIN(plan.places.count - place, end - begin);
        uint64_t first = block / plan.blocks * plan.row + block % plan.blocks * plan.block;
        struct scatter_part part = { .plan = &plan, .call = call, .begin = place, .end = place + n };
        part.count = BASE_MIN(plan.block, plan.row - block % plan.blocks * plan.block);
        for (uint32_t v = 0; v < SCATTER_FREE_VIEWS; v++)
            part.offset[v] = kern_iterator_offset(&plan.free, v, first);
        scatter_copy_part(&part);
        if (plan.along_free)
            scatter_update_along_free(&part);
        else
            scatter_update_along_picks(&part);
        begin += n;
    }
}

KERN_ISA_RUN(scatter_any, scatter_run)
