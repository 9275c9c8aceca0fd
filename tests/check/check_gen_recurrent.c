/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

/* Activations with their immediates; the first BOUNDED of them stay small whatever goes in. */
static const struct {
    uint8_t code;
    float p, q;
} activations[] = {
    { KERN_MAP_SIGMOID, 0, 0 },        { KERN_MAP_TANH, 0, 0 },         { KERN_MAP_HARD_SIGMOID, 0.2f, 0.5f },
    { KERN_MAP_SOFTSIGN, 0, 0 },       { KERN_MAP_STANH, 1.1f, 0.6f },  { KERN_MAP_RELU, 0, 0 },
    { KERN_MAP_LEAKY_RELU, 0.1f, 0 },  { KERN_MAP_ELU, 0.7f, 0 },       { KERN_MAP_SELU, 1.67f, 1.05f },
    { KERN_MAP_CELU, 0.9f, 0 },        { KERN_MAP_SOFTPLUS, 1.5f, 0 },  { KERN_MAP_PSOFTPLUS, 0.5f, 1.2f },
    { KERN_MAP_THRESH_RELU, 0.1f, 0 }, { KERN_MAP_SHRINK, 0.1f, 0.2f }, { KERN_MAP_GELU, 0, 0 },
    { KERN_MAP_MULADD, 0.8f, -0.1f },
};
enum { BOUNDED = 5 };

static const uint8_t cell_gates[] = { 1, 3, 4 };

/* False when it may grow without bounds. */
static bool activation(struct check_rng *rng, struct kern_activation *out)
{
    uint32_t pick = check_chance(rng, 2) ? check_pick(rng, 2) : check_pick(rng, ARRAY_SIZE(activations));
    out->mode = check_chance(rng, 16)   ? KERN_ACTIVATION_IDENTITY
                : check_chance(rng, 16) ? KERN_ACTIVATION_HARDMAX
                                        : KERN_ACTIVATION_MAP;
    out->inst.code = activations[pick].code;
    out->inst.type = out->inst.to_type = DML_TENSOR_DATA_TYPE_FLOAT32;
    out->inst.imm[0].f32 = activations[pick].p;
    out->inst.imm[1].f32 = activations[pick].q;
    return out->mode == KERN_ACTIVATION_MAP && pick < BOUNDED;
}

static uint8_t optional(struct check_rng *rng, struct check_case *c, DML_TENSOR_DATA_TYPE type, uint32_t rank,
                        const uint32_t *sizes)
{
    if (check_chance(rng, 2))
        return 0;
    check_view_broadcast(rng, &c->op.tensors[c->op.input_count], type, rank, sizes);
    return (uint8_t)c->op.input_count++;
}

static uint8_t output(struct check_rng *rng, struct check_case *c, DML_TENSOR_DATA_TYPE type, uint32_t rank,
                      const uint32_t *sizes)
{
    uint32_t at = c->op.input_count + c->op.output_count++;
    check_view(rng, &c->op.tensors[at], type, rank, sizes);
    return (uint8_t)at;
}

static void recurrence(struct check_rng *rng, struct check_case *c, DML_TENSOR_DATA_TYPE type, const uint32_t *x)
{
    uint32_t hidden = x[4], plain[] = { x[2], x[3], hidden, hidden };
    uint32_t panels[] = { x[2], x[3], (hidden - 1) / KERN_RECURRENT_PANEL + 1, hidden, KERN_RECURRENT_PANEL };
    struct kern_view *view = &c->op.tensors[1];
    c->data[1] = CHECK_DATA_SMALL;
    c->op.u.recurrent.panels = check_chance(rng, 2);
    if (c->op.u.recurrent.panels)
        kern_view_set_packed(view, DML_TENSOR_DATA_TYPE_FLOAT32, 5, panels);
    else if (check_chance(rng, 3))
        check_view_broadcast(rng, view, type, 4, plain);
    else
        kern_view_set_packed(view, type, 4, plain);
}

/* R as integers with scales and zero points, some of one number. The states are rounded to 8 bits: few steps. */
static void bytes(struct check_rng *rng, struct check_case *c, const uint32_t *x)
{
    const DML_TENSOR_DATA_TYPE type = check_chance(rng, 2) ? DML_TENSOR_DATA_TYPE_INT8 : DML_TENSOR_DATA_TYPE_UINT8;
    const uint32_t plain[] = { x[2], x[3], x[4], x[4] };
    struct kern_recurrent *net = &c->op.u.recurrent;
    c->op.flags |= KERN_FLAG_BYTES;
    net->panels = false;
    for (uint32_t i = 0; i < 6; i++) /* not HARDMAX, which is not continuous */
        if (net->activations[i / 3][i % 3].mode == KERN_ACTIVATION_HARDMAX)
            net->activations[i / 3][i % 3].mode = KERN_ACTIVATION_IDENTITY;
    check_view_broadcast(rng, &c->op.tensors[1], type, 4, plain);
    c->data[1] = check_chance(rng, 2) ? CHECK_DATA_SPECIAL : CHECK_DATA_INSIDE; /* with or without -128 */
    c->index_limit[1] = 120;
    net->scale = (uint8_t)c->op.input_count++;
    check_view_broadcast(rng, &c->op.tensors[net->scale], DML_TENSOR_DATA_TYPE_FLOAT32, 3, plain);
    c->data[net->scale] = CHECK_DATA_TINY;
    if (check_chance(rng, 2))
        return;
    net->zero = (uint8_t)c->op.input_count++;
    check_view_broadcast(rng, &c->op.tensors[net->zero], type, 3, plain);
}

