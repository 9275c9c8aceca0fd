/* SPDX-License-Identifier: Apache-2.0 */
/* Complex numbers: their parts, arithmetic and sums. */
#include "complex.h"

#include <math.h>

#define EW(name) DML_OPERATOR_ELEMENT_WISE_##name

/* ---- pairs ---- */

static struct aten_value *interleaved(struct aten_graph *g, const struct aten_value *x)
{
    struct aten_value *y = aten_alloc(g, sizeof(*y));
    if (!y || x->rank == ATEN_RANK_MAX) {
        aten_fail(g, "complex tensors of more than %u dimensions are not supported", ATEN_RANK_MAX - 1);
        return NULL;
    }
    *y = *x;
    y->type = aten_part(x->type);
    for (uint32_t i = 0; i < x->rank; i++)
        y->strides[i] *= 2;
    y->sizes[y->rank] = 2;
    y->strides[y->rank++] = 1;
    return y;
}

struct aten_pair aten_pair_of(struct aten_graph *g, struct aten_value *x, int32_t part)
{
    struct aten_pair pair = { NULL, NULL };
    struct aten_value *both = x ? interleaved(g, x) : NULL;
    if (both && !aten_elements(x)) {
        pair.re = pair.im = aten_new_packed(g, part, x->rank, x->sizes);
    } else if (both) {
        /* A view, since the real part is stored first. */
        pair.re = aten_convert(g, aten_view(g, both, x->rank, both->sizes, both->strides), part);
        pair.im = aten_convert(g, aten_squeeze(g, aten_slice(g, both, x->rank, 1, 1, 1), x->rank), part);
    }
    return pair;
}

struct aten_pair aten_pair_in(struct aten_graph *g, const struct aten_node *n, uint32_t i, int32_t part)
{
    if (aten_given(n, i) && n->args[i].kind == ATEN_REALS && n->args[i].count == 2) /* a complex number */
        return (struct aten_pair){ aten_scalar(g, part, n->args[i].reals[0]),
                                   aten_scalar(g, part, n->args[i].reals[1]) };
    if (aten_is_tensor(n, i) && aten_is_complex(n->args[i].values[0]->type))
        return aten_pair_of(g, n->args[i].values[0], part);
    return (struct aten_pair){ aten_in_as(g, n, i, part), NULL };
}

struct aten_value *aten_pair_im(struct aten_graph *g, struct aten_pair x)
{
    return x.im || !x.re ? x.im : aten_filled(g, x.re->type, x.re->rank, x.re->sizes, 0);
}

bool aten_pair_result(struct aten_graph *g, const struct aten_node *n, uint32_t i, struct aten_pair x)
{
    const struct aten_tensor *wanted = &n->outputs[i];
    if (!aten_wanted(n, i))
        return true;
    if (!x.re || !aten_is_complex(wanted->type))
        return aten_fail(g, "unsupported arguments");
    struct aten_value *whole = aten_new_strided(g, wanted->type, wanted->rank, wanted->sizes, wanted->strides);
    struct aten_value *both = whole ? interleaved(g, whole) : NULL, *in[2] = { x.re, aten_pair_im(g, x) };
    DML_TENSOR_DESC tensors[2];
    struct aten_desc d[3];
    for (int k = 0; k < 2 && both; k++) {
        in[k] = aten_expand(g, aten_convert(g, in[k], both->type), wanted->rank, wanted->sizes);
        in[k] = in[k] ? aten_unsqueeze(g, in[k], wanted->rank) : NULL;
        const DML_TENSOR_DESC *tensor = aten_describe(g, &d[k], in[k]);
        if (tensor)
            tensors[k] = *tensor;
    }
    if (!both || !in[0] || !in[1] || g->failed)
        return false;
    DML_JOIN_OPERATOR_DESC desc = { 2, tensors, aten_describe(g, &d[2], both), wanted->rank };
    if (!aten_emit(g, DML_OPERATOR_JOIN, &desc, in, 2, &both, 1))
        return false;
    whole->buffer->taken = true;
    n->results[i] = whole;
    return true;
}

/* ---- arithmetic ---- */

