/* SPDX-License-Identifier: Apache-2.0 */
/* Integer convolutions on oneDNN, for channels that lie innermost and weights that are packed once. */
#include "kernels/onednn/dnnl_op.h"

#include "base/parallel.h"
#include "kernels/conv/conv.h"
#include "kernels/gemm/gemm.h"

struct conv_int {
    const struct kern_op *op;
    struct dnnl_state *state;
    struct conv_shape shape;
    uint32_t rank;
    struct dnnl_epilogue ending;
    struct dnnl_post post;
    dnnl_memory_desc_t x, w, w_plain, bias, y;
};

/* Channels innermost, all else in order; dimensions of size 1 get the stride they would have if dense. */
static bool activation_md(const struct kern_view *view, dnnl_memory_desc_t *out)
{
    dnnl_dims_t dims, strides;
    int64_t inner = 1;
    for (uint32_t i = 0; i < view->rank; i++) {
        uint32_t d = i == 0 ? 1 : i == view->rank - 1 ? 0 : view->rank - i;
        dims[d] = view->sizes[d];
        strides[d] = view->sizes[d] > 1 ? view->strides[d] : inner;
        inner = strides[d] * dims[d];
    }
    return dnnl_memory_desc_init_by_strides(out, (int)view->rank, dims, dnnl_view_type(view), strides) == dnnl_success;
}

static bool innermost_channels(const struct kern_view *view)
{
    return dnnl_view_lies(view) && (view->sizes[1] == 1 || view->strides[1] == 1);
}

static bool residual_md(void *context, uint32_t tensor, dnnl_memory_desc_t *out)
{
    const struct conv_int *b = context;
    const struct kern_view *view = &b->op->tensors[tensor];
    if (!dnnl_view_direct(view, false) || !activation_md(view, out))
        return false;
    dnnl_memory_desc_t like = *out;
    like.data_type = b->y.data_type;
    return dnnl_memory_desc_equal(&like, &b->y);
}

/* [groups, out channels, in channels, kernel...] */
static bool weights_md(const struct conv_int *b, bool any, dnnl_memory_desc_t *out)
{
    const struct kern_view *w = &b->op->tensors[1];
    dnnl_dims_t dims, strides;
    int n = 0;
    if (b->shape.groups > 1) {
        dims[n] = b->shape.groups;
        strides[n++] = w->strides[0] * b->shape.out_group;
    }
    dims[n] = b->shape.out_group;
    strides[n++] = w->strides[0];
    for (uint32_t d = 1; d < b->rank; d++) {
        dims[n] = w->sizes[d];
        strides[n++] = w->strides[d];
    }
    if (any)
        return dnnl_memory_desc_init_by_tag(out, n, dims, dnnl_s8, dnnl_format_tag_any) == dnnl_success;
    return dnnl_memory_desc_init_by_strides(out, n, dims, dnnl_s8, strides) == dnnl_success;
}

bool kern_conv_int_dnnl_accepts(const struct kern_op *op)
{
    const struct kern_conv *conv = &op->u.conv;
    const struct kern_view *t = op->tensors;
    struct conv_shape shape;
    struct dnnl_epilogue ending;
    if ((op->flags & KERN_FLAG_REFERENCE) || !conv->integer || conv->transposed || conv->flip || conv->has_w_zero)
        return false;
    if (!gemm_bytes(t[0].type) || t[1].type != DML_TENSOR_DATA_TYPE_INT8 || !conv_shape_init(op, &shape) ||
        !dnnl_conv_near(&shape))
        return false;
    if (conv->has_bias && (t[2].type != DML_TENSOR_DATA_TYPE_INT32 || t[2].sizes[1] != shape.out_channels ||
                           (shape.out_channels > 1 && t[2].strides[1] != 1)))
        return false;
    return innermost_channels(&t[0]) && innermost_channels(&t[op->input_count]) && dnnl_view_lies(&t[1]) &&
           dnnl_epilogue_init(op, 1, &ending);
}

static bool conv_pd(struct conv_int *b, const_dnnl_primitive_attr_t attr, dnnl_primitive_desc_t *pd)
{
    dnnl_dims_t strides, dilates, start, end, channels = { b->shape.out_channels };
    dnnl_convolution_desc_t desc;
    bool has_bias = b->op->u.conv.has_bias;
    dnnl_conv_steps(&b->shape, b->rank, strides, dilates, start, end);
    return weights_md(b, true, &b->w) && weights_md(b, false, &b->w_plain) &&
           dnnl_memory_desc_init_by_tag(&b->bias, 1, channels, dnnl_s32, dnnl_a) == dnnl_success &&
           dnnl_dilated_convolution_forward_desc_init(&desc, dnnl_forward_inference, dnnl_convolution_direct, &b->x,
                                                      &b->w, has_bias ? &b->bias : NULL, &b->y, strides, dilates, start,
                                                      end) == dnnl_success &&
           dnnl_safe_primitive_desc_create(pd, &desc, attr, dnnl_engine(), NULL) == dnnl_success &&
           !dnnl_is_reference(*pd) && !dnnl_conv_miscomputes(*pd, &b->post);
}

static bool conv_stage(struct conv_int *b, const_dnnl_primitive_desc_t pd)
{
    const struct kern_op *op = b->op;
    struct dnnl_state *state = b->state;
    const dnnl_memory_desc_t *wanted = dnnl_query_md(pd, dnnl_query_weights_md);
    int args[DNNL_ARGS_MAX] = { DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST };
    uint32_t buffers[DNNL_ARGS_MAX], count = 3;
    buffers[0] = dnnl_buffer_tensor(state, &b->x, 0);
    buffers[1] = dnnl_buffer_tensor(state, wanted, 1);
    buffers[2] = dnnl_buffer_tensor(state, &b->y, op->input_count);
    if (op->u.conv.has_bias) {
        args[count] = DNNL_ARG_BIAS;
        buffers[count++] = dnnl_buffer_tensor(state, &b->bias, 2);
    }
    return dnnl_pack_set(state, &b->w_plain, wanted) &&
           dnnl_int_args(state, &b->ending, op->u.conv.has_x_zero ? 2u + op->u.conv.has_bias : 0, residual_md, b,
                         &b->post, args, buffers, &count) &&
           dnnl_stage_add(state, pd, count, args, buffers) && dnnl_state_finish(state);
}

bool kern_conv_int_dnnl_create(const struct kern_op *op, uint32_t threads, void **out_state)
{
    struct conv_int b = { .op = op, .rank = op->u.conv.spatial + 2 };
    dnnl_primitive_attr_t attr = NULL;
    dnnl_primitive_desc_t pd = NULL;
    if (!dnnl_engine() || op->packed_input != 2 || !conv_shape_init(op, &b.shape) ||
        !dnnl_epilogue_init(op, 1, &b.ending) || !(b.state = dnnl_state_create(op, threads)))
        return false;
    struct base_team before = base_parallel_enter(threads);
    bool ok = activation_md(&op->tensors[0], &b.x) && activation_md(&op->tensors[op->input_count], &b.y) &&
              dnnl_int_attr(&b.ending, op->u.conv.has_x_zero, &b.y, residual_md, &b, &b.post, &attr) &&
              conv_pd(&b, attr, &pd) && conv_stage(&b, pd);
    base_parallel_leave(before);
    dnnl_primitive_desc_destroy(pd);
    dnnl_primitive_attr_destroy(attr);
    if (!ok)
        kern_dnnl_destroy(b.state);
    *out_state = ok ? b.state : NULL;
    return ok;
}
