/* SPDX-License-Identifier: Apache-2.0 */
/* Bit copies between views. The output is walked in memory order; if the input's rows are along another dimension,
 * blocks of rows are copied so that both sides use whole cache lines, or tiles are transposed in registers. */
#include "kernels/move/move.h"
#include "kernels/core/number.h"

enum {
    STRIP_BYTES = 512,             /* crossed: this wide in the input's memory, few pages at a time and long reads */
    NON_TEMPORAL_ROW_BYTES = 1024, /* shorter ones do not gain from non-temporal stores */
    SIDE_MIN = 16,                 /* shorter sides are not worth transposing */
    PIECE_BYTES = 128,             /* of a transposed row stored non-temporally */
};

struct plan {
    struct kern_iterator iterator; /* view 0 = output, 1 = input */
    bool crossed;                  /* the input is contiguous along dimension `across`, not along rows */
    bool non_temporal;             /* the output exceeds the caches */
    uint32_t across;
    uint64_t strip;  /* crossed: elements of dimension `across` in a unit */
    uint64_t strips; /* crossed: pieces of STRIP_BYTES of dimension `across` */
    uint64_t units;
};

static void plan_init(struct plan *plan, const struct kern_op *op)
{
    const uint32_t tensors[] = { 1, 0 };
    kern_iterator_init(&plan->iterator, op, tensors, 2, UINT32_MAX, 0);
    const struct kern_iterator *iterator = &plan->iterator;
    uint32_t row = iterator->rank - 1;
    plan->crossed = false;
    plan->non_temporal = kern_streams(&op->tensors[1]);
    plan->units = iterator->count;
    for (uint32_t d = 0; d < row; d++)
        if (iterator->strides[1][d] == 1 && iterator->strides[1][row] != 1 && iterator->strides[1][row] != 0) {
            plan->crossed = iterator->sizes[d] >= 4 && kern_type_bytes(op->tensors[0].type);
            plan->across = d;
        }
    if (!plan->crossed)
        return;
    plan->strip = STRIP_BYTES / kern_type_bytes(op->tensors[0].type);
    plan->strips = (iterator->sizes[plan->across] + plan->strip - 1) / plan->strip;
    plan->units = iterator->count / iterator->sizes[row] / iterator->sizes[plan->across] * plan->strips;
}

bool kern_move_any_accepts(const struct kern_op *op)
{
    return kern_type_bytes(op->tensors[0].type) == kern_type_bytes(op->tensors[1].type) &&
           op->tensors[0].rank == op->tensors[1].rank;
}

void kern_move_any_plan(const struct kern_op *op, uint32_t threads, struct kern_work *out)
{
    struct plan plan;
    plan_init(&plan, op);
    *out = (struct kern_work){ .units = plan.units, .grain = 65536 };
    if (plan.crossed)
        out->grain = BASE_MAX(1, 65536 / plan.strip / plan.iterator.sizes[plan.iterator.rank - 1]);
    if (!kern_type_bytes(op->tensors[1].type))
        out->grain = out->units; /* neighbours share bytes */
}

static void copy_rows(const struct kern_call *call, const struct plan *plan, uint64_t begin, uint64_t end)
{
    const struct kern_iterator *iterator = &plan->iterator;
    uint32_t bytes = kern_type_bytes(call->op->tensors[0].type), row = iterator->rank - 1;
    bool non_temporal =
        plan->non_temporal && iterator->strides[0][row] == 1 && iterator->sizes[row] * bytes >= NON_TEMPORAL_ROW_BYTES;
    struct kern_cursor cursor;
    kern_cursor_seek(iterator, begin, &cursor);
    while (begin < end) {
        uint64_t n = BASE_MIN(iterator->sizes[row] - cursor.index[row], end - begin);
        char *to = (char *)call->data[1] + cursor.offset[0] * bytes;
        const char *from = (const char *)call->data[0] + cursor.offset[1] * bytes;
        if (non_temporal)
            kern_stream_row(bytes, to, from, iterator->strides[1][row], n);
        else
            kern_copy_row(bytes, to, iterator->strides[0][row], from, iterator->strides[1][row], n);
        kern_cursor_next_row(iterator, &cursor);
        begin += n;
    }
    if (non_temporal)
        kern_stream_end();
}

