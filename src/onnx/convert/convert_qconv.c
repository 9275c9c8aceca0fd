/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions and poolings of quantised numbers. */
#include "onnx/convert/converters.h"
#include "onnx/convert/geometry.h"
#include "onnx/convert/quant.h"

struct conv {
    struct onnx_window w;
    uint32_t rank, groups;
    int64_t dims[5]; /* of the output */
};

static bool conv_plan(struct onnx_builder *b, const struct onnx_node *n, const struct onnx_value *x,
                      const struct onnx_value *filter, struct conv *c)
{
    int64_t groups = onnx_attr_int(n, "group", 1);
    memset(c, 0, sizeof(*c));
    if (!x || !filter || b->failed)
        return false;
    if (x->rank < 3 || x->rank > 5 || filter->rank != x->rank || groups < 1 || groups > INT32_MAX)
        return onnx_fail(b, "input of rank %u with a filter of rank %u, group %lld is not supported", x->rank,
                         filter->rank, (long long)groups);
    c->rank = x->rank;
    c->groups = (uint32_t)groups;
    c->w.spatial = x->rank - 2;
    for (uint32_t i = 0; i < c->w.spatial; i++)
        c->w.kernel[i] = (UINT)filter->dims[2 + i];
    if (!onnx_window_read(b, n, &c->w, x->dims + 2))
        return false;
    if (x->dims[1] != filter->dims[1] * groups)
        return onnx_misfit(b, "the input has %lld channels, the filter requires %lld", (long long)x->dims[1],
                           (long long)(filter->dims[1] * groups));
    c->dims[0] = x->dims[0];
    c->dims[1] = filter->dims[0];
    for (uint32_t i = 0; i < c->w.spatial; i++)
        c->dims[2 + i] = onnx_window_output(&c->w, i, x->dims[2 + i]);
    return true;
}

/* One value, or one for each output channel. */
static bool is_per_channel(struct onnx_builder *b, const struct onnx_value *v, const struct conv *c)
{
    int64_t count = v ? onnx_elements(v) : 1;
    return count == 1 || count == c->dims[1] ||
           onnx_misfit(b, "'%s' has %lld values for %lld channels", v->name, (long long)count, (long long)c->dims[1]);
}

static const DML_TENSOR_DESC *channel_desc(struct onnx_builder *b, struct onnx_desc *d, struct onnx_value *v,
                                           const struct conv *c)
{
    const int64_t dims[5] = { 1, v ? onnx_elements(v) : 1, 1, 1, 1 };
    return onnx_desc_as(b, d, v, c->rank, dims);
}

/* [channels, 1, 1, 1], to be broadcast against a filter; [channels, 1, 1] against a result. */
static struct onnx_value *as_channels(struct onnx_builder *b, struct onnx_value *v, uint32_t rank)
{
    const int64_t dims[5] = { v ? onnx_elements(v) : 1, 1, 1, 1, 1 };
    return v ? onnx_as(b, v, rank, dims) : NULL;
}

/* Whether there are three spatial dimensions, or an empty sum. */
static bool is_wide(const struct conv *c, const struct onnx_value *x, const struct onnx_value *filter)
{
    return c->rank == 5 || !onnx_elements(x) || !onnx_elements(filter);
}

/* In FLOAT64, which holds all sums exactly. */
static struct onnx_value *sums_wide(struct onnx_builder *b, const struct conv *c, const struct onnx_quantized *x,
                                    const struct onnx_quantized *filter, struct onnx_value *bias)
{
    struct onnx_value *zero = as_channels(b, filter->zero_point, c->rank);
    struct onnx_value *in[3] = { onnx_less_zero_point(b, x->x, as_channels(b, x->zero_point, 1), ONNX_DOUBLE),
                                 onnx_less_zero_point(b, filter->x, zero, ONNX_DOUBLE),
                                 onnx_convert(b, bias, ONNX_DOUBLE) };
    struct onnx_value *y = in[0] && in[1] ? onnx_temp(b, ONNX_DOUBLE, c->rank, c->dims) : NULL;
    struct onnx_desc d[4];
    DML_CONVOLUTION_OPERATOR_DESC desc = {
        .InputTensor = onnx_desc(b, &d[0], in[0]),
        .FilterTensor = onnx_desc(b, &d[1], in[1]),
        .BiasTensor = channel_desc(b, &d[2], in[2], c),
        .OutputTensor = onnx_desc(b, &d[3], y),
        .Mode = DML_CONVOLUTION_MODE_CROSS_CORRELATION,
        .Direction = DML_CONVOLUTION_DIRECTION_FORWARD,
        .DimensionCount = c->w.spatial,
        .Strides = c->w.strides,
        .Dilations = c->w.dilations,
        .StartPadding = c->w.start,
        .EndPadding = c->w.end,
        .OutputPadding = c->w.output_padding,
        .GroupCount = c->groups,
    };
    return y && onnx_emit(b, DML_OPERATOR_CONVOLUTION, &desc, in, 3, &y, 1) ? y : NULL;
}

