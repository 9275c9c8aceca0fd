/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise operators: one table entry each if the formula is one instruction. */
#include "graph/lower/lower.h"

enum {
    SWAP = 1,  /* operands exchanged: a > b is b < a */
    BITS = 2,  /* on the stored bits: floats are reinterpreted as unsigned integers */
    WIDTH = 4, /* p = width of the element in bits */
};

struct map_row {
    DML_OPERATOR_TYPE type;
    enum kern_map_code code;
    uint32_t flags;
    uint16_t scale_bias; /* offset of the DML_SCALE_BIAS pointer, or 0 */
};

/* clang-format off */
#define ROW(op, code, flags) { DML_OPERATOR_ELEMENT_WISE_##op, KERN_MAP_##code, flags, 0 }
#define SCALED(op, code)                                                                                               \
    { DML_OPERATOR_ELEMENT_WISE_##op, KERN_MAP_##code, 0, offsetof(DML_ELEMENT_WISE_##op##_OPERATOR_DESC, ScaleBias) }
/* clang-format on */

static const struct map_row map_rows[] = {
    SCALED(ABS, ABS),
    SCALED(ACOS, ACOS),
    SCALED(ASIN, ASIN),
    SCALED(ATAN, ATAN),
    SCALED(CEIL, CEIL),
    SCALED(COS, COS),
    SCALED(EXP, EXP),
    SCALED(FLOOR, FLOOR),
    SCALED(LOG, LOG),
    SCALED(RECIP, RECIP),
    SCALED(SIN, SIN),
    SCALED(SQRT, SQRT),
    SCALED(TAN, TAN),
    SCALED(ERF, ERF),
    SCALED(SINH, SINH),
    SCALED(COSH, COSH),
    SCALED(TANH, TANH),
    SCALED(ASINH, ASINH),
    SCALED(ACOSH, ACOSH),
    SCALED(ATANH, ATANH),
    ROW(LOGICAL_NOT, NOT, 0),
    ROW(SIGN, SIGN, 0),
    ROW(IS_NAN, IS_NAN, 0),
    ROW(NEGATE, NEG, 0),
    ROW(BIT_NOT, BIT_NOT, BITS),
    ROW(BIT_COUNT, BIT_COUNT, BITS | WIDTH),
    ROW(ADD, ADD, 0),
    ROW(SUBTRACT, SUB, 0),
    ROW(MULTIPLY, MUL, 0),
    ROW(DIVIDE, DIV, 0),
    ROW(MAX, MAX, 0),
    ROW(MIN, MIN, 0),
    ROW(MEAN, MEAN, 0),
    ROW(ATAN_YX, ATAN2, 0),
    ROW(MODULUS_TRUNCATE, MOD_TRUNC, 0),
    ROW(MODULUS_FLOOR, MOD_FLOOR, 0),
    ROW(LOGICAL_AND, AND, 0),
    ROW(LOGICAL_OR, OR, 0),
    ROW(LOGICAL_XOR, XOR, 0),
    ROW(LOGICAL_EQUALS, EQ, 0),
    ROW(LOGICAL_LESS_THAN, LT, 0),
    ROW(LOGICAL_LESS_THAN_OR_EQUAL, LE, 0),
    ROW(LOGICAL_GREATER_THAN, LT, SWAP),
    ROW(LOGICAL_GREATER_THAN_OR_EQUAL, LE, SWAP),
    ROW(BIT_AND, BIT_AND, BITS),
    ROW(BIT_OR, BIT_OR, BITS),
    ROW(BIT_XOR, BIT_XOR, BITS),
    ROW(BIT_SHIFT_LEFT, SHL, BITS | WIDTH),
    ROW(BIT_SHIFT_RIGHT, SHR, BITS | WIDTH),
};

static const struct map_row *row_find(const struct graph_lowering *lowering)
{
    for (size_t i = 0; i < ARRAY_SIZE(map_rows); i++) {
        if (map_rows[i].type == lowering->desc->op->type)
            return &map_rows[i];
    }
    return NULL;
}

static struct graph_operand as_bits(const struct graph_operand *operand)
{
    struct graph_operand result = *operand;
    switch ((uint32_t)operand->view.type) {
    case DML_TENSOR_DATA_TYPE_FLOAT32:
        result.view.type = DML_TENSOR_DATA_TYPE_UINT32;
        break;
    case DML_TENSOR_DATA_TYPE_FLOAT16:
    case ANYDML_TENSOR_DATA_TYPE_BFLOAT16:
        result.view.type = DML_TENSOR_DATA_TYPE_UINT16;
        break;
    case DML_TENSOR_DATA_TYPE_FLOAT64:
        result.view.type = DML_TENSOR_DATA_TYPE_UINT64;
        break;
    default:
        break;
    }
    return result;
}

/* x * Scale + Bias before the operator. Integers: computed in floating point, converted back with truncation. */
static uint32_t emit_scale_bias(struct lower_map *map, uint32_t a, const DML_SCALE_BIAS *scale_bias)
{
    if (!scale_bias)
        return a;
    DML_TENSOR_DATA_TYPE type = lower_map_type(map, a);
    a = lower_emit_convert(map, a, lower_real_type(type));
    a = lower_emit1(map, KERN_MAP_MULADD, a, scale_bias->Scale, scale_bias->Bias);
    return lower_emit_convert(map, a, type);
}

HRESULT lower_unary(struct graph_lowering *lowering)
{
    const struct map_row *row = row_find(lowering);
    bool bits = row->flags & BITS;
    struct graph_operand in = bits ? as_bits(&lowering->inputs[0]) : lowering->inputs[0];
    /* The result of a predicate or a bit count is a number; every other bit operation returns bits. */
    bool bits_out = bits && row->code != KERN_MAP_BIT_COUNT;
    struct graph_operand out = bits_out ? as_bits(&lowering->outputs[0]) : lowering->outputs[0];
    const DML_SCALE_BIAS *scale_bias = NULL;
    if (row->scale_bias)
        memcpy(&scale_bias, (const char *)lowering->desc->desc.Desc + row->scale_bias, sizeof(scale_bias));
    struct lower_map map;
    lower_map_begin(&map, lowering, &in, 1, lower_compute_type(in.view.type));
    uint32_t reg = emit_scale_bias(&map, 0, scale_bias);
    double width = row->flags & WIDTH ? 8.0 * kern_type_bytes(in.view.type) : 0;
    lower_map_end(&map, &out, lower_emit1(&map, row->code, reg, width, 0));
    return lower_done(lowering);
}

HRESULT lower_binary(struct graph_lowering *lowering)
{
    const struct map_row *row = row_find(lowering);
    struct graph_operand in[2] = { lowering->inputs[0], lowering->inputs[1] }, out = lowering->outputs[0];
    if (row->flags & BITS) {
        in[0] = as_bits(&in[0]);
        in[1] = as_bits(&in[1]);
        out = as_bits(&out);
    }
    struct lower_map map;
    lower_map_begin(&map, lowering, in, 2, lower_compute_type(in[0].view.type));
    uint32_t swap = row->flags & SWAP ? 1 : 0;
    uint32_t reg = lower_emit2(&map, lower_extreme(&map, 0, row->code), swap, 1 - swap);
    if (row->flags & WIDTH) /* integer immediate; set after the fact since lower_emit2 takes none */
        map.program.inst[map.program.inst_count - 1].imm[0].u64 = 8u * kern_type_bytes(in[0].view.type);
    lower_map_end(&map, &out, reg);
    return lower_done(lowering);
}

/* IDENTITY of both families; with a scale and bias it computes, else it copies bits. */
HRESULT lower_identity(struct graph_lowering *lowering)
{
    const DML_SCALE_BIAS *scale_bias = NULL;
    if (lowering->desc->op->type == DML_OPERATOR_ELEMENT_WISE_IDENTITY)
        scale_bias = LOWER_DESC(lowering, ELEMENT_WISE_IDENTITY)->ScaleBias;
    if (!scale_bias) {
        lower_move(lowering, lowering->inputs[0], lowering->outputs[0]);
        return lower_done(lowering);
    }
    struct lower_map map;
    lower_map_begin(&map, lowering, lowering->inputs, 1, lower_compute_type(lowering->inputs[0].view.type));
    lower_map_end(&map, &lowering->outputs[0], emit_scale_bias(&map, 0, scale_bias));
    return lower_done(lowering);
}

/* The target type decides the conversion: the element is loaded in its own compute type and stored in the output's. */
HRESULT lower_cast(struct graph_lowering *lowering)
{
    if (lowering->inputs[0].view.type == lowering->outputs[0].view.type) {
        lower_move(lowering, lowering->inputs[0], lowering->outputs[0]);
        return lower_done(lowering);
    }
    struct lower_map map;
    lower_map_begin(&map, lowering, lowering->inputs, 1, lower_compute_type(lowering->inputs[0].view.type));
    lower_map_end(&map, &lowering->outputs[0], 0);
    return lower_done(lowering);
}

static HRESULT clip(struct graph_lowering *lowering, const DML_SCALE_BIAS *scale_bias, union kern_scalar min,
                    union kern_scalar max)
{
    struct lower_map map;
    lower_map_begin(&map, lowering, lowering->inputs, 1, lower_compute_type(lowering->inputs[0].view.type));
    uint32_t reg =
        lower_emit1(&map, lower_extreme(&map, 0, KERN_MAP_CLAMP), emit_scale_bias(&map, 0, scale_bias), 0, 0);
    struct kern_map_inst *inst = &map.program.inst[map.program.inst_count - 1];
    inst->imm[0] = min;
    inst->imm[1] = max;
    lower_map_end(&map, &lowering->outputs[0], reg);
    return lower_done(lowering);
}

/* Converts a FLOAT bound to elements of `type` first: rounded, or truncated and saturated. */
static union kern_scalar element_bound(DML_TENSOR_DATA_TYPE type, float value)
{
    const DML_SCALAR_UNION element = lower_element(type, value);
    return lower_scalar(type, &element, lower_compute_type(type));
}

HRESULT lower_clip(struct graph_lowering *lowering)
{
    const DML_ELEMENT_WISE_CLIP_OPERATOR_DESC *desc = LOWER_DESC(lowering, ELEMENT_WISE_CLIP);
    DML_TENSOR_DATA_TYPE type = lowering->inputs[0].view.type;
    return clip(lowering, desc->ScaleBias, element_bound(type, desc->Min), element_bound(type, desc->Max));
}

/* max(Min, min(u, Max)): CLAMP nests the other way round, which matters for NaN and for crossed bounds. */
HRESULT lower_clip1(struct graph_lowering *lowering)
{
    const DML_ELEMENT_WISE_CLIP1_OPERATOR_DESC *desc = LOWER_DESC(lowering, ELEMENT_WISE_CLIP1);
    DML_TENSOR_DATA_TYPE type = lower_compute_type(lowering->inputs[0].view.type);
    struct lower_map map;
    lower_map_begin(&map, lowering, lowering->inputs, 1, type);
    uint32_t reg = emit_scale_bias(&map, 0, desc->ScaleBias);
    uint32_t max = lower_emit_const(&map, type, lower_scalar(desc->MinMaxDataType, &desc->Max, type));
    reg = lower_emit2(&map, lower_extreme(&map, 0, KERN_MAP_MIN), reg, max);
    uint32_t min = lower_emit_const(&map, type, lower_scalar(desc->MinMaxDataType, &desc->Min, type));
    lower_map_end(&map, &lowering->outputs[0], lower_emit2(&map, lower_extreme(&map, 0, KERN_MAP_MAX), reg, min));
    return lower_done(lowering);
}

HRESULT lower_threshold(struct graph_lowering *lowering)
{
    const DML_ELEMENT_WISE_THRESHOLD_OPERATOR_DESC *desc = LOWER_DESC(lowering, ELEMENT_WISE_THRESHOLD);
    DML_TENSOR_DATA_TYPE type = lower_compute_type(lowering->inputs[0].view.type);
    struct lower_map map;
    lower_map_begin(&map, lowering, lowering->inputs, 1, type);
    uint32_t reg = emit_scale_bias(&map, 0, desc->ScaleBias);
    uint32_t bound = lower_emit_const(&map, type, element_bound(lowering->inputs[0].view.type, desc->Min));
    lower_map_end(&map, &lowering->outputs[0], lower_emit2(&map, lower_extreme(&map, 0, KERN_MAP_MAX), reg, bound));
    return lower_done(lowering);
}

/* dx = x <= Min || x >= Max ? 0 : dy. CLIP_GRAD's bounds are FLOAT, CLIP_GRAD1's typed. */
HRESULT lower_clip_grad(struct graph_lowering *lowering)
{
    DML_TENSOR_DATA_TYPE type = lower_compute_type(lowering->inputs[0].view.type);
    const DML_TENSOR_DATA_TYPE element = lowering->inputs[0].view.type;
    union kern_scalar min, max;
    if (lowering->desc->op->type == DML_OPERATOR_ELEMENT_WISE_CLIP_GRAD1) {
        const DML_ELEMENT_WISE_CLIP_GRAD1_OPERATOR_DESC *desc = LOWER_DESC(lowering, ELEMENT_WISE_CLIP_GRAD1);
        min = lower_scalar(desc->MinMaxDataType, &desc->Min, type);
        max = lower_scalar(desc->MinMaxDataType, &desc->Max, type);
    } else {
        const DML_ELEMENT_WISE_CLIP_GRAD_OPERATOR_DESC *desc = LOWER_DESC(lowering, ELEMENT_WISE_CLIP_GRAD);
        min = element_bound(element, desc->Min);
        max = element_bound(element, desc->Max);
    }
    struct lower_map map;
    lower_map_begin(&map, lowering, lowering->inputs, 2, type);
    uint32_t low = lower_emit_const(&map, type, min), high = lower_emit_const(&map, type, max);
    uint32_t outside =
        lower_emit2(&map, KERN_MAP_OR, lower_emit2(&map, KERN_MAP_LE, 0, low), lower_emit2(&map, KERN_MAP_LE, high, 0));
    uint32_t zero = lower_emit_const(&map, type, (union kern_scalar){ .u64 = 0 });
    lower_map_end(&map, &lowering->outputs[0], lower_emit3(&map, KERN_MAP_SELECT, outside, zero, 1));
    return lower_done(lowering);
}

HRESULT lower_round(struct graph_lowering *lowering)
{
    static const enum kern_map_code codes[] = {
        [DML_ROUNDING_MODE_HALVES_TO_NEAREST_EVEN] = KERN_MAP_RINT,
        [DML_ROUNDING_MODE_TOWARD_ZERO] = KERN_MAP_TRUNC,
        [DML_ROUNDING_MODE_TOWARD_INFINITY] = KERN_MAP_ROUND_AWAY, /* halves away from zero: not ceil */
    };
    struct lower_map map;
    lower_map_begin(&map, lowering, lowering->inputs, 1, lower_compute_type(lowering->inputs[0].view.type));
    enum kern_map_code code = codes[LOWER_DESC(lowering, ELEMENT_WISE_ROUND)->RoundingMode];
    lower_map_end(&map, &lowering->outputs[0], lower_emit1(&map, code, 0, 0, 0));
    return lower_done(lowering);
}

HRESULT lower_is_infinity(struct graph_lowering *lowering)
{
    static const double signs[] = {
        [DML_IS_INFINITY_MODE_EITHER] = 0, [DML_IS_INFINITY_MODE_POSITIVE] = 1, [DML_IS_INFINITY_MODE_NEGATIVE] = -1
    };
    struct lower_map map;
    lower_map_begin(&map, lowering, lowering->inputs, 1, lower_compute_type(lowering->inputs[0].view.type));
    double sign = signs[LOWER_DESC(lowering, ELEMENT_WISE_IS_INFINITY)->InfinityMode];
    lower_map_end(&map, &lowering->outputs[0], lower_emit1(&map, KERN_MAP_IS_INF, 0, sign, 0));
    return lower_done(lowering);
}

HRESULT lower_pow(struct graph_lowering *lowering)
{
    DML_TENSOR_DATA_TYPE base = lowering->inputs[0].view.type, exponent = lowering->inputs[1].view.type;
    bool integer = !lower_is_float(base) && !lower_is_float(exponent);
    /* The lowest bits of a power are the same whether its base has a sign or not. */
    DML_TENSOR_DATA_TYPE type = integer && exponent == DML_TENSOR_DATA_TYPE_UINT64 ? DML_TENSOR_DATA_TYPE_UINT64
                                : integer                                          ? DML_TENSOR_DATA_TYPE_INT64
                                : lower_is_float(base)                             ? lower_compute_type(base)
                                                                                   : DML_TENSOR_DATA_TYPE_FLOAT64;
    struct lower_map map;
    lower_map_begin(&map, lowering, lowering->inputs, 2, type);
    uint32_t reg = emit_scale_bias(&map, 0, LOWER_DESC(lowering, ELEMENT_WISE_POW)->ScaleBias);
    uint32_t power = lower_emit2(&map, KERN_MAP_POW, reg, 1);
    if (base == DML_TENSOR_DATA_TYPE_UINT64 && type == DML_TENSOR_DATA_TYPE_INT64) {
        /* The largest base has the bits of -1, but its negative powers are fractions. */
        const uint32_t greatest = lower_emit_const(&map, type, (union kern_scalar){ .i64 = -1 });
        const uint32_t zero = lower_emit_const(&map, type, (union kern_scalar){ .u64 = 0 });
        const uint32_t fraction = lower_emit2(&map, KERN_MAP_AND, lower_emit2(&map, KERN_MAP_EQ, reg, greatest),
                                              lower_emit2(&map, KERN_MAP_LT, 1, zero));
        power = lower_emit3(&map, KERN_MAP_SELECT, fraction, zero, power);
    }
    lower_map_end(&map, &lowering->outputs[0], power);
    return lower_done(lowering);
}

HRESULT lower_constant_pow(struct graph_lowering *lowering)
{
    const DML_ELEMENT_WISE_CONSTANT_POW_OPERATOR_DESC *desc = LOWER_DESC(lowering, ELEMENT_WISE_CONSTANT_POW);
    DML_TENSOR_DATA_TYPE base = lowering->inputs[0].view.type;
    /* Integers: exact, and wrapping like POW, unless the result may have a fraction. */
    const bool integer = !lower_is_float(base) && desc->Exponent >= 0 && desc->Exponent < 1e9f &&
                         desc->Exponent == (float)(int32_t)desc->Exponent;
    DML_TENSOR_DATA_TYPE type = integer ? DML_TENSOR_DATA_TYPE_INT64 : lower_real_type(base);
    struct lower_map map;
    lower_map_begin(&map, lowering, lowering->inputs, 1, type);
    uint32_t reg = emit_scale_bias(&map, 0, desc->ScaleBias);
    if (desc->Exponent == 2.0f) {
        reg = lower_emit2(&map, KERN_MAP_MUL, reg, reg);
    } else {
        DML_SCALAR_UNION exponent = { .Float32 = desc->Exponent };
        union kern_scalar scalar = lower_scalar(DML_TENSOR_DATA_TYPE_FLOAT32, &exponent, type);
        reg = lower_emit2(&map, KERN_MAP_POW, reg, lower_emit_const(&map, type, scalar));
    }
    lower_map_end(&map, &lowering->outputs[0], reg);
    return lower_done(lowering);
}

HRESULT lower_if(struct graph_lowering *lowering)
{
    struct lower_map map;
    lower_map_begin(&map, lowering, lowering->inputs, 3, lower_compute_type(lowering->inputs[1].view.type));
    lower_map_end(&map, &lowering->outputs[0], lower_emit3(&map, KERN_MAP_SELECT, 0, 1, 2));
    return lower_done(lowering);
}

HRESULT lower_difference_square(struct graph_lowering *lowering)
{
    struct lower_map map;
    lower_map_begin(&map, lowering, lowering->inputs, 2, lower_compute_type(lowering->inputs[0].view.type));
    uint32_t difference = lower_emit2(&map, KERN_MAP_SUB, 0, 1);
    lower_map_end(&map, &lowering->outputs[0], lower_emit2(&map, KERN_MAP_MUL, difference, difference));
    return lower_done(lowering);
}

HRESULT lower_fill(struct graph_lowering *lowering)
{
    const DML_FILL_VALUE_CONSTANT_OPERATOR_DESC *desc = LOWER_DESC(lowering, FILL_VALUE_CONSTANT);
    DML_TENSOR_DATA_TYPE type = lower_compute_type(desc->ValueDataType);
    struct lower_map map;
    lower_map_begin(&map, lowering, NULL, 0, type);
    lower_map_end(&map, &lowering->outputs[0],
                  lower_emit_const(&map, type, lower_scalar(desc->ValueDataType, &desc->Value, type)));
    return lower_done(lowering);
}

/* Out = Scale * X + Bias[c] */
HRESULT lower_value_scale(struct graph_lowering *lowering)
{
    const DML_VALUE_SCALE_2D_OPERATOR_DESC *desc = LOWER_DESC(lowering, VALUE_SCALE_2D);
    struct graph_operand in[2] = { lowering->inputs[0] };
    in[1].value = graph_constant_add(lowering->graph, desc->Bias, desc->ChannelCount * sizeof(float));
    const uint32_t sizes[4] = { 1, desc->ChannelCount, 1, 1 };
    kern_view_set_packed(&in[1].view, DML_TENSOR_DATA_TYPE_FLOAT32, 4, sizes);
    in[1] = lower_broadcast(&in[1], &in[0].view);
    struct lower_map map;
    lower_map_begin(&map, lowering, in, 2, lower_compute_type(in[0].view.type));
    uint32_t scaled = lower_emit1(&map, KERN_MAP_MULADD, 0, desc->Scale, 0);
    lower_map_end(&map, &lowering->outputs[0], lower_emit2(&map, KERN_MAP_ADD, scaled, 1));
    return lower_done(lowering);
}
