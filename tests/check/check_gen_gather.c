/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

static DML_TENSOR_DATA_TYPE sized_type(struct check_rng *rng)
{
    DML_TENSOR_DATA_TYPE type = check_any_type(rng);
    return kern_type_bytes(type) ? type : DML_TENSOR_DATA_TYPE_INT64;
}

/* Views of X, the indices and Y; indices point into X's dimensions of up to `limit`. */
static void set_tensors(struct check_rng *rng, struct check_case *out, uint32_t limit, const uint32_t ranks[3],
                        const uint32_t (*sizes)[KERN_RANK_MAX])
{
    static const DML_TENSOR_DATA_TYPE indices[] = { DML_TENSOR_DATA_TYPE_UINT32, DML_TENSOR_DATA_TYPE_INT32,
                                                    DML_TENSOR_DATA_TYPE_UINT64, DML_TENSOR_DATA_TYPE_INT64 };
    struct kern_op *op = &out->op;
    DML_TENSOR_DATA_TYPE type = sized_type(rng);
    op->kind = KERN_GATHER;
    op->input_count = 2;
    op->output_count = 1;
    if (check_chance(rng, 4))
        check_view_broadcast(rng, &op->tensors[0], type, ranks[0], sizes[0]);
    else
        check_view(rng, &op->tensors[0], type, ranks[0], sizes[0]);
    if (check_chance(rng, 4))
        check_view_broadcast(rng, &op->tensors[1], indices[check_pick(rng, 4)], ranks[1], sizes[1]);
    else
        check_view(rng, &op->tensors[1], indices[check_pick(rng, 4)], ranks[1], sizes[1]);
    check_view(rng, &op->tensors[2], type, BASE_MAX(ranks[2], 1), sizes[2]);
    out->data[1] = check_chance(rng, 3) ? CHECK_DATA_INSIDE : CHECK_DATA_INDEX;
    out->index_limit[1] = limit;
}

static void along_axis(struct check_rng *rng, struct check_case *out)
{
    struct kern_gather *gather = &out->op.u.gather;
    uint32_t sizes[3][KERN_RANK_MAX] = { { 0 }, { 0 }, { 1 } }, ranks[3] = { 0 };
    ranks[0] = check_sizes(rng, 4, 4000, sizes[0]);
    ranks[1] = check_sizes(rng, 3, 40, sizes[1]);
    gather->axis = check_pick(rng, ranks[0]);
    gather->index_rank = check_pick(rng, ranks[1] + 1);
    for (uint32_t d = 0; d < gather->axis; d++)
        sizes[2][ranks[2]++] = sizes[0][d];
    for (uint32_t d = ranks[1] - gather->index_rank; d < ranks[1]; d++)
        sizes[2][ranks[2]++] = sizes[1][d];
    for (uint32_t d = gather->axis + 1; d < ranks[0]; d++)
        sizes[2][ranks[2]++] = sizes[0][d];
    set_tensors(rng, out, sizes[0][gather->axis], ranks, sizes);
}

static void per_element(struct check_rng *rng, struct check_case *out)
{
    struct kern_gather *gather = &out->op.u.gather;
    uint32_t sizes[3][KERN_RANK_MAX], ranks[3];
    ranks[0] = ranks[1] = ranks[2] = check_sizes(rng, KERN_RANK_MAX, 4000, sizes[0]);
    gather->mode = KERN_INDEX_ELEMENTS;
    gather->axis = check_pick(rng, ranks[0]);
    memcpy(sizes[1], sizes[0], sizeof(sizes[0]));
    if (check_chance(rng, 2))
        sizes[1][gather->axis] = 1 + check_pick(rng, 9);
    memcpy(sizes[2], sizes[1], sizeof(sizes[0]));
    set_tensors(rng, out, sizes[0][gather->axis], ranks, sizes);
}

static void by_tuple(struct check_rng *rng, struct check_case *out)
{
    struct kern_gather *gather = &out->op.u.gather;
    uint32_t sizes[3][KERN_RANK_MAX] = { { 0 }, { 0 }, { 1 } }, ranks[3] = { 0 }, limit = 1;
    ranks[0] = check_sizes(rng, 5, 3000, sizes[0]);
    gather->mode = KERN_INDEX_ND;
    gather->axis = check_pick(rng, ranks[0]);
    uint32_t tuple = 1 + check_pick(rng, ranks[0] - gather->axis);
    for (uint32_t d = 0; d < gather->axis; d++)
        sizes[1][ranks[1]++] = sizes[2][ranks[2]++] = sizes[0][d];
    gather->index_rank = check_pick(rng, 3);
    for (uint32_t d = 0; d < gather->index_rank; d++)
        sizes[1][ranks[1]++] = sizes[2][ranks[2]++] = 1 + check_pick(rng, d == 1 && check_chance(rng, 3) ? 300 : 5);
    sizes[1][ranks[1]++] = tuple;
    for (uint32_t d = gather->axis + tuple; d < ranks[0]; d++)
        sizes[2][ranks[2]++] = sizes[0][d];
    for (uint32_t d = gather->axis; d < gather->axis + tuple; d++)
        limit = BASE_MAX(limit, sizes[0][d]);
    set_tensors(rng, out, limit, ranks, sizes);
}

void check_gen_gather(struct check_rng *rng, struct check_case *out)
{
    switch (check_pick(rng, 3)) {
    case 0:
        along_axis(rng, out);
        break;
    case 1:
        per_element(rng, out);
        break;
    default:
        by_tuple(rng, out);
        break;
    }
}
