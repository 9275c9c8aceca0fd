/* SPDX-License-Identifier: Apache-2.0 */
/* Epilogues as oneDNN post-ops: a chain in which each operation takes the result of the one before. */
#include "kernels/onednn/dnnl_op.h"

#include <math.h>

const struct kern_epilogue_support dnnl_epilogue_support = {
    KERN_EPILOGUE_STEPS_MAX,
    { [KERN_MAP_RELU] = KERN_EPILOGUE_VALUE,
      [KERN_MAP_LEAKY_RELU] = KERN_EPILOGUE_VALUE,
      [KERN_MAP_ELU] = KERN_EPILOGUE_VALUE,
      [KERN_MAP_SIGMOID] = KERN_EPILOGUE_VALUE,
      [KERN_MAP_TANH] = KERN_EPILOGUE_VALUE,
      [KERN_MAP_GELU] = KERN_EPILOGUE_VALUE,
      [KERN_MAP_SWISH] = KERN_EPILOGUE_VALUE | KERN_EPILOGUE_GATE,
      [KERN_MAP_MULADD] = KERN_EPILOGUE_VALUE,
      [KERN_MAP_CLAMP] = KERN_EPILOGUE_VALUE,
      [KERN_MAP_ABS] = KERN_EPILOGUE_VALUE,
      [KERN_MAP_HARD_SIGMOID] = KERN_EPILOGUE_VALUE,
      [KERN_MAP_HARD_SWISH] = KERN_EPILOGUE_VALUE | KERN_EPILOGUE_GATE,
      [KERN_MAP_ADD] = KERN_EPILOGUE_TENSOR,
      [KERN_MAP_MIN] = KERN_EPILOGUE_NUMBER, /* with MAX behind it */
      [KERN_MAP_MAX] = KERN_EPILOGUE_NUMBER,
      /* of integer products (dnnl_int.c) */
      [KERN_MAP_MUL] = KERN_EPILOGUE_TENSOR,
      [KERN_MAP_DIV] = KERN_EPILOGUE_TENSOR,
      [KERN_MAP_RINT] = KERN_EPILOGUE_VALUE },
};

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
    return !has_eltwise(ops, algorithm) && dnnl_safe_post_ops_append_eltwise(ops, 1.0f, algorithm, alpha, beta);
}

bool dnnl_post_binary(dnnl_post_ops_t ops, dnnl_alg_kind_t algorithm, uint32_t tensor, const dnnl_memory_desc_t *md,
                      struct dnnl_post *post)
{
    int place = dnnl_post_ops_len(ops);
    if (post->count == ARRAY_SIZE(post->tensor) || !dnnl_safe_post_ops_append_binary(ops, algorithm, md))
        return false;
    post->tensor[post->count] = tensor;
    post->md[post->count] = *md;
    post->arg[post->count++] = DNNL_ARG_ATTR_MULTIPLE_POST_OP(place) | DNNL_ARG_SRC_1;
    return true;
}

void dnnl_post_args(struct dnnl_state *state, const struct dnnl_post *post, struct dnnl_args *args)
{
    for (uint32_t i = 0; i < post->count; i++)
        dnnl_arg(args, post->arg[i], dnnl_buffer_tensor(state, &post->md[i], post->tensor[i]));
}

/* A step of the value alone. */
static bool unary(dnnl_post_ops_t ops, const struct kern_epilogue_step *step)
{
    float p = step->p, q = step->q;
    switch (step->code) {
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

/* max(min(x, q), p). NaN becomes q, but the lower bound in the library's clip: so -x is clipped, and turned back. */
static bool clipped(dnnl_post_ops_t ops, const struct kern_epilogue_step *step)
{
    const float p = step[1].p, q = step[0].p;
    return step[0].code == KERN_MAP_MIN && step[1].code == KERN_MAP_MAX && p <= q &&
           !has_eltwise(ops, dnnl_eltwise_clip) && eltwise(ops, dnnl_eltwise_linear, -1, 0) &&
           dnnl_safe_post_ops_append_eltwise(ops, -1.0f, dnnl_eltwise_clip, -q, -p);
}

bool dnnl_post_steps(const struct kern_epilogue_step *step, uint32_t count, dnnl_post_ops_t ops, dnnl_md_fn *md_of,
                     void *context, struct dnnl_post *post)
{
    for (uint32_t i = 0; i < count; i++) {
        dnnl_memory_desc_t md;
        if (i + 1 < count && step[i].code == KERN_MAP_MIN) {
            if (!clipped(ops, &step[i++]))
                return false;
        } else if (step[i].tensor) {
            if (step[i].code != KERN_MAP_ADD || !md_of(context, step[i].tensor, &md) ||
                !dnnl_post_binary(ops, dnnl_binary_add, step[i].tensor, &md, post))
                return false;
        } else if (!unary(ops, &step[i])) {
            return false;
        }
    }
    return true;
}

bool dnnl_post_epilogue(const struct kern_op *op, dnnl_post_ops_t ops, dnnl_md_fn *md_of, void *context,
                        struct dnnl_post *post)
{
    struct kern_epilogue epilogue;
    return kern_epilogue_match(op, &dnnl_epilogue_support, &epilogue) &&
           dnnl_post_steps(epilogue.step, epilogue.count, ops, md_of, context, post);
}
