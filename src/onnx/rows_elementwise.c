/* Element-wise operators and activations. */
#include "onnx/quant.h"

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
    { "PRelu", DML_OPERATOR_ACTIVATION_PARAMETERIZED_RELU },
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

/* One input, one output, and possibly a NULL ScaleBias after them: NEGATE, LOGICAL_NOT and SIGN have no such field, the
 * schema reads only theirs. */
static bool emit_unary(struct onnx_builder *b, DML_OPERATOR_TYPE type, struct onnx_value *x, struct onnx_value *y)
{
    struct onnx_desc dx, dy;
    DML_ELEMENT_WISE_IDENTITY_OPERATOR_DESC desc = { onnx_desc(b, &dx, x), onnx_desc(b, &dy, y), NULL };
    return onnx_emit(b, type, &desc, &x, 1, &y, 1);
}

static bool emit_binary(struct onnx_builder *b, DML_OPERATOR_TYPE type, struct onnx_value *x, struct onnx_value *z,
                        struct onnx_value *y)
{
    struct onnx_desc dx, dz, dy;
    struct onnx_value *in[2] = { x, z };
    const DML_TENSOR_DESC *tx = onnx_desc_broadcast(b, &dx, x, y->rank, y->dims);
    const DML_TENSOR_DESC *tz = onnx_desc_broadcast(b, &dz, z, y->rank, y->dims);
    const DML_TENSOR_DESC *ty = onnx_desc(b, &dy, y);
    /* POW has a ScaleBias after its three tensors; the others end here. */
    DML_ELEMENT_WISE_POW_OPERATOR_DESC desc = { tx, tz, ty, NULL };
    return onnx_emit(b, type, &desc, in, 2, &y, 1);
}

bool onnx_unary(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *x = onnx_in(b, n, 0);
    struct onnx_value *y = x ? onnx_out(b, n, 0, x->type, x->rank, x->dims) : NULL;
    bool done;
    if (!y || !onnx_known_map(b, n, y, x, NULL, &done) || done)
        return !b->failed;
    return emit_unary(b, type_find(unary_rows, ARRAY_SIZE(unary_rows), n->op), x, y);
}

bool onnx_identity(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *x = onnx_in(b, n, 0);
    return x && onnx_alias(b, onnx_out(b, n, 0, x->type, x->rank, x->dims), x);
}

bool onnx_dropout(struct onnx_builder *b, const struct onnx_node *n)
{
    if (onnx_has_output(n, 1))
        return onnx_fail(b, "the mask output is for training and not supported");
    return onnx_identity(b, n);
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
    if (!y || !onnx_known_map(b, n, y, x, z, &done) || done)
        return !b->failed;
    return emit_binary(b, type_find(binary_rows, ARRAY_SIZE(binary_rows), n->op), x, z, y);
}

static struct onnx_value *scale(struct onnx_builder *b, struct onnx_value *x, float factor, struct onnx_value *y)
{
    struct onnx_desc dx, dy;
    DML_SCALE_BIAS scale_bias = { factor, 0 };
    DML_ELEMENT_WISE_IDENTITY_OPERATOR_DESC desc = { onnx_desc(b, &dx, x), onnx_desc(b, &dy, y), &scale_bias };
    return onnx_emit(b, DML_OPERATOR_ELEMENT_WISE_IDENTITY, &desc, &x, 1, &y, 1) ? y : NULL;
}

/* Max, Min, Sum and Mean of any number of inputs: a chain. */
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
        if (!y || (!mean && !onnx_known_map(b, n, y, sum, next, &done)) ||
            (!done && !emit_binary(b, type, sum, next, y)))
            return false;
        sum = y;
    }
    if (!mean)
        return true;
    struct onnx_value *y = onnx_out(b, n, 0, sum->type, sum->rank, sum->dims);
    return y && scale(b, sum, 1.0f / (float)n->input_count, y);
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
    struct onnx_desc d[4];
    if (!y)
        return false;
    if (onnx_is_known(in[0]) && onnx_is_known(in[1]) && onnx_is_known(in[2]))
        return onnx_known_where(b, y, in);
    DML_ELEMENT_WISE_IF_OPERATOR_DESC desc = {
        onnx_desc_broadcast(b, &d[0], in[0], rank, dims),
        onnx_desc_broadcast(b, &d[1], in[1], rank, dims),
        onnx_desc_broadcast(b, &d[2], in[2], rank, dims),
        onnx_desc(b, &d[3], y),
    };
    return onnx_emit(b, DML_OPERATOR_ELEMENT_WISE_IF, &desc, in, 3, &y, 1);
}

