/* SPDX-License-Identifier: Apache-2.0 */
#include "check_window.h"

/* Positions inside and outside of the image, halfway between pixels, and any number at all. Those that are reflected
 * stay small: a device's quotient of huge ones selects another pixel. */
static void positions(struct check_rng *rng, struct check_case *out)
{
    static const enum check_data kinds[] = { CHECK_DATA_NORMAL, CHECK_DATA_SMALL, CHECK_DATA_POSITIVE,
                                             CHECK_DATA_SPECIAL };
    const enum kern_sample_padding padding = out->op.u.sample.padding;
    out->data[1] = kinds[check_pick(rng, padding == KERN_SAMPLE_ZEROS || padding == KERN_SAMPLE_EDGE ? 4 : 3)];
}

void check_gen_sample(struct check_rng *rng, struct check_case *out)
{
    struct kern_op *op = &out->op;
    const DML_TENSOR_DATA_TYPE type = check_float_type(rng);
    const uint32_t axes = 2 + check_chance(rng, 4), rank = axes + 2;
    uint32_t x[5] = { 1 + check_pick(rng, 3), 1 + check_pick(rng, check_chance(rng, 3) ? 300 : 9) };
    uint32_t y[5] = { x[0], x[1] }, grid[5] = { x[0] };
    for (uint32_t d = 0; d < axes; d++) {
        x[2 + d] = 1 + check_pick(rng, 7);
        y[2 + d] = grid[1 + d] = 1 + check_pick(rng, 7);
    }
    grid[rank - 1] = axes;
    op->kind = KERN_SAMPLE;
    op->input_count = 2;
    op->output_count = 1;
    op->u.sample.linear = check_chance(rng, 2);
    op->u.sample.padding = check_pick(rng, 4);
    op->u.sample.unit = check_pick(rng, 3);
    check_activation_view(rng, &op->tensors[0], type, rank, x);
    check_view_broadcast(rng, &op->tensors[1], check_chance(rng, 3) ? check_float_type(rng) : type, rank, grid);
    check_activation_view(rng, &op->tensors[2], type, rank, y);
    positions(rng, out);
    out->norm_wise = true;
}
