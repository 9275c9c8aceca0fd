/* SPDX-License-Identifier: Apache-2.0 */
#include "onnx/convert/quant.h"

bool onnx_is_4bit(int32_t type)
{
    return type == ONNX_UINT4 || type == ONNX_INT4;
}

struct onnx_quantized onnx_quantized_in(struct onnx_builder *b, const struct onnx_node *n, uint32_t first)
{
    return (struct onnx_quantized){ onnx_in(b, n, first), onnx_in(b, n, first + 1), onnx_in_optional(b, n, first + 2) };
}

struct onnx_quantized onnx_quantized_out(struct onnx_builder *b, const struct onnx_node *n, uint32_t first)
{
    return (struct onnx_quantized){ NULL, onnx_in(b, n, first), onnx_in_optional(b, n, first + 1) };
}

/* ---- granularity of scales ---- */

static int64_t product(const int64_t *dims, uint32_t from, uint32_t to)
{
    int64_t n = 1;
    for (uint32_t i = from; i < to; i++)
        n *= dims[i];
    return n;
}

/* [outer, blocks, 1, inner] -> one value for each of `size` elements on the axis: [outer, size, 1, inner]. */
static struct onnx_value *broadcast_blocks(struct onnx_builder *b, struct onnx_value *v, const int64_t *blocks,
                                           int64_t block, int64_t size)
{
    int64_t inner = blocks[3], padded = blocks[1] * block;
    const int64_t repeated[4] = { blocks[0], blocks[1], block, inner }, dims[4] = { blocks[0], size, 1, inner };
    const uint32_t repeat[4] = { (uint32_t)(blocks[1] * inner), (uint32_t)inner, 0, 1 };
    const uint32_t crop[4] = { (uint32_t)(padded * inner), (uint32_t)inner, (uint32_t)inner, 1 };
    /* 4-bit elements cannot be copied: they are processed as bytes. */
    if (v && onnx_is_4bit(v->type))
        v = onnx_convert_4bit(b, v, v->type == ONNX_INT4 ? ONNX_INT8 : ONNX_UINT8);
    return onnx_view(b, onnx_view(b, v, 4, repeated, repeat), 4, dims, crop);
}

static bool grain_blocks(struct onnx_builder *b, struct onnx_quantized *q, const struct onnx_value *x, uint32_t axis,
                         int64_t block, struct onnx_grain *out)
{
    const struct onnx_value *scale = q->scale;
    int64_t size = x->dims[axis], blocks = scale->dims[axis];
    block = block ? block : blocks ? (size + blocks - 1) / blocks : 1;
    for (uint32_t i = 0; i < x->rank; i++) {
        int64_t wanted = i == axis ? (size + block - 1) / block : x->dims[i];
        if (scale->dims[i] != wanted)
            return onnx_misfit(b, "dimension %u of '%s' is %lld instead of %lld", i, scale->name,
                               (long long)scale->dims[i], (long long)wanted);
    }
    int64_t outer = product(x->dims, 0, axis), inner = product(x->dims, axis + 1, x->rank);
    *out = (struct onnx_grain){ { outer, blocks, block, inner }, { outer, blocks, 1, inner }, false };
    if (blocks * block == size)
        return true;
    q->scale = broadcast_blocks(b, q->scale, out->scale, block, size);
    q->zero_point = q->zero_point ? broadcast_blocks(b, q->zero_point, out->scale, block, size) : NULL;
    *out = (struct onnx_grain){ { outer, size, 1, inner }, { outer, size, 1, inner }, true };
    return !b->failed;
}

bool onnx_grain_find(struct onnx_builder *b, struct onnx_quantized *q, const struct onnx_value *x, int64_t axis,
                     int64_t block_size, struct onnx_grain *out)
{
    const struct onnx_value *scale = q->scale, *zero = q->zero_point;
    uint32_t at;
    if (!x || !scale || b->failed)
        return false;
    if (zero && onnx_elements(zero) != onnx_elements(scale))
        return onnx_misfit(b, "'%s' has %lld elements, '%s' %lld", zero->name, (long long)onnx_elements(zero),
                           scale->name, (long long)onnx_elements(scale));
    if (block_size < 0)
        return onnx_fail(b, "block_size is %lld", (long long)block_size);
    if (onnx_elements(scale) == 1 && !block_size) {
        *out = (struct onnx_grain){ { 1, 1, 1, onnx_elements(x) }, { 1, 1, 1, 1 }, false };
        return true;
    }
    if (!onnx_axis(b, axis, x->rank, &at))
        return false;
    if (block_size || (scale->rank == x->rank && scale->rank > 1))
        return scale->rank == x->rank
                   ? grain_blocks(b, q, x, at, block_size, out)
                   : onnx_fail(b, "'%s' has %u dimensions instead of %u", scale->name, scale->rank, x->rank);
    if (scale->rank != 1 || scale->dims[0] != x->dims[at])
        return onnx_misfit(b, "'%s' must have one value, or %lld for axis %u", scale->name, (long long)x->dims[at], at);
    int64_t outer = product(x->dims, 0, at), inner = product(x->dims, at + 1, x->rank);
    *out = (struct onnx_grain){ { outer, x->dims[at], 1, inner }, { 1, x->dims[at], 1, 1 }, false };
    return true;
}

