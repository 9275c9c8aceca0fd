/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of convolutions' weights on oneDNN. They are convolutions, too: of images whose batch and channels have
 * changed places, by the gradient of the result, whose dilation is the forward pass's stride and whose stride is its
 * dilation. What tells them from others is a filter with more elements than each plane of the result. */
#include "kernels/conv/conv.h"
#include "kernels/onednn/dnnl_op.h"

#include "base/parallel.h"

#define PADDING_MAX 8192 /* as for other convolutions: no code without end */

struct grad_build {
    const struct kern_op *op;
    struct dnnl_state *state;
    struct conv_shape shape;
    uint32_t rank;
    struct kern_view x, dy, dw; /* as the forward pass has them; dw: with the groups in front, where there are some */
    dnnl_memory_desc_t x_md, dy_md, dw_md;
};

/* Dimensions of size 1 get the stride they would have if dense, so that the library recognises the layout. */
static bool view_md(const struct kern_view *view, dnnl_memory_desc_t *out)
{
    uint32_t order[KERN_RANK_MAX];
    dnnl_dims_t dims, strides;
    int64_t inner = 1;
    dense_memory_order(view, order);
    for (uint32_t i = view->rank; i-- > 0;) {
        const uint32_t d = order[i];
        dims[d] = view->sizes[d];
        strides[d] = view->sizes[d] > 1 ? view->strides[d] : inner;
        inner = strides[d] * dims[d];
    }
    return dnnl_md_init(out, (int)view->rank, dims, dnnl_f32, strides);
}

static struct kern_view swapped(const struct kern_view *view)
{
    struct kern_view out = *view;
    out.sizes[0] = view->sizes[1];
    out.strides[0] = view->strides[1];
    out.sizes[1] = view->sizes[0];
    out.strides[1] = view->strides[0];
    return out;
}

static void grad_views(struct grad_build *b)
{
    const struct kern_view *t = b->op->tensors, *y = &t[b->op->input_count];
    const uint32_t groups = b->shape.groups;
    b->x = swapped(&t[0]);
    b->dy = swapped(&t[1]);
    b->dw = swapped(y);
    if (groups == 1)
        return;
    /* One image, whose channels are the batch of one group after the other. */
    b->x.sizes[0] = b->shape.in_group;
    b->x.sizes[1] = groups;
    b->x.strides[1] = t[0].strides[1] * b->shape.in_group;
    b->dw.rank = b->rank + 1;
    for (uint32_t d = b->rank; d > 0; d--) {
        b->dw.sizes[d] = b->dw.sizes[d - 1];
        b->dw.strides[d] = b->dw.strides[d - 1];
    }
    b->dw.sizes[0] = groups;
    b->dw.sizes[1] = b->shape.out_group;
    b->dw.strides[0] = b->dw.strides[1] * b->shape.out_group;
}

/* The forward pass's steps as the library counts them; the end padding so that sizes agree. */
static void grad_steps(const struct conv_shape *s, uint32_t rank, int64_t *strides, int64_t *dilates, int64_t *start,
                       int64_t *end)
{
    for (uint32_t i = 0; i + 2 < rank; i++) {
        const uint32_t d = i + 5 - rank;
        strides[i] = s->dilation[d];
        dilates[i] = s->stride[d] - 1;
        start[i] = s->pad[d];
        end[i] = (s->kernel[d] - 1) * s->dilation[d] + (s->out[d] - 1) * s->stride[d] + 1 - s->pad[d] - s->in[d];
        if (end[i] < 0 && end[i] > -strides[i]) /* what is left of the last stride */
            end[i] = 0;
    }
}

static bool any_md(const dnnl_memory_desc_t *like, dnnl_memory_desc_t *out)
{
    return dnnl_md_init(out, like->ndims, like->dims, dnnl_f32, NULL);
}

/* X and dY as the primitive reads them: with channels innermost where they lie so in one of them, which saves a copy of
 * that, else as the library likes best. */
static bool image_mds(const struct grad_build *b, dnnl_memory_desc_t *x, dnnl_memory_desc_t *dy)
{
    if (b->shape.groups == 1 && (dnnl_view_is_last(&b->x) || dnnl_view_is_last(&b->dy)))
        return dnnl_md_last(&b->x_md, x) && dnnl_md_last(&b->dy_md, dy);
    return any_md(&b->x_md, x) && any_md(&b->dy_md, dy);
}

