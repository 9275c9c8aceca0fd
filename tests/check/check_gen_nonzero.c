/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

/* Several blocks are counted here; writing is tried with one, because the counts given must be right:
 * check_oracle_index does both in turn. */
void check_gen_nonzero(struct check_rng *rng, struct check_case *out)
{
    struct kern_op *op = &out->op;
    struct kern_nonzero *nonzero = &op->u.nonzero;
    uint32_t sizes[KERN_RANK_MAX], rank = check_sizes(rng, KERN_RANK_MAX, 5000, sizes);
    DML_TENSOR_DATA_TYPE type = check_any_type(rng);
    if (!kern_type_bytes(type))
        type = DML_TENSOR_DATA_TYPE_FLOAT32;
    op->kind = KERN_NONZERO;
    check_view_broadcast(rng, &op->tensors[0], type, rank, sizes);
    out->data[0] = CHECK_DATA_SPARSE;
    uint32_t elements = (uint32_t)kern_view_elements(&op->tensors[0]), one = 1;
    nonzero->write = check_chance(rng, 2);
    nonzero->block = nonzero->write ? elements + check_pick(rng, 9) : 1 + check_pick(rng, elements);
    uint32_t blocks = (elements + nonzero->block - 1) / nonzero->block;
    op->input_count = nonzero->write ? 2 : 1;
    op->output_count = nonzero->write ? 2 : 1;
    check_view(rng, &op->tensors[1], DML_TENSOR_DATA_TYPE_UINT32, 1, &blocks);
    if (!nonzero->write)
        return;
    const uint32_t list[] = { elements, 1 + check_pick(rng, rank) };
    check_view(rng, &op->tensors[2], DML_TENSOR_DATA_TYPE_UINT32, 1, &one);
    check_view(rng, &op->tensors[3], DML_TENSOR_DATA_TYPE_UINT32, 2, list);
}
