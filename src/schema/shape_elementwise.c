/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of element-wise operators and activations. Their shapes and most data types are columns of operators.def. */
#include <inttypes.h>

#include "schema/check.h"
#include "schema/rules.h"

bool schema_rule_pow(struct schema_check *check)
{
    const DML_ELEMENT_WISE_POW_OPERATOR_DESC *desc = check->desc;
    const struct schema_tensor input = SCHEMA_TENSOR_OF(desc, InputTensor);
    const struct schema_tensor exponent = SCHEMA_TENSOR_OF(desc, ExponentTensor);
    return check->level >= DML_FEATURE_LEVEL_3_0 ||
           schema_expect_type(check, &exponent, input.desc->DataType, input.name);
}

bool schema_rule_quantize_linear(struct schema_check *check)
{
    const DML_ELEMENT_WISE_QUANTIZE_LINEAR_OPERATOR_DESC *desc = check->desc;
    const struct schema_tensor input = SCHEMA_TENSOR_OF(desc, InputTensor);
    const struct schema_tensor scale = SCHEMA_TENSOR_OF(desc, ScaleTensor);
    if (input.desc->DataType == DML_TENSOR_DATA_TYPE_INT32)
        return schema_expect_type(check, &scale, DML_TENSOR_DATA_TYPE_FLOAT32, "an INT32 InputTensor's scale");
    return schema_expect_type(check, &scale, input.desc->DataType, input.name);
}

bool schema_rule_softplus(struct schema_check *check)
{
    const DML_ACTIVATION_SOFTPLUS_OPERATOR_DESC *desc = check->desc;
    if (check->level >= DML_FEATURE_LEVEL_6_4 || desc->Steepness >= 1)
        return true;
    return schema_fail(check, SCHEMA_ERROR_ATTRIBUTE_RANGE,
                       "Steepness = %g, must be at least 1 below feature level 6.4", (double)desc->Steepness);
}

/* SOFTMAX, LOG_SOFTMAX and HARDMAX have one struct. They operate on rows: {1, .., 1, rows, columns}. */
bool schema_rule_softmax(struct schema_check *check)
{
    const DML_ACTIVATION_SOFTMAX_OPERATOR_DESC *desc = check->desc;
    const struct schema_tensor input = SCHEMA_TENSOR_OF(desc, InputTensor);
    return schema_expect_leading_ones(check, &input, 2);
}
