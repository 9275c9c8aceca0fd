/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions on oneDNN. With channels innermost in memory (nhwc) the primitive works on the tensors as they lie.
 * Other layouts are brought into the library's own in scratch: its kernels for plain nchw are up to three times slower,
 * more than the two extra passes over the activations cost. Where only X or Y is nhwc, the other one is brought there.
 * Pointwise convolutions are matrix products on plain nchw too, as fast as on nhwc, and stay there. Integers: nhwc
 * alone, with weights that are packed once. */
#include "kernels/conv/conv.h"
#include "kernels/onednn/dnnl_op.h"

#include "base/cpu.h"
#include "base/parallel.h"

struct conv_build {
    const struct kern_op *op;
    struct dnnl_state *state;
    struct conv_shape shape;
    uint32_t rank, threads;
    bool channels_last;
    bool mixed;    /* of X or Y only: the other one is brought there */
    bool reorders; /* X and Y in the layout that the library likes best */
    bool plain;    /* no post-ops */
    bool winograd;
    bool half; /* computes in BFLOAT16 */
    bool integer;
    struct dnnl_epilogue ending; /* of integers */
    struct kern_view x, w, y;    /* the tensor, or its copy as FLOAT32 */
    int64_t w_start;
    bool x_direct, w_direct, y_direct, in_post;
    dnnl_memory_desc_t x_md, w_md, bias_md, y_md;
    struct dnnl_post post;
};

static bool innermost_channels(const struct kern_view *view)
{
    return view->sizes[1] == 1 || view->strides[1] == 1;
}

/* Dimensions of size 1 get the stride they would have if dense, so that the library recognises the layout. */
static bool activation_md(const struct conv_build *b, const struct kern_view *view, dnnl_memory_desc_t *out)
{
    dnnl_dims_t dims, strides;
    int64_t inner = 1;
    for (uint32_t i = 0; i < b->rank; i++) {
        /* From the innermost outwards: channels first or last among the dimensions after the batch. */
        uint32_t d = b->rank - 1 - i;
        if (b->channels_last)
            d = i == 0 ? 1 : i == b->rank - 1 ? 0 : b->rank - i;
        dims[d] = view->sizes[d];
        strides[d] = view->sizes[d] > 1 ? view->strides[d] : inner;
        inner = strides[d] * dims[d];
    }
    return dnnl_md_init(out, (int)b->rank, dims, dnnl_view_type(view), strides);
}

/* [groups, out channels, in channels, kernel...] over the view of W. */
static bool weights_md(const struct conv_build *b, const struct kern_view *view, dnnl_memory_desc_t *out, bool any)
{
    const struct conv_shape *s = &b->shape;
    dnnl_dims_t dims, strides;
    int n = 0;
    if (s->groups > 1) {
        dims[n] = s->groups;
        strides[n++] = view->strides[0] * (s->transposed ? s->in_group : s->out_group);
    }
    dims[n] = s->out_group;
    strides[n++] = view->strides[s->transposed ? 1 : 0];
    dims[n] = s->in_group;
    strides[n++] = view->strides[s->transposed ? 0 : 1];
    for (uint32_t d = 2; d < b->rank; d++) {
        dims[n] = view->sizes[d];
        strides[n++] = view->strides[d];
    }
    const dnnl_data_type_t type = b->integer ? dnnl_s8 : any && b->half ? dnnl_bf16 : dnnl_f32;
    return dnnl_md_init(out, n, dims, type, any ? NULL : strides);
}

static bool residual_md(void *context, uint32_t tensor, dnnl_memory_desc_t *out)
{
    const struct conv_build *b = context;
    const struct kern_view *view = &b->op->tensors[tensor];
    if (!dnnl_view_direct(view, b->half) || !activation_md(b, view, out))
        return false;
    /* The library adds element by element only in the output's own layout. */
    dnnl_memory_desc_t like = *out;
    like.data_type = b->y_md.data_type;
    return dnnl_memory_desc_equal(&like, &b->y_md);
}

static bool conv_views(struct conv_build *b)
{
    const struct kern_op *op = b->op;
    b->x = op->tensors[0];
    b->w = op->tensors[1];
    b->w_start = 0;
    b->y = op->tensors[op->input_count];
    for (uint32_t d = 2; b->shape.flip && d < b->rank; d++) {
        b->w_start += (int64_t)(b->w.sizes[d] - 1) * b->w.strides[d];
        b->w.strides[d] = -b->w.strides[d];
    }
    b->x_direct = b->integer || dnnl_view_direct(&b->x, b->half);
    b->w_direct = b->integer || (dnnl_view_direct(&b->w, false) && !b->w_start);
    /* The last pass takes FLOAT32. */
    b->y_direct = b->integer || dnnl_view_direct(&b->y, b->half && !(op->epilogue && b->plain));
    b->channels_last = innermost_channels(&b->x) && innermost_channels(&b->y);
    b->mixed = !b->channels_last && !b->half && !b->integer && (dnnl_view_is_last(&b->x) || dnnl_view_is_last(&b->y));
    if (!b->x_direct)
        dnnl_view_densify(&b->x);
    if (!b->y_direct)
        dnnl_view_densify(&b->y);
    return activation_md(b, &b->x, &b->x_md) && activation_md(b, &b->y, &b->y_md);
}

