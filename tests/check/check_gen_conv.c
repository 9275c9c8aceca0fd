/* SPDX-License-Identifier: Apache-2.0 */
#include "check_window.h"

void check_channels_last(struct kern_view *view)
{
    int64_t stride = view->sizes[1];
    view->strides[1] = 1;
    for (uint32_t d = view->rank - 1; d >= 2; d--) {
        view->strides[d] = stride;
        stride *= view->sizes[d];
    }
    view->strides[0] = stride;
}

void check_filter_last(struct kern_view *w)
{
    check_channels_last(w);
    if (w->sizes[1] > 1)
        return;
    int64_t stride = w->sizes[0];
    w->strides[0] = 1;
    w->strides[1] = 0;
    for (uint32_t d = w->rank; d-- > 2; stride *= w->sizes[d])
        w->strides[d] = stride;
}

void check_activation_view(struct check_rng *rng, struct kern_view *out, DML_TENSOR_DATA_TYPE type, uint32_t rank,
                           const uint32_t *sizes)
{
    uint32_t style = check_pick(rng, 5);
    kern_view_set_packed(out, type, rank, sizes);
    if (style == 4)
        check_view(rng, out, type, rank, sizes);
    if (style == 2 || style == 3)
        check_channels_last(out);
}

void check_steps(struct check_rng *rng, uint32_t most, struct check_steps *out)
{
    do {
        out->in = 1 + check_pick(rng, most);
        out->kernel = check_chance(rng, 3) ? 1 : 1 + check_pick(rng, 4);
        out->stride = check_chance(rng, 2) ? 1 : 1 + check_pick(rng, 3);
        out->dilation = check_chance(rng, 4) ? 2 + check_pick(rng, 3) : 1;
        out->start = check_pick(rng, out->kernel);
        out->end = check_pick(rng, out->kernel);
    } while (out->in + out->start + out->end < (out->kernel - 1) * out->dilation + 1 || !check_steps_transposed(out));
}

uint32_t check_steps_count(const struct check_steps *s)
{
    return (s->in + s->start + s->end - (s->kernel - 1) * s->dilation - 1) / s->stride + 1;
}

uint32_t check_free_size(struct check_rng *rng, uint32_t size)
{
    if (!check_chance(rng, 4))
        return size;
    return check_chance(rng, 2) ? 1 + check_pick(rng, size) : size + 1 + check_pick(rng, check_chance(rng, 4) ? 40 : 4);
}

uint32_t check_steps_transposed(const struct check_steps *s)
{
    uint32_t whole = (s->in - 1) * s->stride + (s->kernel - 1) * s->dilation + 1;
    return whole > s->start + s->end ? whole - s->start - s->end : 0;
}

/* `wide`: enough channels for Winograd's algorithm; `point`: windows of one element, here now and then many channels.
 */
static void channels(struct check_rng *rng, struct kern_conv *conv, bool wide, bool point, uint32_t *in_group,
                     uint32_t *out_group)
{
    bool depthwise = check_chance(rng, 3);
    conv->groups = depthwise              ? 2 + check_pick(rng, check_chance(rng, 4) ? 150 : 30)
                   : check_chance(rng, 3) ? 1 + check_pick(rng, 3)
                                          : 1;
    if (depthwise && check_chance(rng, 2))
        conv->groups = (uint32_t)base_align_up(conv->groups, 4);
    *in_group = depthwise ? 1 : 1 + check_pick(rng, check_chance(rng, 4) ? 40 : 6);
    *out_group = depthwise ? 1 + check_pick(rng, 2) : 1 + check_pick(rng, check_chance(rng, 4) ? 40 : 6);
    if (!depthwise && conv->groups > 1 && check_chance(rng, 2)) { /* groups of less than a vector */
        conv->groups = 2 + check_pick(rng, 20);
        *in_group = *out_group = check_chance(rng, 2) ? 4 : 2;
    }
    if (wide) {
        conv->groups = 1;
        *in_group = (check_chance(rng, 3) ? 8 : 32) + check_pick(rng, 9);
        *out_group = 32 + check_pick(rng, 9);
    }
    if (point && !conv->transposed && check_chance(rng, 2)) {
        conv->groups = 1;
        *in_group = check_chance(rng, 6) ? UINT32_C(64) << check_pick(rng, 2) : 1 + check_pick(rng, 60);
        *in_group = check_chance(rng, 2) ? base_align_up(*in_group, 4) : *in_group; /* whole words of bytes */
        *out_group = 1 + check_pick(rng, 80);
    }
}

