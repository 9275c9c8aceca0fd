/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/recurrent/recurrent.h"

#include "kernels/core/dense.h"

bool kern_recurrent_any_ref_accepts(const struct kern_op *op);

bool kern_recurrent_f32_accepts(const struct kern_op *op)
{
    const struct kern_view *x = &op->tensors[0], *r = &op->tensors[1];
    if (!kern_recurrent_any_ref_accepts(op) || x->type != DML_TENSOR_DATA_TYPE_FLOAT32)
        return false;
    for (uint32_t i = 1; i < op->input_count + op->output_count; i++)
        if (i != op->u.recurrent.lengths && !dense_is_short_float(op->tensors[i].type))
            return false;
    if (op->u.recurrent.panels)
        return r->type == DML_TENSOR_DATA_TYPE_FLOAT32 && r->strides[4] == 1 &&
               (r->strides[3] == KERN_RECURRENT_PANEL || r->sizes[3] == 1);
    return r->strides[3] == 1 || r->sizes[3] == 1;
}

bool recurrent_by_team(const struct kern_op *op, uint32_t threads)
{
    const uint32_t *sizes = op->tensors[0].sizes;
    uint64_t rows = sizes[1], hidden = sizes[4], blocks = (rows + 3) / 4 * sizes[2];
    return threads > blocks && BASE_MIN(rows, RECURRENT_ROWS) * hidden * hidden * sizes[3] >= RECURRENT_TEAM_MIN;
}

void kern_recurrent_f32_plan(const struct kern_op *op, const void *state, uint32_t threads, struct kern_work *out)
{
    const uint32_t *sizes = op->tensors[0].sizes;
    uint64_t rows = sizes[1], hidden = sizes[4];
    (void)state;
    *out = (struct kern_work){ .units = rows * sizes[2] };
    /* R is read once for up to four rows in the time of one. */
    out->grain = BASE_MAX(dense_grain(sizes[0] * (hidden + 16) * hidden * sizes[3] / 8), BASE_MIN(rows, 4));
    if (recurrent_by_team(op, threads))
        out->grain = out->units;
    uint64_t parts = BASE_MIN(rows, RECURRENT_ROWS) * RECURRENT_ROW_PARTS + RECURRENT_SAME_PARTS;
    out->worker_scratch_bytes = parts * recurrent_width(sizes[4]) * sizeof(float);
}
