/* SPDX-License-Identifier: Apache-2.0 */
/* CausalConvWithState: each channel is convolved with its own filter over the preceding tokens, the last of which are
 * the state for the next call. */
#include "onnx/convert/converters.h"

static struct onnx_value *whole_input(struct onnx_builder *b, struct onnx_value *x, struct onnx_value *past,
                                      int64_t before)
{
    const int64_t dims[] = { x->dims[0], x->dims[1], before };
    struct onnx_value *both[] = { past, x };
    if (!past) {
        both[0] = onnx_temp(b, x->type, 3, dims);
        void *zeros = onnx_constant_data(b, both[0]);
        if (!zeros)
            return NULL;
        memset(zeros, 0, onnx_value_bytes(both[0]));
    }
    return onnx_join(b, both, 2, 2);
}

static struct onnx_value *convolve(struct onnx_builder *b, struct onnx_value *x, struct onnx_value *weight,
                                   struct onnx_value *bias, struct onnx_value *y)
{
    const int64_t x_dims[] = { x->dims[0], x->dims[1], 1, x->dims[2] };
    const int64_t w_dims[] = { x->dims[1], 1, 1, weight->dims[2] }, b_dims[] = { 1, x->dims[1], 1, 1 };
    const int64_t y_dims[] = { x->dims[0], x->dims[1], 1, x->dims[2] - weight->dims[2] + 1 };
    static const UINT ones[] = { 1, 1 }, zeros[] = { 0, 0 };
    struct onnx_desc d[4];
    struct onnx_value *in[3] = { x, weight, bias };
    DML_CONVOLUTION_OPERATOR_DESC desc = {
        .InputTensor = onnx_desc_as(b, &d[0], x, 4, x_dims),
        .FilterTensor = onnx_desc_as(b, &d[1], weight, 4, w_dims),
        .BiasTensor = bias ? onnx_desc_as(b, &d[2], bias, 4, b_dims) : NULL,
        .OutputTensor = onnx_desc_as(b, &d[3], y, 4, y_dims),
        .Mode = DML_CONVOLUTION_MODE_CROSS_CORRELATION,
        .Direction = DML_CONVOLUTION_DIRECTION_FORWARD,
        .DimensionCount = 2,
        .Strides = ones,
        .Dilations = ones,
        .StartPadding = zeros,
        .EndPadding = zeros,
        .OutputPadding = zeros,
        .GroupCount = (UINT)x->dims[1],
    };
    return onnx_emit(b, DML_OPERATOR_CONVOLUTION, &desc, in, 3, &y, 1) ? y : NULL;
}

bool onnx_causal_conv(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *x = onnx_in(b, n, 0), *weight = onnx_in(b, n, 1), *bias = onnx_in_optional(b, n, 2);
    struct onnx_value *past = onnx_in_optional(b, n, 3);
    const char *activation = onnx_attr_string(n, "activation", "none");
    bool swish = !strcmp(activation, "silu") || !strcmp(activation, "swish");
    if (!x || !weight || b->failed)
        return false;
    if (!swish && strcmp(activation, "none"))
        return onnx_fail(b, "activation = '%s' is unknown", activation);
    if (x->rank != 3 || weight->rank != 3 || weight->dims[0] != x->dims[1] || weight->dims[1] != 1 ||
        weight->dims[2] < 1 || (bias && onnx_elements(bias) != x->dims[1]))
        return onnx_misfit(b, "the shapes of '%s', '%s' or the bias do not fit", x->name, weight->name);
    const int64_t state[] = { x->dims[0], x->dims[1], weight->dims[2] - 1 };
    if (past && (past->rank != 3 || memcmp(past->dims, state, sizeof(state))))
        return onnx_misfit(b, "'%s' must have the shape {%lld, %lld, %lld}", past->name, (long long)state[0],
                           (long long)state[1], (long long)state[2]);
    struct onnx_value *whole = state[2] ? whole_input(b, x, past, state[2]) : x;
    struct onnx_value *y = onnx_out(b, n, 0, x->type, 3, x->dims), *sums = y;
    if (!whole || !y || (swish && !(sums = onnx_temp(b, x->type, 3, x->dims))))
        return false;
    if (!convolve(b, whole, weight, bias, sums) ||
        (swish && !onnx_activate_to(b, DML_OPERATOR_ACTIVATION_SWISH, sums, 1, 0, y)))
        return false;
    if (!onnx_has_output(n, 1))
        return true;
    struct onnx_value *present = onnx_out(b, n, 1, x->type, 3, state);
    return present && onnx_cut_to(b, whole, 2, x->dims[2], state[2], present);
}
