/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise operators and activations. */
#include "onnx/convert/converters.h"
#include "onnx/convert/quant.h"
#include "onnx/emit/emit.h"

#include <math.h>

struct name_type {
    const char *op;
    DML_OPERATOR_TYPE type;
};

static const struct name_type unary_rows[] = {
    { "Abs", DML_OPERATOR_ELEMENT_WISE_ABS },          { "Acos", DML_OPERATOR_ELEMENT_WISE_ACOS },
    { "Acosh", DML_OPERATOR_ELEMENT_WISE_ACOSH },      { "Asin", DML_OPERATOR_ELEMENT_WISE_ASIN },
    { "Asinh", DML_OPERATOR_ELEMENT_WISE_ASINH },      { "Atan", DML_OPERATOR_ELEMENT_WISE_ATAN },
    { "Atanh", DML_OPERATOR_ELEMENT_WISE_ATANH },      { "Ceil", DML_OPERATOR_ELEMENT_WISE_CEIL },
    { "Cos", DML_OPERATOR_ELEMENT_WISE_COS },          { "Cosh", DML_OPERATOR_ELEMENT_WISE_COSH },
    { "Erf", DML_OPERATOR_ELEMENT_WISE_ERF },          { "Exp", DML_OPERATOR_ELEMENT_WISE_EXP },
    { "Floor", DML_OPERATOR_ELEMENT_WISE_FLOOR },      { "Log", DML_OPERATOR_ELEMENT_WISE_LOG },
    { "Neg", DML_OPERATOR_ELEMENT_WISE_NEGATE },       { "Not", DML_OPERATOR_ELEMENT_WISE_LOGICAL_NOT },
    { "Reciprocal", DML_OPERATOR_ELEMENT_WISE_RECIP }, { "Sign", DML_OPERATOR_ELEMENT_WISE_SIGN },
    { "Sin", DML_OPERATOR_ELEMENT_WISE_SIN },          { "Sinh", DML_OPERATOR_ELEMENT_WISE_SINH },
    { "Sqrt", DML_OPERATOR_ELEMENT_WISE_SQRT },        { "Tan", DML_OPERATOR_ELEMENT_WISE_TAN },
};

static const struct name_type binary_rows[] = {
    { "Add", DML_OPERATOR_ELEMENT_WISE_ADD },
    { "And", DML_OPERATOR_ELEMENT_WISE_LOGICAL_AND },
    { "Div", DML_OPERATOR_ELEMENT_WISE_DIVIDE },
    { "Equal", DML_OPERATOR_ELEMENT_WISE_LOGICAL_EQUALS },
    { "Greater", DML_OPERATOR_ELEMENT_WISE_LOGICAL_GREATER_THAN },
    { "GreaterOrEqual", DML_OPERATOR_ELEMENT_WISE_LOGICAL_GREATER_THAN_OR_EQUAL },
    { "Less", DML_OPERATOR_ELEMENT_WISE_LOGICAL_LESS_THAN },
    { "LessOrEqual", DML_OPERATOR_ELEMENT_WISE_LOGICAL_LESS_THAN_OR_EQUAL },
    { "Mul", DML_OPERATOR_ELEMENT_WISE_MULTIPLY },
    { "Or", DML_OPERATOR_ELEMENT_WISE_LOGICAL_OR },
    { "Pow", DML_OPERATOR_ELEMENT_WISE_POW },
    { "Sub", DML_OPERATOR_ELEMENT_WISE_SUBTRACT },
    { "Xor", DML_OPERATOR_ELEMENT_WISE_LOGICAL_XOR },
    { "Max", DML_OPERATOR_ELEMENT_WISE_MAX },
    { "Min", DML_OPERATOR_ELEMENT_WISE_MIN },
    { "Sum", DML_OPERATOR_ELEMENT_WISE_ADD },
    { "Mean", DML_OPERATOR_ELEMENT_WISE_ADD },
};

static DML_OPERATOR_TYPE type_find(const struct name_type *rows, size_t count, const char *op)
{
    for (size_t i = 0; i < count; i++) {
        if (!strcmp(rows[i].op, op))
            return rows[i].type;
    }
    return DML_OPERATOR_INVALID;
}

static bool is_comparison(const char *op)
{
    return !strcmp(op, "Equal") || !strncmp(op, "Greater", 7) || !strncmp(op, "Less", 4);
}

