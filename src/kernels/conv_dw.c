#include "kernels/conv_dw.h"

#define WIDTH_STEP 32 /* whole vectors of every instruction set */

void conv_dw_plan_init(const struct conv_shape *s, struct conv_dw_plan *plan)
{
    plan->width = (uint32_t)base_align_up((uint64_t)s->out[2], WIDTH_STEP);
    plan->line = (uint32_t)((plan->width - 1) * s->stride[2] + (s->kernel[2] - 1) * s->dilation[2] + 1);
    plan->phase = (uint32_t)(plan->line / s->stride[2] + 1);
    plan->slots = (uint32_t)((s->kernel[1] - 1) * s->dilation[1] + 1);
    plan->taps = (uint32_t)(s->kernel[1] * s->kernel[2]);
    uint64_t rows = (uint64_t)(plan->slots + 1) * plan->phase * (uint64_t)s->stride[2]; /* one more: zeros */
    plan->floats = base_align_up(rows + plan->line + plan->width + plan->taps, 16);
}

bool kern_conv_dw_f32_accepts(const struct kern_op *op)
{
    struct conv_shape s;
    DML_TENSOR_DATA_TYPE type = op->tensors[op->input_count].type;
    if (type != DML_TENSOR_DATA_TYPE_FLOAT32 && type != DML_TENSOR_DATA_TYPE_FLOAT16)
        return false;
    if (!dense_same_type(op, 0, op->u.conv.has_bias ? 2 : 1, type) || !conv_shape_init(op, &s))
        return false;
    if (s.transposed || s.in_group != 1 || s.groups < 2 || s.kernel[0] != 1 || s.out[0] != 1 || s.in[0] != 1 || s.pad[0])
        return false;
    /* The rows in scratch should stay in the second-level cache. */
    struct conv_dw_plan plan;
    conv_dw_plan_init(&s, &plan);
    return s.x[4] == 1 && s.y[4] == 1 && plan.floats <= 128 * 1024;
}

void kern_conv_dw_f32_plan(const struct kern_op *op, const void *state, uint32_t threads, struct kern_work *out)
{
    struct conv_shape s;
    struct conv_dw_plan plan;
    (void)state;
    (void)threads;
    conv_shape_init(op, &s);
    conv_dw_plan_init(&s, &plan);
    *out = (struct kern_work){ .units = (uint64_t)s.batch * s.out_channels };
    out->grain = dense_grain((uint64_t)(s.out[1] * s.out[2]) * plan.taps / 4);
    out->worker_scratch_bytes = plan.floats * sizeof(float) + plan.taps * sizeof(float *) +
                                plan.slots * sizeof(int64_t) + dense_epilogue_bytes(op) + 64;
}
