#include "kernels/resample/resample.h"

#define REDUCTION_MAX 32

static bool untouched(const struct kern_op *op, uint32_t d)
{
    const struct kern_resample *r = &op->u.resample;
    return op->tensors[0].sizes[d] == op->tensors[1].sizes[d] && r->scales[d] == 1 &&
           r->input_offsets[d] + r->output_offsets[d] == 0;
}

void resample_plan_init(const struct kern_op *op, struct resample_plan *plan)
{
    dense_memory_order(&op->tensors[1], plan->order);
    plan->x = dense_permute(&op->tensors[0], plan->order);
    plan->y = dense_permute(&op->tensors[1], plan->order);
    uint32_t last = plan->y.rank - 1;
    plan->inner = last;
    plan->group = 1;
    plan->in = plan->x.sizes[last];
    plan->out = plan->y.sizes[last];
    plan->same = untouched(op, plan->order[last]);
    /* A few channels innermost would make very short rows: take the columns with them. */
    if (plan->same && last > 0 && plan->in < REDUCTION_MAX && plan->x.strides[last] == 1 &&
        plan->y.strides[last] == 1 && plan->x.strides[last - 1] == plan->in && plan->y.strides[last - 1] == plan->out) {
        plan->inner = last - 1;
        plan->group = plan->in;
        plan->in *= plan->x.sizes[last - 1];
        plan->out *= plan->y.sizes[last - 1];
        plan->same = untouched(op, plan->order[last - 1]);
    }
}

bool kern_resample_f32_accepts(const struct kern_op *op)
{
    const struct kern_view *x = &op->tensors[0], *y = &op->tensors[1];
    return !op->epilogue && !resample_uses_table(op) && x->rank == y->rank && x->type == y->type &&
           (dense_is_short_float(x->type) || x->type == DML_TENSOR_DATA_TYPE_INT8 ||
            x->type == DML_TENSOR_DATA_TYPE_UINT8);
}

void kern_resample_f32_plan(const struct kern_op *op, const void *state, uint32_t threads, struct kern_work *out)
{
    struct resample_plan plan;
    resample_plan_init(op, &plan);
    *out = (struct kern_work){ .units = kern_view_elements(&plan.y) / plan.out };
    out->grain = dense_grain(2 * (uint64_t)plan.out + plan.in);
    out->worker_scratch_bytes = (2ull * plan.in + 4ull * plan.out + 64) * sizeof(float);
    if (resample_keeps(&plan))
        out->worker_scratch_bytes += (uint64_t)RESAMPLE_KEPT * plan.out * sizeof(float);
}
