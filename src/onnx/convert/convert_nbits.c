/* SPDX-License-Identifier: Apache-2.0 */
/* Weights of 2, 4 and 8 bits in blocks, packed in bytes with the first element in the low bits. */
#include "onnx/convert/converters.h"
#include "onnx/convert/quant.h"

#define LIMIT (1 << 28) /* limit of sizes, so that their products fit 64 bits */

struct packed {
    uint32_t bits;
    int64_t block, blocks, rows; /* elements of a block, blocks of a row */
};

/* Bytes [rows, bytes] of 2-bit elements -> UINT8 [rows, 4 * bytes]. */
static struct onnx_value *unpack_pairs(struct onnx_builder *b, struct onnx_value *x, int64_t rows, int64_t bytes)
{
    static const uint8_t shifts[4] = { 0, 2, 4, 6 }, mask = 3;
    const int64_t lanes = 4, one = 1, wide[2] = { rows * bytes, 1 }, dims[2] = { rows, 4 * bytes };
    struct onnx_value *shift = onnx_constant(b, ONNX_UINT8, 1, &lanes, shifts, sizeof(shifts));
    struct onnx_value *low = onnx_constant(b, ONNX_UINT8, 1, &one, &mask, 1);
    struct onnx_value *y =
        onnx_apply2(b, DML_OPERATOR_ELEMENT_WISE_BIT_SHIFT_RIGHT, x ? onnx_as(b, x, 2, wide) : NULL, shift);
    return onnx_as(b, onnx_apply2(b, DML_OPERATOR_ELEMENT_WISE_BIT_AND, y, low), 2, dims);
}

/* Bytes as [rows, bytes * 8 / bits] elements of UINT8 or UINT4. */
static struct onnx_value *unpack(struct onnx_builder *b, struct onnx_value *x, uint32_t bits, int64_t rows)
{
    int64_t bytes = x && rows ? onnx_elements(x) / rows : 0;
    const int64_t dims[2] = { rows, bytes * 8 / bits };
    if (!x || bits == 8)
        return onnx_as(b, x, 2, dims);
    return bits == 4 ? onnx_reinterpret(b, x, ONNX_UINT4, 2, dims) : unpack_pairs(b, x, rows, bytes);
}

/* DEQUANTIZE of [rows, blocks, block] with scale [rows, blocks, 1] and a zero point whose rows have length zero_row.
 * The default zero point is the middle of the range, as in DirectML except for 2 bits. */
static struct onnx_value *emit_blocks(struct onnx_builder *b, const struct packed *p, struct onnx_value *x,
                                      struct onnx_value *scale, struct onnx_value *zero)
{
    const int64_t full[3] = { p->rows, p->blocks, p->block }, each[3] = { p->rows, p->blocks, 1 };
    struct onnx_value *in[3] = { x, scale, zero };
    struct onnx_desc d[4];
    static const uint8_t middle = 2;
    uint32_t strides[3] = { 0 };
    if (!x || !scale)
        return NULL;
    struct onnx_value *y = onnx_temp(b, scale->type, 3, full);
    if (zero) {
        strides[0] = (uint32_t)zero->dims[zero->rank - 1];
        strides[1] = 1;
    } else if (p->bits == 2) {
        in[2] = onnx_constant(b, ONNX_UINT8, 0, NULL, &middle, 1);
    }
    const DML_TENSOR_DESC *tx = onnx_desc_as(b, &d[0], x, 3, full), *ts = onnx_desc_as(b, &d[1], scale, 3, each);
    const DML_TENSOR_DESC *tz = onnx_desc_strided(b, &d[2], in[2], 3, each, strides), *ty = onnx_desc(b, &d[3], y);
    if (!tx || !ts || !ty || (in[2] && !tz))
        return NULL;
    const DML_TENSOR_DESC parameters[2] = { *ts, tz ? *tz : *ts };
    DML_DEQUANTIZE_OPERATOR_DESC desc = { tx, tz ? DML_QUANTIZATION_TYPE_SCALE_ZERO_POINT : DML_QUANTIZATION_TYPE_SCALE,
                                          tz ? 2 : 1, parameters, ty };
    return onnx_emit(b, DML_OPERATOR_DEQUANTIZE, &desc, in, tz ? 3 : 2, &y, 1) ? y : NULL;
}