static void copy_nibbles(const struct kern_call *call, const struct plan *plan, uint64_t begin, uint64_t end)
{
    DML_TENSOR_DATA_TYPE type = call->op->tensors[0].type;
    uint8_t buffer[256];
    while (begin < end) {
        uint64_t n = BASE_MIN(end - begin, sizeof(buffer));
        kern_iterator_load(&plan->iterator, 1, type, call->data[0], begin, n, buffer);
        kern_iterator_store(&plan->iterator, 0, type, call->data[1], begin, n, buffer);
        begin += n;
    }
}

static void block_copy(uint32_t bytes, const struct move_block *block)
{
    for (uint64_t i = 0; i < block->length; i += 16) {
        uint64_t n = BASE_MIN(16, block->length - i);
        const char *from = block->in + (int64_t)i * block->in_stride * bytes;
        char *to = block->out + (int64_t)i * block->row_stride * bytes;
        if (n < 4)
            for (uint64_t k = 0; k < n; k++)
                kern_copy_row(bytes, to + (int64_t)k * block->row_stride * bytes, block->out_stride,
                              from + (int64_t)k * block->in_stride * bytes, 1, block->width);
        else
            for (uint64_t j = 0; j < block->width; j++)
                kern_copy_row(bytes, to + (int64_t)j * block->out_stride * bytes, block->row_stride, from + j * bytes,
                              block->in_stride, n);
    }
}

static struct move_block block_at(const struct kern_call *call, const struct plan *plan, uint64_t unit)
{
    const struct kern_iterator *iterator = &plan->iterator;
    uint32_t bytes = kern_type_bytes(call->op->tensors[0].type), row = iterator->rank - 1;
    uint64_t outer = unit / plan->strips, first = unit % plan->strips * plan->strip;
    int64_t offset[2] = { 0, 0 };
    for (uint32_t d = row; d-- > 0;) {
        uint64_t index = d == plan->across ? first : outer % iterator->sizes[d];
        outer /= d == plan->across ? 1 : iterator->sizes[d];
        offset[0] += (int64_t)index * iterator->strides[0][d];
        offset[1] += (int64_t)index * iterator->strides[1][d];
    }
    return (struct move_block){
        .out = (char *)call->data[1] + offset[0] * bytes,
        .in = (const char *)call->data[0] + offset[1] * bytes,
        .out_stride = iterator->strides[0][plan->across],
        .row_stride = iterator->strides[0][row],
        .in_stride = iterator->strides[1][row],
        .width = BASE_MIN(plan->strip, iterator->sizes[plan->across] - first),
        .length = iterator->sizes[row],
    };
}

static void copy_crossed(const struct kern_call *call, const struct plan *plan, uint64_t begin, uint64_t end)
{
    for (uint64_t unit = begin; unit < end; unit++) {
        struct move_block block = block_at(call, plan, unit);
        block_copy(kern_type_bytes(call->op->tensors[0].type), &block);
    }
}

void kern_move_any_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    struct plan plan;
    plan_init(&plan, call->op);
    if (plan.crossed)
        copy_crossed(call, &plan, begin, end);
    else if (kern_type_bytes(call->op->tensors[0].type))
        copy_rows(call, &plan, begin, end);
    else
        copy_nibbles(call, &plan, begin, end);
}

/* ---- transposed ---- */

bool kern_move_transpose_accepts(const struct kern_op *op)
{
    struct plan plan;
    if (!kern_move_any_accepts(op) || !kern_type_bytes(op->tensors[0].type))
        return false;
    plan_init(&plan, op);
    uint32_t row = plan.iterator.rank - 1;
    return plan.crossed && plan.iterator.strides[0][row] == 1 && plan.iterator.sizes[row] >= SIDE_MIN &&
           plan.iterator.sizes[plan.across] >= SIDE_MIN;
}

