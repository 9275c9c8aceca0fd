/* Gather for any layout. All modes are one loop nest over Y's dimensions: X and the indices are views of Y's sizes that
 * repeat where a dimension is not theirs, and each place in the nest adds what its index says. Indices are looked up a
 * block at a time; the innermost dimension is a run of elements that share one index where there is such a dimension.
 */
#include "kernels/dense.h"
#include "kernels/gather.h"
#include "kernels/stream.h"
#include "kernels/walk.h"

enum { PIECE_BYTES = 1 << 18 };

struct plan {
    struct kern_walk walk; /* lookups; view 0 = Y, 1 = X, 2 = indices */
    struct index_lookup lookup;
    uint32_t bytes;
    uint64_t run; /* elements that one lookup gives */
    int64_t y_step, x_step;
    bool far;        /* runs go past the caches */
    uint64_t pieces; /* that a run is cut in, so that few long ones keep all threads busy */
};

/* X's stride along dimension d of Y. */
static int64_t x_stride(const struct kern_op *op, uint32_t tuple, uint32_t d)
{
    const struct kern_view *x = &op->tensors[0];
    const struct kern_gather *gather = &op->u.gather;
    if (gather->mode == KERN_INDEX_ELEMENTS)
        return d == gather->axis ? 0 : x->strides[d];
    if (d < gather->axis)
        return x->strides[d];
    uint32_t inner = gather->axis + gather->index_rank, from = d - inner + gather->axis + tuple;
    return d < inner || from >= x->rank ? 0 : x->strides[from];
}

static int64_t index_stride(const struct kern_op *op, uint32_t d)
{
    const struct kern_view *index = &op->tensors[1];
    const struct kern_gather *gather = &op->u.gather;
    uint32_t inner = gather->axis + gather->index_rank;
    if (gather->mode == KERN_INDEX_ELEMENTS)
        return index->strides[d];
    if (gather->mode == KERN_INDEX_ND)
        return d < inner ? index->strides[d] : 0;
    return d < gather->axis || d >= inner ? 0 : index->strides[index->rank - inner + d];
}

static void lookup_init(struct index_lookup *lookup, const struct kern_op *op)
{
    const struct kern_view *x = &op->tensors[0], *index = &op->tensors[1];
    bool nd = op->u.gather.mode == KERN_INDEX_ND;
    lookup->type = index->type;
    lookup->tuple = nd ? index->sizes[index->rank - 1] : 1;
    lookup->tuple_stride = nd ? index->strides[index->rank - 1] : 0;
    for (uint32_t t = 0; t < lookup->tuple; t++) {
        lookup->sizes[t] = x->sizes[op->u.gather.axis + t];
        lookup->strides[t] = x->strides[op->u.gather.axis + t];
    }
}

/* The innermost dimension becomes the run where its elements share one index. */
static void split_run(struct plan *plan)
{
    struct kern_walk *walk = &plan->walk;
    uint32_t last = walk->rank - 1;
    plan->run = 1;
    plan->y_step = plan->x_step = 1;
    if (walk->strides[2][last] != 0)
        return;
    plan->run = walk->sizes[last];
    plan->y_step = walk->strides[0][last];
    plan->x_step = walk->strides[1][last];
    walk->count /= plan->run;
    walk->rank = BASE_MAX(last, 1);
    if (last == 0) {
        walk->sizes[0] = 1;
        for (uint32_t v = 0; v < 3; v++)
            walk->strides[v][0] = 0;
    }
}

static void plan_init(struct plan *plan, const struct kern_op *op)
{
    const uint32_t tensors[] = { 0, 1, 2 };
    const struct kern_view *y = &op->tensors[2];
    struct kern_op wide;
    lookup_init(&plan->lookup, op);
    wide.tensors[0] = wide.tensors[1] = wide.tensors[2] = *y;
    for (uint32_t d = 0; d < y->rank; d++) {
        wide.tensors[1].strides[d] = x_stride(op, plan->lookup.tuple, d);
        wide.tensors[2].strides[d] = index_stride(op, d);
    }
    kern_walk_init(&plan->walk, &wide, tensors, 3, UINT32_MAX, 0);
    plan->bytes = kern_type_bytes(y->type);
    split_run(plan);
    plan->far = plan->run * plan->bytes >= 1024 && kern_streams(y);
    plan->pieces = plan->run * plan->bytes < 2 * PIECE_BYTES ? 1 : plan->run * plan->bytes / PIECE_BYTES;
}

