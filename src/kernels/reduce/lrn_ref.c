/* Local response normalisation, one element at a time, in double. */
#include "kernels/core/epilogue.h"
#include "kernels/map/map.h"

#include <math.h>

bool kern_lrn_any_ref_accepts(const struct kern_op *op)
{
    return op->tensors[0].rank >= 2 && op->u.lrn.local_size > 0;
}

void kern_lrn_any_ref_plan(const struct kern_op *op, const void *state, uint32_t threads, struct kern_work *out)
{
    *out = (struct kern_work){ .units = kern_view_elements(&op->tensors[0]), .grain = 1024 };
}

/* The window around `at`, cut at the tensor's edge: [*out_begin, result). */
static uint32_t window(uint32_t at, uint32_t size, uint32_t local_size, uint32_t *out_begin)
{
    uint32_t before = (local_size - 1) / 2, after = local_size - 1 - before;
    *out_begin = at > before ? at - before : 0;
    return (uint32_t)BASE_MIN((uint64_t)at + after + 1, size);
}

/* Sum of squares over a window of dimension `d` and of those after it. */
static double window_squares(const struct kern_call *call, uint32_t *index, uint32_t d, uint32_t last)
{
    const struct kern_view *x = &call->op->tensors[0];
    uint32_t at = index[d], begin;
    uint32_t end = window(at, x->sizes[d], call->op->u.lrn.local_size, &begin);
    double sum = 0;
    for (index[d] = begin; index[d] < end; index[d]++) {
        double value = d == last ? kern_read_double(x->type, call->data[0], kern_offset(x, index)) : 0;
        sum += d == last ? value * value : window_squares(call, index, d + 1, last);
    }
    index[d] = at;
    return sum;
}

void kern_lrn_any_ref_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    const struct kern_lrn *lrn = &call->op->u.lrn;
    const struct kern_view *x = &call->op->tensors[0];
    uint32_t first = lrn->cross_channel ? 1 : x->rank > 2 ? 2 : 1;
    uint32_t last = lrn->cross_channel ? 1 : x->rank - 1;
    uint32_t index[KERN_RANK_MAX];
    kern_unflatten(begin, x->rank, x->sizes, index);
    for (uint64_t i = begin; i < end; i++) {
        double value = kern_read_double(x->type, call->data[0], kern_offset(x, index));
        double squares = window_squares(call, index, first, last);
        double base = lrn->bias + (double)lrn->alpha / lrn->local_size * squares;
        kern_epilogue_store(call, index, value / pow(base, lrn->beta));
        kern_advance(x->rank, x->sizes, index);
    }
}
