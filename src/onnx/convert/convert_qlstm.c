/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft DynamicQuantizeLSTM: an LSTM with 8-bit weights, [directions, inputs, 4 * hidden] and [directions,
 * hidden, 4 * hidden], with scales and zero points per direction or per column. Its definition does not specify the
 * rounding of tokens and states: the weights are dequantised, and the other factors may be rounded to 8 bits. */
#include "onnx/convert/converters.h"
#include "onnx/convert/quant.h"

/* Floats of `type` in the same layout. */
static struct onnx_value *weights(struct onnx_builder *b, const struct onnx_node *n, uint32_t input,
                                  uint32_t scale_input)
{
    struct onnx_quantized q = { onnx_in(b, n, input), onnx_in(b, n, scale_input),
                                onnx_in_optional(b, n, scale_input + 1) };
    const struct onnx_value *w = q.x, *scale = q.scale, *zero = q.zero_point;
    if (!w || !scale || b->failed)
        return NULL;
    if (w->rank != 3 || !scale->rank || scale->rank > 2 || (zero && zero->rank != scale->rank) ||
        (w->type != ONNX_INT8 && w->type != ONNX_UINT8) || (zero && zero->type != w->type)) {
        onnx_fail(b, "'%s' must be bytes of 3 dimensions with scales and zero points of 1 or 2", w->name);
        return NULL;
    }
    const struct onnx_grain grain = { { 1, w->dims[0], w->dims[1], w->dims[2] },
                                      { 1, w->dims[0], 1, scale->rank == 2 ? w->dims[2] : 1 },
                                      false };
    const int64_t count = grain.scale[1] * grain.scale[3];
    if (onnx_elements(scale) != count || (zero && onnx_elements(zero) != count)) {
        onnx_misfit(b, "'%s' must have one value, or %lld, for each of %lld directions", scale->name,
                    (long long)w->dims[2], (long long)w->dims[0]);
        return NULL;
    }
    return onnx_dequantize(b, &q, &grain);
}

/* ONNX Runtime rounds tokens and states of all rows together to 256 levels from the least to the largest element. Here
 * each row has its own 255 levels around zero: an error of the same order. */
bool onnx_dynamic_quantize_lstm(struct onnx_builder *b, const struct onnx_node *n)
{
    const struct onnx_value *x = onnx_in(b, n, 0);
    struct onnx_node lstm = *n;
    const uint32_t before = b->dequantised;
    if (!x)
        return false;
    const struct onnx_value *w = weights(b, n, 1, 8), *r = weights(b, n, 2, 10);
    const char **inputs = base_arena_alloc(&b->arena, 8 * sizeof(*inputs));
    b->coarse += b->dequantised - before;
    if (!w || !r || !inputs)
        return onnx_fail(b, "out of memory");
    for (uint32_t i = 0; i < 8; i++)
        inputs[i] = i == 1 ? w->name : i == 2 ? r->name : n->inputs[i];
    lstm.op = "LSTM";
    lstm.domain = "";
    lstm.version = 14;
    lstm.inputs = inputs;
    lstm.input_count = 8;
    return onnx_lstm_transposed(b, &lstm);
}
