/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise functions of two and three tensors. */
#include "graph.h"

#include <math.h>

#define EW(name) DML_OPERATOR_ELEMENT_WISE_##name

static const uint32_t first_two[] = { 0, 1 };

static struct aten_value *like(struct aten_graph *g, const struct aten_value *x, double value)
{
    return x ? aten_scalar(g, x->type, value) : NULL;
}

static struct aten_value *is_nan(struct aten_graph *g, struct aten_value *x)
{
    return aten_test(g, EW(IS_NAN), x, 0);
}

/* ---- arithmetic ---- */

static bool holds(int32_t type, double value)
{
    int exponent;
    const double digits = ldexp(frexp(value, &exponent), type == ATEN_FLOAT16 ? 11 : 8);
    return digits == floor(digits) && exponent > -14 && exponent <= 15;
}

/* The common type. As on the CPU, a number that a 16-bit type cannot represent keeps its precision. */
static int32_t arithmetic_type(struct aten_graph *g, const struct aten_node *n)
{
    const int32_t type = aten_result_type(n, first_two, 2);
    const uint32_t number = aten_is_tensor(n, 0) ? 1 : 0;
    double value;
    if (!aten_is_float(type) || aten_wide(type) == type || aten_is_tensor(n, number))
        return type;
    return aten_known_number(g, n, number, &value) && holds(type, value) ? type : aten_wide(type);
}

/* add, sub and rsub(self, other, alpha): alpha scales `other`, for rsub `self`. The sum of booleans is their or.
 * parameter: the operator; NONE for rsub. */
bool aten_build_add(struct aten_graph *g, const struct aten_node *n)
{
    const int32_t to = n->outputs[0].type;
    const bool reverse = !n->parameter, scaled = aten_given(n, 2) && !aten_is_number(g, n, 2, 1);
    const int32_t result = arithmetic_type(g, n), type = scaled ? aten_wide(result) : result;
    struct aten_value *x = aten_in_as(g, n, 0, type), *y = aten_in_as(g, n, 1, type);
    struct aten_value **factor = reverse ? &x : &y;
    if (scaled)
        *factor = type == ATEN_BOOLEAN ? aten_apply2(g, EW(LOGICAL_AND), *factor, aten_in_as(g, n, 2, type))
                                       : aten_multiply(g, *factor, aten_in_as(g, n, 2, type));
    if (type == ATEN_BOOLEAN && n->parameter != EW(ADD))
        return aten_fail(g, "bool tensors cannot be subtracted, use logical_xor (result %s)", aten_type_name(to));
    if (type == ATEN_BOOLEAN)
        return aten_result(g, n, 0, aten_apply2(g, EW(LOGICAL_OR), x, y));
    return aten_result(g, n, 0,
                       reverse ? aten_subtract(g, y, x) : aten_apply2(g, (DML_OPERATOR_TYPE)n->parameter, x, y));
}

bool aten_build_mul(struct aten_graph *g, const struct aten_node *n)
{
    const int32_t type = arithmetic_type(g, n);
    struct aten_value *x = aten_in_as(g, n, 0, type), *y = aten_in_as(g, n, 1, type);
    return aten_result(g, n, 0, aten_apply2(g, type == ATEN_BOOLEAN ? EW(LOGICAL_AND) : EW(MULTIPLY), x, y));
}

/* Whether x / y has a remainder (`rest`) and is negative; the floor is then one less than the truncated quotient. */
static struct aten_value *below(struct aten_graph *g, struct aten_value *rest, struct aten_value *y)
{
    struct aten_value *zero = like(g, y, 0);
    struct aten_value *other = aten_apply2(g, EW(LOGICAL_XOR), aten_apply2(g, EW(LOGICAL_LESS_THAN), y, zero),
                                           aten_apply2(g, EW(LOGICAL_LESS_THAN), rest, zero));
    return aten_apply2(g, EW(LOGICAL_AND), aten_not(g, aten_apply2(g, EW(LOGICAL_EQUALS), rest, zero)), other);
}