static struct aten_value *sum_of(struct aten_graph *g, struct aten_value *x, struct aten_value *y, double factor)
{
    if (!x || !y)
        return x ? x : aten_scaled(g, y, factor, 0);
    return factor == 1    ? aten_add(g, x, y)
           : factor == -1 ? aten_subtract(g, x, y)
                          : aten_add(g, x, aten_scaled(g, y, factor, 0));
}

struct aten_pair aten_pair_multiply(struct aten_graph *g, struct aten_pair x, struct aten_pair y)
{
    struct aten_pair z = { aten_multiply(g, x.re, y.re), NULL };
    if (x.im && y.im)
        z.re = sum_of(g, z.re, aten_multiply(g, x.im, y.im), -1);
    if (x.im)
        z.im = aten_multiply(g, x.im, y.re);
    if (y.im)
        z.im = sum_of(g, z.im, aten_multiply(g, x.re, y.im), 1);
    return z;
}

static struct aten_value *absolute(struct aten_graph *g, struct aten_value *x)
{
    return aten_apply(g, EW(ABS), x);
}

struct aten_value *aten_pair_size(struct aten_graph *g, struct aten_pair x)
{
    struct aten_value *a = absolute(g, x.re), *b = x.im ? absolute(g, x.im) : NULL;
    if (!b)
        return a;
    struct aten_value *most = aten_apply2(g, EW(MAX), a, b), *zero = aten_scalar(g, a ? a->type : ATEN_FLOAT32, 0);
    struct aten_value *ratio = aten_divide(g, aten_apply2(g, EW(MIN), a, b), most);
    struct aten_value *root = aten_apply(g, EW(SQRT), aten_scaled(g, aten_multiply(g, ratio, ratio), 1, 1));
    struct aten_value *plain = aten_apply2(g, EW(LOGICAL_OR), aten_apply2(g, EW(LOGICAL_EQUALS), most, zero),
                                           aten_test(g, EW(IS_INFINITY), most, DML_IS_INFINITY_MODE_EITHER));
    struct aten_value *y = aten_select(g, plain, most, aten_multiply(g, most, root));
    struct aten_value *nan =
        aten_apply2(g, EW(LOGICAL_OR), aten_test(g, EW(IS_NAN), a, 0), aten_test(g, EW(IS_NAN), b, 0));
    nan = aten_apply2(g, EW(LOGICAL_AND), nan,
                      aten_not(g, aten_test(g, EW(IS_INFINITY), most, DML_IS_INFINITY_MODE_EITHER)));
    return aten_select(g, nan, aten_add(g, a, b), y);
}

struct aten_pair aten_pair_divide(struct aten_graph *g, struct aten_pair x, struct aten_pair y)
{
    if (!y.im)
        return (struct aten_pair){ aten_divide(g, x.re, y.re), x.im ? aten_divide(g, x.im, y.re) : NULL };
    /* Divides both by the larger part of y, so that the squares do not overflow. */
    struct aten_value *most = aten_apply2(g, EW(MAX), absolute(g, y.re), absolute(g, y.im));
    struct aten_pair u = { aten_divide(g, y.re, most), aten_divide(g, y.im, most) };
    struct aten_value *square = aten_add(g, aten_multiply(g, u.re, u.re), aten_multiply(g, u.im, u.im));
    u.im = aten_apply(g, EW(NEGATE), u.im);
    struct aten_pair z = aten_pair_multiply(g, x, u);
    square = aten_multiply(g, square, most);
    return (struct aten_pair){ aten_divide(g, z.re, square), aten_divide(g, z.im, square) };
}

int32_t aten_pair_type(const struct aten_node *n)
{
    int32_t type = n->outputs[0].type;
    if (!aten_is_complex(type) && aten_is_tensor(n, 0) && aten_is_complex(n->args[0].values[0]->type))
        type = n->args[0].values[0]->type;
    return aten_wide(aten_is_complex(type) ? aten_part(type) : type);
}

bool aten_build_complex_abs(struct aten_graph *g, const struct aten_node *n)
{
    return aten_result(g, n, 0, aten_pair_size(g, aten_pair_in(g, n, 0, aten_pair_type(n))));
}

