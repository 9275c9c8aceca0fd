/* SPDX-License-Identifier: Apache-2.0 */
/* Epilogues as oneDNN post-ops: a chain in which each operation takes the result of the one before. */
#include "kernels/onednn/dnnl_op.h"
#include "kernels/gemm/gemm.h"

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
      /* of integer products */
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

static bool steps_post(const struct kern_epilogue_step *step, uint32_t count, dnnl_post_ops_t ops, dnnl_md_fn *md_of,
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
           steps_post(epilogue.step, epilogue.count, ops, md_of, context, post);
}

/* ---- integer products: sums times scales, post-ops, and the way back to bytes ---- */

/* One scale, or scales side by side along `channel`. */
static bool scale_fits(const struct kern_view *view, uint32_t channel, bool *out_by_channel)
{
    bool result = view->type == DML_TENSOR_DATA_TYPE_FLOAT32;
    *out_by_channel = !gemm_repeats(view, view->rank);
    for (uint32_t d = 0; d < view->rank && *out_by_channel; d++)
        result = result && (view->sizes[d] == 1 || view->strides[d] == (d == channel ? 1 : 0));
    return result;
}

/* Only to the whole range of the output's type, by numbers that are the same for all elements. */
static bool quantizes_fully(const struct kern_op *op, const struct kern_requantize *how)
{
    const struct kern_view *divisor = &op->tensors[how->divisor], *zero = &op->tensors[how->zero];
    const bool is_signed = op->tensors[op->input_count].type == DML_TENSOR_DATA_TYPE_INT8;
    return how->low == (is_signed ? -128 : 0) && how->high == (is_signed ? 127 : 255) &&
           (!how->divisor || (divisor->type == DML_TENSOR_DATA_TYPE_FLOAT32 && gemm_repeats(divisor, divisor->rank))) &&
           (!how->zero || (dense_is_byte(zero->type) && gemm_repeats(zero, zero->rank)));
}

bool dnnl_epilogue_init(const struct kern_op *op, uint32_t channel, struct dnnl_epilogue *out)
{
    const struct kern_view *y = &op->tensors[op->input_count];
    struct kern_epilogue *all = &out->steps;
    struct kern_requantize *how = &out->how;
    *out = (struct dnnl_epilogue){ .op = op, .quantizes = dense_is_byte(y->type) };
    if (!op->epilogue || (!out->quantizes && y->type != DML_TENSOR_DATA_TYPE_FLOAT32) ||
        !kern_epilogue_match(op, &dnnl_epilogue_support, all) || !all->count)
        return false;
    if (all->step[0].code == KERN_MAP_MUL) {
        how->scale = all->step[0].tensor;
        out->scales = scale_fits(&op->tensors[how->scale], channel, &out->by_channel);
        out->first = out->scales;
    }
    uint32_t length = out->quantizes ? kern_epilogue_quantize_steps(all, how) : 0;
    out->end = all->count - length;
    return !out->quantizes || (length && out->first <= out->end && quantizes_fully(op, how));
}

/* A post-op: oneDNN 2.6 has no fast convolution whose output scales are known at execution only. */
static bool scale_post(const struct dnnl_epilogue *ending, const dnnl_memory_desc_t *y, dnnl_post_ops_t ops,
                       struct dnnl_post *post)
{
    dnnl_dims_t dims, strides;
    dnnl_memory_desc_t md;
    for (int d = 0; d < y->ndims; d++) {
        dims[d] = d == 1 && ending->by_channel ? y->dims[d] : 1;
        strides[d] = d == 0 && ending->by_channel ? y->dims[1] : 1;
    }
    return dnnl_md_init(&md, y->ndims, dims, dnnl_f32, strides) &&
           dnnl_post_binary(ops, dnnl_binary_mul, ending->how.scale, &md, post);
}

static bool one_md(int rank, dnnl_memory_desc_t *out)
{
    dnnl_dims_t ones;
    for (int d = 0; d < rank; d++)
        ones[d] = 1;
    return dnnl_md_init(out, rank, ones, dnnl_f32, ones);
}

bool dnnl_int_attr(const struct dnnl_epilogue *ending, bool in_zero, const dnnl_memory_desc_t *y, dnnl_md_fn *md_of,
                   void *context, struct dnnl_post *post, dnnl_primitive_attr_t *out)
{
    const int32_t zero = DNNL_RUNTIME_S32_VAL;
    dnnl_post_ops_t ops = NULL;
    dnnl_memory_desc_t md;
    post->count = 0;
    bool ok = dnnl_attr_create(out) && dnnl_safe_post_ops_create(&ops);
    if (ok && ending->scales)
        ok = scale_post(ending, y, ops, post);
    if (ok && in_zero)
        ok = dnnl_safe_primitive_attr_set_zero_points(*out, DNNL_ARG_SRC, 1, 0, &zero);
    if (ok && ending->how.zero)
        ok = dnnl_safe_primitive_attr_set_zero_points(*out, DNNL_ARG_DST, 1, 0, &zero);
    if (ok)
        ok = steps_post(&ending->steps.step[ending->first], ending->end - ending->first, ops, md_of, context, post);
    if (ok && ending->how.divisor)
        ok = one_md(y->ndims, &md) && dnnl_post_binary(ops, dnnl_binary_div, ending->how.divisor, &md, post);
    /* The library adds the zero point before it rounds, which turns halves the other way where it is odd. */
    if (ok && ending->how.zero)
        ok = dnnl_safe_post_ops_append_eltwise(ops, 1.0f, dnnl_eltwise_round, 0, 0);
    ok = ok && dnnl_safe_primitive_attr_set_post_ops(*out, ops);
    dnnl_post_ops_destroy(ops);
    return ok;
}

void dnnl_int_args(struct dnnl_state *state, const struct dnnl_epilogue *ending, uint32_t x_zero,
                   struct dnnl_args *args)
{
    const uint32_t y_zero = ending->how.zero;
    if (x_zero)
        dnnl_arg(args, DNNL_ARG_ATTR_ZERO_POINTS | DNNL_ARG_SRC,
                 dnnl_buffer_zero(state, x_zero, ending->op->tensors[x_zero].type));
    if (y_zero)
        dnnl_arg(args, DNNL_ARG_ATTR_ZERO_POINTS | DNNL_ARG_DST,
                 dnnl_buffer_zero(state, y_zero, ending->op->tensors[y_zero].type));
}
