/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

void check_gen_sort(struct check_rng *rng, struct check_case *out)
{
    struct kern_op *op = &out->op;
    uint32_t sizes[KERN_RANK_MAX], least[KERN_RANK_MAX];
    uint32_t rank = check_sizes(rng, KERN_RANK_MAX, 4000, sizes);
    DML_TENSOR_DATA_TYPE type = check_any_type(rng);
    if (!kern_type_bytes(type))
        type = DML_TENSOR_DATA_TYPE_FLOAT32;
    op->kind = KERN_SORT;
    op->input_count = 1;
    op->output_count = 2;
    op->u.sort = (struct kern_sort){ check_pick(rng, rank), check_chance(rng, 2) };
    uint32_t *length = &sizes[op->u.sort.axis];
    if (check_chance(rng, 20)) { /* long lines are sampled first */
        rank = 1;
        op->u.sort.axis = 0;
        length = &sizes[0];
        *length = 16000 + check_pick(rng, 40000);
    } else if (check_chance(rng, 6)) { /* others that are sorted in one piece */
        rank = 1;
        op->u.sort.axis = 0;
        length = &sizes[0];
        *length = 500 + check_pick(rng, 3700);
    }
    memcpy(least, sizes, sizeof(least));
    uint32_t most = check_chance(rng, 2) ? BASE_MAX(1, *length / 16) : *length;
    if (check_chance(rng, 3)) /* few of any line */
        most = BASE_MIN(most, 18);
    least[op->u.sort.axis] = 1 + check_pick(rng, most);
    check_view_broadcast(rng, &op->tensors[0], type, rank, sizes);
    check_view(rng, &op->tensors[1], type, rank, least);
    check_view(rng, &op->tensors[2], check_chance(rng, 2) ? DML_TENSOR_DATA_TYPE_UINT32 : DML_TENSOR_DATA_TYPE_UINT64,
               rank, least);
    out->data[0] = check_chance(rng, 2) ? CHECK_DATA_SPECIAL : CHECK_DATA_NORMAL;
}