/* ---- conversions ---- */

struct onnx_value *onnx_reinterpret(struct onnx_builder *b, struct onnx_value *x, int32_t type, uint32_t rank,
                                    const int64_t *dims)
{
    struct onnx_value *y = x ? onnx_temp(b, type, rank, dims) : NULL, same;
    if (!y)
        return NULL;
    if (onnx_value_bytes(y) != onnx_value_bytes(x)) {
        onnx_misfit(b, "'%s' has %llu bytes instead of %llu", x->name, (unsigned long long)onnx_value_bytes(x),
                    (unsigned long long)onnx_value_bytes(y));
        return NULL;
    }
    same = *x;
    same.rank = rank;
    memcpy(same.dims, y->dims, sizeof(same.dims));
    return onnx_alias(b, y, &same) ? y : NULL;
}

static struct onnx_value *zero_of(struct onnx_builder *b, int32_t type)
{
    static const uint8_t zero[8] = { 0 };
    return onnx_constant(b, type, 0, NULL, zero, onnx_bytes(type, 1));
}

/* QUANTIZE and DEQUANTIZE, the only operators with 4-bit tensors. The default zero point is the middle of an unsigned
 * range in DirectML, 0 in ONNX. */
static struct onnx_value *emit_blocks(struct onnx_builder *b, bool forward, struct onnx_value *x,
                                      const struct onnx_quantized *q, const struct onnx_grain *grain, int32_t type)
{
    struct onnx_value *y = x ? onnx_temp(b, type, x->rank, x->dims) : NULL, *in[3] = { x, q->scale, q->zero_point };
    struct onnx_desc d[4];
    if (y && !in[2])
        in[2] = zero_of(b, forward ? type : x->type);
    if (!y || !in[1] || !in[2])
        return NULL;
    const DML_TENSOR_DESC *tx = onnx_desc_as(b, &d[0], x, 4, grain->data);
    const DML_TENSOR_DESC *scale = onnx_desc_as(b, &d[1], in[1], 4, grain->scale);
    const DML_TENSOR_DESC *zero = q->zero_point ? onnx_desc_as(b, &d[2], in[2], 4, grain->scale)
                                                : onnx_desc_broadcast(b, &d[2], in[2], 4, grain->scale);
    const DML_TENSOR_DESC *ty = onnx_desc_as(b, &d[3], y, 4, grain->data);
    if (!tx || !scale || !zero || !ty)
        return NULL;
    const DML_TENSOR_DESC parameters[2] = { *scale, *zero };
    DML_QUANTIZE_OPERATOR_DESC desc = { tx, DML_QUANTIZATION_TYPE_SCALE_ZERO_POINT, 2, parameters, ty };
    return onnx_emit(b, forward ? DML_OPERATOR_QUANTIZE : DML_OPERATOR_DEQUANTIZE, &desc, in, 3, &y, 1) ? y : NULL;
}

/* v, whose sizes are grain->scale, broadcast to the data. */
static const DML_TENSOR_DESC *desc_of_scale(struct onnx_builder *b, struct onnx_desc *d, struct onnx_value *v,
                                            const struct onnx_grain *grain)
{
    uint32_t packed[4];
    onnx_packed_strides(4, grain->scale, packed);
    for (uint32_t i = 0; i < 4; i++)
        packed[i] = grain->scale[i] == 1 ? 0 : packed[i];
    return onnx_desc_strided(b, d, v, 4, grain->data, packed);
}

static struct onnx_value *emit_linear(struct onnx_builder *b, DML_OPERATOR_TYPE operator, struct onnx_value * x,
                                      const struct onnx_quantized *q, const struct onnx_grain *grain, int32_t type)
{
    struct onnx_value *y = x ? onnx_temp(b, type, x->rank, x->dims) : NULL, *in[3] = { x, q->scale, q->zero_point };
    struct onnx_desc d[4];
    if (!y || !q->scale)
        return NULL;
    DML_ELEMENT_WISE_QUANTIZE_LINEAR_OPERATOR_DESC desc = {
        onnx_desc_as(b, &d[0], x, 4, grain->data),
        desc_of_scale(b, &d[1], q->scale, grain),
        desc_of_scale(b, &d[2], q->zero_point, grain),
        onnx_desc_as(b, &d[3], y, 4, grain->data),
    };
    return onnx_emit(b, operator, & desc, in, 3, &y, 1) ? y : NULL;
}

