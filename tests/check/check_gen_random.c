/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

static void random_state(struct check_rng *rng, struct kern_view *out)
{
    uint32_t rank = 1 + check_pick(rng, KERN_RANK_MAX), sizes[KERN_RANK_MAX];
    for (uint32_t i = 0; i < rank; i++)
        sizes[i] = i + 1 == rank ? 6 : 1;
    check_view(rng, out, DML_TENSOR_DATA_TYPE_UINT32, rank, sizes);
}

void check_gen_random(struct check_rng *rng, struct check_case *out)
{
    struct kern_op *op = &out->op;
    uint32_t sizes[KERN_RANK_MAX];
    uint32_t rank = check_sizes(rng, KERN_RANK_MAX, 6000, sizes);
    op->kind = KERN_RANDOM;
    op->input_count = 1;
    op->output_count = 1 + check_pick(rng, 2);
    random_state(rng, &op->tensors[0]);
    check_view(rng, &op->tensors[1], DML_TENSOR_DATA_TYPE_UINT32, rank, sizes);
    random_state(rng, &op->tensors[2]);
    /* Words of all ones are frequent here: the counter's carries. */
    out->data[0] = CHECK_DATA_SPECIAL;
}