bool kern_gather_any_accepts(const struct kern_op *op)
{
    return kern_gather_any_ref_accepts(op);
}

void kern_gather_any_plan(const struct kern_op *op, const void *state, uint32_t threads, struct kern_work *out)
{
    struct plan plan;
    (void)state;
    (void)threads;
    plan_init(&plan, op);
    uint64_t cost = 4 + plan.run * plan.bytes / 16 / plan.pieces;
    *out = (struct kern_work){ .units = plan.walk.count * plan.pieces, .grain = dense_grain(cost) };
}

/* y[i * y_row] = x[offsets[i] + i * x_row], runs of a known number of bytes; strides in elements of `bytes` bytes. */
DENSE_INLINE void copy_known(char *y, int64_t y_row, const char *x, int64_t x_row, uint32_t bytes,
                             const int64_t *offsets, uint32_t count, uint32_t run_bytes)
{
    for (uint32_t i = 0; i < count; i++)
        memcpy(y + (int64_t)i * y_row * bytes, x + (offsets[i] + (int64_t)i * x_row) * bytes, run_bytes);
}

#define FOUR_INSIDE(i) (at[i] < limit && at[i + 1] < limit && at[i + 2] < limit && at[i + 3] < limit)
#define PICK(element, index)                                                                                           \
    {                                                                                                                  \
        const index *at = (const index *)indices + first;                                                              \
        const index limit = (index)index_plain_limit(&plan->lookup);                                                   \
        const element *from = (const element *)x;                                                                      \
        element *to = (element *)y;                                                                                    \
        if (y_row == 1 && x_row == 0 && stride == 1 && step == 1)                                                      \
            for (; i + 4 <= count && FOUR_INSIDE(i); i += 4) {                                                         \
                to[i] = from[at[i]];                                                                                   \
                to[i + 1] = from[at[i + 1]];                                                                           \
                to[i + 2] = from[at[i + 2]];                                                                           \
                to[i + 3] = from[at[i + 3]];                                                                           \
            }                                                                                                          \
        for (; i < count && at[(int64_t)i * stride] < limit; i++)                                                      \
            to[(int64_t)i * y_row] = from[(int64_t)at[(int64_t)i * stride] * step + (int64_t)i * x_row];               \
        return i;                                                                                                      \
    }

/* Single elements up to the first index that needs a closer look; returns how many. */
static uint32_t pick_direct(const struct plan *plan, void *y, int64_t y_row, const void *x, int64_t x_row,
                            const void *indices, int64_t first, int64_t stride, uint32_t count)
{
    const int64_t step = plan->lookup.strides[0];
    uint32_t i = 0;
    switch (plan->bytes * 16 + kern_type_bytes(plan->lookup.type)) {
    case 0x14:
        PICK(uint8_t, uint32_t)
    case 0x18:
        PICK(uint8_t, uint64_t)
    case 0x24:
        PICK(uint16_t, uint32_t)
    case 0x28:
        PICK(uint16_t, uint64_t)
    case 0x44:
        PICK(uint32_t, uint32_t)
    case 0x48:
        PICK(uint32_t, uint64_t)
    case 0x84:
        PICK(uint64_t, uint32_t)
    default:
        PICK(uint64_t, uint64_t)
    }
}

/* Long runs at random places: the next ones are asked for while one is copied. */
static void copy_long(const struct plan *plan, char *y, int64_t y_row, const char *x, int64_t x_row,
                      const int64_t *offsets, uint32_t count)
{
    enum { AHEAD = 4, LINE = 64, LINES = 8 };
    const uint32_t bytes = plan->bytes;
    const uint64_t run_bytes = plan->run * bytes, ahead_bytes = BASE_MIN(run_bytes, (uint64_t)LINES * LINE);
    for (uint32_t i = 0; i < count; i++) {
        const char *from = x + (offsets[i] + (int64_t)i * x_row) * bytes;
        if (i + AHEAD < count) {
            const char *next = x + (offsets[i + AHEAD] + (int64_t)(i + AHEAD) * x_row) * bytes;
            for (uint64_t b = 0; b < ahead_bytes; b += LINE)
                __builtin_prefetch(next + b);
        }
        if (plan->far)
            kern_stream(y + (int64_t)i * y_row * bytes, from, run_bytes);
        else
            memcpy(y + (int64_t)i * y_row * bytes, from, run_bytes);
    }
}

