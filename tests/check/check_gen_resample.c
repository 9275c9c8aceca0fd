/* SPDX-License-Identifier: Apache-2.0 */
#include "check_window.h"

/* Weights without rounding, so that halves of integers stay halves. */
static void exact_weights(struct check_rng *rng, struct kern_resample *resample, uint32_t rank)
{
    static const float scales[] = { 0.5f, 1, 2, 4 }, offsets[] = { 0.5f, 0, -0.5f };
    resample->antialiased = false;
    for (uint32_t d = 0; d < rank; d++) {
        resample->scales[d] = scales[check_pick(rng, 4)];
        resample->input_offsets[d] = offsets[check_pick(rng, 3)];
        resample->output_offsets[d] = offsets[check_pick(rng, 3)];
    }
}

/* Each element repeated as often, as the operator's usual offsets ask for. */
static void whole_factors(struct check_rng *rng, struct kern_resample *resample, uint32_t rank, const uint32_t *x,
                          uint32_t *y)
{
    resample->rounding = DML_AXIS_DIRECTION_DECREASING;
    for (uint32_t d = 0; d < rank; d++) {
        const uint32_t times = d + 3 >= rank ? 1 + check_pick(rng, 4) : 1;
        const bool centred = check_chance(rng, 2);
        y[d] = x[d] * times;
        resample->scales[d] = (float)times;
        resample->input_offsets[d] = 0;
        resample->output_offsets[d] = centred ? -0.5f : 0;
    }
}

void check_gen_resample(struct check_rng *rng, struct check_case *out)
{
    struct kern_op *op = &out->op;
    struct kern_resample *resample = &op->u.resample;
    uint32_t x[5], y[5], rank = 1 + check_pick(rng, 5);
    DML_TENSOR_DATA_TYPE type = check_float_type(rng);
    resample->mode = check_pick(rng, 2);
    resample->rounding = check_pick(rng, 2);
    if (check_chance(rng, 4))
        type = check_chance(rng, 2) ? DML_TENSOR_DATA_TYPE_INT8 : DML_TENSOR_DATA_TYPE_UINT8;
    resample->antialiased = resample->mode == DML_INTERPOLATION_MODE_LINEAR && check_chance(rng, 3);
    resample->transposed = !resample->antialiased && check_chance(rng, 3);
    if (resample->transposed)
        type = check_float_type(rng);
    for (uint32_t d = 0; d < rank; d++) {
        bool scaled = d + 3 >= rank && check_chance(rng, 2);
        x[d] = 1 + check_pick(rng, d + 2 >= rank ? 30 : 6);
        y[d] = scaled ? 1 + check_pick(rng, 40) : x[d];
        resample->scales[d] = resample->transposed ? (float)x[d] / (float)y[d] : (float)y[d] / (float)x[d];
        resample->input_offsets[d] = scaled ? 0.5f : 0;
        resample->output_offsets[d] = scaled ? -0.5f : 0;
        if (scaled && check_chance(rng, 3)) {
            resample->scales[d] = (float)check_uniform(rng, check_chance(rng, 3) ? 0.01 : 0.3, 4);
            resample->input_offsets[d] = (float)check_uniform(rng, -1, 1);
        }
    }
    const bool nearest = resample->mode == DML_INTERPOLATION_MODE_NEAREST_NEIGHBOR;
    if (!resample->transposed && (nearest || kern_type_bytes(type) != 1) && check_chance(rng, 3)) {
        if (nearest && check_chance(rng, 2))
            type = check_any_type(rng);
        whole_factors(rng, resample, rank, x, y);
    } else if (kern_type_bytes(type) == 1)
        exact_weights(rng, resample, rank);
    op->kind = KERN_RESAMPLE;
    op->input_count = op->output_count = 1;
    if (rank > 2) {
        check_activation_view(rng, &op->tensors[0], type, rank, x);
        check_activation_view(rng, &op->tensors[1], type, rank, y);
    } else {
        check_view(rng, &op->tensors[0], type, rank, x);
        check_view(rng, &op->tensors[1], type, rank, y);
    }
    out->norm_wise = resample->mode == DML_INTERPOLATION_MODE_LINEAR || resample->transposed;
    if (resample->transposed)
        check_few(out, &op->tensors[1]);
}
