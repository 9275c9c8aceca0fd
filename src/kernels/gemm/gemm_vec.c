/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/gemm/gemm.h"

bool kern_gemm_vec_f32_accepts(const struct kern_op *op)
{
    const struct kern_view *a = &op->tensors[0], *b = &op->tensors[1], *y = &op->tensors[op->input_count];
    uint32_t rank = y->rank;
    if (rank < 2 || a->rank != rank || b->rank != rank || y->sizes[rank - 2] > GEMM_VEC_ROWS)
        return false;
    if (!dense_is_short_float(y->type))
        return false;
    /* In FLOAT32 the library is as good on packed weights, and better on columns when there are more than two rows. */
    bool single = y->type == DML_TENSOR_DATA_TYPE_FLOAT32, columns = b->strides[rank - 1] != 1;
    if (single && (op->packed_input == 2 || (columns && y->sizes[rank - 2] > 2)))
        return false;
    return dense_same_type(op, 0, op->u.gemm.has_c ? 2 : 1, y->type) && b->sizes[rank - 1] == y->sizes[rank - 1] &&
           (b->strides[rank - 1] == 1 || b->strides[rank - 2] == 1);
}

void kern_gemm_vec_f32_plan(const struct kern_op *op, const void *state, uint32_t threads, struct kern_work *out)
{
    const struct kern_view *a = &op->tensors[0], *y = &op->tensors[op->input_count];
    uint64_t batches = 1, k = a->sizes[a->rank - 1];
    for (uint32_t d = 0; d + 2 < y->rank; d++)
        batches *= y->sizes[d];
    uint64_t blocks = (y->sizes[y->rank - 1] + GEMM_VEC_UNIT - 1) / GEMM_VEC_UNIT;
    *out = (struct kern_work){ .units = batches * blocks, .grain = dense_grain(k * GEMM_VEC_UNIT / 4) };
    out->worker_scratch_bytes =
        base_align_up((k + 32 + GEMM_VEC_PANEL) * GEMM_VEC_ROWS * sizeof(float), 64) + dense_epilogue_bytes(op);
}
