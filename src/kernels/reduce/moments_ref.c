/* Mean and variance, and the sums of gradients, one group of elements at a time, in double. */
#include "kernels/core/number.h"

static double read_at(const struct kern_call *call, uint32_t tensor, const uint32_t *index)
{
    const struct kern_view *view = &call->op->tensors[tensor];
    return kern_read_double(view->type, call->data[tensor], kern_offset(view, index));
}

static void write_at(const struct kern_call *call, uint32_t tensor, const uint32_t *index, double value)
{
    const struct kern_view *view = &call->op->tensors[tensor];
    kern_write_double(view->type, call->data[tensor], kern_offset(view, index), value);
}

static void plan_groups(const struct kern_view *x, uint32_t axes, struct kern_work *out)
{
    uint64_t groups = 1;
    for (uint32_t d = 0; d < x->rank; d++)
        groups *= axes >> d & 1 ? 1 : x->sizes[d];
    *out = (struct kern_work){ .units = groups, .grain = BASE_MAX(1, 4096 * groups / kern_view_elements(x)) };
}

bool kern_moments_any_ref_accepts(const struct kern_op *op)
{
    return op->input_count == 1 && op->output_count == 2 && op->tensors[0].rank == op->tensors[1].rank &&
           op->tensors[0].rank == op->tensors[2].rank && kern_type_bytes(op->tensors[1].type) &&
           kern_type_bytes(op->tensors[2].type);
}

void kern_moments_any_ref_plan(const struct kern_op *op, const void *state, uint32_t threads, struct kern_work *out)
{
    plan_groups(&op->tensors[0], op->u.moments.axes, out);
}

void kern_moments_any_ref_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    const struct kern_view *x = &call->op->tensors[0];
    uint32_t outer[KERN_RANK_MAX], inner[KERN_RANK_MAX], index[KERN_RANK_MAX];
    kern_split_sizes(x, call->op->u.moments.axes, outer, inner);
    for (uint64_t i = begin; i < end; i++) {
        double sum = 0, squares = 0, count = 0;
        kern_unflatten(i, x->rank, outer, index);
        do {
            sum += read_at(call, 0, index);
            count++;
        } while (kern_advance(x->rank, inner, index));
        do {
            double difference = read_at(call, 0, index) - sum / count;
            squares += difference * difference;
        } while (kern_advance(x->rank, inner, index));
        write_at(call, 1, index, sum / count);
        write_at(call, 2, index, squares / count);
    }
}

bool kern_grad_sums_any_ref_accepts(const struct kern_op *op)
{
    for (uint32_t t = 1; t < 6; t++)
        if (op->tensors[t].rank != op->tensors[0].rank || !kern_type_bytes(op->tensors[t].type))
            return false;
    return op->input_count == 3 && op->output_count == 3;
}

void kern_grad_sums_any_ref_plan(const struct kern_op *op, const void *state, uint32_t threads, struct kern_work *out)
{
    plan_groups(&op->tensors[0], op->u.grad_sums.axes, out);
}

void kern_grad_sums_any_ref_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    const struct kern_view *x = &call->op->tensors[0];
    uint32_t outer[KERN_RANK_MAX], inner[KERN_RANK_MAX], index[KERN_RANK_MAX];
    kern_split_sizes(x, call->op->u.grad_sums.axes, outer, inner);
    for (uint64_t i = begin; i < end; i++) {
        double sums[3] = { 0 };
        kern_unflatten(i, x->rank, outer, index);
        do {
            double difference = read_at(call, 0, index) - read_at(call, 2, index), g = read_at(call, 1, index);
            sums[0] += g;
            sums[1] += g * difference;
            sums[2] += difference;
        } while (kern_advance(x->rank, inner, index));
        for (uint32_t s = 0; s < 3; s++)
            write_at(call, 3 + s, index, sums[s]);
    }
}
