/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products of quantised numbers. */
#include "onnx/convert/converters.h"
#include "onnx/convert/geometry.h"
#include "onnx/convert/quant.h"

/* ---- one scale or zero point for each row or column ---- */

/* Whether v is one value, or one for each of `count` rows or columns, the same in every batch, as DirectML requires. */
static bool is_line(const struct onnx_value *v, int64_t count, bool rows)
{
    if (!v || onnx_elements(v) == 1)
        return true;
    uint32_t back = rows && v->rank > 1 ? 2 : 1;
    return onnx_elements(v) == count && v->dims[v->rank - back] == count;
}

static bool is_one(const struct onnx_value *v)
{
    return !v || onnx_elements(v) == 1;
}

static const DML_TENSOR_DESC *line_desc(struct onnx_builder *b, struct onnx_desc *d, struct onnx_value *v, bool rows)
{
    int64_t count = v ? onnx_elements(v) : 1, dims[4] = { 1, 1, rows ? count : 1, rows ? 1 : count };
    return onnx_desc_as(b, d, v, 4, dims);
}

/* A vector with one value for each row becomes a column for broadcasting. */
static struct onnx_value *as_column(struct onnx_builder *b, struct onnx_value *v)
{
    return v && v->rank == 1 ? onnx_as(b, v, 2, (const int64_t[]){ v->dims[0], 1 }) : v;
}

/* ---- sums ---- */

static bool factors_fit(struct onnx_builder *b, const struct onnx_factors *f, struct onnx_product *p, bool *lines)
{
    bool keep = !is_one(f->a.zero_point) || !is_one(f->a.scale);
    if (!f->a.x || !f->b.x || b->failed || !onnx_product_plan(b, f->a.x, f->b.x, keep, p))
        return false;
    *lines = is_line(f->a.zero_point, p->m, true) && is_line(f->a.scale, p->m, true) &&
             is_line(f->b.zero_point, p->n, false) && is_line(f->b.scale, p->n, false);
    return true;
}

/* In FLOAT64, which holds all sums exactly: for zero points that differ between batches. */
static struct onnx_value *sums_wide(struct onnx_builder *b, const struct onnx_factors *f)
{
    struct onnx_value *in[3] = { onnx_less_zero_point(b, f->a.x, as_column(b, f->a.zero_point), ONNX_DOUBLE),
                                 onnx_less_zero_point(b, f->b.x, f->b.zero_point, ONNX_DOUBLE), NULL };
    struct onnx_product p;
    struct onnx_desc d[3];
    if (!in[0] || !in[1] || !onnx_product_plan(b, in[0], in[1], false, &p))
        return NULL;
    struct onnx_value *y = onnx_temp(b, ONNX_DOUBLE, p.rank, p.dims);
    DML_GEMM_OPERATOR_DESC desc = {
        .ATensor = onnx_product_desc(b, &d[0], in[0], &p, 0),
        .BTensor = onnx_product_desc(b, &d[1], in[1], &p, 1),
        .OutputTensor = onnx_product_desc(b, &d[2], y, &p, 2),
        .Alpha = 1.0f,
    };
    return onnx_convert(b, y && onnx_emit(b, DML_OPERATOR_GEMM, &desc, in, 3, &y, 1) ? y : NULL, ONNX_INT32);
}

/* INT32 sums of (a - zero point) * (b - zero point). */
static struct onnx_value *onnx_product_sums(struct onnx_builder *b, const struct onnx_factors *f)
{
    struct onnx_factors own = *f;
    struct onnx_product p;
    struct onnx_desc d[5];
    bool lines;
    own.a.scale = own.b.scale = NULL;
    if (!factors_fit(b, &own, &p, &lines))
        return NULL;
    if (!p.k) /* an empty sum */
        return onnx_broadcast_copy(b, onnx_scalar(b, ONNX_INT32, 0), p.rank, p.dims);
    if (!lines)
        return sums_wide(b, f);
    struct onnx_value *in[4] = { f->a.x, f->a.zero_point, f->b.x, f->b.zero_point };
    struct onnx_value *y = onnx_temp(b, ONNX_INT32, p.rank, p.dims);
    DML_MATRIX_MULTIPLY_INTEGER_OPERATOR_DESC desc = {
        onnx_product_desc(b, &d[0], in[0], &p, 0), line_desc(b, &d[1], in[1], true),
        onnx_product_desc(b, &d[2], in[2], &p, 1), line_desc(b, &d[3], in[3], false),
        onnx_product_desc(b, &d[4], y, &p, 2),
    };
    return y && onnx_emit(b, DML_OPERATOR_MATRIX_MULTIPLY_INTEGER, &desc, in, 4, &y, 1) ? y : NULL;
}