static void inputs(struct check_rng *rng, struct check_case *c, DML_TENSOR_DATA_TYPE type, const uint32_t *x)
{
    struct kern_recurrent *net = &c->op.u.recurrent;
    const uint32_t state[] = { x[2], x[1], x[4] }, peepholes[] = { x[2], 3, x[4] };
    bool lstm = net->cell == KERN_CELL_LSTM;
    if (net->linear_before_reset)
        net->reset_bias = optional(rng, c, type, 2, (uint32_t[]){ x[2], x[4] });
    net->hidden = optional(rng, c, type, 3, state);
    net->memory = lstm ? optional(rng, c, type, 3, state) : 0;
    net->lengths = optional(rng, c, DML_TENSOR_DATA_TYPE_UINT32, 1, &x[1]);
    if (net->lengths) {
        c->data[net->lengths] = CHECK_DATA_INDEX;
        c->index_limit[net->lengths] = x[0] + 1;
    }
    net->peepholes = lstm ? optional(rng, c, type, 3, peepholes) : 0;
}

static void outputs(struct check_rng *rng, struct check_case *c, DML_TENSOR_DATA_TYPE type, const uint32_t *x)
{
    struct kern_recurrent *net = &c->op.u.recurrent;
    const uint32_t sequence[] = { x[0], x[2], x[1], x[4] };
    uint32_t wanted = 1 + check_pick(rng, net->cell == KERN_CELL_LSTM ? 7 : 3);
    net->sequence = wanted & 1 ? output(rng, c, type, 4, sequence) : 0;
    net->last_hidden = wanted & 2 ? output(rng, c, type, 3, sequence + 1) : 0;
    net->last_memory = wanted & 4 ? output(rng, c, type, 3, sequence + 1) : 0;
}

void check_gen_recurrent(struct check_rng *rng, struct check_case *out)
{
    struct kern_recurrent *net = &out->op.u.recurrent;
    bool bounded = true;
    net->cell = (enum kern_cell)check_pick(rng, 3);
    for (uint32_t i = 0; i < 6; i++)
        bounded &= activation(rng, &net->activations[i / 3][i % 3]);
    uint32_t x[] = { 1 + check_pick(rng, bounded || net->cell == KERN_CELL_RNN ? 7 : 2), 1 + check_pick(rng, 4),
                     1 + check_pick(rng, 2), cell_gates[net->cell], 1 + check_pick(rng, 80) };
    if (check_chance(rng, 3))
        x[1] = 1 + check_pick(rng, 70);
    if (check_chance(rng, 4))
        x[4] = 32;
    if (check_chance(rng, 20)) { /* steps large enough to be cut over threads */
        x[0] = 1 + check_pick(rng, 2);
        x[1] = 4;
        x[4] = 430 + check_pick(rng, 80);
    }
    DML_TENSOR_DATA_TYPE type = check_float_type(rng);
    out->op.kind = KERN_RECURRENT;
    out->op.input_count = 2;
    out->norm_wise = true;
    net->reverse[0] = check_chance(rng, 2);
    net->reverse[1] = check_chance(rng, 2);
    net->linear_before_reset = net->cell == KERN_CELL_GRU && check_chance(rng, 2);
    net->couple = net->cell == KERN_CELL_LSTM && check_chance(rng, 3);
    net->has_clip = net->cell == KERN_CELL_LSTM && check_chance(rng, 3);
    net->clip.code = KERN_MAP_CLAMP;
    net->clip.type = net->clip.to_type = DML_TENSOR_DATA_TYPE_FLOAT32;
    net->clip.imm[0].f32 = -0.9f;
    net->clip.imm[1].f32 = 0.9f;
    check_view(rng, &out->op.tensors[0], DML_TENSOR_DATA_TYPE_FLOAT32, 5, x);
    if (check_chance(rng, 3))
        bytes(rng, out, x);
    else
        recurrence(rng, out, type, x);
    inputs(rng, out, type, x);
    outputs(rng, out, net->scale ? DML_TENSOR_DATA_TYPE_FLOAT32 : type, x); /* whose bound check.c widens */
}