void kern_move_transpose_plan(const struct kern_op *op, uint32_t threads, struct kern_work *out)
{
    kern_move_any_plan(op, threads, out);
}

/* The edges that the tiles leave: right of them, then below. */
static void copy_edges(uint32_t bytes, const struct move_block *block, uint64_t width, uint64_t length)
{
    struct move_block right = *block, below = *block;
    right.width -= width;
    right.in += width * bytes;
    right.out += (int64_t)width * block->out_stride * bytes;
    right.length = length;
    below.length -= length;
    below.in += (int64_t)length * block->in_stride * bytes;
    below.out += length * bytes;
    if (right.width && right.length)
        block_copy(bytes, &right);
    if (below.length)
        block_copy(bytes, &below);
}

void move_block_transpose(const struct move_isa *isa, uint32_t bytes, const struct move_block *block)
{
    uint64_t width, length;
    if (!isa || block->row_stride != 1) {
        block_copy(bytes, block);
        return;
    }
    isa->transpose[bytes](block, &width, &length);
    copy_edges(bytes, block, width, length);
}

/* Prefetches the next transposed rows, which are pages apart, where the hardware prefetcher does not work. */
static void prefetch_ahead(const struct move_block *block, uint64_t at, uint64_t count, uint32_t bytes)
{
    const uint64_t end = BASE_MIN(at + count, block->length);
    for (; at < end; at++)
        for (uint64_t b = 0; b < block->width * bytes; b += 64)
            __builtin_prefetch(block->in + (int64_t)at * block->in_stride * bytes + b);
}

/* Piece by piece via the first-level cache, from where whole cache lines are stored non-temporally. */
static void transpose_non_temporal(const struct move_isa *isa, uint32_t bytes, const struct move_block *block)
{
    _Alignas(64) char transposed[STRIP_BYTES * PIECE_BYTES];
    const uint64_t most = PIECE_BYTES / bytes;
    for (uint64_t at = 0; at < block->length; at += most) {
        struct move_block piece = *block;
        piece.in += (int64_t)at * block->in_stride * bytes;
        piece.length = BASE_MIN(block->length - at, most);
        piece.out = transposed;
        piece.out_stride = (int64_t)most;
        prefetch_ahead(block, at + most, most, bytes);
        move_block_transpose(isa, bytes, &piece);
        for (uint64_t j = 0; j < block->width; j++)
            kern_stream(block->out + ((int64_t)j * block->out_stride + (int64_t)at) * bytes,
                        transposed + j * PIECE_BYTES, piece.length * bytes);
    }
}

void move_transpose_run(const struct kern_call *call, const struct move_isa *isa, uint64_t begin, uint64_t end)
{
    uint32_t bytes = kern_type_bytes(call->op->tensors[0].type);
    struct plan plan;
    plan_init(&plan, call->op);
    bool non_temporal = plan.non_temporal && plan.iterator.sizes[plan.iterator.rank - 1] * bytes >= PIECE_BYTES / 2;
    for (uint64_t unit = begin; unit < end; unit++) {
        struct move_block block = block_at(call, &plan, unit);
        if (non_temporal)
            transpose_non_temporal(isa, bytes, &block);
        else
            move_block_transpose(isa, bytes, &block);
    }
    if (non_temporal)
        kern_stream_end();
}

/* ---- the definition ---- */

static void move_element(const struct kern_call *call, const uint32_t *index)
{
    const struct kern_view *x = &call->op->tensors[0], *y = &call->op->tensors[1];
    kern_copy_element(y->type, call->data[1], kern_offset(y, index), call->data[0], kern_offset(x, index));
}

void kern_move_any_ref_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    kern_each_element(call, 1, begin, end, move_element);
}