static bool is_integer(int32_t type)
{
    return !onnx_type_is_float(type);
}

static bool is_unsigned(int32_t type)
{
    return type == ONNX_UINT8 || type == ONNX_UINT16 || type == ONNX_UINT32 || type == ONNX_UINT64;
}

/* NaN stays, as with ONNX Runtime, which has 0 for that of FLOAT16. */
static bool sign(struct onnx_builder *b, struct onnx_value *x, struct onnx_value *y)
{
    struct onnx_value *one = onnx_temp(b, x->type, x->rank, x->dims); /* or NaN */
    struct onnx_desc dx, dy;
    if (!one)
        return false;
    DML_ELEMENT_WISE_CLIP_OPERATOR_DESC clip = { onnx_desc(b, &dx, x), onnx_desc(b, &dy, one), NULL, 1, 1 };
    if (!onnx_emit(b, DML_OPERATOR_ELEMENT_WISE_CLIP, &clip, &x, 1, &one, 1))
        return false;
    return onnx_apply2_to(b, DML_OPERATOR_ELEMENT_WISE_MIN, onnx_apply(b, DML_OPERATOR_ELEMENT_WISE_SIGN, x), one, y);
}

bool onnx_unary(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *x = onnx_in(b, n, 0);
    bool done;
    if (!x)
        return false;
    if (!strcmp(n->op, "Abs") && is_unsigned(x->type))
        return onnx_identity(b, n);
    if (!strcmp(n->op, "Erf") && is_integer(x->type))
        return onnx_in_type(b, n, onnx_unary, 1, ONNX_FLOAT);
    struct onnx_value *y = onnx_out(b, n, 0, x->type, x->rank, x->dims);
    if (!y || !onnx_fold_map(b, n, y, x, NULL, &done) || done)
        return !b->failed;
    if (!strcmp(n->op, "Sign") && (x->type == ONNX_FLOAT || x->type == ONNX_DOUBLE))
        return sign(b, x, y);
    return onnx_apply_to(b, type_find(unary_rows, ARRAY_SIZE(unary_rows), n->op), x, y);
}

bool onnx_identity(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *x = onnx_in(b, n, 0);
    return x && onnx_alias(b, onnx_out(b, n, 0, x->type, x->rank, x->dims), x);
}

/* Training drops random elements, unless the ratio is a known zero. */
static bool dropout_of_nothing(struct onnx_builder *b, const struct onnx_value *ratio)
{
    bool dropping = !ratio;
    if (ratio && ratio->source != ONNX_SOURCE_CONSTANT)
        return onnx_unknown(b, ratio, "one value");
    for (uint64_t i = 0; ratio && i < onnx_value_bytes(ratio); i++)
        dropping = dropping || ((const uint8_t *)ratio->data)[i];
    return !dropping || onnx_fail(b, "training mode with a ratio above 0 is not supported");
}

/* Inference: dropout is the identity, all of the mask is true. Random numbers are left to training runtimes. */
bool onnx_dropout(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *x = onnx_in(b, n, 0), *training = onnx_in_optional(b, n, 2);
    if (!x || b->failed)
        return false;
    if (training) {
        /* Random masks are unsupported, so nodes that may need them are rejected. */
        if (!b->inputs && training->source != ONNX_SOURCE_CONSTANT)
            return onnx_fail(b, "training_mode must be constant");
        if (training->source != ONNX_SOURCE_CONSTANT || !onnx_elements(training))
            return onnx_unknown(b, training, "one boolean");
        if (*(const uint8_t *)training->data && onnx_elements(x) && !dropout_of_nothing(b, onnx_in_optional(b, n, 1)))
            return false;
    }
    if (onnx_has_output(n, 1)) {
        struct onnx_value *mask = onnx_out(b, n, 1, n->version < 10 ? x->type : ONNX_BOOL, x->rank, x->dims);
        struct onnx_value *one = mask ? onnx_scalar(b, mask->type, 1) : NULL;
        struct onnx_value *full = one ? onnx_broadcast_copy(b, one, x->rank, x->dims) : NULL;
        if (!full || !onnx_alias(b, mask, full))
            return false;
    }
    return onnx_identity(b, n);
}

