/* Epilogues as oneDNN post-ops: a chain in which each operation takes the result of the one before. */
#include "kernels/onednn/dnnl_op.h"

#include <math.h>

/* oneDNN 2.6 computes the second of two operations of one algorithm with the constants of the first. */
static bool has_eltwise(const_dnnl_post_ops_t ops, dnnl_alg_kind_t algorithm)
{
    for (int i = 0; i < dnnl_post_ops_len(ops); i++) {
        dnnl_alg_kind_t present;
        float scale, alpha, beta;
        if (dnnl_post_ops_get_kind(ops, i) == dnnl_eltwise &&
            dnnl_post_ops_get_params_eltwise(ops, i, &scale, &present, &alpha, &beta) == dnnl_success &&
            present == algorithm)
            return true;
    }
    return false;
}

static bool eltwise(dnnl_post_ops_t ops, dnnl_alg_kind_t algorithm, float alpha, float beta)
{
    if (has_eltwise(ops, algorithm))
        return false;
    return dnnl_safe_post_ops_append_eltwise(ops, 1.0f, algorithm, alpha, beta) == dnnl_success;
}

bool dnnl_post_add(dnnl_post_ops_t ops, uint32_t tensor, const dnnl_memory_desc_t *md, struct dnnl_post *post)
{
    return dnnl_post_binary(ops, dnnl_binary_add, tensor, md, post);
}

bool dnnl_post_binary(dnnl_post_ops_t ops, dnnl_alg_kind_t algorithm, uint32_t tensor, const dnnl_memory_desc_t *md,
                      struct dnnl_post *post)
{
    int place = dnnl_post_ops_len(ops);
    if (post->count == ARRAY_SIZE(post->tensor) || dnnl_safe_post_ops_append_binary(ops, algorithm, md) != dnnl_success)
        return false;
    post->tensor[post->count] = tensor;
    post->arg[post->count++] = DNNL_ARG_ATTR_MULTIPLE_POST_OP(place) | DNNL_ARG_SRC_1;
    return true;
}

static bool unary(dnnl_post_ops_t ops, const struct kern_map_inst *inst)
{
    float p = inst->imm[0].f32, q = inst->imm[1].f32;
    switch (inst->code) {
    case KERN_MAP_RELU:
        return eltwise(ops, dnnl_eltwise_relu, 0, 0);
    case KERN_MAP_LEAKY_RELU:
        return eltwise(ops, dnnl_eltwise_relu, p, 0);
    case KERN_MAP_ELU:
        return eltwise(ops, dnnl_eltwise_elu, p, 0);
    case KERN_MAP_SIGMOID:
        return eltwise(ops, dnnl_eltwise_logistic, 0, 0);
    case KERN_MAP_TANH:
        return eltwise(ops, dnnl_eltwise_tanh, 0, 0);
    case KERN_MAP_GELU:
        return eltwise(ops, dnnl_eltwise_gelu_erf, 0, 0);
    case KERN_MAP_SWISH:
        return eltwise(ops, dnnl_eltwise_swish, p, 0);
    case KERN_MAP_MULADD:
        return eltwise(ops, dnnl_eltwise_linear, p, q);
    case KERN_MAP_CLAMP:
        return p <= q && eltwise(ops, p == 0 && q == INFINITY ? dnnl_eltwise_relu : dnnl_eltwise_clip,
                                 p == 0 && q == INFINITY ? 0 : p, q);
    case KERN_MAP_ABS:
        return eltwise(ops, dnnl_eltwise_abs, 0, 0);
    case KERN_MAP_HARD_SIGMOID:
        return eltwise(ops, dnnl_eltwise_linear, p, q) && eltwise(ops, dnnl_eltwise_clip, 0, 1);
    case KERN_MAP_HARD_SWISH: /* the library's own has fixed constants */
        return p == 1.0f / 6 && q == 0.5f && eltwise(ops, dnnl_eltwise_hardswish, 0, 0);
    default:
        return false;
    }
}

