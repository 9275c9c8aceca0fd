/* SPDX-License-Identifier: Apache-2.0 */
/* Bits, remainders and classes of numbers. */
#include "onnx/convert/converters.h"

static int32_t unsigned_of(int32_t type)
{
    switch (type) {
    case ONNX_INT8:
        return ONNX_UINT8;
    case ONNX_INT16:
        return ONNX_UINT16;
    case ONNX_INT32:
        return ONNX_UINT32;
    case ONNX_INT64:
        return ONNX_UINT64;
    default:
        return type;
    }
}

bool onnx_bit_shift(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *x = onnx_in(b, n, 0), *z = onnx_in(b, n, 1);
    const char *direction = onnx_attr_string(n, "direction", "");
    if (!x || !z)
        return false;
    if (x->type != z->type || (strcmp(direction, "LEFT") && strcmp(direction, "RIGHT")))
        return onnx_fail(b, "types %s and %s with direction '%s'", onnx_type_name(x->type), onnx_type_name(z->type),
                         direction);
    int32_t type = unsigned_of(x->type);
    struct onnx_value *by = onnx_convert(b, z, type), *y;
    if (!strcmp(direction, "LEFT")) {
        y = onnx_apply2(b, DML_OPERATOR_ELEMENT_WISE_BIT_SHIFT_LEFT, onnx_convert(b, x, type), by);
    } else if (type == x->type) {
        y = onnx_apply2(b, DML_OPERATOR_ELEMENT_WISE_BIT_SHIFT_RIGHT, x, by);
    } else { /* arithmetic: a negative number is shifted as its complement */
        struct onnx_value *bits = onnx_convert(b, x, type);
        struct onnx_value *negative =
            onnx_apply2(b, DML_OPERATOR_ELEMENT_WISE_LOGICAL_LESS_THAN, x, onnx_scalar(b, x->type, 0));
        struct onnx_value *shifted =
            onnx_select(b, negative, onnx_apply(b, DML_OPERATOR_ELEMENT_WISE_BIT_NOT, bits), bits);
        y = onnx_apply2(b, DML_OPERATOR_ELEMENT_WISE_BIT_SHIFT_RIGHT, shifted, by);
        y = onnx_select(b, negative, onnx_apply(b, DML_OPERATOR_ELEMENT_WISE_BIT_NOT, y), y);
    }
    return onnx_result(b, n, 0, onnx_convert(b, y, x->type));
}

/* BitwiseAnd, BitwiseOr, BitwiseXor */
bool onnx_bitwise(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *x = onnx_in(b, n, 0), *z = onnx_in(b, n, 1);
    DML_OPERATOR_TYPE type = !strcmp(n->op, "BitwiseAnd")  ? DML_OPERATOR_ELEMENT_WISE_BIT_AND
                             : !strcmp(n->op, "BitwiseOr") ? DML_OPERATOR_ELEMENT_WISE_BIT_OR
                                                           : DML_OPERATOR_ELEMENT_WISE_BIT_XOR;
    if (x && z && x->type != z->type)
        return onnx_fail(b, "inputs differ in type: %s and %s", onnx_type_name(x->type), onnx_type_name(z->type));
    return onnx_result(b, n, 0, onnx_apply2(b, type, x, z));
}

bool onnx_bitwise_not(struct onnx_builder *b, const struct onnx_node *n)
{
    return onnx_result(b, n, 0, onnx_apply(b, DML_OPERATOR_ELEMENT_WISE_BIT_NOT, onnx_in(b, n, 0)));
}

bool onnx_bit_cast(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *x = onnx_in(b, n, 0);
    int32_t to = (int32_t)onnx_attr_int(n, "to", 0);
    if (!x)
        return false;
    if (!onnx_type_bytes(to) || onnx_bytes(to, 2) != onnx_bytes(x->type, 2))
        return onnx_fail(b, "bits of %s cannot be read as data type %s", onnx_type_name(x->type), onnx_type_name(to));
    return onnx_alias(b, onnx_out(b, n, 0, to, x->rank, x->dims), x);
}

