/* SPDX-License-Identifier: Apache-2.0 */
/* Multiplication of matrices and vectors; softmax. */
#include "graph.h"

#include <math.h>

#define EW(name)     DML_OPERATOR_ELEMENT_WISE_##name
#define REDUCE(name) DML_REDUCE_FUNCTION_##name

#define INTEGER_PRODUCT_MAX (INT64_C(1) << 24) /* maximum number of elementary products */

static bool is_byte(const struct aten_value *x)
{
    return x->type == ATEN_INT8 || x->type == ATEN_UINT8;
}

/* Multiplies matrices of bytes: INT32. */
static struct aten_value *byte_product(struct aten_graph *g, struct aten_value *x, struct aten_value *y)
{
    struct aten_value *in[4] = { x, NULL, y, NULL };
    struct aten_desc d[3];
    int64_t sizes[ATEN_RANK_MAX];
    memcpy(sizes, x->sizes, sizeof(sizes));
    sizes[x->rank - 1] = y->sizes[y->rank - 1];
    struct aten_value *out = aten_new(g, ATEN_INT32, x->rank, sizes);
    if (!out)
        return NULL;
    DML_MATRIX_MULTIPLY_INTEGER_OPERATOR_DESC desc = { .ATensor = aten_describe_rank(g, &d[0], x, 4),
                                                       .BTensor = aten_describe_rank(g, &d[1], y, 4),
                                                       .OutputTensor = aten_describe_rank(g, &d[2], out, 4) };
    return aten_emit(g, DML_OPERATOR_MATRIX_MULTIPLY_INTEGER, &desc, in, 4, &out, 1) ? out : NULL;
}

/* Multiplies integers as sums of element-wise products, because GEMM of DirectML supports floats only. */
static struct aten_value *integer_product(struct aten_graph *g, struct aten_value *x, struct aten_value *y)
{
    if (is_byte(x) && is_byte(y)) /* INT32 wraps as the result's 8 bits do */
        return byte_product(g, x, y);
    struct aten_value *left = aten_unsqueeze(g, x, x->rank);      /* [..., m, k, 1] */
    struct aten_value *right = aten_unsqueeze(g, y, y->rank - 2); /* [..., 1, k, n] */
    const int32_t type = aten_type_bytes(x->type) < 4 ? ATEN_INT64 : x->type;
    struct aten_value *all = aten_multiply(g, aten_convert(g, left, type), aten_convert(g, right, type));
    if (!all || aten_elements(all) > INTEGER_PRODUCT_MAX) {
        aten_fail(g, "multiplication of large matrices of %s is not supported", aten_type_name(x->type));
        return NULL;
    }
    return aten_squeeze(g, aten_reduced(g, REDUCE(SUM), all, UINT32_C(1) << (all->rank - 2), type), all->rank - 2);
}

/* alpha * x * y + beta * z for matrices or batches of them; z may be NULL, and is not read if beta is 0. */
static struct aten_value *product(struct aten_graph *g, struct aten_value *x, struct aten_value *y,
                                  struct aten_value *z, double alpha, double beta)
{
    if (!x || !y || g->failed)
        return NULL;
    if (beta == 0)
        z = NULL;
    struct aten_value *sum = NULL;
    if (aten_elements(x) && aten_elements(y) && aten_is_float(x->type))
        return aten_matmul(g, x, y, z, alpha, beta);
    if (aten_elements(x) && aten_elements(y)) {
        sum = integer_product(g, x, y);
        sum = sum ? aten_scaled(g, sum, alpha, 0) : NULL;
    } else { /* empty sums */
        sum = aten_scalar(g, x->type, 0);
    }
    if (!z || !sum)
        return sum;
    return aten_add(g, aten_scaled(g, aten_convert(g, z, sum->type), beta, 0), sum);
}

