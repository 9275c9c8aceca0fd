/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix product, the definition: double accumulation in the order of k. */
#include "kernels/gemm/gemm.h"
#include "kernels/gemm/blocked_gemm.h"

bool kern_gemm_any_ref_accepts(const struct kern_op *op)
{
    const struct kern_view *a = &op->tensors[0], *b = &op->tensors[1], *y = &op->tensors[op->input_count];
    if (a->rank < 2 || a->rank != b->rank || a->rank != y->rank)
        return false;
    return blocked_gemm_types_fit(op, op->u.gemm.integer, op->u.gemm.has_c);
}

void kern_gemm_any_ref_plan(const struct kern_op *op, const void *state, uint32_t threads, struct kern_work *out)
{
    const struct kern_view *a = &op->tensors[0], *y = &op->tensors[op->input_count];
    uint64_t cost = (uint64_t)a->sizes[a->rank - 1] * y->sizes[y->rank - 1];
    *out = (struct kern_work){ .units = dense_rows(y), .grain = dense_grain(cost) };
}

/* Sums of integers are exact in double, too. */
DENSE_INLINE void gemm_rows(const struct kern_call *call, uint64_t begin, uint64_t end, DML_TENSOR_DATA_TYPE a_type,
                            DML_TENSOR_DATA_TYPE b_type)
{
    const struct kern_gemm *gemm = &call->op->u.gemm;
    const struct kern_view *a = &call->op->tensors[0], *b = &call->op->tensors[1];
    const struct kern_view *y = &call->op->tensors[call->op->input_count];
    const uint32_t rank = y->rank, last = rank - 1;
    for (uint64_t row = begin; row < end; row++) {
        uint32_t at[KERN_RANK_MAX];
        dense_row_at(y, row, at);
        const int64_t a_at = dense_offset(a, at, last), b_at = dense_offset(b, at, rank - 2);
        const double a_zero = gemm_zero(call, gemm->has_a_zero, 2, at);
        for (; at[last] < y->sizes[last]; at[last]++) {
            const double b_zero = gemm_zero(call, gemm->has_b_zero, gemm->has_a_zero ? 3 : 2, at);
            const int64_t b_from = b_at + at[last] * b->strides[last];
            double sum = 0;
            for (uint32_t k = 0; k < a->sizes[last]; k++)
                sum += (dense_load(call->data[0], a_at + k * a->strides[last], a_type) - a_zero) *
                       (dense_load(call->data[1], b_from + k * b->strides[rank - 2], b_type) - b_zero);
            if (gemm->integer)
                sum = (int32_t)(uint32_t)(int64_t)sum;
            else
                gemm_scale(call, at, 1, true, &sum);
            dense_finish(call, at, 1, &sum);
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
