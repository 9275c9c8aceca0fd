/* Convolution, matrix products, pooling. */
#include "onnx/geometry.h"

/* ConvTranspose: total size, from output_shape when given (then the padding follows from it). */
static bool transposed_output(struct onnx_builder *b, const struct onnx_node *n, struct onnx_window *w,
                              const int64_t *in, int64_t *out)
{
    int64_t wanted[5];
    uint32_t count = onnx_attr_ints(n, "output_shape", wanted, 5);
    const char *automatic = onnx_attr_string(n, "auto_pad", "NOTSET");
    bool same = !strncmp(automatic, "SAME_", 5);
    for (uint32_t i = 0; i < w->spatial; i++) {
        int64_t full =
            (in[i] - 1) * w->strides[i] + (int64_t)(w->kernel[i] - 1) * w->dilations[i] + 1 + w->output_padding[i];
        out[i] = full - w->start[i] - w->end[i];
        if (!count && !same)
            continue;
        if (count && count < w->spatial)
            return onnx_fail(b, "output_shape has %u values, %u are needed", count, w->spatial);
        out[i] = count ? wanted[count - w->spatial + i] : in[i] * w->strides[i];
        int64_t crop = BASE_MAX(full - out[i], 0);
        w->start[i] = (UINT)(!strcmp(automatic, "SAME_UPPER") ? crop / 2 : crop - crop / 2);
        w->end[i] = (UINT)(crop - w->start[i]);
    }
    return true;
}

static bool conv_shape(struct onnx_builder *b, const struct onnx_node *n, const struct onnx_value *x,
                       const struct onnx_value *w, struct onnx_window *window, int64_t *out)
{
    bool transposed = !strcmp(n->op, "ConvTranspose");
    int64_t group = onnx_attr_int(n, "group", 1);
    if (x->rank < 3 || x->rank > 5 || w->rank != x->rank || group < 1)
        return onnx_fail(b, "input of rank %u with a filter of rank %u, group %lld is not supported", x->rank, w->rank,
                         (long long)group);
    window->spatial = x->rank - 2;
    for (uint32_t i = 0; i < window->spatial; i++)
        window->kernel[i] = (UINT)w->dims[2 + i];
    if (!onnx_window_read(b, n, window, x->dims + 2))
        return false;
    out[0] = x->dims[0];
    out[1] = transposed ? w->dims[1] * group : w->dims[0];
    if (transposed)
        return transposed_output(b, n, window, x->dims + 2, out + 2);
    for (uint32_t i = 0; i < window->spatial; i++)
        out[2 + i] = onnx_window_output(window, i, x->dims[2 + i], false);
    return true;
}

bool onnx_conv(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *in[3] = { onnx_in(b, n, 0), onnx_in(b, n, 1), onnx_in_optional(b, n, 2) };
    struct onnx_window window = { 0 };
    int64_t dims[ONNX_RANK_MAX];
    struct onnx_desc d[4];
    if (!in[0] || !in[1] || !conv_shape(b, n, in[0], in[1], &window, dims))
        return false;
    struct onnx_value *y = onnx_out(b, n, 0, in[0]->type, in[0]->rank, dims);
    int64_t bias_dims[5] = { 1, dims[1], 1, 1, 1 };
    if (!y)
        return false;
    if (in[2] && onnx_elements(in[2]) != dims[1])
        return onnx_fail(b, "the bias has %lld values for %lld channels", (long long)onnx_elements(in[2]),
                         (long long)dims[1]);
    DML_CONVOLUTION_OPERATOR_DESC desc = {
        .InputTensor = onnx_desc(b, &d[0], in[0]),
        .FilterTensor = onnx_desc(b, &d[1], in[1]),
        .BiasTensor = in[2] ? onnx_desc_as(b, &d[2], in[2], in[0]->rank, bias_dims) : NULL,
        .OutputTensor = onnx_desc(b, &d[3], y),
        .Mode = DML_CONVOLUTION_MODE_CROSS_CORRELATION,
        .Direction =
            !strcmp(n->op, "ConvTranspose") ? DML_CONVOLUTION_DIRECTION_BACKWARD : DML_CONVOLUTION_DIRECTION_FORWARD,
        .DimensionCount = window.spatial,
        .Strides = window.strides,
        .Dilations = window.dilations,
        .StartPadding = window.start,
        .EndPadding = window.end,
        .OutputPadding = window.output_padding,
        .GroupCount = (UINT)onnx_attr_int(n, "group", 1),
    };
    return onnx_emit(b, DML_OPERATOR_CONVOLUTION, &desc, in, 3, &y, 1);
}

static bool emit_pool(struct onnx_builder *b, bool max, bool include, struct onnx_window *w,
                      const struct onnx_pool_shape *shape, struct onnx_value *x, struct onnx_value *const *y)
{
    struct onnx_desc d[3];
    const DML_TENSOR_DESC *tx = onnx_desc_as(b, &d[0], x, shape->rank, shape->in);
    const DML_TENSOR_DESC *ty = onnx_desc_as(b, &d[1], y[0], shape->rank, shape->out);
    UINT spatial = shape->rank - 2;
    if (max) {
        DML_MAX_POOLING2_OPERATOR_DESC desc = {
            tx,       ty,         y[1] ? onnx_desc_as(b, &d[2], y[1], shape->rank, shape->out) : NULL,
            spatial,  w->strides, w->kernel,
            w->start, w->end,     w->dilations,
        };
        return onnx_emit(b, DML_OPERATOR_MAX_POOLING2, &desc, &x, 1, y, 2);
    }
    DML_AVERAGE_POOLING1_OPERATOR_DESC desc = { tx,       ty,     spatial,      w->strides, w->kernel,
                                                w->start, w->end, w->dilations, include };
    return onnx_emit(b, DML_OPERATOR_AVERAGE_POOLING1, &desc, &x, 1, y, 1);
}

