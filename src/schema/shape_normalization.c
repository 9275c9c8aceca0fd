/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of normalisations. Parameters have, on every axis, the input's size or 1. */
#include <inttypes.h>

#include "schema/check.h"
#include "schema/rules.h"

/* Below level 4.0 statistics that are not Spatial have a value for each position; later the attribute is ignored. */
static bool check_spatial(struct schema_check *check, const struct schema_tensor *input,
                          const struct schema_tensor *statistic, BOOL spatial)
{
    if (check->level >= DML_FEATURE_LEVEL_4_0 || spatial)
        return true;
    for (uint32_t i = 2; i < check->rank; i++)
        if (!schema_expect_size(check, statistic, i, input->desc->Sizes[i], "that of InputTensor without Spatial"))
            return false;
    return true;
}

bool schema_rule_batch_normalization(struct schema_check *check)
{
    const DML_BATCH_NORMALIZATION_OPERATOR_DESC *desc = check->desc;
    const struct schema_tensor input = SCHEMA_TENSOR_OF(desc, InputTensor);
    const struct schema_tensor parameters[] = {
        SCHEMA_TENSOR_OF(desc, MeanTensor),
        SCHEMA_TENSOR_OF(desc, VarianceTensor),
        SCHEMA_TENSOR_OF(desc, ScaleTensor),
        SCHEMA_TENSOR_OF(desc, BiasTensor),
    };
    for (size_t i = 0; i < ARRAY_SIZE(parameters); i++)
        if (!schema_expect_broadcast(check, &parameters[i], &input))
            return false;
    return check_spatial(check, &input, &parameters[0], desc->Spatial) &&
           check_spatial(check, &input, &parameters[1], desc->Spatial);
}

/* The parameters of the next three have one Sizes already: looking at one of them is enough. */
bool schema_rule_batch_normalization_grad(struct schema_check *check)
{
    const DML_BATCH_NORMALIZATION_GRAD_OPERATOR_DESC *desc = check->desc;
    const struct schema_tensor input = SCHEMA_TENSOR_OF(desc, InputTensor);
    const struct schema_tensor mean = SCHEMA_TENSOR_OF(desc, MeanTensor);
    return schema_expect_broadcast(check, &mean, &input);
}

bool schema_rule_batch_normalization_training(struct schema_check *check)
{
    const DML_BATCH_NORMALIZATION_TRAINING_OPERATOR_DESC *desc = check->desc;
    const struct schema_tensor input = SCHEMA_TENSOR_OF(desc, InputTensor);
    const struct schema_tensor scale = SCHEMA_TENSOR_OF(desc, ScaleTensor);
    return schema_expect_broadcast(check, &scale, &input);
}

bool schema_rule_batch_normalization_training_grad(struct schema_check *check)
{
    const DML_BATCH_NORMALIZATION_TRAINING_GRAD_OPERATOR_DESC *desc = check->desc;
    const struct schema_tensor input = SCHEMA_TENSOR_OF(desc, InputTensor);
    const struct schema_tensor mean = SCHEMA_TENSOR_OF(desc, MeanTensor);
    return schema_expect_broadcast(check, &mean, &input);
}

static bool check_scale_bias(struct schema_check *check, const struct schema_tensor *input,
                             const struct schema_tensor *scale, const struct schema_tensor *bias)
{
    if (check->level < DML_FEATURE_LEVEL_5_2 && !scale->desc != !bias->desc)
        return schema_fail(check, SCHEMA_ERROR_TENSOR_COMBINATION,
                           "%s: NULL without %s, must be given or NULL together below feature level 5.2",
                           scale->desc ? bias->name : scale->name, scale->desc ? scale->name : bias->name);
    return schema_expect_broadcast(check, scale, input) && schema_expect_broadcast(check, bias, input);
}

bool schema_rule_mean_variance_normalization(struct schema_check *check)
{
    const DML_MEAN_VARIANCE_NORMALIZATION_OPERATOR_DESC *desc = check->desc;
    const struct schema_tensor input = SCHEMA_TENSOR_OF(desc, InputTensor);
    const struct schema_tensor scale = SCHEMA_TENSOR_OF(desc, ScaleTensor), bias = SCHEMA_TENSOR_OF(desc, BiasTensor);
    return check_scale_bias(check, &input, &scale, &bias);
}

/* Below level 4.0 only the batch and the spatial axes could be broadcast. */
static bool check_channel_size(struct schema_check *check, const struct schema_tensor *input,
                               const struct schema_tensor *parameter)
{
    return check->level >= DML_FEATURE_LEVEL_4_0 || check->rank < 2 ||
           schema_expect_size(check, parameter, 1, input->desc->Sizes[1], "the channels of InputTensor");
}

bool schema_rule_mean_variance_normalization1(struct schema_check *check)
{
    const DML_MEAN_VARIANCE_NORMALIZATION1_OPERATOR_DESC *desc = check->desc;
    const struct schema_tensor input = SCHEMA_TENSOR_OF(desc, InputTensor);
    const struct schema_tensor scale = SCHEMA_TENSOR_OF(desc, ScaleTensor), bias = SCHEMA_TENSOR_OF(desc, BiasTensor);
    return check_scale_bias(check, &input, &scale, &bias) && check_channel_size(check, &input, &scale) &&
           check_channel_size(check, &input, &bias);
}

bool schema_rule_mean_variance_normalization2(struct schema_check *check)
{
    const DML_MEAN_VARIANCE_NORMALIZATION2_OPERATOR_DESC *desc = check->desc;
    const struct schema_tensor input = SCHEMA_TENSOR_OF(desc, InputTensor);
    const struct schema_tensor scale = SCHEMA_TENSOR_OF(desc, ScaleTensor), bias = SCHEMA_TENSOR_OF(desc, BiasTensor);
    return check_scale_bias(check, &input, &scale, &bias);
}

bool schema_rule_lp_normalization(struct schema_check *check)
{
    const DML_LP_NORMALIZATION_OPERATOR_DESC *desc = check->desc;
    if (desc->P == 1 || desc->P == 2)
        return true;
    return schema_fail(check, SCHEMA_ERROR_ATTRIBUTE_RANGE, "P = %" PRIu32 ", must be 1 or 2", desc->P);
}
