/* SPDX-License-Identifier: Apache-2.0 */
#include "check_window.h"

static void bounds(struct check_rng *rng, struct kern_bounds *out)
{
    *out = (struct kern_bounds){ (enum kern_bounds_kind)check_pick(rng, 4), -30, 20 };
}

/* The first convolution, with windows where there are few channels; makes X's sizes of the expanded ones. */
static void first(struct check_rng *rng, struct kern_inverted_residual *residual, uint32_t *x)
{
    bool wide = check_chance(rng, 3);
    if (wide)
        x[1] = 1 + check_pick(rng, 4);
    for (uint32_t d = 0; d < 2; d++) {
        uint32_t size = wide ? 1 + check_pick(rng, 4) : 1, step = wide ? 1 + check_pick(rng, 3) : 1;
        uint32_t start = check_pick(rng, size), end = check_pick(rng, size);
        uint32_t whole = (x[2 + d] - 1) * step + size;
        if (whole <= start + end)
            start = end = 0;
        residual->first[d] = size;
        residual->first_strides[d] = step;
        residual->first_start[d] = start;
        x[2 + d] = whole - start - end;
        if (wide)
            x[2 + d] = check_free_size(rng, x[2 + d]); /* the first convolution's image has more or fewer windows */
    }
}

/* Channels innermost more often than not; chunks, bands and panels that are full and ones that are not. */
void check_gen_inverted_residual(struct check_rng *rng, struct check_case *out)
{
    struct kern_op *op = &out->op;
    struct kern_inverted_residual *residual = &op->u.inverted_residual;
    bool large = check_chance(rng, 8);
    uint32_t x[4] = { 1 + check_pick(rng, 2), 1 + check_pick(rng, 12) }, y[4] = { x[0], 1 + check_pick(rng, 40) };
    struct kern_view last;
    residual->middle = 1 + check_pick(rng, large ? 230 : 40);
    bounds(rng, &residual->bounds[0]);
    bounds(rng, &residual->bounds[1]);
    bool plain = check_chance(rng, 2);
    for (uint32_t d = 0; d < 2; d++) {
        struct check_steps steps;
        do
            check_steps(rng, d && large ? 40 : 12, &steps);
        while (steps.dilation > 1);
        if (plain)
            steps = (struct check_steps){ steps.in + 2, 3, 1 + check_pick(rng, 2), 1, 1, 1 };
        x[2 + d] = steps.in;
        y[2 + d] = check_free_size(rng, check_steps_count(&steps));
        residual->image[d] = steps.in;
        residual->window[d] = steps.kernel;
        residual->strides[d] = steps.stride;
        residual->pad_start[d] = steps.start;
    }
    first(rng, residual, x);
    uint32_t taps = residual->window[0] * residual->window[1],
             count = (x[1] * residual->first[0] * residual->first[1] + taps + 2 + y[1]) * residual->middle + y[1];
    op->kind = KERN_INVERTED_RESIDUAL;
    op->input_count = 2;
    op->output_count = 1;
    op->packed_input = 2; /* parameters are constants */
    check_activation_view(rng, &op->tensors[0], DML_TENSOR_DATA_TYPE_FLOAT32, 4, x);
    kern_view_set_packed(&op->tensors[1], DML_TENSOR_DATA_TYPE_FLOAT32, 1, &count);
    check_activation_view(rng, &last, DML_TENSOR_DATA_TYPE_FLOAT32, 4, y);
    op->tensors[2] = last;
    check_epilogue(rng, out, &last);
    op->tensors[op->input_count] = last;
    out->norm_wise = true;
}