bool onnx_pool(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *x = onnx_in(b, n, 0), *y[2] = { NULL, NULL };
    struct onnx_window w = { 0 };
    int64_t dims[ONNX_RANK_MAX];
    bool max = !strcmp(n->op, "MaxPool"), ceil_mode = onnx_attr_int(n, "ceil_mode", 0) != 0;
    if (!x)
        return false;
    if (x->rank < 3 || x->rank > 5)
        return onnx_fail(b, "input of rank %u is not supported", x->rank);
    w.spatial = x->rank - 2;
    if (!onnx_window_attribute(b, n, "kernel_shape", w.spatial, w.kernel, 0) ||
        !onnx_window_read(b, n, &w, x->dims + 2))
        return false;
    dims[0] = x->dims[0];
    dims[1] = x->dims[1];
    for (uint32_t i = 0; i < w.spatial; i++)
        dims[2 + i] = onnx_window_output(&w, i, x->dims[2 + i], ceil_mode);
    y[0] = onnx_out(b, n, 0, x->type, x->rank, dims);
    if (max && onnx_has_output(n, 1)) {
        if (onnx_attr_int(n, "storage_order", 0))
            return onnx_fail(b, "storage_order = 1 is not supported");
        y[1] = onnx_out(b, n, 1, ONNX_UINT64, x->rank, dims); /* non-negative: the bits of INT64 */
        if (y[1])
            y[1]->type = ONNX_UINT64;
    }
    struct onnx_pool_shape shape;
    onnx_window_widen(&w, &shape, x, dims);
    bool done = y[0] && emit_pool(b, max, onnx_attr_int(n, "count_include_pad", 0) != 0, &w, &shape, x, y);
    if (done && y[1])
        y[1]->type = ONNX_INT64;
    return done;
}

bool onnx_global_pool(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *x = onnx_in(b, n, 0);
    int64_t dims[ONNX_RANK_MAX];
    UINT axes[ONNX_RANK_MAX];
    struct onnx_desc dx, dy;
    if (!x)
        return false;
    if (x->rank < 3)
        return onnx_fail(b, "input of rank %u is not supported", x->rank);
    for (uint32_t i = 0; i < x->rank; i++) {
        dims[i] = i < 2 ? x->dims[i] : 1;
        axes[i] = i + 2;
    }
    struct onnx_value *y = onnx_out(b, n, 0, x->type, x->rank, dims);
    if (!y)
        return false;
    DML_REDUCE_OPERATOR_DESC desc = { !strcmp(n->op, "GlobalMaxPool") ? DML_REDUCE_FUNCTION_MAX
                                                                      : DML_REDUCE_FUNCTION_AVERAGE,
                                      onnx_desc(b, &dx, x), onnx_desc(b, &dy, y), x->rank - 2, axes };
    return onnx_emit(b, DML_OPERATOR_REDUCE, &desc, &x, 1, &y, 1);
}

bool onnx_gemm(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *in[3] = { onnx_in(b, n, 0), onnx_in(b, n, 1), onnx_in_optional(b, n, 2) };
    bool ta = onnx_attr_int(n, "transA", 0), tb = onnx_attr_int(n, "transB", 0);
    struct onnx_desc d[4];
    if (!in[0] || !in[1])
        return false;
    if (in[0]->rank != 2 || in[1]->rank != 2 || in[0]->dims[!ta] != in[1]->dims[tb])
        return onnx_fail(b, "matrices do not fit: inner sizes %lld and %lld",
                         (long long)(in[0]->rank == 2 ? in[0]->dims[!ta] : -1),
                         (long long)(in[1]->rank == 2 ? in[1]->dims[tb] : -1));
    int64_t dims[2] = { in[0]->dims[ta], in[1]->dims[!tb] };
    struct onnx_value *y = onnx_out(b, n, 0, in[0]->type, 2, dims);
    if (!y)
        return false;
    DML_GEMM_OPERATOR_DESC desc = {
        onnx_desc(b, &d[0], in[0]),
        onnx_desc(b, &d[1], in[1]),
        in[2] ? onnx_desc_broadcast(b, &d[2], in[2], 2, dims) : NULL,
        onnx_desc(b, &d[3], y),
        ta ? DML_MATRIX_TRANSFORM_TRANSPOSE : DML_MATRIX_TRANSFORM_NONE,
        tb ? DML_MATRIX_TRANSFORM_TRANSPOSE : DML_MATRIX_TRANSFORM_NONE,
        onnx_attr_float(n, "alpha", 1.0f),
        onnx_attr_float(n, "beta", 1.0f),
        NULL,
    };
    return onnx_emit(b, DML_OPERATOR_GEMM, &desc, in, 3, &y, 1);
}

bool onnx_matmul(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *in[3] = { onnx_in(b, n, 0), onnx_in(b, n, 1), NULL };
    struct onnx_product p;
    struct onnx_desc d[3];
    if (!in[0] || !in[1] || !onnx_product_plan(b, in[0], in[1], false, &p))
        return false;
    struct onnx_value *y = onnx_out(b, n, 0, in[0]->type, p.rank, p.dims);
    DML_GEMM_OPERATOR_DESC desc = {
        .ATensor = onnx_product_desc(b, &d[0], in[0], &p, 0),
        .BTensor = onnx_product_desc(b, &d[1], in[1], &p, 1),
        .OutputTensor = onnx_product_desc(b, &d[2], y, &p, 2),
        .Alpha = 1.0f,
    };
    return y && onnx_emit(b, DML_OPERATOR_GEMM, &desc, in, 3, &y, 1);
}
