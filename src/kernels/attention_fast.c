#include "kernels/attention_fast.h"

#define DEPTH_MAX 512

bool kern_attention_f32_accepts(const struct kern_op *op)
{
    const struct kern_view *t = op->tensors, *y = &t[op->input_count];
    if (op->epilogue || op->input_count != (op->u.attention.has_mask ? 4u : 3u))
        return false;
    if (y->type != DML_TENSOR_DATA_TYPE_FLOAT32 && y->type != DML_TENSOR_DATA_TYPE_FLOAT16)
        return false;
    for (uint32_t i = 0; i <= op->input_count; i++) {
        if (t[i].rank != 4 || t[i].type != y->type)
            return false;
    }
    return t[0].sizes[3] == t[1].sizes[3] && t[1].sizes[2] == t[2].sizes[2] && t[2].sizes[3] == y->sizes[3] &&
           t[0].sizes[3] <= DEPTH_MAX && y->sizes[3] <= DEPTH_MAX;
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
    uint64_t floats = ATTENTION_ROWS * (depth + ATTENTION_KEYS + width + 2) + ATTENTION_KEYS * (depth + width) +
                      4 * depth + ATTENTION_KEYS;
    out->worker_scratch_bytes = floats * sizeof(float);
}
