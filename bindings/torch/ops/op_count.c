/* SPDX-License-Identifier: Apache-2.0 */
/* Counting: histograms, modes, nonzero elements. */
#include "axis.h"
#include "index.h"

#include <math.h>

#define EW(name)     DML_OPERATOR_ELEMENT_WISE_##name
#define REDUCE(name) DML_REDUCE_FUNCTION_##name

#define PAIRS_MAX (INT64_C(1) << 26)

/* count_nonzero(self, dim) */
bool aten_build_count_nonzero(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_value *x = aten_convert(g, aten_convert(g, aten_in(g, n, 0), ATEN_BOOLEAN), ATEN_INT64);
    uint32_t count, axes = 0, axis;
    const int64_t *dims = aten_ints(g, n, 1, &count);
    for (uint32_t i = 0; i < count && x; i++) {
        if (!aten_axis(g, dims[i], x->rank, &axis))
            return false;
        axes |= UINT32_C(1) << axis;
    }
    if (x && !aten_elements(x))
        return aten_result(g, n, 0, aten_scalar_int(g, ATEN_INT64, 0));
    if (x && x->rank)
        x = aten_reduced(g, REDUCE(SUM), x, count ? axes : (UINT32_C(1) << x->rank) - 1, ATEN_INT64);
    return aten_result(g, n, 0, aten_reshape(g, x, n->outputs[0].rank, n->outputs[0].sizes));
}

/* The ends of histc's range. If both arguments are 0, these are the extremes of the elements; equal ends are moved
 * apart by one each. */
static void range_of(struct aten_graph *g, const struct aten_node *n, struct aten_value *x, struct aten_value **low,
                     struct aten_value **high)
{
    double least = aten_real(g, n, 2, 0), most = aten_real(g, n, 3, 0);
    if (!aten_is_float(x->type)) {
        least = trunc(least);
        most = trunc(most);
    }
    *low = aten_scalar(g, x->type, least);
    *high = aten_scalar(g, x->type, most);
    if (least != most)
        return;
    if (least == 0) {
        *low = aten_reduced(g, REDUCE(MIN), x, 1, x->type);
        *high = aten_reduced(g, REDUCE(MAX), x, 1, x->type);
    }
    struct aten_value *same = aten_apply2(g, EW(LOGICAL_EQUALS), *low, *high), *one = aten_scalar(g, x->type, 1);
    struct aten_value *below = aten_select(g, same, aten_subtract(g, *low, one), *low);
    *high = aten_select(g, same, aten_add(g, *high, one), *high);
    *low = below;
}

/* histc(self, bins, min, max): integers are counted in INT64, as on CUDA; the CPU supports floats only. */
bool aten_build_histc(struct aten_graph *g, const struct aten_node *n)
{
    const int32_t type = aten_is_float(n->outputs[0].type) ? aten_wide(n->outputs[0].type) : ATEN_INT64;
    const int64_t bins = aten_int(g, n, 1, 100), all[1] = { bins };
    struct aten_value *x = aten_flat(g, aten_in_as(g, n, 0, type)), *low, *high;
    if (!x || bins < 1 || n->outputs[0].type == ATEN_BOOLEAN)
        return aten_fail(g, "bins must be positive, and self must not be bool");
    if (!aten_elements(x))
        return aten_result(g, n, 0, aten_scalar(g, type, 0));
    range_of(g, n, x, &low, &high);
    struct aten_value *place = aten_multiply(g, aten_subtract(g, x, low), aten_scalar(g, type, (double)bins));
    place = aten_divide(g, place, aten_subtract(g, high, low));
    place = aten_is_float(type) ? aten_apply(g, EW(FLOOR), place) : place; /* not negative for elements in range */
    place = aten_apply2(g, EW(MIN), place, aten_scalar(g, type, (double)bins - 1));
    struct aten_value *inside = aten_not(g, aten_apply2(g, EW(LOGICAL_LESS_THAN), x, low));
    inside = aten_apply2(g, EW(LOGICAL_AND), inside, aten_apply2(g, EW(LOGICAL_LESS_THAN_OR_EQUAL), x, high));
    place = aten_select(g, inside, place, aten_scalar(g, type, (double)bins)); /* out of range: ignored */
    struct aten_value *at = aten_unsqueeze(g, aten_convert(g, place, ATEN_INT64), 1);
    return aten_result(
        g, n, 0,
        aten_scatter_tuples(g, aten_zeros(g, type, 1, all), at, aten_filled(g, type, 1, x->sizes, 1), REDUCE(SUM)));
}

/* mode(self, dim, keepdim): the smallest of the most frequent values, and the index of its last occurrence. */
bool aten_build_mode(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_value *x = aten_lined(g, aten_in(g, n, 0)), *indices;
    uint32_t axis;
    if (!x || !aten_axis(g, aten_int(g, n, 1, -1), x->rank, &axis))
        return false;
    if (!aten_elements(x) || aten_elements(x) * x->sizes[axis] > PAIRS_MAX || x->rank == ATEN_RANK_MAX)
        return aten_fail(g, "self must not be empty and must require at most %lld comparisons", (long long)PAIRS_MAX);
    const uint32_t last = x->rank - 1;
    const int64_t size = x->sizes[axis];
    double *places = aten_alloc(g, (size_t)size * sizeof(*places));
    for (int64_t i = 0; places && i < size; i++)
        places[i] = (double)i;
    x = aten_transpose(g, x, axis, last);
    x = aten_sorted(g, x, last, size, false, &indices);
    if (!x || !places)
        return false;
    struct aten_value *same =
        aten_apply2(g, EW(LOGICAL_EQUALS), aten_unsqueeze(g, x, last + 1), aten_unsqueeze(g, x, last));
    struct aten_value *count = aten_convert(g, same, ATEN_INT64);
    count = aten_squeeze(g, aten_reduced(g, REDUCE(SUM), count, UINT32_C(1) << (last + 1), ATEN_INT64), last + 1);
    struct aten_value *first = aten_reduced(g, REDUCE(ARGMAX), count, UINT32_C(1) << last, ATEN_INT64);
    struct aten_value *value = aten_pick(g, x, first, last);
    /* The last position in self among equal values. */
    struct aten_value *its = aten_apply2(g, EW(LOGICAL_EQUALS), x, value);
    struct aten_value *at = aten_select(g, its, indices, aten_scalar_int(g, ATEN_INT64, 0));
    at = aten_reduced(g, REDUCE(MAX), at, UINT32_C(1) << last, ATEN_INT64);
    for (uint32_t i = 0; i < 2; i++) {
        struct aten_value *y = aten_transpose(g, i ? at : value, axis, last);
        if (!aten_result(g, n, i, aten_reshape(g, y, n->outputs[i].rank, n->outputs[i].sizes)))
            return false;
    }
    return true;
}
