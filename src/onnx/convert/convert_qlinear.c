/* SPDX-License-Identifier: Apache-2.0 */
/* Operators of the contrib set between quantised numbers: dequantise, compute, quantise. One element-wise program. */
#include "onnx/convert/converters.h"
#include "onnx/convert/quant.h"

/* ---- two operands ---- */

static const DML_TENSOR_DESC *one_desc(struct onnx_builder *b, struct onnx_desc *d, struct onnx_value *v, uint32_t rank)
{
    static const int64_t ones[ONNX_RANK_MAX] = { 1, 1, 1, 1, 1, 1, 1, 1 };
    if (v && onnx_elements(v) != 1) {
        onnx_fail(b, "'%s' must be one value", v->name);
        return NULL;
    }
    return onnx_desc_as(b, d, v, rank, ones);
}

bool onnx_qlinear_add(struct onnx_builder *b, const struct onnx_node *n)
{
    const struct onnx_quantized x = onnx_quantized_in(b, n, 0), z = onnx_quantized_in(b, n, 3);
    const struct onnx_quantized q = onnx_quantized_out(b, n, 6);
    uint32_t rank;
    int64_t dims[ONNX_RANK_MAX];
    struct onnx_desc d[9];
    if (!x.x || !z.x || !q.scale || b->failed || !onnx_broadcast_dims(b, x.x, z.x, &rank, dims))
        return false;
    struct onnx_value *in[8] = { x.x, x.scale, x.zero_point, z.x, z.scale, z.zero_point, q.scale, q.zero_point };
    struct onnx_value *y = onnx_out(b, n, 0, x.x->type, rank, dims);
    DML_ELEMENT_WISE_QUANTIZED_LINEAR_ADD_OPERATOR_DESC desc = {
        onnx_desc_broadcast(b, &d[0], in[0], rank, dims),
        one_desc(b, &d[1], in[1], rank),
        one_desc(b, &d[2], in[2], rank),
        onnx_desc_broadcast(b, &d[3], in[3], rank, dims),
        one_desc(b, &d[4], in[4], rank),
        one_desc(b, &d[5], in[5], rank),
        one_desc(b, &d[6], in[6], rank),
        one_desc(b, &d[7], in[7], rank),
        onnx_desc(b, &d[8], y),
    };
    return y && onnx_emit(b, DML_OPERATOR_ELEMENT_WISE_QUANTIZED_LINEAR_ADD, &desc, in, 8, &y, 1);
}

bool onnx_qlinear_mul(struct onnx_builder *b, const struct onnx_node *n)
{
    const struct onnx_quantized x = onnx_quantized_in(b, n, 0), z = onnx_quantized_in(b, n, 3);
    const struct onnx_quantized q = onnx_quantized_out(b, n, 6);
    struct onnx_value *y =
        onnx_apply2(b, DML_OPERATOR_ELEMENT_WISE_MULTIPLY, onnx_dequantize_all(b, &x), onnx_dequantize_all(b, &z));
    return y && onnx_result(b, n, 0, onnx_quantize_all(b, y, &q, x.x->type));
}

/* ---- one operand ---- */

bool onnx_qlinear_activation(struct onnx_builder *b, const struct onnx_node *n)
{
    const struct onnx_quantized x = onnx_quantized_in(b, n, 0), q = onnx_quantized_out(b, n, 3);
    bool leaky = !strcmp(n->op, "QLinearLeakyRelu");
    struct onnx_value *y =
        onnx_activate(b, leaky ? DML_OPERATOR_ACTIVATION_LEAKY_RELU : DML_OPERATOR_ACTIVATION_SIGMOID,
                      onnx_dequantize_all(b, &x), leaky ? onnx_attr_float(n, "alpha", 0.01f) : 0, 0);
    return y && onnx_result(b, n, 0, onnx_quantize_all(b, y, &q, x.x->type));
}

/* Of the float operator's version that `opset` selects: before 13 it operates on two dimensions. */
bool onnx_qlinear_softmax(struct onnx_builder *b, const struct onnx_node *n)
{
    const struct onnx_quantized x = onnx_quantized_in(b, n, 0), q = onnx_quantized_out(b, n, 3);
    struct onnx_value *in = onnx_dequantize_all(b, &x);
    const char *name = onnx_new_name(b);
    if (!in || !name)
        return false;
    struct onnx_node softmax = *n;
    softmax.op = "Softmax";
    softmax.domain = "";
    softmax.version = onnx_attr_int(n, "opset", 13) < 13 ? 1 : 13;
    softmax.inputs = &in->name;
    softmax.outputs = &name;
    softmax.input_count = softmax.output_count = 1;
    if (!onnx_convert_as(b, &softmax))
        return false;
    return onnx_result(b, n, 0, onnx_quantize_all(b, onnx_value_find(b, name), &q, x.x->type));
}

/* ---- any number of operands ---- */

/* Each part is requantised, then the 8-bit parts are concatenated. Inputs: scale, zero point, then three for each
 * part. */
bool onnx_qlinear_concat(struct onnx_builder *b, const struct onnx_node *n)
{
    const struct onnx_quantized q = onnx_quantized_out(b, n, 0);
    uint32_t parts = n->input_count / 3;
    const char **names = base_arena_alloc(&b->arena, BASE_MAX(parts, 1u) * sizeof(*names));
    if (!names || !q.scale || !q.zero_point || !parts || n->input_count != 2 + 3 * parts)
        return onnx_fail(b, "%u inputs; must be a scale, a zero point and three for each part", n->input_count);
    for (uint32_t i = 0; i < parts; i++) {
        const struct onnx_quantized part = onnx_quantized_in(b, n, 2 + 3 * i);
        struct onnx_value *y = onnx_quantize_all(b, onnx_dequantize_all(b, &part), &q, q.zero_point->type);
        if (!y)
            return false;
        names[i] = y->name;
    }
    struct onnx_node concat = *n;
    concat.op = "Concat";
    concat.domain = "";
    concat.version = 13;
    concat.inputs = names;
    concat.input_count = parts;
    return onnx_convert_as(b, &concat);
}
