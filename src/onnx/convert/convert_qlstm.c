/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft DynamicQuantizeLSTM: an LSTM with 8-bit weights, [directions, inputs, 4 * hidden] and [directions,
 * hidden, 4 * hidden], with scales and zero points per direction or per column. Its definition does not specify the
 * rounding of tokens and states; here they stay floats, and the weights are dequantised. */
#include "onnx/convert/converters.h"

/* The weights in LSTM's layout: [directions, 4 * hidden, inputs] of `type`. */
static struct onnx_value *weights(struct onnx_builder *b, const struct onnx_node *n, uint32_t input,
                                  uint32_t scale_input, int32_t type)
{
    static const uint32_t transposed[] = { 0, 2, 1 };
    struct onnx_value *w = onnx_in(b, n, input), *scale = onnx_in(b, n, scale_input);
    struct onnx_value *zero = onnx_in_optional(b, n, scale_input + 1);
    if (!w || !scale || b->failed)
        return NULL;
    if (w->rank != 3 || !scale->rank || scale->rank > 2 || (zero && zero->rank != scale->rank) ||
        (w->type != ONNX_INT8 && w->type != ONNX_UINT8) || (zero && zero->type != w->type)) {
        onnx_fail(b, "'%s' must be bytes of 3 dimensions with scales and zero points of 1 or 2", w->name);
        return NULL;
    }
    const int64_t each[] = { w->dims[0], 1, scale->rank == 2 ? w->dims[2] : 1 };
    if (onnx_elements(scale) != each[0] * each[2] || (zero && onnx_elements(zero) != each[0] * each[2])) {
        onnx_misfit(b, "'%s' must have one value, or %lld, for each of %lld directions", scale->name,
                    (long long)w->dims[2], (long long)w->dims[0]);
        return NULL;
    }
    struct onnx_value *values = onnx_convert(b, w, type);
    if (zero)
        values = onnx_apply2(b, DML_OPERATOR_ELEMENT_WISE_SUBTRACT, values,
                             onnx_as(b, onnx_convert(b, zero, type), 3, each));
    values =
        onnx_apply2(b, DML_OPERATOR_ELEMENT_WISE_MULTIPLY, values, onnx_as(b, onnx_convert(b, scale, type), 3, each));
    return values ? onnx_permute(b, values, transposed) : NULL;
}

bool onnx_dynamic_quantize_lstm(struct onnx_builder *b, const struct onnx_node *n)
{
    const struct onnx_value *x = onnx_in(b, n, 0);
    struct onnx_node lstm = *n;
    if (!x)
        return false;
    const struct onnx_value *w = weights(b, n, 1, 8, x->type), *r = weights(b, n, 2, 10, x->type);
    const char **inputs = base_arena_alloc(&b->arena, 8 * sizeof(*inputs));
    if (!w || !r || !inputs)
        return onnx_fail(b, "out of memory");
    for (uint32_t i = 0; i < 8; i++)
        inputs[i] = i == 1 ? w->name : i == 2 ? r->name : n->inputs[i];
    lstm.op = "LSTM";
    lstm.domain = "";
    lstm.version = 14;
    lstm.inputs = inputs;
    lstm.input_count = 8;
    return onnx_convert_as(b, &lstm);
}
