/* SPDX-License-Identifier: Apache-2.0 */
/* Summing operators on tensors without elements: DirectML does not support such tensors; an empty sum is zero. */
#include "onnx/emit/emit.h"

#include <math.h>

/* y = value, viewed through a description with y's sizes, times factor */
static bool copy_to(struct onnx_builder *b, struct onnx_value *value, const DML_TENSOR_DESC *seen, float factor,
                    struct onnx_value *y, const DML_TENSOR_DESC *y_desc)
{
    const DML_SCALE_BIAS scale = { factor, 0 };
    DML_ELEMENT_WISE_IDENTITY_OPERATOR_DESC desc = { seen, y_desc, factor == 1 ? NULL : &scale };
    return seen && onnx_emit(b, DML_OPERATOR_ELEMENT_WISE_IDENTITY, &desc, &value, 1, &y, 1);
}

static bool fill(struct onnx_builder *b, double number, struct onnx_value *y)
{
    struct onnx_value *value = onnx_scalar(b, y->type, number);
    struct onnx_desc dx, dy;
    return value && copy_to(b, value, onnx_desc_broadcast(b, &dx, value, y->rank, y->dims), 1, y, onnx_desc(b, &dy, y));
}

/* One bias for each channel. */
static bool channels_to(struct onnx_builder *b, struct onnx_value *bias, struct onnx_value *y)
{
    const uint32_t steps[ONNX_RANK_MAX] = { 0, 1 };
    struct onnx_desc dx, dy;
    return copy_to(b, bias, onnx_desc_strided(b, &dx, bias, y->rank, y->dims, steps), 1, y, onnx_desc(b, &dy, y));
}

static bool reduce(struct onnx_builder *b, DML_REDUCE_FUNCTION function, struct onnx_value *y)
{
    switch (function) {
    case DML_REDUCE_FUNCTION_SUM:
    case DML_REDUCE_FUNCTION_L1:
    case DML_REDUCE_FUNCTION_L2:
    case DML_REDUCE_FUNCTION_SUM_SQUARE:
        return fill(b, 0, y);
    case DML_REDUCE_FUNCTION_MULTIPLY:
        return fill(b, 1, y);
    case DML_REDUCE_FUNCTION_AVERAGE:
        return fill(b, NAN, y);
    default:
        return false;
    }
}

bool onnx_emit_nothing(struct onnx_builder *b, DML_OPERATOR_TYPE type, const void *desc,
                       struct onnx_value *const *inputs, uint32_t input_count, struct onnx_value *y)
{
    struct onnx_value *third = input_count > 2 ? inputs[2] : NULL;
    if (type == DML_OPERATOR_GEMM) {
        const DML_GEMM_OPERATOR_DESC *gemm = desc;
        return third ? copy_to(b, third, gemm->CTensor, gemm->Beta, y, gemm->OutputTensor) : fill(b, 0, y);
    }
    if (type == DML_OPERATOR_CONVOLUTION)
        return third ? channels_to(b, third, y) : fill(b, 0, y);
    if (type == DML_OPERATOR_REDUCE)
        return reduce(b, ((const DML_REDUCE_OPERATOR_DESC *)desc)->Function, y);
    return false;
}
