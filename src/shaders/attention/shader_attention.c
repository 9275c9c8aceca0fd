/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of attention. */
#include "shaders/attention/attention_params.h"
#include "shaders/core/shader_block.h"

#include "kernels/attention/attention.h"

static uint32_t lanes(const struct kern_op *op)
{
    uint32_t count = 1;
    while (count < op->tensors[2].sizes[3] && count < SHADER_GROUP_SIZE)
        count *= 2;
    return count;
}

/* A workgroup each: queries, times the chunks of V's columns. */
static uint64_t units(const struct kern_op *op)
{
    const struct kern_view *y = &op->tensors[op->input_count];
    return (uint64_t)y->sizes[0] * y->sizes[1] * y->sizes[2] * ((y->sizes[3] + lanes(op) - 1) / lanes(op));
}

const char *shader_attention_any_obstacle(const struct kern_op *op)
{
    return units(op) > UINT32_MAX ? "the shaders do not count that many elements" : shader_block_obstacle(op);
}

void shader_attention_any_plan(const struct kern_op *op, struct shader_work *out)
{
    shader_add(out, shader_real_variant(SHADER_attention, op), op, units(op), 1, sizeof(struct attention_params));
}

static void write_block(const struct kern_op *op, uint64_t count, const struct shader_place *places, uint32_t *words)
{
    const struct kern_attention *attention = &op->u.attention;
    struct attention_inputs in;
    attention_inputs_init(op, &in);
    const struct attention_params params = { .scale = attention->scale,
                                             .filter_by = attention->filter,
                                             .new_keys = attention->new_keys,
                                             .causal = attention->causal,
                                             .undefined = attention->undefined,
                                             .skips_masked = attention->filter == -INFINITY,
                                             .mask = in.mask,
                                             .keep = in.keep,
                                             .end = in.end,
                                             .start = in.start,
                                             .past = in.past,
                                             .lanes = lanes(op) };
    shader_block_write(op, places, count, &params, sizeof(params), words);
}

void shader_attention_any_write(const struct kern_op *op, uint32_t index, const struct shader_place *places,
                                uint32_t *words)
{
    write_block(op, units(op), places, words);
}

/* ---- many queries ---- */

enum { SIDE = 64, WIDTH_MAX = 128, QUERIES_MIN = 8 };

static uint64_t tiles(const struct kern_op *op)
{
    const struct kern_view *y = &op->tensors[op->input_count];
    return (uint64_t)y->sizes[0] * y->sizes[1] * ((y->sizes[2] + SIDE - 1) / SIDE);
}

const char *shader_attention_tile_obstacle(const struct kern_op *op)
{
    const struct kern_view *y = &op->tensors[op->input_count];
    if (shader_real_variant(SHADER_attention, op) != SHADER_attention)
        return "it has types of 64 bits";
    if (y->sizes[2] < QUERIES_MIN || y->sizes[3] > WIDTH_MAX)
        return "it has few queries, or wide values";
    return shader_attention_any_obstacle(op);
}

void shader_attention_tile_plan(const struct kern_op *op, struct shader_work *out)
{
    const struct kern_view *k = &op->tensors[1], *v = &op->tensors[2];
    struct shader_dispatch *dispatch =
        shader_add(out, v->sizes[3] > SIDE ? SHADER_attention_tile_wide : SHADER_attention_tile, op, tiles(op), 1,
                   sizeof(struct attention_params));
    shader_specialize(op, tiles(op) * k->sizes[2] * (k->sizes[3] + v->sizes[3]), dispatch);
}

void shader_attention_tile_write(const struct kern_op *op, uint32_t index, const struct shader_place *places,
                                 uint32_t *words)
{
    write_block(op, tiles(op), places, words);
}