/* Steps as the library counts them; the end padding so that sizes agree. */
static void conv_steps(const struct conv_shape *s, uint32_t rank, int64_t *strides, int64_t *dilates, int64_t *start,
                       int64_t *end)
{
    for (uint32_t i = 0; i + 2 < rank; i++) {
        uint32_t d = i + 5 - rank;
        int64_t reach = (s->kernel[d] - 1) * s->dilation[d] + 1;
        strides[i] = s->stride[d];
        dilates[i] = s->dilation[d] - 1;
        start[i] = s->pad[d];
        if (s->transposed)
            end[i] = (s->in[d] - 1) * s->stride[d] + reach - s->pad[d] - s->out[d];
        else
            end[i] = (s->out[d] - 1) * s->stride[d] + reach - s->pad[d] - s->in[d];
    }
}

static bool conv_attr(struct conv_build *b, dnnl_primitive_attr_t *attr)
{
    dnnl_post_ops_t ops = NULL;
    if (b->integer) {
        b->in_post = true;
        return dnnl_int_attr(&b->ending, b->op->u.conv.has_x_zero, &b->y_md, residual_md, b, &b->post, attr);
    }
    if (!dnnl_attr_create(attr))
        return false;
    b->post.count = 0;
    b->in_post = false;
    if (!b->op->epilogue || !b->y_direct || b->plain)
        return true;
    bool ok = dnnl_safe_post_ops_create(&ops);
    if (ok && dnnl_post_epilogue(b->op, ops, residual_md, b, &b->post) &&
        (!b->post.count || !(b->reorders || b->mixed))) {
        b->in_post = true;
        ok = dnnl_safe_primitive_attr_set_post_ops(*attr, ops);
    } else {
        b->post.count = 0;
        ok = ok && b->y_md.data_type == dnnl_f32;
    }
    dnnl_post_ops_destroy(ops);
    return ok;
}

/* X as the primitive reads it. */
static bool source_md(const struct conv_build *b, dnnl_memory_desc_t *out)
{
    struct kern_view x = b->x;
    *out = b->x_md;
    if (!b->half || b->x_md.data_type == dnnl_bf16)
        return true;
    dnnl_view_densify(&x);
    x.type = ANYDML_TENSOR_DATA_TYPE_BFLOAT16;
    return activation_md(b, &x, out);
}

static bool conv_desc(struct conv_build *b, const_dnnl_primitive_attr_t attr, dnnl_primitive_desc_t *pd)
{
    dnnl_memory_desc_t x, w, y = b->y_md, *bias_md = b->op->u.conv.has_bias ? &b->bias_md : NULL;
    dnnl_dims_t strides, dilates, start, end, bias = { b->shape.out_channels };
    if (!source_md(b, &x) || !weights_md(b, &b->w, &w, true) ||
        !dnnl_md_init(&b->bias_md, 1, bias, b->integer ? dnnl_s32 : dnnl_f32, (dnnl_dims_t){ 1 }))
        return false;
    if (b->reorders && !(dnnl_md_init(&x, x.ndims, b->x_md.dims, x.data_type, NULL) &&
                         dnnl_md_init(&y, y.ndims, b->y_md.dims, y.data_type, NULL)))
        return false;
    if (b->mixed && !b->reorders && !(dnnl_md_last(&b->x_md, &x) && dnnl_md_last(&b->y_md, &y)))
        return false;
    conv_steps(&b->shape, b->rank, strides, dilates, start, end);
    dnnl_alg_kind_t algorithm = b->winograd ? dnnl_convolution_winograd : dnnl_convolution_direct;
    dnnl_convolution_desc_t conv;
    dnnl_deconvolution_desc_t deconv;
    dnnl_status_t status =
        b->shape.transposed
            ? dnnl_dilated_deconvolution_forward_desc_init(&deconv, dnnl_forward_inference, dnnl_deconvolution_direct,
                                                           &x, &w, bias_md, &y, strides, dilates, start, end)
            : dnnl_dilated_convolution_forward_desc_init(&conv, dnnl_forward_inference, algorithm, &x, &w, bias_md, &y,
                                                         strides, dilates, start, end);
    const void *desc = b->shape.transposed ? (void *)&deconv : &conv;
    return status == dnnl_success && dnnl_safe_primitive_desc_create(pd, desc, attr, dnnl_engine(), NULL);
}