static void zero_points(struct check_rng *rng, struct kern_op *op, uint32_t rank, uint32_t channels, bool usual)
{
    struct kern_conv *conv = &op->u.conv;
    uint32_t sizes[5] = { 1, 1, 1, 1, 1 };
    conv->integer = true;
    conv->has_x_zero = check_chance(rng, 2);
    conv->has_w_zero = !usual && check_chance(rng, 2);
    if (conv->has_x_zero)
        kern_view_set_packed(&op->tensors[op->input_count++], op->tensors[0].type, rank, sizes);
    sizes[1] = channels;
    if (!conv->has_w_zero)
        return;
    kern_view_set_packed(&op->tensors[op->input_count], op->tensors[1].type, rank, sizes);
    if (check_chance(rng, 3))
        op->tensors[op->input_count].strides[1] = 0;
    op->input_count++;
}

/* Images of several bands, which windows of a few planes share. */
static void large_steps(struct check_rng *rng, uint32_t most, struct check_steps *out)
{
    do {
        out->in = 6 + check_pick(rng, most);
        out->kernel = 3 + 2 * check_pick(rng, 3);
        out->stride = 1 + check_pick(rng, 2);
        out->dilation = check_chance(rng, 6) ? 2 : 1;
        out->start = out->end = check_chance(rng, 4) ? 0 : out->kernel / 2;
    } while (out->in + 2 * out->start < (out->kernel - 1) * out->dilation + 1);
}

struct kind_of_sizes {
    bool wide, point; /* as those of check_gen_conv */
    bool large;       /* large_steps */
};

/* Windows and images of a convolution. */
static void windows(struct check_rng *rng, struct kern_conv *conv, struct kind_of_sizes kind, uint32_t *x, uint32_t *w,
                    uint32_t *y)
{
    bool plain = check_chance(rng, 6); /* 3 x 3 without steps: libraries have special ways for these */
    bool side_by_side = conv->transposed && check_chance(rng, 2); /* nothing of the result overlaps or is cut */
    const bool wide = kind.wide, point = kind.point, large = kind.large;
    uint32_t taps = wide && check_chance(rng, 2) ? 5 : 3;
    const uint32_t longest = check_pick(rng, conv->spatial);
    for (uint32_t d = 0; d < conv->spatial; d++) {
        struct check_steps steps;
        check_steps(rng, conv->spatial == 3 ? 7 : 24, &steps);
        if (large)
            large_steps(rng, d == longest ? 120 : conv->spatial == 3 ? 10 : 60, &steps);
        else if (plain || wide)
            steps = (struct check_steps){ steps.in + (wide ? 12 : 0), taps, 1, 1, taps / 2, taps / 2 };
        else if (point)
            steps = (struct check_steps){ steps.in, 1, 1, 1, 0, 0 };
        if (side_by_side && !large)
            steps = (struct check_steps){ steps.in, steps.kernel, steps.kernel, 1, 0, 0 };
        if (wide && check_chance(rng, 3))
            steps.start = check_pick(rng, 8);
        if (d == 0 && conv->spatial == 3 && !conv->transposed && check_chance(rng, 6))
            steps = CHECK_STEPS_BESIDE;
        if (!conv->transposed && check_chance(rng, 2)) /* as "same" padding of steps between taps is */
            steps.start += (steps.kernel - 1) * (steps.dilation - 1) / 2 * (1 + check_pick(rng, 2));
        x[2 + d] = steps.in;
        w[2 + d] = steps.kernel;
        y[2 + d] = conv->transposed ? check_steps_transposed(&steps) : check_steps_count(&steps);
        if (!side_by_side && !large)
            y[2 + d] = check_free_size(rng, y[2 + d]);
        conv->strides[d] = steps.stride;
        conv->dilations[d] = steps.dilation;
        conv->pad_start[d] = steps.start;
    }
}

