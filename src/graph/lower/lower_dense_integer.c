/* SPDX-License-Identifier: Apache-2.0 */
/* Integer GEMMs and convolutions. The sums are exact in INT32; scales, bias and the conversion to 8 bits are
 * element-wise programs after them. */
#include "graph/lower/lower.h"

/* A scale or zero point as a tensor of `like`'s rank and sizes; additional leading dimensions have size 1. */
static struct graph_operand broadcast(const struct graph_operand *operand, const struct kern_view *like)
{
    struct graph_operand result = *operand;
    uint32_t extra = operand->view.rank > like->rank ? operand->view.rank - like->rank : 0;
    result.view.rank -= extra;
    memmove(result.view.sizes, operand->view.sizes + extra, result.view.rank * sizeof(*result.view.sizes));
    memmove(result.view.strides, operand->view.strides + extra, result.view.rank * sizeof(*result.view.strides));
    return lower_broadcast(&result, like);
}

/* One value per channel: on axis 1, or on the only axis. `like` = [1, channels, 1...]. */
static struct graph_operand broadcast_channels(const struct graph_operand *operand, const struct kern_view *like)
{
    struct graph_operand result = *operand;
    uint32_t axis = operand->view.rank > 1;
    result.view = *like;
    result.view.type = operand->view.type;
    result.view.offset = operand->view.offset;
    for (uint32_t d = 0; d < like->rank; d++)
        result.view.strides[d] = d == 1 && operand->view.sizes[axis] > 1 ? operand->view.strides[axis] : 0;
    return result;
}

static bool is_byte(const struct graph_operand *operand)
{
    return kern_type_bytes(operand->view.type) == 1;
}

/* The scales of a program, multiplied once per row, column or channel: scales[0] * scales[1] ( / scales[2]). They are
 * broadcast to `like`, whose sizes are 1 along dimensions in which no scale varies. */
static struct graph_operand join_scales(struct graph_lowering *lowering, const struct graph_operand *scales,
                                        uint32_t count, const struct kern_view *like)
{
    struct graph_operand joined = graph_temp(lowering->graph, DML_TENSOR_DATA_TYPE_FLOAT32, like->rank, like->sizes);
    struct lower_map map;
    lower_map_begin(&map, lowering, scales, count, DML_TENSOR_DATA_TYPE_FLOAT32);
    uint32_t reg = lower_emit2(&map, KERN_MAP_MUL, 0, 1);
    if (count == 3)
        reg = lower_emit2(&map, KERN_MAP_DIV, reg, 2);
    lower_map_end(&map, &joined, reg);
    return joined;
}

/* clamp(round-half-even(sums * scale) + zero point): scale and zero point are broadcast to the output. */
static HRESULT requantize(struct graph_lowering *lowering, const struct graph_operand *sums,
                          const struct graph_operand *scale, const struct graph_operand *zero_point)
{
    const struct graph_operand *out = &lowering->outputs[0];
    bool is_signed = out->view.type == DML_TENSOR_DATA_TYPE_INT8;
    struct graph_operand in[3] = { *sums, *scale };
    struct lower_map map;
    if (lower_present(zero_point))
        in[2] = *zero_point;
    lower_map_begin(&map, lowering, in, lower_present(zero_point) ? 3 : 2, DML_TENSOR_DATA_TYPE_FLOAT32);
    uint32_t reg = lower_emit1(&map, KERN_MAP_RINT, lower_emit2(&map, KERN_MAP_MUL, 0, 1), 0, 0);
    if (lower_present(zero_point))
        reg = lower_emit2(&map, KERN_MAP_ADD, reg, 2);
    lower_map_end(&map, out, lower_emit1(&map, KERN_MAP_CLAMP, reg, is_signed ? -128 : 0, is_signed ? 127 : 255));
    return lower_done(lowering);
}

/* ---- GEMM ---- */

/* Slots of the operators: the meaning of each input. */
struct matrix_slots {
    uint32_t a, a_zero, b, b_zero;
};

static struct graph_op *multiply(struct graph_lowering *lowering, const struct matrix_slots *slots,
                                 const struct graph_operand *sums)
{
    const struct graph_operand *from = lowering->inputs;
    struct graph_operand in[4] = { from[slots->a], from[slots->b] };
    bool has_a_zero = lower_present(&from[slots->a_zero]), has_b_zero = lower_present(&from[slots->b_zero]);
    uint32_t count = 2;
    if (has_a_zero)
        in[count++] = broadcast(&from[slots->a_zero], &sums->view);
    if (has_b_zero)
        in[count++] = broadcast(&from[slots->b_zero], &sums->view);
    struct graph_op *op = lower_op(lowering, KERN_GEMM, in, count, sums, 1);
    if (!op)
        return NULL;
    op->k.u.gemm.alpha = 1;
    op->k.u.gemm.integer = true;
    op->k.u.gemm.has_a_zero = has_a_zero;
    op->k.u.gemm.has_b_zero = has_b_zero;
    return op;
}

