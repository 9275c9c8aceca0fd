/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

enum { X, INDICES, UPDATES };

static void per_element(struct check_rng *rng, struct check_case *out, uint32_t *ranks,
                        uint32_t (*sizes)[KERN_RANK_MAX])
{
    struct kern_scatter *scatter = &out->op.u.scatter;
    ranks[X] = ranks[INDICES] = ranks[UPDATES] = check_sizes(rng, KERN_RANK_MAX, 4000, sizes[X]);
    scatter->mode = KERN_INDEX_ELEMENTS;
    scatter->axis = check_pick(rng, ranks[X]);
    memcpy(sizes[INDICES], sizes[X], sizeof(sizes[X]));
    if (check_chance(rng, 2))
        sizes[INDICES][scatter->axis] = 1 + check_pick(rng, check_chance(rng, 3) ? 300 : 9);
    memcpy(sizes[UPDATES], sizes[INDICES], sizeof(sizes[X]));
    out->index_limit[INDICES] = sizes[X][scatter->axis];
}

static void by_tuple(struct check_rng *rng, struct check_case *out, uint32_t *ranks, uint32_t (*sizes)[KERN_RANK_MAX])
{
    struct kern_scatter *scatter = &out->op.u.scatter;
    ranks[X] = check_sizes(rng, 5, 3000, sizes[X]);
    scatter->mode = KERN_INDEX_ND;
    uint32_t tuple = 1 + check_pick(rng, ranks[X]), listed = check_pick(rng, 4), limit = 1;
    uint32_t longest = check_chance(rng, 3) ? check_pick(rng, 3) : UINT32_MAX;
    for (uint32_t d = 0; d < listed; d++)
        sizes[INDICES][ranks[INDICES]++] = sizes[UPDATES][ranks[UPDATES]++] =
            1 + check_pick(rng, d == longest ? 300 : 4);
    sizes[INDICES][ranks[INDICES]++] = tuple;
    for (uint32_t d = tuple; d < ranks[X]; d++)
        sizes[UPDATES][ranks[UPDATES]++] = sizes[X][d];
    for (uint32_t d = 0; d < tuple; d++)
        limit = BASE_MAX(limit, sizes[X][d]);
    out->index_limit[INDICES] = limit;
}

void check_gen_scatter(struct check_rng *rng, struct check_case *out)
{
    static const DML_TENSOR_DATA_TYPE indices[] = { DML_TENSOR_DATA_TYPE_UINT32, DML_TENSOR_DATA_TYPE_INT32,
                                                    DML_TENSOR_DATA_TYPE_UINT64, DML_TENSOR_DATA_TYPE_INT64 };
    struct kern_op *op = &out->op;
    uint32_t ranks[3] = { 0 }, sizes[3][KERN_RANK_MAX] = { { 0 }, { 0 }, { 1 } };
    DML_TENSOR_DATA_TYPE type = check_any_type(rng), update;
    if (!kern_type_bytes(type))
        type = DML_TENSOR_DATA_TYPE_UINT8;
    update = type;
    if (check_chance(rng, 2))
        per_element(rng, out, ranks, sizes);
    else
        by_tuple(rng, out, ranks, sizes);
    if (check_chance(rng, 2)) {
        op->u.scatter.reduction = KERN_SCATTER_ADD + check_pick(rng, 4);
        if (type == DML_TENSOR_DATA_TYPE_FLOAT16 || type == ANYDML_TENSOR_DATA_TYPE_BFLOAT16)
            type = DML_TENSOR_DATA_TYPE_FLOAT32; /* what updates of 16 bits are added to */
        if (check_chance(rng, 2))
            out->data[X] = out->data[UPDATES] = CHECK_DATA_SPECIAL;
        out->signed_zeros = true;
    }
    op->kind = KERN_SCATTER;
    op->input_count = 3;
    op->output_count = 1;
    for (uint32_t t = 0; t < 3; t++) {
        DML_TENSOR_DATA_TYPE of = t == INDICES ? indices[check_pick(rng, 4)] : t == UPDATES ? update : type;
        if (check_chance(rng, 3))
            check_view_broadcast(rng, &op->tensors[t], of, BASE_MAX(ranks[t], 1), sizes[t]);
        else
            check_view(rng, &op->tensors[t], of, BASE_MAX(ranks[t], 1), sizes[t]);
    }
    check_view(rng, &op->tensors[3], type, ranks[X], sizes[X]);
    out->data[INDICES] = check_chance(rng, 3) ? CHECK_DATA_INSIDE : CHECK_DATA_INDEX;
}
