/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of order: sorting, the k-th element, medians, and search in sorted sequences. */
#include "index.h"

#define EW(name) DML_OPERATOR_ELEMENT_WISE_##name

static bool result(struct aten_graph *g, const struct aten_node *n, uint32_t i, struct aten_value *y)
{
    if (!aten_wanted(n, i))
        return true;
    return aten_result(g, n, i, aten_reshape(g, y, n->outputs[i].rank, n->outputs[i].sizes));
}

/* sort(self, stable, dim, descending), sort(self, dim, descending): parameter: index of dim */
bool aten_build_sort(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_value *x = aten_lined(g, aten_in(g, n, 0)), *indices;
    const uint32_t at = (uint32_t)n->parameter;
    uint32_t axis;
    if (!x || !aten_axis(g, aten_int(g, n, at, -1), x->rank, &axis))
        return false;
    if (!aten_elements(x))
        return result(g, n, 0, x) && result(g, n, 1, aten_convert(g, x, ATEN_INT64));
    struct aten_value *y = aten_sorted(g, x, axis, x->sizes[axis], aten_int(g, n, at + 1, 0), &indices);
    return result(g, n, 0, y) && result(g, n, 1, indices);
}

/* topk(self, k, dim, largest, sorted) */
bool aten_build_topk(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_value *x = aten_lined(g, aten_in(g, n, 0)), *indices;
    const int64_t k = aten_int(g, n, 1, 1);
    uint32_t axis;
    if (!x || !aten_axis(g, aten_int(g, n, 2, -1), x->rank, &axis))
        return false;
    if (k < 0 || k > x->sizes[axis])
        return aten_fail(g, "k is %lld, must be at most the size of dimension %u, %lld", (long long)k, axis,
                         (long long)x->sizes[axis]);
    struct aten_value *y = aten_sorted(g, x, axis, k, aten_int(g, n, 3, 1), &indices);
    return result(g, n, 0, y) && result(g, n, 1, indices);
}

/* kthvalue(self, k, dim, keepdim) */
bool aten_build_kthvalue(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_value *x = aten_lined(g, aten_in(g, n, 0)), *indices;
    const int64_t k = aten_int(g, n, 1, 1);
    uint32_t axis;
    if (!x || !aten_axis(g, aten_int(g, n, 2, -1), x->rank, &axis))
        return false;
    if (k < 1 || k > x->sizes[axis])
        return aten_fail(g, "k is %lld, must be from 1 to the size of dimension %u, %lld", (long long)k, axis,
                         (long long)x->sizes[axis]);
    struct aten_value *y = aten_sorted(g, x, axis, k, false, &indices);
    return result(g, n, 0, aten_slice(g, y, axis, k - 1, 1, 1)) &&
           result(g, n, 1, aten_slice(g, indices, axis, k - 1, 1, 1));
}

/* The position of the median among the sorted values: INT64, of size 1 along the axis. NaN is sorted last; it is the
 * median if there is one, or it is ignored. */
static struct aten_value *middle(struct aten_graph *g, struct aten_value *x, uint32_t axis, bool skip_nan)
{
    const int64_t size = x->sizes[axis];
    int64_t sizes[ATEN_RANK_MAX];
    memcpy(sizes, x->sizes, sizeof(sizes));
    sizes[axis] = 1;
    struct aten_value *half = aten_scalar_int(g, ATEN_INT64, (size - 1) / 2);
    if (!aten_is_float(x->type))
        return aten_expand(g, half, x->rank, sizes);
    struct aten_value *numbers = aten_convert(g, aten_not(g, aten_test(g, EW(IS_NAN), x, 0)), ATEN_INT64);
    struct aten_value *count = aten_reduced(g, DML_REDUCE_FUNCTION_SUM, numbers, 1u << axis, ATEN_INT64);
    if (!skip_nan)
        return aten_select(g, aten_apply2(g, EW(LOGICAL_EQUALS), count, aten_scalar_int(g, ATEN_INT64, size)), half,
                           count);
    count = aten_apply2(g, EW(MAX), aten_scaled(g, count, 1, -1), aten_scalar_int(g, ATEN_INT64, 0));
    return aten_divide(g, count, aten_scalar_int(g, ATEN_INT64, 2));
}

