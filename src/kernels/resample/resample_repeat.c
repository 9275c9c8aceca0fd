/* Nearest resampling by whole factors: each element is repeated, which is a move from a view that stands still along
 * the repetitions. */
#include "kernels/move/move.h"
#include "kernels/resample/resample.h"

enum { MAX_CHECKED = 65536 };

/* Does dimension d repeat each element as often? Floating-point coordinates decide, so all are looked at. */
static bool repeats(const struct kern_op *op, uint32_t d)
{
    const uint32_t in = op->tensors[0].sizes[d], out = op->tensors[1].sizes[d];
    if (out % in || out > MAX_CHECKED)
        return false;
    for (uint32_t o = 0; o < out; o++) {
        const struct resample_tap tap = resample_tap(op, d, o);
        if (tap.i0 != o / (out / in) || tap.w != 0)
            return false;
    }
    return true;
}

static void add_dimension(struct kern_op *move, uint32_t size, int64_t in_stride, int64_t out_stride)
{
    for (uint32_t t = 0; t < 2; t++) {
        struct kern_view *view = &move->tensors[t];
        view->sizes[view->rank] = size;
        view->strides[view->rank++] = t ? out_stride : in_stride;
    }
}

/* false: the views would take too many dimensions */
static bool move_init(struct kern_op *move, const struct kern_op *op)
{
    *move = (struct kern_op){ .kind = KERN_MOVE, .input_count = 1, .output_count = 1 };
    move->tensors[0].type = op->tensors[0].type;
    move->tensors[1].type = op->tensors[1].type;
    for (uint32_t d = 0; d < op->tensors[0].rank; d++) {
        const struct kern_view *x = &op->tensors[0], *y = &op->tensors[1];
        const uint32_t times = y->sizes[d] / x->sizes[d];
        if (move->tensors[0].rank + (times > 1 ? 2 : 1) > KERN_RANK_MAX)
            return false;
        add_dimension(move, x->sizes[d], x->strides[d], y->strides[d] * times);
        if (times > 1)
            add_dimension(move, times, 0, y->strides[d]);
    }
    return true;
}

bool kern_resample_repeat_accepts(const struct kern_op *op)
{
    const struct kern_view *x = &op->tensors[0], *y = &op->tensors[1];
    struct kern_op move;
    if (op->epilogue || resample_uses_table(op) || x->rank != y->rank || x->type != y->type ||
        !kern_type_bytes(x->type) || op->u.resample.mode != DML_INTERPOLATION_MODE_NEAREST_NEIGHBOR)
        return false;
    for (uint32_t d = 0; d < x->rank; d++)
        if (!repeats(op, d))
            return false;
    return move_init(&move, op);
}

void kern_resample_repeat_plan(const struct kern_op *op, const void *state, uint32_t threads, struct kern_work *out)
{
    struct kern_op move;
    move_init(&move, op);
    if (kern_move_interleave_accepts(&move))
        kern_move_interleave_plan(&move, state, threads, out);
    else
        kern_move_any_plan(&move, state, threads, out);
}

void resample_repeat_run(const struct kern_call *call, const struct move_isa *isa, uint64_t begin, uint64_t end)
{
    struct kern_op move;
    const struct kern_call inner = { .op = &move, .data = call->data };
    move_init(&move, call->op);
    if (kern_move_interleave_accepts(&move))
        move_interleave_run(&inner, isa, begin, end);
    else
        kern_move_any_run(&inner, begin, end);
}