bool onnx_conv_integer(struct onnx_builder *b, const struct onnx_node *n)
{
    const struct onnx_quantized x = { onnx_in(b, n, 0), NULL, onnx_in_optional(b, n, 2) };
    const struct onnx_quantized filter = { onnx_in(b, n, 1), NULL, onnx_in_optional(b, n, 3) };
    static const int64_t ones[5] = { 1, 1, 1, 1, 1 };
    struct onnx_desc d[5];
    struct conv c;
    if (!conv_plan(b, n, x.x, filter.x, &c) || !is_per_channel(b, filter.zero_point, &c))
        return false;
    if (is_wide(&c, x.x, filter.x))
        return onnx_result(b, n, 0, onnx_convert(b, sums_wide(b, &c, &x, &filter, NULL), ONNX_INT32));
    struct onnx_value *in[4] = { x.x, x.zero_point, filter.x, filter.zero_point };
    struct onnx_value *y = onnx_out(b, n, 0, ONNX_INT32, c.rank, c.dims);
    /* DirectML requires both zero points to have the same rank. */
    DML_CONVOLUTION_INTEGER_OPERATOR_DESC desc = {
        onnx_desc(b, &d[0], in[0]),
        x.zero_point ? onnx_desc_as(b, &d[1], in[1], c.rank, ones) : NULL,
        onnx_desc(b, &d[2], in[2]),
        channel_desc(b, &d[3], in[3], &c),
        onnx_desc(b, &d[4], y),
        c.w.spatial,
        c.w.strides,
        c.w.dilations,
        c.w.start,
        c.w.end,
        c.groups,
    };
    return y && onnx_emit(b, DML_OPERATOR_CONVOLUTION_INTEGER, &desc, in, 4, &y, 1);
}

/* The type of a tensor that is quantised like q and computed from x. */
static int32_t type_of_result(const struct onnx_quantized *x, const struct onnx_quantized *q)
{
    return q->zero_point ? q->zero_point->type : x->x->type;
}

static bool qconv_wide(struct onnx_builder *b, const struct onnx_node *n, const struct conv *c,
                       const struct onnx_quantized *x, const struct onnx_quantized *filter, struct onnx_value *bias,
                       const struct onnx_quantized *q)
{
    struct onnx_value *y = onnx_convert(b, sums_wide(b, c, x, filter, bias), ONNX_FLOAT);
    struct onnx_value *scale = onnx_apply2(b, DML_OPERATOR_ELEMENT_WISE_MULTIPLY,
                                           as_channels(b, filter->scale, c->rank - 1), as_channels(b, x->scale, 1));
    y = onnx_apply2(b, DML_OPERATOR_ELEMENT_WISE_MULTIPLY, y, scale);
    return onnx_result(b, n, 0, onnx_quantize_all(b, y, q, type_of_result(x, q)));
}

bool onnx_qlinear_conv(struct onnx_builder *b, const struct onnx_node *n)
{
    const struct onnx_quantized x = onnx_quantized_in(b, n, 0), filter = onnx_quantized_in(b, n, 3);
    const struct onnx_quantized q = onnx_quantized_out(b, n, 6);
    struct onnx_value *bias = onnx_in_optional(b, n, 8);
    static const int64_t ones[5] = { 1, 1, 1, 1, 1 };
    struct onnx_desc d[10];
    struct conv c;
    if (!conv_plan(b, n, x.x, filter.x, &c) || !is_per_channel(b, filter.scale, &c) ||
        !is_per_channel(b, filter.zero_point, &c) || !is_per_channel(b, bias, &c))
        return false;
    if (!x.scale || !q.scale || onnx_elements(x.scale) != 1 || onnx_elements(q.scale) != 1)
        return onnx_fail(b, "the scales of input and output must be one value each");
    if (is_wide(&c, x.x, filter.x))
        return qconv_wide(b, n, &c, &x, &filter, bias, &q);
    struct onnx_value *in[9] = { x.x,  x.scale, x.zero_point, filter.x, filter.scale, filter.zero_point,
                                 bias, q.scale, q.zero_point };
    struct onnx_value *y = onnx_out(b, n, 0, type_of_result(&x, &q), c.rank, c.dims);
    DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC desc = {
        onnx_desc(b, &d[0], in[0]),
        onnx_desc_as(b, &d[1], in[1], c.rank, ones),
        onnx_desc_as(b, &d[2], in[2], c.rank, ones),
        onnx_desc(b, &d[3], in[3]),
        channel_desc(b, &d[4], in[4], &c),
        channel_desc(b, &d[5], in[5], &c),
        channel_desc(b, &d[6], in[6], &c),
        onnx_desc_as(b, &d[7], in[7], c.rank, ones),
        onnx_desc_as(b, &d[8], in[8], c.rank, ones),
        onnx_desc(b, &d[9], y),
        c.w.spatial,
        c.w.strides,
        c.w.dilations,
        c.w.start,
        c.w.end,
        c.groups,
    };
    return y && onnx_emit(b, DML_OPERATOR_QUANTIZED_LINEAR_CONVOLUTION, &desc, in, 9, &y, 1);
}

/* ---- poolings ---- */