bool onnx_cast(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *x = onnx_in(b, n, 0);
    int32_t to = (int32_t)onnx_attr_int(n, "to", 0);
    if (!x)
        return false;
    if (!onnx_type_bytes(to))
        return onnx_fail(b, "cannot cast to data type %d", to);
    if (to == x->type)
        return onnx_identity(b, n);
    if (onnx_is_4bit(to) || onnx_is_4bit(x->type))
        return onnx_result(b, n, 0, onnx_convert_4bit(b, x, to));
    struct onnx_value *y = onnx_out(b, n, 0, to, x->rank, x->dims), *from = x;
    struct onnx_desc dx, dy;
    if (y && onnx_is_known(x) && to != ONNX_BFLOAT16)
        return onnx_known_cast(b, y, x);
    if (y && to == ONNX_BOOL) { /* any non-zero value is true: x != 0 is !(x == 0), NOT twice */
        struct onnx_value *inverse = onnx_temp(b, ONNX_BOOL, x->rank, x->dims);
        struct onnx_value *zero = NULL;
        static const uint8_t zeros[8] = { 0 };
        if (inverse)
            zero = onnx_constant(b, x->type, 0, NULL, zeros, onnx_type_bytes(x->type));
        return zero && emit_binary(b, DML_OPERATOR_ELEMENT_WISE_LOGICAL_EQUALS, x, zero, inverse) &&
               emit_unary(b, DML_OPERATOR_ELEMENT_WISE_LOGICAL_NOT, inverse, y);
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
    struct onnx_value *y = x ? onnx_out(b, n, 0, x->type, x->rank, x->dims) : NULL;
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
           emit_binary(b, DML_OPERATOR_ELEMENT_WISE_MULTIPLY, x, gate, y);
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

/* A bound of Clip: a constant scalar of x's type. */
static bool clip_bound(struct onnx_builder *b, const struct onnx_node *n, uint32_t input, const struct onnx_value *x,
                       DML_SCALAR_UNION *out)
{
    const struct onnx_value *bound = onnx_in_optional(b, n, input);
    if (!bound)
        return !b->failed;
    if (bound->source != ONNX_SOURCE_CONSTANT || onnx_elements(bound) != 1 || bound->type != x->type)
        return onnx_fail(b, "'%s' must be one constant %s", bound->name, onnx_type_name(x->type));
    memcpy(out, bound->data, onnx_type_bytes(bound->type));
    return true;
}

static void type_bounds(int32_t type, DML_SCALAR_UNION *low, DML_SCALAR_UNION *high)
{
    low->UInt64 = 0;
    high->UInt64 = UINT64_MAX; /* all ones: the largest of every unsigned type */
    switch (type) {
    case ONNX_FLOAT:
        low->Float32 = -INFINITY;
        high->Float32 = INFINITY;
        break;
    case ONNX_DOUBLE:
        low->Float64 = -INFINITY;
        high->Float64 = INFINITY;
        break;
    case ONNX_FLOAT16:
        low->UInt16 = 0xfc00;
        high->UInt16 = 0x7c00;
        break;
    case ONNX_INT8:
        low->Int8 = INT8_MIN;
        high->Int8 = INT8_MAX;
        break;
    case ONNX_INT16:
        low->Int16 = INT16_MIN;
        high->Int16 = INT16_MAX;
        break;
    case ONNX_INT32:
        low->Int32 = INT32_MIN;
        high->Int32 = INT32_MAX;
        break;
    case ONNX_INT64:
        low->Int64 = INT64_MIN;
        high->Int64 = INT64_MAX;
        break;
    default:
        break;
    }
}

/* Bounds are attributes before opset 11, inputs since. */
bool onnx_clip(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *x = onnx_in(b, n, 0);
    DML_SCALAR_UNION low, high;
    struct onnx_desc dx, dy;
    if (!x)
        return false;
    type_bounds(x->type, &low, &high);
    if (n->version < 11) {
        low.Float32 = onnx_attr_float(n, "min", low.Float32);
        high.Float32 = onnx_attr_float(n, "max", high.Float32);
        if (x->type != ONNX_FLOAT)
            return onnx_fail(b, "before opset 11 only float32 is supported");
    } else if (!clip_bound(b, n, 1, x, &low) || !clip_bound(b, n, 2, x, &high)) {
        return false;
    }
    struct onnx_value *y = onnx_out(b, n, 0, x->type, x->rank, x->dims);
    if (!y)
        return false;
    DML_ELEMENT_WISE_CLIP1_OPERATOR_DESC desc = {
        onnx_desc(b, &dx, x), onnx_desc(b, &dy, y), NULL, onnx_type_dml(x->type), low, high
    };
    return onnx_emit(b, DML_OPERATOR_ELEMENT_WISE_CLIP1, &desc, &x, 1, &y, 1);
}