/* Sizes of image, weights and result. */
static void sizes(struct check_rng *rng, struct kern_conv *conv, bool wide, uint32_t *x, uint32_t *w, uint32_t *y)
{
    uint32_t in_group, out_group;
    bool point = check_chance(rng, 6);                           /* a product for each pixel */
    const bool large = !wide && !point && check_chance(rng, 20); /* and depthwise */
    channels(rng, conv, wide, point, &in_group, &out_group);
    if (large) {
        conv->groups = 2 + check_pick(rng, check_chance(rng, 2) ? 4 : 12);
        in_group = 1;
        out_group = 1 + check_chance(rng, 6);
    }
    x[0] = y[0] = 1 + check_pick(rng, 2);
    x[1] = conv->groups * in_group;
    y[1] = conv->groups * out_group;
    w[0] = conv->transposed ? x[1] : y[1];
    w[1] = conv->transposed ? out_group : in_group;
    windows(rng, conv, (struct kind_of_sizes){ wide, point, large }, x, w, y);
}

/* Gradients of weights: filters as large as images, for which libraries have ways of their own. */
static void gradient(struct check_rng *rng, struct kern_conv *conv, uint32_t *x, uint32_t *w, uint32_t *y)
{
    const bool depthwise = check_chance(rng, 3);
    conv->groups = depthwise ? 1 + check_pick(rng, 40) : 1;
    x[0] = y[0] = depthwise ? 1 : 1 + check_pick(rng, 40);
    w[1] = 1 + check_pick(rng, 4);
    x[1] = conv->groups * w[1];
    w[0] = y[1] = conv->groups * (1 + check_pick(rng, depthwise ? 2 : 40));
    for (uint32_t d = 0; d < conv->spatial; d++) {
        struct check_steps steps; /* of the forward pass */
        do {
            check_steps(rng, conv->spatial == 3 ? 7 : 24, &steps);
        } while (check_steps_count(&steps) < steps.kernel);
        x[2 + d] = steps.in;
        w[2 + d] = check_steps_count(&steps);
        y[2 + d] = steps.kernel;
        conv->strides[d] = steps.dilation;
        conv->dilations[d] = steps.stride;
        conv->pad_start[d] = steps.start;
    }
}

/* Of weights of 3 x 3 between many channels: for Winograd's algorithm. */
static void wide_gradient(struct check_rng *rng, struct kern_conv *conv, uint32_t *x, uint32_t *w, uint32_t *y)
{
    conv->groups = 1;
    x[0] = y[0] = 20 + check_pick(rng, 60);
    x[1] = w[1] = 1 + check_pick(rng, 3);
    w[0] = y[1] = 20 + check_pick(rng, 60);
    for (uint32_t d = 0; d < conv->spatial; d++) {
        const uint32_t start = check_pick(rng, 3);
        x[2 + d] = 6 + check_pick(rng, 14);
        y[2 + d] = 3;
        w[2 + d] = check_free_size(rng, x[2 + d] + 2 * start - 2);
        conv->strides[d] = conv->dilations[d] = 1;
        conv->pad_start[d] = start;
    }
}

void check_batch_innermost(struct kern_view *view)
{
    int64_t stride = view->sizes[0];
    view->strides[0] = 1;
    for (uint32_t d = view->rank - 1; d >= 2; stride *= view->sizes[d--])
        view->strides[d] = stride;
    view->strides[1] = stride;
}

