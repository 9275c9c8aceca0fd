/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels for recurrent networks. */
#include "shaders/recurrent/shader_recurrent.h"

enum { VECTORS = 7 }; /* of scratch memory per batch row, in the layout of recurrent.comp */

_Static_assert(KERN_CELL_RNN == 0 && KERN_CELL_GRU == 1 && KERN_ACTIVATION_MAP == 0 && KERN_ACTIVATION_HARDMAX == 2 &&
                   KERN_RECURRENT_PANEL == 32,
               "recurrent.comp has these numbers");

static uint64_t batch_rows(const struct kern_op *op)
{
    return (uint64_t)op->tensors[0].sizes[1] * op->tensors[0].sizes[2];
}

const char *shader_recurrent_type_unsupported(const struct kern_op *op)
{
    if (op->u.recurrent.scale)
        return "no shader for recurrent matrices of integers";
    for (uint32_t t = 0; t < op->input_count + op->output_count; t++)
        if (op->tensors[t].type == DML_TENSOR_DATA_TYPE_FLOAT64)
            return "no shader for FLOAT64";
    return NULL;
}

struct recurrent_net shader_recurrent_net(const struct kern_recurrent *net)
{
    struct recurrent_net out = { .couple = net->couple,
                                 .has_clip = net->has_clip,
                                 .reset_bias = net->reset_bias,
                                 .initial_hidden = net->hidden,
                                 .initial_memory = net->memory,
                                 .lengths = net->lengths,
                                 .peepholes = net->peepholes,
                                 .sequence = net->sequence,
                                 .last_hidden = net->last_hidden,
                                 .last_memory = net->last_memory,
                                 .reverse = { net->reverse[0], net->reverse[1] },
                                 .clip_low = net->clip.imm[0].f32,
                                 .clip_high = net->clip.imm[1].f32 };
    for (uint32_t i = 0; i < 6; i++) {
        out.p[i] = net->activations[i / 3][i % 3].inst.imm[0].f32;
        out.q[i] = net->activations[i / 3][i % 3].inst.imm[1].f32;
    }
    return out;
}

const char *shader_recurrent_any_unsupported(const struct kern_op *op)
{
    const char *reason = shader_recurrent_type_unsupported(op);
    if (reason)
        return reason;
    if (batch_rows(op) * VECTORS * op->tensors[0].sizes[4] > INT32_MAX)
        return "the shaders do not count that many elements";
    return shader_block_unsupported(op);
}

void shader_recurrent_any_plan(const struct kern_op *op, struct shader_work *out)
{
    shader_add(out, SHADER_recurrent, op, batch_rows(op), 1, sizeof(struct recurrent_params));
    out->scratch_bytes = batch_rows(op) * VECTORS * op->tensors[0].sizes[4] * sizeof(float);
}

void shader_recurrent_any_write(const struct kern_op *op, uint32_t index, const struct shader_place *places,
                                uint32_t *words)
{
    const struct kern_recurrent *net = &op->u.recurrent;
    struct recurrent_params params = { .net = shader_recurrent_net(net),
                                       .cell = (uint32_t)net->cell,
                                       .panels = net->panels,
                                       .linear_before_reset = net->linear_before_reset };
    for (uint32_t i = 0; i < 6; i++) {
        params.modes[i] = (uint32_t)net->activations[i / 3][i % 3].mode;
        params.codes[i] = net->activations[i / 3][i % 3].inst.code;
    }
    shader_block_write(op, places, batch_rows(op), &params, sizeof(params), words);
}