/* (x - zero point) * scale with a floating-point zero point. */
static struct onnx_value *float_zero(struct onnx_builder *b, const struct packed *p, struct onnx_value *x,
                                     struct onnx_value *scale, struct onnx_value *zero)
{
    const int64_t full[3] = { p->rows, p->blocks, p->block }, each[3] = { p->rows, p->blocks, 1 };
    struct onnx_value *wide = onnx_as(b, onnx_convert_4bit(b, x, ONNX_FLOAT), 3, full);
    struct onnx_value *offset = onnx_convert(b, onnx_as(b, zero, 3, each), ONNX_FLOAT);
    struct onnx_value *factor = onnx_convert(b, onnx_as(b, scale, 3, each), ONNX_FLOAT);
    struct onnx_value *y = onnx_apply2(b, DML_OPERATOR_ELEMENT_WISE_SUBTRACT, wide, offset);
    y = onnx_apply2(b, DML_OPERATOR_ELEMENT_WISE_MULTIPLY, y, factor);
    return scale ? onnx_convert(b, y, scale->type) : NULL;
}

/* [rows, blocks * block] of the scale's type; x and a UINT8 zero point are packed, each row separately. */
static struct onnx_value *unpack_floats(struct onnx_builder *b, const struct packed *p, struct onnx_value *x,
                                        struct onnx_value *scale, struct onnx_value *zero)
{
    int64_t zero_bytes = (p->blocks * p->bits + 7) / 8;
    const int64_t dims[2] = { p->rows, p->blocks * p->block };
    if (!x || !scale || b->failed)
        return NULL;
    if (x->type != ONNX_UINT8 || onnx_elements(x) * 8 != dims[0] * dims[1] * p->bits ||
        onnx_elements(scale) != p->rows * p->blocks) {
        onnx_misfit(b, "'%s' or '%s' does not have %lld rows of %lld blocks", x->name, scale->name, (long long)p->rows,
                    (long long)p->blocks);
        return NULL;
    }
    bool packed_zero = zero && zero->type == ONNX_UINT8;
    if (zero && onnx_elements(zero) != p->rows * (packed_zero ? zero_bytes : p->blocks)) {
        onnx_misfit(b, "zero points '%s' have %lld elements", zero->name, (long long)onnx_elements(zero));
        return NULL;
    }
    x = unpack(b, x, p->bits, p->rows);
    if (zero && !packed_zero)
        return onnx_as(b, float_zero(b, p, x, scale, zero), 2, dims);
    zero = zero ? unpack(b, zero, p->bits, p->rows) : NULL;
    return b->failed ? NULL : onnx_as(b, emit_blocks(b, p, x, scale, zero), 2, dims);
}

static bool nbits_read(struct onnx_builder *b, const struct onnx_node *n, struct packed *p, int64_t *k)
{
    int64_t bits = onnx_attr_int(n, "bits", 4), block = onnx_attr_int(n, "block_size", 0);
    *k = onnx_attr_int(n, "K", 0);
    p->rows = onnx_attr_int(n, "N", 0);
    if (bits != 2 && bits != 4 && bits != 8)
        return onnx_fail(b, "%lld bits are not supported", (long long)bits);
    if (block < 16 || block > LIMIT || (block & (block - 1)) || *k < 1 || *k > LIMIT || p->rows < 1 || p->rows > LIMIT)
        return onnx_fail(b, "K %lld, N %lld, block_size %lld", (long long)*k, (long long)p->rows, (long long)block);
    if (onnx_attr_int(n, "weight_prepacked", 0))
        return onnx_fail(b, "weights packed for another provider are not supported");
    if (n->input_count > 4 && n->inputs[4][0])
        return onnx_fail(b, "g_idx is not supported");
    p->bits = (uint32_t)bits;
    p->block = block;
    p->blocks = (*k + block - 1) / block;
    return true;
}

/* Level 4 allows 8-bit activations. It becomes a flag of the whole graph if all quantised weights allow it. */
static struct onnx_value *nbits_weights(struct onnx_builder *b, const struct onnx_node *n, const struct packed *p,
                                        struct onnx_value *scale)
{
    const uint32_t before = b->dequantised;
    struct onnx_value *y = unpack_floats(b, p, onnx_in(b, n, 1), scale, onnx_in_optional(b, n, 3));
    if (onnx_attr_int(n, "accuracy_level", 0) == 4)
        b->coarse += b->dequantised - before;
    return y;
}

