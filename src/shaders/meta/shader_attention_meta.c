/* SPDX-License-Identifier: Apache-2.0 */
/* Attention by metacommands (attention_w.cu). */
#include "shaders/cuda/attention_w_params.h"
#include "shaders/core/shader_block.h"
#include "shaders/gemm/shader_tile.h"
#include "shaders/meta/shader_meta.h"

#include "kernels/attention/attention.h"

enum { WIDTH_MAX = 256, QUERIES_MIN = 8, PLACES = 10 };

/* Of a line of metas.def: the maximum elements of a vector, the queries of a block, and the relative time of blocks of
 * one head, by increasing head: of each block, of a key, and of what is added to its scores. Those of 64 are
 * nanoseconds on an H200, and those of 96 and 160 estimates from these: a third warpgroup takes half of what the third
 * and the fourth take there. */
struct variant {
    enum shader_meta half, bfloat16;
    uint32_t head, rows;
    float block, key, mask;
};

/* Loading single elements of a mask, compared with pairs. */
#define MASK_SINGLE 6

static const struct variant variants[] = {
    { SHADER_META_attention_w64_256, SHADER_META_attention_w64_256_bfloat16, 64, 256, 5000, 21.6f, 20 },
    { SHADER_META_attention_w64_128, SHADER_META_attention_w64_128_bfloat16, 64, 128, 3500, 16.2f, 17 },
    { SHADER_META_attention_w64_64, SHADER_META_attention_w64_64_bfloat16, 64, 64, 2800, 12.7f, 15 },
    { SHADER_META_attention_w64_64x4, SHADER_META_attention_w64_64x4_bfloat16, 64, 64, 5000, 8.5f, 6 },
    { SHADER_META_attention_w96_192, SHADER_META_attention_w96_192_bfloat16, 96, 192, 0, 16, 0 },
    { SHADER_META_attention_w96_128, SHADER_META_attention_w96_128_bfloat16, 96, 128, 0, 14, 0 },
    { SHADER_META_attention_w96_64, SHADER_META_attention_w96_64_bfloat16, 96, 64, 0, 10, 0 },
    { SHADER_META_attention_w128_128, SHADER_META_attention_w128_128_bfloat16, 128, 128, 0, 10, 0 },
    { SHADER_META_attention_w160_128, SHADER_META_attention_w160_128_bfloat16, 160, 128, 0, 14, 0 },
    { SHADER_META_attention_w160_64, SHADER_META_attention_w160_64_bfloat16, 160, 64, 0, 10, 0 },
    { SHADER_META_attention_w192_128, SHADER_META_attention_w192_128_bfloat16, 192, 128, 0, 10, 0 },
    { SHADER_META_attention_w256_128, SHADER_META_attention_w256_128_bfloat16, 256, 128, 0, 10, 0 },
};

static uint32_t forced;

uint32_t shader_attention_meta_kernels(void)
{
    return ARRAY_SIZE(variants);
}

void shader_attention_meta_force(uint32_t kernel)
{
    forced = kernel;
}

static bool is_half(DML_TENSOR_DATA_TYPE type)
{
    return type == DML_TENSOR_DATA_TYPE_FLOAT16 || type == ANYDML_TENSOR_DATA_TYPE_BFLOAT16;
}

/* The shortest that is sufficient. */
static uint32_t head_of(const struct kern_op *op)
{
    const uint32_t longest = BASE_MAX(op->tensors[0].sizes[3], op->tensors[2].sizes[3]);
    const struct variant *v = variants;
    while (v->head < longest)
        v++;
    return v->head;
}

const char *shader_attention_meta_unsupported(const struct kern_op *op)
{
    const struct kern_view *q = &op->tensors[0], *y = &op->tensors[op->input_count];
    const struct kern_view *const wide[] = { q, &op->tensors[1], &op->tensors[2], y };
    struct attention_inputs in;
    if (!attention_inputs_init(op, &in) || !is_half(q->type))
        return "no metacommand for these data types";
    for (uint32_t i = 0; i < ARRAY_SIZE(wide); i++) {
        if (wide[i]->type != q->type)
            return "no metacommand for these data types";
        if (!shader_coop_wide(wide[i], 3))
            return "no metacommand for these strides";
    }
    if (in.mask && !is_half(op->tensors[in.mask].type) && op->tensors[in.mask].type != DML_TENSOR_DATA_TYPE_FLOAT32)
        return "no metacommand with masks of this type";
    if (y->sizes[2] < QUERIES_MIN || y->sizes[3] > WIDTH_MAX || q->sizes[3] > WIDTH_MAX)
        return "it has few queries, or wide ones or values";
    if ((uint64_t)y->sizes[0] * y->sizes[1] * y->sizes[2] > INT32_MAX)
        return "metacommands do not count that many queries";
    if (forced && variants[forced - 1].head != head_of(op))
        return "another kernel is tested";
    return shader_block_unsupported(op);
}

static uint32_t tiles_of(const struct kern_op *op, const struct variant *variant)
{
    return (op->tensors[op->input_count].sizes[2] + variant->rows - 1) / variant->rows;
}

static uint32_t blocks(const struct kern_op *op, const struct variant *variant)
{
    const struct kern_view *y = &op->tensors[op->input_count];
    return y->sizes[0] * y->sizes[1] * tiles_of(op, variant);
}

