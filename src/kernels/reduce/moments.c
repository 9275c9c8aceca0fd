/* Mean and variance, and the sums of gradients, of FLOAT32, FLOAT16 and bfloat16. */
#include "kernels/core/dense.h"
#include "kernels/reduce/reduction.h"

static bool same_ranks(const struct kern_op *op)
{
    for (uint32_t t = 1; t < op->input_count + op->output_count; t++)
        if (op->tensors[t].rank != op->tensors[0].rank)
            return false;
    return true;
}

bool kern_moments_float_accepts(const struct kern_op *op)
{
    return kern_reductions_accept(op) && !op->epilogue && op->input_count == 1 && op->output_count == 2 &&
           same_ranks(op);
}

void kern_moments_float_plan(const struct kern_op *op, const void *state, uint32_t threads, struct kern_work *out)
{
    kern_reductions_plan(op, op->u.moments.axes, 0, out);
}

void kern_moments_run(const struct kern_call *call, const struct kern_reduction_isa *isa, uint64_t begin, uint64_t end)
{
    struct kern_reductions groups;
    double mean[KERN_REDUCTION_TILE], squares[KERN_REDUCTION_TILE];
    kern_reductions_init(&groups, call, isa, call->op->u.moments.axes, false);
    for (uint32_t width; begin < end; begin += width) {
        width = kern_reductions_width(&groups, begin, end);
        kern_reductions_moments(&groups, begin, width, mean, squares);
        for (uint32_t i = 0; i < width; i++)
            squares[i] /= (double)groups.inner.count;
        kern_reductions_store(&groups, 1, begin, width, mean, 1);
        kern_reductions_store(&groups, 2, begin, width, squares, 1);
    }
}

bool kern_grad_sums_float_accepts(const struct kern_op *op)
{
    return kern_reductions_accept(op) && !op->epilogue && op->input_count == 3 && op->output_count == 3 &&
           dense_is_short_float(op->tensors[1].type) && same_ranks(op);
}

void kern_grad_sums_float_plan(const struct kern_op *op, const void *state, uint32_t threads, struct kern_work *out)
{
    kern_reductions_plan(op, op->u.grad_sums.axes, 0, out);
}

void kern_grad_sums_run(const struct kern_call *call, const struct kern_reduction_isa *isa, uint64_t begin,
                        uint64_t end)
{
    struct kern_reductions groups;
    double sums[3 * KERN_REDUCTION_TILE];
    const struct kern_view *c = &call->op->tensors[2];
    kern_reductions_init(&groups, call, isa, call->op->u.grad_sums.axes, false);
    float *center = groups.scratch->a;
    for (uint32_t width; begin < end; begin += width) {
        width = kern_reductions_width(&groups, begin, end);
        for (uint32_t i = 0; i < width; i++)
            center[i] =
                (float)kern_read_double(c->type, call->data[2], kern_iterator_offset(&groups.outer, 2, begin + i));
        kern_reductions_pairs(&groups, begin, width, center, sums);
        for (uint32_t s = 0; s < 3; s++)
            kern_reductions_store(&groups, 3 + s, begin, width, sums + s, 3);
    }
}
