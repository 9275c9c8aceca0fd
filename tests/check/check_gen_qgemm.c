/* SPDX-License-Identifier: Apache-2.0 */
#include "check_window.h"

/* Few and many rows, whole and partial panels, groups and parts of depth, one group for all of the depth, whole groups
 * alone, all types. */
void check_gen_qgemm(struct check_rng *rng, struct check_case *out)
{
    static const DML_TENSOR_DATA_TYPE floats[] = { DML_TENSOR_DATA_TYPE_FLOAT32, DML_TENSOR_DATA_TYPE_FLOAT16,
                                                   ANYDML_TENSOR_DATA_TYPE_BFLOAT16 };
    static const uint32_t blocks[] = { 16, 32, 20, 64 };
    struct kern_op *op = &out->op;
    uint32_t rank = 1 + check_pick(rng, 4), x[KERN_RANK_MAX], y[KERN_RANK_MAX];
    bool deep = check_chance(rng, 8), wide = check_chance(rng, 16), nibbles = check_chance(rng, 2);
    uint32_t k = 1 + check_pick(rng, deep ? 900 : 150), n = 1 + check_pick(rng, wide ? 2200 : 70);
    struct kern_view last;
    k = check_chance(rng, 2) ? (k + 63) / 64 * 64 : k;
    for (uint32_t d = 0; d + 1 < rank; d++)
        x[d] = y[d] = 1 + check_pick(rng, d ? 2 : check_chance(rng, 3) ? 150 : 6);
    x[rank - 1] = k;
    y[rank - 1] = n;
    uint32_t block = check_chance(rng, 3) ? k : blocks[check_pick(rng, ARRAY_SIZE(blocks))];
    block = block > k ? k : block;
    const uint32_t panels = (n + 15) / 16, groups = (k + block - 1) / block, depth = (block + 7) / 8 * 8;
    op->kind = KERN_QGEMM;
    op->u.qgemm = (struct kern_qgemm){ .block = block, .has_zero = check_chance(rng, 2) };
    op->input_count = 3 + op->u.qgemm.has_zero;
    op->output_count = 1;
    if (check_chance(rng, 2))
        op->flags |= KERN_FLAG_HALF_PRECISION | KERN_FLAG_HALF_FLOAT32;
    if (check_chance(rng, 2))
        op->flags |= KERN_FLAG_BYTES;
    check_view_broadcast(rng, &op->tensors[0], floats[check_pick(rng, 3)], rank, x);
    if (nibbles)
        kern_view_set_packed(&op->tensors[1], DML_TENSOR_DATA_TYPE_INT4, 5,
                             (uint32_t[]){ panels, groups, depth / 8, 16, 8 });
    else
        kern_view_set_packed(&op->tensors[1], DML_TENSOR_DATA_TYPE_INT8, 5,
                             (uint32_t[]){ panels, groups, depth / 4, 16, 4 });
    kern_view_set_packed(&op->tensors[2], floats[check_pick(rng, 2)], 3, (uint32_t[]){ panels, groups, 16 });
    kern_view_set_packed(&op->tensors[3], DML_TENSOR_DATA_TYPE_INT8, 3, (uint32_t[]){ panels, groups, 16 });
    out->data[1] = CHECK_DATA_SPECIAL;
    out->data[2] = CHECK_DATA_SMALL;
    check_view(rng, &last, floats[check_pick(rng, 3)], rank, y);
    op->tensors[op->input_count] = last;
    if (!deep) /* bounds would leave the rounding of long sums and take away what it is relative to */
        check_epilogue(rng, out, &last);
    if (op->epilogue && op->epilogue->inst[0].code == KERN_MAP_ADD && n % 2)
        out->epilogue.inst[0].code = KERN_MAP_MUL; /* as of gated networks */
    op->tensors[op->input_count] = last;
    out->norm_wise = true;
    check_few(out, &last);
    if (op->flags) /* 16 or 8 bits of factors: their rounding is that of the sums' terms */
        out->data[0] = out->data[2] = CHECK_DATA_POSITIVE;
    if (out->data[0] != CHECK_DATA_POSITIVE)
        return;
    /* Codes above most zero points, too: neither their products nor groups cancel. */
    out->data[1] = CHECK_DATA_INSIDE;
    out->index_limit[1] = nibbles ? 8 : 128;
    if (op->u.qgemm.has_zero) {
        out->data[3] = CHECK_DATA_INSIDE;
        out->index_limit[3] = 2;
    }
}
