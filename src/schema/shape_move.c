/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of operators that split, concatenate, pad and repeat. */
#include <inttypes.h>
#include <stdio.h>

#include "schema/check.h"
#include "schema/rules.h"

bool schema_rule_slice(struct schema_check *check)
{
    const DML_SLICE_OPERATOR_DESC *desc = check->desc;
    const struct schema_tensor input = SCHEMA_TENSOR_OF(desc, InputTensor);
    const struct schema_tensor output = SCHEMA_TENSOR_OF(desc, OutputTensor);
    for (uint32_t i = 0; i < check->rank; i++) {
        const uint64_t last = desc->Offsets[i] + (uint64_t)(desc->Sizes[i] - 1) * desc->Strides[i];
        if (!schema_expect_size(check, &output, i, desc->Sizes[i], "that element of Sizes"))
            return false;
        if (last >= input.desc->Sizes[i])
            return schema_fail(check, SCHEMA_ERROR_ATTRIBUTE_RANGE,
                               "Offsets[%" PRIu32 "] = %" PRIu32 " with Sizes and Strides ends at %" PRIu64
                               ", must be below the size of InputTensor (%" PRIu32 ")",
                               i, desc->Offsets[i], last, input.desc->Sizes[i]);
    }
    return true;
}

/* A window of SLICE1 is inside `source`, and `target` holds at most its elements. */
static bool check_window(struct schema_check *check, const struct schema_tensor *source,
                         const struct schema_tensor *target, const UINT *offsets, const UINT *sizes, const INT *strides)
{
    for (uint32_t i = 0; i < check->rank; i++) {
        const uint64_t end = (uint64_t)offsets[i] + sizes[i];
        if (end > source->desc->Sizes[i])
            return schema_fail(check, SCHEMA_ERROR_ATTRIBUTE_RANGE,
                               "InputWindowOffsets[%" PRIu32 "] = %" PRIu32 " with InputWindowSizes ends at %" PRIu64
                               ", must be at most the size of %s (%" PRIu32 ")",
                               i, offsets[i], end, source->name, source->desc->Sizes[i]);
        const uint64_t step = (uint64_t)(strides[i] < 0 ? -(int64_t)strides[i] : strides[i]);
        const uint64_t most = 1 + (sizes[i] - 1) / step;
        if (target->desc->Sizes[i] > most)
            return schema_fail(check, SCHEMA_ERROR_SIZE_MISMATCH,
                               "%s: Sizes[%" PRIu32 "] = %" PRIu32
                               ", must be at most the elements of the window (%" PRIu64 ")",
                               target->name, i, target->desc->Sizes[i], most);
    }
    return true;
}

bool schema_rule_slice1(struct schema_check *check)
{
    const DML_SLICE1_OPERATOR_DESC *desc = check->desc;
    const struct schema_tensor input = SCHEMA_TENSOR_OF(desc, InputTensor);
    const struct schema_tensor output = SCHEMA_TENSOR_OF(desc, OutputTensor);
    return check_window(check, &input, &output, desc->InputWindowOffsets, desc->InputWindowSizes,
                        desc->InputWindowStrides);
}

bool schema_rule_slice_grad(struct schema_check *check)
{
    const DML_SLICE_GRAD_OPERATOR_DESC *desc = check->desc;
    const struct schema_tensor input = SCHEMA_TENSOR_OF(desc, InputGradientTensor);
    const struct schema_tensor output = SCHEMA_TENSOR_OF(desc, OutputGradientTensor);
    return check_window(check, &output, &input, desc->InputWindowOffsets, desc->InputWindowSizes,
                        desc->InputWindowStrides);
}

/* The parts are consecutive along the axis of the whole and agree with it on the other axes. */
static bool check_parts(struct schema_check *check, const struct schema_tensor *whole, const DML_TENSOR_DESC *parts,
                        const char *name, UINT count, UINT axis)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct schema_tensor part = schema_tensor_element(parts, i, name);
        for (uint32_t k = 0; k < check->rank; k++)
            if (k != axis && ((check->infer && !schema_expect_size(check, whole, k, part.desc->Sizes[k], part.name)) ||
                              !schema_expect_size(check, &part, k, whole->desc->Sizes[k], whole->name)))
                return false;
        sum += part.desc->Sizes[axis];
    }
    if (sum == whole->desc->Sizes[axis])
        return true;
    char what[60];
    snprintf(what, sizeof(what), "the sum over %s", name);
    return schema_expect_size(check, whole, axis, sum, what);
}

bool schema_rule_split(struct schema_check *check)
{
    const DML_SPLIT_OPERATOR_DESC *desc = check->desc;
    const struct schema_tensor input = SCHEMA_TENSOR_OF(desc, InputTensor);
    return check_parts(check, &input, desc->OutputTensors, "OutputTensors", desc->OutputCount, desc->Axis);
}

bool schema_rule_join(struct schema_check *check)
{
    const DML_JOIN_OPERATOR_DESC *desc = check->desc;
    const struct schema_tensor output = SCHEMA_TENSOR_OF(desc, OutputTensor);
    return check_parts(check, &output, desc->InputTensors, "InputTensors", desc->InputCount, desc->Axis);
}

static bool check_padding(struct schema_check *check, const struct schema_tensor *input,
                          const struct schema_tensor *output, const UINT *start, const UINT *end)
{
    for (uint32_t i = 0; i < check->rank; i++)
        if (!schema_expect_size(check, output, i, (uint64_t)input->desc->Sizes[i] + start[i] + end[i],
                                "that of InputTensor with its padding"))
            return false;
    return true;
}

bool schema_rule_padding(struct schema_check *check)
{
    const DML_PADDING_OPERATOR_DESC *desc = check->desc;
    const struct schema_tensor input = SCHEMA_TENSOR_OF(desc, InputTensor);
    const struct schema_tensor output = SCHEMA_TENSOR_OF(desc, OutputTensor);
    return check_padding(check, &input, &output, desc->StartPadding, desc->EndPadding);
}

bool schema_rule_padding1(struct schema_check *check)
{
    const DML_PADDING1_OPERATOR_DESC *desc = check->desc;
    const struct schema_tensor input = SCHEMA_TENSOR_OF(desc, InputTensor);
    const struct schema_tensor output = SCHEMA_TENSOR_OF(desc, OutputTensor);
    return check_padding(check, &input, &output, desc->StartPadding, desc->EndPadding);
}

bool schema_rule_tile(struct schema_check *check)
{
    const DML_TILE_OPERATOR_DESC *desc = check->desc;
    const struct schema_tensor input = SCHEMA_TENSOR_OF(desc, InputTensor);
    const struct schema_tensor output = SCHEMA_TENSOR_OF(desc, OutputTensor);
    for (uint32_t i = 0; i < check->rank; i++)
        if (!schema_expect_size(check, &output, i, (uint64_t)input.desc->Sizes[i] * desc->Repeats[i],
                                "that of InputTensor times Repeats"))
            return false;
    return true;
}

bool schema_rule_reverse_subsequences(struct schema_check *check)
{
    const DML_REVERSE_SUBSEQUENCES_OPERATOR_DESC *desc = check->desc;
    const struct schema_tensor input = SCHEMA_TENSOR_OF(desc, InputTensor);
    const struct schema_tensor lengths = SCHEMA_TENSOR_OF(desc, SequenceLengthsTensor);
    for (uint32_t i = 0; i < check->rank; i++)
        if (!schema_expect_size(check, &lengths, i, i == desc->Axis ? 1 : input.desc->Sizes[i],
                                i == desc->Axis ? "1 on Axis" : "that of InputTensor"))
            return false;
    return true;
}