/* x < 0 ? x * slope : x, for integers that DirectML's PRelu lacks; y is as large as both. */
static bool prelu_integer(struct onnx_builder *b, struct onnx_value *x, struct onnx_value *slope, struct onnx_value *y)
{
    if (is_unsigned(x->type)) {
        struct onnx_value *all = onnx_elements(x) == onnx_elements(y) ? x : onnx_broadcast_copy(b, x, y->rank, y->dims);
        return all && onnx_alias(b, y, all);
    }
    struct onnx_value *product = onnx_temp(b, y->type, y->rank, y->dims), *zero = onnx_scalar(b, x->type, 0);
    struct onnx_value *negative = onnx_temp(b, ONNX_BOOL, x->rank, x->dims);
    return onnx_apply2_to(b, DML_OPERATOR_ELEMENT_WISE_LOGICAL_LESS_THAN, x, zero, negative) &&
           onnx_apply2_to(b, DML_OPERATOR_ELEMENT_WISE_MULTIPLY, x, slope, product) &&
           onnx_select_to(b, negative, product, x, y);
}

bool onnx_prelu(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *x = onnx_in(b, n, 0), *slope = onnx_in(b, n, 1);
    uint32_t rank;
    int64_t dims[ONNX_RANK_MAX];
    if (!x || !slope || !onnx_broadcast_dims(b, x, slope, &rank, dims))
        return false;
    if (x->type != slope->type)
        return onnx_fail(b, "the slope is %s, the input %s", onnx_type_name(slope->type), onnx_type_name(x->type));
    struct onnx_value *y = onnx_out(b, n, 0, x->type, rank, dims);
    if (y && is_integer(x->type))
        return prelu_integer(b, x, slope, y);
    return onnx_apply2_to(b, DML_OPERATOR_ACTIVATION_PARAMETERIZED_RELU, x, slope, y);
}

static bool is_long(int32_t type)
{
    return type == ONNX_INT64 || type == ONNX_UINT64;
}

/* Integers combined with floats are converted to float64 if they have 64 bits. */
bool onnx_pow(struct onnx_builder *b, const struct onnx_node *n)
{
    const struct onnx_value *x = onnx_in(b, n, 0), *z = onnx_in(b, n, 1);
    if (!x || !z)
        return false;
    if (onnx_type_is_float(x->type) != onnx_type_is_float(z->type) && (is_long(x->type) || is_long(z->type)) &&
        !(onnx_is_constant(x) && onnx_is_constant(z)))
        return onnx_in_type(b, n, onnx_binary, is_long(x->type) ? 3 : 2, ONNX_DOUBLE);
    return onnx_binary(b, n);
}

bool onnx_binary(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *x = onnx_in(b, n, 0), *z = onnx_in(b, n, 1);
    uint32_t rank;
    int64_t dims[ONNX_RANK_MAX];
    bool done;
    if (!x || !z)
        return false;
    if (x->type != z->type && strcmp(n->op, "Pow"))
        return onnx_fail(b, "inputs differ in type: %s and %s", onnx_type_name(x->type), onnx_type_name(z->type));
    if (!onnx_broadcast_dims(b, x, z, &rank, dims))
        return false;
    struct onnx_value *y = onnx_out(b, n, 0, is_comparison(n->op) ? ONNX_BOOL : x->type, rank, dims);
    if (!y || !onnx_fold_map(b, n, y, x, z, &done) || done)
        return !b->failed;
    return onnx_apply2_to(b, type_find(binary_rows, ARRAY_SIZE(binary_rows), n->op), x, z, y);
}

/* Max, Min, Sum and Mean of any number of inputs: a chain of binary operators. */
bool onnx_variadic(struct onnx_builder *b, const struct onnx_node *n)
{
    DML_OPERATOR_TYPE type = type_find(binary_rows, ARRAY_SIZE(binary_rows), n->op);
    struct onnx_value *sum = onnx_in(b, n, 0);
    bool mean = !strcmp(n->op, "Mean");
    if (!sum)
        return false;
    if (n->input_count == 1)
        return onnx_identity(b, n);
    for (uint32_t i = 1; i < n->input_count; i++) {
        struct onnx_value *next = onnx_in(b, n, i);
        uint32_t rank;
        int64_t dims[ONNX_RANK_MAX];
        if (!next || !onnx_broadcast_dims(b, sum, next, &rank, dims))
            return false;
        bool last = i + 1 == n->input_count && !mean;
        struct onnx_value *y = last ? onnx_out(b, n, 0, sum->type, rank, dims) : onnx_temp(b, sum->type, rank, dims);
        bool done = false;
        if (!y || (!mean && !onnx_fold_map(b, n, y, sum, next, &done)) ||
            (!done && !onnx_apply2_to(b, type, sum, next, y)))
            return false;
        sum = y;
    }
    if (!mean)
        return true;
    struct onnx_value *y = onnx_out(b, n, 0, sum->type, sum->rank, sum->dims);
    return onnx_scaled_to(b, sum, 1.0f / (float)n->input_count, 0, y);
}