/* Sums times both scales, each broadcast. */
static struct onnx_value *scaled_sums(struct onnx_builder *b, const struct onnx_factors *f)
{
    struct onnx_value *y = onnx_convert(b, onnx_product_sums(b, f), ONNX_FLOAT);
    y = onnx_apply2(b, DML_OPERATOR_ELEMENT_WISE_MULTIPLY, y, onnx_convert(b, as_column(b, f->a.scale), ONNX_FLOAT));
    return onnx_apply2(b, DML_OPERATOR_ELEMENT_WISE_MULTIPLY, y, onnx_convert(b, f->b.scale, ONNX_FLOAT));
}

bool onnx_matmul_integer(struct onnx_builder *b, const struct onnx_node *n)
{
    const struct onnx_factors f = { { onnx_in(b, n, 0), NULL, onnx_in_optional(b, n, 2) },
                                    { onnx_in(b, n, 1), NULL, onnx_in_optional(b, n, 3) } };
    return onnx_result(b, n, 0, onnx_product_sums(b, &f));
}

/* ---- to floats ---- */

struct onnx_value *onnx_product_floats(struct onnx_builder *b, const struct onnx_factors *f, struct onnx_value *bias)
{
    struct onnx_product p;
    struct onnx_desc d[8];
    bool lines;
    if (!f->a.scale || !f->b.scale || !factors_fit(b, f, &p, &lines))
        return NULL;
    if (!lines || !p.k) {
        struct onnx_value *y = scaled_sums(b, f);
        y = bias ? onnx_apply2(b, DML_OPERATOR_ELEMENT_WISE_ADD, y, onnx_convert(b, bias, ONNX_FLOAT)) : y;
        return onnx_convert(b, y, f->a.scale->type);
    }
    const int64_t full[4] = { p.batch[0], p.batch[1], p.m, p.n };
    if (bias && onnx_elements(bias) != p.n) {
        onnx_misfit(b, "bias '%s' has %lld values instead of %lld", bias->name, (long long)onnx_elements(bias),
                    (long long)p.n);
        return NULL;
    }
    struct onnx_value *in[7] = { f->a.x, f->a.scale, f->a.zero_point, f->b.x, f->b.scale, f->b.zero_point, bias };
    struct onnx_value *y = onnx_temp(b, f->a.scale->type, p.rank, p.dims);
    DML_MATRIX_MULTIPLY_INTEGER_TO_FLOAT_OPERATOR_DESC desc = {
        onnx_product_desc(b, &d[0], in[0], &p, 0),
        line_desc(b, &d[1], in[1], true),
        line_desc(b, &d[2], in[2], true),
        onnx_product_desc(b, &d[3], in[3], &p, 1),
        line_desc(b, &d[4], in[4], false),
        line_desc(b, &d[5], in[5], false),
        onnx_desc_broadcast(b, &d[6], bias, 4, full),
        onnx_product_desc(b, &d[7], y, &p, 2),
    };
    return y && onnx_emit(b, DML_OPERATOR_MATRIX_MULTIPLY_INTEGER_TO_FLOAT, &desc, in, 7, &y, 1) ? y : NULL;
}

bool onnx_matmul_integer_to_float(struct onnx_builder *b, const struct onnx_node *n)
{
    const struct onnx_factors f = { { onnx_in(b, n, 0), onnx_in(b, n, 2), onnx_in_optional(b, n, 4) },
                                    { onnx_in(b, n, 1), onnx_in(b, n, 3), onnx_in_optional(b, n, 5) } };
    return onnx_result(b, n, 0, onnx_product_floats(b, &f, onnx_in_optional(b, n, 6)));
}

/* A is quantised with its own range, computed at run time. */
bool onnx_dynamic_quantize_matmul(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *x = onnx_in(b, n, 0), *parts[3];
    if (!x)
        return false;
    parts[0] = onnx_temp(b, ONNX_UINT8, x->rank, x->dims);
    parts[1] = onnx_temp(b, ONNX_FLOAT, 0, NULL);
    parts[2] = onnx_temp(b, ONNX_UINT8, 0, NULL);
    if (!parts[0] || !parts[1] || !parts[2])
        return false;
    const struct onnx_factors f = { { parts[0], parts[1], parts[2] },
                                    { onnx_in(b, n, 1), onnx_in(b, n, 2), onnx_in_optional(b, n, 3) } };
    return onnx_dynamic_quantize(b, x, parts) &&
           onnx_result(b, n, 0, onnx_product_floats(b, &f, onnx_in_optional(b, n, 4)));
}