static uint32_t conv_weights(struct conv_build *b, const dnnl_memory_desc_t *wanted)
{
    struct dnnl_state *state = b->state;
    struct kern_view dense = b->w;
    if (!b->w_direct)
        dnnl_view_densify(&dense);
    if (!weights_md(b, &dense, &b->w_md, false))
        return DNNL_BUFFERS_MAX;
    if (b->op->packed_input == 2)
        return dnnl_buffer_packed(state, &b->w_md, wanted, b->w_direct, &b->w, b->w_start);
    return dnnl_stage_reorder_in(state, dnnl_buffer_input(state, &b->w_md, 1, b->w_direct, &b->w, b->w_start), wanted);
}

static bool conv_stages(struct conv_build *b, const_dnnl_primitive_desc_t pd)
{
    const struct kern_op *op = b->op;
    const struct kern_view *bias = &op->tensors[2];
    struct dnnl_state *state = b->state;
    struct dnnl_args args = { 0 };
    uint32_t out = op->input_count, x = dnnl_buffer_input(state, &b->x_md, 0, b->x_direct, &op->tensors[0], 0);
    dnnl_arg(&args, DNNL_ARG_SRC, dnnl_stage_reorder_in(state, x, dnnl_query_md(pd, dnnl_query_src_md)));
    dnnl_arg(&args, DNNL_ARG_WEIGHTS, conv_weights(b, dnnl_query_md(pd, dnnl_query_weights_md)));
    if (op->u.conv.has_bias) {
        bool direct =
            b->integer || (dnnl_view_direct(bias, false) && (bias->strides[1] == 1 || b->shape.out_channels == 1));
        dnnl_arg(&args, DNNL_ARG_BIAS, dnnl_buffer_input(state, &b->bias_md, 2, direct, bias, 0));
    }
    if (b->integer)
        dnnl_int_args(state, &b->ending, op->u.conv.has_x_zero ? 2u + op->u.conv.has_bias : 0, &args);
    dnnl_post_args(state, &b->post, &args);
    uint32_t y = b->y_direct ? dnnl_buffer_tensor(state, &b->y_md, out) : dnnl_buffer_scratch(state, &b->y_md);
    const dnnl_memory_desc_t *made = dnnl_query_md(pd, dnnl_query_dst_md);
    bool same = dnnl_memory_desc_equal(made, &b->y_md);
    uint32_t result = same ? y : dnnl_buffer_scratch(state, made);
    dnnl_arg(&args, DNNL_ARG_DST, result);
    if (!dnnl_stage_add(state, pd, &args) || (!same && !dnnl_stage_reorder(state, result, y)))
        return false;
    if (!b->y_direct || (op->epilogue && !b->in_post))
        dnnl_finish_set(state, op, !b->y_direct, state->buffers[y].offset, &b->y, false, op->epilogue && !b->in_post);
    return true;
}

static bool conv_build(struct conv_build *b)
{
    dnnl_primitive_attr_t attr = NULL;
    dnnl_primitive_desc_t pd = NULL;
    /* oneDNN 2.6 adds tensors wrongly in convolutions by way of matrix products, at least on nhwc. */
    bool ok = conv_views(b) && conv_attr(b, &attr) && conv_desc(b, attr, &pd) && !dnnl_is_named(pd, "ref") &&
              !(b->post.count && dnnl_is_named(pd, "gemm"));
    if (ok)
        ok = (b->state = dnnl_state_create(b->op, b->threads)) && conv_stages(b, pd) && dnnl_state_finish(b->state);
    if (!ok) {
        kern_dnnl_destroy(b->state);
        b->state = NULL;
    }
    dnnl_primitive_desc_destroy(pd);
    dnnl_primitive_attr_destroy(attr);
    return ok;
}

#define PADDING_MAX 8192

/* Padding is none that the library would generate code for without end. */
static bool padding_fits(const struct conv_shape *s)
{
    int64_t strides[3], dilates[3], start[3], end[3];
    bool near = true;
    conv_steps(s, 5, strides, dilates, start, end);
    for (uint32_t d = 0; d < KERN_SPATIAL_MAX; d++)
        near = near && start[d] <= PADDING_MAX && end[d] <= PADDING_MAX && end[d] >= -PADDING_MAX;
    return near;
}

static bool shape_fits(const struct kern_op *op)
{
    struct conv_shape shape;
    return !(op->flags & KERN_FLAG_REFERENCE) && conv_shape_init(op, &shape) && padding_fits(&shape) &&
           (!op->u.conv.has_bias || op->tensors[2].sizes[1] == shape.out_channels);
}

