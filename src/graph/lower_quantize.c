/* Linear quantisation as element-wise programs. Scales and zero points arrive broadcast to the full sizes by stride 0.
 */
#include "graph/lower.h"

static void type_range(DML_TENSOR_DATA_TYPE type, double *out_low, double *out_high)
{
    switch (type) {
    case DML_TENSOR_DATA_TYPE_INT8:
        *out_low = -128, *out_high = 127;
        break;
    case DML_TENSOR_DATA_TYPE_INT16:
        *out_low = -32768, *out_high = 32767;
        break;
    case DML_TENSOR_DATA_TYPE_UINT16:
        *out_low = 0, *out_high = 65535;
        break;
    case DML_TENSOR_DATA_TYPE_INT4:
        *out_low = -8, *out_high = 7;
        break;
    case DML_TENSOR_DATA_TYPE_UINT4:
        *out_low = 0, *out_high = 15;
        break;
    default:
        *out_low = 0, *out_high = 255;
        break;
    }
}

/* (q - zero point) * scale in FLOAT32; the difference is taken in 64-bit integers, where it cannot wrap. */
static uint32_t emit_dequantize(struct lower_map *map, uint32_t value, uint32_t scale, uint32_t zero_point)
{
    uint32_t q = value;
    if (zero_point != GRAPH_NONE)
        q = lower_emit2(map, KERN_MAP_SUB, value, zero_point);
    return lower_emit2(map, KERN_MAP_MUL, lower_emit_convert(map, q, DML_TENSOR_DATA_TYPE_FLOAT32), scale);
}

/* clamp(round-half-even(x / scale) + zero point) as a float register. */
static uint32_t emit_quantize(struct lower_map *map, uint32_t x, uint32_t scale, uint32_t zero_point,
                              DML_TENSOR_DATA_TYPE type)
{
    double low, high;
    type_range(type, &low, &high);
    uint32_t q = lower_emit1(map, KERN_MAP_RINT, lower_emit2(map, KERN_MAP_DIV, x, scale), 0, 0);
    if (zero_point != GRAPH_NONE)
        q = lower_emit2(map, KERN_MAP_ADD, q, zero_point);
    return lower_emit1(map, KERN_MAP_CLAMP, q, low, high);
}

HRESULT lower_quantize_linear(struct graph_lowering *lowering)
{
    bool has_zero = lower_present(&lowering->inputs[2]);
    struct lower_map map;
    lower_map_begin(&map, lowering, lowering->inputs, has_zero ? 3 : 2, DML_TENSOR_DATA_TYPE_FLOAT32);
    uint32_t reg = emit_quantize(&map, 0, 1, has_zero ? 2 : GRAPH_NONE, lowering->outputs[0].view.type);
    lower_map_end(&map, &lowering->outputs[0], reg);
    return lower_done(lowering);
}

HRESULT lower_dequantize_linear(struct graph_lowering *lowering)
{
    bool has_zero = lower_present(&lowering->inputs[2]);
    struct lower_map map;
    lower_map_begin(&map, lowering, lowering->inputs, has_zero ? 3 : 2, DML_TENSOR_DATA_TYPE_INT64);
    lower_map_load(&map, 1, DML_TENSOR_DATA_TYPE_FLOAT32);
    lower_map_end(&map, &lowering->outputs[0], emit_dequantize(&map, 0, 1, has_zero ? 2 : GRAPH_NONE));
    return lower_done(lowering);
}

/* Slots: A, AScale, AZeroPoint?, B, BScale, BZeroPoint?, OutputScale, OutputZeroPoint?. */
HRESULT lower_quantized_add(struct graph_lowering *lowering)
{
    static const DML_TENSOR_DATA_TYPE loads[8] = {
        DML_TENSOR_DATA_TYPE_INT64,   DML_TENSOR_DATA_TYPE_FLOAT32, DML_TENSOR_DATA_TYPE_INT64,
        DML_TENSOR_DATA_TYPE_INT64,   DML_TENSOR_DATA_TYPE_FLOAT32, DML_TENSOR_DATA_TYPE_INT64,
        DML_TENSOR_DATA_TYPE_FLOAT32, DML_TENSOR_DATA_TYPE_FLOAT32,
    };
    struct graph_operand present[8];
    uint32_t reg[8], count = 0;
    for (uint32_t i = 0; i < 8; i++) {
        reg[i] = GRAPH_NONE;
        if (!lower_present(&lowering->inputs[i]))
            continue;
        present[count] = lowering->inputs[i];
        reg[i] = count++;
    }
    struct lower_map map;
    lower_map_begin(&map, lowering, present, count, DML_TENSOR_DATA_TYPE_FLOAT32);
    for (uint32_t i = 0; i < 8; i++) {
        if (reg[i] != GRAPH_NONE)
            lower_map_load(&map, reg[i], loads[i]);
    }
    uint32_t a = emit_dequantize(&map, reg[0], reg[1], reg[2]);
    uint32_t b = emit_dequantize(&map, reg[3], reg[4], reg[5]);
    uint32_t sum = lower_emit2(&map, KERN_MAP_ADD, a, b);
    uint32_t q = emit_quantize(&map, sum, reg[6], reg[7], lowering->outputs[0].view.type);
    lower_map_end(&map, &lowering->outputs[0], q);
    return lower_done(lowering);
}