/* ---- to quantised numbers ---- */

bool onnx_qlinear_matmul(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_factors f = { onnx_quantized_in(b, n, 0), onnx_quantized_in(b, n, 3) };
    struct onnx_quantized q = onnx_quantized_out(b, n, 6);
    struct onnx_product p;
    struct onnx_desc d[9];
    bool lines;
    f.a.scale = onnx_convert(b, f.a.scale, ONNX_FLOAT);
    f.b.scale = onnx_convert(b, f.b.scale, ONNX_FLOAT);
    q.scale = onnx_convert(b, q.scale, ONNX_FLOAT);
    if (!f.a.scale || !f.b.scale || !q.scale || !factors_fit(b, &f, &p, &lines))
        return false;
    int32_t type = q.zero_point ? q.zero_point->type : f.a.x->type;
    if (!lines || !p.k || !is_one(q.scale) || !is_one(q.zero_point))
        return onnx_result(b, n, 0, onnx_quantize_all(b, scaled_sums(b, &f), &q, type));
    struct onnx_value *in[8] = { f.a.x,     f.a.scale,      f.a.zero_point, f.b.x,
                                 f.b.scale, f.b.zero_point, q.scale,        q.zero_point };
    struct onnx_value *y = onnx_out(b, n, 0, type, p.rank, p.dims);
    DML_QUANTIZED_LINEAR_MATRIX_MULTIPLY_OPERATOR_DESC desc = {
        onnx_product_desc(b, &d[0], in[0], &p, 0), line_desc(b, &d[1], in[1], true),
        line_desc(b, &d[2], in[2], true),          onnx_product_desc(b, &d[3], in[3], &p, 1),
        line_desc(b, &d[4], in[4], false),         line_desc(b, &d[5], in[5], false),
        line_desc(b, &d[6], in[6], true),          line_desc(b, &d[7], in[7], true),
        onnx_product_desc(b, &d[8], y, &p, 2),
    };
    return y && onnx_emit(b, DML_OPERATOR_QUANTIZED_LINEAR_MATRIX_MULTIPLY, &desc, in, 8, &y, 1);
}

static struct onnx_value *transposed(struct onnx_builder *b, struct onnx_value *x, bool transpose)
{
    return x && transpose ? onnx_permute(b, x, (const uint32_t[]){ 1, 0 }) : x;
}

/* alpha * a_scale * b_scale * (sums + c), quantised if an output scale is given. */
bool onnx_qgemm(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_factors f = { onnx_quantized_in(b, n, 0), onnx_quantized_in(b, n, 3) };
    struct onnx_value *c = onnx_in_optional(b, n, 6);
    bool quantized = n->input_count > 7 && n->inputs[7][0];
    struct onnx_grain grain;
    if (!f.a.x || !f.b.x || b->failed)
        return false;
    if (f.a.x->rank != 2 || f.b.x->rank != 2)
        return onnx_fail(b, "matrices must have two dimensions, not %u and %u", f.a.x->rank, f.b.x->rank);
    f.a.x = transposed(b, f.a.x, onnx_attr_int(n, "transA", 0) != 0);
    f.b.x = transposed(b, f.b.x, onnx_attr_int(n, "transB", 0) != 0);
    struct onnx_value *scale = onnx_apply2(b, DML_OPERATOR_ELEMENT_WISE_MULTIPLY, f.b.scale, f.a.scale);
    scale = onnx_apply2(b, DML_OPERATOR_ELEMENT_WISE_MULTIPLY, scale,
                        onnx_scalar(b, ONNX_FLOAT, (double)onnx_attr_float(n, "alpha", 1)));
    struct onnx_value *sums = onnx_product_sums(b, &f);
    if (c)
        sums = onnx_apply2(b, DML_OPERATOR_ELEMENT_WISE_ADD, sums, c);
    struct onnx_quantized whole = { sums, scale, NULL };
    if (!sums || !onnx_grain_find(b, &whole, sums, 1, 0, &grain))
        return false;
    struct onnx_value *y = onnx_dequantize(b, &whole, &grain);
    if (!quantized)
        return onnx_result(b, n, 0, y);
    struct onnx_quantized q = onnx_quantized_out(b, n, 7);
    return onnx_result(b, n, 0, onnx_quantize_all(b, y, &q, q.zero_point ? q.zero_point->type : f.a.x->type));
}
