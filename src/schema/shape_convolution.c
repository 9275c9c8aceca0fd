/* Rules of convolutions. Tensors are {N, C, [D], [H], W}; the filter is {Cout, Cin / groups, ...}, and for the backward
 * direction {Cin, Cout / groups, ...}. */
#include <inttypes.h>

#include "schema/check.h"
#include "schema/rules.h"

struct convolution {
    struct schema_tensor input, filter, bias, output;
    const UINT *strides, *dilations, *start, *end;
    const UINT *output_padding; /* NULL: none */
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

static bool check_output_range(struct schema_check *check, const struct schema_tensor *output, uint32_t axis,
                               int64_t least, int64_t most)
{
    const int64_t size = output->desc->Sizes[axis];
    if (size >= least && size <= most)
        return true;
    if (least == most)
        return schema_expect_size(check, output, axis, (uint64_t)least, "the size that the attributes give");
    return schema_fail(check, SCHEMA_ERROR_SIZE_MISMATCH,
                       "%s: Sizes[%" PRIu32 "] = %" PRId64 ", must be %" PRId64 " to %" PRId64 " by the attributes",
                       output->name, axis, size, least, most);
}

/* Attributes are at most 2^30 and sizes below 2^32, so that nothing here leaves int64. */
static bool check_axis(struct schema_check *check, const struct convolution *conv, uint32_t i)
{
    const int64_t in = conv->input.desc->Sizes[i + 2], kernel = conv->filter.desc->Sizes[i + 2];
    const int64_t span = (kernel - 1) * conv->dilations[i] + 1, padding = (int64_t)conv->start[i] + conv->end[i];
    const int64_t extra = conv->output_padding ? conv->output_padding[i] : 0;
    if (conv->backward) {
        /* Clients state a remainder of the stride by the output's size alone. */
        const int64_t slack = BASE_MAX(conv->strides[i], conv->dilations[i]) - 1;
        const int64_t full = (in - 1) * conv->strides[i] + span - padding;
        return check_output_range(check, &conv->output, i + 2, BASE_MAX(full, 1), full + slack + extra);
    }
    if (in + padding < span)
        return schema_fail(check, SCHEMA_ERROR_SIZE_MISMATCH,
                           "%s: Sizes[%" PRIu32 "] = %" PRId64 " with dilation spans %" PRId64
                           ", must not exceed the padded InputTensor (%" PRId64 ")",
                           conv->filter.name, i + 2, kernel, span, in + padding);
    const int64_t count = (in + padding - span) / conv->strides[i] + 1;
    return check_output_range(check, &conv->output, i + 2, count, count + extra);
}

static bool check_convolution(struct schema_check *check, const struct convolution *conv)
{
    const UINT *in = conv->input.desc->Sizes, *out = conv->output.desc->Sizes;
    const uint64_t bias[SCHEMA_MAX_RANK] = { 1, out[1], 1, 1, 1, 1, 1, 1 };
    if (!schema_expect_size(check, &conv->output, 0, in[0], "the batch of InputTensor") ||
        !check_channels(check, conv) ||
        !schema_expect_sizes(check, &conv->bias, bias, "one value for each channel of OutputTensor"))
        return false;
    for (uint32_t i = 0; i + 2 < check->rank; i++)
        if (!check_axis(check, conv, i))
            return false;
    return true;
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
        .strides = desc->Strides,
        .dilations = desc->Dilations,
        .start = desc->StartPadding,
        .end = desc->EndPadding,
        .output_padding = desc->OutputPadding,
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
        .strides = desc->Strides,
        .dilations = desc->Dilations,
        .start = desc->StartPadding,
        .end = desc->EndPadding,
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
        .strides = desc->Strides,
        .dilations = desc->Dilations,
        .start = desc->StartPadding,
        .end = desc->EndPadding,
        .groups = desc->GroupCount,
    };
    const struct schema_tensor scale = SCHEMA_TENSOR_OF(desc, FilterScaleTensor);
    const struct schema_tensor zero_point = SCHEMA_TENSOR_OF(desc, FilterZeroPointTensor);
    return check_convolution(check, &conv) && check_per_channel(check, &scale, &conv.output) &&
           check_per_channel(check, &zero_point, &conv.output);
}
