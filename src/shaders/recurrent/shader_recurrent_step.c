/* SPDX-License-Identifier: Apache-2.0 */
/* Recurrent networks whose steps are dispatches (recurrent_step.comp). */
#include "shaders/recurrent/shader_recurrent.h"

#include "kernels/core/number.h"

#define COUNTERS_BYTES 64 /* STEP of recurrent_step.comp */
#define ROWS_MAX       8  /* of the batch, that share the elements read from R */
#define LANES          32 /* of a hidden value, at most */
#define STEPS_MAX      4096
#define UNROLL_MAX     2
#define SPLIT_MAX      4     /* subgroups of a workgroup that share a hidden value's products, */
#define BUSY           65536 /* if there are fewer invocations otherwise */

static uint64_t values_of(const struct kern_op *op) /* hidden, of all rows and directions */
{
    const struct kern_view *x = &op->tensors[0];
    return (uint64_t)x->sizes[1] * x->sizes[2] * x->sizes[4];
}

static bool has_activations(const struct kern_recurrent *net, uint32_t directions)
{
    for (uint32_t i = 0; i < 3 * directions; i++)
        if (net->activations[i / 3][i % 3].mode == KERN_ACTIVATION_HARDMAX)
            return false;
    return true;
}

const char *shader_recurrent_step_unsupported(const struct kern_op *op)
{
    const struct kern_recurrent *net = &op->u.recurrent;
    const struct kern_view *x = &op->tensors[0], *r = &op->tensors[1];
    const char *reason = shader_recurrent_type_unsupported(op);
    if (reason)
        return reason;
    if (net->panels || (r->sizes[3] > 1 && r->strides[3] != 1))
        return "the matrices' rows are not contiguous";
    if (!has_activations(net, x->sizes[2]) || (net->cell == KERN_CELL_GRU && !net->linear_before_reset))
        return "no shader for it in steps";
    if (kern_type_class(r->type) != KERN_CLASS_FLOAT)
        return "no shader for this data type";
    if (x->sizes[0] > STEPS_MAX)
        return "no shader for this size";
    if (3 * values_of(op) > INT32_MAX / 4)
        return "the shaders do not count that many elements";
    return shader_block_unsupported(op);
}

static uint32_t rows_of(const struct kern_op *op)
{
    uint32_t rows = 1;
    while (rows < ROWS_MAX && rows < op->tensors[0].sizes[1])
        rows *= 2;
    return rows;
}

/* Invocations of a step if no subgroups share products. */
static uint64_t step_lanes(const struct kern_op *op)
{
    const struct kern_view *x = &op->tensors[0];
    const uint32_t rows = rows_of(op);
    return (uint64_t)x->sizes[4] * x->sizes[2] * ((x->sizes[1] + rows - 1) / rows) * LANES;
}

static uint32_t split_of(const struct kern_op *op)
{
    uint32_t split = 1;
    while (split < SPLIT_MAX && step_lanes(op) * split < BUSY && 4u * LANES * split < op->tensors[0].sizes[4])
        split *= 2;
    return split;
}

static uint64_t step_units(const struct kern_op *op)
{
    return step_lanes(op) * split_of(op);
}

static uint32_t codes_of(const struct kern_recurrent *net, uint32_t direction)
{
    uint32_t codes = 0;
    for (uint32_t i = 0; i < 3; i++) {
        const struct kern_activation *activation = &net->activations[direction][i];
        if (activation->mode == KERN_ACTIVATION_MAP)
            codes |= (activation->inst.code + 1u) << 8 * i;
    }
    return codes;
}

static void add(const struct kern_op *op, bool begin, uint64_t units, struct shader_work *out)
{
    struct shader_dispatch *dispatch =
        shader_add(out, SHADER_recurrent_step, op, units, RECURRENT_STEP_GROUP, sizeof(struct recurrent_step_params));
    shader_specialize(op, UINT64_MAX, dispatch);
    dispatch->constants[2] = (uint32_t)op->u.recurrent.cell;
    dispatch->constants[3] = rows_of(op);
    dispatch->constants[4] = begin;
    dispatch->constants[5] = codes_of(&op->u.recurrent, 0);
    dispatch->constants[6] = codes_of(&op->u.recurrent, 1);
    dispatch->constants[7] = split_of(op);
    dispatch->constants[8] = 4 * LANES * split_of(op) < op->tensors[0].sizes[4] ? UNROLL_MAX : 1;
    dispatch->constant_count = 9;
}

void shader_recurrent_step_plan(const struct kern_op *op, struct shader_work *out)
{
    add(op, true, values_of(op), out);
    add(op, false, step_units(op), out);
    out->dispatches[1].repeats = op->tensors[0].sizes[0] - 1;
    out->scratch_bytes = COUNTERS_BYTES + 3 * values_of(op) * sizeof(float);
}

void shader_recurrent_step_write(const struct kern_op *op, uint32_t index, const struct shader_place *places,
                                 uint32_t *words)
{
    const struct recurrent_step_params params = { .net = shader_recurrent_net(&op->u.recurrent),
                                                  .directions = op->tensors[0].sizes[2] };
    shader_block_write(op, places, index ? step_units(op) : values_of(op), &params, sizeof(params), words);
}
