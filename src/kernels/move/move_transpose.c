/* SPDX-License-Identifier: Apache-2.0 */
/* Moves that transpose rows into columns, by tiles in registers. */
#include "kernels/move/move.h"
#include "kernels/core/stream.h"

enum {
    SIDE_MIN = 16,     /* shorter sides are not worth it */
    PIECE_BYTES = 128, /* of a row that goes past the caches */
};

bool kern_move_transpose_accepts(const struct kern_op *op)
{
    struct move_plan plan;
    if (!kern_move_any_accepts(op) || !kern_type_bytes(op->tensors[0].type))
        return false;
    move_plan_init(&plan, op);
    uint32_t row = plan.iterator.rank - 1;
    return plan.crossed && plan.iterator.strides[0][row] == 1 && plan.iterator.sizes[row] >= SIDE_MIN &&
           plan.iterator.sizes[plan.across] >= SIDE_MIN;
}

void kern_move_transpose_plan(const struct kern_op *op, const void *state, uint32_t threads, struct kern_work *out)
{
    kern_move_any_plan(op, state, threads, out);
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
        move_block_copy(bytes, &right);
    if (below.length)
        move_block_copy(bytes, &below);
}

void move_block_transpose(const struct move_isa *isa, uint32_t bytes, const struct move_block *block)
{
    uint64_t width, length;
    if (!isa || block->row_stride != 1) {
        move_block_copy(bytes, block);
        return;
    }
    isa->transpose[bytes](block, &width, &length);
    copy_edges(bytes, block, width, length);
}

/* What is transposed next: its rows are pages apart, where the processor does not look ahead. */
static void prefetch_ahead(const struct move_block *block, uint64_t at, uint64_t count, uint32_t bytes)
{
    const uint64_t end = BASE_MIN(at + count, block->length);
    for (; at < end; at++)
        for (uint64_t b = 0; b < block->width * bytes; b += 64)
            __builtin_prefetch(block->in + (int64_t)at * block->in_stride * bytes + b);
}

/* Piece by piece by way of the nearest cache, from where whole lines go past all caches. */
static void transpose_non_temporal(const struct move_isa *isa, uint32_t bytes, const struct move_block *block)
{
    _Alignas(64) char transposed[MOVE_STRIP_BYTES * PIECE_BYTES];
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
    struct move_plan plan;
    move_plan_init(&plan, call->op);
    bool non_temporal = plan.non_temporal && plan.iterator.sizes[plan.iterator.rank - 1] * bytes >= PIECE_BYTES / 2;
    for (uint64_t unit = begin; unit < end; unit++) {
        struct move_block block = move_block_at(call, &plan, unit);
        if (non_temporal)
            transpose_non_temporal(isa, bytes, &block);
        else
            move_block_transpose(isa, bytes, &block);
    }
    if (non_temporal)
        kern_stream_end();
}
