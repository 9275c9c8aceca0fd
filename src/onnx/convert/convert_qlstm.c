/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft DynamicQuantizeLSTM: an LSTM with 8-bit weights, [directions, inputs, 4 * hidden] and [directions,
 * hidden, 4 * hidden], with scales and zero points per direction or per column. Tokens are quantised as by
 * DynamicQuantizeLinear, all with one scale; the weights are dequantised, and states may be rounded likewise. */
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

/* x in 256 levels from its least to its greatest element. */
static struct onnx_value *tokens(struct onnx_builder *b, struct onnx_value *x)
{
    struct onnx_value *y[3];
    y[0] = x ? onnx_temp(b, ONNX_UINT8, x->rank, x->dims) : NULL;
    y[1] = onnx_temp(b, ONNX_FLOAT, 0, NULL);
    y[2] = onnx_temp(b, ONNX_UINT8, 0, NULL);
    if (!y[0] || !y[1] || !y[2] || !onnx_dynamic_quantize(b, x, y))
        return NULL;
    return onnx_dequantize_all(b, &(struct onnx_quantized){ y[0], y[1], y[2] });
}

/* ONNX Runtime rounds the states of a step together for all rows of the batch that one of its threads computes; here
 * each row has its own levels, which is the same for a batch of one. */
bool onnx_dynamic_quantize_lstm(struct onnx_builder *b, const struct onnx_node *n)
{
    const uint32_t before = b->dequantised;
    const struct onnx_value *x = tokens(b, onnx_in(b, n, 0));
    struct onnx_node lstm = *n;
    if (!x)
        return false;
    const struct onnx_value *w = weights(b, n, 1, 8), *r = weights(b, n, 2, 10);
    const char **inputs = base_arena_alloc(&b->arena, 8 * sizeof(*inputs));
    b->coarse += b->dequantised - before;
    if (!w || !r || !inputs)
        return onnx_fail(b, "out of memory");
    for (uint32_t i = 0; i < 8; i++)
        inputs[i] = i == 0 ? x->name : i == 1 ? w->name : i == 2 ? r->name : n->inputs[i];
    lstm.op = "LSTM";
    lstm.domain = "";
    lstm.version = 14;
    lstm.inputs = inputs;
    lstm.input_count = 8;
    return onnx_lstm_transposed(b, &lstm);
}