/* mm, bmm(self, mat2) */
bool aten_build_mm(struct aten_graph *g, const struct aten_node *n)
{
    return aten_result(g, n, 0, product(g, aten_in(g, n, 0), aten_in(g, n, 1), NULL, 1, 0));
}

/* _int_mm(self, mat2): the product of bytes in INT32. */
bool aten_build_int_mm(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_value *x = aten_in(g, n, 0), *y = aten_in(g, n, 1);
    if (!x || !y || !is_byte(x) || !is_byte(y))
        return aten_fail(g, "both matrices must be of 8-bit integers");
    if (!aten_elements(x) || !aten_elements(y))
        return aten_result(g, n, 0, aten_filled(g, ATEN_INT32, 2, n->outputs[0].sizes, 0));
    return aten_result(g, n, 0, byte_product(g, x, y));
}

/* addmm, baddbmm(self, mat1, mat2, beta, alpha) */
bool aten_build_addmm(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_value *x = aten_in(g, n, 1), *y = aten_in(g, n, 2);
    struct aten_value *z = x ? aten_in_as(g, n, 0, x->type) : NULL;
    const double beta = aten_real(g, n, 3, 1), alpha = aten_real(g, n, 4, 1);
    return z && aten_result(g, n, 0, product(g, x, y, z, alpha, beta));
}

/* addbmm(self, batch1, batch2, beta, alpha): the sum over the batch is one GEMM with concatenated rows and columns. */
bool aten_build_addbmm(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_value *x = aten_in(g, n, 1), *y = aten_in(g, n, 2);
    struct aten_value *z = x ? aten_in_as(g, n, 0, x->type) : NULL;
    const double beta = aten_real(g, n, 3, 1), alpha = aten_real(g, n, 4, 1);
    if (!x || !y || !z || x->rank != 3 || y->rank != 3)
        return aten_fail(g, "batch1 and batch2 must have 3 dimensions");
    const int64_t rows[2] = { x->sizes[1], x->sizes[0] * x->sizes[2] };
    const int64_t columns[2] = { y->sizes[0] * y->sizes[1], y->sizes[2] };
    x = aten_reshape(g, aten_transpose(g, x, 0, 1), 2, rows);
    return aten_result(g, n, 0, product(g, x, aten_reshape(g, y, 2, columns), z, alpha, beta));
}

static struct aten_value *column(struct aten_graph *g, struct aten_value *x)
{
    return x ? aten_unsqueeze(g, x, 1) : NULL;
}

/* mv(self, vec), addmv(self, mat, vec, beta, alpha): parameter 1. */
bool aten_build_mv(struct aten_graph *g, const struct aten_node *n)
{
    const uint32_t first = n->parameter ? 1 : 0;
    struct aten_value *x = aten_in(g, n, first), *y = column(g, aten_in(g, n, first + 1)), *z = NULL;
    const double beta = n->parameter ? aten_real(g, n, 3, 1) : 0, alpha = n->parameter ? aten_real(g, n, 4, 1) : 1;
    if (beta != 0 && x) {
        z = aten_in_as(g, n, 0, x->type);
        z = z && z->rank ? column(g, z) : z;
    }
    struct aten_value *sum = product(g, x, y, z, alpha, beta);
    return aten_result(g, n, 0, sum && sum->rank == 2 ? aten_squeeze(g, sum, 1) : sum);
}

/* dot, vdot(self, other) */
bool aten_build_dot(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_value *x = aten_in(g, n, 0), *y = column(g, aten_in(g, n, 1));
    struct aten_value *sum = product(g, x ? aten_unsqueeze(g, x, 0) : NULL, y, NULL, 1, 0);
    return aten_result(g, n, 0, sum && sum->rank ? aten_reshape(g, sum, 0, NULL) : sum);
}

