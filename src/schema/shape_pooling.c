/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of pooling over {N, C, [D], H, W}. Outputs may have more or fewer windows than the attributes imply: clients
 * round sizes up, or ignore dilations. Elements outside of the input are padding in any case. */
#include <assert.h>
#include <stddef.h>

#include "schema/check.h"
#include "schema/rules.h"

static bool check_batch(struct schema_check *check, const struct schema_tensor *tensor,
                        const struct schema_tensor *other)
{
    return schema_expect_size(check, tensor, 0, other->desc->Sizes[0], "the batch") &&
           schema_expect_size(check, tensor, 1, other->desc->Sizes[1], "the channels");
}

/* Descriptions of pooling start with the two tensors. */
#define BEGINS_ALIKE(DESC)                                                                                             \
    static_assert(offsetof(DESC, InputTensor) == offsetof(DML_MAX_POOLING_OPERATOR_DESC, InputTensor) &&               \
                      offsetof(DESC, OutputTensor) == offsetof(DML_MAX_POOLING_OPERATOR_DESC, OutputTensor),           \
                  "tensors of pooling")

BEGINS_ALIKE(DML_AVERAGE_POOLING_OPERATOR_DESC);
BEGINS_ALIKE(DML_AVERAGE_POOLING1_OPERATOR_DESC);
BEGINS_ALIKE(DML_LP_POOLING_OPERATOR_DESC);
BEGINS_ALIKE(DML_LP_POOLING1_OPERATOR_DESC);
BEGINS_ALIKE(DML_MAX_POOLING1_OPERATOR_DESC);
BEGINS_ALIKE(DML_MAX_POOLING2_OPERATOR_DESC);

bool schema_rule_pooling(struct schema_check *check)
{
    const DML_MAX_POOLING_OPERATOR_DESC *desc = check->desc;
    const struct schema_tensor input = SCHEMA_TENSOR_OF(desc, InputTensor);
    const struct schema_tensor output = SCHEMA_TENSOR_OF(desc, OutputTensor);
    return check_batch(check, &output, &input);
}

/* A scale or zero point: one element, or one for each channel on axis 1 (on axis 0 if it is the only one). */
static bool check_per_channel(struct schema_check *check, const struct schema_tensor *tensor, uint32_t channels)
{
    const uint32_t axis = tensor->desc && tensor->desc->DimensionCount > 1 ? 1 : 0;
    return schema_expect_vector(check, tensor, axis, channels, "the channels of InputTensor");
}

bool schema_rule_quantized_average_pooling(struct schema_check *check)
{
    const DML_QUANTIZED_LINEAR_AVERAGE_POOLING_OPERATOR_DESC *desc = check->desc;
    const struct schema_tensor input = SCHEMA_TENSOR_OF(desc, InputTensor);
    const struct schema_tensor output = SCHEMA_TENSOR_OF(desc, OutputTensor);
    const struct schema_tensor parameters[] = {
        SCHEMA_TENSOR_OF(desc, InputScaleTensor),
        SCHEMA_TENSOR_OF(desc, InputZeroPointTensor),
        SCHEMA_TENSOR_OF(desc, OutputScaleTensor),
        SCHEMA_TENSOR_OF(desc, OutputZeroPointTensor),
    };
    if (!check_batch(check, &output, &input))
        return false;
    for (size_t i = 0; i < ARRAY_SIZE(parameters); i++)
        if (!check_per_channel(check, &parameters[i], input.desc->Sizes[1]))
            return false;
    return true;
}

/* The documented relation between the sizes of gradients is typical, not required; kernels skip elements outside. */
bool schema_rule_average_pooling_grad(struct schema_check *check)
{
    const DML_AVERAGE_POOLING_GRAD_OPERATOR_DESC *desc = check->desc;
    const struct schema_tensor input = SCHEMA_TENSOR_OF(desc, InputGradientTensor);
    const struct schema_tensor output = SCHEMA_TENSOR_OF(desc, OutputGradientTensor);
    return check_batch(check, &output, &input);
}

bool schema_rule_max_pooling_grad(struct schema_check *check)
{
    const DML_MAX_POOLING_GRAD_OPERATOR_DESC *desc = check->desc;
    const struct schema_tensor gradient = SCHEMA_TENSOR_OF(desc, InputGradientTensor);
    const struct schema_tensor output = SCHEMA_TENSOR_OF(desc, OutputGradientTensor);
    return check_batch(check, &gradient, &output);
}

bool schema_rule_indexed_max_pooling_grad(struct schema_check *check)
{
    const ANYDML_INDEXED_MAX_POOLING_GRAD_OPERATOR_DESC *desc = check->desc;
    const struct schema_tensor input = SCHEMA_TENSOR_OF(desc, InputGradientTensor);
    const struct schema_tensor output = SCHEMA_TENSOR_OF(desc, OutputGradientTensor);
    return check_batch(check, &output, &input);
}