bool onnx_where(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *in[3] = { onnx_in(b, n, 0), onnx_in(b, n, 1), onnx_in(b, n, 2) };
    struct onnx_value shape = { 0 };
    uint32_t rank;
    int64_t dims[ONNX_RANK_MAX];
    if (!in[0] || !in[1] || !in[2] || !onnx_broadcast_dims(b, in[1], in[2], &shape.rank, shape.dims))
        return false;
    shape.name = n->inputs[1];
    if (!onnx_broadcast_dims(b, in[0], &shape, &rank, dims))
        return false;
    struct onnx_value *y = onnx_out(b, n, 0, in[1]->type, rank, dims);
    if (!y)
        return false;
    if (onnx_is_constant(in[0]) && onnx_is_constant(in[1]) && onnx_is_constant(in[2]))
        return onnx_fold_where(b, y, in);
    return onnx_select_to(b, in[0], in[1], in[2], y);
}

bool onnx_cast(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *x = onnx_in(b, n, 0);
    int32_t to = (int32_t)onnx_attr_int(n, "to", 0);
    if (!x)
        return false;
    if (!onnx_type_bytes(to))
        return onnx_fail(b, "cannot cast to data type %s", onnx_type_name(to));
    if (to == x->type)
        return onnx_identity(b, n);
    if (onnx_is_4bit(to) || onnx_is_4bit(x->type))
        return onnx_result(b, n, 0, onnx_convert_4bit(b, x, to));
    struct onnx_value *y = onnx_out(b, n, 0, to, x->rank, x->dims), *from = x;
    struct onnx_desc dx, dy;
    if (y && onnx_is_constant(x) && to != ONNX_BFLOAT16)
        return onnx_fold_cast(b, y, x);
    if (y && to == ONNX_BOOL) { /* any non-zero value is true: x != 0 is !(x == 0), NOT twice */
        struct onnx_value *inverse = onnx_temp(b, ONNX_BOOL, x->rank, x->dims);
        struct onnx_value *zero = NULL;
        static const uint8_t zeros[8] = { 0 };
        if (inverse)
            zero = onnx_constant(b, x->type, 0, NULL, zeros, onnx_type_bytes(x->type));
        return zero && onnx_apply2_to(b, DML_OPERATOR_ELEMENT_WISE_LOGICAL_EQUALS, x, zero, inverse) &&
               onnx_apply_to(b, DML_OPERATOR_ELEMENT_WISE_LOGICAL_NOT, inverse, y);
    }
    if (!y)
        return false;
    DML_CAST_OPERATOR_DESC desc = { onnx_desc(b, &dx, from), onnx_desc(b, &dy, y) };
    return onnx_emit(b, DML_OPERATOR_CAST, &desc, &from, 1, &y, 1);
}

/* ---- activations: the attribute names and their ONNX defaults, in the order of the DirectML fields ---- */

struct activation_row {
    const char *op;
    DML_OPERATOR_TYPE type;
    const char *attribute[2];
    float otherwise[2];
};

