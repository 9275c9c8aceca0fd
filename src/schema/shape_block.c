/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of operators that rearrange or scale by blocks: space and depth, windows and columns, block quantisation. */
#include <inttypes.h>

#include "schema/check.h"
#include "schema/rules.h"

static bool expect_divisible(struct schema_check *check, const struct schema_tensor *tensor, uint32_t axis,
                             uint64_t divisor, const char *what)
{
    if (!(tensor->desc->Sizes[axis] % divisor))
        return true;
    return schema_fail(check, SCHEMA_ERROR_SIZE_MISMATCH,
                       "%s: Sizes[%" PRIu32 "] = %" PRIu32 ", must be divisible by %s (%" PRIu64 ")", tensor->name,
                       axis, tensor->desc->Sizes[axis], what, divisor);
}

/* {N, C, H, W} to {N, C * block^2, H / block, W / block}. */
static bool check_to_depth(struct schema_check *check, const struct schema_tensor *input,
                           const struct schema_tensor *output, uint64_t block)
{
    const UINT *in = input->desc->Sizes;
    uint64_t channels = 0;
    return expect_divisible(check, input, 2, block, "BlockSize") &&
           expect_divisible(check, input, 3, block, "BlockSize") &&
           schema_expect_size(check, output, 0, in[0], "the batch") &&
           schema_expect_size(check, output, 1, base_mul_u64(block * block, in[1], &channels) ? channels : UINT64_MAX,
                              "the channels * BlockSize^2") &&
           schema_expect_size(check, output, 2, in[2] / block, "the height / BlockSize") &&
           schema_expect_size(check, output, 3, in[3] / block, "the width / BlockSize");
}

/* {N, C, H, W} to {N, C / block^2, H * block, W * block}. */
static bool check_to_space(struct schema_check *check, const struct schema_tensor *input,
                           const struct schema_tensor *output, uint64_t block)
{
    const UINT *in = input->desc->Sizes;
    return expect_divisible(check, input, 1, block * block, "BlockSize^2") &&
           schema_expect_size(check, output, 0, in[0], "the batch") &&
           schema_expect_size(check, output, 1, in[1] / (block * block), "the channels / BlockSize^2") &&
           schema_expect_size(check, output, 2, in[2] * block, "the height * BlockSize") &&
           schema_expect_size(check, output, 3, in[3] * block, "the width * BlockSize");
}

bool schema_rule_space_to_depth(struct schema_check *check)
{
    const DML_SPACE_TO_DEPTH_OPERATOR_DESC *desc = check->desc;
    const struct schema_tensor input = SCHEMA_TENSOR_OF(desc, InputTensor);
    const struct schema_tensor output = SCHEMA_TENSOR_OF(desc, OutputTensor);
    return check_to_depth(check, &input, &output, desc->BlockSize);
}

bool schema_rule_space_to_depth1(struct schema_check *check)
{
    const DML_SPACE_TO_DEPTH1_OPERATOR_DESC *desc = check->desc;
    const struct schema_tensor input = SCHEMA_TENSOR_OF(desc, InputTensor);
    const struct schema_tensor output = SCHEMA_TENSOR_OF(desc, OutputTensor);
    return check_to_depth(check, &input, &output, desc->BlockSize);
}

bool schema_rule_depth_to_space(struct schema_check *check)
{
    const DML_DEPTH_TO_SPACE_OPERATOR_DESC *desc = check->desc;
    const struct schema_tensor input = SCHEMA_TENSOR_OF(desc, InputTensor);
    const struct schema_tensor output = SCHEMA_TENSOR_OF(desc, OutputTensor);
    return check_to_space(check, &input, &output, desc->BlockSize);
}

bool schema_rule_depth_to_space1(struct schema_check *check)
{
    const DML_DEPTH_TO_SPACE1_OPERATOR_DESC *desc = check->desc;
    const struct schema_tensor input = SCHEMA_TENSOR_OF(desc, InputTensor);
    const struct schema_tensor output = SCHEMA_TENSOR_OF(desc, OutputTensor);
    return check_to_space(check, &input, &output, desc->BlockSize);
}

struct windows {
    struct schema_tensor image, columns; /* {N, C, spatial...} and {N, C * prod(window), prod(positions)} */
    UINT count;                          /* of spatial dimensions */
    const UINT *window, *strides, *dilations, *start, *end;
};

#define WINDOWS_OF(DESC, IMAGE, COLUMNS)                                                                               \
    {                                                                                                                  \
        .image = SCHEMA_TENSOR_OF(DESC, IMAGE), .columns = SCHEMA_TENSOR_OF(DESC, COLUMNS),                            \
        .count = (DESC)->DimensionCount, .window = (DESC)->WindowSizes, .strides = (DESC)->Strides,                    \
        .dilations = (DESC)->Dilations, .start = (DESC)->StartPadding, .end = (DESC)->EndPadding,                      \
    }