/* Whether each two neighbouring elements from a line's first one on are a word. */
static bool has_pairs(const struct kern_view *mask)
{
    bool even = mask->type != DML_TENSOR_DATA_TYPE_FLOAT32 && mask->strides[3] == 1 && mask->offset % 2 == 0;
    for (uint32_t d = 0; d < 4; d++)
        even = even && (mask->sizes[d] == 1 || (d == 3 ? mask->sizes[d] % 2 : mask->strides[d] % 2) == 0);
    return even && mask->sizes[3] > 1;
}

/* Each multiprocessor has one block at a time. */
static float cost(const struct kern_op *op, const struct variant *variant)
{
    const uint32_t at_once = shader_multiprocessors(op), rounds = (blocks(op, variant) + at_once - 1) / at_once;
    struct attention_inputs in;
    attention_inputs_init(op, &in);
    const float masks = in.keep || (in.mask && !has_pairs(&op->tensors[in.mask])) ? MASK_SINGLE : in.mask ? 1 : 0;
    const float keys = (float)op->tensors[1].sizes[2];
    return (float)rounds * (variant->block + keys * (variant->key + masks * variant->mask));
}

static const struct variant *choose(const struct kern_op *op)
{
    const uint32_t head = head_of(op);
    const struct variant *best = NULL;
    if (forced)
        return &variants[forced - 1];
    for (const struct variant *v = variants; v < variants + ARRAY_SIZE(variants); v++)
        if (v->head == head && (!best || cost(op, v) < cost(op, best)))
            best = v;
    return best;
}

void shader_attention_meta_plan(const struct kern_op *op, struct shader_work *out)
{
    const struct variant *v = choose(op);
    const bool half = op->tensors[0].type == DML_TENSOR_DATA_TYPE_FLOAT16;
    shader_meta_add(out, half ? v->half : v->bfloat16, (uint32_t[3]){ blocks(op, v), 1, 1 }, PLACES,
                    sizeof(struct attention_w_params));
}

static void set_strides(i32 *out, const struct kern_view *view, uint32_t count)
{
    for (uint32_t d = 0; d < count; d++)
        out[d] = view->sizes[d] > 1 ? (i32)view->strides[d] : 0;
}

static void set_masks(const struct kern_op *op, const struct shader_place *places, struct attention_w_params *out)
{
    struct attention_inputs in;
    attention_inputs_init(op, &in);
    if (in.mask) {
        const DML_TENSOR_DATA_TYPE type = op->tensors[in.mask].type;
        out->mask = shader_meta_place(&places[in.mask]);
        set_strides(out->mask_strides, &op->tensors[in.mask], 4);
        out->mask_pairs = has_pairs(&op->tensors[in.mask]);
        out->mask_type = type == DML_TENSOR_DATA_TYPE_FLOAT32   ? ATTENTION_W_FLOAT32
                         : type == DML_TENSOR_DATA_TYPE_FLOAT16 ? ATTENTION_W_FLOAT16
                                                                : ATTENTION_W_BFLOAT16;
    }
    if (in.keep) {
        out->keep = shader_meta_place(&places[in.keep]);
        set_strides(out->keep_strides, &op->tensors[in.keep], 4);
    }
    if (in.end) {
        out->end = shader_meta_place(&places[in.end]);
        set_strides(&out->end_stride, &op->tensors[in.end], 1);
    }
    if (in.start) {
        out->start = shader_meta_place(&places[in.start]);
        set_strides(&out->start_stride, &op->tensors[in.start], 1);
    }
    if (in.past) {
        out->past = shader_meta_place(&places[in.past]);
        set_strides(&out->past_stride, &op->tensors[in.past], 1);
        out->unsigned_past = op->tensors[in.past].type == DML_TENSOR_DATA_TYPE_UINT32;
    }
    out->skips_masked = op->u.attention.filter == -INFINITY;
    out->scores = in.mask || in.keep || in.start || (in.end && !out->skips_masked) || !(op->u.attention.scale > 0);
}

void shader_attention_meta_write(const struct kern_op *op, uint32_t index, const struct shader_place *places,
                                 uint32_t *words)
{
    const struct kern_view *y = &op->tensors[op->input_count], *k = &op->tensors[1];
    struct attention_w_params *out = (struct attention_w_params *)words;
    out->q = shader_meta_place(&places[0]);
    out->k = shader_meta_place(&places[1]);
    out->v = shader_meta_place(&places[2]);
    out->y = shader_meta_place(&places[op->input_count]);
    set_strides(out->q_strides, &op->tensors[0], 3);
    set_strides(out->k_strides, k, 3);
    set_strides(out->v_strides, &op->tensors[2], 3);
    set_strides(out->y_strides, y, 3);
    out->tiles = tiles_of(op, choose(op));
    out->heads = y->sizes[1];
    out->share = y->sizes[1] / k->sizes[1];
    out->queries = y->sizes[2];
    out->keys = k->sizes[2];
    out->depth = k->sizes[3];
    out->width = y->sizes[3];
    out->new_keys = op->u.attention.new_keys;
    out->causal = op->u.attention.causal;
    out->undefined = op->u.attention.undefined;
    out->scale = op->u.attention.scale;
    out->filter = op->u.attention.filter;
    set_masks(op, places, out);
}