/* median, nanmedian(self, dim, keepdim), (self): parameter bit 0: nan; bit 1: without dim */
bool aten_build_median(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_value *x = aten_lined(g, aten_in(g, n, 0)), *indices;
    uint32_t axis = 0;
    if (n->parameter & 2)
        x = aten_flat(g, x);
    else if (x && !aten_axis(g, aten_int(g, n, 1, -1), x->rank, &axis))
        return false;
    if (!x || !aten_elements(x))
        return aten_fail(g, "self must not be empty");
    struct aten_value *y = aten_sorted(g, x, axis, x->sizes[axis], false, &indices);
    struct aten_value *at = middle(g, x, axis, n->parameter & 1);
    if (!result(g, n, 0, aten_pick(g, y, at, axis)))
        return false;
    return n->parameter & 2 || result(g, n, 1, aten_pick(g, indices, at, axis));
}

/* ---- comparisons of all pairs ---- */

#define PAIRS_MAX (INT64_C(1) << 24)

/* For each of `values`, the number of elements along the last dimension of `sorted` that precede it. The leading
 * dimensions are equal, or `sorted` has one dimension. */
static struct aten_value *places(struct aten_graph *g, struct aten_value *sorted, struct aten_value *values, bool right)
{
    if (!sorted || !values)
        return NULL;
    const uint32_t rank = values->rank;
    if (aten_elements(values) * sorted->sizes[sorted->rank - 1] > PAIRS_MAX) {
        aten_fail(g, "more than %lld comparisons", (long long)PAIRS_MAX);
        return NULL;
    }
    if (!sorted->sizes[sorted->rank - 1])
        return aten_zeros(g, ATEN_INT64, rank, values->sizes);
    if (sorted->rank > 1)
        sorted = aten_unsqueeze(g, sorted, sorted->rank - 1);
    values = aten_unsqueeze(g, values, rank);
    const DML_OPERATOR_TYPE op = right ? EW(LOGICAL_GREATER_THAN) : EW(LOGICAL_GREATER_THAN_OR_EQUAL);
    struct aten_value *before = aten_convert(g, aten_not(g, aten_apply2(g, op, sorted, values)), ATEN_INT64);
    return aten_squeeze(g, aten_reduced(g, DML_REDUCE_FUNCTION_SUM, before, 1u << rank, ATEN_INT64), rank);
}

static bool is_right(const struct aten_node *n, uint32_t i)
{
    return (aten_given(n, i) && n->args[i].integer) ||
           (aten_given(n, i + 1) && n->args[i + 1].kind == ATEN_STRING && !strcmp(n->args[i + 1].string, "right"));
}

/* searchsorted(sorted_sequence, self, out_int32, right, side, sorter) */
bool aten_build_searchsorted(struct aten_graph *g, const struct aten_node *n)
{
    static const uint32_t both[] = { 0, 1 };
    const int32_t type = aten_result_type(n, both, 2);
    struct aten_value *sorted = aten_in(g, n, 0), *values = aten_in(g, n, 1), *sorter = aten_in_optional(g, n, 5);
    if (sorter)
        sorted = aten_pick(g, sorted, sorter, sorter->rank - 1);
    sorted = aten_convert(g, sorted, type);
    return aten_result(g, n, 0, places(g, sorted, aten_convert(g, values, type), is_right(n, 3)));
}

/* bucketize(self, boundaries, out_int32, right) */
bool aten_build_bucketize(struct aten_graph *g, const struct aten_node *n)
{
    static const uint32_t both[] = { 0, 1 };
    const int32_t type = aten_result_type(n, both, 2);
    struct aten_value *values = aten_in_as(g, n, 0, type), *sorted = aten_in_as(g, n, 1, type);
    if (!sorted || sorted->rank != 1)
        return aten_fail(g, "boundaries must have 1 dimension");
    return aten_result(g, n, 0, places(g, sorted, values, aten_int(g, n, 3, 0)));
}

/* isin(elements, test_elements, assume_unique, invert) */
bool aten_build_isin(struct aten_graph *g, const struct aten_node *n)
{
    static const uint32_t both[] = { 0, 1 };
    const int32_t type = aten_result_type(n, both, 2);
    struct aten_value *x = aten_in_as(g, n, 0, type), *tests = aten_flat(g, aten_in_as(g, n, 1, type));
    if (!x || !tests)
        return false;
    if (aten_elements(x) * tests->sizes[0] > PAIRS_MAX)
        return aten_fail(g, "more than %lld comparisons", (long long)PAIRS_MAX);
    const uint32_t rank = x->rank;
    struct aten_value *found = aten_zeros(g, ATEN_BOOLEAN, rank, x->sizes);
    if (tests->sizes[0]) {
        found = aten_apply2(g, EW(LOGICAL_EQUALS), aten_unsqueeze(g, x, rank), tests);
        found = aten_squeeze(g, aten_any(g, found, 1u << rank), rank);
    }
    return aten_result(g, n, 0, aten_int(g, n, 3, 0) ? aten_not(g, found) : found);
}