/* x * sigmoid(x) and x * hard sigmoid(x) written as two operations. */
static bool gated(dnnl_post_ops_t ops, const struct kern_map_inst *gate, const struct kern_map_inst *product,
                  uint32_t last, uint32_t gate_register)
{
    if (product->code != KERN_MAP_MUL || gate->src[0] != last)
        return false;
    if (!(product->src[0] == last && product->src[1] == gate_register) &&
        !(product->src[1] == last && product->src[0] == gate_register))
        return false;
    if (gate->code == KERN_MAP_SIGMOID)
        return eltwise(ops, dnnl_eltwise_swish, 1, 0);
    return gate->code == KERN_MAP_HARD_SIGMOID && gate->imm[0].f32 == 1.0f / 6 && gate->imm[1].f32 == 0.5f &&
           eltwise(ops, dnnl_eltwise_hardswish, 0, 0);
}

enum { CLIP_LENGTH = 4 };

/* max(min(x, q), p) of two constants, from inst[0] with register `first` on. NaN becomes q here, but the lower bound in
 * the library's clip: so -x is clipped, and turned back. */
static bool clipped(dnnl_post_ops_t ops, const struct kern_map_inst *inst, uint32_t count, uint32_t last,
                    uint32_t first)
{
    static const uint8_t codes[CLIP_LENGTH] = { KERN_MAP_CONST, KERN_MAP_MIN, KERN_MAP_CONST, KERN_MAP_MAX };
    if (count < CLIP_LENGTH)
        return false;
    for (uint32_t i = 0; i < CLIP_LENGTH; i++)
        if (inst[i].code != codes[i] || inst[i].type != DML_TENSOR_DATA_TYPE_FLOAT32 ||
            inst[i].to_type != DML_TENSOR_DATA_TYPE_FLOAT32)
            return false;
    const float p = inst[2].imm[0].f32, q = inst[0].imm[0].f32;
    return inst[1].src[0] == last && inst[1].src[1] == first && inst[3].src[0] == first + 1 &&
           inst[3].src[1] == first + 2 && p <= q && !has_eltwise(ops, dnnl_eltwise_clip) &&
           eltwise(ops, dnnl_eltwise_linear, -1, 0) &&
           dnnl_safe_post_ops_append_eltwise(ops, -1.0f, dnnl_eltwise_clip, -q, -p) == dnnl_success;
}

bool dnnl_post_epilogue(const struct kern_op *op, dnnl_post_ops_t ops, dnnl_md_fn *md_of, void *context,
                        struct dnnl_post *post)
{
    const struct kern_map *map = op->epilogue;
    uint32_t extra = op->input_count - op->epilogue_input, last = 0;
    for (uint32_t i = 0; i < map->inst_count; i++) {
        const struct kern_map_inst *inst = &map->inst[i];
        if (inst->type != DML_TENSOR_DATA_TYPE_FLOAT32 || inst->to_type != DML_TENSOR_DATA_TYPE_FLOAT32)
            return false;
        if (i + 1 < map->inst_count && inst[1].type == DML_TENSOR_DATA_TYPE_FLOAT32 &&
            gated(ops, inst, inst + 1, last, 1 + extra + i)) {
            i++;
        } else if (inst->code == KERN_MAP_CONST) {
            if (!clipped(ops, inst, map->inst_count - i, last, 1 + extra + i))
                return false;
            i += CLIP_LENGTH - 1;
        } else if (inst->code == KERN_MAP_ADD) {
            uint32_t other = inst->src[0] == last ? inst->src[1] : inst->src[0];
            dnnl_memory_desc_t md;
            if ((inst->src[0] != last && inst->src[1] != last) || other < 1 || other > extra)
                return false;
            uint32_t tensor = op->epilogue_input + other - 1;
            if (!md_of(context, tensor, &md) || !dnnl_post_add(ops, tensor, &md, post))
                return false;
        } else if (inst->src[0] != last || !unary(ops, inst)) {
            return false;
        }
        last = 1 + extra + i;
    }
    return map->store[0] == last;
}