/* Computed from the remainder, so that it is exact where x / y rounds up to an integer. Integers cannot overflow. */
struct aten_value *aten_floor_divided(struct aten_graph *g, struct aten_value *x, struct aten_value *y)
{
    if (!x || !y)
        return NULL;
    if (!aten_is_signed(x->type))
        return aten_divide(g, x, y);
    struct aten_value *rest = aten_apply2(g, EW(MODULUS_TRUNCATE), x, y), *less = below(g, rest, y);
    if (!aten_is_float(x->type))
        return aten_subtract(g, aten_divide(g, x, y), aten_convert(g, less, x->type));
    struct aten_value *quotient = aten_divide(g, aten_subtract(g, x, rest), y);
    quotient = aten_select(g, less, aten_scaled(g, quotient, 1, -1), quotient);
    quotient = aten_round(g, quotient, DML_ROUNDING_MODE_HALVES_TO_NEAREST_EVEN);
    struct aten_value *by_zero = aten_apply2(g, EW(LOGICAL_EQUALS), y, like(g, y, 0));
    return aten_select(g, by_zero, aten_divide(g, x, y), quotient);
}

static struct aten_value *truncated(struct aten_graph *g, struct aten_value *x)
{
    return x && aten_is_float(x->type) ? aten_round(g, x, DML_ROUNDING_MODE_TOWARD_ZERO) : x;
}

/* div(self, other, rounding_mode): without a mode, integers are converted to floats. */
bool aten_build_div(struct aten_graph *g, const struct aten_node *n)
{
    const char *mode = aten_given(n, 2) ? n->args[2].string : "";
    const int32_t result = arithmetic_type(g, n);
    const int32_t type = *mode ? aten_wide(result) : aten_is_float(result) ? result : aten_wide(n->outputs[0].type);
    struct aten_value *x = aten_in_as(g, n, 0, type), *y = aten_in_as(g, n, 1, type);
    if (*mode == 'f')
        return aten_result(g, n, 0, aten_floor_divided(g, x, y));
    return aten_result(g, n, 0, *mode ? truncated(g, aten_divide(g, x, y)) : aten_divide(g, x, y));
}

bool aten_build_floor_divide(struct aten_graph *g, const struct aten_node *n)
{
    const int32_t type = aten_wide(aten_result_type(n, first_two, 2));
    return aten_result(g, n, 0, aten_floor_divided(g, aten_in_as(g, n, 0, type), aten_in_as(g, n, 1, type)));
}

/* The remainder has the divisor's sign. */
bool aten_build_remainder(struct aten_graph *g, const struct aten_node *n)
{
    const int32_t type = aten_wide(aten_result_type(n, first_two, 2));
    struct aten_value *x = aten_in_as(g, n, 0, type), *y = aten_in_as(g, n, 1, type);
    if (!aten_is_float(type))
        return aten_result(g, n, 0, aten_apply2(g, EW(MODULUS_FLOOR), x, y));
    struct aten_value *rest = aten_apply2(g, EW(MODULUS_TRUNCATE), x, y);
    return aten_result(g, n, 0, aten_select(g, below(g, rest, y), aten_add(g, rest, y), rest));
}

/* One operator of two tensors in their common type; parameter: the operator. */
bool aten_build_binary(struct aten_graph *g, const struct aten_node *n)
{
    const int32_t type = aten_result_type(n, first_two, 2);
    return aten_result(
        g, n, 0, aten_apply2(g, (DML_OPERATOR_TYPE)n->parameter, aten_in_as(g, n, 0, type), aten_in_as(g, n, 1, type)));
}

/* The same in floating point: atan2. */
bool aten_build_binary_float(struct aten_graph *g, const struct aten_node *n)
{
    const int32_t result = aten_result_type(n, first_two, 2);
    const int32_t type = aten_wide(aten_is_float(result) ? result : ATEN_FLOAT32);
    return aten_result(
        g, n, 0, aten_apply2(g, (DML_OPERATOR_TYPE)n->parameter, aten_in_as(g, n, 0, type), aten_in_as(g, n, 1, type)));
}

bool aten_build_pow(struct aten_graph *g, const struct aten_node *n)
{
    const int32_t result = aten_result_type(n, first_two, 2), type = aten_wide(result);
    struct aten_value *x = aten_in_as(g, n, 0, type);
    if (aten_is_number(g, n, 1, 2))
        return aten_result(g, n, 0, aten_multiply(g, x, x));
    if (aten_is_number(g, n, 1, 1))
        return aten_result(g, n, 0, x);
    if (aten_is_number(g, n, 1, 0.5) && aten_is_float(type))
        return aten_result(g, n, 0, aten_apply(g, EW(SQRT), x));
    if (type == ATEN_BOOLEAN)
        return aten_fail(g, "bool has no powers");
    if (aten_is_float(type))
        return aten_result(g, n, 0, aten_apply2(g, EW(POW), x, aten_in_as(g, n, 1, type)));
    /* torch rejects negative exponents when it creates the plan; a plan therefore has a single exponent. */
    if (!aten_is_tensor(n, 1) && aten_int(g, n, 1, 0) < 0)
        return aten_fail(g, "exponent is %lld, must not be negative", (long long)aten_int(g, n, 1, 0));
    struct aten_value *y = aten_in_as(g, n, 1, type), *z = aten_apply2(g, EW(POW), x, y);
    if (!aten_is_signed(type))
        return aten_result(g, n, 0, z);
    struct aten_value *by_zero = aten_apply2(g, EW(LOGICAL_EQUALS), x, like(g, x, 0)); /* 0 to the power -1 is 0 */
    by_zero = aten_apply2(g, EW(LOGICAL_AND), by_zero, aten_apply2(g, EW(LOGICAL_LESS_THAN), y, like(g, y, 0)));
    return aten_result(g, n, 0, aten_select(g, by_zero, like(g, z, 0), z));
}