bool onnx_matmul_nbits(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *x = onnx_in(b, n, 0), *scale = onnx_in(b, n, 2), *bias = onnx_in_optional(b, n, 5);
    struct packed p = { 0 };
    struct onnx_desc d[4];
    int64_t k, dims[ONNX_RANK_MAX];
    if (!x || !scale || b->failed || !nbits_read(b, n, &p, &k))
        return false;
    if (!x->rank || x->dims[x->rank - 1] != k)
        return onnx_misfit(b, "rows of '%s' must have %lld elements", x->name, (long long)k);
    if (bias && onnx_elements(bias) != p.rows)
        return onnx_misfit(b, "bias '%s' has %lld values", bias->name, (long long)onnx_elements(bias));
    memcpy(dims, x->dims, sizeof(dims));
    dims[x->rank - 1] = p.rows;
    struct onnx_value *weights = nbits_weights(b, n, &p, scale);
    struct onnx_value *in[3] = { x, weights, bias }, *y = onnx_out(b, n, 0, x->type, x->rank, dims);
    if (!weights || !y)
        return false;
    const int64_t rows = onnx_elements(x) / k, dx[2] = { rows, k }, dw[2] = { p.rows, k }, dy[2] = { rows, p.rows };
    const uint32_t stride[2] = { (uint32_t)(p.blocks * p.block), 1 };
    DML_GEMM_OPERATOR_DESC desc = {
        .ATensor = onnx_desc_as(b, &d[0], x, 2, dx),
        .BTensor = onnx_desc_strided(b, &d[1], weights, 2, dw, stride),
        .CTensor = onnx_desc_broadcast(b, &d[2], bias, 2, dy),
        .OutputTensor = onnx_desc_as(b, &d[3], y, 2, dy),
        .TransB = DML_MATRIX_TRANSFORM_TRANSPOSE,
        .Alpha = 1.0f,
        .Beta = 1.0f,
    };
    return onnx_emit(b, DML_OPERATOR_GEMM, &desc, in, 3, &y, 1);
}

/* ---- GatherBlockQuantized ---- */

static struct onnx_value *gather(struct onnx_builder *b, const struct onnx_node *n, struct onnx_value *x, uint32_t axis)
{
    const char *name = onnx_new_name(b);
    if (!x || !name)
        return NULL;
    const struct onnx_attribute attribute = { .name = "axis", .i = axis };
    const char *inputs[2] = { x->name, n->inputs[1] };
    const struct onnx_node node = { .op = "Gather",
                                    .domain = "",
                                    .name = n->name,
                                    .inputs = inputs,
                                    .outputs = &name,
                                    .input_count = 2,
                                    .output_count = 1,
                                    .attributes = &attribute,
                                    .attribute_count = 1,
                                    .version = 13 };
    return onnx_convert_as(b, &node) ? onnx_value_find(b, name) : NULL;
}

/* The table's elements one by one: only whole bytes are gathered, so packed elements are unpacked first unless their
 * rows are whole bytes. */
static struct onnx_value *table(struct onnx_builder *b, struct onnx_value *x, uint32_t bits, int64_t last)
{
    int64_t dims[ONNX_RANK_MAX], rows = 1;
    memcpy(dims, x->dims, sizeof(dims));
    for (uint32_t i = 0; i + 1 < x->rank; i++)
        rows *= dims[i];
    if (x->type != ONNX_UINT8)
        return onnx_convert_4bit(b, x, x->type == ONNX_INT4 ? ONNX_INT8 : ONNX_UINT8);
    struct onnx_value *y = onnx_convert_4bit(b, unpack(b, x, bits, rows), ONNX_UINT8);
    const int64_t own = dims[x->rank - 1] * 8 / bits, view[2] = { rows, last };
    if (own < last) {
        onnx_misfit(b, "'%s' has %lld values in a row instead of %lld", x->name, (long long)own, (long long)last);
        return NULL;
    }
    const uint32_t strides[2] = { (uint32_t)own, 1 };
    dims[x->rank - 1] = last;
    return onnx_as(b, onnx_view(b, y, 2, view, strides), x->rank, dims);
}

