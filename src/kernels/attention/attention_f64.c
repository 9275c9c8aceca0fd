/* SPDX-License-Identifier: Apache-2.0 */
/* Attention of FLOAT64, some queries against all keys at once. */
#include "kernels/attention/attention_f64.h"

bool kern_attention_f64_accepts(const struct kern_op *op)
{
    const struct kern_view *t = op->tensors;
    struct attention_inputs in;
    return !op->epilogue && attention_inputs_init(op, &in) && dense_same_type(op, 0, 2, DML_TENSOR_DATA_TYPE_FLOAT64) &&
           t[op->input_count].type == DML_TENSOR_DATA_TYPE_FLOAT64 &&
           (!in.mask || t[in.mask].type == DML_TENSOR_DATA_TYPE_FLOAT64);
}

void kern_attention_f64_plan(const struct kern_op *op, const void *state, uint32_t threads, struct kern_work *out)
{
    const struct kern_view *k = &op->tensors[1], *y = &op->tensors[op->input_count];
    const uint64_t keys = k->sizes[2], depth = k->sizes[3], width = y->sizes[3];
    (void)state;
    (void)threads;
    *out = (struct kern_work){ .units = (uint64_t)y->sizes[0] * y->sizes[1] *
                                        ((y->sizes[2] + ATTENTION_F64_ROWS - 1) / ATTENTION_F64_ROWS) };
    out->grain = dense_grain(keys * (depth + width + 16));
    out->worker_scratch_bytes = (ATTENTION_F64_ROWS * (attention_f64_pitch(depth) + keys + attention_f64_pitch(width)) +
                                 BASE_MAX(attention_f64_pitch(depth), attention_f64_pitch(width))) *
                                sizeof(double);
}