/* With fmod the sign of the dividend, without that of the divisor. */
bool onnx_mod(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *x = onnx_in(b, n, 0), *z = onnx_in(b, n, 1), *y = NULL;
    bool truncate = onnx_attr_int(n, "fmod", 0) != 0, done;
    uint32_t rank;
    int64_t dims[ONNX_RANK_MAX];
    if (!x || !z)
        return false;
    if (x->type != z->type)
        return onnx_fail(b, "inputs differ in type: %s and %s", onnx_type_name(x->type), onnx_type_name(z->type));
    bool real = x->type == ONNX_FLOAT || x->type == ONNX_DOUBLE || x->type == ONNX_FLOAT16;
    if (!real && onnx_is_constant(x) && onnx_is_constant(z)) {
        y = onnx_broadcast_dims(b, x, z, &rank, dims) ? onnx_out(b, n, 0, x->type, rank, dims) : NULL;
        if (!y || !onnx_fold_map(b, n, y, x, z, &done) || done)
            return !b->failed;
    }
    struct onnx_value *result = onnx_apply2(
        b, truncate ? DML_OPERATOR_ELEMENT_WISE_MODULUS_TRUNCATE : DML_OPERATOR_ELEMENT_WISE_MODULUS_FLOOR, x, z);
    return y ? result && onnx_alias(b, y, result) : onnx_result(b, n, 0, result);
}

bool onnx_is_inf(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *x = onnx_in(b, n, 0);
    bool negative = onnx_attr_int(n, "detect_negative", 1), positive = onnx_attr_int(n, "detect_positive", 1);
    struct onnx_value *y = x ? onnx_out(b, n, 0, ONNX_BOOL, x->rank, x->dims) : NULL;
    struct onnx_desc dx, dy;
    if (!y)
        return false;
    if (!negative && !positive)
        return onnx_constant_data(b, y) != NULL; /* zeros */
    DML_ELEMENT_WISE_IS_INFINITY_OPERATOR_DESC desc = { onnx_desc(b, &dx, x), onnx_desc(b, &dy, y),
                                                        !negative   ? DML_IS_INFINITY_MODE_POSITIVE
                                                        : !positive ? DML_IS_INFINITY_MODE_NEGATIVE
                                                                    : DML_IS_INFINITY_MODE_EITHER };
    return onnx_emit(b, DML_OPERATOR_ELEMENT_WISE_IS_INFINITY, &desc, &x, 1, &y, 1);
}

bool onnx_is_nan(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *x = onnx_in(b, n, 0);
    struct onnx_value *y = x ? onnx_out(b, n, 0, ONNX_BOOL, x->rank, x->dims) : NULL;
    struct onnx_desc dx, dy;
    if (!y)
        return false;
    DML_ELEMENT_WISE_IS_NAN_OPERATOR_DESC desc = { onnx_desc(b, &dx, x), onnx_desc(b, &dy, y) };
    return onnx_emit(b, DML_OPERATOR_ELEMENT_WISE_IS_NAN, &desc, &x, 1, &y, 1);
}

/* Cast to the type of the second input, whose elements are ignored. */
bool onnx_cast_like(struct onnx_builder *b, const struct onnx_node *n)
{
    struct onnx_value *like = onnx_in(b, n, 1);
    struct onnx_attribute attributes[4];
    struct onnx_node cast = *n;
    if (!like)
        return false;
    if (n->attribute_count >= ARRAY_SIZE(attributes))
        return onnx_fail(b, "has %u attributes", n->attribute_count);
    for (uint32_t i = 0; i < n->attribute_count; i++)
        attributes[i] = n->attributes[i];
    attributes[n->attribute_count] = (struct onnx_attribute){ .name = "to", .i = like->type };
    cast.op = "Cast";
    cast.input_count = 1;
    cast.attributes = attributes;
    cast.attribute_count = n->attribute_count + 1;
    return onnx_convert_as(b, &cast);
}