/* MIN or MAX (`type`) that propagates NaN from either operand. */
static struct aten_value *extreme(struct aten_graph *g, DML_OPERATOR_TYPE type, struct aten_value *x,
                                  struct aten_value *y)
{
    struct aten_value *z = aten_apply2(g, type, x, y);
    if (!z || !aten_is_float(z->type))
        return z;
    return aten_select(g, is_nan(g, x), x, aten_select(g, is_nan(g, y), y, z));
}

bool aten_build_hypot(struct aten_graph *g, const struct aten_node *n)
{
    const int32_t type = aten_wide(n->outputs[0].type);
    struct aten_value *x = aten_apply(g, EW(ABS), aten_in_as(g, n, 0, type));
    struct aten_value *y = aten_apply(g, EW(ABS), aten_in_as(g, n, 1, type));
    struct aten_value *most = extreme(g, EW(MAX), x, y), *least = aten_apply2(g, EW(MIN), x, y);
    struct aten_value *ratio = aten_divide(g, least, most);
    struct aten_value *root = aten_apply(g, EW(SQRT), aten_scaled(g, aten_multiply(g, ratio, ratio), 1, 1));
    struct aten_value *plain = aten_apply2(g, EW(LOGICAL_EQUALS), least, like(g, x, 0));
    struct aten_value *number = aten_apply2(g, EW(MAX), x, y); /* infinity wins over NaN */
    struct aten_value *far = aten_test(g, EW(IS_INFINITY), number, DML_IS_INFINITY_MODE_EITHER);
    struct aten_value *sum = aten_select(g, plain, most, aten_multiply(g, most, root));
    return aten_result(g, n, 0, aten_select(g, far, number, sum));
}

/* ---- minimum and maximum ---- */

bool aten_build_extreme(struct aten_graph *g, const struct aten_node *n)
{
    const int32_t type = aten_result_type(n, first_two, 2);
    struct aten_value *x = aten_in_as(g, n, 0, type), *y = aten_in_as(g, n, 1, type);
    return aten_result(g, n, 0, extreme(g, (DML_OPERATOR_TYPE)n->parameter, x, y));
}

/* The bound is either a number, which must not be NaN, or a tensor. */
static struct aten_value *bounded(struct aten_graph *g, const struct aten_node *n, DML_OPERATOR_TYPE type,
                                  struct aten_value *x, uint32_t bound)
{
    if (!x || !aten_given(n, bound))
        return x;
    struct aten_value *limit = aten_in_as(g, n, bound, x->type), *y = aten_apply2(g, type, x, limit);
    if (!y || !aten_is_float(x->type))
        return y;
    y = aten_select(g, is_nan(g, x), x, y);
    return aten_is_tensor(n, bound) || g->live || (n->args[bound].kind == ATEN_REAL && isnan(n->args[bound].real))
               ? aten_select(g, is_nan(g, limit), limit, y)
               : y;
}

/* clamp(self, min, max), clamp_min(self, min): parameter 1; clamp_max(self, max): parameter 2. */
bool aten_build_clamp(struct aten_graph *g, const struct aten_node *n)
{
    static const uint32_t all[] = { 0, 1, 2 };
    const int32_t type = aten_result_type(n, all, n->parameter ? 2 : 3);
    struct aten_value *x = aten_in_as(g, n, 0, type);
    if (n->parameter != 2)
        x = bounded(g, n, EW(MAX), x, 1);
    if (n->parameter != 1)
        x = bounded(g, n, EW(MIN), x, n->parameter ? 1 : 2);
    return aten_result(g, n, 0, x);
}

