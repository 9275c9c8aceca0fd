/* SPDX-License-Identifier: Apache-2.0 */
/* Partition of GEMMs with few columns (gemm_narrow.h). */
#include "kernels/gemm/gemm_narrow.h"
#include "kernels/map/map.h"

#define LEAST_ROWS  16
#define LEAST_BLOCK 64 /* rows of a block, unless blocks are many */
#define MANY_BLOCKS 16

void gemm_narrow_init(const struct kern_op *op, struct gemm_narrow *out)
{
    const struct kern_view *a = &op->tensors[0], *b = &op->tensors[1], *y = &op->tensors[op->input_count];
    const struct kern_gemm *gemm = &op->u.gemm;
    const uint64_t rows = dense_rows(y);
    uint64_t floats = 0;
    const uint32_t inputs = op->epilogue ? kern_epilogue_inputs(op) : 1;
    bool merges = gemm_repeats(b, b->rank - 2);
    *out = (struct gemm_narrow){ .n = y->sizes[y->rank - 1], .k = a->sizes[a->rank - 1] };
    for (uint32_t t = 0; t <= op->input_count; t++)
        if (t != 1 && (t != 2 || !gemm->has_c)) /* C is read row by row */
            merges = merges && gemm_rows_even(&op->tensors[t], y, &out->row[t]);
    out->rows = merges ? rows : y->sizes[y->rank - 2];
    for (uint32_t t = 0; t <= op->input_count && !merges; t++)
        out->row[t] = gemm_row_step(&op->tensors[t]);
    out->batches = rows / out->rows;
    const uint64_t block_rows = base_align_up(out->rows / MANY_BLOCKS, LEAST_BLOCK);
    out->block_rows = (uint32_t)BASE_MIN(BASE_MAX(block_rows, LEAST_BLOCK), GEMM_NARROW_ROWS);
    out->blocks = (out->rows + out->block_rows - 1) / out->block_rows;
    out->adds = gemm->has_c && gemm->beta != 0;
    out->adds_row = out->adds && gemm_repeats(&op->tensors[2], y->rank - 1);
    out->turned = !out->adds && out->row[op->input_count] == 1;
    const uint64_t block = (uint64_t)GEMM_NARROW_ROWS * out->n;
    out->a = dense_take(&floats, (uint64_t)GEMM_NARROW_PITCH * GEMM_NARROW_DEPTH, 16);
    out->b = dense_take(&floats, (uint64_t)out->k * GEMM_NARROW_COLUMNS, 16);
    out->c = dense_take(&floats, (uint64_t)GEMM_NARROW_ROWS * GEMM_NARROW_COLUMNS, 16);
    out->block = dense_take(&floats, block + 16, 16) /* whole vectors are stored */;
    out->added = dense_take(&floats, out->adds_row ? block : 0, 16);
    out->same = dense_take(&floats, block * (inputs - 1), 16);
    out->epilogue = floats;
    out->bytes = floats * sizeof(float) + (op->epilogue ? kern_map_block_bytes(op->epilogue, inputs) : 0);
}

bool kern_gemm_narrow_f32_accepts(const struct kern_op *op)
{
    const struct kern_view *y = &op->tensors[op->input_count];
    return !op->u.gemm.integer && dense_short_floats(op) && kern_gemm_any_ref_accepts(op) &&
           y->sizes[y->rank - 1] <= GEMM_NARROW_COLUMNS && dense_rows(y) >= LEAST_ROWS &&
           y->sizes[y->rank - 2] >= LEAST_ROWS;
}

void kern_gemm_narrow_f32_plan(const struct kern_op *op, uint32_t threads, struct kern_work *out)
{
    struct gemm_narrow p;
    gemm_narrow_init(op, &p);
    *out = (struct kern_work){ .units = p.batches * p.blocks };
    out->grain = dense_grain((uint64_t)p.k * p.block_rows);
    out->worker_scratch_bytes = p.bytes;
}
