/* SPDX-License-Identifier: Apache-2.0 */
/* Operators on the bits of numbers. */
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

/* A copy of argument i, of which a view with another type can be made. */
static struct aten_value *float_in(struct aten_graph *g, const struct aten_node *n, uint32_t i, int32_t type)
{
    struct aten_value *x = aten_in_as(g, n, i, type);
    return x && x->buffer->source == ATEN_SOURCE_CONSTANT ? aten_copy_of(g, x) : x;
}

static struct aten_value *is(struct aten_graph *g, struct aten_value *x, double value)
{
    return x ? aten_apply2(g, EW(LOGICAL_EQUALS), x, aten_scalar(g, x->type, value)) : NULL;
}

/* nextafter(self, other): floats of one sign are ordered like their bits. */
bool aten_build_nextafter(struct aten_graph *g, const struct aten_node *n)
{
    const int32_t type = n->outputs[0].type, width = (int32_t)aten_type_bytes(type);
    const int32_t of = width == 2 ? ATEN_INT16 : width == 4 ? ATEN_INT32 : ATEN_INT64;
    const int64_t lowest = width == 2 ? INT16_MIN : width == 4 ? INT32_MIN : INT64_MIN;
    struct aten_value *x = float_in(g, n, 0, type), *y = float_in(g, n, 1, type);
    struct aten_value *bits = seen_as(g, x, of), *one = aten_scalar_int(g, of, 1);
    struct aten_value *up = aten_apply2(g, EW(LOGICAL_GREATER_THAN), y, x);
    struct aten_value *positive = aten_apply2(g, EW(LOGICAL_GREATER_THAN), x, aten_scalar(g, type, 0));
    struct aten_value *away = aten_not(g, aten_apply2(g, EW(LOGICAL_XOR), up, positive));
    struct aten_value *step = aten_select(g, away, one, aten_scalar_int(g, of, -1));
    struct aten_value *least = aten_select(g, up, one, aten_scalar_int(g, of, lowest + 1));
    struct aten_value *z = aten_select(g, is(g, x, 0), least, aten_add(g, bits, step));
    z = seen_as(g, z, type);
    z = aten_select(g, aten_apply2(g, EW(LOGICAL_EQUALS), x, y), y, z);
    z = aten_select(g, aten_test(g, EW(IS_NAN), x, 0), x, z);
    return aten_result(g, n, 0, aten_select(g, aten_test(g, EW(IS_NAN), y, 0), y, z));
}

/* frexp(self) -> (mantissa, exponent): subnormal numbers are scaled to normal ones first. */
bool aten_build_frexp(struct aten_graph *g, const struct aten_node *n)
{
    if (aten_wide(n->outputs[0].type) != ATEN_FLOAT32)
        return aten_fail(g, "%s is not supported, float32 is", aten_type_name(n->outputs[0].type));
    struct aten_value *x = float_in(g, n, 0, ATEN_FLOAT32), *size = aten_apply(g, EW(ABS), x);
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

static int32_t unsigned_of(int32_t type)
{
    return type == ATEN_INT8    ? ATEN_UINT8
           : type == ATEN_INT16 ? ATEN_UINT16
           : type == ATEN_INT32 ? ATEN_UINT32
           : type == ATEN_INT64 ? ATEN_UINT64
                                : type;
}

/* bitwise_left_shift(self, other), bitwise_right_shift: parameter 1. Shifts by a negative number or by at least the
 * number of bits leave copies of the sign, or zeros. */
bool aten_build_shift(struct aten_graph *g, const struct aten_node *n)
{
    const int32_t type = n->outputs[0].type, bits = unsigned_of(type);
    const bool right = n->parameter, is_signed = bits != type;
    const int64_t most = 8 * (int64_t)aten_type_bytes(type) - 1;
    if (aten_is_float(type) || type == ATEN_BOOLEAN)
        return aten_fail(g, "arguments are %s, must be integers", aten_type_name(type));
    struct aten_value *x = aten_in_as(g, n, 0, type), *by = aten_in_as(g, n, 1, type);
    struct aten_value *zero = aten_scalar_int(g, type, 0), *last = aten_scalar_int(g, type, most);
    struct aten_value *beyond = aten_apply2(g, EW(LOGICAL_GREATER_THAN), by, last);
    if (is_signed)
        beyond = aten_apply2(g, EW(LOGICAL_OR), beyond, aten_apply2(g, EW(LOGICAL_LESS_THAN), by, zero));
    by = aten_select(g, beyond, right && is_signed ? last : zero, by);
    struct aten_value *negative = right && is_signed ? aten_apply2(g, EW(LOGICAL_LESS_THAN), x, zero) : NULL;
    struct aten_value *y = negative ? aten_select(g, negative, aten_apply(g, EW(BIT_NOT), x), x) : x;
    y = aten_apply2(g, right ? EW(BIT_SHIFT_RIGHT) : EW(BIT_SHIFT_LEFT), aten_convert(g, y, bits),
                    aten_convert(g, by, bits));
    y = aten_convert(g, y, type);
    y = right && is_signed ? aten_select(g, negative, aten_apply(g, EW(BIT_NOT), y), y)
                           : aten_select(g, beyond, zero, y);
    return aten_result(g, n, 0, y);
}
