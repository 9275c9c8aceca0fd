/* SPDX-License-Identifier: Apache-2.0 */
#include "check_window.h"

void check_gen_pool(struct check_rng *rng, struct check_case *out)
{
    struct kern_op *op = &out->op;
    struct kern_pool *pool = &op->u.pool;
    uint32_t x[5], y[5];
    DML_TENSOR_DATA_TYPE type = check_float_type(rng);
    bool whole = check_chance(rng, 8);
    pool->mode = check_pick(rng, 3);
    pool->spatial = 1 + check_pick(rng, 3);
    pool->include_padding = check_chance(rng, 2);
    pool->p = 1 + check_pick(rng, 3);
    if (pool->mode == KERN_POOL_MAX && check_chance(rng, 3))
        type = check_any_type(rng);
    if (!kern_type_bytes(type))
        type = DML_TENSOR_DATA_TYPE_INT64;
    x[0] = y[0] = 1 + check_pick(rng, 2);
    x[1] = y[1] = 1 + check_pick(rng, 40);
    for (uint32_t d = 0; d < pool->spatial; d++) {
        struct check_steps steps;
        check_steps(rng, pool->spatial == 3 ? 7 : 24, &steps);
        if (d == 0 && pool->spatial > 1 && check_chance(rng, 8))
            steps = CHECK_STEPS_BESIDE;
        if (whole)
            steps = (struct check_steps){ steps.in, steps.in, 1, 1, 0, 0 };
        x[2 + d] = steps.in;
        y[2 + d] = whole ? check_steps_count(&steps) : check_free_size(rng, check_steps_count(&steps));
        pool->window[d] = steps.kernel;
        pool->strides[d] = steps.stride;
        pool->dilations[d] = steps.dilation;
        pool->pad_start[d] = steps.start;
    }
    op->kind = KERN_POOL;
    op->input_count = op->output_count = 1;
    check_activation_view(rng, &op->tensors[0], type, pool->spatial + 2, x);
    check_activation_view(rng, &op->tensors[1], type, pool->spatial + 2, y);
    if (pool->mode == KERN_POOL_MAX && check_chance(rng, 3)) {
        pool->has_indices = true;
        pool->whole_indices = check_chance(rng, 2);
        op->output_count = 2;
        check_view(rng, &op->tensors[2],
                   check_chance(rng, 2) ? DML_TENSOR_DATA_TYPE_UINT32 : DML_TENSOR_DATA_TYPE_UINT64, pool->spatial + 2,
                   y);
    }
    out->data[0] = pool->mode == KERN_POOL_MAX ? CHECK_DATA_SPECIAL : CHECK_DATA_NORMAL;
    out->norm_wise = pool->mode == KERN_POOL_AVERAGE;
    if (pool->mode == KERN_POOL_AVERAGE)
        check_few(out, &op->tensors[1]);
    check_widen(rng, out);
}
