/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of GEMM operators: {[B], [C], M, K} x {[B], [C], K, N} = {[B], [C], M, N}. */
#include <inttypes.h>

#include "schema/check.h"
#include "schema/rules.h"

/* `a`, `b` and `output` have compatible sizes and one rank of at least 2. */
static bool check_product(struct schema_check *check, const struct schema_tensor *a, bool transpose_a,
                          const struct schema_tensor *b, bool transpose_b, const struct schema_tensor *output)
{
    const uint32_t rows = check->rank - 2, columns = check->rank - 1;
    for (uint32_t i = 0; i < rows; i++)
        if (!schema_expect_size(check, output, i, a->desc->Sizes[i], "that of ATensor") ||
            !schema_expect_size(check, b, i, a->desc->Sizes[i], "that of ATensor"))
            return false;
    const uint32_t m = a->desc->Sizes[transpose_a ? columns : rows];
    const uint32_t k = a->desc->Sizes[transpose_a ? rows : columns];
    const uint32_t n = b->desc->Sizes[transpose_b ? rows : columns];
    return schema_expect_size(check, b, transpose_b ? columns : rows, k,
                              transpose_a ? "the rows of ATensor" : "the columns of ATensor") &&
           schema_expect_size(check, output, rows, m, transpose_a ? "the columns of ATensor" : "the rows of ATensor") &&
           schema_expect_size(check, output, columns, n,
                              transpose_b ? "the rows of BTensor" : "the columns of BTensor");
}

/* A scale or zero point: one element, or one for each row (axis -2) or column (axis -1) of the matrices. */
static bool check_per_row(struct schema_check *check, const struct schema_tensor *tensor, uint32_t rows,
                          const char *what)
{
    const uint32_t rank = tensor->desc ? tensor->desc->DimensionCount : 0;
    return schema_expect_vector(check, tensor, rank >= 2 ? rank - 2 : UINT32_MAX, rows, what);
}

static bool check_per_column(struct schema_check *check, const struct schema_tensor *tensor, uint32_t columns)
{
    const uint32_t rank = tensor->desc ? tensor->desc->DimensionCount : 0;
    return schema_expect_vector(check, tensor, rank - 1, columns, "the columns of BTensor");
}

bool schema_rule_gemm(struct schema_check *check)
{
    const DML_GEMM_OPERATOR_DESC *desc = check->desc;
    const struct schema_tensor a = SCHEMA_TENSOR_OF(desc, ATensor), b = SCHEMA_TENSOR_OF(desc, BTensor);
    const struct schema_tensor output = SCHEMA_TENSOR_OF(desc, OutputTensor);
    return check_product(check, &a, desc->TransA == DML_MATRIX_TRANSFORM_TRANSPOSE, &b,
                         desc->TransB == DML_MATRIX_TRANSFORM_TRANSPOSE, &output);
}

bool schema_rule_matrix_multiply_integer(struct schema_check *check)
{
    const DML_MATRIX_MULTIPLY_INTEGER_OPERATOR_DESC *desc = check->desc;
    const struct schema_tensor a = SCHEMA_TENSOR_OF(desc, ATensor), b = SCHEMA_TENSOR_OF(desc, BTensor);
    const struct schema_tensor output = SCHEMA_TENSOR_OF(desc, OutputTensor);
    const struct schema_tensor a_zero = SCHEMA_TENSOR_OF(desc, AZeroPointTensor);
    const struct schema_tensor b_zero = SCHEMA_TENSOR_OF(desc, BZeroPointTensor);
    return check_product(check, &a, false, &b, false, &output) &&
           check_per_row(check, &a_zero, output.desc->Sizes[check->rank - 2], "the rows of ATensor") &&
           check_per_column(check, &b_zero, output.desc->Sizes[check->rank - 1]);
}

bool schema_rule_quantized_matrix_multiply(struct schema_check *check)
{
    const DML_QUANTIZED_LINEAR_MATRIX_MULTIPLY_OPERATOR_DESC *desc = check->desc;
    const struct schema_tensor a = SCHEMA_TENSOR_OF(desc, ATensor), b = SCHEMA_TENSOR_OF(desc, BTensor);
    const struct schema_tensor output = SCHEMA_TENSOR_OF(desc, OutputTensor);
    const struct schema_tensor a_scale = SCHEMA_TENSOR_OF(desc, AScaleTensor);
    const struct schema_tensor a_zero = SCHEMA_TENSOR_OF(desc, AZeroPointTensor);
    const struct schema_tensor b_scale = SCHEMA_TENSOR_OF(desc, BScaleTensor);
    const struct schema_tensor b_zero = SCHEMA_TENSOR_OF(desc, BZeroPointTensor);
    const struct schema_tensor y_scale = SCHEMA_TENSOR_OF(desc, OutputScaleTensor);
    const struct schema_tensor y_zero = SCHEMA_TENSOR_OF(desc, OutputZeroPointTensor);
    if (!check_product(check, &a, false, &b, false, &output))
        return false;
    const uint32_t m = output.desc->Sizes[check->rank - 2], n = output.desc->Sizes[check->rank - 1];
    return check_per_row(check, &a_scale, m, "the rows of ATensor") &&
           check_per_row(check, &a_zero, m, "the rows of ATensor") && check_per_column(check, &b_scale, n) &&
           check_per_column(check, &b_zero, n) && check_per_row(check, &y_scale, m, "the rows of OutputTensor") &&
           check_per_row(check, &y_zero, m, "the rows of OutputTensor");
}

static bool is_8bit(const struct schema_tensor *tensor)
{
    return schema_data_type_bits(tensor->desc->DataType) == 8;
}

bool schema_rule_matrix_multiply_to_float(struct schema_check *check)
{
    const DML_MATRIX_MULTIPLY_INTEGER_TO_FLOAT_OPERATOR_DESC *desc = check->desc;
    const struct schema_tensor a = SCHEMA_TENSOR_OF(desc, ATensor), b = SCHEMA_TENSOR_OF(desc, BTensor);
    const struct schema_tensor output = SCHEMA_TENSOR_OF(desc, OutputTensor);
    const struct schema_tensor a_scale = SCHEMA_TENSOR_OF(desc, AScaleTensor);
    const struct schema_tensor a_zero = SCHEMA_TENSOR_OF(desc, AZeroPointTensor);
    const struct schema_tensor b_scale = SCHEMA_TENSOR_OF(desc, BScaleTensor);
    const struct schema_tensor b_zero = SCHEMA_TENSOR_OF(desc, BZeroPointTensor);
    /* Clients mix INT8 and UINT8. */
    if (!(is_8bit(&a) && is_8bit(&b)) && !schema_expect_type(check, &b, a.desc->DataType, a.name))
        return false;
    if (!check_product(check, &a, false, &b, false, &output))
        return false;
    const uint32_t m = output.desc->Sizes[check->rank - 2], n = output.desc->Sizes[check->rank - 1];
    return check_per_row(check, &a_scale, m, "the rows of ATensor") &&
           check_per_row(check, &a_zero, m, "the rows of ATensor") && check_per_column(check, &b_scale, n) &&
           check_per_column(check, &b_zero, n);
}
