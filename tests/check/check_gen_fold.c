/* SPDX-License-Identifier: Apache-2.0 */
#include "check_window.h"

void check_gen_fold(struct check_rng *rng, struct check_case *out)
{
    struct kern_op *op = &out->op;
    struct kern_fold *fold = &op->u.fold;
    uint32_t image[KERN_RANK_MAX], columns[3] = { 0, 0, 1 };
    DML_TENSOR_DATA_TYPE type = check_chance(rng, 2) ? check_float_type(rng) : check_any_type(rng);
    if (!kern_type_bytes(type))
        type = DML_TENSOR_DATA_TYPE_INT16;
    fold->unfold = check_chance(rng, 2);
    fold->spatial = 1 + check_pick(rng, check_chance(rng, 4) ? KERN_FOLD_MAX : 3);
    image[0] = columns[0] = 1 + check_pick(rng, 2);
    image[1] = columns[1] = 1 + check_pick(rng, 4);
    for (uint32_t d = 0; d < fold->spatial; d++) {
        struct check_steps steps;
        check_steps(rng, fold->spatial > 3 ? 3 : fold->spatial == 3 ? 6 : fold->spatial == 2 ? 20 : 60, &steps);
        image[2 + d] = steps.in;
        fold->window[d] = steps.kernel;
        fold->strides[d] = steps.stride;
        fold->dilations[d] = steps.dilation;
        fold->pad_start[d] = steps.start;
        fold->positions[d] = check_steps_count(&steps);
        columns[1] *= steps.kernel;
        columns[2] *= fold->positions[d];
    }
    op->kind = KERN_FOLD;
    op->input_count = op->output_count = 1;
    check_view(rng, &op->tensors[!fold->unfold], type, fold->spatial + 2, image);
    check_view(rng, &op->tensors[fold->unfold], type, 3, columns);
    out->data[0] = fold->unfold ? CHECK_DATA_SPECIAL : CHECK_DATA_NORMAL;
    out->norm_wise = !fold->unfold;
}
