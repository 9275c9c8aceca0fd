/* SPDX-License-Identifier: Apache-2.0 */
/* Attention of few queries: parts of the keys side by side. */
#include "shaders/attention/shader_attention.h"
#include "shaders/gemm/shader_tile.h"

enum { QUERIES_MAX = 8, HEAD_MAX = 256, VECTOR_BYTES = 16, VECTORS_MIN = 4 };

const char *shader_attention_parts_unsupported(const struct kern_op *op)
{
    const struct kern_view *q = &op->tensors[0], *y = &op->tensors[op->input_count];
    if (shader_real_variant(SHADER_attention, op) != SHADER_attention)
        return "it has types of 64 bits";
    if (op->tensors[1].type != q->type || op->tensors[2].type != q->type)
        return "queries, keys and values have several types";
    if (y->sizes[2] > QUERIES_MAX || q->sizes[3] > HEAD_MAX || y->sizes[3] > HEAD_MAX)
        return "it has many queries, or wide ones or values";
    return shader_attention_any_unsupported(op);
}

static uint32_t heads(const struct kern_op *op)
{
    const struct kern_view *y = &op->tensors[op->input_count];
    return y->sizes[0] * y->sizes[1];
}

static uint32_t parts(const struct kern_op *op)
{
    const uint32_t blocks = (op->tensors[1].sizes[2] + ATTENTION_PARTS_KEYS - 1) / ATTENTION_PARTS_KEYS;
    uint32_t most = BASE_MIN(TUNE_ATTENTION_WORKGROUPS / heads(op), ATTENTION_PARTS_MAX);
    if (shader_tile_forced() != SHADER_TILE_CHOSEN) /* parts of several blocks */
        most = shader_tile_forced() == SHADER_TILE_LARGE ? 1 : 2;
    return BASE_MAX(BASE_MIN(blocks, most), 1u);
}

static uint32_t vectors(const struct kern_view *view)
{
    const uint32_t vector = VECTOR_BYTES / kern_type_bytes(view->type);
    return (view->sizes[3] + vector - 1) / vector;
}

/* SHAPE in attention_parts.comp */
static uint32_t shape(const struct kern_op *op)
{
    uint32_t lanes = VECTORS_MIN;
    while (lanes < vectors(&op->tensors[2]))
        lanes *= 2;
    return lanes << 16 | vectors(&op->tensors[0]) << 8 | op->tensors[op->input_count].sizes[2];
}

static uint32_t flags(const struct kern_op *op)
{
    static const uint32_t wide[] = { PARTS_WIDE_Q, PARTS_WIDE_K, PARTS_WIDE_V };
    const uint32_t halves = VECTOR_BYTES / kern_type_bytes(op->tensors[0].type) / 4;
    uint32_t flags = halves << 8 | (op->u.attention.causal ? PARTS_CAUSAL : 0);
    for (uint32_t i = 0; i < ARRAY_SIZE(wide); i++)
        if (shader_wide(&op->tensors[i], 3, VECTOR_BYTES / kern_type_bytes(op->tensors[i].type)))
            flags |= wide[i];
    return flags;
}

void shader_attention_parts_plan(const struct kern_op *op, struct shader_work *out)
{
    const struct kern_view *y = &op->tensors[op->input_count];
    const uint64_t workgroups = (uint64_t)heads(op) * parts(op);
    struct shader_dispatch *dispatch =
        shader_add(out, SHADER_attention_parts, op, workgroups, 1, sizeof(struct attention_params));
    shader_specialize(op, UINT64_MAX, dispatch); /* always: no other pipeline has these sizes */
    dispatch->constants[2] = shape(op);
    dispatch->constants[3] = flags(op);
    shader_attention_inputs(op, dispatch);
    if (parts(op) == 1)
        return;
    out->scratch_bytes = workgroups * y->sizes[2] * (y->sizes[3] + 2) * 4;
    dispatch = shader_add(out, SHADER_attention_join, op, (uint64_t)heads(op) * y->sizes[2], 1,
                          sizeof(struct attention_params));
    shader_attention_inputs(op, dispatch);
}

void shader_attention_parts_write(const struct kern_op *op, uint32_t index, const struct shader_place *places,
                                  uint32_t *words)
{
    const uint32_t each = index ? op->tensors[op->input_count].sizes[2] : parts(op);
    shader_attention_write(op, (uint64_t)heads(op) * each, parts(op), places, words);
}
