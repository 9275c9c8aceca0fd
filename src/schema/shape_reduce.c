/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of operators that work along axes: reductions, positions of extremes, sorting. */
#include <inttypes.h>

#include "schema/check.h"
#include "schema/rules.h"

/* The output has the input's sizes with 1 on the axes. */
static bool check_reduced(struct schema_check *check, const struct schema_tensor *input,
                          const struct schema_tensor *output, uint32_t axis_count, const UINT *axes)
{
    uint32_t reduced = 0;
    for (uint32_t i = 0; i < axis_count; i++)
        reduced |= UINT32_C(1) << axes[i];
    for (uint32_t i = 0; i < check->rank; i++) {
        const bool one = reduced >> i & 1;
        if (!schema_expect_size(check, output, i, one ? 1 : input->desc->Sizes[i],
                                one ? "1 on a reduced axis" : "that of InputTensor"))
            return false;
    }
    return true;
}

/* The data types that each function accepts; the output's are the input's except for positions. */
static const struct schema_support *support_of(DML_REDUCE_FUNCTION function)
{
    switch (function) {
    case DML_REDUCE_FUNCTION_ARGMAX:
    case DML_REDUCE_FUNCTION_ARGMIN:
        return schema_support_N10_COMPARE;
    case DML_REDUCE_FUNCTION_MAX:
    case DML_REDUCE_FUNCTION_MIN:
        return schema_support_REDUCE_MINMAX;
    case DML_REDUCE_FUNCTION_MULTIPLY:
    case DML_REDUCE_FUNCTION_SUM:
        return schema_support_REDUCE_SUM;
    case DML_REDUCE_FUNCTION_L1:
    case DML_REDUCE_FUNCTION_SUM_SQUARE:
        return schema_support_REDUCE_SQUARE;
    case DML_REDUCE_FUNCTION_AVERAGE:
    case DML_REDUCE_FUNCTION_L2:
    case DML_REDUCE_FUNCTION_LOG_SUM:
    case DML_REDUCE_FUNCTION_LOG_SUM_EXP:
        break;
    }
    return schema_support_F_8;
}

static bool check_function_type(struct schema_check *check, const struct schema_support *support,
                                const struct schema_tensor *tensor, DML_REDUCE_FUNCTION function)
{
    const struct schema_support *row = schema_support_find(support, check->level);
    if (row && (schema_extended_types(check->op, row->types, check->level) >> tensor->desc->DataType & 1))
        return true;
    return schema_fail(check, SCHEMA_ERROR_DATA_TYPE,
                       "%s: DataType = %s (%" PRIu32 "), not supported by Function %" PRIu32, tensor->name,
                       schema_data_type_name(tensor->desc->DataType), (uint32_t)tensor->desc->DataType,
                       (uint32_t)function);
}

bool schema_rule_reduce(struct schema_check *check)
{
    const DML_REDUCE_OPERATOR_DESC *desc = check->desc;
    const struct schema_tensor input = SCHEMA_TENSOR_OF(desc, InputTensor);
    const struct schema_tensor output = SCHEMA_TENSOR_OF(desc, OutputTensor);
    const bool position = desc->Function == DML_REDUCE_FUNCTION_ARGMAX || desc->Function == DML_REDUCE_FUNCTION_ARGMIN;
    if (!check_function_type(check, support_of(desc->Function), &input, desc->Function))
        return false;
    if (position ? !check_function_type(check, schema_support_IDX_8, &output, desc->Function)
                 : !schema_expect_type(check, &output, input.desc->DataType, input.name))
        return false;
    return check_reduced(check, &input, &output, desc->AxisCount, desc->Axes);
}

/* ARGMIN and ARGMAX have one struct. */
bool schema_rule_arg(struct schema_check *check)
{
    const DML_ARGMIN_OPERATOR_DESC *desc = check->desc;
    const struct schema_tensor input = SCHEMA_TENSOR_OF(desc, InputTensor);
    const struct schema_tensor output = SCHEMA_TENSOR_OF(desc, OutputTensor);
    return check_reduced(check, &input, &output, desc->AxisCount, desc->Axes);
}

static bool check_top_k(struct schema_check *check, const struct schema_tensor *input,
                        const struct schema_tensor *value, UINT axis, UINT k)
{
    if (k > input->desc->Sizes[axis])
        return schema_fail(check, SCHEMA_ERROR_ATTRIBUTE_RANGE,
                           "K = %" PRIu32 ", must be at most the size of InputTensor on Axis (%" PRIu32 ")", k,
                           input->desc->Sizes[axis]);
    for (uint32_t i = 0; i < check->rank; i++)
        if (!schema_expect_size(check, value, i, i == axis ? k : input->desc->Sizes[i],
                                i == axis ? "K" : "that of InputTensor"))
            return false;
    return true;
}

bool schema_rule_top_k(struct schema_check *check)
{
    const DML_TOP_K_OPERATOR_DESC *desc = check->desc;
    const struct schema_tensor input = SCHEMA_TENSOR_OF(desc, InputTensor);
    const struct schema_tensor value = SCHEMA_TENSOR_OF(desc, OutputValueTensor);
    return check_top_k(check, &input, &value, desc->Axis, desc->K);
}

bool schema_rule_top_k1(struct schema_check *check)
{
    const DML_TOP_K1_OPERATOR_DESC *desc = check->desc;
    const struct schema_tensor input = SCHEMA_TENSOR_OF(desc, InputTensor);
    const struct schema_tensor value = SCHEMA_TENSOR_OF(desc, OutputValueTensor);
    return check_top_k(check, &input, &value, desc->Axis, desc->K);
}
