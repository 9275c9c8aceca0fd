/* SPDX-License-Identifier: Apache-2.0 */
/* GEMM and matmul operators. */
#include "onnx/convert/converters.h"
#include "onnx/convert/geometry.h"
#include "onnx/emit/emit.h"

/* DirectML multiplies floats. Integers are converted to float64, which is exact while every sum is below 2^53. */
bool onnx_gemm(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *in[3] = { onnx_in(b, n, 0), onnx_in(b, n, 1), onnx_in_optional(b, n, 2) };
    bool ta = onnx_attr_int(n, "transA", 0), tb = onnx_attr_int(n, "transB", 0);
    struct onnx_desc d[4];
    if (!in[0] || !in[1] || b->failed)
        return false;
    if (!onnx_type_is_float(in[0]->type))
        return onnx_in_type(b, n, onnx_gemm, 7, ONNX_DOUBLE);
    if (in[0]->rank != 2 || in[1]->rank != 2 || in[0]->dims[!ta] != in[1]->dims[tb])
        return onnx_misfit(b, "matrices do not fit: inner sizes %lld and %lld",
                           (long long)(in[0]->rank == 2 ? in[0]->dims[!ta] : -1),
                           (long long)(in[1]->rank == 2 ? in[1]->dims[tb] : -1));
    int64_t dims[2] = { in[0]->dims[ta], in[1]->dims[!tb] };
    struct onnx_value shape = { .name = n->outputs[0], .rank = 2, .dims = { dims[0], dims[1] } };
    int64_t full[ONNX_RANK_MAX];
    uint32_t rank;
    if (in[2] &&
        (!onnx_broadcast_dims(b, in[2], &shape, &rank, full) || rank != 2 || full[0] != dims[0] || full[1] != dims[1]))
        return onnx_misfit(b, "'%s' does not broadcast to the product", in[2]->name);
    struct onnx_value *y = onnx_out(b, n, 0, in[0]->type, 2, dims);
    if (!y)
        return false;
    if (!in[0]->dims[!ta]) { /* an empty sum */
        struct onnx_value *from = in[2] ? onnx_broadcast_copy(b, in[2], 2, dims)
                                        : onnx_broadcast_copy(b, onnx_scalar(b, y->type, 0), 2, dims);
        return onnx_scaled_to(b, from, in[2] ? onnx_attr_float(n, "beta", 1.0f) : 1.0f, 0, y);
    }
    DML_GEMM_OPERATOR_DESC desc = {
        onnx_desc(b, &d[0], in[0]),
        onnx_desc(b, &d[1], in[1]),
        in[2] ? onnx_desc_broadcast(b, &d[2], in[2], 2, dims) : NULL,
        onnx_desc(b, &d[3], y),
        ta ? DML_MATRIX_TRANSFORM_TRANSPOSE : DML_MATRIX_TRANSFORM_NONE,
        tb ? DML_MATRIX_TRANSFORM_TRANSPOSE : DML_MATRIX_TRANSFORM_NONE,
        onnx_attr_float(n, "alpha", 1.0f),
        onnx_attr_float(n, "beta", 1.0f),
        NULL,
    };
    return onnx_emit(b, DML_OPERATOR_GEMM, &desc, in, 3, &y, 1);
}

/* DirectML has two batch dimensions: if more of them broadcast, both operands are expanded to the full batch. */
static bool expand(struct onnx_builder *b, struct onnx_value **in)
{
    uint32_t rank = BASE_MAX(in[0]->rank, in[1]->rank);
    int64_t dims[2][ONNX_RANK_MAX];
    bool equal = true;
    if (rank < 5 || in[0]->rank < 3 || in[1]->rank < 3)
        return true;
    for (uint32_t i = 0; i < rank; i++) {
        int64_t x = i + in[0]->rank < rank ? 1 : in[0]->dims[i + in[0]->rank - rank];
        int64_t z = i + in[1]->rank < rank ? 1 : in[1]->dims[i + in[1]->rank - rank];
        bool batch = i + 2 < rank;
        if (batch && x != z && x != 1 && z != 1)
            return onnx_misfit(b, "batch dimensions %lld and %lld do not broadcast", (long long)x, (long long)z);
        equal = equal && (!batch || x == z);
        dims[0][i] = batch && x == 1 ? z : x;
        dims[1][i] = batch && z == 1 ? x : z;
    }
    for (uint32_t i = 0; !equal && i < 2; i++)
        in[i] = onnx_broadcast_copy(b, in[i], rank, dims[i]);
    return in[0] && in[1];
}

bool onnx_matmul(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *in[3] = { onnx_in(b, n, 0), onnx_in(b, n, 1), NULL };
    struct onnx_product p;
    struct onnx_desc d[3];
    if (!in[0] || !in[1])
        return false;
    if (in[0]->type != in[1]->type)
        return onnx_fail(b, "inputs differ in type: %s and %s", onnx_type_name(in[0]->type),
                         onnx_type_name(in[1]->type));
    if (!onnx_type_is_float(in[0]->type))
        return onnx_in_type(b, n, onnx_matmul, 3, ONNX_DOUBLE);
    if (!expand(b, in) || !onnx_product_plan(b, in[0], in[1], false, &p))
        return false;
    struct onnx_value *y = onnx_out(b, n, 0, in[0]->type, p.rank, p.dims);
    if (!y)
        return false;
    if (!p.k) { /* an empty sum */
        struct onnx_value *zeros = onnx_broadcast_copy(b, onnx_scalar(b, y->type, 0), p.rank, p.dims);
        return zeros && onnx_alias(b, y, zeros);
    }
    DML_GEMM_OPERATOR_DESC desc = {
        .ATensor = onnx_product_desc(b, &d[0], in[0], &p, 0),
        .BTensor = onnx_product_desc(b, &d[1], in[1], &p, 1),
        .OutputTensor = onnx_product_desc(b, &d[2], y, &p, 2),
        .Alpha = 1.0f,
    };
    return onnx_emit(b, DML_OPERATOR_GEMM, &desc, in, 3, &y, 1);
}