static struct graph_operand sums_temp(struct graph_lowering *lowering)
{
    const struct kern_view *out = &lowering->outputs[0].view;
    return graph_temp(lowering->graph, DML_TENSOR_DATA_TYPE_INT32, out->rank, out->sizes);
}

/* The product of the matrices' scales ( / the output's), broadcast to the output. */
static struct graph_operand matrix_scale(struct graph_lowering *lowering, const uint32_t *slots, uint32_t count)
{
    const struct kern_view *out = &lowering->outputs[0].view;
    struct graph_operand scales[3];
    struct kern_view like = *out;
    for (uint32_t d = 0; d < out->rank; d++)
        like.sizes[d] = 1;
    for (uint32_t i = 0; i < count; i++) {
        scales[i] = broadcast(&lowering->inputs[slots[i]], out);
        for (uint32_t d = out->rank - 2; d < out->rank; d++)
            like.sizes[d] = scales[i].view.strides[d] ? out->sizes[d] : like.sizes[d];
    }
    for (uint32_t i = 0; i < count; i++)
        memcpy(scales[i].view.sizes, like.sizes, sizeof(like.sizes));
    struct graph_operand joined = join_scales(lowering, scales, count, &like);
    return lower_broadcast(&joined, out);
}

HRESULT lower_matrix_multiply_integer(struct graph_lowering *lowering)
{
    multiply(lowering, &(struct matrix_slots){ 0, 1, 2, 3 }, &lowering->outputs[0]);
    return lower_done(lowering);
}

/* A, AScale, AZeroPoint?, B, BScale, BZeroPoint?, OutputScale, OutputZeroPoint?. */
HRESULT lower_quantized_matrix_multiply(struct graph_lowering *lowering)
{
    struct graph_operand sums = sums_temp(lowering), zero_point = lowering->inputs[7];
    struct graph_operand scale = matrix_scale(lowering, (const uint32_t[]){ 1, 4, 6 }, 3);
    if (lower_present(&zero_point))
        zero_point = broadcast(&zero_point, &lowering->outputs[0].view);
    multiply(lowering, &(struct matrix_slots){ 0, 2, 3, 5 }, &sums);
    return requantize(lowering, &sums, &scale, &zero_point);
}

/* The matrix minus its zero point, in FLOAT64: exact. */
static struct graph_operand shifted(struct graph_lowering *lowering, uint32_t matrix, uint32_t zero)
{
    const struct kern_view *view = &lowering->inputs[matrix].view;
    struct graph_operand out = graph_temp(lowering->graph, DML_TENSOR_DATA_TYPE_FLOAT64, view->rank, view->sizes);
    struct graph_operand in[2] = { lowering->inputs[matrix], lowering->inputs[zero] };
    bool has_zero = lower_present(&in[1]);
    struct lower_map map;
    if (has_zero)
        in[1] = broadcast(&in[1], view);
    lower_map_begin(&map, lowering, in, 1 + has_zero,
                    kern_type_bytes(view->type) > 2 ? DML_TENSOR_DATA_TYPE_INT64 : DML_TENSOR_DATA_TYPE_INT32);
    uint32_t reg = has_zero ? lower_emit2(&map, KERN_MAP_SUB, 0, 1) : 0;
    lower_map_end(&map, &out, lower_emit_convert(&map, reg, DML_TENSOR_DATA_TYPE_FLOAT64));
    return out;
}

/* 16- and 32-bit integers: their products do not fit INT32. */
static HRESULT multiply_wide(struct graph_lowering *lowering)
{
    const struct graph_operand *from = lowering->inputs, *out = &lowering->outputs[0];
    struct graph_operand factors[2] = { shifted(lowering, 0, 2), shifted(lowering, 3, 5) };
    struct graph_operand sums =
        graph_temp(lowering->graph, DML_TENSOR_DATA_TYPE_FLOAT64, out->view.rank, out->view.sizes);
    struct graph_operand in[4] = { sums, broadcast(&from[1], &out->view), broadcast(&from[4], &out->view), from[6] };
    bool has_bias = lower_present(&from[6]);
    struct lower_map map;
    struct graph_op *op = lower_op(lowering, KERN_GEMM, factors, 2, &sums, 1);
    if (!op)
        return E_OUTOFMEMORY;
    op->k.u.gemm.alpha = 1;
    lower_map_begin(&map, lowering, in, 3 + has_bias, DML_TENSOR_DATA_TYPE_FLOAT64);
    uint32_t reg = lower_emit2(&map, KERN_MAP_MUL, 0, lower_emit2(&map, KERN_MAP_MUL, 1, 2));
    lower_map_end(&map, out, has_bias ? lower_emit2(&map, KERN_MAP_ADD, reg, 3) : reg);
    return lower_done(lowering);
}

