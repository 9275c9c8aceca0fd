/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/attention/attention_fast.h"

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

void attention_scratch_init(const struct kern_op *op, struct attention_scratch *out)
{
    const struct kern_view *k = &op->tensors[1], *v = &op->tensors[2], *y = &op->tensors[op->input_count];
    const uint64_t depth = k->sizes[3];
    out->rows = (uint32_t)base_align_up(BASE_MIN(y->sizes[2], ATTENTION_ROWS), ATTENTION_LINE);
    out->keys = (uint32_t)base_align_up(BASE_MIN(k->sizes[2], ATTENTION_KEYS), ATTENTION_LINE);
    out->width = (uint32_t)base_align_up(y->sizes[3], ATTENTION_STEP);
    bool copies_k = !attention_direct(k, y->sizes[2]) && !attention_in_place(k, k->sizes[3]);
    out->scores = out->rows * depth;
    out->sums = out->scores + (uint64_t)out->rows * out->keys;
    out->k = out->sums + (uint64_t)out->rows * out->width;
    out->v = out->k + (copies_k ? out->keys * depth : 0);
    out->rows_state = out->v + (attention_in_place(v, out->width) ? 0 : (uint64_t)out->keys * out->width);
    out->masks = out->rows_state + 3 * out->rows;
    out->rows4 = out->masks + 4 * out->keys;
    out->floats = out->rows4 + 4 * base_align_up(depth, 4);
}

void kern_attention_f32_plan(const struct kern_op *op, const void *state, uint32_t threads, struct kern_work *out)
{
    const struct kern_view *k = &op->tensors[1], *y = &op->tensors[op->input_count];
    uint64_t rows = BASE_MIN(y->sizes[2], ATTENTION_ROWS);
    struct attention_scratch scratch;
    (void)state;
    (void)threads;
    attention_scratch_init(op, &scratch);
    *out = (struct kern_work){ .units = (uint64_t)y->sizes[0] * y->sizes[1] *
                                        ((y->sizes[2] + ATTENTION_ROWS - 1) / ATTENTION_ROWS) };
    out->grain = dense_grain(rows * k->sizes[2] * (k->sizes[3] + scratch.width) / 8);
    out->worker_scratch_bytes = scratch.floats * sizeof(float);
}
