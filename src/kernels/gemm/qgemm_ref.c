/* SPDX-License-Identifier: Apache-2.0 */
/* KERN_QGEMM by its definition, in double. */
#include "kernels/core/number.h"
#include "kernels/gemm/qgemm.h"

bool kern_qgemm_any_ref_accepts(const struct kern_op *op)
{
    struct qgemm_shape shape;
    return qgemm_shape_init(op, &shape) && dense_is_float(op->tensors[0].type) &&
           dense_is_float(op->tensors[op->input_count].type);
}

void kern_qgemm_any_ref_plan(const struct kern_op *op, const void *state, uint32_t threads, struct kern_work *out)
{
    struct qgemm_shape shape;
    qgemm_shape_init(op, &shape);
    *out = (struct kern_work){ .units = (uint64_t)shape.rows * shape.panels, .grain = 1 };
}

/* Row `row` of a group, one code for each column. */
static void load_codes(const struct kern_call *call, const struct qgemm_shape *s, uint64_t group, uint32_t row,
                       double *out)
{
    const uint32_t word = s->nibbles ? 8 : 4;
    uint64_t first = group * s->depth * KERN_QGEMM_COLUMNS + (uint64_t)(row / word) * word * KERN_QGEMM_COLUMNS;
    for (uint32_t c = 0; c < KERN_QGEMM_COLUMNS; c++)
        out[c] = kern_read_double(call->op->tensors[1].type, call->data[1], (int64_t)first + c * word + row % word);
}

static void add_group(const struct kern_call *call, const struct qgemm_shape *s, uint64_t panel, uint32_t g,
                      int64_t x_at, double *sums)
{
    const struct kern_view *x = &call->op->tensors[0];
    uint64_t group = panel * s->groups + g;
    double codes[KERN_QGEMM_COLUMNS], scales[KERN_QGEMM_COLUMNS], zeros[KERN_QGEMM_COLUMNS] = { 0 };
    for (uint32_t c = 0; c < KERN_QGEMM_COLUMNS; c++) {
        int64_t at = (int64_t)group * KERN_QGEMM_COLUMNS + c;
        scales[c] = dense_load(call->data[2], at, call->op->tensors[2].type);
        if (call->op->u.qgemm.has_zero)
            zeros[c] = ((const int8_t *)call->data[3])[at];
    }
    for (uint32_t row = 0; row < s->block && g * s->block + row < s->k; row++) {
        int64_t step = s->k > 1 ? x->strides[x->rank - 1] : 0;
        double value = dense_load(call->data[0], x_at + (int64_t)(g * s->block + row) * step, x->type);
        load_codes(call, s, group, row, codes);
        for (uint32_t c = 0; c < KERN_QGEMM_COLUMNS; c++)
            sums[c] += value * ((codes[c] - zeros[c]) * scales[c]);
    }
}

void kern_qgemm_any_ref_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    const struct kern_view *x = &call->op->tensors[0], *y = &call->op->tensors[call->op->input_count];
    uint32_t at[KERN_RANK_MAX], last = y->rank - 1;
    struct qgemm_shape s;
    qgemm_shape_init(call->op, &s);
    for (uint64_t unit = begin; unit < end; unit++) {
        double sums[KERN_QGEMM_COLUMNS] = { 0 };
        uint64_t panel = unit % s.panels;
        dense_row_at(y, unit / s.panels, at);
        int64_t x_at = dense_offset(x, at, last);
        for (uint32_t g = 0; g < s.groups; g++)
            add_group(call, &s, panel, g, x_at, sums);
        at[last] = (uint32_t)panel * KERN_QGEMM_COLUMNS;
        dense_finish(call, at, BASE_MIN(s.n - at[last], KERN_QGEMM_COLUMNS), sums);
    }
}
