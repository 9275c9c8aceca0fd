/* SPDX-License-Identifier: Apache-2.0 */
/* Partition of GEMMs with plain factors (gemm_plain.h). */
#include "kernels/gemm/gemm_plain.h"
#include "kernels/row/row.h"

void gemm_plain_init(const struct kern_op *op, struct gemm_plain *out)
{
    const struct kern_view *a = &op->tensors[0], *b = &op->tensors[1], *y = &op->tensors[op->input_count];
    const struct kern_gemm *gemm = &op->u.gemm;
    const uint64_t rows = dense_rows(y);
    uint64_t floats = 0;
    *out = (struct gemm_plain){ .n = y->sizes[y->rank - 1], .k = a->sizes[a->rank - 1] };
    const bool merges =
        gemm_repeats(b, b->rank - 2) && gemm_rows_even(a, y, &out->a_row) && gemm_rows_even(y, y, &out->y_row);
    out->rows = merges ? rows : y->sizes[y->rank - 2];
    if (!merges) {
        out->a_row = gemm_row_step(a);
        out->y_row = gemm_row_step(y);
    }
    out->batches = rows / out->rows;
    out->blocks = (out->rows + GEMM_PLAIN_ROWS - 1) / GEMM_PLAIN_ROWS;
    out->block_rows = (uint32_t)base_align_up((out->rows + out->blocks - 1) / out->blocks, 8);
    out->panels = ((uint64_t)out->n + GEMM_PLAIN_COLUMNS - 1) / GEMM_PLAIN_COLUMNS;
    out->direct = !op->epilogue && gemm->alpha == 1 && !(gemm->has_c && gemm->beta != 0) &&
                  y->type == DML_TENSOR_DATA_TYPE_FLOAT32 && (y->strides[y->rank - 1] == 1 || out->n == 1);
    out->a = dense_take(&floats, (uint64_t)out->block_rows * GEMM_PLAIN_DEPTH, 16);
    out->b = dense_take(&floats, (uint64_t)GEMM_PLAIN_COLUMNS * GEMM_PLAIN_DEPTH, 16);
    out->c = dense_take(&floats, (uint64_t)out->block_rows * GEMM_PLAIN_PITCH, 16);
    out->epilogue = floats;
}

bool kern_gemm_plain_f32_accepts(const struct kern_op *op)
{
    return !op->u.gemm.integer && dense_short_floats(op) && kern_gemm_any_ref_accepts(op);
}

void kern_gemm_plain_f32_plan(const struct kern_op *op, uint32_t threads, struct kern_work *out)
{
    struct gemm_plain p;
    gemm_plain_init(op, &p);
    *out = (struct kern_work){ .units = p.batches * p.blocks * p.panels };
    out->grain = dense_grain((uint64_t)p.k * p.block_rows * GEMM_PLAIN_COLUMNS / 16);
    out->worker_scratch_bytes = p.epilogue * sizeof(float) + dense_epilogue_bytes(op);
}