/* A, AScale, AZeroPoint?, B, BScale, BZeroPoint?, Bias?. */
HRESULT lower_matrix_multiply_to_float(struct graph_lowering *lowering)
{
    const struct graph_operand *from = lowering->inputs;
    if (!is_byte(&from[0]) || !is_byte(&from[3]))
        return multiply_wide(lowering);
    struct graph_operand in[3] = { sums_temp(lowering), matrix_scale(lowering, (const uint32_t[]){ 1, 4 }, 2),
                                   from[6] };
    bool has_bias = lower_present(&from[6]);
    struct lower_map map;
    multiply(lowering, &(struct matrix_slots){ 0, 2, 3, 5 }, &in[0]);
    lower_map_begin(&map, lowering, in, 2 + has_bias, DML_TENSOR_DATA_TYPE_FLOAT32);
    uint32_t reg = lower_emit2(&map, KERN_MAP_MUL, 0, 1);
    lower_map_end(&map, &lowering->outputs[0], has_bias ? lower_emit2(&map, KERN_MAP_ADD, reg, 2) : reg);
    return lower_done(lowering);
}

/* ---- convolutions ---- */

struct conv_slots {
    uint32_t x, x_zero, w, w_zero, bias; /* GRAPH_NONE: the operator does not have a bias */
};

struct conv_steps {
    const UINT *strides, *dilations, *start, *end;
    UINT groups;
};

/* [1, channels, 1...] */
static struct kern_view channels_like(const struct kern_view *out)
{
    struct kern_view like = { .rank = out->rank };
    for (uint32_t d = 0; d < out->rank; d++)
        like.sizes[d] = d == 1 ? out->sizes[1] : 1;
    return like;
}

static void convolve(struct graph_lowering *lowering, const struct conv_slots *slots, const struct conv_steps *steps,
                     const struct graph_operand *sums)
{
    const struct graph_operand *from = lowering->inputs;
    struct graph_operand in[5] = { from[slots->x], from[slots->w] };
    struct kern_view channels = channels_like(&sums->view), one = { .rank = sums->view.rank };
    struct kern_conv conv = { .spatial = sums->view.rank - 2, .groups = steps->groups, .integer = true };
    uint32_t count = 2;
    for (uint32_t d = 0; d < one.rank; d++)
        one.sizes[d] = 1;
    conv.has_bias = slots->bias != GRAPH_NONE && lower_present(&from[slots->bias]);
    conv.has_x_zero = lower_present(&from[slots->x_zero]);
    conv.has_w_zero = lower_present(&from[slots->w_zero]);
    if (conv.has_bias)
        in[count++] = from[slots->bias];
    if (conv.has_x_zero)
        in[count++] = broadcast(&from[slots->x_zero], &one);
    if (conv.has_w_zero)
        in[count++] = broadcast_channels(&from[slots->w_zero], &channels);
    for (uint32_t i = 0; i < conv.spatial; i++) {
        conv.strides[i] = steps->strides[i];
        conv.dilations[i] = steps->dilations[i];
        conv.pad_start[i] = steps->start[i];
    }
    struct graph_op *op = lower_op(lowering, KERN_CONV, in, count, sums, 1);
    if (op)
        op->k.u.conv = conv;
}

HRESULT lower_convolution_integer(struct graph_lowering *lowering)
{
    const DML_CONVOLUTION_INTEGER_OPERATOR_DESC *desc = LOWER_DESC(lowering, CONVOLUTION_INTEGER);
    struct conv_steps steps = { desc->Strides, desc->Dilations, desc->StartPadding, desc->EndPadding,
                                desc->GroupCount };
    convolve(lowering, &(struct conv_slots){ 0, 1, 2, 3, GRAPH_NONE }, &steps, &lowering->outputs[0]);
    return lower_done(lowering);
}

/* X, XScale, XZeroPoint?, Filter, FilterScale, FilterZeroPoint?, Bias?, OutputScale, OutputZeroPoint?. */
HRESULT lower_quantized_convolution(struct graph_lowering *lowering)
{
    const DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC *desc = LOWER_DESC(lowering, QUANTIZED_LINEAR_CONVOLUTION);
    const struct graph_operand *from = lowering->inputs;
    const struct kern_view *out = &lowering->outputs[0].view;
    struct conv_steps steps = { desc->Strides, desc->Dilations, desc->StartPadding, desc->EndPadding,
                                desc->GroupCount };
    struct graph_operand sums = sums_temp(lowering), zero_point = from[8];
    struct kern_view channels = channels_like(out);
    struct graph_operand scales[3] = { broadcast(&from[1], &channels), broadcast_channels(&from[4], &channels),
                                       broadcast(&from[7], &channels) };
    struct graph_operand joined = join_scales(lowering, scales, 3, &channels), scale = lower_broadcast(&joined, out);
    if (lower_present(&zero_point))
        zero_point = broadcast(&zero_point, out);
    convolve(lowering, &(struct conv_slots){ 0, 2, 3, 5, 6 }, &steps, &sums);
    return requantize(lowering, &sums, &scale, &zero_point);
}
