#include "kernels/resample_fast.h"

void resample_plan_init(const struct kern_op *op, struct resample_plan *plan)
{
    const struct kern_resample *r = &op->u.resample;
    dense_memory_order(&op->tensors[1], plan->order);
    plan->x = dense_permute(&op->tensors[0], plan->order);
    plan->y = dense_permute(&op->tensors[1], plan->order);
    uint32_t last = plan->y.rank - 1, d = plan->order[last];
    plan->in = plan->x.sizes[last];
    plan->out = plan->y.sizes[last];
    plan->same = plan->in == plan->out && r->scales[d] == 1 && r->input_offsets[d] + r->output_offsets[d] == 0;
}

bool kern_resample_f32_accepts(const struct kern_op *op)
{
    const struct kern_view *x = &op->tensors[0], *y = &op->tensors[1];
    return !op->epilogue && x->rank == y->rank && x->type == y->type &&
           (x->type == DML_TENSOR_DATA_TYPE_FLOAT32 || x->type == DML_TENSOR_DATA_TYPE_FLOAT16);
}

void kern_resample_f32_plan(const struct kern_op *op, const void *state, uint32_t threads, struct kern_work *out)
{
    struct resample_plan plan;
    (void)state;
    (void)threads;
    resample_plan_init(op, &plan);
    *out = (struct kern_work){ .units = dense_rows(&plan.y), .grain = dense_grain(2 * (uint64_t)plan.out + plan.in) };
    out->worker_scratch_bytes = (2ull * plan.in + 4ull * plan.out + 64) * sizeof(float);
}