/* hardtanh(self, min_val, max_val) */
bool aten_build_hardtanh(struct aten_graph *g, const struct aten_node *n)
{
    const int32_t type = n->outputs[0].type;
    struct aten_value *x = aten_in_as(g, n, 0, type);
    return aten_result(g, n, 0, bounded(g, n, EW(MIN), bounded(g, n, EW(MAX), x, 1), 2));
}

/* ---- comparisons and logic ---- */

/* parameter: the operator; negative for its negation (ne). */
bool aten_build_compare(struct aten_graph *g, const struct aten_node *n)
{
    const int32_t type = aten_result_type(n, first_two, 2);
    const int64_t op = n->parameter < 0 ? -n->parameter : n->parameter;
    struct aten_value *z = aten_apply2(g, (DML_OPERATOR_TYPE)op, aten_in_as(g, n, 0, type), aten_in_as(g, n, 1, type));
    return aten_result(g, n, 0, n->parameter < 0 ? aten_not(g, z) : z);
}

bool aten_build_logical(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_value *x = aten_convert(g, aten_in(g, n, 0), ATEN_BOOLEAN);
    struct aten_value *y = aten_convert(g, aten_in(g, n, 1), ATEN_BOOLEAN);
    return aten_result(g, n, 0, aten_apply2(g, (DML_OPERATOR_TYPE)n->parameter, x, y));
}

/* parameter: BIT_AND, BIT_OR, BIT_XOR; booleans use the logical operators. */
bool aten_build_bitwise(struct aten_graph *g, const struct aten_node *n)
{
    const int32_t type = aten_result_type(n, first_two, 2);
    struct aten_value *x = aten_in_as(g, n, 0, type), *y = aten_in_as(g, n, 1, type);
    DML_OPERATOR_TYPE op = (DML_OPERATOR_TYPE)n->parameter;
    if (aten_is_float(type))
        return aten_fail(g, "arguments are %s, must be integers or bool", aten_type_name(type));
    if (type == ATEN_BOOLEAN)
        op = op == EW(BIT_AND) ? EW(LOGICAL_AND) : op == EW(BIT_OR) ? EW(LOGICAL_OR) : EW(LOGICAL_XOR);
    return aten_result(g, n, 0, aten_apply2(g, op, x, y));
}

/* ---- three tensors ---- */

/* where(condition, self, other) */
bool aten_build_where(struct aten_graph *g, const struct aten_node *n)
{
    const int32_t type = n->outputs[0].type;
    struct aten_value *condition = aten_convert(g, aten_in(g, n, 0), ATEN_BOOLEAN);
    return aten_result(g, n, 0, aten_select(g, condition, aten_in_as(g, n, 1, type), aten_in_as(g, n, 2, type)));
}

/* masked_fill(self, mask, value) */
bool aten_build_masked_fill(struct aten_graph *g, const struct aten_node *n)
{
    const int32_t type = n->outputs[0].type;
    struct aten_value *mask = aten_convert(g, aten_in(g, n, 1), ATEN_BOOLEAN);
    return aten_result(g, n, 0, aten_select(g, mask, aten_in_as(g, n, 2, type), aten_in_as(g, n, 0, type)));
}

/* lerp(self, end, weight): computed from the nearer end, so that weight 1 returns `end` exactly. */
bool aten_build_lerp(struct aten_graph *g, const struct aten_node *n)
{
    const int32_t type = aten_wide(n->outputs[0].type);
    struct aten_value *x = aten_in_as(g, n, 0, type), *y = aten_in_as(g, n, 1, type), *w = aten_in_as(g, n, 2, type);
    struct aten_value *way = aten_subtract(g, y, x);
    struct aten_value *forth = aten_add(g, x, aten_multiply(g, w, way));
    double weight;
    const bool known = aten_known_number(g, n, 2, &weight);
    if (known && fabs(type == ATEN_FLOAT64 ? weight : (double)(float)weight) < 0.5)
        return aten_result(g, n, 0, forth);
    struct aten_value *back = aten_subtract(g, y, aten_multiply(g, way, aten_scaled(g, w, -1, 1)));
    if (known)
        return aten_result(g, n, 0, back);
    struct aten_value *near = aten_apply2(g, EW(LOGICAL_LESS_THAN), aten_apply(g, EW(ABS), w), like(g, x, 0.5));
    return aten_result(g, n, 0, aten_select(g, near, forth, back));
}

