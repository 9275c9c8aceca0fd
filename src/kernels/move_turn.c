/* Moves that turn rows into columns, by tiles in registers. */
#include "kernels/move.h"

enum { LEAST = 16 }; /* shorter sides are not worth it */

bool kern_move_turn_accepts(const struct kern_op *op)
{
    struct move_plan plan;
    if (!kern_move_any_accepts(op) || !kern_type_bytes(op->tensors[0].type))
        return false;
    move_plan_init(&plan, op);
    uint32_t row = plan.walk.rank - 1;
    return plan.crossed && plan.walk.strides[0][row] == 1 && plan.walk.sizes[row] >= LEAST &&
           plan.walk.sizes[plan.across] >= LEAST;
}

void kern_move_turn_plan(const struct kern_op *op, const void *state, uint32_t threads, struct kern_work *out)
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

void move_turn_run(const struct kern_call *call, const struct move_isa *isa, uint64_t begin, uint64_t end)
{
    uint32_t bytes = kern_type_bytes(call->op->tensors[0].type);
    struct move_plan plan;
    move_plan_init(&plan, call->op);
    for (uint64_t unit = begin; unit < end; unit++) {
        struct move_block block = move_block_at(call, &plan, unit);
        uint64_t width, length;
        isa->turn[bytes](&block, &width, &length);
        copy_edges(bytes, &block, width, length);
    }
}