static bool grad_desc(const struct grad_build *b, dnnl_primitive_desc_t *forward, dnnl_primitive_desc_t *pd)
{
    dnnl_memory_desc_t x, dy, dw;
    dnnl_dims_t strides, dilates, start, end;
    dnnl_convolution_desc_t hint, desc;
    dnnl_primitive_attr_t attr = NULL;
    grad_steps(&b->shape, b->rank, strides, dilates, start, end);
    bool ok = image_mds(b, &x, &dy) && any_md(&b->dw_md, &dw) && dnnl_attr_create(&attr);
    ok = ok && dnnl_dilated_convolution_forward_desc_init(&hint, dnnl_forward_training, dnnl_convolution_direct, &x,
                                                          &dw, NULL, &dy, strides, dilates, start, end) == dnnl_success;
    ok = ok && dnnl_dilated_convolution_backward_weights_desc_init(&desc, dnnl_convolution_direct, &x, &dw, NULL, &dy,
                                                                   strides, dilates, start, end) == dnnl_success;
    ok = ok && dnnl_safe_primitive_desc_create(forward, &hint, attr, dnnl_engine(), NULL) &&
         dnnl_safe_primitive_desc_create(pd, &desc, attr, dnnl_engine(), *forward);
    dnnl_primitive_attr_destroy(attr);
    return ok;
}

static uint32_t grad_input(struct grad_build *b, uint32_t tensor, const struct kern_view *view,
                           const dnnl_memory_desc_t *md, const dnnl_memory_desc_t *wanted)
{
    const bool direct = dnnl_view_direct(view, false);
    return dnnl_stage_reorder_in(b->state, dnnl_buffer_input(b->state, md, tensor, direct, view, 0), wanted);
}

static bool grad_stages(struct grad_build *b, const_dnnl_primitive_desc_t pd)
{
    struct dnnl_args args = { 0 };
    dnnl_arg(&args, DNNL_ARG_SRC, grad_input(b, 0, &b->x, &b->x_md, dnnl_query_md(pd, dnnl_query_src_md)));
    dnnl_arg(&args, DNNL_ARG_DIFF_DST, grad_input(b, 1, &b->dy, &b->dy_md, dnnl_query_md(pd, dnnl_query_diff_dst_md)));
    const dnnl_memory_desc_t *made = dnnl_query_md(pd, dnnl_query_diff_weights_md);
    const uint32_t y = dnnl_buffer_tensor(b->state, &b->dw_md, b->op->input_count);
    const bool same = dnnl_memory_desc_equal(made, &b->dw_md);
    const uint32_t result = same ? y : dnnl_buffer_scratch(b->state, made);
    dnnl_arg(&args, DNNL_ARG_DIFF_WEIGHTS, result);
    return dnnl_stage_add(b->state, pd, &args) && (same || dnnl_stage_reorder(b->state, result, y));
}

/* What a view that the library cannot address becomes. */
static bool input_md(const struct kern_view *view, dnnl_memory_desc_t *out)
{
    struct kern_view dense = *view;
    if (!dnnl_view_direct(view, false))
        dnnl_view_densify(&dense);
    return view_md(&dense, out);
}

static bool grad_build(struct grad_build *b, uint32_t threads)
{
    dnnl_primitive_desc_t forward = NULL, pd = NULL;
    bool ok = input_md(&b->x, &b->x_md) && input_md(&b->dy, &b->dy_md) && view_md(&b->dw, &b->dw_md) &&
              grad_desc(b, &forward, &pd) && !dnnl_is_named(pd, "ref");
    ok = ok && (b->state = dnnl_state_create(b->op, threads)) && grad_stages(b, pd) && dnnl_state_finish(b->state);
    if (!ok) {
        kern_dnnl_destroy(b->state);
        b->state = NULL;
    }
    dnnl_primitive_desc_destroy(pd);
    dnnl_primitive_desc_destroy(forward);
    return ok;
}

static bool padding_fits(const struct conv_shape *s)
{
    int64_t strides[3], dilates[3], start[3], end[3];
    bool near = true;
    grad_steps(s, 5, strides, dilates, start, end);
    for (uint32_t d = 0; d < KERN_SPATIAL_MAX; d++)
        near = near && start[d] <= PADDING_MAX && end[d] <= PADDING_MAX && end[d] >= -PADDING_MAX;
    return near;
}

bool dnnl_conv_grad_accepts(const struct kern_op *op)
{
    const struct kern_conv *conv = &op->u.conv;
    struct conv_shape s;
    if ((op->flags & KERN_FLAG_REFERENCE) || conv->transposed || conv->flip || conv->has_bias || op->epilogue ||
        op->packed_input || !conv_has_type(op, DML_TENSOR_DATA_TYPE_FLOAT32) || !conv_shape_init(op, &s))
        return false;
    return (s.groups == 1 || s.batch == 1) && dnnl_view_lies(&op->tensors[op->input_count]) && padding_fits(&s) &&
           s.kernel[0] * s.kernel[1] * s.kernel[2] > s.out[0] * s.out[1] * s.out[2];
}

bool dnnl_conv_grad_create(const struct kern_op *op, uint32_t threads, void **out_state)
{
    struct grad_build b = { .op = op, .rank = op->u.conv.spatial + 2 };
    if (!dnnl_engine() || !conv_shape_init(op, &b.shape))
        return false;
    grad_views(&b);
    struct base_team before = base_parallel_enter(threads); /* the library cuts the work when it makes the primitive */
    bool ok = grad_build(&b, threads);
    base_parallel_leave(before);
    *out_state = b.state;
    return ok;
}