static bool copy_packed(const struct plan *plan, char *y, int64_t y_row, const char *x, int64_t x_row,
                        const int64_t *offsets, uint32_t count)
{
#define KNOWN(unit, size)                                                                                              \
    case size:                                                                                                         \
        copy_known(y, y_row, x, x_row, unit, offsets, count, size);                                                    \
        return true;
    switch (plan->bytes * (plan->run <= 64 ? plan->run : 65)) {
        KNOWN(plan->bytes, 1)
        KNOWN(plan->bytes, 2)
        KNOWN(plan->bytes, 4)
        KNOWN(plan->bytes, 8)
        KNOWN(plan->bytes, 12)
        KNOWN(plan->bytes, 16)
        KNOWN(plan->bytes, 32)
        KNOWN(plan->bytes, 64)
    default:
        copy_long(plan, y, y_row, x, x_row, offsets, count);
        return true;
    }
#undef KNOWN
}

static void copy_block(const struct plan *plan, char *y, int64_t y_row, const char *x, int64_t x_row,
                       const int64_t *offsets, uint32_t count)
{
    if (plan->run == 1 && plan->bytes == 4 && y_row == 1)
        copy_known(y, 1, x, x_row, 4, offsets, count, 4);
    else if (plan->run == 1 || (plan->y_step == 1 && plan->x_step == 1))
        copy_packed(plan, y, y_row, x, x_row, offsets, count);
    else
        for (uint32_t i = 0; i < count; i++)
            kern_copy_row(plan->bytes, y + (int64_t)i * y_row * plan->bytes, plan->y_step,
                          x + (offsets[i] + (int64_t)i * x_row) * plan->bytes, plan->x_step, plan->run);
}

static void copy_pieces(const struct kern_call *call, const struct plan *plan, uint64_t begin, uint64_t end)
{
    const struct kern_walk *walk = &plan->walk;
    for (uint64_t unit = begin; unit < end; unit++) {
        uint64_t lookup = unit / plan->pieces, piece = unit % plan->pieces;
        uint64_t from = plan->run * piece / plan->pieces, to = plan->run * (piece + 1) / plan->pieces;
        int64_t offset;
        index_clamped(&plan->lookup, call->data[1], kern_walk_offset(walk, 2, lookup), 1, 1, &offset);
        offset += kern_walk_offset(walk, 1, lookup) + (int64_t)from * plan->x_step;
        int64_t y_offset = kern_walk_offset(walk, 0, lookup) + (int64_t)from * plan->y_step;
        kern_copy_row(plan->bytes, (char *)call->data[2] + y_offset * plan->bytes, plan->y_step,
                      (const char *)call->data[0] + offset * plan->bytes, plan->x_step, to - from);
    }
}

/* The next n lookups, all in one row of the walk. */
static void gather_block(const struct kern_call *call, const struct plan *plan, const struct kern_cursor *cursor,
                         uint32_t n)
{
    const struct kern_walk *walk = &plan->walk;
    const uint32_t last = walk->rank - 1;
    const int64_t stride = walk->strides[2][last], y_row = walk->strides[0][last], x_row = walk->strides[1][last];
    char *y = (char *)call->data[2] + cursor->offset[0] * plan->bytes;
    const char *x = (const char *)call->data[0] + cursor->offset[1] * plan->bytes;
    int64_t offsets[INDEX_BLOCK];
    uint32_t done = 0;
    if (plan->run == 1)
        done = pick_direct(plan, y, y_row, x, x_row, call->data[1], cursor->offset[2], stride, n);
    if (done == n)
        return;
    index_clamped(&plan->lookup, call->data[1], cursor->offset[2] + (int64_t)done * stride, stride, n - done, offsets);
    copy_block(plan, y + (int64_t)done * y_row * plan->bytes, y_row, x + (int64_t)done * x_row * plan->bytes, x_row,
               offsets, n - done);
}

void kern_gather_any_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    struct plan plan;
    struct kern_cursor cursor;
    plan_init(&plan, call->op);
    const struct kern_walk *walk = &plan.walk;
    const uint32_t last = walk->rank - 1;
    if (plan.pieces > 1) {
        copy_pieces(call, &plan, begin, end);
        return;
    }
    kern_cursor_seek(walk, begin, &cursor);
    while (begin < end) {
        uint64_t left = walk->sizes[last] - cursor.index[last];
        uint32_t n = (uint32_t)BASE_MIN(BASE_MIN(left, end - begin), INDEX_BLOCK);
        gather_block(call, &plan, &cursor, n);
        begin += n;
        if (n == left)
            kern_cursor_next_row(walk, &cursor);
        else
            kern_cursor_skip(walk, &cursor, n);
    }
    if (plan.far)
        kern_stream_end();
}
