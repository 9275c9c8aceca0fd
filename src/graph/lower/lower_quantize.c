/* SPDX-License-Identifier: Apache-2.0 */
/* Linear quantisation as element-wise programs. A scale that applies to a block of elements is a view with stride 0
 * within the block. */
#include "graph/lower/lower.h"

#include <math.h>

static void type_range(DML_TENSOR_DATA_TYPE type, double *out_low, double *out_high)
{
    switch (type) {
    case DML_TENSOR_DATA_TYPE_INT8:
        *out_low = -128, *out_high = 127;
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

/* How quantised elements are loaded: differences up to 16 bits are exact in FLOAT32, wider ones cannot wrap in INT64.
 */
static DML_TENSOR_DATA_TYPE load_type(DML_TENSOR_DATA_TYPE type)
{
    return kern_type_bytes(type) == 4 ? DML_TENSOR_DATA_TYPE_INT64 : DML_TENSOR_DATA_TYPE_FLOAT32;
}

/* (q - zero point) * scale in FLOAT32. */
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
    lower_map_begin(&map, lowering, lowering->inputs, has_zero ? 3 : 2, load_type(lowering->inputs[0].view.type));
    lower_map_load(&map, 1, DML_TENSOR_DATA_TYPE_FLOAT32);
    lower_map_end(&map, &lowering->outputs[0], emit_dequantize(&map, 0, 1, has_zero ? 2 : GRAPH_NONE));
    return lower_done(lowering);
}

/* Slots: A, AScale, AZeroPoint?, B, BScale, BZeroPoint?, OutputScale, OutputZeroPoint?. */
HRESULT lower_quantized_add(struct graph_lowering *lowering)
{
    struct graph_operand present[8];
    uint32_t reg[8], count = 0;
    for (uint32_t i = 0; i < 8; i++) {
        reg[i] = GRAPH_NONE;
        if (!lower_present(&lowering->inputs[i]))
            continue;
        present[count] = lower_broadcast(&lowering->inputs[i], &lowering->outputs[0].view);
        reg[i] = count++;
    }
    struct lower_map map;
    lower_map_begin(&map, lowering, present, count, DML_TENSOR_DATA_TYPE_FLOAT32);
    uint32_t a = emit_dequantize(&map, reg[0], reg[1], reg[2]);
    uint32_t b = emit_dequantize(&map, reg[3], reg[4], reg[5]);
    uint32_t sum = lower_emit2(&map, KERN_MAP_ADD, a, b);
    uint32_t q = emit_quantize(&map, sum, reg[6], reg[7], lowering->outputs[0].view.type);
    lower_map_end(&map, &lowering->outputs[0], q);
    return lower_done(lowering);
}

/* ---- QUANTIZE, DEQUANTIZE: one scale for each block of elements ---- */

enum { BLOCK_TENSORS = 4 }; /* X, Y, scale, zero point */

/* The tensors' common dimensions, blocked ones split into [blocks, elements of a block], merged if possible. */
struct block_dims {
    uint32_t rank;
    uint32_t sizes[2 * KERN_RANK_MAX];
    int64_t strides[BLOCK_TENSORS][2 * KERN_RANK_MAX];
};

static void add_dim(struct block_dims *dims, uint32_t tensors, uint32_t size, const int64_t *strides)
{
    uint32_t last = dims->rank - 1;
    bool merge = dims->rank > 0;
    if (size == 1)
        return;
    for (uint32_t t = 0; t < tensors && merge; t++)
        merge = dims->strides[t][last] == strides[t] * size;
    merge = merge && (uint64_t)dims->sizes[last] * size <= UINT32_MAX;
    uint32_t at = merge ? last : dims->rank++;
    dims->sizes[at] = merge ? dims->sizes[last] * size : size;
    for (uint32_t t = 0; t < tensors; t++)
        dims->strides[t][at] = strides[t];
}

static void collect_dims(struct block_dims *dims, const struct graph_operand *tensors, uint32_t count)
{
    dims->rank = 0;
    for (uint32_t d = 0; d < tensors[0].view.rank; d++) {
        uint32_t blocks = count > 2 ? tensors[2].view.sizes[d] : 1, length = tensors[0].view.sizes[d] / blocks;
        int64_t outer[BLOCK_TENSORS], inner[BLOCK_TENSORS];
        for (uint32_t t = 0; t < count; t++) {
            inner[t] = t < 2 ? tensors[t].view.strides[d] : 0;
            outer[t] = tensors[t].view.strides[d] * (t < 2 ? length : 1);
        }
        add_dim(dims, count, blocks, outer);
        add_dim(dims, count, length, inner);
    }
    if (dims->rank == 0) {
        dims->rank = 1;
        dims->sizes[0] = 1;
        for (uint32_t t = 0; t < count; t++)
            dims->strides[t][0] = 1;
    }
}

/* A dense copy of a scale with every dimension repeated to the size of x: one dimension at a time, so that each step
 * has at most the dimensions [before, blocks, elements of a block, after]. */
static struct graph_operand expand(struct graph_lowering *lowering, const struct graph_operand *scale,
                                   const struct kern_view *x)
{
    struct graph_operand whole = lower_temp_like(lowering, scale);
    lower_move(lowering, *scale, whole);
    for (uint32_t d = 0; d < x->rank; d++) {
        uint32_t sizes[KERN_RANK_MAX], blocks = whole.view.sizes[d], before = 1, after = 1;
        if (blocks == x->sizes[d])
            continue;
        memcpy(sizes, whole.view.sizes, sizeof(sizes));
        sizes[d] = x->sizes[d];
        for (uint32_t i = 0; i < x->rank; i++) {
            before *= i < d ? sizes[i] : 1;
            after *= i > d ? sizes[i] : 1;
        }
        struct graph_operand next = graph_temp(lowering->graph, scale->view.type, x->rank, sizes);
        struct graph_operand from = whole, to = next;
        kern_view_set_packed(&to.view, scale->view.type, 4,
                             (uint32_t[]){ before, blocks, x->sizes[d] / blocks, after });
        kern_view_set_packed(&from.view, scale->view.type, 4, (uint32_t[]){ before, blocks, 1, after });
        from.view.sizes[2] = x->sizes[d] / blocks;
        from.view.strides[2] = 0;
        lower_move(lowering, from, to);
        whole = next;
    }
    return whole;
}

/* Gives the `count` tensors X, Y, scale, [zero point] equal sizes and at most KERN_RANK_MAX dimensions. */
static void align_blocks(struct graph_lowering *lowering, struct graph_operand *tensors, uint32_t count)
{
    struct block_dims dims;
    collect_dims(&dims, tensors, count);
    if (dims.rank > KERN_RANK_MAX) {
        for (uint32_t t = 2; t < count; t++)
            tensors[t] = expand(lowering, &tensors[t], &tensors[0].view);
        return;
    }
    for (uint32_t t = 0; t < count; t++) {
        tensors[t].view.rank = dims.rank;
        memcpy(tensors[t].view.sizes, dims.sizes, dims.rank * sizeof(*dims.sizes));
        memcpy(tensors[t].view.strides, dims.strides[t], dims.rank * sizeof(*dims.strides[t]));
    }
}

/* Slots: X, scale, [zero point]. Without a zero point it is the middle of an unsigned type's range. */
static HRESULT quantize_blocks(struct graph_lowering *lowering, bool forward)
{
    struct graph_operand tensors[BLOCK_TENSORS] = { lowering->inputs[0], lowering->outputs[0], lowering->inputs[1] };
    bool has_zero = lowering->desc->input_count > 2;
    if (has_zero)
        tensors[3] = lowering->inputs[2];
    DML_TENSOR_DATA_TYPE type = tensors[forward ? 1 : 0].view.type;
    align_blocks(lowering, tensors, has_zero ? 4 : 3);
    const struct graph_operand in[] = { tensors[0], tensors[2], tensors[3] };
    struct lower_map map;
    lower_map_begin(&map, lowering, in, has_zero ? 3 : 2, DML_TENSOR_DATA_TYPE_FLOAT32);
    uint32_t x = 0, zero_point = has_zero ? 2 : GRAPH_NONE;
    double low, high;
    type_range(type, &low, &high);
    float middle = low == 0 && !has_zero ? (float)(high + 1) / 2 : 0;
    if (forward && middle != 0)
        zero_point = lower_emit_const(&map, DML_TENSOR_DATA_TYPE_FLOAT32, (union kern_scalar){ .f32 = middle });
    else if (middle != 0)
        x = lower_emit1(&map, KERN_MAP_MULADD, 0, 1, -middle);
    uint32_t result = forward ? emit_quantize(&map, x, 1, zero_point, type) : emit_dequantize(&map, x, 1, zero_point);
    lower_map_end(&map, &tensors[1], result);
    return lower_done(lowering);
}

HRESULT lower_quantize(struct graph_lowering *lowering)
{
    return quantize_blocks(lowering, true);
}

HRESULT lower_dequantize(struct graph_lowering *lowering)
{
    return quantize_blocks(lowering, false);
}

/* ---- DYNAMIC_QUANTIZE_LINEAR ---- */

/* The smallest or largest element, in two steps, so that the first has work for all threads. */
static struct graph_operand extreme(struct graph_lowering *lowering, DML_REDUCE_FUNCTION function)
{
    const struct graph_operand *x = &lowering->inputs[0];
    uint32_t sizes[KERN_RANK_MAX], rank = x->view.rank, kept = 0;
    for (uint32_t d = 0; d < rank; d++) {
        sizes[d] = 1;
        kept = x->view.sizes[d] > x->view.sizes[kept] ? d : kept;
    }
    /* The widest dimension but the innermost stays; the innermost one is for vectors. */
    for (uint32_t d = 0; kept == rank - 1 && d + 1 < rank; d++)
        kept = x->view.sizes[d] > 1 ? d : kept;
    struct graph_operand all = graph_temp(lowering->graph, x->view.type, rank, sizes);
    sizes[kept] = x->view.sizes[kept];
    bool row = kept == rank - 1; /* of all there is */
    struct graph_operand some = row ? *x : graph_temp(lowering->graph, x->view.type, rank, sizes);
    struct graph_op *op = row ? NULL : lower_op(lowering, KERN_REDUCE, x, 1, &some, 1);
    if (op)
        op->k.u.reduce = (struct kern_reduce){ .function = function, .axes = ((1u << rank) - 1) & ~(1u << kept) };
    op = lower_op(lowering, KERN_REDUCE, &some, 1, &all, 1);
    if (op)
        op->k.u.reduce = (struct kern_reduce){ .function = function, .axes = 1u << kept };
    return all;
}

/* As ONNX's DynamicQuantizeLinear: the range includes 0, and an empty range has scale 1. */
HRESULT lower_dynamic_quantize(struct graph_lowering *lowering)
{
    const struct graph_operand *x = &lowering->inputs[0], *y = &lowering->outputs[0];
    const struct graph_operand *scale = &lowering->outputs[1], *zero_point = &lowering->outputs[2];
    struct graph_operand range[] = { extreme(lowering, DML_REDUCE_FUNCTION_MIN),
                                     extreme(lowering, DML_REDUCE_FUNCTION_MAX) };
    struct graph_operand own_scale = lower_temp_like(lowering, scale), own_zero = lower_temp_like(lowering, zero_point);
    struct graph_operand parameters[] = { own_scale, own_zero };
    double low, high;
    struct lower_map map;
    type_range(y->view.type, &low, &high);

    lower_map_begin(&map, lowering, range, 2, DML_TENSOR_DATA_TYPE_FLOAT32);
    uint32_t least = lower_emit1(&map, KERN_MAP_CLAMP, 0, -INFINITY, 0);
    uint32_t most = lower_emit1(&map, KERN_MAP_CLAMP, 1, 0, INFINITY);
    uint32_t width = lower_emit2(&map, KERN_MAP_SUB, most, least);
    uint32_t steps = lower_emit_const(&map, DML_TENSOR_DATA_TYPE_FLOAT32, (union kern_scalar){ .f32 = 255 });
    uint32_t one = lower_emit_const(&map, DML_TENSOR_DATA_TYPE_FLOAT32, (union kern_scalar){ .f32 = 1 });
    uint32_t step = lower_emit3(&map, KERN_MAP_SELECT, width, lower_emit2(&map, KERN_MAP_DIV, width, steps), one);
    uint32_t zero = lower_emit2(&map, KERN_MAP_DIV, least, step);
    zero = lower_emit1(&map, KERN_MAP_RINT, lower_emit1(&map, KERN_MAP_MULADD, zero, -1, low), 0, 0);
    zero = lower_emit1(&map, KERN_MAP_CLAMP, zero, low, high);
    struct graph_op *op = lower_op(lowering, KERN_MAP, range, 2, parameters, 2);
    if (!op)
        return E_OUTOFMEMORY;
    op->k.u.map = map.program;
    op->k.u.map.store[0] = (uint8_t)step;
    op->k.u.map.store[1] = (uint8_t)zero;
    lower_move(lowering, own_scale, *scale);
    lower_move(lowering, own_zero, *zero_point);

    const struct graph_operand in[] = { *x, lower_broadcast(&own_scale, &x->view),
                                        lower_broadcast(&own_zero, &x->view) };
    lower_map_begin(&map, lowering, in, 3, DML_TENSOR_DATA_TYPE_FLOAT32);
    lower_map_end(&map, y, emit_quantize(&map, 0, 1, 2, y->view.type));
    return lower_done(lowering);
}