static struct onnx_value *convert_to_4bit(struct onnx_builder *b, struct onnx_value *x, int32_t type)
{
    struct onnx_value *bits = onnx_convert(b, onnx_convert(b, x, ONNX_INT32), ONNX_UINT32);
    const struct onnx_grain all = { { 1, 1, 1, x ? onnx_elements(x) : 1 }, { 1, 1, 1, 1 }, false };
    struct onnx_quantized q = { .scale = onnx_scalar(b, ONNX_FLOAT, 1) };
    bits = onnx_apply2(b, DML_OPERATOR_ELEMENT_WISE_BIT_AND, bits, onnx_scalar(b, ONNX_UINT32, 15));
    struct onnx_value *number = onnx_convert(b, bits, ONNX_FLOAT);
    if (type == ONNX_INT4) { /* 8 .. 15 are -8 .. -1 */
        struct onnx_value *below =
            onnx_apply2(b, DML_OPERATOR_ELEMENT_WISE_SUBTRACT, number, onnx_scalar(b, ONNX_FLOAT, 16));
        struct onnx_value *high =
            onnx_apply2(b, DML_OPERATOR_ELEMENT_WISE_LOGICAL_GREATER_THAN, number, onnx_scalar(b, ONNX_FLOAT, 7));
        number = onnx_select(b, high, below, number);
    }
    return emit_blocks(b, true, number, &q, &all, type);
}

struct onnx_value *onnx_convert_4bit(struct onnx_builder *b, struct onnx_value *x, int32_t type)
{
    if (!x || x->type == type)
        return x;
    const struct onnx_grain all = { { 1, 1, 1, onnx_elements(x) }, { 1, 1, 1, 1 }, false };
    struct onnx_quantized q = { x, NULL, NULL };
    if (onnx_is_4bit(x->type)) {
        q.scale = onnx_scalar(b, ONNX_FLOAT, 1);
        x = emit_blocks(b, false, x, &q, &all, ONNX_FLOAT);
    }
    return onnx_is_4bit(type) ? convert_to_4bit(b, x, type) : onnx_convert(b, x, type);
}

struct onnx_value *onnx_less_zero_point(struct onnx_builder *b, struct onnx_value *x, struct onnx_value *zero_point,
                                        int32_t type)
{
    struct onnx_value *wide = onnx_convert_4bit(b, x, type);
    if (!zero_point)
        return wide;
    return onnx_apply2(b, DML_OPERATOR_ELEMENT_WISE_SUBTRACT, wide, onnx_convert_4bit(b, zero_point, type));
}

/* ---- both directions ---- */

static bool same_type(struct onnx_builder *b, const struct onnx_value *zero_point, int32_t type)
{
    if (zero_point && zero_point->type != type)
        return onnx_fail(b, "zero point '%s' is %s instead of %s", zero_point->name, onnx_type_name(zero_point->type),
                         onnx_type_name(type));
    return true;
}

static bool is_float(int32_t type)
{
    return type == ONNX_FLOAT || type == ONNX_FLOAT16 || type == ONNX_BFLOAT16;
}

struct onnx_value *onnx_dequantize(struct onnx_builder *b, const struct onnx_quantized *q,
                                   const struct onnx_grain *grain)
{
    if (!q->x || !q->scale || b->failed)
        return NULL;
    int32_t type = q->x->type;
    if (!is_float(q->scale->type) || (!grain->ragged && !same_type(b, q->zero_point, type))) {
        onnx_fail(b, "a scale of %s is not supported", onnx_type_name(q->scale->type));
        return NULL;
    }
    if (!onnx_is_4bit(type))
        return emit_linear(b, DML_OPERATOR_ELEMENT_WISE_DEQUANTIZE_LINEAR, q->x, q, grain, q->scale->type);
    if (!grain->ragged)
        return emit_blocks(b, false, q->x, q, grain, q->scale->type);
    struct onnx_quantized bytes = *q;
    bytes.x = onnx_convert_4bit(b, q->x, type == ONNX_INT4 ? ONNX_INT8 : ONNX_UINT8);
    return emit_linear(b, DML_OPERATOR_ELEMENT_WISE_DEQUANTIZE_LINEAR, bytes.x, &bytes, grain, q->scale->type);
}

