/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

static void transpose_last(struct kern_view *view)
{
    const uint32_t a = view->rank - 2, b = view->rank - 1, size = view->sizes[a];
    const int64_t stride = view->strides[a];
    view->sizes[a] = view->sizes[b];
    view->strides[a] = view->strides[b];
    view->sizes[b] = size;
    view->strides[b] = stride;
}

/* A few rows become one, or one a few: pixels of blocks, channels. Sometimes all the rows are one. */
static void interleaved(struct check_rng *rng, struct kern_op *op)
{
    const bool lengthy = check_chance(rng, 8);
    const uint32_t few = 2 + check_pick(rng, 7), along = 1 + check_pick(rng, lengthy ? 9000 : 100);
    const uint32_t outer = lengthy ? 1 : 1 + check_pick(rng, 3);
    const uint32_t sizes[4] = { outer, 1 + check_pick(rng, 3), along, few };
    const uint32_t transposed[4] = { sizes[0], sizes[1], few, along }, interleaved = check_pick(rng, 2);
    const DML_TENSOR_DATA_TYPE type = check_any_type(rng);
    struct kern_view *rows = &op->tensors[!interleaved];
    kern_view_set_packed(&op->tensors[interleaved], type, 4, sizes);
    if (check_chance(rng, 2))
        kern_view_set_packed(rows, type, 4, transposed);
    else
        check_view(rng, rows, type, 4, transposed);
    transpose_last(rows);
    if (interleaved && check_chance(rng, 4))
        rows->strides[3] = 0;
    if (interleaved && check_chance(rng, 8))
        rows->strides[3] = -rows->strides[3];
}

void check_gen_move(struct check_rng *rng, struct check_case *out)
{
    struct kern_op *op = &out->op;
    uint32_t sizes[KERN_RANK_MAX];
    uint32_t rank = check_sizes(rng, KERN_RANK_MAX, check_chance(rng, 4) ? 60000 : 3000, sizes);
    DML_TENSOR_DATA_TYPE type = check_any_type(rng);
    op->kind = KERN_MOVE;
    op->input_count = op->output_count = 1;
    out->data[0] = CHECK_DATA_SPECIAL;
    if (check_chance(rng, 3)) {
        interleaved(rng, op);
        return;
    }
    if (check_chance(rng, 3))
        check_view_broadcast(rng, &op->tensors[0], type, rank, sizes);
    else
        check_view(rng, &op->tensors[0], type, rank, sizes);
    check_view(rng, &op->tensors[1], type, rank, sizes);
    for (uint32_t i = 0; i < rank; i++)
        if (check_chance(rng, 8))
            op->tensors[0].strides[i] = -op->tensors[0].strides[i];
}

static uint32_t max_padding(DML_PADDING_MODE mode, uint32_t size)
{
    return mode == DML_PADDING_MODE_REFLECTION ? size - 1 : mode == DML_PADDING_MODE_CONSTANT ? 4 : size;
}

void check_gen_pad(struct check_rng *rng, struct check_case *out)
{
    struct kern_op *op = &out->op;
    uint32_t sizes[KERN_RANK_MAX], padded[KERN_RANK_MAX];
    uint32_t rank = check_sizes(rng, 5, 500, sizes);
    DML_TENSOR_DATA_TYPE type = check_any_type(rng);
    op->kind = KERN_PAD;
    op->input_count = op->output_count = 1;
    op->u.pad.mode = check_pick(rng, 5);
    for (uint32_t i = 0; i < 8; i++)
        op->u.pad.value.Bytes[i] = (uint8_t)check_next(rng);
    for (uint32_t i = 0; i < rank; i++) {
        uint32_t most = BASE_MIN(5, max_padding(op->u.pad.mode, sizes[i]));
        op->u.pad.start[i] = check_pick(rng, most + 1);
        op->u.pad.gap[i] = op->u.pad.mode == DML_PADDING_MODE_CONSTANT && check_chance(rng, 3) ? check_pick(rng, 3) : 0;
        padded[i] = 1 + (sizes[i] - 1) * (op->u.pad.gap[i] + 1) + op->u.pad.start[i] + check_pick(rng, most + 1);
    }
    check_view(rng, &op->tensors[0], type, rank, sizes);
    check_view(rng, &op->tensors[1], type, rank, padded);
    out->data[0] = CHECK_DATA_SPECIAL;
}
