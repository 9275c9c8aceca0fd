/* Running sums, one element after the other. */
#include "kernels/core/number.h"

bool kern_scan_any_ref_accepts(const struct kern_op *op)
{
    const struct kern_view *x = &op->tensors[0], *y = &op->tensors[op->input_count];
    const struct kern_scan *scan = &op->u.scan;
    if (op->epilogue || op->input_count != 1u + scan->has_init || x->rank != y->rank || scan->axis >= x->rank)
        return false;
    for (uint32_t t = 1; t < op->input_count + op->output_count; t++)
        if ((kern_type_class(op->tensors[t].type) == KERN_CLASS_FLOAT) !=
            (kern_type_class(x->type) == KERN_CLASS_FLOAT))
            return false;
    return y->sizes[scan->axis] == (scan->total ? 1 : x->sizes[scan->axis]) && kern_type_bytes(y->type);
}

void kern_scan_any_ref_plan(const struct kern_op *op, const void *state, uint32_t threads, struct kern_work *out)
{
    uint32_t length = op->tensors[0].sizes[op->u.scan.axis];
    *out = (struct kern_work){ .units = kern_view_elements(&op->tensors[0]) / length,
                               .grain = BASE_MAX(1, 8192 / length) };
}

static struct kern_number joined(struct kern_number sum, struct kern_number x, bool product)
{
    if (x.class == KERN_CLASS_FLOAT)
        sum.f = product ? sum.f * x.f : sum.f + x.f;
    else
        sum.u = product ? sum.u * x.u : sum.u + x.u;
    return sum;
}

static void scan_line(const struct kern_call *call, uint32_t *index)
{
    const struct kern_op *op = call->op;
    const struct kern_scan *scan = &op->u.scan;
    const struct kern_view *x = &op->tensors[0], *y = &op->tensors[op->input_count];
    void *out = call->data[op->input_count];
    struct kern_number sum = kern_from_double(scan->product);
    if (kern_type_class(x->type) != KERN_CLASS_FLOAT)
        sum = (struct kern_number){ .class = kern_type_class(x->type), .u = scan->product };
    if (scan->has_init)
        sum = kern_read(op->tensors[1].type, call->data[1], kern_offset(&op->tensors[1], index));
    int64_t from = kern_offset(x, index), to = kern_offset(y, index);
    for (uint32_t i = 0; i < x->sizes[scan->axis]; i++) {
        struct kern_number next =
            joined(sum, kern_read(x->type, call->data[0], from + i * x->strides[scan->axis]), scan->product);
        if (!scan->total)
            kern_write(y->type, out, to + i * y->strides[scan->axis], scan->exclusive ? sum : next);
        sum = next;
    }
    if (scan->total)
        kern_write(y->type, out, to, sum);
}

void kern_scan_any_ref_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    const struct kern_view *x = &call->op->tensors[0];
    uint32_t outer[KERN_RANK_MAX], inner[KERN_RANK_MAX], index[KERN_RANK_MAX];
    kern_split_sizes(x, UINT32_C(1) << call->op->u.scan.axis, outer, inner);
    for (uint64_t line = begin; line < end; line++) {
        kern_unflatten(line, x->rank, outer, index);
        scan_line(call, index);
    }
}
