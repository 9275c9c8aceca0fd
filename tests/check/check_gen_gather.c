#include "check.h"

void check_gen_gather(struct check_rng *rng, struct check_case *out)
{
    static const DML_TENSOR_DATA_TYPE indices[] = { DML_TENSOR_DATA_TYPE_UINT32, DML_TENSOR_DATA_TYPE_INT32,
                                                    DML_TENSOR_DATA_TYPE_UINT64, DML_TENSOR_DATA_TYPE_INT64 };
    struct kern_op *op = &out->op;
    struct kern_gather *gather = &op->u.gather;
    uint32_t x[KERN_RANK_MAX], index[KERN_RANK_MAX], y[KERN_RANK_MAX] = { 1 }, n = 0;
    uint32_t rank = check_sizes(rng, 4, 4000, x), index_rank = check_sizes(rng, 3, 40, index);
    DML_TENSOR_DATA_TYPE type = check_any_type(rng);
    if (!kern_type_bytes(type))
        type = DML_TENSOR_DATA_TYPE_INT64;
    gather->axis = check_pick(rng, rank);
    gather->index_rank = check_pick(rng, index_rank + 1);
    for (uint32_t d = 0; d < gather->axis; d++)
        y[n++] = x[d];
    for (uint32_t d = index_rank - gather->index_rank; d < index_rank; d++)
        y[n++] = index[d];
    for (uint32_t d = gather->axis + 1; d < rank; d++)
        y[n++] = x[d];
    op->kind = KERN_GATHER;
    op->input_count = 2;
    op->output_count = 1;
    check_view(rng, &op->tensors[0], type, rank, x);
    check_view(rng, &op->tensors[1], indices[check_pick(rng, 4)], index_rank, index);
    check_view(rng, &op->tensors[2], type, BASE_MAX(n, 1), y);
    out->data[1] = CHECK_DATA_INDEX;
    out->index_limit[1] = x[gather->axis];
}