static const struct activation_row activation_rows[] = {
    { "Celu", DML_OPERATOR_ACTIVATION_CELU, { "alpha" }, { 1.0f } },
    { "Elu", DML_OPERATOR_ACTIVATION_ELU, { "alpha" }, { 1.0f } },
    { "HardSigmoid", DML_OPERATOR_ACTIVATION_HARD_SIGMOID, { "alpha", "beta" }, { 0.2f, 0.5f } },
    { "HardSwish", DML_OPERATOR_ACTIVATION_HARD_SWISH, { "", "" }, { 1.0f / 6, 0.5f } },
    { "LeakyRelu", DML_OPERATOR_ACTIVATION_LEAKY_RELU, { "alpha" }, { 0.01f } },
    { "Relu", DML_OPERATOR_ACTIVATION_RELU, { NULL }, { 0 } },
    { "Selu",
      DML_OPERATOR_ACTIVATION_SCALED_ELU,
      { "alpha", "gamma" },
      { 1.67326319217681884765625f, 1.05070102214813232421875f } },
    { "Shrink", DML_OPERATOR_ACTIVATION_SHRINK, { "bias", "lambd" }, { 0.0f, 0.5f } },
    { "Sigmoid", DML_OPERATOR_ACTIVATION_SIGMOID, { NULL }, { 0 } },
    { "Softplus", DML_OPERATOR_ACTIVATION_SOFTPLUS, { "" }, { 1.0f } },
    { "Softsign", DML_OPERATOR_ACTIVATION_SOFTSIGN, { NULL }, { 0 } },
    { "Tanh", DML_OPERATOR_ACTIVATION_TANH, { NULL }, { 0 } },
    { "ThresholdedRelu", DML_OPERATOR_ACTIVATION_THRESHOLDED_RELU, { "alpha" }, { 1.0f } },
};

static bool emit_activation(struct onnx_builder *b, DML_OPERATOR_TYPE type, struct onnx_value *x, struct onnx_value *y,
                            float p, float q)
{
    struct onnx_desc dx, dy;
    DML_ACTIVATION_LINEAR_OPERATOR_DESC desc = { onnx_desc(b, &dx, x), onnx_desc(b, &dy, y), p, q };
    return onnx_emit(b, type, &desc, &x, 1, &y, 1);
}

bool onnx_activation(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *x = onnx_in(b, n, 0);
    if (!x)
        return false;
    if (!strcmp(n->op, "Shrink") && is_long(x->type))
        return onnx_in_type(b, n, onnx_activation, 1, ONNX_DOUBLE);
    struct onnx_value *y = onnx_out(b, n, 0, x->type, x->rank, x->dims);
    if (!strcmp(n->op, "Relu") && x->type == ONNX_INT64)
        return onnx_apply2_to(b, DML_OPERATOR_ELEMENT_WISE_MAX, x, onnx_scalar(b, x->type, 0), y);
    for (size_t i = 0; y && i < ARRAY_SIZE(activation_rows); i++) {
        const struct activation_row *row = &activation_rows[i];
        float value[2] = { row->otherwise[0], row->otherwise[1] };
        if (strcmp(row->op, n->op))
            continue;
        for (size_t j = 0; j < 2 && row->attribute[j]; j++)
            value[j] = onnx_attr_float(n, row->attribute[j], value[j]);
        return emit_activation(b, row->type, x, y, value[0], value[1]);
    }
    return false;
}

/* x * tanh(softplus(x)) */
bool onnx_mish(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *x = onnx_in(b, n, 0);
    struct onnx_value *plus = x ? onnx_temp(b, x->type, x->rank, x->dims) : NULL;
    struct onnx_value *gate = plus ? onnx_temp(b, x->type, x->rank, x->dims) : NULL;
    struct onnx_value *y = gate ? onnx_out(b, n, 0, x->type, x->rank, x->dims) : NULL;
    return y && emit_activation(b, DML_OPERATOR_ACTIVATION_SOFTPLUS, x, plus, 1, 0) &&
           emit_activation(b, DML_OPERATOR_ACTIVATION_TANH, plus, gate, 0, 0) &&
           onnx_apply2_to(b, DML_OPERATOR_ELEMENT_WISE_MULTIPLY, x, gate, y);
}

bool onnx_round(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *x = onnx_in(b, n, 0);
    struct onnx_value *y = x ? onnx_out(b, n, 0, x->type, x->rank, x->dims) : NULL;
    struct onnx_desc dx, dy;
    if (!y)
        return false;
    DML_ELEMENT_WISE_ROUND_OPERATOR_DESC desc = { onnx_desc(b, &dx, x), onnx_desc(b, &dy, y),
                                                  DML_ROUNDING_MODE_HALVES_TO_NEAREST_EVEN };
    return onnx_emit(b, DML_OPERATOR_ELEMENT_WISE_ROUND, &desc, &x, 1, &y, 1);
}

/* x, or the bound beyond which it is. A bound that is NaN is none, as with ONNX Runtime: MAX and MIN only take numbers.
 */