/* addr(self, vec1, vec2, beta, alpha) */
bool aten_build_addr(struct aten_graph *g, const struct aten_node *n)
{
    const int32_t type = aten_wide(n->outputs[0].type);
    struct aten_value *x = column(g, aten_in_as(g, n, 1, type)), *y = aten_in_as(g, n, 2, type);
    const double beta = aten_real(g, n, 3, 1), alpha = aten_real(g, n, 4, 1);
    struct aten_value *z = beta != 0 ? aten_scaled(g, aten_in_as(g, n, 0, type), beta, 0) : NULL;
    if (type == ATEN_BOOLEAN)
        return aten_fail(g, "argument 0 (self) is bool, must be numbers");
    struct aten_value *xy = aten_scaled(g, aten_multiply(g, x, y), alpha, 0);
    return aten_result(g, n, 0, z ? aten_add(g, z, xy) : xy);
}

/* ---- softmax ---- */

static struct aten_value *softmax(struct aten_graph *g, const struct aten_node *n, DML_OPERATOR_TYPE op, UINT *out_axis)
{
    struct aten_value *x = aten_in_as(g, n, 0, n->outputs[0].type), *y;
    struct aten_desc dx, dy;
    if (!x || !aten_axis(g, aten_int(g, n, 1, 0), x->rank, out_axis) ||
        !(y = aten_new(g, x->type, x->rank, x->sizes))) {
        aten_fail(g, "unsupported arguments");
        return NULL;
    }
    DML_ACTIVATION_SOFTMAX1_OPERATOR_DESC desc = { aten_describe(g, &dx, x), aten_describe(g, &dy, y), 1, out_axis };
    return aten_emit(g, op, &desc, &x, 1, &y, 1) ? y : NULL;
}

/* _softmax, _log_softmax(self, dim, half_to_float): parameter: the operator. */
bool aten_build_softmax(struct aten_graph *g, const struct aten_node *n)
{
    UINT axis;
    return aten_result(g, n, 0, softmax(g, n, (DML_OPERATOR_TYPE)n->parameter, &axis));
}

/* _safe_softmax(self, dim, dtype): zeros if all elements are -infinity. */
bool aten_build_safe_softmax(struct aten_graph *g, const struct aten_node *n)
{
    UINT axis;
    struct aten_value *x = aten_in_as(g, n, 0, n->outputs[0].type);
    struct aten_value *y = softmax(g, n, DML_OPERATOR_ACTIVATION_SOFTMAX1, &axis);
    if (!y || !aten_elements(y))
        return aten_result(g, n, 0, y);
    struct aten_value *most = aten_reduced(g, REDUCE(MAX), x, UINT32_C(1) << axis, x->type);
    struct aten_value *none = aten_apply2(g, EW(LOGICAL_EQUALS), most, aten_scalar(g, x->type, -INFINITY));
    return aten_result(g, n, 0, aten_select(g, none, aten_scalar(g, x->type, 0), y));
}

/* _softmax_backward_data, _log_softmax_backward_data(grad_output, output, dim, input_dtype): parameter 1 for log. */
bool aten_build_softmax_backward(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_value *dy = aten_in(g, n, 0), *y = aten_in(g, n, 1);
    uint32_t axis;
    if (!dy || !y || !aten_axis(g, aten_int(g, n, 2, 0), y->rank, &axis))
        return aten_fail(g, "unsupported arguments");
    if (!aten_elements(y))
        return aten_result(g, n, 0, y);
    const int32_t type = aten_wide(y->type);
    dy = aten_convert(g, dy, type);
    y = aten_convert(g, y, type);
    if (n->parameter) {
        struct aten_value *sum = aten_reduced(g, REDUCE(SUM), dy, UINT32_C(1) << axis, type);
        return aten_result(g, n, 0, aten_subtract(g, dy, aten_multiply(g, aten_apply(g, EW(EXP), y), sum)));
    }
    struct aten_value *sum = aten_reduced(g, REDUCE(SUM), aten_multiply(g, dy, y), UINT32_C(1) << axis, type);
    return aten_result(g, n, 0, aten_multiply(g, y, aten_subtract(g, dy, sum)));
}
