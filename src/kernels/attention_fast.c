#include "kernels/attention_fast.h"

#define DEPTH_MAX 4096

bool kern_attention_f32_accepts(const struct kern_op *op)
{
    const struct kern_view *t = op->tensors, *y = &t[op->input_count];
    struct attention_inputs in;
    if (op->epilogue || !attention_inputs_init(op, &in) || !dense_is_short_float(y->type))
        return false;
    for (uint32_t i = 0; i < (in.mask ? 4u : 3u); i++)
        if (!dense_is_short_float(t[i].type))
            return false;
    return t[0].sizes[3] <= DEPTH_MAX && y->sizes[3] <= DEPTH_MAX;
}

void kern_attention_f32_plan(const struct kern_op *op, const void *state, uint32_t threads, struct kern_work *out)
{
    const struct kern_view *k = &op->tensors[1], *y = &op->tensors[op->input_count];
    uint64_t rows = BASE_MIN(y->sizes[2], ATTENTION_ROWS), depth = k->sizes[3];
    uint64_t width = base_align_up(y->sizes[3], ATTENTION_STEP);
    (void)state;
    (void)threads;
    *out = (struct kern_work){ .units = (uint64_t)y->sizes[0] * y->sizes[1] *
                                        ((y->sizes[2] + ATTENTION_ROWS - 1) / ATTENTION_ROWS) };
    out->grain = dense_grain(rows * k->sizes[2] * (depth + width) / 8);
    uint64_t floats = ATTENTION_ROWS * (depth + ATTENTION_KEYS + width + 3) + ATTENTION_KEYS * (depth + width) +
                      4 * ATTENTION_KEYS + 4 * base_align_up(depth, 4);
    out->worker_scratch_bytes = floats * sizeof(float);
}
