/* SPDX-License-Identifier: Apache-2.0 */
/* What integer convolutions and matrix products on oneDNN share: sums times scales, post-ops, and the way back to
 * bytes. Zero points and scales are tensors that the library reads at execution. */
#include "kernels/onednn/dnnl_op.h"

#include "kernels/gemm/gemm.h"

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
           (!how->zero || (gemm_bytes(zero->type) && gemm_repeats(zero, zero->rank)));
}

bool dnnl_epilogue_init(const struct kern_op *op, uint32_t channel, struct dnnl_epilogue *out)
{
    const struct kern_view *y = &op->tensors[op->input_count];
    struct kern_epilogue *all = &out->steps;
    struct kern_requantize *how = &out->how;
    *out = (struct dnnl_epilogue){ .op = op, .quantizes = gemm_bytes(y->type) };
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
        ok =
            dnnl_post_steps(&ending->steps.step[ending->first], ending->end - ending->first, ops, md_of, context, post);
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
