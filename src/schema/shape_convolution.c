/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of convolutions. Tensors are {N, C, [D], [H], W}; the filter is {Cout, Cin / groups, ...}, and for the backward
 * direction {Cin, Cout / groups, ...}. Spatial sizes are not checked: clients choose those of the output, which may
 * differ from the sizes that padding at the end implies (gradients with strides, remainders of a stride). */
#include <inttypes.h>

#include "schema/check.h"
#include "schema/rules.h"

struct convolution {
    struct schema_tensor input, filter, bias, output;
    UINT groups;
    bool backward;
};

static bool check_channels(struct schema_check *check, const struct convolution *conv)
{
    const UINT *in = conv->input.desc->Sizes, *out = conv->output.desc->Sizes, *filter = conv->filter.desc->Sizes;
    const UINT outer = conv->backward ? in[1] : out[1], inner = conv->backward ? out[1] : in[1];
    const char *outer_name = conv->backward ? "the channels of InputTensor" : "the channels of OutputTensor";
    if (outer % conv->groups || inner % conv->groups)
        return schema_fail(check, SCHEMA_ERROR_SIZE_MISMATCH,
                           "GroupCount = %" PRIu32 ", must divide the channels of InputTensor (%" PRIu32
                           ") and OutputTensor (%" PRIu32 ")",
                           conv->groups, in[1], out[1]);
    if (filter[0] != outer)
        return schema_expect_size(check, &conv->filter, 0, outer, outer_name);
    return schema_expect_size(check, &conv->filter, 1, inner / conv->groups,
                              conv->backward ? "the channels of OutputTensor / GroupCount"
                                             : "the channels of InputTensor / GroupCount");
}

static bool check_convolution(struct schema_check *check, const struct convolution *conv)
{
    const UINT *in = conv->input.desc->Sizes, *out = conv->output.desc->Sizes;
    const uint64_t bias[SCHEMA_MAX_RANK] = { 1, out[1], 1, 1, 1, 1, 1, 1 };
    return schema_expect_size(check, &conv->output, 0, in[0], "the batch of InputTensor") &&
           check_channels(check, conv) &&
           schema_expect_sizes(check, &conv->bias, bias, "one value for each channel of OutputTensor");
}

/* A scale or zero point: one element, or one for each output channel on axis 1 (on axis 0 if it is the only one). */
static bool check_per_channel(struct schema_check *check, const struct schema_tensor *tensor,
                              const struct schema_tensor *output)
{
    const uint32_t axis = tensor->desc && tensor->desc->DimensionCount > 1 ? 1 : 0;
    return schema_expect_vector(check, tensor, axis, output->desc->Sizes[1], "the channels of OutputTensor");
}

bool schema_rule_convolution(struct schema_check *check)
{
    const DML_CONVOLUTION_OPERATOR_DESC *desc = check->desc;
    const struct convolution conv = {
        .input = SCHEMA_TENSOR_OF(desc, InputTensor),
        .filter = SCHEMA_TENSOR_OF(desc, FilterTensor),
        .bias = SCHEMA_TENSOR_OF(desc, BiasTensor),
        .output = SCHEMA_TENSOR_OF(desc, OutputTensor),
        .groups = desc->GroupCount,
        .backward = desc->Direction == DML_CONVOLUTION_DIRECTION_BACKWARD,
    };
    return check_convolution(check, &conv);
}

bool schema_rule_convolution_integer(struct schema_check *check)
{
    const DML_CONVOLUTION_INTEGER_OPERATOR_DESC *desc = check->desc;
    const struct convolution conv = {
        .input = SCHEMA_TENSOR_OF(desc, InputTensor),
        .filter = SCHEMA_TENSOR_OF(desc, FilterTensor),
        .output = SCHEMA_TENSOR_OF(desc, OutputTensor),
        .groups = desc->GroupCount,
    };
    const struct schema_tensor input_zero = SCHEMA_TENSOR_OF(desc, InputZeroPointTensor);
    const struct schema_tensor filter_zero = SCHEMA_TENSOR_OF(desc, FilterZeroPointTensor);
    return check_convolution(check, &conv) && schema_expect_leading_ones(check, &input_zero, 0) &&
           check_per_channel(check, &filter_zero, &conv.output);
}

bool schema_rule_quantized_convolution(struct schema_check *check)
{
    const DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC *desc = check->desc;
    const struct convolution conv = {
        .input = SCHEMA_TENSOR_OF(desc, InputTensor),
        .filter = SCHEMA_TENSOR_OF(desc, FilterTensor),
        .bias = SCHEMA_TENSOR_OF(desc, BiasTensor),
        .output = SCHEMA_TENSOR_OF(desc, OutputTensor),
        .groups = desc->GroupCount,
    };
    const struct schema_tensor scale = SCHEMA_TENSOR_OF(desc, FilterScaleTensor);
    const struct schema_tensor zero_point = SCHEMA_TENSOR_OF(desc, FilterZeroPointTensor);
    return check_convolution(check, &conv) && check_per_channel(check, &scale, &conv.output) &&
           check_per_channel(check, &zero_point, &conv.output);
}