static bool clip_at(struct onnx_builder *b, bool least, struct onnx_value *x, struct onnx_value *bound,
                    struct onnx_value *y)
{
    double value = 0;
    const bool known = bound->source == ONNX_SOURCE_CONSTANT && x->type != ONNX_BFLOAT16;
    const bool number = !onnx_type_is_float(x->type) || (known && onnx_const_real(b, bound, &value) && value == value);
    if (number || b->failed)
        return onnx_apply2_to(b, least ? DML_OPERATOR_ELEMENT_WISE_MAX : DML_OPERATOR_ELEMENT_WISE_MIN, x, bound, y);
    struct onnx_value *beyond = onnx_apply2(
        b, least ? DML_OPERATOR_ELEMENT_WISE_LOGICAL_LESS_THAN : DML_OPERATOR_ELEMENT_WISE_LOGICAL_GREATER_THAN, x,
        bound);
    return onnx_select_to(b, beyond, bound, x, y);
}

/* min(max(x, low), high), as ONNX has it: high where low is above it. CLIP1 nests the other way. */
static bool clip_computed(struct onnx_builder *b, struct onnx_value *x, struct onnx_value *low, struct onnx_value *high,
                          struct onnx_value *y)
{
    struct onnx_value *between = high ? onnx_temp(b, x->type, x->rank, x->dims) : y;
    if (!low && !high)
        return onnx_alias(b, y, x);
    if (!low)
        between = x;
    else if (!clip_at(b, true, x, low, between))
        return false;
    return !high || clip_at(b, false, between, high, y);
}

/* Exporters also write bounds of shape [1]: the result keeps x's rank. */
static struct onnx_value *bound_scalar(struct onnx_builder *b, struct onnx_value *bound)
{
    if (!bound || !bound->rank)
        return bound;
    struct onnx_value *scalar = onnx_temp(b, bound->type, 0, NULL);
    return onnx_alias(b, scalar, bound) ? scalar : NULL;
}

static bool clip_by_attributes(struct onnx_builder *b, const struct onnx_node *n, struct onnx_value *x,
                               struct onnx_value *y)
{
    struct onnx_desc dx, dy;
    const float low = onnx_attr_float(n, "min", -INFINITY), high = onnx_attr_float(n, "max", INFINITY);
    if (!onnx_attribute(n, "min") && !onnx_attribute(n, "max"))
        return onnx_alias(b, y, x);
    DML_ELEMENT_WISE_CLIP_OPERATOR_DESC clip = { onnx_desc(b, &dx, x), onnx_desc(b, &dy, y), NULL, low, high };
    return onnx_emit(b, DML_OPERATOR_ELEMENT_WISE_CLIP, &clip, &x, 1, &y, 1);
}

/* Bounds are attributes before opset 11, inputs since. */
bool onnx_clip(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *x = onnx_in(b, n, 0), *bound[2] = { NULL, NULL };
    double value[2] = { -INFINITY, INFINITY };
    struct onnx_desc dx, dy;
    bool known = x && (x->type == ONNX_FLOAT || x->type == ONNX_FLOAT16);
    struct onnx_value *y = x ? onnx_out(b, n, 0, x->type, x->rank, x->dims) : NULL;
    if (!y)
        return false;
    if (n->version < 11)
        return clip_by_attributes(b, n, x, y);
    for (uint32_t i = 0; i < 2; i++) {
        bound[i] = onnx_in_optional(b, n, 1 + i);
        if (bound[i] && (bound[i]->type != x->type || onnx_elements(bound[i]) != 1 || bound[i]->rank > 1))
            return onnx_fail(b, "'%s' must be one %s", bound[i]->name, onnx_type_name(x->type));
        known = known && (!bound[i] || bound[i]->source == ONNX_SOURCE_CONSTANT);
        if (bound[i] && known && !onnx_const_real(b, bound[i], &value[i]))
            return false;
    }
    if (b->failed)
        return false;
    if (!known || (!bound[0] && !bound[1]))
        return clip_computed(b, x, bound_scalar(b, bound[0]), bound_scalar(b, bound[1]), y);
    /* Convolutions and products take it as their last step. */
    DML_ELEMENT_WISE_CLIP_OPERATOR_DESC clip = { onnx_desc(b, &dx, x), onnx_desc(b, &dy, y), NULL, (float)value[0],
                                                 (float)value[1] };
    return onnx_emit(b, DML_OPERATOR_ELEMENT_WISE_CLIP, &clip, &x, 1, &y, 1);
}
