/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that look at the bits of FLOAT32. */
#include "graph.h"

#include <math.h>

#define EW(name) DML_OPERATOR_ELEMENT_WISE_##name

static struct aten_value *seen_as(struct aten_graph *g, struct aten_value *x, int32_t type)
{
    struct aten_value *y = x ? aten_view(g, x, x->rank, x->sizes, x->strides) : NULL;
    if (y)
        y->type = type;
    return y;
}

static struct aten_value *single(struct aten_graph *g, const struct aten_node *n, uint32_t i, int32_t type)
{
    if (type != ATEN_FLOAT32) {
        aten_fail(g, "%s has no operator, float32 has", aten_type_name(type));
        return NULL;
    }
    struct aten_value *x = aten_in_as(g, n, i, type);
    /* A copy, of which another view may be made. */
    return x && x->buffer->source == ATEN_SOURCE_CONSTANT ? aten_copy_of(g, x) : x;
}

static struct aten_value *is(struct aten_graph *g, struct aten_value *x, double value)
{
    return x ? aten_apply2(g, EW(LOGICAL_EQUALS), x, aten_scalar(g, x->type, value)) : NULL;
}

/* nextafter(self, other): sizes are in the order of their bits. */
bool aten_build_nextafter(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_value *x = single(g, n, 0, n->outputs[0].type), *y = single(g, n, 1, n->outputs[0].type);
    struct aten_value *bits = seen_as(g, x, ATEN_INT32);
    struct aten_value *up = aten_apply2(g, EW(LOGICAL_GREATER_THAN), y, x);
    struct aten_value *positive = aten_apply2(g, EW(LOGICAL_GREATER_THAN), x, aten_scalar(g, ATEN_FLOAT32, 0));
    struct aten_value *away = aten_not(g, aten_apply2(g, EW(LOGICAL_XOR), up, positive));
    struct aten_value *step =
        aten_select(g, away, aten_scalar_int(g, ATEN_INT32, 1), aten_scalar_int(g, ATEN_INT32, -1));
    struct aten_value *least =
        aten_select(g, up, aten_scalar_int(g, ATEN_INT32, 1), aten_scalar_int(g, ATEN_INT32, INT32_MIN + 1));
    struct aten_value *z = aten_select(g, is(g, x, 0), least, aten_add(g, bits, step));
    z = seen_as(g, z, ATEN_FLOAT32);
    z = aten_select(g, aten_apply2(g, EW(LOGICAL_EQUALS), x, y), y, z);
    z = aten_select(g, aten_test(g, EW(IS_NAN), x, 0), x, z);
    return aten_result(g, n, 0, aten_select(g, aten_test(g, EW(IS_NAN), y, 0), y, z));
}

/* frexp(self) -> (mantissa, exponent): subnormal numbers are made normal first. */
bool aten_build_frexp(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_value *x = single(g, n, 0, n->outputs[0].type), *size = aten_apply(g, EW(ABS), x);
    if (!x)
        return false;
    struct aten_value *small = aten_apply2(g, EW(LOGICAL_LESS_THAN), size, aten_scalar(g, ATEN_FLOAT32, 0x1p-126));
    struct aten_value *bits = seen_as(g, aten_select(g, small, aten_scaled(g, size, 0x1p30, 0), size), ATEN_INT32);
    const int64_t unit = INT64_C(1) << 23;
    struct aten_value *exponent = aten_divide(g, bits, aten_scalar_int(g, ATEN_INT32, unit)); /* not negative */
    struct aten_value *rest = aten_subtract(g, bits, aten_multiply(g, exponent, aten_scalar_int(g, ATEN_INT32, unit)));
    struct aten_value *mantissa =
        seen_as(g, aten_add(g, rest, aten_scalar_int(g, ATEN_INT32, 126 * unit)), ATEN_FLOAT32);
    struct aten_value *bias =
        aten_select(g, small, aten_scalar_int(g, ATEN_INT32, 156), aten_scalar_int(g, ATEN_INT32, 126));
    exponent = aten_subtract(g, exponent, bias);
    struct aten_value *negative = aten_apply2(g, EW(LOGICAL_LESS_THAN), x, aten_scalar(g, ATEN_FLOAT32, 0));
    mantissa = aten_select(g, negative, aten_scaled(g, mantissa, -1, 0), mantissa);
    struct aten_value *plain = aten_apply2(g, EW(LOGICAL_OR), is(g, x, 0), aten_test(g, EW(IS_NAN), x, 0));
    plain = aten_apply2(g, EW(LOGICAL_OR), plain, aten_test(g, EW(IS_INFINITY), x, DML_IS_INFINITY_MODE_EITHER));
    return aten_result(g, n, 0, aten_select(g, plain, x, mantissa)) &&
           aten_result(g, n, 1, aten_select(g, plain, aten_scalar_int(g, ATEN_INT32, 0), exponent));
}
