/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix product, the definition: double accumulation in the order of k. */
#include "kernels/gemm/gemm.h"
#include "kernels/gemm/blocked_gemm.h"

#define COLUMNS 64

bool kern_gemm_any_ref_accepts(const struct kern_op *op)
{
    const struct kern_view *a = &op->tensors[0], *b = &op->tensors[1], *y = &op->tensors[op->input_count];
    if (a->rank < 2 || a->rank != b->rank || a->rank != y->rank)
        return false;
    return blocked_gemm_types_fit(op, op->u.gemm.integer, op->u.gemm.has_c);
}

bool gemm_bytes(DML_TENSOR_DATA_TYPE type)
{
    return type == DML_TENSOR_DATA_TYPE_INT8 || type == DML_TENSOR_DATA_TYPE_UINT8;
}

void kern_gemm_any_ref_plan(const struct kern_op *op, const void *state, uint32_t threads, struct kern_work *out)
{
    const struct kern_view *a = &op->tensors[0], *y = &op->tensors[op->input_count];
    uint64_t cost = (uint64_t)a->sizes[a->rank - 1] * y->sizes[y->rank - 1];
    *out = (struct kern_work){ .units = dense_rows(y), .grain = dense_grain(cost) };
}

struct gemm_line {
    const void *a, *b;
    int64_t a_at, a_step, b_at, b_row, b_step;
    uint32_t k, n;
    double a_zero, b_zero[COLUMNS];
};

/* Sums of integers are exact in double, too. */
DENSE_INLINE void gemm_columns(const struct gemm_line *line, DML_TENSOR_DATA_TYPE a_type, DML_TENSOR_DATA_TYPE b_type,
                               double *sums)
{
    for (uint32_t n = 0; n < line->n; n++)
        sums[n] = 0;
    for (uint32_t k = 0; k < line->k; k++) {
        double a = dense_load(line->a, line->a_at + k * line->a_step, a_type) - line->a_zero;
        int64_t b_at = line->b_at + k * line->b_row;
        for (uint32_t n = 0; n < line->n; n++)
            sums[n] += a * (dense_load(line->b, b_at + n * line->b_step, b_type) - line->b_zero[n]);
    }
}

static void gemm_end(const struct kern_call *call, const uint32_t *at, uint32_t count, double *sums)
{
    for (uint32_t n = 0; call->op->u.gemm.integer && n < count; n++)
        sums[n] = (int32_t)(uint32_t)(int64_t)sums[n];
    if (!call->op->u.gemm.integer)
        gemm_scale(call, at, count, true, sums);
    dense_finish(call, at, count, sums);
}

DENSE_INLINE void gemm_rows(const struct kern_call *call, uint64_t begin, uint64_t end, DML_TENSOR_DATA_TYPE a_type,
                            DML_TENSOR_DATA_TYPE b_type)
{
    const struct kern_gemm *gemm = &call->op->u.gemm;
    const struct kern_view *a = &call->op->tensors[0], *b = &call->op->tensors[1];
    const struct kern_view *y = &call->op->tensors[call->op->input_count];
    uint32_t rank = y->rank, at[KERN_RANK_MAX], columns = y->sizes[rank - 1];
    struct gemm_line line = { .a = call->data[0], .b = call->data[1], .a_step = a->strides[rank - 1] };
    line.b_row = b->strides[rank - 2];
    line.b_step = b->strides[rank - 1];
    line.k = a->sizes[rank - 1];
    for (uint64_t row = begin; row < end; row++) {
        dense_row_at(y, row, at);
        line.a_at = dense_offset(a, at, rank - 1);
        line.a_zero = gemm_zero(call, gemm->has_a_zero, 2, at);
        for (uint32_t n = 0; n < columns; n += COLUMNS) {
            double sums[COLUMNS];
            line.b_at = dense_offset(b, at, rank - 2) + n * line.b_step;
            line.n = BASE_MIN(columns - n, COLUMNS);
            for (uint32_t i = 0; gemm->has_b_zero && i < line.n; i++) {
                at[rank - 1] = n + i;
                line.b_zero[i] = gemm_zero(call, true, gemm->has_a_zero ? 3 : 2, at);
            }
            at[rank - 1] = n;
            gemm_columns(&line, a_type, b_type, sums);
            gemm_end(call, at, line.n, sums);
        }
    }
}

void kern_gemm_any_ref_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    DML_TENSOR_DATA_TYPE a = call->op->tensors[0].type, b = call->op->tensors[1].type;
    if (a == DML_TENSOR_DATA_TYPE_FLOAT32 && a == b)
        gemm_rows(call, begin, end, DML_TENSOR_DATA_TYPE_FLOAT32, DML_TENSOR_DATA_TYPE_FLOAT32);
    else if (a == DML_TENSOR_DATA_TYPE_FLOAT16 && a == b)
        gemm_rows(call, begin, end, DML_TENSOR_DATA_TYPE_FLOAT16, DML_TENSOR_DATA_TYPE_FLOAT16);
    else
        gemm_rows(call, begin, end, a, b);
}