/* addcmul, addcdiv(self, tensor1, tensor2, value); parameter: MULTIPLY or DIVIDE. */
bool aten_build_addc(struct aten_graph *g, const struct aten_node *n)
{
    const int32_t type = aten_wide(n->outputs[0].type);
    struct aten_value *x = aten_in_as(g, n, 0, type), *a = aten_in_as(g, n, 1, type), *b = aten_in_as(g, n, 2, type);
    if (aten_given(n, 3) && !aten_is_number(g, n, 3, 1))
        a = aten_multiply(g, a, aten_in_as(g, n, 3, type));
    return aten_result(g, n, 0, aten_add(g, x, aten_apply2(g, (DML_OPERATOR_TYPE)n->parameter, a, b)));
}

/* ---- logarithms of sums, signs, multiplication by logarithms ---- */

/* log(e^x + e^y); parameter 2: base 2. */
bool aten_build_logaddexp(struct aten_graph *g, const struct aten_node *n)
{
    const int32_t type = aten_wide(n->outputs[0].type);
    struct aten_value *x = aten_in_as(g, n, 0, type), *y = aten_in_as(g, n, 1, type);
    const double base = n->parameter == 2 ? log(2) : 1;
    struct aten_value *most = extreme(g, EW(MAX), x, y), *least = extreme(g, EW(MIN), x, y);
    struct aten_value *ratio = aten_apply(g, EW(EXP), aten_scaled(g, aten_subtract(g, least, most), base, 0));
    struct aten_value *sum =
        aten_add(g, most, aten_scaled(g, aten_apply(g, EW(LOG), aten_scaled(g, ratio, 1, 1)), 1 / base, 0));
    struct aten_value *far = aten_test(g, EW(IS_INFINITY), most, DML_IS_INFINITY_MODE_EITHER);
    return aten_result(g, n, 0, aten_select(g, far, most, sum));
}

/* xlogy(self, other): 0 where self is 0 and other is not NaN. */
bool aten_build_xlogy(struct aten_graph *g, const struct aten_node *n)
{
    const int32_t type = aten_wide(n->outputs[0].type);
    struct aten_value *x = aten_in_as(g, n, 0, type), *y = aten_in_as(g, n, 1, type);
    struct aten_value *zero = aten_apply2(g, EW(LOGICAL_EQUALS), x, like(g, x, 0));
    struct aten_value *z = aten_select(g, zero, like(g, x, 0), aten_multiply(g, x, aten_apply(g, EW(LOG), y)));
    return aten_result(g, n, 0, aten_select(g, is_nan(g, y), y, z));
}

bool aten_build_copysign(struct aten_graph *g, const struct aten_node *n)
{
    const int32_t type = n->outputs[0].type;
    struct aten_value *x = aten_apply(g, EW(ABS), aten_in_as(g, n, 0, type)), *y = aten_in_as(g, n, 1, type);
    struct aten_value *zero = aten_apply2(g, EW(LOGICAL_EQUALS), y, like(g, y, 0));
    y = aten_select(g, zero, aten_apply(g, EW(RECIP), y), y); /* 1 / -0 is negative, too */
    struct aten_value *negative = aten_apply2(g, EW(LOGICAL_LESS_THAN), y, like(g, y, 0));
    return aten_result(g, n, 0, aten_select(g, negative, aten_apply(g, EW(NEGATE), x), x));
}

/* heaviside(self, values) */
bool aten_build_heaviside(struct aten_graph *g, const struct aten_node *n)
{
    const int32_t type = n->outputs[0].type;
    struct aten_value *x = aten_in_as(g, n, 0, type), *zero = aten_apply2(g, EW(LOGICAL_EQUALS), x, like(g, x, 0));
    struct aten_value *above = aten_convert(g, aten_apply2(g, EW(LOGICAL_GREATER_THAN), x, like(g, x, 0)), type);
    return aten_result(g, n, 0, aten_select(g, zero, aten_in_as(g, n, 1, type), above));
}

/* ---- copies and fills ---- */

/* copy(self, src): src in self's type and layout. */
bool aten_build_copy(struct aten_graph *g, const struct aten_node *n)
{
    return aten_result(g, n, 0, aten_in_as(g, n, 1, n->outputs[0].type));
}

/* fill(self, value), full(size, fill_value): parameter: index of the value; 0 for zeros. */
bool aten_build_fill(struct aten_graph *g, const struct aten_node *n)
{
    const int32_t type = n->outputs[0].type;
    return aten_result(g, n, 0,
                       n->parameter ? aten_in_as(g, n, (uint32_t)n->parameter, type) : aten_scalar(g, type, 0));
}

bool aten_build_ones(struct aten_graph *g, const struct aten_node *n)
{
    return aten_result(g, n, 0, aten_scalar(g, n->outputs[0].type, 1));
}
