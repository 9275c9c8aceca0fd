/* SPDX-License-Identifier: Apache-2.0 */
/* Running functions without a DirectML operator: log2(n) steps, each of which combines elements with earlier ones. */
#include "axis.h"
#include "index.h"

#include <math.h>

#define EW(name) DML_OPERATOR_ELEMENT_WISE_##name

/* Values and associated data (NULL: none). */
struct run {
    struct aten_value *value, *at;
};

typedef struct run combiner(struct aten_graph *g, struct run before, struct run here);

static struct run part(struct aten_graph *g, struct run x, uint32_t axis, int64_t start, int64_t count)
{
    return (struct run){ aten_slice(g, x.value, axis, start, count, 1),
                         x.at ? aten_slice(g, x.at, axis, start, count, 1) : NULL };
}

static struct run scanned(struct aten_graph *g, struct run x, uint32_t axis, combiner *combine)
{
    const int64_t size = x.value ? x.value->sizes[axis] : 0;
    for (int64_t step = 1; step < size && x.value; step *= 2) {
        struct run first = part(g, x, axis, 0, step);
        struct run rest = combine(g, part(g, x, axis, 0, size - step), part(g, x, axis, step, size - step));
        struct aten_value *values[2] = { first.value, rest.value }, *at[2] = { first.at, rest.at };
        x.value = aten_join(g, values, 2, axis);
        x.at = x.at ? aten_join(g, at, 2, axis) : NULL;
    }
    return x;
}

/* The later one of equal elements; NaN wins in both directions. */
static struct run extreme(struct aten_graph *g, struct run before, struct run here, DML_OPERATOR_TYPE at_least)
{
    struct aten_value *later = aten_apply2(g, at_least, here.value, before.value);
    if (here.value && aten_is_float(here.value->type)) {
        struct aten_value *number = aten_not(g, aten_test(g, EW(IS_NAN), before.value, 0));
        later = aten_apply2(g, EW(LOGICAL_AND), later, number);
        later = aten_apply2(g, EW(LOGICAL_OR), later, aten_test(g, EW(IS_NAN), here.value, 0));
    }
    return (struct run){ aten_select(g, later, here.value, before.value), aten_select(g, later, here.at, before.at) };
}

static struct run greatest(struct aten_graph *g, struct run before, struct run here)
{
    return extreme(g, before, here, EW(LOGICAL_GREATER_THAN_OR_EQUAL));
}

static struct run least(struct aten_graph *g, struct run before, struct run here)
{
    return extreme(g, before, here, EW(LOGICAL_LESS_THAN_OR_EQUAL));
}

/* _cummax_helper, _cummin_helper(self, values, indices, dim), which write values and indices; parameter 1: cummin. */
bool aten_build_cummax(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_value *x = aten_lined(g, aten_in(g, n, 0));
    uint32_t axis;
    if (!x || !aten_axis(g, aten_int(g, n, 3, 0), x->rank, &axis))
        return false;
    double *places = aten_alloc(g, (size_t)x->sizes[axis] * sizeof(*places));
    for (int64_t i = 0; places && i < x->sizes[axis]; i++)
        places[i] = (double)i;
    const bool truth = x->type == ATEN_BOOLEAN;
    struct run run = { truth ? aten_convert(g, x, ATEN_UINT8) : x, NULL };
    if (aten_elements(x))
        run.at = aten_expand(g, aten_vector(g, ATEN_INT64, x->rank, axis, places, x->sizes[axis]), x->rank, x->sizes);
    else
        run.at = aten_zeros(g, ATEN_INT64, x->rank, x->sizes);
    run = scanned(g, run, axis, n->parameter ? least : greatest);
    return aten_result(g, n, 0, aten_reshape(g, run.value, n->outputs[0].rank, n->outputs[0].sizes)) &&
           aten_result(g, n, 1, aten_reshape(g, run.at, n->outputs[1].rank, n->outputs[1].sizes));
}

/* log(e^x + e^y) */
static struct run log_sum(struct aten_graph *g, struct run before, struct run here)
{
    struct aten_value *x = before.value, *y = here.value;
    struct aten_value *most = aten_apply2(g, EW(MAX), x, y);
    struct aten_value *far = aten_test(g, EW(IS_INFINITY), most, DML_IS_INFINITY_MODE_EITHER);
    struct aten_value *base = aten_select(g, far, aten_scalar(g, x ? x->type : ATEN_FLOAT32, 0), most);
    struct aten_value *sum = aten_add(g, aten_apply(g, EW(EXP), aten_subtract(g, x, base)),
                                      aten_apply(g, EW(EXP), aten_subtract(g, y, base)));
    return (struct run){ aten_add(g, aten_apply(g, EW(LOG), sum), base), NULL };
}

/* _logcumsumexp(self, dim) */
bool aten_build_logcumsumexp(struct aten_graph *g, const struct aten_node *n)
{
    struct run run = { aten_lined(g, aten_in_as(g, n, 0, aten_wide(n->outputs[0].type))), NULL };
    uint32_t axis;
    if (!run.value || !aten_axis(g, aten_int(g, n, 1, 0), run.value->rank, &axis))
        return false;
    run = scanned(g, run, axis, log_sum);
    return aten_result(g, n, 0, aten_reshape(g, run.value, n->outputs[0].rank, n->outputs[0].sizes));
}