/* angle(self), also of real tensors: 0 or pi; NaN is propagated. */
bool aten_build_angle(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_value *x = aten_in_as(g, n, 0, aten_wide(n->outputs[0].type));
    if (!x)
        return false;
    struct aten_value *zero = aten_scalar(g, x->type, 0);
    struct aten_value *y =
        aten_select(g, aten_apply2(g, EW(LOGICAL_LESS_THAN), x, zero), aten_scalar(g, x->type, M_PI), zero);
    return aten_result(g, n, 0, aten_select(g, aten_test(g, EW(IS_NAN), x, 0), x, y));
}

bool aten_build_complex_angle(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_pair x = aten_pair_in(g, n, 0, aten_pair_type(n));
    return aten_result(g, n, 0, aten_apply2(g, EW(ATAN_YX), x.im, x.re));
}

/* x / |x|; 0 at 0 */
bool aten_build_complex_sgn(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_pair x = aten_pair_in(g, n, 0, aten_pair_type(n));
    struct aten_value *size = aten_pair_size(g, x);
    if (!size)
        return false;
    struct aten_value *one = aten_scalar(g, size->type, 1), *zero = aten_scalar(g, size->type, 0);
    size = aten_select(g, aten_apply2(g, EW(LOGICAL_EQUALS), size, zero), one, size);
    return aten_pair_result(g, n, 0, (struct aten_pair){ aten_divide(g, x.re, size), aten_divide(g, x.im, size) });
}

/* neg(self), conj_physical(self): parameter 1 */
bool aten_build_complex_sign(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_pair x = aten_pair_in(g, n, 0, aten_pair_type(n));
    return aten_pair_result(g, n, 0,
                            (struct aten_pair){ n->parameter ? x.re : aten_apply(g, EW(NEGATE), x.re),
                                                aten_apply(g, EW(NEGATE), aten_pair_im(g, x)) });
}

bool aten_build_complex_reciprocal(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_pair one = { aten_scalar(g, aten_pair_type(n), 1), NULL };
    return aten_pair_result(g, n, 0, aten_pair_divide(g, one, aten_pair_in(g, n, 0, aten_pair_type(n))));
}

struct aten_pair aten_pair_polar(struct aten_graph *g, struct aten_value *radius, struct aten_value *angle)
{
    return (struct aten_pair){ aten_multiply(g, radius, aten_apply(g, EW(COS), angle)),
                               aten_multiply(g, radius, aten_apply(g, EW(SIN), angle)) };
}

bool aten_build_complex_exp(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_pair x = aten_pair_in(g, n, 0, aten_pair_type(n));
    return aten_pair_result(g, n, 0, aten_pair_polar(g, aten_apply(g, EW(EXP), x.re), x.im));
}

/* complex(real, imag) */
bool aten_build_complex(struct aten_graph *g, const struct aten_node *n)
{
    const int32_t part = aten_pair_type(n);
    for (uint32_t i = 0; i < 2; i++)
        if (aten_is_tensor(n, i) && n->args[i].values[0]->type != aten_part(n->outputs[0].type))
            return aten_fail(g, "both parts must be of the result's type");
    return aten_pair_result(g, n, 0, (struct aten_pair){ aten_in_as(g, n, 0, part), aten_in_as(g, n, 1, part) });
}

/* polar(abs, angle) */
bool aten_build_polar(struct aten_graph *g, const struct aten_node *n)
{
    const int32_t part = aten_pair_type(n);
    return aten_pair_result(g, n, 0, aten_pair_polar(g, aten_in_as(g, n, 0, part), aten_in_as(g, n, 1, part)));
}

