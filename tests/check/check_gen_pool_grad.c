/* SPDX-License-Identifier: Apache-2.0 */
#include "check_window.h"

/* The maxima's positions instead of X; few of random ones are in their window. */
static void use_indices(struct check_rng *rng, struct check_case *out, const uint32_t *y)
{
    static const DML_TENSOR_DATA_TYPE types[] = { DML_TENSOR_DATA_TYPE_INT64, DML_TENSOR_DATA_TYPE_UINT64,
                                                  DML_TENSOR_DATA_TYPE_INT32, DML_TENSOR_DATA_TYPE_UINT32 };
    struct kern_op *op = &out->op;
    const struct kern_view *dx = &op->tensors[2];
    const uint32_t rank = op->tensors[1].rank;
    uint32_t plane = 1;
    for (uint32_t d = 2; d < rank; d++)
        plane *= dx->sizes[d];
    op->u.pool_grad.has_indices = true;
    op->tensors[0] = op->tensors[1];
    check_activation_view(rng, &op->tensors[1], types[check_pick(rng, ARRAY_SIZE(types))], rank, y);
    out->data[0] = CHECK_DATA_POSITIVE;
    out->data[1] = CHECK_DATA_INDEX;
    out->index_limit[1] = plane;
    out->norm_wise = true;
}

void check_gen_pool_grad(struct check_rng *rng, struct check_case *out)
{
    struct kern_op *op = &out->op;
    struct kern_pool *pool = &op->u.pool_grad;
    uint32_t x[5], y[5];
    DML_TENSOR_DATA_TYPE type = check_float_type(rng);
    bool whole = check_chance(rng, 8), free_sizes = check_chance(rng, 6), max = check_chance(rng, 2);
    pool->mode = max ? KERN_POOL_MAX : KERN_POOL_AVERAGE;
    pool->spatial = 1 + check_pick(rng, 3);
    pool->include_padding = check_chance(rng, 2);
    x[0] = y[0] = 1 + check_pick(rng, 2);
    x[1] = y[1] = 1 + check_pick(rng, 5);
    for (uint32_t d = 0; d < pool->spatial; d++) {
        struct check_steps steps;
        check_steps(rng, pool->spatial == 3 ? 7 : 40, &steps);
        if (whole)
            steps = (struct check_steps){ steps.in, steps.in, 1, 1, 0, 0 };
        x[2 + d] = steps.in;
        y[2 + d] = free_sizes ? 1 + check_pick(rng, 20) : check_steps_count(&steps) + check_chance(rng, 6);
        pool->window[d] = steps.kernel;
        pool->strides[d] = steps.stride;
        pool->dilations[d] = max ? steps.dilation : 1;
        pool->pad_start[d] = steps.start;
    }
    op->kind = KERN_POOL_GRAD;
    op->input_count = 1 + max;
    op->output_count = 1;
    if (max)
        check_activation_view(rng, &op->tensors[0], type, pool->spatial + 2, x);
    check_activation_view(rng, &op->tensors[max], type, pool->spatial + 2, y);
    check_activation_view(rng, &op->tensors[1 + max], type, pool->spatial + 2, x);
    if (max && check_chance(rng, 2)) {
        use_indices(rng, out, y);
        return;
    }
    out->data[0] = max ? CHECK_DATA_SPECIAL : CHECK_DATA_NORMAL;
    out->data[max] = CHECK_DATA_POSITIVE; /* sums of few elements have something to be measured against */
    out->norm_wise = true;
    check_widen(rng, out);
}