/* [N, H, W, C] viewed as [N, C, H, W] if the node requests it, and back: a copy through a view. */
static struct onnx_value *channels_first(struct onnx_builder *b, const struct onnx_node *n, struct onnx_value *x)
{
    uint32_t order[ONNX_RANK_MAX] = { 0, x ? x->rank - 1 : 0 };
    if (!x || !onnx_attr_int(n, "channels_last", 0))
        return x;
    for (uint32_t i = 2; i < x->rank; i++)
        order[i] = i - 1;
    return onnx_permute(b, x, order);
}

static struct onnx_value *channels_back(struct onnx_builder *b, const struct onnx_node *n, struct onnx_value *y)
{
    uint32_t order[ONNX_RANK_MAX] = { 0 };
    if (!y || !onnx_attr_int(n, "channels_last", 0))
        return y;
    for (uint32_t i = 2; i < y->rank; i++)
        order[i - 1] = i;
    order[y->rank - 1] = 1;
    return onnx_permute(b, y, order);
}

static struct onnx_value *emit_pool(struct onnx_builder *b, const struct onnx_node *n, const struct onnx_quantized *x,
                                    const struct onnx_quantized *q, struct onnx_window *w, const int64_t *dims)
{
    static const int64_t ones[5] = { 1, 1, 1, 1, 1 };
    struct onnx_value *in[5] = { x->x, x->scale, x->zero_point, q->scale, q->zero_point };
    struct onnx_value *y = onnx_temp(b, x->x->type, x->x->rank, dims);
    struct onnx_pool_shape shape;
    struct onnx_desc d[6];
    onnx_window_widen(w, &shape, x->x, dims);
    DML_QUANTIZED_LINEAR_AVERAGE_POOLING_OPERATOR_DESC desc = {
        onnx_desc_as(b, &d[0], in[0], shape.rank, shape.in),
        onnx_desc_as(b, &d[1], in[1], shape.rank, ones),
        onnx_desc_as(b, &d[2], in[2], shape.rank, ones),
        onnx_desc_as(b, &d[3], in[3], shape.rank, ones),
        onnx_desc_as(b, &d[4], in[4], shape.rank, ones),
        onnx_desc_as(b, &d[5], y, shape.rank, shape.out),
        shape.rank - 2,
        w->strides,
        w->kernel,
        w->start,
        w->end,
        w->dilations,
        onnx_attr_int(n, "count_include_pad", 0) != 0,
    };
    return y && onnx_emit(b, DML_OPERATOR_QUANTIZED_LINEAR_AVERAGE_POOLING, &desc, in, 5, &y, 1) ? y : NULL;
}

bool onnx_qlinear_average_pool(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_quantized x = onnx_quantized_in(b, n, 0);
    const struct onnx_quantized q = onnx_quantized_out(b, n, 3);
    struct onnx_window w = { 0 };
    int64_t dims[5];
    if (!x.x || !x.scale || !q.scale || b->failed)
        return false;
    if (x.x->rank < 3 || x.x->rank > 5)
        return onnx_fail(b, "input of rank %u is not supported", x.x->rank);
    x.x = channels_first(b, n, x.x);
    w.spatial = x.x ? x.x->rank - 2 : 1;
    if (!x.x || !onnx_window_attribute(b, n, "kernel_shape", w.spatial, w.kernel, 0) ||
        !onnx_window_read(b, n, &w, x.x->dims + 2))
        return false;
    dims[0] = x.x->dims[0];
    dims[1] = x.x->dims[1];
    for (uint32_t i = 0; i < w.spatial; i++)
        dims[2 + i] = onnx_pool_output(&w, i, x.x->dims[2 + i], onnx_attr_int(n, "ceil_mode", 0) != 0);
    return onnx_result(b, n, 0, channels_back(b, n, emit_pool(b, n, &x, &q, &w, dims)));
}

bool onnx_qlinear_global_average_pool(struct onnx_builder *b, const struct onnx_node *n)
{
    const struct onnx_quantized x = onnx_quantized_in(b, n, 0), q = onnx_quantized_out(b, n, 3);
    bool last = onnx_attr_int(n, "channels_last", 0) != 0;
    int64_t dims[ONNX_RANK_MAX];
    UINT axes[ONNX_RANK_MAX];
    struct onnx_desc dx, dy;
    struct onnx_value *in = onnx_dequantize_all(b, &x);
    if (!in || in->rank < 3)
        return in && onnx_fail(b, "input of rank %u is not supported", in->rank);
    for (uint32_t i = 0; i < in->rank; i++) {
        dims[i] = i == 0 || i == (last ? in->rank - 1 : 1) ? in->dims[i] : 1;
        axes[i] = i + (last ? 1 : 2);
    }
    struct onnx_value *y = onnx_temp(b, in->type, in->rank, dims);
    DML_REDUCE_OPERATOR_DESC desc = { DML_REDUCE_FUNCTION_AVERAGE, onnx_desc(b, &dx, in), onnx_desc(b, &dy, y),
                                      in->rank - 2, axes };
    return y && onnx_emit(b, DML_OPERATOR_REDUCE, &desc, &in, 1, &y, 1) &&
           onnx_result(b, n, 0, onnx_quantize_all(b, y, &q, x.x->type));
}