/* The result and what is done to it on the way; rounding errors of wide ones are those of the largest sums. */
static void output(struct check_rng *rng, struct check_case *out, const struct kern_view *last, bool wide)
{
    struct kern_op *op = &out->op;
    op->tensors[op->input_count] = *last;
    if (last->type != DML_TENSOR_DATA_TYPE_FLOAT64)
        check_epilogue(rng, out, last);
    for (uint32_t i = 0; wide && i < out->epilogue.inst_count; i++)
        if (out->epilogue.inst[i].code == KERN_MAP_CONST)
            out->epilogue.inst[i].imm[0].f32 *= 20;
    op->tensors[op->input_count] = *last;
}

void check_gen_conv(struct check_rng *rng, struct check_case *out)
{
    struct kern_op *op = &out->op;
    struct kern_conv *conv = &op->u.conv;
    uint32_t x[5], w[5], y[5];
    bool integer = check_chance(rng, 3);
    DML_TENSOR_DATA_TYPE type = integer                ? DML_TENSOR_DATA_TYPE_INT32
                                : check_chance(rng, 6) ? DML_TENSOR_DATA_TYPE_FLOAT64
                                                       : check_float_type(rng);
    DML_TENSOR_DATA_TYPE x_type = integer ? check_byte_type(rng) : type, w_type = integer ? check_byte_type(rng) : type;
    struct kern_view last;
    bool usual = integer && check_chance(rng, 2);  /* channels innermost, signed weights: what libraries take */
    bool wide = check_chance(rng, usual ? 4 : 16); /* enough channels and pixels for Winograd's algorithm */
    conv->spatial = wide ? 2 : 1 + check_pick(rng, 3);
    uint32_t rank = conv->spatial + 2;
    conv->transposed = !wide && !usual && check_chance(rng, 4);
    conv->flip = !usual && check_chance(rng, 6);
    conv->has_bias = check_chance(rng, 2);
    sizes(rng, conv, wide, x, w, y);
    bool of_weights = !wide && !conv->transposed && !integer && check_chance(rng, 4);
    const bool many = of_weights && conv->spatial == 2 && check_chance(rng, 4);
    if (of_weights) {
        conv->has_bias = false;
        (many ? wide_gradient : gradient)(rng, conv, x, w, y);
    }
    op->kind = KERN_CONV;
    op->input_count = 2;
    op->output_count = 1;
    check_activation_view(rng, &op->tensors[0], x_type, rank, x);
    if (usual) {
        check_channels_last(&op->tensors[0]);
        w_type = DML_TENSOR_DATA_TYPE_INT8;
    }
    kern_view_set_packed(&op->tensors[1], w_type, rank, w);
    if (!usual && check_chance(rng, 4))
        check_view(rng, &op->tensors[1], w_type, rank, w);
    for (uint32_t t = 0; of_weights && t < 2; t++)
        if (many || check_chance(rng, 2))
            check_batch_innermost(&op->tensors[t]);
    if (conv->has_bias)
        kern_view_set_packed(&op->tensors[op->input_count++], type, rank, (uint32_t[5]){ 1, y[1], 1, 1, 1 });
    if (integer)
        zero_points(rng, op, rank, y[1], usual);
    check_activation_view(rng, &last, type, rank, y);
    if (usual)
        check_channels_last(&last);
    if (!integer && !of_weights && check_chance(rng, w[1] == 1 ? 2 : 6)) { /* as shaders like it */
        check_channels_last(&op->tensors[0]);
        check_filter_last(&op->tensors[1]);
        check_channels_last(&last);
    }
    if (type == DML_TENSOR_DATA_TYPE_FLOAT32)
        check_half(rng, op, 1, &last);
    if (of_weights)
        op->tensors[op->input_count] = last;
    else
        output(rng, out, &last, wide);
    if (!integer) {
        out->norm_wise = true;
        check_few(out, &last);
        return;
    }
    check_integer_output(rng, out, 1);
    if (conv->has_bias && op->epilogue) {
        out->data[2] = CHECK_DATA_INDEX;
        out->index_limit[2] = 100000;
    }
}