bool kern_conv_f32_dnnl_accepts(const struct kern_op *op)
{
    DML_TENSOR_DATA_TYPE type = op->tensors[op->input_count].type;
    if (type != DML_TENSOR_DATA_TYPE_FLOAT32 && type != DML_TENSOR_DATA_TYPE_FLOAT16)
        return false;
    return conv_has_type(op, type) && shape_fits(op) &&
           (!(base_cpu_flags() & BASE_CPU_AVX2) || !kern_conv_dw_f32_accepts(op) || dnnl_conv_grad_accepts(op));
}

bool kern_conv_bf16_dnnl_accepts(const struct kern_op *op)
{
    return dense_half_allowed(op) && !op->u.conv.integer && dense_short_floats(op) && shape_fits(op) &&
           !kern_conv_dw_f32_accepts(op);
}

/* Channels lie innermost. */
bool kern_conv_int_dnnl_accepts(const struct kern_op *op)
{
    const struct kern_conv *conv = &op->u.conv;
    const struct kern_view *t = op->tensors;
    struct conv_shape shape;
    struct dnnl_epilogue ending;
    if ((op->flags & KERN_FLAG_REFERENCE) || !conv->integer || conv->transposed || conv->flip || conv->has_w_zero)
        return false;
    if (!dense_is_byte(t[0].type) || t[1].type != DML_TENSOR_DATA_TYPE_INT8 || !conv_shape_init(op, &shape) ||
        !padding_fits(&shape))
        return false;
    if (conv->has_bias && (t[2].type != DML_TENSOR_DATA_TYPE_INT32 || t[2].sizes[1] != shape.out_channels ||
                           (shape.out_channels > 1 && t[2].strides[1] != 1)))
        return false;
    const struct kern_view *y = &t[op->input_count];
    return dnnl_view_lies(&t[0]) && dnnl_view_lies(&t[1]) && dnnl_view_lies(y) && innermost_channels(&t[0]) &&
           innermost_channels(y) && dnnl_epilogue_init(op, 1, &ending);
}

/* 3 x 3 taps with a quarter of the multiplications (4 x 4 tiles): twice as fast, reorders included. Each layer adds
 * about 2e-6 of the greatest element to the error (2e-7 without); 24 layers in a row stay below 6e-6. Small planes, few
 * channels and weights that are not packed once gain nothing. */
static bool winograd_pays(const struct conv_build *b)
{
    const struct conv_shape *s = &b->shape;
    bool result =
        !b->half && !b->integer && s->groups == 1 && !s->transposed && b->rank == 4 && b->op->packed_input == 2;
    for (uint32_t d = 1; d < KERN_SPATIAL_MAX; d++)
        result = result && s->kernel[d] == 3 && s->stride[d] == 1 && s->dilation[d] == 1 && s->out[d] >= 12;
    return result && s->in_channels >= 32 && s->out_channels >= 32;
}

/* From the fastest to the one that always works; integers have but one. */
static bool conv_choose(struct conv_build *b)
{
    bool last = b->channels_last || b->mixed || (!b->half && conv_is_pointwise(&b->shape));
    const struct {
        bool winograd, reorders, plain;
    } ways[] = { { true, true, false },  { true, true, true },   { false, !last, false },
                 { false, !last, true }, { false, last, false }, { false, last, true } };
    for (size_t i = winograd_pays(b) ? 0 : 2; i < (b->integer ? 3 : ARRAY_SIZE(ways)); i++) {
        b->winograd = ways[i].winograd;
        b->reorders = ways[i].reorders;
        b->plain = ways[i].plain;
        if (conv_build(b))
            return true;
    }
    return false;
}

static bool conv_create(struct conv_build *b, uint32_t threads, void **out_state)
{
    b->rank = b->op->u.conv.spatial + 2;
    b->threads = threads;
    if (!dnnl_engine() || !conv_shape_init(b->op, &b->shape) || !conv_views(b))
        return false;
    struct base_team before = base_parallel_enter(threads); /* the library cuts the work when it makes the primitive */
    bool ok = conv_choose(b);
    base_parallel_leave(before);
    *out_state = b->state;
    return ok;
}

bool kern_conv_f32_dnnl_create(const struct kern_op *op, uint32_t threads, void **out_state)
{
    if (dnnl_conv_grad_accepts(op) && dnnl_conv_grad_create(op, threads, out_state))
        return true;
    return conv_create(&(struct conv_build){ .op = op }, threads, out_state);
}

/* Weights that are not packed once would be converted at each execution. */
bool kern_conv_bf16_dnnl_create(const struct kern_op *op, uint32_t threads, void **out_state)
{
    return op->packed_input == 2 && conv_create(&(struct conv_build){ .op = op, .half = true }, threads, out_state);
}

bool kern_conv_int_dnnl_create(const struct kern_op *op, uint32_t threads, void **out_state)
{
    struct conv_build b = { .op = op, .integer = true };
    return op->packed_input == 2 && dnnl_epilogue_init(op, 1, &b.ending) && conv_create(&b, threads, out_state);
}