/* add, sub(self, other, alpha): parameter 1 subtracts */
bool aten_build_complex_add(struct aten_graph *g, const struct aten_node *n)
{
    const int32_t part = aten_pair_type(n);
    const double sign = n->parameter ? -1 : 1;
    const bool reverse = n->parameter == 2;
    struct aten_pair x = aten_pair_in(g, n, reverse, part), y = aten_pair_in(g, n, !reverse, part);
    if (aten_given(n, 2) && !aten_is_number(g, n, 2, 1))
        y = aten_pair_multiply(g, y, aten_pair_in(g, n, 2, part));
    struct aten_value *im = x.im || y.im ? sum_of(g, x.im, y.im, sign) : NULL;
    return aten_pair_result(g, n, 0, (struct aten_pair){ x.re && y.re ? sum_of(g, x.re, y.re, sign) : NULL, im });
}

bool aten_build_complex_mul(struct aten_graph *g, const struct aten_node *n)
{
    const int32_t part = aten_pair_type(n);
    return aten_pair_result(g, n, 0, aten_pair_multiply(g, aten_pair_in(g, n, 0, part), aten_pair_in(g, n, 1, part)));
}

bool aten_build_complex_div(struct aten_graph *g, const struct aten_node *n)
{
    const int32_t part = aten_pair_type(n);
    return aten_pair_result(g, n, 0, aten_pair_divide(g, aten_pair_in(g, n, 0, part), aten_pair_in(g, n, 1, part)));
}

/* eq, ne(self, other): parameter 1 */
bool aten_build_complex_equal(struct aten_graph *g, const struct aten_node *n)
{
    int32_t part = ATEN_FLOAT32;
    for (uint32_t i = 0; i < 2; i++)
        if (aten_is_tensor(n, i))
            part = aten_promote(
                part, aten_is_complex(n->args[i].values[0]->type) ? aten_part(n->args[i].values[0]->type) : part);
    struct aten_pair x = aten_pair_in(g, n, 0, part), y = aten_pair_in(g, n, 1, part);
    struct aten_value *same = aten_apply2(g, EW(LOGICAL_EQUALS), x.re, y.re);
    same = aten_apply2(g, EW(LOGICAL_AND), same,
                       aten_apply2(g, EW(LOGICAL_EQUALS), aten_pair_im(g, x), aten_pair_im(g, y)));
    return aten_result(g, n, 0, n->parameter ? aten_not(g, same) : same);
}

/* ---- sums, matrix multiplication, copies ---- */

bool aten_pair_axes(struct aten_graph *g, const struct aten_node *n, struct aten_pair x, uint32_t *out)
{
    /* Argument 1 is a type where there are no dimensions: sum(self, dtype). */
    uint32_t count = 0, axis;
    const int64_t *dims = aten_given(n, 1) && n->op->overload[0] ? aten_ints(g, n, 1, &count) : NULL;
    *out = 0;
    for (uint32_t i = 0; i < count && x.re; i++) {
        if (!aten_axis(g, dims[i], x.re->rank, &axis))
            return false;
        *out |= UINT32_C(1) << axis;
    }
    if (!count && x.re)
        *out = (UINT32_C(1) << x.re->rank) - 1;
    return x.re && !g->failed;
}

static struct aten_value *summed(struct aten_graph *g, struct aten_value *x, uint32_t axes,
                                 const struct aten_tensor *out)
{
    if (x && !aten_elements(x))
        return aten_filled(g, x->type, out->rank, out->sizes, 0);
    x = x && x->rank ? aten_reduced(g, DML_REDUCE_FUNCTION_SUM, x, axes, x->type) : x;
    return aten_reshape(g, x, out->rank, out->sizes);
}

struct aten_pair aten_pair_sum(struct aten_graph *g, struct aten_pair x, uint32_t axes, const struct aten_tensor *out)
{
    return (struct aten_pair){ summed(g, x.re, axes, out), x.im ? summed(g, x.im, axes, out) : NULL };
}

/* sum(self), sum(self, dim, keepdim), mean likewise: parameter 0 or 1 */
bool aten_build_complex_sum(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_pair x = aten_pair_in(g, n, 0, aten_pair_type(n));
    uint32_t axes;
    if (!aten_pair_axes(g, n, x, &axes))
        return false;
    int64_t count = 1;
    for (uint32_t i = 0; i < x.re->rank; i++)
        count *= axes >> i & 1 ? x.re->sizes[i] : 1;
    x = aten_pair_sum(g, x, axes, &n->outputs[0]);
    if (n->parameter) {
        x.re = aten_divide(g, x.re, x.re ? aten_scalar(g, x.re->type, (double)count) : NULL);
        x.im = x.im ? aten_divide(g, x.im, aten_scalar(g, x.im->type, (double)count)) : NULL;
    }
    return aten_pair_result(g, n, 0, x);
}

