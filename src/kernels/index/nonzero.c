/* SPDX-License-Identifier: Apache-2.0 */
/* Finding non-zero elements in two steps that each run in parallel over blocks of X in element order: one counts, the
 * other starts from the sum of the counts before its block and writes coordinates. */
#include "kernels/core/dense.h"
#include "kernels/core/number.h"

bool kern_nonzero_any_accepts(const struct kern_op *op)
{
    const struct kern_nonzero *nonzero = &op->u.nonzero;
    const struct kern_view *x = &op->tensors[0], *list = &op->tensors[op->input_count + 1];
    if (op->epilogue || !kern_type_bytes(x->type) || !nonzero->block ||
        op->tensors[1].type != DML_TENSOR_DATA_TYPE_UINT32)
        return false;
    return !nonzero->write ||
           (op->tensors[2].type == DML_TENSOR_DATA_TYPE_UINT32 && list->type == DML_TENSOR_DATA_TYPE_UINT32 &&
            list->rank == 2 && list->sizes[1] <= x->rank && list->sizes[0] >= kern_view_elements(x));
}

void kern_nonzero_any_plan(const struct kern_op *op, uint32_t threads, struct kern_work *out)
{
    uint64_t elements = kern_view_elements(&op->tensors[0]), block = op->u.nonzero.block;
    *out = (struct kern_work){ .units = (elements + block - 1) / block, .grain = dense_grain(block) };
}

/* ---- the definition ---- */

void kern_nonzero_any_ref_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    const struct kern_view *x = &call->op->tensors[0], *list = &call->op->tensors[3];
    uint32_t at[KERN_RANK_MAX] = { 0 }, *counts = call->data[1], row = 0;
    uint64_t elements = kern_view_elements(x), block = call->op->u.nonzero.block;
    bool write = call->op->u.nonzero.write;
    for (uint64_t i = 0; begin < end && i < elements; i++, kern_advance(x->rank, x->sizes, at)) {
        uint32_t *count = counts + (int64_t)(i / block) * call->op->tensors[1].strides[0];
        if (!write && i % block == 0)
            *count = 0;
        const struct kern_number number = kern_read(x->type, call->data[0], kern_offset(x, at));
        if (number.class == KERN_CLASS_FLOAT ? number.f == 0 : number.u == 0)
            continue;
        if (!write)
            ++*count;
        for (uint32_t c = 0; write && c < list->sizes[1]; c++)
            ((uint32_t *)call->data[3])[row * list->strides[0] + c * list->strides[1]] =
                at[x->rank - list->sizes[1] + c];
        row++;
    }
    if (write)
        *(uint32_t *)call->data[2] = row;
}
