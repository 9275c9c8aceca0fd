/* SPDX-License-Identifier: Apache-2.0 */
/* Quantisation operators, and lookups in quantised tables. */
#include "onnx/convert/converters.h"
#include "onnx/convert/quant.h"

/* The version of contrib operators has no meaning here; they behave like version 13. */
static bool has_axis(const struct onnx_node *n)
{
    return n->domain[0] || n->version >= 13;
}

bool onnx_quantize_linear(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *x = onnx_in(b, n, 0);
    struct onnx_quantized q = onnx_quantized_out(b, n, 1);
    struct onnx_grain grain;
    int32_t type = (int32_t)onnx_attr_int(n, "output_dtype", 0);
    if (!x || !q.scale || b->failed)
        return false;
    if (!has_axis(n) && onnx_elements(q.scale) != 1)
        return onnx_fail(b, "scale '%s' must be one value", q.scale->name);
    if (!type)
        type = q.zero_point ? q.zero_point->type : ONNX_UINT8;
    if (q.zero_point && q.zero_point->type != type)
        return onnx_fail(b, "output_dtype %s differs from the zero point's %s", onnx_type_name(type),
                         onnx_type_name(q.zero_point->type));
    return onnx_grain_find(b, &q, x, onnx_attr_int(n, "axis", 1), onnx_attr_int(n, "block_size", 0), &grain) &&
           onnx_result(b, n, 0, onnx_quantize(b, x, &q, &grain, type));
}

bool onnx_dequantize_linear(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_quantized q = onnx_quantized_in(b, n, 0);
    struct onnx_grain grain;
    int32_t type = (int32_t)onnx_attr_int(n, "output_dtype", 0);
    if (!q.x || !q.scale || b->failed)
        return false;
    if (!has_axis(n) && onnx_elements(q.scale) != 1)
        return onnx_fail(b, "scale '%s' must be one value", q.scale->name);
    if (type && !onnx_type_bytes(type))
        return onnx_fail(b, "output_dtype %d (%s) is not supported", type, onnx_type_name(type));
    q.scale = type ? onnx_convert(b, q.scale, type) : q.scale;
    return onnx_grain_find(b, &q, q.x, onnx_attr_int(n, "axis", 1), onnx_attr_int(n, "block_size", 0), &grain) &&
           onnx_result(b, n, 0, onnx_dequantize(b, &q, &grain));
}

bool onnx_dynamic_quantize(struct onnx_builder *b, struct onnx_value *x, struct onnx_value *const *y)
{
    static const int64_t ones[ONNX_RANK_MAX] = { 1, 1, 1, 1, 1, 1, 1, 1 };
    struct onnx_desc d[4];
    if (!onnx_elements(x)) { /* like zeros, which are in every range */
        const struct onnx_value *one = onnx_scalar(b, ONNX_FLOAT, 1), *zero = onnx_scalar(b, ONNX_UINT8, 0);
        return one && zero && onnx_constant_data(b, y[0]) && onnx_alias(b, y[1], one) && onnx_alias(b, y[2], zero);
    }
    DML_DYNAMIC_QUANTIZE_LINEAR_OPERATOR_DESC desc = {
        onnx_desc(b, &d[0], x),
        onnx_desc(b, &d[1], y[0]),
        onnx_desc_as(b, &d[2], y[1], x->rank, ones),
        onnx_desc_as(b, &d[3], y[2], x->rank, ones),
    };
    return onnx_emit(b, DML_OPERATOR_DYNAMIC_QUANTIZE_LINEAR, &desc, &x, 1, y, 3);
}

bool onnx_dynamic_quantize_linear(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *x = onnx_in(b, n, 0), *y[3];
    if (!x)
        return false;
    y[0] = onnx_out(b, n, 0, ONNX_UINT8, x->rank, x->dims);
    y[1] = onnx_out(b, n, 1, ONNX_FLOAT, 0, NULL);
    y[2] = onnx_out(b, n, 2, ONNX_UINT8, 0, NULL);
    return y[0] && y[1] && y[2] && onnx_dynamic_quantize(b, x, y);
}
