/* SPDX-License-Identifier: Apache-2.0 */
/* Distances between all rows, vector products, and renormalisation. */
#include "index.h"

#include <math.h>

#define EW(name)     DML_OPERATOR_ELEMENT_WISE_##name
#define REDUCE(name) DML_REDUCE_FUNCTION_##name

#define DIFFERENCES_MAX (INT64_C(1) << 26)

static struct aten_value *like(struct aten_graph *g, const struct aten_value *x, double value)
{
    return x ? aten_scalar(g, x->type, value) : NULL;
}

static struct aten_value *is_zero(struct aten_graph *g, struct aten_value *x)
{
    return aten_apply2(g, EW(LOGICAL_EQUALS), x, like(g, x, 0));
}

/* The norm of order p over the last dimension, which is kept with size 1. */
static struct aten_value *norm(struct aten_graph *g, struct aten_value *x, double p, uint32_t axes)
{
    struct aten_value *away = aten_apply(g, EW(ABS), x);
    if (!away)
        return NULL;
    if (isinf(p))
        return aten_reduced(g, REDUCE(MAX), away, axes, x->type);
    if (p == 0)
        return aten_reduced(g, REDUCE(SUM), aten_convert(g, aten_not(g, is_zero(g, x)), x->type), axes, x->type);
    if (p == 1)
        return aten_reduced(g, REDUCE(SUM), away, axes, x->type);
    if (p == 2)
        return aten_apply(g, EW(SQRT), aten_reduced(g, REDUCE(SUM), aten_multiply(g, x, x), axes, x->type));
    struct aten_value *sum = aten_reduced(g, REDUCE(SUM), aten_apply2(g, EW(POW), away, like(g, x, p)), axes, x->type);
    return aten_apply2(g, EW(POW), sum, like(g, x, 1 / p));
}

/* The gradient of the distance with respect to a difference, times `grad`; distances have size 1 in the last
 * dimension. */
static struct aten_value *slope(struct aten_graph *g, struct aten_value *x, struct aten_value *distance,
                                struct aten_value *grad, double p)
{
    struct aten_value *sign = aten_apply(g, EW(SIGN), x), *away = aten_apply(g, EW(ABS), x), *y;
    if (p == 0)
        return aten_multiply(g, x, aten_scaled(g, grad, 0, 0));
    if (p == 1)
        return aten_multiply(g, sign, grad);
    if (isinf(p)) {
        struct aten_value *largest = aten_convert(g, aten_apply2(g, EW(LOGICAL_EQUALS), away, distance), x->type);
        return aten_multiply(g, aten_multiply(g, sign, grad), largest);
    }
    if (p == 2)
        y = aten_divide(g, aten_multiply(g, x, grad), distance);
    else
        y = aten_multiply(
            g, sign,
            aten_multiply(g, aten_apply2(g, EW(POW), aten_divide(g, away, distance), like(g, x, p - 1)), grad));
    struct aten_value *none = is_zero(g, distance);
    if (p < 1)
        none = aten_apply2(g, EW(LOGICAL_OR), none, is_zero(g, x));
    return aten_select(g, none, like(g, x, 0), y);
}

/* All rows of x minus all rows of y: [..., p, r, m] */
static struct aten_value *differences(struct aten_graph *g, struct aten_value *x, struct aten_value *y)
{
    if (!x || !y || x->rank < 2 || y->rank < 2)
        return NULL;
    if (aten_elements(x) * y->sizes[y->rank - 2] > DIFFERENCES_MAX) {
        aten_fail(g, "more than %lld differences", (long long)DIFFERENCES_MAX);
        return NULL;
    }
    return aten_subtract(g, aten_unsqueeze(g, x, x->rank - 1), aten_unsqueeze(g, y, y->rank - 2));
}

static bool is_full(const struct aten_tensor *t)
{
    for (uint32_t i = 0; i < t->rank; i++)
        if (!t->sizes[i])
            return false;
    return true;
}

/* _cdist_forward(x1, x2, p, compute_mode) */
bool aten_build_cdist(struct aten_graph *g, const struct aten_node *n)
{
    const int32_t type = aten_wide(n->outputs[0].type);
    struct aten_value *x = aten_in_as(g, n, 0, type), *y = aten_in_as(g, n, 1, type);
    if (!x || !y || !is_full(&n->outputs[0]) || !aten_elements(x))
        return aten_result(g, n, 0, aten_scalar(g, type, 0));
    struct aten_value *all = differences(g, x, y);
    if (!all)
        return false;
    const uint32_t last = all->rank - 1;
    return aten_result(g, n, 0, aten_squeeze(g, norm(g, all, aten_real(g, n, 2, 2), UINT32_C(1) << last), last));
}

/* _cdist_backward(grad, x1, x2, p, cdist) */
bool aten_build_cdist_backward(struct aten_graph *g, const struct aten_node *n)
{
    const int32_t type = aten_wide(n->outputs[0].type);
    struct aten_value *grad = aten_in_as(g, n, 0, type), *x = aten_in_as(g, n, 1, type), *y = aten_in_as(g, n, 2, type);
    struct aten_value *distance = aten_in_as(g, n, 4, type);
    if (!grad || !x || !y || !distance || !aten_elements(grad) || !aten_elements(x))
        return aten_result(g, n, 0, aten_scalar(g, type, 0));
    struct aten_value *all = differences(g, x, y);
    all = slope(g, all, aten_unsqueeze(g, distance, distance->rank), aten_unsqueeze(g, grad, grad->rank),
                aten_real(g, n, 3, 2));
    if (!all)
        return false;
    const uint32_t rows = all->rank - 2;
    all = aten_squeeze(g, aten_reduced(g, REDUCE(SUM), all, UINT32_C(1) << rows, type), rows);
    if (all && all->rank > n->outputs[0].rank)
        return aten_fail(g, "broadcast x1 is not supported");
    return aten_result(g, n, 0, all);
}