static bool check_windows(struct schema_check *check, const struct windows *win)
{
    const uint32_t rank = win->image.desc->DimensionCount;
    if (win->count + 2 > rank)
        return schema_fail(check, SCHEMA_ERROR_COUNT,
                           "DimensionCount = %" PRIu32 ", must be at most that of %s less 2 (%" PRIu32 ")", win->count,
                           win->image.name, rank - 2);
    if (!schema_expect_leading_ones(check, &win->image, win->count + 2))
        return false;

    const UINT *sizes = win->image.desc->Sizes + rank - win->count - 2;
    uint64_t positions = 1, elements = sizes[1];
    for (uint32_t i = 0; i < win->count; i++) {
        const uint64_t padded = (uint64_t)sizes[i + 2] + win->start[i] + win->end[i];
        const uint64_t span = (uint64_t)(win->window[i] - 1) * win->dilations[i] + 1;
        if (padded < span)
            return schema_fail(check, SCHEMA_ERROR_ATTRIBUTE_RANGE,
                               "WindowSizes[%" PRIu32 "] = %" PRIu32 " with dilation spans %" PRIu64
                               ", must not exceed the padded %s (%" PRIu64 ")",
                               i, win->window[i], span, win->image.name, padded);
        const bool wraps = !base_mul_u64(positions, (padded - span) / win->strides[i] + 1, &positions);
        elements *= win->window[i];
        if (wraps || positions > UINT32_MAX || elements > UINT32_MAX)
            return schema_fail(check, SCHEMA_ERROR_SIZE_MISMATCH,
                               "%s: the windows of WindowSizes[%" PRIu32 "] = %" PRIu32
                               " exceed 2^32 - 1 columns or rows",
                               win->columns.name, i, win->window[i]);
    }
    const uint64_t want[] = { sizes[0], elements, positions };
    schema_infer_rank(check, &win->columns, rank - win->count + 1);
    return schema_expect_trailing(check, &win->columns, 3, want, "that of {N, C * window, positions}");
}

bool schema_rule_fold(struct schema_check *check)
{
    const DML_FOLD_OPERATOR_DESC *desc = check->desc;
    const struct windows win = WINDOWS_OF(desc, OutputTensor, InputTensor);
    return check_windows(check, &win);
}

bool schema_rule_unfold(struct schema_check *check)
{
    const DML_UNFOLD_OPERATOR_DESC *desc = check->desc;
    const struct windows win = WINDOWS_OF(desc, InputTensor, OutputTensor);
    return check_windows(check, &win);
}

struct quantization {
    struct schema_tensor real, quantized; /* the floating-point side and the other */
    DML_QUANTIZATION_TYPE type;
    UINT count;
    const DML_TENSOR_DESC *tensors;
};

static bool check_quantization(struct schema_check *check, const struct quantization *q)
{
    if (q->type == DML_QUANTIZATION_TYPE_NONE)
        return schema_fail(check, SCHEMA_ERROR_ENUM_VALUE,
                           "QuantizationType = DML_QUANTIZATION_TYPE_NONE (0), must be SCALE or SCALE_ZERO_POINT");
    const UINT want = q->type == DML_QUANTIZATION_TYPE_SCALE ? 1 : 2;
    if (q->count != want)
        return schema_fail(check, SCHEMA_ERROR_COUNT,
                           "QuantizationTensorCount = %" PRIu32 ", must be %" PRIu32 " for that QuantizationType",
                           q->count, want);

    const struct schema_tensor scale = schema_tensor_element(q->tensors, 0, "QuantizationTensors");
    if (!schema_expect_type(check, &scale, q->real.desc->DataType, q->real.name))
        return false;
    for (uint32_t i = 0; i < check->rank; i++) {
        const UINT blocks = scale.desc->Sizes[i], size = q->real.desc->Sizes[i];
        if (size % blocks)
            return schema_fail(check, SCHEMA_ERROR_SIZE_MISMATCH,
                               "%s: Sizes[%" PRIu32 "] = %" PRIu32 ", must divide that of %s (%" PRIu32 ")", scale.name,
                               i, blocks, q->real.name, size);
    }
    if (want == 1)
        return true;
    const struct schema_tensor zero = schema_tensor_element(q->tensors, 1, "QuantizationTensors");
    return schema_expect_type(check, &zero, q->quantized.desc->DataType, q->quantized.name) &&
           schema_expect_same_sizes(check, &zero, &scale);
}

bool schema_rule_quantize(struct schema_check *check)
{
    const DML_QUANTIZE_OPERATOR_DESC *desc = check->desc;
    const struct quantization q = {
        .real = SCHEMA_TENSOR_OF(desc, InputTensor),
        .quantized = SCHEMA_TENSOR_OF(desc, OutputTensor),
        .type = desc->QuantizationType,
        .count = desc->QuantizationTensorCount,
        .tensors = desc->QuantizationTensors,
    };
    return check_quantization(check, &q);
}

bool schema_rule_dequantize(struct schema_check *check)
{
    const DML_DEQUANTIZE_OPERATOR_DESC *desc = check->desc;
    const struct quantization q = {
        .real = SCHEMA_TENSOR_OF(desc, OutputTensor),
        .quantized = SCHEMA_TENSOR_OF(desc, InputTensor),
        .type = desc->QuantizationType,
        .count = desc->QuantizationTensorCount,
        .tensors = desc->QuantizationTensors,
    };
    return check_quantization(check, &q);
}
