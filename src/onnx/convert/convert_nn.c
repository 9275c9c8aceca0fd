/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution. */
#include "onnx/convert/converters.h"
#include "onnx/convert/geometry.h"

/* ConvTranspose: total size, from output_shape if given (the padding then follows from it). */
static bool transposed_output(struct onnx_builder *b, const struct onnx_node *n, struct onnx_window *w,
                              const int64_t *in, int64_t *out)
{
    int64_t wanted[5];
    uint32_t count;
    if (!onnx_attr_ints(b, n, "output_shape", wanted, 5, &count))
        return false;
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
        if (out[i] < 0 || out[i] > ONNX_SIZE_MAX || full - out[i] > ONNX_SIZE_MAX)
            return onnx_fail(b, "an output of %lld cannot be cropped from %lld", (long long)out[i], (long long)full);
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
    if (x->rank < 3 || x->rank > 5 || w->rank != x->rank || group < 1 || group > INT32_MAX)
        return onnx_fail(b, "input of rank %u with a filter of rank %u, group %lld is not supported", x->rank, w->rank,
                         (long long)group);
    int64_t channels = transposed ? w->dims[0] : w->dims[1] * group;
    if (x->dims[1] != channels)
        return onnx_misfit(b, "the input has %lld channels, the filter requires %lld", (long long)x->dims[1],
                           (long long)channels);
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
        out[2 + i] = onnx_window_output(window, i, x->dims[2 + i]);
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
        return onnx_misfit(b, "the bias has %lld values for %lld channels", (long long)onnx_elements(in[2]),
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