/* Row i (which = 0) or j (1) of all pairs i < j. */
static struct aten_value *pair_rows(struct aten_graph *g, int64_t rows, int which)
{
    const int64_t count = rows * (rows - 1) / 2;
    int64_t *at = aten_alloc(g, (size_t)count * sizeof(*at)), used = 0;
    for (int64_t i = 0; at && i < rows; i++)
        for (int64_t j = i + 1; j < rows; j++)
            at[used++] = which ? j : i;
    return at ? aten_constant(g, ATEN_INT64, 1, &count, at) : NULL;
}

static struct aten_value *pair_differences(struct aten_graph *g, struct aten_value *x)
{
    const int64_t rows = x->sizes[0];
    if (rows * rows / 2 * x->sizes[1] > DIFFERENCES_MAX) {
        aten_fail(g, "more than %lld differences", (long long)DIFFERENCES_MAX);
        return NULL;
    }
    return aten_subtract(g, aten_gather(g, x, pair_rows(g, rows, 0), 0), aten_gather(g, x, pair_rows(g, rows, 1), 0));
}

/* _pdist_forward(self, p) */
bool aten_build_pdist(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_value *x = aten_in_as(g, n, 0, aten_wide(n->outputs[0].type));
    if (!x || !is_full(&n->outputs[0]) || !aten_elements(x))
        return aten_result(g, n, 0, like(g, x, 0));
    return aten_result(g, n, 0, aten_squeeze(g, norm(g, pair_differences(g, x), aten_real(g, n, 1, 2), 2), 1));
}

/* _pdist_backward(grad, self, p, pdist) */
bool aten_build_pdist_backward(struct aten_graph *g, const struct aten_node *n)
{
    const int32_t type = aten_wide(n->outputs[0].type);
    struct aten_value *grad = aten_in_as(g, n, 0, type), *x = aten_in_as(g, n, 1, type),
                      *distance = aten_in_as(g, n, 3, type);
    if (!grad || !x || !distance || !aten_elements(grad) || !aten_elements(x))
        return aten_result(g, n, 0, aten_scalar(g, type, 0));
    struct aten_value *each = slope(g, pair_differences(g, x), aten_unsqueeze(g, distance, 1),
                                    aten_unsqueeze(g, grad, 1), aten_real(g, n, 2, 2));
    struct aten_value *y = aten_zeros(g, type, 2, x->sizes);
    y = aten_scatter_tuples(g, y, aten_unsqueeze(g, pair_rows(g, x->sizes[0], 0), 1), each, REDUCE(SUM));
    y = aten_scatter_tuples(g, y, aten_unsqueeze(g, pair_rows(g, x->sizes[0], 1), 1), aten_scaled(g, each, -1, 0),
                            REDUCE(SUM));
    return aten_result(g, n, 0, y);
}

/* linalg_cross(self, other, dim) */
bool aten_build_cross(struct aten_graph *g, const struct aten_node *n)
{
    const struct aten_tensor *out = &n->outputs[0];
    struct aten_value *x = aten_expand(g, aten_in_as(g, n, 0, out->type), out->rank, out->sizes), *parts[3];
    struct aten_value *y = aten_expand(g, aten_in_as(g, n, 1, out->type), out->rank, out->sizes);
    uint32_t axis;
    if (!x || !y || !aten_axis(g, aten_int(g, n, 2, -1), out->rank, &axis))
        return false;
    if (!is_full(out))
        return aten_result(g, n, 0, x);
    for (uint32_t i = 0; i < 3; i++) {
        const uint32_t a = (i + 1) % 3, b = (i + 2) % 3;
        parts[i] = aten_subtract(g, aten_multiply(g, aten_slice(g, x, axis, a, 1, 1), aten_slice(g, y, axis, b, 1, 1)),
                                 aten_multiply(g, aten_slice(g, x, axis, b, 1, 1), aten_slice(g, y, axis, a, 1, 1)));
    }
    return !g->failed && aten_result(g, n, 0, aten_join(g, parts, 3, axis));
}

/* renorm(self, p, dim, maxnorm): slices along dim whose norm exceeds maxnorm are scaled to it. */
bool aten_build_renorm(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_value *x = aten_in_as(g, n, 0, aten_wide(n->outputs[0].type));
    uint32_t axis;
    if (!x || !aten_axis(g, aten_int(g, n, 2, 0), x->rank, &axis))
        return false;
    if (!aten_elements(x))
        return aten_result(g, n, 0, x);
    const double most = aten_real(g, n, 3, 1);
    struct aten_value *size =
        norm(g, x, aten_real(g, n, 1, 2), ((UINT32_C(1) << x->rank) - 1) & ~(UINT32_C(1) << axis));
    struct aten_value *factor = aten_divide(g, like(g, x, most), aten_scaled(g, size, 1, 1e-7));
    struct aten_value *over = aten_apply2(g, EW(LOGICAL_GREATER_THAN), size, like(g, x, most));
    return aten_result(g, n, 0, aten_multiply(g, x, aten_select(g, over, factor, like(g, x, 1))));
}