struct gather_axes {
    uint32_t gather, quantize;
    int64_t block;
    uint32_t bits;
};

static bool gather_read(struct onnx_builder *b, const struct onnx_node *n, const struct onnx_value *x,
                        struct gather_axes *a)
{
    int64_t bits = onnx_attr_int(n, "bits", 4);
    a->block = onnx_attr_int(n, "block_size", 128);
    if (!onnx_axis(b, onnx_attr_int(n, "gather_axis", 0), x->rank, &a->gather) ||
        !onnx_axis(b, onnx_attr_int(n, "quantize_axis", 1), x->rank, &a->quantize))
        return false;
    if (a->block < 16 || (a->block & (a->block - 1)))
        return onnx_fail(b, "block_size %lld", (long long)a->block);
    if (x->type == ONNX_UINT8 && bits != 2 && bits != 4 && bits != 8)
        return onnx_fail(b, "%lld bits are not supported", (long long)bits);
    a->bits = (uint32_t)bits;
    return true;
}

/* Whole blocks are gathered, then dequantised; if the gathered axis is that of the blocks, the other way round. */
bool onnx_gather_block_quantized(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *x = onnx_in(b, n, 0), *indices = onnx_in(b, n, 1);
    struct onnx_quantized q = { NULL, onnx_in(b, n, 2), onnx_in_optional(b, n, 3) };
    struct onnx_grain grain;
    struct gather_axes a;
    if (!x || !indices || !q.scale || b->failed || !gather_read(b, n, x, &a))
        return false;
    const uint32_t before = b->dequantised;
    bool bytes = x->type == ONNX_UINT8, first = a.gather != a.quantize;
    if ((!bytes && !onnx_is_4bit(x->type)) || (q.zero_point && q.zero_point->type != x->type))
        return onnx_fail(b, "data of %s is not supported, or zero points are of another type", onnx_type_name(x->type));
    if (q.scale->rank != x->rank || (q.zero_point && q.zero_point->rank != x->rank))
        return onnx_fail(b, "data, scales and zero points differ in rank");
    /* Rows of bytes are gathered packed. */
    bool whole = bytes && first && a.gather + 1 < x->rank;
    const int64_t last = x->dims[x->rank - 1] * (bytes ? 8 / a.bits : 1), scale_last = q.scale->dims[x->rank - 1];
    uint32_t bits = a.bits;
    q.x = whole ? gather(b, n, x, a.gather) : x;
    q.zero_point = whole && q.zero_point ? gather(b, n, q.zero_point, a.gather) : q.zero_point;
    if (!q.x || b->failed)
        return false;
    q.x = table(b, q.x, bits, last);
    q.zero_point = q.zero_point ? table(b, q.zero_point, bits, scale_last) : NULL;
    if (bytes && !q.zero_point) {
        const uint8_t middle = (uint8_t)(1u << (bits - 1));
        const uint32_t same[ONNX_RANK_MAX] = { 0 };
        q.zero_point =
            onnx_view(b, onnx_constant(b, ONNX_UINT8, 0, NULL, &middle, 1), q.scale->rank, q.scale->dims, same);
        q.zero_point = whole ? gather(b, n, q.zero_point, a.gather) : q.zero_point;
    }
    if (first) {
        q.x = whole ? q.x : gather(b, n, q.x, a.gather);
        q.zero_point = whole || !q.zero_point ? q.zero_point : gather(b, n, q.zero_point, a.gather);
        q.scale = gather(b, n, q.scale, a.gather);
        a.quantize += a.quantize > a.gather ? indices->rank - 1 : 0;
    }
    if (!q.x || b->failed || !onnx_grain_find(b, &q, q.x, a.quantize, a.block, &grain))
        return false;
    struct onnx_value *y = onnx_dequantize(b, &q, &grain);
    /* Rows that are selected when the model runs are not weights, and must not be rounded for a GEMM. */
    if (indices->source != ONNX_SOURCE_CONSTANT)
        b->dequantised = before;
    return onnx_result(b, n, 0, first ? y : gather(b, n, y, a.gather));
}