/* copy(self, src), fill(self, value), full(size, value), _to_copy(self): parameter: index of the value */
bool aten_build_complex_copy(struct aten_graph *g, const struct aten_node *n)
{
    const uint32_t from = (uint32_t)n->parameter;
    if (!aten_is_complex(n->outputs[0].type))
        return aten_fail(g, "complex numbers cannot be converted to %s", aten_type_name(n->outputs[0].type));
    return aten_pair_result(g, n, 0, aten_pair_in(g, n, from, aten_part(n->outputs[0].type)));
}

/* where(condition, self, other); masked_fill(self, mask, value): parameter 1 */
bool aten_build_complex_where(struct aten_graph *g, const struct aten_node *n)
{
    const int32_t part = aten_pair_type(n);
    const bool fill = n->parameter;
    struct aten_value *condition = aten_convert(g, aten_in(g, n, fill ? 1 : 0), ATEN_BOOLEAN);
    struct aten_pair x = aten_pair_in(g, n, fill ? 2 : 1, part), y = aten_pair_in(g, n, fill ? 0 : 2, part);
    return aten_pair_result(g, n, 0,
                            (struct aten_pair){ aten_select(g, condition, x.re, y.re),
                                                aten_select(g, condition, aten_pair_im(g, x), aten_pair_im(g, y)) });
}

/* ---- moving elements ---- */

static int32_t bits_type(int32_t type)
{
    return !aten_is_complex(type)       ? type
           : aten_type_bytes(type) == 8 ? ATEN_INT64
           : aten_type_bytes(type) == 4 ? ATEN_INT32
                                        : ATEN_ABSENT;
}

bool aten_build_bits(struct aten_graph *g, const struct aten_node *n)
{
    if (n->output_count == 1 && n->outputs[0].type == ATEN_COMPLEX128)
        return aten_build_each_part(g, n);
    struct aten_operand *args = aten_alloc(g, n->arg_count * sizeof(*args));
    struct aten_tensor *outputs = aten_alloc(g, n->output_count * sizeof(*outputs));
    struct aten_node plain = *n;
    for (uint32_t i = 0; args && outputs && i < n->arg_count; i++) {
        const struct aten_operand *from = &n->args[i];
        const uint32_t count = from->kind == ATEN_TENSORS ? from->count : from->kind == ATEN_TENSOR ? 1 : 0;
        args[i] = *from;
        args[i].values = aten_alloc(g, (count + 1u) * sizeof(*args[i].values));
        for (uint32_t k = 0; args[i].values && k < count; k++) {
            struct aten_value *v = args[i].values[k] = from->values[k];
            if (!v || !aten_is_complex(v->type))
                continue;
            v = args[i].values[k] = aten_view(g, v, v->rank, v->sizes, v->strides);
            if (v)
                v->type = bits_type(v->type);
            if (!v || v->type == ATEN_ABSENT)
                return aten_fail(g, "complex numbers of 16 bytes are not supported");
        }
    }
    if (!args || !outputs || g->failed)
        return false;
    for (uint32_t i = 0; i < n->output_count; i++) {
        outputs[i] = n->outputs[i];
        outputs[i].type = outputs[i].type == ATEN_ABSENT ? ATEN_ABSENT : bits_type(outputs[i].type);
        if (outputs[i].type != n->outputs[i].type && outputs[i].type == ATEN_ABSENT)
            return aten_fail(g, "complex numbers of 16 bytes are not supported");
    }
    plain.args = args;
    plain.outputs = outputs;
    plain.parameter = aten_row_of(n->op)->parameter;
    g->node = &plain;
    bool ok = aten_row_of(n->op)->build(g, &plain);
    g->node = n;
    return ok;
}
