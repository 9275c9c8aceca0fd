/* SPDX-License-Identifier: Apache-2.0 */
/* Distances between the rows of two matrices. */
#include "onnx/convert/converters.h"

/* The sums of the squares of the rows, as [count, 1] or, for the second operand, [1, count]. */
static struct onnx_value *square_norms(struct onnx_builder *b, struct onnx_value *x, bool as_row)
{
    const UINT last = 1;
    struct onnx_value *sums = x ? onnx_reduced(b, DML_REDUCE_FUNCTION_SUM_SQUARE, x, &last, 1) : NULL;
    return sums && as_row ? onnx_as(b, sums, 2, (int64_t[]){ 1, x->dims[0] }) : sums;
}

/* offset - 2 x z^T; offset is one number per row of z. */
static struct onnx_value *minus_twice_product(struct onnx_builder *b, struct onnx_value *x, struct onnx_value *z,
                                              struct onnx_value *offset)
{
    struct onnx_value *in[3] = { x, z, offset };
    struct onnx_desc d[4];
    if (!offset)
        return NULL;
    int64_t dims[2] = { x->dims[0], z->dims[0] };
    struct onnx_value *y = onnx_temp(b, x->type, 2, dims);
    if (!y)
        return NULL;
    DML_GEMM_OPERATOR_DESC desc = {
        .ATensor = onnx_desc(b, &d[0], x),
        .BTensor = onnx_desc(b, &d[1], z),
        .CTensor = onnx_desc_broadcast(b, &d[2], offset, 2, dims),
        .OutputTensor = onnx_desc(b, &d[3], y),
        .TransB = DML_MATRIX_TRANSFORM_TRANSPOSE,
        .Alpha = -2.0f,
        .Beta = 1.0f,
    };
    return onnx_emit(b, DML_OPERATOR_GEMM, &desc, in, 3, &y, 1) ? y : NULL;
}

/* com.microsoft CDist: |x|^2 + |z|^2 - 2 x.z, which may become negative by rounding. */
bool onnx_cdist(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *x = onnx_in(b, n, 0), *z = onnx_in(b, n, 1);
    const char *metric = onnx_attr_string(n, "metric", "sqeuclidean");
    bool root = !strcmp(metric, "euclidean");
    if (!x || !z)
        return false;
    if (!root && strcmp(metric, "sqeuclidean"))
        return onnx_fail(b, "metric '%s' is neither euclidean nor sqeuclidean", metric);
    if (x->type != z->type || (x->type != ONNX_FLOAT && x->type != ONNX_DOUBLE))
        return onnx_fail(b, "data types %s and %s are not both FLOAT or DOUBLE", onnx_type_name(x->type),
                         onnx_type_name(z->type));
    if (x->rank != 2 || z->rank != 2)
        return onnx_fail(b, "ranks %u and %u are not 2", x->rank, z->rank);
    if (x->dims[1] != z->dims[1])
        return onnx_misfit(b, "rows of %lld and %lld elements", (long long)x->dims[1], (long long)z->dims[1]);
    int64_t dims[2] = { x->dims[0], z->dims[0] };
    struct onnx_value *y = onnx_out(b, n, 0, x->type, 2, dims);
    if (!y)
        return false;
    if (!onnx_elements(y) || !x->dims[1]) { /* an empty sum */
        struct onnx_value *zeros = onnx_broadcast_copy(b, onnx_scalar(b, y->type, 0), 2, dims);
        return zeros && onnx_alias(b, y, zeros);
    }
    struct onnx_value *product = minus_twice_product(b, x, z, square_norms(b, z, true));
    struct onnx_value *sum = onnx_apply2(b, DML_OPERATOR_ELEMENT_WISE_ADD, product, square_norms(b, x, false));
    if (!root)
        return onnx_apply_to(b, DML_OPERATOR_ACTIVATION_RELU, sum, y) != NULL;
    return onnx_apply_to(b, DML_OPERATOR_ELEMENT_WISE_SQRT, onnx_apply(b, DML_OPERATOR_ACTIVATION_RELU, sum), y) !=
           NULL;
}