static bool type_range(int32_t type, double *low, double *high)
{
    switch (type) {
    case ONNX_UINT8:
        return *low = 0, *high = 255, true;
    case ONNX_INT8:
        return *low = -128, *high = 127, true;
    case ONNX_UINT16:
        return *low = 0, *high = 65535, true;
    case ONNX_INT16:
        return *low = -32768, *high = 32767, true;
    case ONNX_UINT4:
        return *low = 0, *high = 15, true;
    case ONNX_INT4:
        return *low = -8, *high = 7, true;
    default:
        return false;
    }
}

/* Not available as a single operator: clamp(round(x / scale) + zero point) in FLOAT32. */
static struct onnx_value *quantize_in_steps(struct onnx_builder *b, struct onnx_value *x,
                                            const struct onnx_quantized *q, const struct onnx_grain *grain,
                                            int32_t type)
{
    double low = 0, high = 0;
    struct onnx_value *data = onnx_convert(b, onnx_as(b, x, 4, grain->data), ONNX_FLOAT);
    struct onnx_value *scale = onnx_convert(b, onnx_as(b, q->scale, 4, grain->scale), ONNX_FLOAT);
    struct onnx_value *y = onnx_round_even(b, onnx_apply2(b, DML_OPERATOR_ELEMENT_WISE_DIVIDE, data, scale));
    type_range(type, &low, &high);
    if (q->zero_point) {
        struct onnx_value *zero = onnx_convert_4bit(b, onnx_as(b, q->zero_point, 4, grain->scale), ONNX_FLOAT);
        y = onnx_apply2(b, DML_OPERATOR_ELEMENT_WISE_ADD, y, zero);
    }
    /* NaN becomes the lowest, as in QUANTIZE_LINEAR; MAX would keep it. */
    struct onnx_value *lowest = onnx_scalar(b, ONNX_FLOAT, low);
    y = onnx_select(b, onnx_apply2(b, DML_OPERATOR_ELEMENT_WISE_LOGICAL_GREATER_THAN, y, lowest), y, lowest);
    y = onnx_apply2(b, DML_OPERATOR_ELEMENT_WISE_MIN, y, onnx_scalar(b, ONNX_FLOAT, high));
    return onnx_as(b, onnx_convert_4bit(b, y, type), x->rank, x->dims);
}

struct onnx_value *onnx_quantize(struct onnx_builder *b, struct onnx_value *x, const struct onnx_quantized *q,
                                 const struct onnx_grain *grain, int32_t type)
{
    struct onnx_quantized own = *q;
    double low, high;
    if (!x || !q->scale || b->failed)
        return NULL;
    if (!type_range(type, &low, &high)) {
        onnx_fail(b, "quantising to data type %s is not supported", onnx_type_name(type));
        return NULL;
    }
    if (!grain->ragged && !same_type(b, q->zero_point, type))
        return NULL;
    if (x->type == ONNX_INT32 || (is_float(x->type) && x->type != q->scale->type)) {
        own.scale = onnx_convert(b, q->scale, ONNX_FLOAT);
        x = x->type == ONNX_INT32 && onnx_bytes(type, 2) == 2 ? x : onnx_convert(b, x, ONNX_FLOAT);
    }
    if (onnx_bytes(type, 2) > 2 || (onnx_is_4bit(type) && grain->ragged))
        return quantize_in_steps(b, x, &own, grain, type);
    return onnx_is_4bit(type) ? emit_blocks(b, true, x, &own, grain, type)
                              : emit_linear(b, DML_OPERATOR_ELEMENT_WISE_QUANTIZE_LINEAR, x, &own, grain, type);
}

struct onnx_value *onnx_dequantize_all(struct onnx_builder *b, const struct onnx_quantized *q)
{
    struct onnx_quantized own = *q;
    struct onnx_grain grain;
    if (!q->x || !q->scale)
        return NULL;
    if (onnx_elements(q->scale) != 1) {
        onnx_fail(b, "scale '%s' must be one value", q->scale->name);
        return NULL;
    }
    return onnx_grain_find(b, &own, q->x, 0, 0, &grain) ? onnx_dequantize(b, &own, &grain) : NULL;
}

struct onnx_value *onnx_quantize_all(struct onnx_builder *b, struct onnx_value *x, const struct onnx_quantized *q,
                                     int32_t type)
{
    struct onnx_quantized own = *q;
    struct onnx_grain grain;
    if (!x || !q->scale)
        return NULL;
    if (onnx_elements(q->scale) != 1) {
        onnx_fail(b, "scale '%s' must be one value", q->scale->name);
        return NULL;
    }
    return onnx_grain_find(b, &own, x, 0, 0, &grain) ? onnx_quantize(b, x, &own, &grain, type) : NULL;
}
